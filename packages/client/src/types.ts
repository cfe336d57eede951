/**
 * The input and all responses of each operation, derived from the contract. Decimal
 * numbers are strings on both sides.
 */
import type { calls, components, Operations } from '@financial-automation/spec';

export type Calls = typeof calls;
/** The entry of an operation in the index: method, path, `x-idempotent`, and paging. */
export type Call = Calls[OperationId];

/** The operations of the contract, by their `operationId`. */
export type OperationId = keyof Calls;

/** The operations that return a page of rows, for `rows` and `pages`. */
export type ListOperationId = {
  [Id in OperationId]: Calls[Id][3] extends null ? never : Id;
}[OperationId];

/** A schema of the contract by its name, such as `Schema<'Client'>`. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

/** Options of one call. */
export interface CallOptions {
  /** Aborts the call, including retries and delays; the promise rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Timeout of the call in milliseconds, including retries and delays. Default: that of the client. */
  timeout?: number;
  /** Maximum number of retries, if retrying is safe. Default: that of the client. */
  retries?: number;
  /** The response that the mock returns. Such a call is not retried. The service ignores it. */
  prefer?: { example?: string; code?: number };
}

/** The input of an operation: `path`, `query`, `headers` and `body` as in the contract, and {@link CallOptions}. */
export type Input<Id extends OperationId> = InputOf<Operations[Id]>;
// Distributed over the operations, because TypeScript cannot compute the product of all paths, queries and bodies.
export type InputOf<Operation> = Operation extends unknown
  ? PathOf<Operation> &
      QueryOf<Operation> &
      HeadersOf<Operation> &
      BodyOf<Operation> &
      DryRunOf<Operation> &
      CallOptions
  : never;

/** The arguments of a call: the input is optional if nothing in it is required. */
export type InputArguments<Type> = Record<never, never> extends Type ? [input?: Type] : [input: Type];

type PathOf<Operation> = Operation extends { parameters: { path: infer Path } } ? { path: Path } : { path?: never };
type QueryOf<Operation> = Operation extends { parameters: { query: infer Query } }
  ? { query: AsJson<Query> }
  : Operation extends { parameters: { query?: infer Query } }
    ? { query?: AsJson<Exclude<Query, undefined>> }
    : { query?: never };
/** Responses are JSON here. */
type AsJson<Query> = [Query] extends [never] ? never : 'format' extends keyof Query ? Omit<Query, 'format'> : Query;
type HeadersOf<Operation> = Operation extends { parameters: { header?: infer Header } }
  ? // The client sends the tenant itself, because its token is valid for no other.
    { headers?: Omit<NonNullable<Header>, 'Tenant'> }
  : { headers?: never };
/** Operations that write can be rehearsed. */
type DryRunOf<Operation> = Operation extends { parameters: { header?: infer Header } }
  ? 'Dry-Run' extends keyof NonNullable<Header>
    ? {
        /** Whether the service only rehearses the call: it returns the response of the real call, and stores nothing. */
        dryRun?: boolean;
      }
    : { dryRun?: never }
  : { dryRun?: never };
type BodyOf<Operation> = Operation extends { requestBody: { content: { 'application/json': infer Body } } }
  ? BodyOfPage<Operation, Body | LinesOf<Operation>>
  : { body?: never };
/** Where the contract accepts lines of JSON, a text is sent as these. */
type LinesOf<Operation> = Operation extends { requestBody: { content: { 'application/x-ndjson': infer Lines } } }
  ? Lines
  : never;
/** The body of a list, a search or a lookup is optional if nothing in it is required: the client then sends `{}`. */
type BodyOfPage<Operation, Body> = Operation extends {
  responses: { 200: { content: { 'application/json': AnyPage } } };
}
  ? Record<never, never> extends Body
    ? { body?: Body }
    : { body: Body }
  : { body: Body };
interface AnyPage {
  data: unknown[];
  hasMore: boolean;
}

/**
 * Every response that the contract declares for an operation, narrowed by `status` or by `ok`. A response
 * that is not `ok` has a problem document as its `body`.
 */
