import { hasRole } from '@financial-automation/spec/roles';
import { checkAccess } from '../../admission/access.ts';
import type { Service } from '../../entity/service.ts';
import type { Caller, Tenant } from '../../platform/auth/caller.ts';
import { IdentityProvider } from '../../platform/auth/identity-provider.ts';
import { faultOf } from '../../wire/body.ts';
import type { Exchange } from '../../wire/exchange.ts';
import { readFields } from '../../wire/form.ts';
import { isOwnOrigin } from '../../wire/own-origin.ts';
import { privatePageHeaders } from '../../wire/page-style.ts';
import type { BytesResult, PageResult } from '../../wire/result.ts';
import type { Route } from '../../wire/route.ts';
import { toRejection } from '../failure.ts';
import { closePage } from './close-page.ts';
import { dataPage, listFile, listPage } from './data-pages.ts';
import { endSession } from './ended-sessions.ts';
import { createdKeyPage, keysPage, revoke } from './key-pages.ts';
import type { Frame } from './layout.ts';
import { overviewPage } from './overview-page.ts';
import { finishPersonSignIn, startPersonSignIn } from './person-sign-in.ts';
import { requestPage, requestsPage } from './request-pages.ts';
import { ConsoleResults, shown } from './results.ts';
import { actOnRow, actOnRows, commandRow, fileUrl, formPage, rowPage, saveForm, shownDocument } from './row-page.ts';
import { searchPage } from './search-page.ts';
import { type ConsoleSession, consoleRole, formKeyOf, isFormKey, readSession } from './session.ts';
import { callerOf, signIn } from './sign-in.ts';
import { statementFile, statementPage } from './statement-page.ts';
import { contentPolicy } from './style.ts';
import {
  changeSubscription,
  secretPage,
  sentEventPage,
  subscriptionPage,
  subscriptionsPage,
  testEventPage,
} from './subscription-pages.ts';
import { advanceClock, changeSetting, clockPage, limitsPage, settingsPage } from './tenant-pages.ts';
import { type ConsoleVisit, operationOf } from './visit.ts';

type Show = (visit: ConsoleVisit, ...parameters: string[]) => Promise<string | PageResult | BytesResult> | string;
/** @returns where the browser goes next, below the console, or a page that asks for more; undefined if there is no such form. */
type Change = (visit: ConsoleVisit, ...parameters: string[]) => Promise<string | { readonly page: string } | undefined>;

const pages: readonly (readonly [pattern: RegExp, show: Show])[] = [
  [/^$/, overviewPage],
  [/^\/requests$/, requestsPage],
  [/^\/requests\/([^/]+)$/, requestPage],
  [/^\/subscriptions$/, subscriptionsPage],
  [/^\/subscriptions\/([^/]+)$/, subscriptionPage],
  [/^\/subscriptions\/([^/]+)\/events\/([^/]+)$/, sentEventPage],
  [/^\/search$/, searchPage],
  [/^\/data$/, dataPage],
  [/^\/data\/([^/]+)\.csv$/, listFile],
  [/^\/data\/([^/]+)$/, listPage],
  [/^\/data\/([^/]+)\/new$/, (visit, type = '') => formPage(visit, type)],
  [/^\/data\/([^/]+)\/([^/]+)\/edit$/, formPage],
  [/^\/data\/([^/]+)\/([^/]+)$/, rowPage],
  [/^\/statements\/([^/]+)\.csv$/, statementFile],
  [/^\/statements\/([^/]+)$/, statementPage],
  [
    /^\/files\/([^/]+)$/,
    async (visit, id = '') => ({ ...shown('', 303), headers: { Location: await fileUrl(visit, id) } }),
  ],
  [/^\/files\/([^/]+)\/document$/, shownDocument],
  [/^\/close$/, closePage],
  [/^\/keys$/, keysPage],
  [/^\/limits$/, limitsPage],
  [/^\/settings$/, settingsPage],
  [/^\/clock$/, clockPage],
];

const changes: readonly (readonly [pattern: RegExp, change: Change])[] = [
  [
    /^\/data\/([^/]+)\/([^/]+)\/do\/(\w+)$/,
    (visit, type = '', id = '', operation = '') => commandRow(visit, type, id, operation),
  ],
  [/^\/data\/([^/]+)\/new$/, (visit, type = '') => saveForm(visit, type)],
  [/^\/data\/([^/]+)\/([^/]+)\/edit$/, (visit, type = '', id = '') => saveForm(visit, type, id)],
  [/^\/data\/([^/]+)\/selected\/([A-Z_]+)$/, (visit, type = '', to = '') => actOnRows(visit, type, to)],
  [/^\/data\/([^/]+)\/([^/]+)\/([A-Z_]+)$/, (visit, type = '', id = '', to = '') => actOnRow(visit, type, id, to)],
  [/^\/subscriptions\/([^/]+)\/test$/, async (visit, id = '') => ({ page: await testEventPage(visit, id) })],
  [
    /^\/subscriptions\/([^/]+)\/(\w+)$/,
    async (visit, id = '', action = '') => {
      const done = await changeSubscription(visit, id, action);
      return done === undefined ? undefined : `/subscriptions/${encodeURIComponent(id)}?done=${done}`;
    },
  ],
  [/^\/secret$/, async (visit) => ({ page: await secretPage(visit) })],
  [/^\/keys$/, async (visit) => ({ page: await createdKeyPage(visit) })],
  [
    /^\/keys\/([^/]+)\/revoke$/,
    async (visit, id = '') => {
      await revoke(visit, id);
      return '/keys?done=revoked';
    },
  ],
  [
    /^\/settings\/(\w+)$/,
    async (visit, setting = '') => {
      await changeSetting(visit, setting);
      return '/settings?done=changed';
    },
  ],
  [
    /^\/clock$/,
    async (visit) => {
      await advanceClock(visit);
      return '/clock?done=advanced';
    },
  ],
];

