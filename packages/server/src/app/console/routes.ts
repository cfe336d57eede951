import { hasRole } from '@financial-automation/spec/roles';
import { decodeProtectedHeader } from 'jose';
import type { Rejection } from '../../contract/rejection.ts';
import { faultOf } from '../../http/body.ts';
import { checkRequest } from '../../http/check-request.ts';
import type { Exchange } from '../../http/exchange.ts';
import { readFields } from '../../http/form.ts';
import { html } from '../../http/html.ts';
import { isOwnOrigin } from '../../http/own-origin.ts';
import type { PageResult } from '../../http/result.ts';
import type { Route } from '../../http/route.ts';
import { createToken } from '../../modules/authentication/createToken.ts';
import { checkAccess } from '../../platform/auth/access.ts';
import type { Caller, Tenant } from '../../platform/auth/caller.ts';
import type { Service } from '../../service/service.ts';
import { toRejection } from '../failure.ts';
import { dataPage, listPage, rowPage } from './data-pages.ts';
import { alert, framed, plainPage } from './layout.ts';
import { requestPage, requestsPage } from './request-pages.ts';
import { type ConsoleSession, formKeyOf, isFormKey, readSession, sessionCookie, startSession } from './session.ts';
import { contentPolicy } from './style.ts';
import { changeSubscription, subscriptionPage, subscriptionsPage } from './subscription-pages.ts';
import { advanceClock, clockPage, keysPage, limitsPage, overviewPage, revoke, settingsPage } from './tenant-pages.ts';
import { openContext, operationOf, type Visit } from './visit.ts';

/** The role that can do everything on the console, as it can by the API. */
const consoleRole = 'API_ADMIN';

