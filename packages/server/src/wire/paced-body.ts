import type { IncomingMessage, ServerResponse } from 'node:http';
import { networkOf } from '../platform/network.ts';
import { SocketQueue } from './socket-queue.ts';

/** Number of bodies that are read in one turn; each read is a chunk of at most 64 KiB. */
const readsPerTurn = 8;
/** Time between two turns of discarded bodies, in milliseconds: no request waits for them, so they are read at 5 MB/s at most. */
const discardEvery = 100;
/** Connections whose body is discarded at the same time. Each holds up to 128 KiB that arrived and was not read yet. */
const mostDiscarded = 64;

/** Lets bodies continue, a few at a time, in the order in which they paused. */
class Turns {
  readonly #schedule: (turn: () => void) => void;
  readonly #waiting = new Set<IncomingMessage>();
  #isScheduled = false;

  constructor(schedule: (turn: () => void) => void) {
    this.#schedule = schedule;
  }

  pause(request: IncomingMessage): void {
    request.pause();
    this.#waiting.add(request);
    this.#plan();
  }

  forget(request: IncomingMessage): void {
    this.#waiting.delete(request);
  }

  #plan(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    this.#schedule(() => {
      this.#isScheduled = false;
      for (const request of [...this.#waiting].slice(0, readsPerTurn)) {
        this.#waiting.delete(request);
        request.resume();
      }
      this.#plan();
    });
  }
}

const reading = new Turns((turn) => setImmediate(turn));
const discarding = new Turns((turn) => setTimeout(turn, discardEvery));
const turnsOf = new WeakMap<IncomingMessage, Turns>();

/**
 * Reads a body chunk by chunk, in turns with all other bodies. Node would read up to 2 MB of each connection before it serves
 * anything else; 200 concurrent large bodies would block all requests for 100 ms and more. The caller adds its own listener for the
 * data.
 */
export function paceBody(request: IncomingMessage): void {
  paceIn(reading, request);
}

/** Sockets whose body is discarded, by network. */
const discarded = new SocketQueue();

/** Whether the body of a request has not arrived in whole. */
export function isArriving({ complete, headers }: IncomingMessage): boolean {
  return !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);
}

/**
 * Has the connection of a response, which is sent before the body has arrived, close as RFC 9112, section 9.6, describes: only this side
 * ends, and the rest of the body is discarded, in turns that are further apart. Node would close the connection with bytes unread, so that
 * the caller could lose the response. If there are too many, the oldest connection is closed, of the network that has the most: its
 * caller already has the response.
 */
export function lingerAfter(response: ServerResponse): void {
  const { req: request } = response;
  const { socket } = request;
  response.prependOnceListener('finish', () => {
    if (!isArriving(request)) return;
    // What Node calls after a response that closes its connection.
    socket.destroySoon = () => void socket.end();
    paceIn(discarding, request);
    const network = networkOf(socket.remoteAddress ?? '');
    discarded.add(network, socket);
    request.once('close', () => {
      discarded.delete(network, socket);
      socket.destroy();
    });
    if (discarded.size > mostDiscarded) discarded.takeOldest()?.destroy();
  });
}

function paceIn(turns: Turns, request: IncomingMessage): void {
  const before = turnsOf.get(request);
  turnsOf.set(request, turns);
  if (before !== undefined) {
    before.forget(request);
    request.resume();
    return;
  }
  request.on('data', () => {
    // The rest has arrived, too: there is nothing to wait for.
    if (!request.complete) turnsOf.get(request)?.pause(request);
  });
  request.once('close', () => turnsOf.get(request)?.forget(request));
}
