import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { parse as parseQuery } from 'node:querystring';
import type { Logger } from 'pino';
import type { Shares } from '../admission/shares.ts';
import { Turn } from '../admission/turn.ts';
import { dataHeaders } from './pages.ts';
import { mayBeLarge, readRawBody } from './raw-body.ts';
import { newRequestId } from './request-id.ts';
import { readTarget, type Target } from './target.ts';
import { readTraceparent } from './trace-context.ts';

const noQuery: Readonly<Record<string, unknown>> = {};

/** What requests wait for, and where they are logged. */
export interface ExchangeServices {
  readonly log: Logger;
  readonly shares: Shares;
  readonly costlySearches: Shares;
  readonly bulkWrites: Shares;
  readonly largeBodies: Shares;
}

/**
 * A request in progress: what its route can read of it, and the places that it occupies until its result is known. Routes work
 * with it, and never with requests and responses themselves.
 */
export class Exchange {
  /** ID of the request, which the response and each line of the log contain. */
  readonly id = newRequestId();
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
  readonly #services: ExchangeServices;
  readonly #target: Target | undefined;
  readonly #places: (() => void)[] = [];
  #log: Logger | undefined;

  constructor(services: ExchangeServices, request: IncomingMessage, response: ServerResponse, address: string) {
    this.#services = services;
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
    this.#log ??= this.#services.log.child(this.logFields);
    return this.#log;
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

  /** @param name in lower case */
  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    return typeof value === 'string' ? value : undefined;
  }

  /**
   * Waits for the turn of the request, which ends with it at the latest. Only complete requests wait: a slow sender must not
   * occupy a place.
   *
   * @throws Rejection like `Shares.enter`
   */
  async turn(tenant: string, user: string): Promise<Turn> {
    const turn = new Turn(this.#services, tenant, user, await this.#services.shares.enter(tenant, user));
    this.#places.push(() => turn.end());
    return turn;
  }

  /**
   * Reads the body, decompressed. A large one occupies a place until the result is known.
   *
   * @throws Rejection `PAYLOAD_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE` or `MALFORMED_REQUEST`, and like `Shares.enter`
   */
  async body(limit: number, tenant: string, user: string): Promise<Buffer> {
    if (mayBeLarge(this.#request, limit)) this.#places.push(await this.#services.largeBodies.enter(tenant, user));
    return readRawBody(this.#request, this.#response, limit);
  }

  leavePlaces(): void {
    while (this.#places.length > 0) this.#places.pop()?.();
  }
}
