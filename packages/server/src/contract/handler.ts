import type { Operations, operations } from '@financial-automation/spec';
import type { CsvFile } from './csv.ts';
import type { ResponseFile } from './response-file.ts';

export type OperationId = keyof Operations & keyof typeof operations;

type Parameters<Id extends OperationId> = Operations[Id]['parameters'];
type Present<T> = T extends undefined ? never : T;

/** The input of a handler: values validated against the contract, with its defaults filled in. */
export interface Input<Id extends OperationId> {
  readonly path: Present<Parameters<Id>['path']> extends never ? Record<never, never> : Present<Parameters<Id>['path']>;
  readonly query: Present<Parameters<Id>['query']> extends never
    ? Record<never, never>
    : Present<Parameters<Id>['query']>;
  readonly body: Operations[Id] extends { requestBody: { content: { 'application/json': infer Body } } }
    ? Body
    : undefined;
  /** The body as it was received, before its text is normalized. */
  readonly bytes: Uint8Array;
}

/** Headers that the steps of a request set on every response; the handler must provide the other headers that a response declares. */
type CommonHeader =
  | ('X-Request-Id' | 'RateLimit' | 'RateLimit-Policy')
  | ('Idempotency-Replayed' | 'Dry-Run' | 'Content-Disposition');
type Declared<Headers> = {
  [Name in keyof Headers as string extends Name ? never : Name extends CommonHeader ? never : Name]: string;
};
/** The file that a caller can choose instead of JSON. */
type FileOf<Response> =
  | (Response extends { content: { 'text/csv': string } } ? CsvFile : never)
  | (Response extends { content: { 'application/pdf': string } } ? ResponseFile : never);
type Answer<Status, Response> = Response extends { headers: infer Headers; content: { 'application/json': infer Body } }
  ? { readonly status: Status; readonly body: Body | FileOf<Response> } & (keyof Declared<Headers> extends never
      ? { readonly headers?: undefined }
      : { readonly headers: Declared<Headers> })
  : never;

/**
 * The result of a handler: one of the successful responses that the contract declares for the operation. Failures are
 * thrown as problems (`contract/problem.ts`). An undeclared status, a body of another shape or a missing header does not
 * compile.
 */
export type Result<Id extends OperationId> = {
  [Status in keyof Operations[Id]['responses']]: Answer<Status, Operations[Id]['responses'][Status]>;
}[keyof Operations[Id]['responses']];

type IsPublic<Id extends OperationId> = (typeof operations)[Id]['roles'] extends readonly ['PUBLIC'] ? true : false;

/** A handler works with values only, not with requests and responses, so that tests can call it without HTTP. */
export type ContractHandler<Id extends OperationId, Public, Private> = (
  context: IsPublic<Id> extends true ? Public : Private,
  input: Input<Id>,
) => Promise<Result<Id>>;
