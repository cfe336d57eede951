import { isAscii } from 'node:buffer';
import { isIP } from 'node:net';
import { Agent, buildConnector, type Dispatcher, errors } from 'undici';
import { eventRetries, millisecondsOf } from '../../../contract/durations.ts';
import { AddressBlocked, type DeliveryAddresses, NameNotResolved } from '../../../platform/addresses.ts';
import { databaseClock } from '../../../platform/database-clock.ts';
import { ReceiverExchange, type ReceiverResponse, snippetBytes } from './receiver-exchange.ts';

/** What became of one attempt to deliver an event. */
export interface DeliveryAttempt {
  readonly outcome: 'SUCCESS' | 'FAILED' | 'TIMEOUT' | 'BLOCKED';
  /** Null where there was no response. */
  readonly httpStatusCode: number | null;
  readonly responseSnippet: string | null;
  readonly errorMessage: string | null;
  /** Milliseconds. */
  readonly duration: number;
  /** Milliseconds since 1970. */
  readonly attemptedAt: number;
  /** How long the receiver asks to wait, in milliseconds. */
  readonly retryAfter: number;
}

export interface SenderOptions {
  readonly addresses: DeliveryAddresses;
  /** For a whole attempt, in milliseconds. */
  readonly timeout?: number;
  /** Certificates to trust instead of the usual ones, for tests. */
  readonly ca?: string;
}

/** A delivery URL, and the ports that the tenant allows in addition to 443. It is checked once, so each batch brings its own. */
export interface Destination {
  readonly url: string;
  readonly ports: readonly number[];
}

/** A URL that was checked, in the parts that a request has. */
interface Target {
  readonly origin: string;
  readonly path: string;
}

/** The sender was closed before there was a response, so nothing is known of the attempt. */
export class SenderClosed extends Error {
  override readonly name = 'SenderClosed';
}

const standardTimeout = millisecondsOf('eventResponse');
const connectTimeout = 10_000;
/** A kept connection that was closed shows within this time, in milliseconds. */
const resendTime = 1_000;

/**
 * Sends events over connections that are kept for a few seconds, to addresses that are allowed, and follows no
 * redirects.
 */
export class Sender {
  readonly #addresses: DeliveryAddresses;
  readonly #timeout: number;
  readonly #checked = new WeakMap<Destination, Target>();
  readonly #agent: Agent;

  constructor({ addresses, timeout = standardTimeout, ca }: SenderOptions) {
    this.#addresses = addresses;
    this.#timeout = timeout;
    // An exchange limits its time itself.
    this.#agent = new Agent({ connect: connectorTo(addresses, ca), allowH2: false, headersTimeout: 0, bodyTimeout: 0 });
  }

  /**
   * Sends one event.
   *
   * @param headers names and values in turns.
   * @throws SenderClosed
   */
  async send(to: Destination, headers: string[], body: Buffer): Promise<DeliveryAttempt> {
    if (this.#agent.destroyed) throw new SenderClosed();
    const attemptedAt = databaseClock.now();
    const started = performance.now();
    try {
      const { origin, path } = this.#checkedTarget(to);
      const request = { origin, method: 'POST', path, headers, body } as const;
      let response: ReceiverResponse;
      try {
        response = await this.#exchange(request, started);
      } catch (error) {
        // The receiver closed a kept connection while it was used again. Events may come twice, so it is sent once more.
        const isAtOnce = performance.now() - started < resendTime;
        if (!(error instanceof errors.SocketError && isAtOnce)) throw error;
        response = await this.#exchange(request, started);
      }
      return describeResponse(response, attemptedAt, millisecondsSince(started));
    } catch (error) {
      if (error instanceof SenderClosed) throw error;
      const nothing = { httpStatusCode: null, responseSnippet: null, retryAfter: 0 };
      return { ...nothing, ...this.#describeError(error), attemptedAt, duration: millisecondsSince(started) };
    }
  }

  /** Ends all attempts that are under way. */
  async close(): Promise<void> {
    await this.#agent.destroy(new SenderClosed());
  }

  #checkedTarget(to: Destination): Target {
    return this.#checked.getOrInsertComputed(to, ({ url, ports }) => {
      const { origin, pathname, search } = this.#addresses.checkForm(url, ports);
      return { origin, path: pathname + search };
    });
  }

  #exchange(request: Dispatcher.DispatchOptions, started: number): Promise<ReceiverResponse> {
    return new Promise((resolve, reject) => {
      const left = started + this.#timeout - performance.now();
      this.#agent.dispatch(request, new ReceiverExchange(left, resolve, reject));
    });
  }

  #describeError(error: unknown): Pick<DeliveryAttempt, 'outcome' | 'errorMessage'> {
    const blocked = causeOf(error, AddressBlocked);
    if (blocked !== undefined) return { outcome: 'BLOCKED', errorMessage: blocked.message };
    const unresolved = causeOf(error, NameNotResolved);
    if (unresolved !== undefined) return { outcome: 'FAILED', errorMessage: unresolved.message };
    if (error instanceof errors.HeadersTimeoutError) {
      return { outcome: 'TIMEOUT', errorMessage: `There was no response within ${this.#timeout / 1000} seconds.` };
    }
    if (error instanceof errors.ConnectTimeoutError) {
      return { outcome: 'TIMEOUT', errorMessage: `There was no connection within ${connectTimeout / 1000} seconds.` };
    }
    return { outcome: 'FAILED', errorMessage: `The receiver could not be reached: ${reasonOf(error)}.` };
  }
}