/** Pages on which a firm's administrator sees what happens in its tenant, with the rights that the API gives to the same key. */
export function consoleRoutes(service: Service): readonly Route[] {
  const { publicUrl, identityProvider: settings } = service.config;
  const results = new ConsoleResults(publicUrl, service.vault, settings?.issuer);
  const provider = settings && new IdentityProvider(settings);
  return [
    {
      name: 'console',
      path: '/console/{page}',
      pattern: /^\/console(?:\/.*)?$/,
      methods: ['GET', 'HEAD', 'POST'],
      headers: privatePageHeaders(contentPolicy),
      isSameOrigin: true,
      handle: (exchange) => handle(service, results, provider, exchange),
      rejected: (problem, exchange) => results.failed(problem, exchange.id),
    },
  ];
}

/** The steps of a request for a page, or of a form, in order. */
async function handle(
  service: Service,
  results: ConsoleResults,
  provider: IdentityProvider | undefined,
  exchange: Exchange,
): Promise<PageResult | BytesResult> {
  const { config, vault } = service;
  const path = decoded(exchange.path ?? '')
    .replace(/^\/console\/?/, '/')
    .replace(/\/$/, '');
  const isForm = exchange.method === 'POST';
  if (isForm && !isOwnOrigin(exchange, config.publicUrl)) return results.foreignForm();
  if (isForm && path === '/sign-in') return signIn(service, results, exchange);
  if (provider !== undefined && path === '/sign-in/provider')
    return startPersonSignIn(service, results, provider, exchange);
  if (provider !== undefined && path === '/sign-in/return')
    return finishPersonSignIn(service, results, provider, exchange);
  const session = readSession(vault, exchange.header('cookie'));
  const known = session && (await callerOf(service, session));
  if (session === undefined || known === undefined) return isForm ? results.redirect('') : results.signInPage(401);
  const { tenant, caller } = known;
  exchange.tenant = tenant.name;
  checkAccess(tenant, exchange);
  if (!hasRole(caller.roles, [consoleRole])) return results.signedOut(results.withoutRole());
  await service.admission.rateLimit.take(operationOf('listEventSubscriptions'), `${tenant.id}/${caller.apiUserId}`);
  const fields = isForm ? await readFields(exchange) : new URLSearchParams();
  if (fields === undefined || (isForm && !isFormKey(vault, session, fields.get('formKey') ?? '')))
    return results.foreignForm();
  if (isForm && path === '/sign-out') {
    await endSession(service.store, tenant.id, session);
    return results.signedOut(results.redirect(''));
  }
  const admitted = await service.admission.admit(tenant.name, caller.apiUserId);
  exchange.hold(admitted);
  const query = new URLSearchParams(
    Object.entries(exchange.query).flatMap(([key, value]) => (typeof value === 'string' ? [[key, value]] : [])),
  );
  const frame = frameOf(service, results, session, tenant, caller);
  const visit: ConsoleVisit = { service, exchange, tenant, caller, admitted, frame, query, fields };
  try {
    return (isForm ? await changed(visit, path, results) : await page(visit, path)) ?? results.missing(frame);
  } catch (error) {
    return results.failedIn(visit, path, toRejection(error, exchange.log));
  }
}

function frameOf(
  { vault }: Service,
  { base }: ConsoleResults,
  session: ConsoleSession,
  { name, isSandbox, timeZone }: Tenant,
  { apiUserName }: Caller,
): Frame {
  const until = new Date(session.until * 1000).toISOString();
  return { base, tenant: name, user: apiUserName, isSandbox, formKey: formKeyOf(vault, session), until, timeZone };
}

/** @returns undefined if the console has no such page */
async function page(visit: ConsoleVisit, path: string): Promise<PageResult | BytesResult | undefined> {
  for (const [pattern, show] of pages) {
    const [match, ...parameters] = pattern.exec(path) ?? [];
    if (match === undefined) continue;
    const result = await show(visit, ...parameters);
    return typeof result === 'string' ? shown(result) : result;
  }
  return undefined;
}

/** @returns undefined if the console has no such form */
async function changed(visit: ConsoleVisit, path: string, results: ConsoleResults): Promise<PageResult | undefined> {
  for (const [pattern, change] of changes) {
    const [match, ...parameters] = pattern.exec(path) ?? [];
    const next = match === undefined ? undefined : await change(visit, ...parameters);
    if (next !== undefined) return typeof next === 'string' ? results.redirect(next) : shown(next.page);
  }
  return undefined;
}

/** A path that is not encoded correctly, or has characters that cannot be stored, has no page. */
function decoded(path: string): string {
  const nowhere = '/console/of/no/page/at/all';
  try {
    const text = decodeURIComponent(path);
    return faultOf(text) === undefined ? text : nowhere;
  } catch {
    return nowhere;
  }
}
