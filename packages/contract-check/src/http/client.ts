import { type Dispatcher, Pool } from 'undici';
import type { Operation } from '../document/operation.ts';
import { isJson, parsedJson } from '../json.ts';
import type { Exchange, ReceivedResponse } from './call.ts';
import { type Gate, NotSent } from './gate.ts';
import type { WireRequest } from './serialize.ts';
import { beginningOf, isStream } from './stream.ts';

/** The status if no response was received: the connection failed, or the request timed out. */
export const noResponse = 0;

const maxBodyBytes = 128 * 1024 * 1024;
const maxHeadBytes = 1024 * 1024;
/** A server that rejects a longer body can close the connection before it is sent, which loses the response. */
const maxCertainBytes = 65_536;
/** In milliseconds. */
const maxIdleMs = 500;
/** A server can close a connection that seems idle to it because this process, or the whole machine, stood still for so long. */
const stallMs = 2000;
/** How long after that a closed connection is not the server's fault. */
const stallEffectMs = 10_000;

/** Connects to the server under test, with a pool of connections. Sends only what its gate admits. */
export class HttpClient {
  readonly #pool: Pool;
  readonly #base: URL;
  readonly #gate: Pick<Gate, 'check'>;
  readonly #milliseconds: number;
  /** When this process last stood still. */
  #stalled = Number.NEGATIVE_INFINITY;
  /** When the server last failed. Many then close the connection, which the next request on it is lost for. */
  #faulted = Number.NEGATIVE_INFINITY;
  readonly #watch: NodeJS.Timeout;

  constructor(url: string, connections: number, milliseconds: number, gate: Pick<Gate, 'check'>) {
    this.#base = new URL(url);
    this.#gate = gate;
    this.#milliseconds = milliseconds;
    this.#pool = new Pool(this.#base.origin, {
      connections,
      connect: { timeout: milliseconds },
      maxResponseSize: maxBodyBytes,
      maxHeaderSize: maxHeadBytes,
      // A server may close a connection that is idle for long, and a request on its way is then lost.
      keepAliveTimeout: maxIdleMs,
      keepAliveMaxTimeout: maxIdleMs,
    });
    let last = performance.now();
    this.#watch = setInterval(() => {
      const now = performance.now();
      if (now - last > stallMs) this.#stalled = now;
      last = now;
    }, stallMs / 20).unref();
  }

  /**
   * Sends a request and reads the complete response. Status 0 means that none was received.
   *
   * @throws NotSent if the gate rejects the request, or if a header has characters that HTTP does not allow, which is not
   *   the server's fault.
   */
  async send(operation: Operation | undefined, wire: WireRequest, signal?: AbortSignal): Promise<Exchange> {
    this.#gate.check(wire);
    for (const [name, value] of Object.entries(wire.headers))
      if (!isCarried(value)) throw new NotSent(`The header ${name} cannot be sent: ${JSON.stringify(value)}`);
    const request = this.requestOf(wire);
    const milliseconds = this.#milliseconds * (wire.patience ?? 1);
    const started = performance.now();
    const exchangeOf = (status: number, headers: Record<string, string>, text: string): Exchange => {
      return { operation, request, response: responseOf(status, headers, text, performance.now() - started) };
    };
    const attempt = () =>
      this.#pool.request({
        method: wire.method as 'GET',
        path: request.url.slice(this.#base.origin.length),
        headers: wire.headers,
        headersTimeout: milliseconds,
        bodyTimeout: milliseconds,
        ...(signal === undefined ? {} : { signal }),
        ...(wire.body === undefined ? {} : { body: wire.body }),
      });
    let lost: string | undefined;
    const withLoss = (exchange: Exchange): Exchange =>
      lost === undefined ? exchange : { ...exchange, response: { ...exchange.response, lost } };
    try {
      // The next connection shows whether the request is at fault.
      const got = await attempt().catch((error: unknown) => {
        if (!isClosed(error)) throw error;
        const now = performance.now();
        const isCertain = now - this.#stalled > stallEffectMs && now - this.#faulted > maxIdleMs;
        if (isCertain && Buffer.byteLength(wire.body ?? '') <= maxCertainBytes) lost = reasonOf(error);
        return attempt();
      });
      const text = await this.#textOf(got, milliseconds);
      if (got.statusCode >= 500) this.#faulted = performance.now();
      return withLoss(exchangeOf(got.statusCode, flat(got.headers), text));
    } catch (error) {
      const isLate = codeOf(error) === 'UND_ERR_HEADERS_TIMEOUT';
      const reason = isLate ? `No response after ${milliseconds / 1000} s` : reasonOf(error);
      return withLoss(exchangeOf(noResponse, {}, reason));
    }
  }

  /** The whole body. The time is limited, because a body that is sent slowly can be endless. */
  async #textOf({ body, headers }: Dispatcher.ResponseData, milliseconds: number): Promise<string> {
    const mediaType = mediaTypeOf(flat(headers));
    if (isStream(mediaType)) return beginningOf(body, mediaType);
    const late = new Error(`The body was not complete after ${milliseconds / 1000} s`);
    const timer = setTimeout(() => body.destroy(late), milliseconds);
    try {
      return await body.text();
    } finally {
      clearTimeout(timer);
    }
  }

  requestOf({ method, target, extension = '', headers, body }: WireRequest): Exchange['request'] {
    const path = `${this.#base.pathname.replace(/\/$/, '')}${target.replace(/(?=\?|$)/, extension)}` || '/';
    return { method, url: `${this.#base.origin}${path}`, headers, body: body?.toString() };
  }

  close(): Promise<void> {
    clearInterval(this.#watch);
    return this.#pool.destroy();
  }
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : '');

/** Whether the connection failed before the response started. */
const isClosed = (error: unknown) => ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(codeOf(error));

/** Whether a header value has only allowed characters (RFC 9110, 5.5). undici stalls after it rejects one. */
const isCarried = (value: string) => /^[\t\x20-\x7e\x80-\xff]*$/.test(value);

const mediaTypeOf = (headers: Readonly<Record<string, string>>) =>
  (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

export function responseOf(
  status: number,
  headers: Record<string, string>,
  text: string,
  milliseconds: number,
): ReceivedResponse {
  const mediaType = mediaTypeOf(headers);
  return { status, headers, text, mediaType, json: isJson(mediaType) ? parsedJson(text) : undefined, milliseconds };
}

function flat(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value] as const],
  );
  return Object.fromEntries(entries);
}
