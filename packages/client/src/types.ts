/**
 * The contract as a caller sees it: what goes into a call, and every answer that can come out, by operation. Fields that
 * only the service writes are missing from inputs, fields that are never answered are missing from answers, and decimal
 * numbers are strings on both sides.
 */
import type { calls, components, Operations, Readable, Writable } from '@financial-automation/spec';

export type Calls = typeof calls;
/** What the index says of an operation: method, path, `x-idempotent`, and how it pages. */
export type Call = Calls[OperationId];

/** The operations of the contract, by their `operationId`. */
export type OperationId = keyof Calls;

/** The operations that answer a page of rows, and so can be walked. */
export type ListOperationId = {
  [Id in OperationId]: Calls[Id][3] extends null ? never : Id;
}[OperationId];

/** A schema of the contract by its name, as answers show it: `Schema<'Client'>`. */
export type Schema<Name extends keyof components['schemas']> = Readable<components['schemas'][Name]>;

/** What one call may be told, beyond the request itself. */
export interface CallOptions {
  /** Ends the call, retries and waiting included; the promise rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Milliseconds for the whole call, retries and waiting included. Default: that of the client. */
  timeout?: number;
  /** How many times the call may be repeated, where that is safe. Default: that of the client. */
  retries?: number;
  /** What the mock is to answer. Such a call is made once, whatever it answers. The service itself ignores it. */
  prefer?: { example?: string; code?: number };
}

/** The input of an operation: `path`, `query`, `headers` and `body` as in the contract, and {@link CallOptions}. */
export type Input<Id extends OperationId> = InputOf<Operations[Id]>;
// Distributed over the operations: TypeScript gives up on the product of all paths, queries and bodies.
export type InputOf<Operation> = Operation extends unknown
  ? PathOf<Operation> & QueryOf<Operation> & HeadersOf<Operation> & BodyOf<Operation> & CallOptions
  : never;

/** The argument list of a call: the input may be left out where nothing in it is required. */
export type InputArguments<Type> = Record<never, never> extends Type ? [input?: Type] : [input: Type];

type PathOf<Operation> = Operation extends { parameters: { path: infer Path } } ? { path: Path } : { path?: never };
type QueryOf<Operation> = Operation extends { parameters: { query: infer Query } }
  ? { query: Query }
  : Operation extends { parameters: { query?: infer Query } }
    ? { query?: Exclude<Query, undefined> }
    : { query?: never };
type HeadersOf<Operation> = Operation extends { parameters: { header?: infer Header } }
  ? // The tenant is the client's own: its token holds for no other.
    { headers?: Omit<NonNullable<Header>, 'Tenant'> }
  : { headers?: never };
type BodyOf<Operation> = Operation extends { requestBody: { content: { 'application/json': infer Body } } }
  ? { body: Writable<Body> }
  : { body?: never };

/**
 * Every answer that the contract declares for an operation, told apart by `status` or, more coarsely, by `ok`. An answer
 * that is not `ok` has a problem document as its `body`.
 */
export type Answer<Id extends OperationId> = AnswerOf<Operations[Id]>;
export type AnswerOf<Operation> = Operation extends { responses: infer Responses }
  ? { [Status in keyof Responses & number]: AnswerWith<Status, Responses[Status]> }[keyof Responses & number]
  : never;

interface AnswerWith<Status, Response> {
  status: Status;
  /** Whether the call did what it was asked to. */
  ok: Status extends 200 | 201 | 202 | 204 ? true : false;
  body: Response extends { content: infer Content } ? Readable<Content[keyof Content]> : undefined;
  headers: Response extends { headers: infer Declared } ? AnswerHeaders<Declared> : Headers;
}

/** `Headers`, whose `get` knows which headers the contract declares for the answer, and which of them are always there. */
export interface AnswerHeaders<Declared> extends Headers {
  get<Name extends keyof DeclaredOnly<Declared>>(
    name: Name,
  ): Declared[Name] extends string | number ? string : string | null;
  get(name: string): string | null;
}
/** openapi-typescript adds `[name: string]: unknown` to the headers that are declared. */
type DeclaredOnly<Declared> = { [Name in keyof Declared as string extends Name ? never : Name]: Declared[Name] };

/** The body of the answer with which an operation succeeds. */
export type Result<Id extends OperationId> = Extract<Answer<Id>, { ok: true }>['body'];

/** A page of an operation that lists, searches or looks up. */
export type Page<Id extends ListOperationId> = Result<Id>;

/** A row of such a page. */
export type Row<Id extends ListOperationId> = Page<Id> extends { data: (infer Item)[] } ? Item : never;

/** The input of a walk: that of the operation, but that a body in which nothing is required may be left out. */
export type WalkInput<Id extends ListOperationId> =
  Input<Id> extends { body: infer Body }
    ? Record<never, never> extends Body
      ? Omit<Input<Id>, 'body'> & { body?: Body }
      : Input<Id>
    : Input<Id>;

/** What the code behind the types passes along: an operation's input and answer without the operation. */
export interface AnyInput extends CallOptions {
  path?: Record<string, unknown>;
  query?: Record<string, unknown>;
  headers?: Record<string, unknown>;
  body?: unknown;
}
export interface AnyAnswer {
  status: number;
  ok: boolean;
  body: unknown;
  headers: Headers;
}
