import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { networkOf } from '../platform/network.ts';

/** Rejections of one address in a minute that are sent at once: a caller who waits as `Retry-After` says has no more. */
const immediate = 20;
const window = 60_000;
/** What each further one adds to the delay, and the longest delay, in milliseconds. */
const step = 10;
const longest = 1_000;
/**
 * The least part of a delay; the rest is random. Without it, responses that were delayed together are sent together, and their
 * callers send the next requests together, for which all other requests wait.
 */
const leastPart = 0.5;
/** Responses that can be delayed at the same time. Each occupies a connection, of which others need some. */
const mostWaiting = 400;

/** More addresses than this indicate an attack, and the oldest are dropped. */
const mostAddresses = 100_000;

/**
 * Delays responses with status 429 to addresses that keep sending requests nevertheless. A caller who sends the next request
 * as soon as it has the response would otherwise be rejected hundreds of times a second, which takes processor time from all
 * others.
 */
export class RejectionDelay {
  readonly #isEnabled: boolean;
  readonly #pause: (milliseconds: number) => Promise<unknown>;
  readonly #random: () => number;
  readonly #counts: LRUCache<string, { rejections: number }>;
  #waiting = 0;

  /** @param factor of the rate limits; 0 disables delays, too. */
  constructor(
    factor: number,
    clock: { now(): number } = performance,
    pause: (time: number) => Promise<unknown> = sleep,
    random = Math.random,
  ) {
    this.#isEnabled = factor !== 0;
    this.#pause = pause;
    this.#random = random;
    // The window starts with the first rejection and is not extended by others.
    this.#counts = new LRUCache({ max: mostAddresses, ttl: window, perf: clock, ttlResolution: 0 });
  }

  /** Counts a rejection of an address. @returns when it can be sent */
  async before(address: string): Promise<void> {
    if (!this.#isEnabled) return;
    const network = networkOf(address);
    const count = this.#counts.get(network) ?? { rejections: 0 };
    count.rejections += 1;
    if (count.rejections === 1) this.#counts.set(network, count);
    const delay = Math.min(longest, (count.rejections - immediate) * step);
    if (delay <= 0 || this.#waiting >= mostWaiting) return;
    this.#waiting += 1;
    try {
      await this.#pause(delay * (leastPart + (1 - leastPart) * this.#random()));
    } finally {
      this.#waiting -= 1;
    }
  }
}
