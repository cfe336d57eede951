import type { Admitted } from '../admission/admission.ts';
import { isBulk } from '../contract/bulk.ts';
import type { Operation } from '../contract/contract.ts';
import { authorize } from '../contract/roles.ts';
import type { Context } from '../entity/context.ts';
import { checkRequest, type RawRequest } from '../wire/check-request.ts';
import { cleanParameters } from '../wire/input.ts';
import { type AnyHandler, handlers } from './handlers.ts';

export type HandlerInput = Parameters<AnyHandler>[1];
export type HandlerResult = Awaited<ReturnType<AnyHandler>>;

export function handlerOf(operation: Operation): AnyHandler {
  return handlers[operation.id] as AnyHandler;
}

/** The context of a request with this body, whose costly reads and bulk writes wait for their turn. */
export function weighed(context: Context, admitted: Admitted, body: unknown): Context {
  const { read, write } = context;
  return {
    ...context,
    read: (work, isCostly = false) => (isCostly ? admitted.heavy(() => read(work)) : read(work)),
    write: isBulk(body) ? (work) => admitted.heavy(() => write(work)) : write,
  };
}

/**
 * Runs an operation for a page of the service, by the rules that hold for a caller of the API: rate limit, roles, contract.
 *
 * @throws Rejection
 */
export async function runOperation(context: Context, admitted: Admitted, raw: RawRequest): Promise<HandlerResult> {
  const { service, operation, tenant, caller } = context;
  await service.admission.rateLimit.take(operation, `${tenant.id}/${caller.apiUserId}`);
  authorize(operation, caller.roles);
  const path = cleanParameters('path', raw.path);
  const query = cleanParameters('query', raw.query);
  const checked = checkRequest(service.validator, operation, { ...raw, path, query });
  const input = { ...checked, path };
  return handlerOf(operation)(weighed(context, admitted, input.body), input);
}
