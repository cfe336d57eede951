import { LRUCache } from 'lru-cache';

/** Wasted connections of a network that are allowed at once: a page that is left cancels all of its uploads. */
const burst = 100;
/** After a burst, one more is allowed in this time, in milliseconds. */
const interval = 100;

/** At most this many beyond the burst count: a network does not wait for long after its attack has ended. */
const mostExcess = 20;

/** Programs of this machine, as `networkOf` returns their address: probes, and a proxy of which the service was not told. */
const own: ReadonlySet<string> = new Set(['127.0.0.1', '0:0:0:0']);

/** More networks than this indicate an attack, and the oldest are dropped. */
const mostNetworks = 100_000;

/**
 * Limits connections that were accepted for nothing: closed before they had sent a whole request. Whoever opens the next one as
 * soon as one is closed would otherwise occupy this thread with accepting, reading and rejecting them.
 *
 * It is a leaky bucket (the generic cell rate algorithm, ITU-T I.371): one instant per network says how much was wasted.
 */
export class WasteLimit {
  readonly #clock: { now(): number };
  /** When all that was counted is forgotten. */
  readonly #forgottenAt: LRUCache<string, number>;

  constructor(clock: { now(): number } = performance) {
    this.#clock = clock;
    this.#forgottenAt = new LRUCache({ max: mostNetworks });
  }

  count(network: string): void {
    const now = this.#clock.now();
    const counted = Math.max(now, this.#forgottenAt.get(network) ?? 0) + interval;
    this.#forgottenAt.set(network, Math.min(counted, now + (burst + mostExcess) * interval));
  }

  /**
   * @param open connections of the network that are waited for: once half of the burst is wasted, they are expected to be wasted, too.
   * Otherwise, all that are opened until the first of them ends would be admitted.
   */
  isExceeded(network: string, open: number): boolean {
    if (own.has(network)) return false;
    const wasted = ((this.#forgottenAt.get(network) ?? 0) - this.#clock.now()) / interval;
    return wasted > burst / 2 && wasted + open > burst;
  }
}
