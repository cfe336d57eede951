import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import { type buildConnector, Client, type Dispatcher, errors } from 'undici';

type Request = Omit<Dispatcher.DispatchOptions, 'origin'>;

/**
 * Connections to receivers. There are as many as requests at the same time, and undici closes one that is not used for
 * a few seconds. Its pools would use one again only in the next turn of the event loop.
 */
export class ReceiverConnections {
  readonly #connect: buildConnector.connector;
  /** By origin, the one that was used last at the end. */
  readonly #free = new Map<string, ReceiverConnection[]>();
  readonly #all = new Set<ReceiverConnection>();

  constructor(connect: buildConnector.connector) {
    this.#connect = connect;
  }

  /** A connection for one request. */
  take(origin: string): ReceiverConnection {
    const connection = this.#free.get(origin)?.pop();
    if (connection === undefined) return this.open(origin);
    connection.isFree = false;
    return connection;
  }

  /** A new connection for one request. */
  open(origin: string): ReceiverConnection {
    const connection = new ReceiverConnection(origin, this.#connect, () => this.#drop(connection));
    this.#all.add(connection);
    return connection;
  }

  /**
   * To be called when the request has ended.
   *
   * @param isComplete whether all of the response was received.
   */
  release(connection: ReceiverConnection, isComplete: boolean): void {
    if (!isComplete || !connection.isOpen) {
      this.#drop(connection);
      return;
    }
    connection.isFree = true;
    const free = this.#free.get(connection.origin);
    if (free === undefined) this.#free.set(connection.origin, [connection]);
    else free.push(connection);
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#all].map((connection) => connection.destroy()));
  }

  #drop(connection: ReceiverConnection): void {
    this.#all.delete(connection);
    const left = this.#free.get(connection.origin)?.filter((one) => one !== connection) ?? [];
    if (left.length === 0) this.#free.delete(connection.origin);
    else this.#free.set(connection.origin, left);
    connection.destroy().catch(() => undefined);
  }
}

/** A connection to a receiver, which has one request at a time. */
export class ReceiverConnection {
  readonly origin: string;
  isFree = false;
  isOpen = false;
  readonly #client: Client;

  /** @param onUnused is called when it was closed while it was free. */
  constructor(origin: string, connect: buildConnector.connector, onUnused: () => void) {
    this.origin = origin;
    // With 1, a client would wait for the next turn of the event loop after each response. A second request is never
    // sent beside the first. The sender limits the time of requests itself.
    this.#client = new Client(origin, { connect, pipelining: 2, allowH2: false, headersTimeout: 0, bodyTimeout: 0 });
    this.#client.on('connect', () => {
      this.isOpen = true;
    });
    this.#client.on('disconnect', () => {
      this.isOpen = false;
      if (this.isFree) onUnused();
    });
  }

  dispatch(request: Request, handler: Dispatcher.DispatchHandler): void {
    this.#client.dispatch(request, handler);
  }

  async destroy(): Promise<void> {
    await this.#client.destroy();
  }
}

/** How much of a response is read, in bytes, and for how long, in milliseconds. */
export const snippetBytes = 1_024;
const snippetTime = 1_000;
/** How often exchanges are looked at that may be late, in milliseconds. */
const lookEvery = 100;

export interface EventRequest {
  readonly method: 'POST';
  readonly path: string;
  readonly headers: string[];
  readonly body: Buffer;
}

export interface ReceiverResponse {
  readonly statusCode: number;
  readonly retryAfter: string | undefined;
  /** Its beginning. */
  readonly body: Buffer;
}

const noBytes = Buffer.alloc(0);

/** Those that have not ended. They are looked at together: a timer for each would cost as much as a signature. */
export class ReceiverExchanges {
  readonly #underWay = new Set<ReceiverExchange>();
  #timer: NodeJS.Timeout | undefined;

  add(exchange: ReceiverExchange): void {
    this.#underWay.add(exchange);
    this.#timer ??= setInterval(() => this.#endLate(), lookEvery).unref();
  }

  delete(exchange: ReceiverExchange): void {
    this.#underWay.delete(exchange);
  }

  endAll(error: Error): void {
    for (const exchange of this.#underWay) exchange.end(error);
  }

  #endLate(): void {
    const now = performance.now();
    for (const exchange of this.#underWay) {
      if (exchange.lateAt <= now) exchange.end(new errors.HeadersTimeoutError());
    }
    if (this.#underWay.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/**
 * One request and the beginning of its response. It does without streams, which are most of the cost of a small
 * request.
 */
export class ReceiverExchange implements Dispatcher.DispatchHandler, ReceiverResponse {
  /** When it takes too long, in milliseconds of `performance.now()`. */
  lateAt: number;
  /** 0 until there is a response. */
  statusCode = 0;
  retryAfter: string | undefined;
  body: Buffer = noBytes;
  readonly #resolve: (response: ReceiverResponse) => void;
  readonly #reject: (error: Error) => void;
  readonly #onEnd: (isComplete: boolean) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #hasEnded = false;
  #error: Error | undefined;

  /** @param onEnd is called with whether all of the response was received. */
  constructor(
    lateAt: number,
    resolve: (response: ReceiverResponse) => void,
    reject: (error: Error) => void,
    onEnd: (isComplete: boolean) => void,
  ) {
    this.lateAt = lateAt;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#onEnd = onEnd;
  }

  /** Ends it, unless it has ended. */
  end(error: Error): void {
    if (this.#hasEnded) return;
    this.#error = error;
    this.#settle(false);
    this.#controller?.abort(error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#error !== undefined) controller.abort(this.#error);
  }

  onRequestUpgrade(_: Dispatcher.DispatchController, _status: number, _headers: object, socket: Duplex): void {
    socket.destroy();
    this.end(new errors.SocketError('The receiver switched protocols.'));
  }

  onResponseStart(_: Dispatcher.DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    if (statusCode < 200) return;
    const retryAfter = headers['retry-after'];
    this.statusCode = statusCode;
    this.retryAfter = Array.isArray(retryAfter) ? retryAfter[0] : retryAfter;
    this.lateAt = performance.now() + snippetTime;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.body = this.body.length === 0 ? chunk : Buffer.concat([this.body, chunk]);
    if (this.body.length > snippetBytes) this.end(new errors.ResponseExceededMaxSizeError());
  }

  onResponseEnd(): void {
    if (this.statusCode !== 0 && !this.#hasEnded) this.#settle(true);
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.end(error);
  }

  #settle(isComplete: boolean): void {
    this.#hasEnded = true;
    if (this.statusCode === 0) this.#reject(this.#error ?? new errors.SocketError('There was no response.'));
    else this.#resolve(this);
    this.#onEnd(isComplete);
  }
}
