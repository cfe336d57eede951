import { calls, type paths } from '@financial-automation/spec';
import type { ClientOptions } from './options.ts';
import { pagesByCursor, pagesByNumber, pagesOfFeed, rowsOf } from './pages.ts';
import { orThrow } from './problem.ts';
import { sender } from './send.ts';
import { TokenSource } from './tokens.ts';
import type {
  AnyInput,
  ApiResponse,
  ApiResponseOf,
  Call,
  Condition,
  ConditionalOperationId,
  Input,
  InputArguments,
  InputOf,
  ListOperationId,
  NotModified,
  OperationId,
  Page,
  Row,
} from './types.ts';

type PathWith<Method extends string> = {
  [Path in keyof paths]: paths[Path] extends Record<Method, object> ? Path : never;
}[keyof paths];

/** Calls an operation by its path. */
type ByPath<Method extends keyof paths[keyof paths]> = <Path extends PathWith<Method>>(
  path: Path,
  ...input: InputArguments<InputOf<paths[Path][Method]>>
) => Promise<ApiResponseOf<paths[Path][Method]>>;

/** The API, typed by its contract. */
export interface Client {
  /**
   * Calls an operation by its `operationId`. Resolves with any response of the service, including problems: narrow it by
   * `status` or `ok`, or wrap the call in `orThrow`. Rejects with a `ProblemError` if it cannot get a token, a
   * `TypeError` if the network fails, a `TimeoutError`, the reason of your own `signal`, or an `UnexpectedResponseError`.
   */
  call<Id extends ConditionalOperationId>(
    operationId: Id,
    input: Input<Id> & Condition,
  ): Promise<ApiResponse<Id> | NotModified>;
  call<Id extends OperationId>(operationId: Id, ...input: InputArguments<Input<Id>>): Promise<ApiResponse<Id>>;
  /** Iterates over the rows of a list, a search or a lookup, and requests pages as needed. Throws a `ProblemError` if a page fails. */
  rows<Id extends ListOperationId>(operationId: Id, ...input: InputArguments<Input<Id>>): AsyncGenerator<Row<Id>, void>;
  /**
   * Iterates over whole pages, for example to read the total (`includeTotal`, returned with the first page), or to store
   * `nextCursor` and continue later.
   */
  pages<Id extends ListOperationId>(
    operationId: Id,
    ...input: InputArguments<Input<Id>>
  ): AsyncGenerator<Page<Id>, void>;
  /** `GET`, `PUT`, `POST`, `PATCH` and `DELETE` are {@link Client.call} with a path instead of an `operationId`. */
  GET: ByPath<'get'>;
  PUT: ByPath<'put'>;
  POST: ByPath<'post'>;
  PATCH: ByPath<'patch'>;
  DELETE: ByPath<'delete'>;
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
    apiKey === undefined ? accessToken : () => orThrow(client.call('createToken', { body: { apiKey } })),
  );
  const call = (operationId: OperationId, input: AnyInput = {}) =>
    send(calls[operationId], input, operationId === 'createToken' ? null : tokens);
  const pages = (operationId: ListOperationId, input: AnyInput = {}) => {
    const [method, , , paging] = calls[operationId];
    const walk = paging === 'number' ? pagesByNumber : paging === 'feed' ? pagesOfFeed : pagesByCursor;
    return walk((pageInput) => call(operationId, pageInput), method === 'GET' ? 'query' : 'body', input);
  };
  const byPath = (method: Call[0]) => (path: string, input?: AnyInput) => call(operationAt(method, path), input);

  const anyClient = {
    call,
    pages,
    rows: (operationId: ListOperationId, input?: AnyInput) => rowsOf(pages(operationId, input)),
    GET: byPath('GET'),
    PUT: byPath('PUT'),
    POST: byPath('POST'),
    PATCH: byPath('PATCH'),
    DELETE: byPath('DELETE'),
  };
  // `Client` has the types of each operation; here, inputs and responses have any type. Whether the service returns what the
  // contract declares is tested in the service, and not checked again.
  const client = anyClient as unknown as Client;
  return client;
}

const operationIds = Object.keys(calls) as OperationId[];

function operationAt(method: Call[0], path: string): OperationId {
  const found = operationIds.find((id) => calls[id][0] === method && calls[id][1] === path);
  if (found !== undefined) return found;
  throw new TypeError(`The contract has no ${method} ${path}.`);
}