const pageHeaders = {
  'Content-Security-Policy': contentPolicy,
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
  'X-Robots-Tag': 'noindex, nofollow',
  'Permissions-Policy': 'geolocation=(), camera=(), microphone=()',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const;

type Show = (visit: Visit, ...parameters: string[]) => Promise<string> | string;
/** @returns where the browser goes next, below the console; undefined if there is no such form. */
type Change = (visit: Visit, ...parameters: string[]) => Promise<string | undefined>;

const pages: readonly (readonly [pattern: RegExp, show: Show])[] = [
  [/^$/, overviewPage],
  [/^\/requests$/, requestsPage],
  [/^\/requests\/([^/]+)$/, requestPage],
  [/^\/subscriptions$/, subscriptionsPage],
  [/^\/subscriptions\/([^/]+)$/, subscriptionPage],
  [/^\/data$/, dataPage],
  [/^\/data\/([^/]+)$/, listPage],
  [/^\/data\/([^/]+)\/([^/]+)$/, rowPage],
  [/^\/keys$/, keysPage],
  [/^\/limits$/, limitsPage],
  [/^\/settings$/, settingsPage],
  [/^\/clock$/, clockPage],
];

const changes: readonly (readonly [pattern: RegExp, change: Change])[] = [
  [
    /^\/subscriptions\/([^/]+)\/(\w+)$/,
    async (visit, id = '', action = '') => {
      const done = await changeSubscription(visit, id, action);
      return done === undefined ? undefined : `/subscriptions/${encodeURIComponent(id)}?done=${done}`;
    },
  ],
  [
    /^\/keys\/([^/]+)\/revoke$/,
    async (visit, id = '') => {
      await revoke(visit, id);
      return '/keys?done=revoked';
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
  const { config, vault, directory, failureLimit } = service;
  const base = `${new URL(config.publicUrl).pathname.replace(/\/$/, '')}/console`;
  const isSecure = config.publicUrl.startsWith('https:');
  return [
    {
      name: 'console',
      path: '/console/{page}',
      pattern: /^\/console(?:\/.*)?$/,
      methods: ['GET', 'HEAD', 'POST'],
      headers: pageHeaders,
      isSameOrigin: true,
      handle,
      rejected: (problem, exchange) => failed(problem, exchange),
    },
  ];

  async function handle(exchange: Exchange): Promise<PageResult> {
    const path = decoded(exchange.path ?? '')
      .replace(/^\/console\/?/, '/')
      .replace(/\/$/, '');
    const isForm = exchange.method === 'POST';
    if (isForm && !isOwnOrigin(exchange, config.publicUrl)) return foreignForm();
    if (isForm && path === '/sign-in') return signIn(exchange);
    const session = readSession(vault, exchange.header('cookie'));
    const known = session && (await whoIs(session));
    if (session === undefined || known === undefined) return isForm ? redirect('') : shown(signInPage(), 401);
    const { tenant, caller } = known;
    exchange.tenant = tenant.name;
    checkAccess(tenant, exchange);
    if (!hasRole(caller.roles, [consoleRole])) return withoutRole(signedOut(redirect('')));
    await service.rateLimit.take(operationOf('listEventSubscriptions'), `${tenant.id}/${caller.apiUserId}`);
    const fields = isForm ? await readFields(exchange, tenant.name, caller.apiUserId) : new URLSearchParams();
    if (fields === undefined || (isForm && !isFormKey(vault, session, fields.get('formKey') ?? '')))
      return foreignForm();
    if (isForm && path === '/sign-out') return signedOut(redirect(''));
    const turn = await exchange.turn(tenant.name, caller.apiUserId);
    const { isSandbox, name } = tenant;
    const until = new Date(session.until * 1000).toISOString();
    const frame = {
      base,
      tenant: name,
      user: caller.apiUserName,
      isSandbox,
      formKey: formKeyOf(vault, session),
      until,
    };
    const query = new URLSearchParams(
      Object.entries(exchange.query).flatMap(([key, value]) => (typeof value === 'string' ? [[key, value]] : [])),
    );
    const visit: Visit = { service, exchange, tenant, caller, turn, frame, query, fields };
    try {
      return isForm ? await changed(visit, path) : await page(visit, path);
    } catch (error) {
      return failedIn(visit, path, toRejection(error, exchange.log));
    }
  }

  async function page(visit: Visit, path: string): Promise<PageResult> {
    for (const [pattern, show] of pages) {
      const [match, ...parameters] = pattern.exec(path) ?? [];
      if (match !== undefined) return shown(await show(visit, ...parameters));
    }
    return missing(visit);
  }

  async function changed(visit: Visit, path: string): Promise<PageResult> {
    for (const [pattern, change] of changes) {
      const [match, ...parameters] = pattern.exec(path) ?? [];
      const next = match === undefined ? undefined : await change(visit, ...parameters);
      if (next !== undefined) return redirect(next);
    }
    return missing(visit);
  }

  function missing(visit: Visit): PageResult {
    const body = html`<section class="card"><p>The console has no such page. <a href="${base}">Go to the overview</a></p></section>`;
    return shown(framed(visit.frame, { title: 'Page not found', part: 'none', body }), 404);
  }

  /** The API user of a session as it is now: keys are revoked, and roles change, while people are signed in. */
  async function whoIs({
    tenant: name,
    keyId,
    signingKey,
  }: ConsoleSession): Promise<{ tenant: Tenant; caller: Caller } | undefined> {
    const tenant = await directory.tenant(name);
    const key = tenant && (await directory.key(tenant.id, keyId));
    if (tenant === undefined || key === undefined || !key.usable) return undefined;
    if ((await service.keys.publicKey(signingKey)) === undefined) return undefined;
    const { apiUserId, apiUserName, roles, staffId } = key;
    return { tenant, caller: { apiUserId, apiUserName, roles: new Set(roles), staffId } };
  }

  /** Exchanges the key like the API does: with its checks, its limits, and failed attempts counted by address. */
  async function signIn(exchange: Exchange): Promise<PageResult> {
    const endAttempt = failureLimit.attempt(exchange.address);
    try {
      const fields = await readFields(exchange, '', exchange.address);
      if (fields === undefined) return foreignForm();
      const operation = operationOf('createToken');
      const context = openContext(service, exchange, operation);
      const bytes = Buffer.from(JSON.stringify({ apiKey: fields.get('apiKey')?.trim() ?? '' }));
      const { query, body } = await checkRequest(service.validator, operation, {
        path: {},
        query: {},
        headers: { 'content-type': 'application/json' },
        bytes,
      });
      const input = { path: {}, query, body, bytes } as Parameters<typeof createToken>[1];
      const result = await createToken(context, input);
      endAttempt(false);
      const signingKey = decodeProtectedHeader(fields.get('apiKey')?.trim() ?? '').kid ?? '';
      const { client_id: keyId, tenant, roles } = await service.tokens.verifyAccessToken(result.body.access_token);
      exchange.tenant = tenant;
      if (!hasRole(new Set(roles), [consoleRole])) return withoutRole(shown('', 403));
      const cookie = sessionCookie(base, isSecure, startSession(vault, tenant, keyId, signingKey));
      return withHeaders(redirect(''), { 'Set-Cookie': cookie });
    } catch (error) {
      const problem = toRejection(error, exchange.log);
      endAttempt(problem.status < 500 && ![403, 429].includes(problem.status));
      const text = [400, 401].includes(problem.status) ? 'This is not a valid API key.' : problem.message;
      return withHeaders(shown(signInPage(text), problem.status), problem.headers);
    }
  }

  function signInPage(error?: string): string {
    return plainPage(
      'Sign in',
      html`<p class="lead">See what happens in your tenant: requests, deliveries, keys and data.</p>${error !== undefined && alert('bad', html`<p>${error}</p>`)}
<form method="post" action="${base}/sign-in"><label for="apiKey">API key <span class="hint">of an API user with the role ${consoleRole}</span></label>
<input type="password" id="apiKey" name="apiKey" required autocomplete="off" autofocus>
<div class="row"><button>Sign in</button></div></form>
<p class="soft">You stay signed in for an hour. The key itself is not stored.</p>`,
    );
  }

  function withoutRole(result: PageResult): PageResult {
    const body = html`<p>The console requires an API key of an API user with the role <code>${consoleRole}</code>.</p><p><a href="${base}">Sign in with another key</a></p>`;
    return { ...result, status: 403, text: plainPage('Not allowed', body) };
  }

  function foreignForm(): PageResult {
    const body = html`<p>The form was not sent from this console, or you signed in again meanwhile. Nothing was changed.</p><p><a href="${base}">Go to the console</a></p>`;
    return shown(plainPage('Form not accepted', body), 403);
  }

  function failed(problem: Rejection, exchange: Exchange): PageResult {
    const body = html`${alert('bad', html`<p>${problem.message}</p>`)}<p class="soft">Request <code>${exchange.id}</code></p><p><a href="${base}">Go to the console</a></p>`;
    return withHeaders(shown(plainPage('This did not work', body), problem.status), problem.headers);
  }

  /** A problem of someone who is signed in, with the errors of the form. */
  function failedIn({ frame, exchange }: Visit, path: string, problem: Rejection): PageResult {
    const [part = ''] = /^\/subscriptions\/[^/]+|^\/[a-z]+/.exec(path) ?? [];
    const errors = problem.errors ?? [];
    const body = html`${alert('bad', html`<p><strong>${problem.problemCode}</strong>: ${problem.message}</p>${errors.length > 0 && html`<ul>${errors.map(({ detail }) => html`<li>${detail}</li>`)}</ul>`}`)}
<p class="soft">Request <code>${exchange.id}</code></p><p><a href="${base}${exchange.method === 'POST' ? part : ''}">${exchange.method === 'POST' ? 'Back' : 'Go to the overview'}</a></p>`;
    return withHeaders(
      shown(framed(frame, { title: 'This did not work', part: 'none', body }), problem.status),
      problem.headers,
    );
  }

  function signedOut(result: PageResult): PageResult {
    return withHeaders(result, { 'Set-Cookie': sessionCookie(base, isSecure) });
  }

  function redirect(path: string): PageResult {
    return { ...shown('', 303), headers: { Location: `${base}${path}` } };
  }
}

function shown(text: string, status = 200): PageResult {
  return { kind: 'page', status, text };
}

function withHeaders(result: PageResult, headers: Readonly<Record<string, string>>): PageResult {
  return { ...result, headers: { ...result.headers, ...headers } };
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
