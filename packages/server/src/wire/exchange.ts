import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse as parseQuery } from 'node:querystring';
import type { Writable } from 'node:stream';
import type { Logger } from 'pino';
import { newId } from '../platform/store/new-id.ts';
import { dataHeaders } from './pages.ts';
import { mayBeLarge, readRawBody } from './raw-body.ts';
import { type RequestTarget, readTarget } from './target.ts';
import { readTraceparent } from './trace-context.ts';
import { writeBody } from './write-body.ts';

/** What a request occupies. */
interface Slot {
  end(): void;
}

/** With a token of an operator, all steps of one request are logged. */
const debugHeader = 'x-debug-token';

const noQuery: Readonly<Record<string, unknown>> = {};

/**
 * A request in progress: what its route can read of it, and the slots that it occupies until its result is known. Routes work
 * with it, and never with requests and responses themselves.
 */
export class Exchange {
  /** ID of the request, which the response and each line of the log contain. */
  readonly id = newId();
  readonly traceparent: string | undefined;
  readonly method: string;
  /** Undefined if the target of the request is not a path. */
  readonly path: string | undefined;
  /** IP address of the caller, taken from `X-Forwarded-For` if the proxy is trusted. */
  readonly address: string;
  /** Name of the tenant, once the route knows it. */
  tenant: string | undefined;
  /** Name of the API user, once the route knows it. */
  user: string | undefined;
  /** Headers of the response, whether the route succeeds or fails. Those of a result take precedence. */
  readonly headers: Record<string, string>;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #parentLog: Logger;
  readonly #target: RequestTarget | undefined;
  readonly #slots: Slot[] = [];
  readonly #started = performance.now();
  #log: Logger | undefined;

  constructor(
    log: Logger,
    request: IncomingMessage,
    response: ServerResponse,
    address: string,
    isDebugToken: (token: string) => boolean = () => false,
  ) {
    const token = request.headers[debugHeader];
    const isDebugged = typeof token === 'string' && isDebugToken(token);
    this.#parentLog = isDebugged ? log.child({}, { level: 'debug' }) : log;
    this.#request = request;
    this.#response = response;
    this.method = request.method ?? '';
    this.#target = readTarget(request.url ?? '');
    this.path = this.#target?.path;
    this.address = address;
    this.traceparent = readTraceparent(this.header('traceparent'));
    this.headers = { ...dataHeaders, 'X-Request-Id': this.id };
  }

  /** The log with the ID of the request. Most requests log only their access line, and need none. */
  get log(): Logger {
    this.#log ??= this.#parentLog.child(this.logFields);
    return this.#log;
  }

  /** Logs a step of the request, if the level of the log is `debug`. */
  step(name: string, fields: object = {}): void {
    if (!this.#parentLog.isLevelEnabled('debug')) return;
    this.log.debug({ ...fields, elapsedMs: Math.round((performance.now() - this.#started) * 100) / 100 }, name);
  }

  /** The fields that identify the request in a line of the log. */
  get logFields(): { readonly requestId: string; readonly traceparent?: string } {
    const { id, traceparent } = this;
    return traceparent === undefined ? { requestId: id } : { requestId: id, traceparent };
  }

  get query(): Readonly<Record<string, unknown>> {
    const { query = '' } = this.#target ?? {};
    return query === '' ? noQuery : parseQuery(query);
  }

  get requestHeaders(): IncomingHttpHeaders {
    return this.#request.headers;
  }

  /** Names and values as they were sent, in turn. */
  get rawHeaders(): readonly string[] {
    return this.#request.rawHeaders;
  }

  /** @param name in lower case */
  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    return typeof value === 'string' ? value : undefined;
  }

  /** The body, of which at most so many bytes are read, decompressed. */
  body(maxBytes: number) {
    return {
      mayBeLarge: mayBeLarge(this.#request, maxBytes),
      /** @throws Rejection `PAYLOAD_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE` or `MALFORMED_REQUEST` */
      read: () => readRawBody(this.#request, this.#response, maxBytes),
    };
  }

  /**
   * Writes the body to a file or a parser as it arrives, and as it is.
   *
   * @throws Rejection `PAYLOAD_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE` or `MALFORMED_REQUEST`
   */
  writeBody(to: Writable, maxBytes: number): Promise<void> {
    return writeBody(this.#request, to, maxBytes);
  }

  /** Creates a folder on this machine, which remains until the result of the request is known. */
  async temporaryFolder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'request-'));
    const remove = () => rm(folder, { recursive: true, force: true });
    this.hold({
      end: () => void remove().catch((error) => this.log.error({ err: error }, 'A temporary folder remains.')),
    });
    return folder;
  }

  /** Whether its caller has closed the connection. */
  get isGone(): boolean {
    return this.#request.socket.destroyed;
  }

  /** Keeps the slot of the request until its result is known, at most. */
  hold(slot: Slot): void {
    this.#slots.push(slot);
  }

  leavePlaces(): void {
    while (this.#slots.length > 0) this.#slots.pop()?.end();
  }
}
