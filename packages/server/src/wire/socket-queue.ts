import type { Socket } from 'node:net';

/** What one owner has in a queue: its sockets in the order in which they were added, each with its weight. */
interface Owned {
  readonly sockets: Map<Socket, number>;
  size: number;
}

/** Sockets by owner, such as a network, each in the order in which they were added. */
export class SocketQueue {
  readonly #owners = new Map<string, Owned>();
  #size = 0;

  /** The weight of all sockets: their number, unless they were added with another weight. */
  get size(): number {
    return this.#size;
  }

  sizeOf(owner: string): number {
    return this.#owners.get(owner)?.size ?? 0;
  }

  /** Adds a socket as the newest one. One that is in the queue counts once. */
  add(owner: string, socket: Socket, weight = 1): void {
    this.delete(owner, socket);
    const owned = this.#owners.getOrInsertComputed(owner, () => ({ sockets: new Map(), size: 0 }));
    owned.sockets.set(socket, weight);
    owned.size += weight;
    this.#size += weight;
  }

  /** @returns whether it was in the queue */
  delete(owner: string, socket: Socket): boolean {
    const owned = this.#owners.get(owner);
    const weight = owned?.sockets.get(socket);
    if (owned === undefined || weight === undefined) return false;
    owned.sockets.delete(socket);
    owned.size -= weight;
    this.#size -= weight;
    if (owned.sockets.size === 0) this.#owners.delete(owner);
    return true;
  }

  /** The oldest socket of an owner; by default of the one that has the most. */
  oldest(owner: string = this.#largest()): Socket | undefined {
    return this.#owners.get(owner)?.sockets.keys().next().value;
  }

  /** Removes the oldest socket of an owner; by default of the one that has the most. */
  takeOldest(owner: string = this.#largest()): Socket | undefined {
    const socket = this.oldest(owner);
    if (socket !== undefined) this.delete(owner, socket);
    return socket;
  }

  #largest(): string {
    let [largest, most] = ['', 0];
    for (const [owner, { size }] of this.#owners)
      if (size > most) {
        largest = owner;
        most = size;
      }
    return largest;
  }
}
