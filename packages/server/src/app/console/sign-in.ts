import { hasRole } from '@financial-automation/spec/roles';
import { decodeProtectedHeader } from 'jose';
import { isFailedAttempt } from '../../admission/failure-limit.ts';
import type { Service } from '../../entity/service.ts';
import { createToken } from '../../modules/authentication/index.ts';
import type { Caller, Tenant } from '../../platform/auth/caller.ts';
import { checkRequest } from '../../wire/check-request.ts';
import type { Exchange } from '../../wire/exchange.ts';
import { readFields } from '../../wire/form.ts';
import type { PageResult } from '../../wire/result.ts';
import { toRejection } from '../failure.ts';
import { isEnded } from './ended-sessions.ts';
import { type ConsoleResults, withHeaders } from './results.ts';
import { type ConsoleSession, consoleRole, isSignInKey, startSession } from './session.ts';
import { openContext, operationOf } from './visit.ts';

/** The API user of a session as it is now: keys are revoked, and roles change, while people are signed in. */
export async function callerOf(
  { directory, keys, store }: Service,
  session: ConsoleSession,
): Promise<{ tenant: Tenant; caller: Caller } | undefined> {
  const { tenant: name, keyId, signingKey } = session;
  const tenant = await directory.tenant(name);
  const key = tenant && (await directory.key(tenant.id, keyId));
  if (tenant === undefined || key === undefined || !key.usable) return undefined;
  if ((await keys.publicKey(signingKey)) === undefined) return undefined;
  if (await isEnded(store, tenant.id, session)) return undefined;
  const { apiUserId, apiUserName, roles, staffId } = key;
  return { tenant, caller: { apiUserId, apiUserName, roles: new Set(roles), staffId } };
}

/** Exchanges the key like the API does: with its checks, its limits, and failed attempts counted by address. */
export async function signIn(service: Service, results: ConsoleResults, exchange: Exchange): Promise<PageResult> {
  const { admission, vault } = service;
  admission.failureLimit.checkBody(exchange.address);
  try {
    const fields = await readFields(exchange);
    const isOwn = isSignInKey(vault, exchange.header('cookie'), fields?.get('formKey') ?? '');
    if (fields === undefined || !isOwn) return results.foreignForm();
    const operation = operationOf('createToken');
    const context = openContext(service, exchange, operation);
    const bytes = Buffer.from(JSON.stringify({ apiKey: fields.get('apiKey')?.trim() ?? '' }));
    const { query, body } = checkRequest(service.validator, operation, {
      path: {},
      query: {},
      headers: { 'content-type': 'application/json' },
      bytes,
    });
    const input = { path: {}, query, body, bytes } as Parameters<typeof createToken>[1];
    const result = await createToken(context, input);
    const signingKey = decodeProtectedHeader(fields.get('apiKey')?.trim() ?? '').kid ?? '';
    const { client_id: keyId, tenant, roles } = await service.tokens.verifyAccessToken(result.body.access_token);
    exchange.tenant = tenant;
    if (!hasRole(new Set(roles), [consoleRole])) return results.withoutRole();
    return results.signedIn(startSession(vault, tenant, keyId, signingKey));
  } catch (error) {
    const problem = toRejection(error, exchange.log);
    if (isFailedAttempt(problem)) admission.failureLimit.count(exchange.address);
    const text = [400, 401].includes(problem.status) ? 'This is not a valid API key.' : problem.message;
    return withHeaders(results.signInPage(problem.status, text), problem.headers);
  }
}