function millisecondsSince(started: number): number {
  return Math.round(performance.now() - started);
}

function describeResponse(
  { statusCode, retryAfter, body }: ReceiverResponse,
  attemptedAt: number,
  duration: number,
): DeliveryAttempt {
  const isSuccess = statusCode >= 200 && statusCode < 300;
  const isStatus = statusCode <= 599;
  return {
    outcome: isSuccess ? 'SUCCESS' : 'FAILED',
    httpStatusCode: isStatus ? statusCode : null,
    responseSnippet: snippetOf(body),
    errorMessage: isStatus ? null : `The receiver responded with ${statusCode}, which is not a status of HTTP.`,
    duration,
    attemptedAt,
    retryAfter: isSuccess ? 0 : parseRetryAfter(retryAfter, databaseClock.now()),
  };
}

/**
 * The beginning of a body as text. A character that is cut in two is left out, and NUL, which the database does not
 * have.
 */
function snippetOf(body: Buffer): string | null {
  if (body.length === 0) return null;
  const start = body.subarray(0, snippetBytes);
  const decoded = isAscii(start) ? start.toString('latin1') : new TextDecoder().decode(start, { stream: true });
  const text = decoded.includes('\0') ? decoded.replaceAll('\0', '') : decoded;
  return text === '' ? null : text;
}

/**
 * Opens connections to allowed addresses only. The check comes after the name is resolved, so a name cannot get around
 * it.
 */
function connectorTo(addresses: DeliveryAddresses, ca: string | undefined): buildConnector.connector {
  const connect = buildConnector({
    ...(ca === undefined ? {} : { ca }),
    allowH2: false,
    timeout: connectTimeout,
    lookup(host, options, callback) {
      addresses.connectable(host).then(
        (found) => {
          const all = found.map((address) => ({ address, family: isIP(address) }));
          if (options.all === true) callback(null, all);
          else callback(null, all[0]?.address ?? '', all[0]?.family);
        },
        (error) => callback(error, ''),
      );
    },
  });
  return (options, callback) => {
    try {
      // An address needs no lookup.
      if (isIP(options.hostname) !== 0) addresses.checkAddress(options.hostname, options.hostname);
    } catch (error) {
      return callback(asError(error), null);
    }
    connect(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      try {
        addresses.checkAddress(socket.remoteAddress ?? '', options.hostname);
        callback(null, socket);
      } catch (blocked) {
        socket.destroy();
        callback(asError(blocked), null);
      }
    });
  };
}

/** The error itself, or the one that it was thrown because of. */
function causeOf<Type extends Error>(error: unknown, type: new (message: string) => Type): Type | undefined {
  if (error instanceof type) return error;
  if (error instanceof AggregateError) return error.errors.map((one) => causeOf(one, type)).find((one) => one);
  return error instanceof Error && error.cause !== undefined ? causeOf(error.cause, type) : undefined;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** The code of an error, such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`; its message may name what is inside. */
function reasonOf(error: unknown): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'string' ? code : 'the connection failed';
}

/** How often an event is sent to a subscription before it is given up. */
export const maxAttempts = eventRetries.length + 1;

/** The longest pause that a receiver can ask for, in milliseconds. */
const maxRetryAfterMs = millisecondsOf('retryAfter');

/** After so many failed attempts in a row, nothing is sent for a while. */
export const breaksAfter = 5;
/** In milliseconds. */
const minPauseMs = 5_000;
const maxPauseMs = 300_000;

/** A subscription whose attempts have all failed for so long is deactivated, in milliseconds. */
export const deactivatesAfter = millisecondsOf('failingSubscription');

/** Events that failed together are not sent again together. */
function withJitter(milliseconds: number, random: number): number {
  return Math.round(milliseconds * (1 + random / 10));
}

/**
 * The time until an event is sent again, in milliseconds, or undefined where it is given up.
 *
 * @param attempt the number of the attempt that failed, from 1.
 * @param retryAfter what the receiver asks for, in milliseconds.
 * @param random from 0 to 1.
 */
export function retryDelay(attempt: number, retryAfter = 0, random = Math.random()): number | undefined {
  const delay = eventRetries[attempt - 1];
  return delay === undefined ? undefined : Math.max(withJitter(delay, random), Math.min(retryAfter, maxRetryAfterMs));
}

/**
 * The time for which nothing is sent to a receiver, in milliseconds; 0 while it counts as working. After the pause, one event is
 * sent to find out whether it works again.
 *
 * @param failures attempts that failed in a row.
 * @param retryAfter what the receiver asks for, in milliseconds.
 * @param random from 0 to 1.
 */
export function pauseAfter(failures: number, retryAfter = 0, random = Math.random()): number {
  const requested = Math.min(retryAfter, maxRetryAfterMs);
  if (failures < breaksAfter) return requested;
  const pause = Math.min(minPauseMs * 2 ** (failures - breaksAfter), maxPauseMs);
  return Math.max(withJitter(pause, random), requested);
}

/** The time that a `Retry-After` header asks for, in milliseconds; 0 where it has neither seconds nor a date in the future. */
export function parseRetryAfter(header: string | undefined, now: number): number {
  const text = header?.trim() ?? '';
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1_000;
  // Every form of an HTTP date names the month. Other text that `Date` accepts is not meant as one.
  const at = /[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? 0 : Math.max(0, at - now);
}
