import type { Rejection } from '../../../contract/rejection.ts';
import type { Exchange } from '../../../http/exchange.ts';
import { readFields } from '../../../http/form.ts';
import { isOwnOrigin } from '../../../http/own-origin.ts';
import { privatePageHeaders } from '../../../http/page-style.ts';
import type { PageResult } from '../../../http/result.ts';
import type { Route } from '../../../http/route.ts';
import type { Tenant } from '../../../platform/auth/caller.ts';
import {
  MalformedNotification,
  type NotifiedAttempt,
  UnverifiedNotification,
} from '../../../platform/payments/processor.ts';
import type { Service } from '../../../service/service.ts';
import { type Attempt, findAttempt } from './attempt.ts';
import { type Browser, browserOf, formKey, isFormKey } from './browser.ts';
import { type Entered, type FieldError, type FormShape, readForm } from './form.ts';
import { formPage } from './form-page.ts';
import { addressKey, createPayLimits } from './limits.ts';
import { findLink, type LinkPage, readLinkPage } from './link-page.ts';
import { cancelAttempt, lookAgain, pageWrites, payLink } from './pay-link.ts';
import { type FollowUp, followUp } from './reconcile.ts';
import {
  challengePage,
  continuePage,
  endedPage,
  failurePage,
  foreignFormPage,
  processingPage,
  receiptPage,
  unavailablePage,
  unknownPage,
  usedPage,
} from './result-pages.ts';
import { contentPolicy, watchPolicy } from './style.ts';

/** A request for an existing link, with its data. */
interface Visit extends Pick<FollowUp, 'tenant' | 'write' | 'log'> {
  readonly browser: Browser;
  readonly link: LinkPage;
  /** The path of the page in the browser. */
  readonly path: string;
}

/** Headers of all pages; like all data of tenants, no cache stores them. */
const pageHeaders = privatePageHeaders(contentPolicy);

/** Maximum size of a notification, in bytes. */
const largestNotification = 1024 * 1024;

type Step = 'page' | 'continue' | 'challenge' | 'cancel';

const methodsOf: Readonly<Record<Step, readonly string[]>> = {
  page: ['GET', 'HEAD', 'POST'],
  continue: ['GET', 'HEAD'],
  challenge: ['GET', 'HEAD', 'POST'],
  cancel: ['POST'],
};

