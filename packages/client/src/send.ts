/** One call: from its input to its answer, with everything that is repeated on the way. */
import createFetchClient from 'openapi-fetch';
import pRetry from 'p-retry';
import { limit, sleep, untilAborted } from './abort.ts';
import { headersOf } from './headers.ts';
import { type ClientOptions, defaultRetries, defaultTimeout } from './options.ts';
import { isProblem, UnexpectedAnswerError } from './problem.ts';
import { mayRepeatAfter, retryAfter } from './retry.ts';
import type { TokenSource } from './tokens.ts';
import type { AnyAnswer, AnyInput, Call } from './types.ts';

/** What openapi-fetch is told of the contract: nothing. Our own types stand in front of it. */
type AnyOperation = {
  parameters: { path?: Record<string, unknown>; query?: Record<string, unknown> };
  requestBody?: { content: { 'application/json': unknown } };
  responses: Record<number, unknown>;
};
type AnyPaths = Record<string, Record<Lowercase<Call[0]>, AnyOperation>>;

/** Makes one call; without tokens, it is made without one. */
export type Send = (call: Call, input: AnyInput, tokens: TokenSource | null) => Promise<AnyAnswer>;

/** Waiting before the first repetition, in milliseconds: between this and twice as long, doubled each time up to `maxTimeout`. */
const backoff = { minTimeout: 250, maxTimeout: 10_000, factor: 2, randomize: true };

/** An answer after which the call is made again. */
class Repeatable extends Error {
  readonly answer: AnyAnswer;

  constructor(answer: AnyAnswer) {
    super();
    this.answer = answer;
  }
}

/**
 * The way of a call. It answers whatever the service says last, problems included. It rejects with the `TypeError` of
 * `fetch` where there is no answer, with a `TimeoutError` or the caller's own reason where the call was ended, and with an
 * `UnexpectedAnswerError` where something else answered in place of the service.
 */
export function sender(options: ClientOptions): Send {
  const http = createFetchClient<AnyPaths>({
    baseUrl: options.baseUrl,
    ...(options.fetch && { fetch: options.fetch }),
  });

  return async (call, input, tokens) => {
    const [method, path, idempotent] = call;
    const headers = headersOf(call, input, options);
    const timeout = input.timeout ?? options.timeout ?? defaultTimeout;
    const deadline = Date.now() + timeout;
    const { signal, release } = limit(timeout, input.signal);

    const attempt = async (authorization: string | null): Promise<AnyAnswer> => {
      const { response, data, error } = await http[method](path, {
        params: { path: input.path ?? {}, query: input.query ?? {} },
        body: input.body,
        headers: { ...headers, ...(authorization !== null && { Authorization: `Bearer ${authorization}` }) },
        signal,
        // What is not JSON is for us to say, below.
        parseAs: 'text',
      });
      const { status, ok } = response;
      return { status, ok, body: ok ? parsed(data) : error, headers: response.headers };
    };

    /** A token may be refused before its time; then the call is made again with another, once. */
    const authorized = async (source: TokenSource): Promise<AnyAnswer> => {
      const token = await untilAborted(signal, source.get());
      const answer = await attempt(token);
      if (answer.status !== 401 || input.prefer !== undefined) return answer;
      return attempt(await untilAborted(signal, source.after(token)));
    };

    try {
      const answer = await pRetry(
        async () => {
          const answered = await (tokens === null ? attempt(null) : authorized(tokens));
          if (mayRepeatAfter(answered, idempotent)) throw new Repeatable(answered);
          return answered;
        },
        {
          ...backoff,
          signal,
          retries: input.prefer === undefined ? (input.retries ?? options.retries ?? defaultRetries) : 0,
          shouldRetry: async ({ error }) => {
            // Where the network fails, nobody knows what was done.
            if (!(error instanceof Repeatable)) return error instanceof TypeError && idempotent !== false;
            const wait = retryAfter(error.answer.headers);
            if (Date.now() + wait > deadline) return false;
            await sleep(wait, signal);
            return true;
          },
        },
      );
      return declared(answer);
    } catch (error) {
      // The caller's own reason, whatever fetch or the retries made of it.
      signal.throwIfAborted();
      if (error instanceof Repeatable) return declared(error.answer);
      throw error;
    } finally {
      release();
    }
  };
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return text;
  }
}

/** The service answers JSON objects and problem documents, and nothing else. */
function declared(answer: AnyAnswer): AnyAnswer {
  if (answer.ok ? typeof answer.body === 'object' : isProblem(answer.body)) return answer;
  throw new UnexpectedAnswerError(answer);
}