export type ApiResponse<Id extends OperationId> = ApiResponseOf<Operations[Id]>;
export type ApiResponseOf<Operation> = Operation extends { responses: infer Responses }
  ? {
      [Status in keyof Responses & number]: ApiResponseWith<Status, Responses[Status]>;
    }[Exclude<keyof Responses & number, NotModified['status']>]
  : never;

/** The response to a read whose `If-None-Match` has the current `ETag`: you have the body already. */
export interface NotModified {
  status: 304;
  ok: false;
  body: undefined;
  headers: Headers;
}

/** The operations that read one row, and accept `If-None-Match`. */
export type ConditionalOperationId = {
  [Id in OperationId]: Operations[Id] extends { responses: { 304: unknown } } ? Id : never;
}[OperationId];
/** The input of a read with the type of its `If-None-Match`, which says whether the response can be a 304. */
export type InputWithCondition<Id extends ConditionalOperationId, ETag extends string | undefined> = Omit<
  Input<Id>,
  'headers'
> & { headers?: Omit<NonNullable<Input<Id>['headers']>, 'If-None-Match'> & { 'If-None-Match'?: ETag } };

interface ApiResponseWith<Status, Declared> {
  status: Status;
  /** Whether the call succeeded. */
  ok: Status extends 200 | 201 | 202 | 204 ? true : false;
  body: Declared extends { content: infer Content } ? Content[keyof Content & `${string}json`] : undefined;
  headers: Declared extends { headers: infer Names } ? ApiResponseHeaders<Names> : Headers;
}

/** `Headers` whose `get` has the types of the headers that the contract declares for the response. */
export interface ApiResponseHeaders<Names> extends Headers {
  get<Name extends keyof DeclaredOnly<Names>>(name: Name): Names[Name] extends string | number ? string : string | null;
  get(name: string): string | null;
}
/** openapi-typescript adds `[name: string]: unknown` to the headers that are declared. */
type DeclaredOnly<Names> = { [Name in keyof Names as string extends Name ? never : Name]: Names[Name] };

/** The body of the successful response of an operation. */
export type Result<Id extends OperationId> = Extract<ApiResponse<Id>, { ok: true }>['body'];

/** A page of an operation that lists, searches or looks up. */
export type Page<Id extends ListOperationId> = Result<Id>;

/** A row of such a page. */
export type Row<Id extends ListOperationId> = Page<Id> extends { data: (infer Item)[] } ? Item : never;

/** The names of properties that `fields` of a list can choose. */
export type FieldOf<Id extends ListOperationId> = Operations[Id] extends {
  requestBody: { content: { 'application/json': { fields?: (infer Name)[] } } };
}
  ? Name
  : never;
/** The input of a list, with the type of the `fields` that it chooses. */
export type InputWithFields<Id extends ListOperationId, Field> = Input<Id> & {
  body?: { fields?: readonly Field[] };
};
/** A row with the chosen fields; all of them if `Field` is `never`. It can lack those that only the program knows when it runs. */
export type WithFields<Item, Field> = [Field] extends [never]
  ? Item
  : keyof Item extends Field | 'with'
    ? Partial<Item>
    : Pick<Item, Extract<keyof Item, Field | 'id' | 'with'>>;
export type PageWithFields<Type, Field> = [Field] extends [never]
  ? Type
  : Type extends { data: (infer Item)[] }
    ? Omit<Type, 'data'> & { data: WithFields<Item, Field>[] }
    : Type;
export type ApiResponseWithFields<Id extends ListOperationId, Field> = [Field] extends [never]
  ? ApiResponse<Id>
  : ApiResponse<Id> extends infer Type
    ? Type extends { ok: true; body: infer Body }
      ? Omit<Type, 'body'> & { body: PageWithFields<Body, Field> }
      : Type
    : never;

/** Input and response of any operation. */
export interface AnyInput extends CallOptions {
  dryRun?: boolean;
  path?: Record<string, unknown>;
  query?: Record<string, unknown>;
  headers?: Record<string, unknown>;
  body?: unknown;
}
export interface AnyApiResponse {
  status: number;
  ok: boolean;
  body: unknown;
  headers: Headers;
}
