/** Sends one call, with its retries. */
import createFetchClient from 'openapi-fetch';
import pRetry from 'p-retry';
import { limit, sleep, untilAborted } from './abort.ts';
import { checkPath, checkWhere } from './check.ts';
import { headersOf } from './headers.ts';
import { type ClientOptions, defaultRetries, defaultTimeout } from './options.ts';
import { isProblem, UnexpectedResponseError } from './problem.ts';
import { isInProgress, mayRepeatAfter, retryAfter } from './retry.ts';
import type { TokenSource } from './tokens.ts';
import type { AnyApiResponse, AnyInput, Call } from './types.ts';

/** openapi-fetch gets no types of the contract; `Client` has them. */
type AnyOperation = {
  parameters: { path?: Record<string, unknown>; query?: Record<string, unknown> };
  requestBody?: { content: { 'application/json': unknown } };
  responses: Record<number, unknown>;
};
type AnyPaths = Record<string, Record<Lowercase<Call[0]>, AnyOperation>>;

/** Sends one call, with an access token if `tokens` is not null. */
export type Send = (call: Call, input: AnyInput, tokens: TokenSource | null) => Promise<AnyApiResponse>;

/** The delay before the first retry, in milliseconds: between this and twice as long, doubled each time up to `maxTimeout`. */
const backoff = { minTimeout: 250, maxTimeout: 10_000, factor: 2, randomize: true };

/** A response after which the call is retried. */
class Repeatable extends Error {
  readonly response: AnyApiResponse;

  constructor(response: AnyApiResponse) {
    super();
    this.response = response;
  }
}

/**
 * Returns a function that sends calls. It resolves with the last response of the service, including problems. It rejects with the
 * `TypeError` of `fetch` (no response) or of `checkPath` and `checkWhere`, with a `TimeoutError` or the reason of the caller's signal, and with an
 * `UnexpectedResponseError` if a proxy or a gateway responds instead of the service.
 */
export function sender(options: ClientOptions): Send {
  const http = createFetchClient<AnyPaths>({
    baseUrl: options.baseUrl,
    // The service never redirects. Followed, a redirect of a proxy would turn a POST into a GET, or send the API key to another host.
    redirect: 'manual',
    bodySerializer: (body) => (typeof body === 'string' ? body : JSON.stringify(body)),
    ...(options.fetch && { fetch: options.fetch }),
  });

  return async (call, input, tokens) => {
    const [method, path, repeatable, paging] = call;
    // A rehearsal can be repeated, whatever it rehearses.
    const idempotent = input.dryRun === true || repeatable;
    // Only lists, searches and lookups can be called without the body that they have.
    const body = input.body ?? (method === 'POST' && paging !== null ? {} : undefined);
    checkPath(path, input.path);
    checkWhere(body);
    const headers = headersOf(call, input, options);
    const timeout = input.timeout ?? options.timeout ?? defaultTimeout;
    const deadline = Date.now() + timeout;
    const { signal, release } = limit(timeout, input.signal);

    const attempt = async (authorization: string | null): Promise<AnyApiResponse> => {
      const {
        response: received,
        data,
        error,
      } = await http[method](path, {
        params: { path: input.path ?? {}, query: input.query ?? {} },
        body,
        headers: { ...headers, Authorization: authorization === null ? undefined : `Bearer ${authorization}` },
        signal,
        // `bodyOf` below handles what is not JSON.
        parseAs: 'arrayBuffer',
      });
      const { status, ok } = received;
      const returned = ok ? bodyOf(received, data) : status === 304 ? undefined : error;
      return { status, ok, body: returned, headers: received.headers };
    };

    /** A token can be rejected before it expires. The call is then retried once with a new one. */
    const authorized = async (source: TokenSource): Promise<AnyApiResponse> => {
      const token = await untilAborted(signal, source.get());
      const response = await attempt(token);
      if (response.status !== 401 || input.prefer !== undefined) return response;
      return attempt(await untilAborted(signal, source.after(token)));
    };

    try {
      const response = await pRetry(
        async () => {
          const latest = await (tokens === null ? attempt(null) : authorized(tokens));
          if (mayRepeatAfter(latest, idempotent)) throw new Repeatable(latest);
          return latest;
        },
        {
          ...backoff,
          signal,
          retries: input.prefer === undefined ? (input.retries ?? options.retries ?? defaultRetries) : 0,
          // The first attempt ends by itself, and only its response says whether the write took effect.
          shouldConsumeRetry: ({ error }) => !(error instanceof Repeatable && isInProgress(error.response)),
          shouldRetry: async ({ error }) => {
            // After a network failure, it is unknown whether the request was processed.
            if (!(error instanceof Repeatable)) return error instanceof TypeError && idempotent !== false;
            const wait = Math.max(
              retryAfter(error.response.headers),
              isInProgress(error.response) ? backoff.minTimeout : 0,
            );
            if (Date.now() + wait > deadline) return false;
            await sleep(wait, signal);
            return true;
          },
        },
      );
      return declared(response);
    } catch (error) {
      // Reject with the caller's own reason, even if fetch or the retries wrapped it.
      signal.throwIfAborted();
      if (error instanceof Repeatable) return declared(error.response);
      throw error;
    } finally {
      release();
    }
  };
}

/** Bytes of a file that is no text, otherwise JSON or the text. */
function bodyOf({ headers }: Response, data: ArrayBuffer | undefined): unknown {
  const bytes = new Uint8Array(data ?? []);
  if (headers.get('Content-Type')?.endsWith('pdf')) return bytes;
  const text = new TextDecoder().decode(bytes);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The service only returns JSON objects, files where a caller chooses them, and problem documents, and no body with 304. */
function declared(response: AnyApiResponse): AnyApiResponse {
  if (response.status === 304) return response;
  const isFile = /\/(csv|xml)/.test(response.headers.get('Content-Type') ?? '');
  if (response.ok ? isFile || typeof response.body === 'object' : isProblem(response.body)) return response;
  throw new UnexpectedResponseError(response);
}
