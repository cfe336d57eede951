/** Sign-in by an API key, and for people at an identity provider, so that the audit log names a person. */
import { hasRole } from '@financial-automation/spec/roles';
import { decodeProtectedHeader } from 'jose';
import { checkAccess } from '../../admission/access.ts';
import { createKey } from '../../admission/create-key.ts';
import { isFailedAttempt } from '../../admission/failure-limit.ts';
import { schemaOf } from '../../contract/contract.ts';
import { Rejection } from '../../contract/rejection.ts';
import type { Service } from '../../entity/service.ts';
import { createToken } from '../../modules/authentication/index.ts';
import type { Claims, IdentityProvider, SignedIn } from '../../platform/auth/identity-provider.ts';
import { faultOf } from '../../wire/body.ts';
import { checkRequest } from '../../wire/check-request.ts';
import type { Exchange } from '../../wire/exchange.ts';
import { readFields } from '../../wire/form.ts';
import type { PageResult } from '../../wire/result.ts';
import { toRejection } from '../failure.ts';
import { type ConsoleResults, withHeaders } from './results.ts';
import {
  type ConsoleSession,
  consoleRole,
  foreignForm,
  maxIdTokenLength,
  newCookieId,
  sessionLasts,
  withoutRole,
} from './session.ts';
import { openContext, operationOf } from './visit.ts';

const maxNameLength = 100;

/** Exchanges the key like the API does: with its checks, its limits, and failed attempts counted by address. */
export async function signIn(service: Service, results: ConsoleResults, exchange: Exchange): Promise<PageResult> {
  const { admission, tokens, validator } = service;
  admission.failureLimit.checkBody(exchange.address);
  try {
    const fields = await readFields(exchange);
    const form = results.cookies.read('form', exchange.header('cookie'));
    if (fields === undefined || form === undefined || !results.cookies.isFormKey(form, fields.get('formKey') ?? ''))
      throw foreignForm();
    const apiKey = fields.get('apiKey')?.trim() ?? '';
    const operation = operationOf('createToken');
    const bytes = Buffer.from(JSON.stringify({ apiKey }));
    const headers = { 'content-type': 'application/json' };
    const { query, body } = checkRequest(validator, operation, { path: {}, query: {}, headers, bytes });
    const input = { path: {}, query, body, bytes } as Parameters<typeof createToken>[1];
    const result = await createToken(openContext(service, exchange, operation), input);
    const signingKey = decodeProtectedHeader(apiKey).kid ?? '';
    const { client_id: keyId, tenant, roles } = await tokens.verifyAccessToken(result.body.access_token);
    exchange.tenant = tenant;
    if (!hasRole(new Set(roles), [consoleRole])) throw withoutRole();
    const session = results.cookies.header('session', { tenant, keyId, signingKey, id: newCookieId() });
    return withHeaders(results.redirect(''), { 'Set-Cookie': session });
  } catch (error) {
    const problem = toRejection(error, exchange.log);
    if (isFailedAttempt(problem)) admission.failureLimit.count(exchange.address);
    const text = [400, 401].includes(problem.status) ? 'This is not a valid API key.' : problem.message;
    return withHeaders(results.signInPage(problem.status, text), problem.headers);
  }
}

/** Sends the browser to the provider. What it needs afterwards is kept in a cookie of its own. */
export async function startPersonSignIn(
  { admission, config }: Service,
  results: ConsoleResults,
  provider: IdentityProvider,
  exchange: Exchange,
): Promise<PageResult> {
  admission.failureLimit.check(exchange.address);
  try {
    const { url, attempt } = await provider.start(returnUrlOf(config.publicUrl));
    const { tenant } = exchange.query;
    const chosen = typeof tenant === 'string' ? tenant : undefined;
    return withHeaders(results.redirect(''), {
      Location: url,
      'Set-Cookie': results.cookies.header('attempt', { ...attempt, tenant: chosen }),
    });
  } catch (error) {
    exchange.log.error({ err: error }, 'The identity provider cannot be reached');
    return results.signInPage(503, 'The service for signing in cannot be reached. Try again later, or use an API key.');
  }
}

