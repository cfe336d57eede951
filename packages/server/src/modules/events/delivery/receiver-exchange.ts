import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Dispatcher, errors } from 'undici';

/** How much of a response is read, in bytes, and for how long, in milliseconds. */
export const snippetBytes = 1_024;
const snippetMs = 1_000;

export interface ReceiverResponse {
  readonly statusCode: number;
  readonly retryAfter: string | undefined;
  /** Its beginning. */
  readonly body: Buffer;
}

/**
 * One request and the beginning of its response, within a time in all. It does without streams, which are most of the cost of a small
 * request.
 */
export class ReceiverExchange implements Dispatcher.DispatchHandler {
  readonly #resolve: (response: ReceiverResponse) => void;
  readonly #reject: (error: Error) => void;
  #timer: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  #response: ReceiverResponse | undefined;
  #error: Error | undefined;

  /** @param timeoutMs until there is a response, with the time that it takes to connect. */
  constructor(timeoutMs: number, resolve: (response: ReceiverResponse) => void, reject: (error: Error) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = this.#endAfter(timeoutMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#error !== undefined) controller.abort(this.#error);
  }

  onRequestUpgrade(_: Dispatcher.DispatchController, _status: number, _headers: object, socket: Duplex): void {
    socket.destroy();
    this.#end(new errors.SocketError('The receiver switched protocols.'));
  }

  onResponseStart(_: Dispatcher.DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    if (statusCode < 200) return;
    const retryAfter = headers['retry-after'];
    this.#response = {
      statusCode,
      retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
      body: Buffer.alloc(0),
    };
    clearTimeout(this.#timer);
    this.#timer = this.#endAfter(snippetMs);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#response === undefined) return;
    const body = Buffer.concat([this.#response.body, chunk]);
    this.#response = { ...this.#response, body };
    if (body.length > snippetBytes) this.#end(new errors.ResponseExceededMaxSizeError());
  }

  onResponseEnd(): void {
    this.#settle(new errors.SocketError('There was no response.'));
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#settle(error);
  }

  #endAfter(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => this.#end(new errors.HeadersTimeoutError()), milliseconds).unref();
  }

  /** Ends the request, for which the connection is closed. */
  #end(error: Error): void {
    this.#error = error;
    this.#controller?.abort(error);
    this.#settle(error);
  }

  /** What was received so far is the response, whatever ended it. A promise that is settled stays as it is. */
  #settle(error: Error): void {
    clearTimeout(this.#timer);
    if (this.#response === undefined) this.#reject(this.#error ?? error);
    else this.#resolve(this.#response);
  }
}
