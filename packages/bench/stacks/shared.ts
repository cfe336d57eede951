import {
  type AnyHandler,
  type Context,
  handlers,
  newId,
  type PublicContext as OpenCall,
  type Operation,
  problemDocument,
  signIn,
  toRejection,
} from '@financial-automation/server/bench';
import type { Service } from '@financial-automation/server/service';

export type { OpenCall };

/** Opens a call in the other stacks. The caller is authenticated as in this server. */
export function openCall(service: Service, operation: Operation, tenantName: string | undefined): OpenCall {
  return { service, operation, requestId: newId(), address: '127.0.0.1', tenantName, identify: () => undefined };
}

export function signInTo(open: OpenCall, authorization: string | undefined): Promise<Context> {
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
  return { status: problem.status, body: problemDocument(problem, newId()) };
}

/** The path of an operation as routers write it: `/gql/v1/client/:id`. */
export function pattern(operation: Operation): string {
  return operation.path.replaceAll(/\{([^}]+)\}/g, ':$1');
}
