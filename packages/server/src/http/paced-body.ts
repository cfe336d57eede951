import type { IncomingMessage, RequestListener } from 'node:http';
import { networkOf } from './network.ts';
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

/**
 * Discards unread bodies in turns that are further apart. Node would read them as fast as they arrive, after the response. If
 * there are too many, the oldest connection is closed, of the network that has the most: its caller already has the response.
 */
export function withPacedBodies(listener: RequestListener): RequestListener {
  const discarded = new SocketQueue();
  return (request, response) => {
    if (!hasBody(request)) return listener(request, response);
    response.prependOnceListener('finish', () => {
      if (request.complete) return;
      paceIn(discarding, request);
      const { socket } = request;
      const network = networkOf(socket.remoteAddress ?? '');
      discarded.add(network, socket);
      request.once('close', () => discarded.delete(network, socket));
      if (discarded.size > mostDiscarded) discarded.takeOldest()?.destroy();
    });
    listener(request, response);
  };
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
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
