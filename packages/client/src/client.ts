import { calls } from '@financial-automation/spec';
import type { ClientOptions } from './options.ts';
import { pagesByCursor, pagesOfFeed, rowsOf } from './pages.ts';
import { orThrow } from './problem.ts';
import { sender } from './send.ts';
import { TokenSource } from './tokens.ts';
import type {
  AnyInput,
  ApiResponse,
  ApiResponseWithFields,
  Calls,
  ConditionalOperationId,
  FieldOf,
  Input,
  InputArguments,
  InputWithCondition,
  InputWithFields,
  ListOperationId,
  NotModified,
  OperationId,
  Page,
  PageWithFields,
  Row,
  WithFields,
} from './types.ts';

/** The operations of the API, each by its `operationId`, with the types of the contract. */
export type Client = {
  readonly [Id in keyof Calls]: Id extends ListOperationId
    ? ListOperation<Id>
    : Id extends ConditionalOperationId
      ? ConditionalOperation<Id>
      : Operation<Id>;
};

/**
 * Resolves with any response of the service, including problems: narrow it by `status` or `ok`, or wrap the call in
 * `orThrow`. Rejects with a `ProblemError` if it cannot get a token, a `TypeError` if the network fails, a
 * `TimeoutError`, the reason of your own `signal`, or an `UnexpectedResponseError`.
 */
type Operation<Id extends OperationId> = (...input: InputArguments<Input<Id>>) => Promise<ApiResponse<Id>>;

/** A read that returns 304 if `If-None-Match` has the current `ETag`, and only then. */
type ConditionalOperation<Id extends ConditionalOperationId> = <ETag extends string | undefined = undefined>(
  ...input: InputArguments<InputWithCondition<Id, ETag>>
) => Promise<ApiResponse<Id> | (ETag extends string ? NotModified : never)>;

/** Rows have the properties that `fields` of the input names; without it, all. */
interface ListOperation<Id extends ListOperationId> {
  <const Field extends FieldOf<Id> = never>(
    ...input: InputArguments<InputWithFields<Id, Field>>
  ): Promise<ApiResponseWithFields<Id, Field>>;
  /** Iterates over the rows, and requests pages as needed. Throws a `ProblemError` if a page fails. */
  rows<const Field extends FieldOf<Id> = never>(
    ...input: InputArguments<InputWithFields<Id, Field>>
  ): AsyncGenerator<WithFields<Row<Id>, Field>, void>;
  /**
   * Iterates over whole pages, for example to read the total (`includeTotal`, returned with the first page), or to store
   * `nextCursor` and continue later.
   */
  pages<const Field extends FieldOf<Id> = never>(
    ...input: InputArguments<InputWithFields<Id, Field>>
  ): AsyncGenerator<PageWithFields<Page<Id>, Field>, void>;
}

/**
 * Creates a client for one tenant. It exchanges the API key for an access token at the first call, and renews it automatically.
 * Share the client: it caches the token.
 *
 * @throws {TypeError} if it has no way to get a token, for example because an environment variable is not set.
 */
export function createClient(options: ClientOptions): Client {
  if (options.accessToken === undefined && !options.apiKey?.trim())
    throw new TypeError(
      '`apiKey` is empty. Pass the API key of an API user, or `accessToken` to get tokens from your own backend.',
    );
  const send = sender(options);
  const { apiKey, accessToken } = options;
  const tokens = new TokenSource(
    apiKey === undefined ? accessToken : () => orThrow(client.createToken({ body: { apiKey } })),
  );
  const operation = (id: string, call: Calls[OperationId]) => {
    const [method, , , paging] = call;
    const respond = (input: AnyInput = {}) => send(call, input, id === 'createToken' ? null : tokens);
    if (paging === null) return respond;
    const walk = paging === 'feed' ? pagesOfFeed : pagesByCursor;
    const pages = (input: AnyInput = {}) => walk(respond, method === 'GET' ? 'query' : 'body', input);
    return Object.assign(respond, { pages, rows: (input?: AnyInput) => rowsOf(pages(input)) });
  };
  const operations = Object.fromEntries(Object.entries(calls).map(([id, call]) => [id, operation(id, call)]));
  // `Client` has the types of each operation; here, inputs and responses have any type. Whether the service returns what the
  // contract declares is tested in the service, and not checked again.
  const client = operations as unknown as Client;
  return client;
}
