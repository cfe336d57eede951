import { sql } from 'kysely';
import type { Admitted } from '../../admission/admission.ts';
import { type Operation, operationOf } from '../../contract/contract.ts';
import type { CsvFile } from '../../contract/csv.ts';
import type { OperationId, Result } from '../../contract/handler.ts';
import type { ResponseFile } from '../../contract/response-file.ts';
import type { Context } from '../../entity/context.ts';
import type { Service } from '../../entity/service.ts';
import type { Exchange } from '../../wire/exchange.ts';
import { runOperation } from '../run-operation.ts';
import type { SignedInUser } from '../sessions/index.ts';
import { contextOf, openContext } from '../sign-in.ts';

/** The request of someone who is signed in. */
export interface ConsoleVisit extends SignedInUser {
  readonly service: Service;
  readonly exchange: Exchange;
  readonly admitted: Admitted;
  /** Path of the console in the browser. */
  readonly base: string;
  readonly query: URLSearchParams;
}

/** The parts of a call; parameters as they are in an address. */
export interface CallInput {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

/** The context of an operation. Its changes are audited under the API user, with the ID of the request; of a rehearsal none remain. */
export function contextIn(
  { service, exchange, tenant, caller }: ConsoleVisit,
  operation: Operation,
  { ifMatch, isRehearsal }: { readonly ifMatch?: string | undefined; readonly isRehearsal?: boolean } = {},
): Context {
  return contextOf(openContext(service, operation, exchange), tenant, caller, ifMatch, isRehearsal);
}

/** Calls an operation as the API would, and returns the body of its response. @throws Rejection */
export async function callOperation(
  visit: ConsoleVisit,
  operation: Operation,
  { path = {}, query = {}, body }: CallInput = {},
  context = contextIn(visit, operation),
): Promise<Record<string, unknown>> {
  const { tenant, admitted } = visit;
  const { bodyLimit } = operation;
  const bytes = bodyLimit === null || body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  // Headers that the contract requires.
  const headers = { tenant: tenant.name, ...(bytes !== undefined && { 'content-type': 'application/json' }) };
  const result = await runOperation(context, admitted, { path, query: { ...query }, headers, bytes });
  return Object(result.body);
}

type BodyOf<Id extends OperationId> = Exclude<Result<Id>['body'], CsvFile | ResponseFile>;

/** The same for one operation, with the type that the contract gives its response. @throws Rejection */
export async function call<Id extends OperationId>(visit: ConsoleVisit, id: Id, input?: CallInput) {
  return (await callOperation(visit, operationOf(id), input)) as BodyOf<Id>;
}

/** The rows of a list that was called. */
export function rowsIn(body: Record<string, unknown>): readonly Record<string, unknown>[] {
  return Array.isArray(body.data) ? body.data : [];
}

/** The cursor of the page after one of a list. */
export function nextPage({ nextCursor }: Readonly<Record<string, unknown>>): string | undefined {
  return typeof nextCursor === 'string' ? nextCursor : undefined;
}

/** The day at the firm, `YYYY-MM-DD`; that of a sandbox is its own. */
export async function todayOf({ service: { store }, tenant }: ConsoleVisit): Promise<string> {
  const row = await store.read(tenant.id, (session) =>
    session.first<{ day: string }>(sql`select today()::text as day`),
  );
  return row?.day ?? '';
}
