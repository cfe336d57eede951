import { v7 as uuidv7 } from 'uuid';
import type { Context, PublicContext } from '../../src/context.ts';
import type { Operation } from '../../src/contract/contract.ts';
import { toRejection } from '../../src/failure.ts';
import { problemDocument } from '../../src/http/problem.ts';
import { type AnyHandler, handlers } from '../../src/resources/handlers.ts';
import type { Service } from '../../src/service.ts';
import { signIn } from '../../src/sign-in.ts';

/** A call as the other fronts make it: who calls, found as this server finds it. */
export function openCall(service: Service, operation: Operation, tenantName: string | undefined): PublicContext {
  return { service, operation, requestId: uuidv7(), address: '127.0.0.1', tenantName };
}

export function signInTo(open: PublicContext, authorization: string | undefined): Promise<Context> {
  return signIn(open, { authorization, ifMatch: undefined });
}

export function handle(
  context: Context,
  input: { path: unknown; query: unknown; body: unknown },
): ReturnType<AnyHandler> {
  return (handlers[context.operation.id] as AnyHandler)(context, { ...input, bytes: undefined });
}

export function failureOf(error: unknown, service: Service) {
  const problem = toRejection(error, service.log);
  return { status: problem.status, body: problemDocument(problem, uuidv7()) };
}

/** `/gql/v1/client/{id}` as routers write it. */
export function pattern(operation: Operation): string {
  return operation.path.replaceAll(/\{([^}]+)\}/g, ':$1');
}
