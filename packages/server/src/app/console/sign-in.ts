import { hasRole } from '@financial-automation/spec/roles';
import { decodeProtectedHeader } from 'jose';
import { isFailedAttempt } from '../../admission/failure-limit.ts';
import type { Service } from '../../entity/service.ts';
import { createToken } from '../../modules/authentication/index.ts';
import { checkRequest } from '../../wire/check-request.ts';
import type { Exchange } from '../../wire/exchange.ts';
import { readFields } from '../../wire/form.ts';
import type { PageResult } from '../../wire/result.ts';
import { toRejection } from '../failure.ts';
import { type ConsoleResults, withHeaders } from './results.ts';
import { consoleRole, newCookieId } from './session.ts';
import { openContext, operationOf } from './visit.ts';

/** Exchanges the key like the API does: with its checks, its limits, and failed attempts counted by address. */
export async function signIn(service: Service, results: ConsoleResults, exchange: Exchange): Promise<PageResult> {
  const { admission, tokens, validator } = service;
  admission.failureLimit.checkBody(exchange.address);
  try {
    const fields = await readFields(exchange);
    const form = results.cookies.read('form', exchange.header('cookie'));
    if (fields === undefined || form === undefined || !results.cookies.isFormKey(form, fields.get('formKey') ?? ''))
      return results.foreignForm();
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
    if (!hasRole(new Set(roles), [consoleRole])) return results.withoutRole();
    const session = results.cookies.header('session', { tenant, keyId, signingKey, id: newCookieId() });
    return withHeaders(results.redirect(''), { 'Set-Cookie': session });
  } catch (error) {
    const problem = toRejection(error, exchange.log);
    if (isFailedAttempt(problem)) admission.failureLimit.count(exchange.address);
    const text = [400, 401].includes(problem.status) ? 'This is not a valid API key.' : problem.message;
    return withHeaders(results.signInPage(problem.status, text), problem.headers);
  }
}
