import type { Rejection } from '../../../contract/rejection.ts';
import type { Service } from '../../../entity/service.ts';
import type { Tenant } from '../../../platform/auth/caller.ts';
import type { Exchange } from '../../../wire/exchange.ts';
import { readFields } from '../../../wire/form.ts';
import { isOwnOrigin } from '../../../wire/own-origin.ts';
import { privatePageHeaders } from '../../../wire/page-style.ts';
import { type PageResult, pageResult } from '../../../wire/result.ts';
import type { Route } from '../../../wire/route.ts';
import { mailRoutes } from '../mail/routes.ts';
import { type Browser, browserOf, isFormKey } from './browser.ts';
import { addressKey, createPayLimits, type PayLimits } from './limits.ts';
import { findLink, readLinkPage } from './link-page.ts';
import { handleNotification } from './notification.ts';
import { pageWrites } from './pay-link.ts';
import { failurePage, foreignFormPage, unknownPage, wrongMethod } from './result-pages.ts';
import { style } from './style.ts';
import { handleStep, payLinkOf } from './submissions.ts';
import { type LinkStep, type LinkVisit, showLink, showStep } from './visit.ts';

/** Headers of all pages; like all data of tenants, no cache stores them. */
const pageHeaders = privatePageHeaders(style.policy);

const methodsOf: Readonly<Record<LinkStep | 'page', readonly string[]>> = {
  page: ['GET', 'HEAD', 'POST'],
  continue: ['GET', 'HEAD'],
  challenge: ['GET', 'HEAD', 'POST'],
  cancel: ['POST'],
};

/** The link that a request names, by its token. */
interface Target {
  readonly tenant: Tenant;
  readonly linkId: string;
  readonly token: string;
}

/** Pages on which payers pay links, and notifications of the processor. A token is a secret: logs and metrics do not contain it. */
export function paymentRoutes(service: Service): readonly Route[] {
  const limits = createPayLimits(service.config.rateLimitFactor, service.counters);
  const common = { methods: undefined, headers: pageHeaders, rejected: failed, isSameOrigin: true };
  const notified = (exchange: Exchange) => handleNotification(service, limits, exchange);
  const visited = (exchange: Exchange) => handleVisit(service, limits, exchange);
  return [
    { ...common, name: 'paymentNotification', path: '/pay/webhook', handle: notified },
    // Any token is looked up, so that malformed ones cannot be distinguished from unknown ones.
    ...mailRoutes(service, limits, common),
    { ...common, name: 'paymentPage', path: '/pay/{token}', pattern: /^\/pay\//, handle: visited },
  ];
}

/** The steps of a payer's request, in order. */
async function handleVisit(service: Service, limits: PayLimits, exchange: Exchange): Promise<PageResult> {
  const address = addressKey(exchange.address);
  await limits.take('request', address);
  await limits.check('unknown', address);
  const [, token = '', named = 'page'] =
    /^\/pay\/([^/]{1,500})(?:\/(continue|challenge|cancel))?$/.exec(exchange.path ?? '') ?? [];
  const step = stepNamed(named);
  const target = await findTarget(service, token);
  if (target === undefined) {
    await limits.take('unknown', address).catch(() => undefined);
    return pageResult(404, unknownPage());
  }
  exchange.tenant = target.tenant.name;
  const allowed = methodsOf[step];
  if (!allowed.includes(exchange.method)) return wrongMethod(allowed);
  await limits.take('link', linkKey(target));
  if (exchange.method !== 'POST') {
    const visit = await openVisit(service, exchange, target);
    return withCookie(await (step === 'page' ? showLink(visit) : showStep(visit, step)), visit.browser);
  }
  const fields = await readFields(exchange);
  if (fields === undefined) return pageResult(415, failurePage(415, undefined, ''));
  await limits.take('submission', address);
  await limits.take('payment', linkKey(target));
  const visit = await openVisit(service, exchange, target);
  if (!isOwnForm(exchange, visit, fields)) return pageResult(403, foreignFormPage(visit.path));
  return step === 'page' ? payLinkOf(visit, fields) : handleStep(visit, step, fields);
}

async function findTarget({ store, directory }: Service, token: string): Promise<Target | undefined> {
  const found = await findLink(store, token);
  const tenant = found === undefined ? undefined : await directory.tenant(found.tenantName);
  return found === undefined || tenant === undefined ? undefined : { tenant, linkId: found.linkId, token };
}

/** The key of a link for limits. */
function linkKey({ tenant, linkId }: Target): string {
  return `${tenant.id}/${linkId}`;
}

/** Reads the link once it is the tenant's turn. What follows may wait for the processor, so the turn ends before. */
async function openVisit(service: Service, exchange: Exchange, { tenant, linkId, token }: Target): Promise<LinkVisit> {
  const { config, store } = service;
  const browser = browserOf(exchange.header('cookie'), config.publicUrl.startsWith('https:'));
  const admitted = await service.admission.admit(exchange, tenant.name, addressKey(exchange.address));
  const link = await store.read(tenant.id, (session) => readLinkPage(session, tenant.id, linkId));
  admitted.end();
  const path = `${new URL(config.publicUrl).pathname.replace(/\/$/, '')}/pay/${token}`;
  return { service, tenant, write: pageWrites(service, tenant, exchange.id), log: exchange.log, browser, link, path };
}

/** Whether a form was sent by a page of this service that was shown to this browser. */
function isOwnForm(exchange: Exchange, { service, link, browser }: LinkVisit, fields: URLSearchParams): boolean {
  return (
    isOwnOrigin(exchange, service.config.publicUrl) &&
    isFormKey(service.vault, link.id, browser, fields.get('formKey') ?? '')
  );
}

function withCookie(reply: PageResult, { setCookie }: Browser): PageResult {
  return setCookie === undefined ? reply : { ...reply, headers: { ...reply.headers, 'Set-Cookie': setCookie } };
}

function stepNamed(text: string): LinkStep | 'page' {
  return text === 'continue' || text === 'challenge' || text === 'cancel' ? text : 'page';
}

function failed({ status, headers }: Rejection, exchange: Exchange): PageResult {
  return pageResult(status, failurePage(status, headers['Retry-After'], exchange.id), headers);
}