/** Handles the return from the provider: starts a session as an API user of this person, with the roles of its claims. */
export async function finishPersonSignIn(
  service: Service,
  results: ConsoleResults,
  provider: IdentityProvider,
  exchange: Exchange,
): Promise<PageResult> {
  const { admission, config, directory } = service;
  admission.failureLimit.check(exchange.address);
  const attempt = results.cookies.read('attempt', exchange.header('cookie'));
  const url = new URL(returnUrlOf(config.publicUrl));
  for (const [name, value] of Object.entries(exchange.query))
    if (typeof value === 'string') url.searchParams.set(name, value);
  let signedIn: SignedIn;
  try {
    if (attempt === undefined) throw new Error('This browser has no sign-in to finish.');
    signedIn = await provider.finish(url, attempt);
  } catch (error) {
    exchange.log.warn({ err: error }, 'A person could not sign in');
    admission.failureLimit.count(exchange.address);
    return results.signInPage(401, 'You are not signed in. Try again.');
  }
  const { claims, idToken } = signedIn;
  const names = textsIn(claims[provider.settings.tenantClaim]);
  const chosen = attempt.tenant ?? (names.length === 1 ? names[0] : undefined);
  if (chosen === undefined && names.length > 1) return results.tenantPage(names);
  const tenant = chosen === undefined || !names.includes(chosen) ? undefined : await directory.tenant(chosen);
  if (tenant === undefined) throw new Rejection('FORBIDDEN', 'Your account belongs to no firm of this service.');
  exchange.tenant = tenant.name;
  checkAccess(tenant, exchange);
  const known = schemaOf('Role').enum ?? [];
  const roles = textsIn(claims[provider.settings.rolesClaim]).filter((role) => known.includes(role));
  if (!hasRole(new Set(roles), [consoleRole])) throw withoutRole();
  const user = nameOf(claims);
  // The key is never shown: it is what the session ends with, and what an administrator revokes.
  const key = {
    user,
    identity: `${claims.iss} ${claims.sub}`,
    roles: [...new Set(roles)].sort(),
    days: sessionLasts / 86_400,
    description: `Signed in at ${new URL(claims.iss).host}`,
  };
  const origin = { apiUserId: null, actor: user, requestId: exchange.id };
  const { id: keyId, signingKey } = await createKey(service, tenant, key, origin);
  // After a redirect from another site, browsers would not send the cookie.
  const session = {
    tenant: tenant.name,
    keyId,
    signingKey,
    id: newCookieId(),
    idToken: idToken.length <= maxIdTokenLength ? idToken : '',
  };
  return results.leadTo('Signed in', results.base, session);
}

/** Where the browser ends the session at the provider; undefined if nobody has signed in there, or it has no such page. */
export async function providerSignOut(
  { config }: Service,
  provider: IdentityProvider | undefined,
  { idToken }: ConsoleSession,
  { log }: Exchange,
): Promise<string | undefined> {
  if (provider === undefined || idToken === undefined) return undefined;
  return provider.endSessionUrl(idToken, `${config.publicUrl}/console`).catch((error: unknown) => {
    log.error({ err: error }, 'The session at the identity provider is not ended');
    return undefined;
  });
}

function returnUrlOf(publicUrl: string): string {
  return `${publicUrl}/console/sign-in/return`;
}

/** A claim with one text, or a list of them. */
function textsIn(claim: unknown): string[] {
  return [claim].flat().filter((value) => typeof value === 'string');
}

/** The name of the API user: what the person is called, and the address that tells two of one name apart. */
function nameOf({ name, preferred_username: userName, email, sub }: Claims): string {
  const readable = (text: unknown) =>
    typeof text === 'string' && text.trim() !== '' && text.length <= maxNameLength && faultOf(text) === undefined
      ? text.trim()
      : undefined;
  const account = readable(email) ?? readable(userName) ?? readable(sub);
  if (account === undefined)
    throw new Rejection('VALIDATION_ERROR', 'Your account has neither a name nor an address that can be shown.');
  const known = readable(name);
  return known === undefined ? account : `${known} (${account})`;
}
