import type { Socket } from 'node:net';

/** Sockets by network, each in the order in which they were added. */
export class SocketQueue {
  readonly #sockets = new Map<string, Set<Socket>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  sizeOf(network: string): number {
    return this.#sockets.get(network)?.size ?? 0;
  }

  add(network: string, socket: Socket): void {
    const sockets = this.#sockets.get(network) ?? new Set();
    this.#sockets.set(network, sockets.add(socket));
    this.#size += 1;
  }

  /** @returns whether it was in the queue */
  delete(network: string, socket: Socket): boolean {
    const sockets = this.#sockets.get(network);
    if (sockets === undefined || !sockets.delete(socket)) return false;
    if (sockets.size === 0) this.#sockets.delete(network);
    this.#size -= 1;
    return true;
  }

  /** The oldest socket of a network; by default of the one that has the most. */
  oldest(network: string = this.#largest()): Socket | undefined {
    return this.#sockets.get(network)?.values().next().value;
  }

  /** Removes the oldest socket of the network that has the most. */
  takeOldest(): Socket | undefined {
    const network = this.#largest();
    const socket = this.oldest(network);
    if (socket !== undefined) this.delete(network, socket);
    return socket;
  }

  #largest(): string {
    let [largest, most] = ['', 0];
    for (const [network, { size }] of this.#sockets)
      if (size > most) {
        largest = network;
        most = size;
      }
    return largest;
  }
}
