import { toRejection } from '../../server/src/app/failure.ts';
import { type AnyHandler, handlers } from '../../server/src/app/handlers.ts';
import { signIn } from '../../server/src/app/sign-in.ts';
import type { Operation } from '../../server/src/contract/contract.ts';
import { problemDocument } from '../../server/src/contract/problem.ts';
import type { Context, PublicContext } from '../../server/src/service/context.ts';
import type { Service } from '../../server/src/service/service.ts';
import { newRequestId } from '../../server/src/wire/request-id.ts';

/** Opens a call in the other stacks. The caller is authenticated as in this server. */
export function openCall(service: Service, operation: Operation, tenantName: string | undefined): PublicContext {
  return { service, operation, requestId: newRequestId(), address: '127.0.0.1', tenantName };
}

export function signInTo(open: PublicContext, authorization: string | undefined): Promise<Context> {
  return signIn(open, { authorization, ifMatch: undefined, isRehearsal: false });
}

export function handle(
  context: Context,
  input: { path: unknown; query: unknown; body: unknown },
): ReturnType<AnyHandler> {
  return (handlers[context.operation.id] as AnyHandler)(context, { ...input, bytes: undefined });
}

export function failureOf(error: unknown, service: Service) {
  const problem = toRejection(error, service.log);
  return { status: problem.status, body: problemDocument(problem, newRequestId()) };
}

/** The path of an operation as routers write it: `/gql/v1/client/:id`. */
export function pattern(operation: Operation): string {
  return operation.path.replaceAll(/\{([^}]+)\}/g, ':$1');
}
