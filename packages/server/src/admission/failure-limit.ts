import { operations } from '@financial-automation/spec';
import { LRUCache } from 'lru-cache';
import { Rejection } from '../contract/rejection.ts';
import type { Counters } from '../platform/counters.ts';
import { networkOf } from '../platform/network.ts';
import { limitHeaders } from './rate-limit.ts';

/**
 * Bodies are read up to this many times the limit: below it, a valid key is accepted from an address whose other callers
 * have reached the limit.
 */
const readFactor = 20;

/** More addresses than this indicate an attack, and the oldest are dropped. */
const maxAddresses = 100_000;

/** How many failures are counted for all processes at the same time. Beyond it, an attack counts in this process alone. */
const maxCounting = 8;

const { policy, limit, window } = operations.createToken.rateLimit;

/** Whether a public operation was rejected for what it sent. One with a valid key, or with too many requests, is no failed attempt. */
export function isFailedAttempt({ status }: Rejection): boolean {
  return status < 500 && status !== 403 && status !== 429;
}

/**
 * Limits failed authentication attempts by address, separately from the limits of API users: invalid requests do not use up the limit
 * of other callers at the same address. Each failure is also counted for all processes, without waiting for it: a process knows what
 * others have counted once an attempt has failed there.
 */
export class FailureLimit {
  readonly #isEnabled: boolean;
  readonly #most: number;
  readonly #counters: Counters;
  readonly #clock: { now(): number };
  readonly #networks: LRUCache<string, { failures: number; readonly until: number }>;
  #counting = 0;

  /** @param factor for the contract's limit; 0 disables it. */
  constructor(factor: number, counters: Counters, clock: { now(): number } = performance) {
    this.#isEnabled = factor !== 0;
    this.#most = Math.max(1, Math.round(limit * factor));
    this.#counters = counters;
    this.#clock = clock;
    // `max` would allocate all entries at once, which takes 3 MB and 9 ms for each service.
    const most = { maxSize: maxAddresses, sizeCalculation: () => 1 };
    this.#networks = new LRUCache({ ...most, ttl: window * 1000, perf: clock, ttlResolution: 0 });
  }

  /** @throws Rejection `RATE_LIMITED` if the address has failed too often */
  check(address: string): void {
    this.#checkBelow(this.#most, address);
  }

  /** @throws Rejection `RATE_LIMITED` if the address has failed so often that its bodies are no longer read, not even valid ones */
  checkBody(address: string): void {
    this.#checkBelow(this.#most * readFactor, address);
  }

  /** Counts a failed attempt. */
  count(address: string): void {
    if (!this.#isEnabled) return;
    const network = networkOf(address);
    const entry = this.#networks.get(network) ?? { failures: 0, until: this.#clock.now() + window * 1000 };
    // The window starts with the first failure and is not extended by others.
    if (entry.failures === 0) this.#networks.set(network, entry);
    entry.failures += 1;
    if (entry.failures > this.#most || this.#counting >= maxCounting) return;
    this.#counting += 1;
    this.#counters
      .add(`failure/${network}`, 1, window)
      .then(({ total }) => {
        entry.failures = Math.max(entry.failures, total);
      })
      // Counted in this process.
      .catch(() => undefined)
      .finally(() => {
        this.#counting -= 1;
      });
  }

  #checkBelow(most: number, address: string): void {
    const { failures, until } = this.#networks.get(networkOf(address)) ?? { failures: 0, until: 0 };
    if (!this.#isEnabled || failures < most) return;
    const seconds = Math.max(1, Math.ceil((until - this.#clock.now()) / 1000));
    throw new Rejection('RATE_LIMITED', `Too many failed attempts to authenticate. Try again in ${seconds} s.`, {
      headers: limitHeaders(policy, this.#most, window, seconds),
    });
  }
}
