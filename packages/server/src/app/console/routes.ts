import { hasRole } from '@financial-automation/spec/roles';
import { checkAccess } from '../../admission/access.ts';
import { Rejection } from '../../contract/rejection.ts';
import type { Service } from '../../entity/service.ts';
import { IdentityProvider } from '../../platform/auth/identity-provider.ts';
import { faultOf } from '../../wire/body.ts';
import type { Exchange } from '../../wire/exchange.ts';
import { readFields } from '../../wire/form.ts';
import { isOwnOrigin } from '../../wire/own-origin.ts';
import { privatePageHeaders } from '../../wire/page-style.ts';
import type { BytesResult, PageResult } from '../../wire/result.ts';
import type { Route } from '../../wire/route.ts';
import { toRejection } from '../failure.ts';
import { actOnRow, actOnRows, formPage } from './action-pages.ts';
import { closePage } from './close-page.ts';
import { dataPage, listFile, listPage, searchPage } from './data-pages.ts';
import { retry, sentEventPage } from './delivery-pages.ts';
import { createdKeyPage, keysPage, revoke } from './key-pages.ts';
import type { ConsolePage, Frame } from './layout.ts';
import { overviewPage } from './overview-page.ts';
import { changeFirm, fileContent, firmPage, readPage } from './read-page.ts';
import { requestPage, requestsPage } from './request-pages.ts';
import { ConsoleResults } from './results.ts';
import { rowPage } from './row-page.ts';
import { callerOf, consoleRole, endSession, foreignForm, withoutRole } from './session.ts';
import { changeSetting, settingsPage } from './settings-page.ts';
import { finishPersonSignIn, providerSignOut, signIn, startPersonSignIn } from './sign-in.ts';
import { contentPolicy } from './style.ts';
import { type ConsoleVisit, operationOf } from './visit.ts';

type Answer = string | ConsolePage | PageResult | BytesResult | undefined;
type Handle = (visit: ConsoleVisit, ...parameters: string[]) => Answer | Promise<Answer>;
type Patterns = readonly (readonly [path: RegExp, handle: Handle])[];

/** Pages, or files; undefined if there is no such page. */
const pages: Patterns = [
  [/^$/, overviewPage],
  [/^\/requests$/, requestsPage],
  [/^\/requests\/([^/]+)$/, requestPage],
  [/^\/search$/, searchPage],
  [/^\/data$/, dataPage],
  [/^\/data\/([^/]+)\.csv$/, listFile],
  [/^\/data\/([^/]+)$/, listPage],
  [/^\/data\/([^/]+)\/new$/, (visit, type = '') => formPage(visit, type)],
  [/^\/data\/([^/]+)\/([^/]+)\/edit$/, formPage],
  [/^\/data\/EventSubscription\/([^/]+)\/events\/([^/]+)$/, sentEventPage],
  [/^\/data\/([^/]+)\/([^/]+)\/(\w+)(?:\/(\w+))?$/, readPage],
  [/^\/data\/([^/]+)\/([^/]+)$/, rowPage],
  [/^\/files\/([^/]+)$/, fileContent],
  [/^\/close$/, closePage],
  [/^\/keys$/, keysPage],
  [/^\/settings$/, settingsPage],
  [/^\/(\w+)$/, firmPage],
];

/** Forms. They return where the browser goes next, below the console, or a page that asks for more; undefined if there is no such form. */
const forms: Patterns = [
  [/^\/data\/([^/]+)\/new$/, (visit, type = '') => actOnRow(visit, type, undefined, 'new')],
  [/^\/data\/([^/]+)\/selected\/(\w+)$/, actOnRows],
  [/^\/data\/EventSubscription\/([^/]+)\/deliveries\/([^/]+)\/retry$/, retry],
  [/^\/data\/([^/]+)\/([^/]+)\/(\w+)$/, actOnRow],
  [/^\/keys$/, createdKeyPage],
  [/^\/keys\/([^/]+)\/revoke$/, revoke],
  [/^\/settings\/(\w+)$/, changeSetting],
  [/^\/(\w+)\/(\w+)$/, changeFirm],
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
  const { admission, config } = service;
  const { base, cookies } = results;
  const path = decoded(exchange.path ?? '')
    .replace(/^\/console\/?/, '/')
    .replace(/\/$/, '');
  const isForm = exchange.method === 'POST';
  if (isForm && !isOwnOrigin(exchange, config.publicUrl)) throw foreignForm();
  if (isForm && path === '/sign-in') return signIn(service, results, exchange);
  if (provider !== undefined && path === '/sign-in/provider')
    return startPersonSignIn(service, results, provider, exchange);
  if (provider !== undefined && path === '/sign-in/return')
    return finishPersonSignIn(service, results, provider, exchange);
  const session = cookies.read('session', exchange.header('cookie'));
  const known = session && (await callerOf(service, session));
  if (session === undefined || known === undefined) return isForm ? results.redirect('') : results.signInPage(401);
  const { tenant, caller } = known;
  exchange.tenant = tenant.name;
  checkAccess(tenant, exchange);
  if (!hasRole(caller.roles, [consoleRole])) return results.ended(results.failed(withoutRole(), exchange.id));
  await admission.rateLimit.take(operationOf('listEventSubscriptions'), `${tenant.id}/${caller.apiUserId}`);
  const fields = isForm ? await readFields(exchange) : new URLSearchParams();
  if (fields === undefined || (isForm && !cookies.isFormKey(session, fields.get('formKey') ?? ''))) throw foreignForm();
  if (isForm && path === '/sign-out') {
    await endSession(service.store, tenant.id, session);
    const url = await providerSignOut(service, provider, session, exchange);
    // No form of the console may lead to another site, not even by a redirect.
    return url === undefined ? results.ended(results.redirect('')) : results.leadTo('Signed out', url);
  }
  const admitted = await admission.admit(tenant.name, caller.apiUserId);
  exchange.hold(admitted);
  const query = new URLSearchParams(
    Object.entries(exchange.query).flatMap(([key, value]) => (typeof value === 'string' ? [[key, value]] : [])),
  );
  const { name, isSandbox, timeZone } = tenant;
  const formKey = cookies.formKey(session);
  const frame: Frame = { base, tenant: name, user: caller.apiUserName, isSandbox, formKey, timeZone };
  const visit: ConsoleVisit = { service, exchange, tenant, caller, admitted, frame, query, fields };
  try {
    for (const [pattern, answer] of isForm ? forms : pages) {
      const [match, ...parameters] = pattern.exec(path) ?? [];
      const result = match === undefined ? undefined : await answer(visit, ...parameters);
      if (typeof result === 'string') return results.redirect(result);
      if (result !== undefined) return 'kind' in result ? result : results.shownAt(path, visit, result);
    }
    throw new Rejection('NOT_FOUND', 'The console has no such page.');
  } catch (error) {
    return results.failedAt(path, visit, toRejection(error, exchange.log));
  }
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