/** Pages on which payers pay links, and notifications of the processor. A token is a secret: logs and metrics do not contain it. */
export function paymentRoutes(service: Service): readonly Route[] {
  const { config, processor, store, vault } = service;
  const limits = createPayLimits(config.rateLimitFactor);
  const isTest = processor?.isTest ?? false;
  const common = { methods: undefined, headers: pageHeaders, rejected: failed, isSameOrigin: true };
  return [
    { ...common, name: 'paymentNotification', path: '/pay/webhook', handle: notified },
    // Any token is looked up, so that malformed ones cannot be distinguished from unknown ones.
    { ...common, name: 'paymentPage', path: '/pay/{token}', pattern: /^\/pay\//, handle: visited },
  ];

  /** The steps of a payer's request, in order. */
  async function visited(exchange: Exchange): Promise<PageResult> {
    const address = addressKey(exchange.address);
    await limits.take('request', address);
    await limits.check('unknown', address);
    const [, token = '', step = 'page'] =
      /^\/pay\/([^/]{1,500})(?:\/(continue|challenge|cancel))?$/.exec(exchange.path ?? '') ?? [];
    const found = await findLink(store, token);
    const tenant = found === undefined ? undefined : await service.directory.tenant(found.tenantName);
    if (found === undefined || tenant === undefined) {
      await limits.take('unknown', address).catch(() => undefined);
      return shownPage(404, unknownPage());
    }
    exchange.tenant = tenant.name;
    const allowed = methodsOf[stepNamed(step)];
    if (!allowed.includes(exchange.method)) return wrongMethod(allowed);
    await limits.take('link', `${tenant.id}/${found.linkId}`);

    const isSubmission = exchange.method === 'POST';
    const fields = isSubmission ? await readFields(exchange, '', address) : new URLSearchParams();
    if (fields === undefined) return shownPage(415, failurePage(415, undefined, ''));
    if (isSubmission) {
      await limits.take('submission', address);
      await limits.take('payment', `${tenant.id}/${found.linkId}`);
    }
    const browser = browserOf(exchange.header('cookie'), config.publicUrl.startsWith('https:'));
    const turn = await exchange.turn(tenant.name, address);
    const link = await store.read(tenant.id, (session) => readLinkPage(session, tenant.id, found.linkId));
    // The rest may wait for the processor.
    turn.end();
    const write = pageWrites(service, tenant, exchange.id);
    const path = `${new URL(config.publicUrl).pathname.replace(/\/$/, '')}/pay/${token}`;
    const visit: Visit = { tenant, write, log: exchange.log, browser, link, path };
    if (!isSubmission) {
      const reply = await (step === 'page' ? shown(visit) : shownStep(visit, stepNamed(step)));
      return browser.setCookie === undefined
        ? reply
        : { ...reply, headers: { ...reply.headers, 'Set-Cookie': browser.setCookie } };
    }
    if (!isOwnOrigin(exchange, config.publicUrl) || !isFormKey(vault, link.id, browser, fields.get('formKey') ?? ''))
      return shownPage(403, foreignFormPage(path));
    if (step === 'page') return submitted(visit, fields);
    return handledStep(visit, stepNamed(step), fields);
  }

  /** The page of a link in its current state. */
  async function shown(visit: Visit): Promise<PageResult> {
    const { link } = visit;
    if (link.status !== 'PROCESSING' || link.attempt === undefined || processor === undefined) return pageOf(visit);
    return pageOf((await lookAgain(service, { processor, ...visit }, link.attempt)) ? await again(visit) : visit);
  }

  async function again(visit: Visit): Promise<Visit> {
    const { tenant, link } = visit;
    return { ...visit, link: await store.read(tenant.id, (session) => readLinkPage(session, tenant.id, link.id)) };
  }

  function pageOf(visit: Visit): PageResult {
    const { link, path } = visit;
    const own = ownAttempt(visit);
    switch (link.status) {
      case 'ACTIVE':
        return payable(visit, 200, undefined, []);
      case 'PROCESSING': {
        const key = formKey(vault, link.id, visit.browser);
        const page = processingPage({
          link,
          path,
          isTest,
          own: own === undefined ? undefined : { attempt: own, formKey: key },
        });
        return { ...shownPage(200, page), headers: { 'Content-Security-Policy': watchPolicy } };
      }
      case 'USED':
        return own !== undefined && link.payment !== undefined
          ? shownPage(200, receiptPage(link, link.payment, isTest))
          : shownPage(410, usedPage(link));
      default:
        return shownPage(410, endedPage(link, link.status, own));
    }
  }

  function payable(
    visit: Visit,
    status: number,
    entered: Entered | undefined,
    errors: readonly FieldError[],
  ): PageResult {
    const { link, browser } = visit;
    const shape = shapeOf(link);
    if (shape === undefined) return shownPage(503, unavailablePage(link));
    const own = ownAttempt(visit);
    const before: Entered = {
      amount: own === undefined ? '' : own.amount,
      method: own?.method,
      payerName: own?.payerName ?? '',
      payerEmail: own?.payerEmail ?? '',
    };
    const shownLink = { ...link, attempt: own };
    const key = formKey(vault, link.id, browser);
    return shownPage(
      status,
      formPage({ link: shownLink, shape, entered: entered ?? before, errors, formKey: key, isTest }),
    );
  }

  function shapeOf(link: LinkPage): FormShape | undefined {
    if (processor === undefined) return undefined;
    const methods = processor.methodsFor(link.currency);
    if (methods.length === 0) return undefined;
    return {
      currency: link.currency,
      requiresAmount: link.amount === null,
      methods,
      requiresDetails: processor.collectsDetails,
    };
  }

  /** Handles a submitted form. */
  async function submitted(visit: Visit, fields: URLSearchParams): Promise<PageResult> {
    const { link, browser, path, tenant } = visit;
    const shape = shapeOf(link);
    if (link.status !== 'ACTIVE' || shape === undefined || processor === undefined) return tooLate(visit);
    const { entered, errors, submitted: form } = readForm(fields, shape, Temporal.PlainDate.from(link.today));
    if (form === undefined) return payable(visit, 422, entered, errors);
    const attempt = await payLink({ processor, ...visit }, link, form, browser.sessionHash);
    if (attempt === undefined) return tooLate(await again(visit));
    const now = await store.read(tenant.id, (session) => findAttempt(session, tenant.id, attempt.id));
    const isWaiting = now?.status === 'OPEN' && now.actionUrl !== null;
    return redirect(isWaiting ? `${path}/continue` : path);
  }

  /**
   * The link is being paid, was paid, or can no longer be paid. A payer who submitted the form twice sees the result of
   * the first submission.
   */
  function tooLate(visit: Visit): PageResult {
    const { link, path } = visit;
    if (ownAttempt(visit) !== undefined) return redirect(path);
    if (link.status === 'ACTIVE') return pageOf(visit);
    return { ...pageOf(visit), status: 409 };
  }

  function shownStep(visit: Visit, step: Step): PageResult {
    const { link, path, browser } = visit;
    const own = openAttempt(visit);
    if (own?.actionUrl === undefined || own.actionUrl === null) return redirect(path);
    if (step === 'continue') return shownPage(200, continuePage(link, own.actionUrl, isTest));
    if (processor?.answerChallenge === undefined) return redirect(path);
    return shownPage(200, challengePage(link, own, formKey(vault, link.id, browser)));
  }

  /** Handles the answer to a challenge, or the cancellation of a payment that waits for one. */
  async function handledStep(visit: Visit, step: Step, fields: URLSearchParams): Promise<PageResult> {
    const { path } = visit;
    const own = openAttempt(visit);
    if (own === undefined || own.actionUrl === null || processor === undefined) return redirect(path);
    const context = { processor, ...visit };
    if (step === 'cancel') await cancelAttempt(context, own);
    else if (processor.answerChallenge !== undefined) {
      await processor.answerChallenge(
        { key: own.id, clockOffset: own.clockOffset },
        fields.get('answer') === 'confirm',
      );
      await followUp(context, own);
    }
    return redirect(path);
  }

  /** Handles a notification of a processor. The state itself is queried at the processor. */
  async function notified(exchange: Exchange): Promise<PageResult> {
    if (processor?.readNotification === undefined) return shownPage(404, unknownPage());
    if (exchange.method !== 'POST') return wrongMethod(['POST']);
    const { log } = exchange;
    const address = addressKey(exchange.address);
    const body = await exchange.body(largestNotification, '', address);
    let about: NotifiedAttempt | undefined;
    try {
      about = await processor.readNotification(body, exchange.header('stripe-signature'));
    } catch (error) {
      if (error instanceof MalformedNotification) {
        log.warn({ reason: error.message }, 'A notification of the payment processor is malformed.');
        return shownPage(400, '');
      }
      if (!(error instanceof UnverifiedNotification)) throw error;
      // Counted after verification, so that forged notifications never block genuine ones of the same address.
      await limits.take('notification', address);
      log.warn('A notification is not from the payment processor.');
      return shownPage(400, '');
    }
    const tenant: Tenant | undefined = about === undefined ? undefined : await service.directory.tenant(about.tenant);
    if (about === undefined || tenant === undefined) return shownPage(200, '');
    const { key } = about;
    const attempt = await store.read(tenant.id, (session) => findAttempt(session, tenant.id, key));
    if (attempt === undefined) return shownPage(200, '');
    const write = pageWrites(service, tenant, exchange.id);
    await followUp({ processor, tenant, write, log }, attempt);
    return shownPage(200, '');
  }
}

function stepNamed(text: string): Step {
  return text === 'continue' || text === 'challenge' || text === 'cancel' ? text : 'page';
}

/** The attempt that determines the state of the link, if this browser started it. */
function ownAttempt({ link: { attempt }, browser }: Visit): Attempt | undefined {
  return attempt?.sessionHash === browser.sessionHash ? attempt : undefined;
}

function openAttempt(visit: Visit): Attempt | undefined {
  const own = ownAttempt(visit);
  return own?.status === 'OPEN' ? own : undefined;
}

function failed({ status, headers }: Rejection, exchange: Exchange): PageResult {
  return { ...shownPage(status, failurePage(status, headers['Retry-After'], exchange.id)), headers };
}

function wrongMethod(allowed: readonly string[]): PageResult {
  return { ...shownPage(405, failurePage(405, undefined, '')), headers: { Allow: allowed.join(', ') } };
}

function shownPage(status: number, text: string): PageResult {
  return { kind: 'page', status, text };
}

function redirect(path: string): PageResult {
  return { ...shownPage(303, ''), headers: { Location: path } };
}
