import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { finished, promises } from 'node:stream';
import { Counter, Gauge, type Registry } from 'prom-client';

export interface UnsentLimits {
  /** Bytes that may wait to be sent: to one caller, which is a tenant or a network, and to all. */
  readonly perCaller: number;
  readonly total: number;
  /** Time that a caller has to receive what waits, in milliseconds, and how much it receives beyond that, in bytes per millisecond. */
  readonly patience: number;
  readonly rate: number;
}

interface Waiting {
  readonly caller: string;
  readonly socket: Socket;
  readonly bytes: number;
}

const mebibyte = 1024 * 1024;
/** A page of the largest size, which a caller receives at 64 kB/s or more. */
const standardLimits: UnsentLimits = {
  perCaller: 32 * mebibyte,
  total: 128 * mebibyte,
  patience: 30_000,
  rate: 64,
};

/**
 * Limits responses that wait because their callers do not read. What the system takes over at once, as it does for most, does not
 * count. If too many bytes wait, the connection of the oldest response is closed, of the caller that has the most, so that a caller
 * who does not read only loses its own.
 */
export class Unsent {
  readonly #limits: UnsentLimits;
  /** The oldest first. */
  readonly #waiting = new Set<Waiting>();
  readonly #closed: Counter<'reason'>;

  constructor(registry: Registry, limits: UnsentLimits = standardLimits) {
    this.#limits = limits;
    const waiting = this.#waiting;
    const registers = [registry];
    this.#closed = new Counter({
      name: 'responses_cut_off_total',
      help: 'Responses whose connection was closed because their caller did not read: after a time, or to make room for others.',
      labelNames: ['reason'],
      registers,
    });
    for (const reason of ['time', 'room']) this.#closed.inc({ reason }, 0);
    new Gauge({
      name: 'response_bytes_unsent',
      help: 'Bytes of responses that wait because their callers do not read.',
      registers,
      collect() {
        this.set(bytesOf(waiting));
      },
    });
  }

  /**
   * Closes the connection of a response if its caller does not receive what waits. A response that is written in parts only needs to
   * be received part by part.
   */
  watch(response: ServerResponse): void {
    const { patience, rate } = this.#limits;
    const close = () => {
      // Otherwise the source of the content is slow, and not the caller.
      if (response.writableLength === 0) return void timer.refresh();
      this.#closed.inc({ reason: 'time' });
      response.destroy();
    };
    const timer = setTimeout(close, patience + response.writableLength / rate).unref();
    response.on('drain', () => timer.refresh());
    // Unlike the event, this also reports a response that was closed before: its timer would keep it, and its request, for ever.
    finished(response, () => clearTimeout(timer));
  }

  /**
   * Waits until all of a response that was written has been sent.
   *
   * @throws if the connection is closed before
   */
  async sent(response: ServerResponse, caller: string): Promise<void> {
    if (response.writableFinished) return;
    // Node reports only later that the system has taken over all of it.
    if (response.writableEnded && response.writableLength === 0 && !response.destroyed) return;
    const { socket } = response;
    if (socket === null) return promises.finished(response);
    this.watch(response);
    const waiting = { caller, socket, bytes: response.writableLength };
    this.#waiting.add(waiting);
    this.#makeRoom(waiting);
    try {
      await promises.finished(response);
    } finally {
      this.#waiting.delete(waiting);
    }
  }

  #makeRoom(newest: Waiting): void {
    const { perCaller, total } = this.#limits;
    const own = [...this.#waiting].filter(({ caller }) => caller === newest.caller);
    let excess = bytesOf(own) - perCaller;
    for (const one of own) {
      if (excess <= 0 || one === newest) break;
      excess -= one.bytes;
      this.#closeForRoom(one);
    }
    while (bytesOf(this.#waiting) > total) {
      const callers = [...Map.groupBy(this.#waiting, ({ caller }) => caller).values()];
      const [oldest] = callers.reduce((most, one) => (bytesOf(one) > bytesOf(most) ? one : most), []);
      if (oldest !== undefined) this.#closeForRoom(oldest);
    }
  }

  #closeForRoom(waiting: Waiting): void {
    this.#waiting.delete(waiting);
    this.#closed.inc({ reason: 'room' });
    waiting.socket.destroy();
  }
}

function bytesOf(waiting: Iterable<Waiting>): number {
  let bytes = 0;
  for (const one of waiting) bytes += one.bytes;
  return bytes;
}
