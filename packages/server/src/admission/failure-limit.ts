import { operations } from '@financial-automation/spec';
import { LRUCache } from 'lru-cache';
import { Rejection } from '../contract/rejection.ts';
import type { Counters } from '../platform/counters.ts';
import { networkOf } from '../platform/network.ts';

/**
 * Limits failed authentication attempts by address, separately from the limits of API users: invalid requests do not use
 * up the limit of other callers at the same address.
 */
export interface FailureLimit {
  /** @throws Rejection `RATE_LIMITED` if the address has failed too often */
  check(address: string): void;
  /** Counts a failed attempt. */
  count(address: string): void;
  /**
   * Counts an attempt of a caller who is not known yet, before its body is read.
   *
   * @returns a function to call when the attempt ends.
   * @throws Rejection `RATE_LIMITED` if the address has failed so often that its bodies are no longer read, not even valid
   * ones.
   */
  attempt(address: string): (hasFailed: boolean) => void;
}

/**
 * Bodies are read up to this many times the limit: below it, a valid key is accepted from an address whose other callers
 * have reached the limit.
 */
const readFactor = 20;

/** More addresses than this indicate an attack, and the oldest are dropped. */
const mostAddresses = 100_000;

const { policy, limit, window } = operations.createToken.rateLimit;

/** Whether a public operation was rejected for what it sent. One with a valid key, or with too many requests, is no failed attempt. */
export function isFailedAttempt({ status }: Rejection): boolean {
  return status < 500 && status !== 403 && status !== 429;
}

/** How many failures are counted for all processes at the same time. Beyond it, an attack counts in this process alone. */
const mostCounting = 8;

/**
 * Each failure is also counted for all processes, without waiting for it: a process knows what others have counted once an
 * attempt has failed there.
 *
 * @param factor for the contract's limit; 0 disables it.
 */
export function createFailureLimit(
  factor: number,
  counters: Counters,
  clock: { now(): number } = performance,
): FailureLimit {
  const most = Math.max(1, Math.round(limit * factor));
  const entries = new LRUCache<string, { failures: number; pending: number; readonly until: number }>({
    max: mostAddresses,
    ttl: window * 1000,
    perf: clock,
  });
  const entryOf = (network: string) => {
    const entry = entries.get(network) ?? { failures: 0, pending: 0, until: clock.now() + window * 1000 };
    // The window starts with the first attempt and is not extended by others.
    entries.set(network, entry, { ttl: Math.max(1, entry.until - clock.now()) });
    return entry;
  };
  const tooMany = (until: number) => {
    const seconds = Math.max(1, Math.ceil((until - clock.now()) / 1000));
    return new Rejection('RATE_LIMITED', `Too many failed attempts to authenticate. Try again in ${seconds} s.`, {
      headers: {
        'RateLimit-Policy': `"${policy}";q=${most};w=${window}`,
        RateLimit: `"${policy}";r=0;t=${seconds}`,
        'Retry-After': String(seconds),
      },
    });
  };
  let counting = 0;
  const count = (address: string) => {
    const network = networkOf(address);
    const entry = entryOf(network);
    entry.failures += 1;
    if (factor === 0 || entry.failures > most || counting >= mostCounting) return;
    counting += 1;
    counters
      .add(`failure/${network}`, 1, window)
      .then(({ total }) => {
        entry.failures = Math.max(entry.failures, total);
      })
      // Counted in this process.
      .catch(() => undefined)
      .finally(() => {
        counting -= 1;
      });
  };
  return {
    check(address) {
      const entry = factor === 0 ? undefined : entries.get(networkOf(address));
      if (entry !== undefined && entry.failures >= most) throw tooMany(entry.until);
    },
    count,
    attempt(address) {
      const network = networkOf(address);
      const entry = entryOf(network);
      if (factor !== 0 && entry.failures + entry.pending >= most * readFactor) throw tooMany(entry.until);
      entry.pending += 1;
      return (hasFailed) => {
        entry.pending -= 1;
        if (hasFailed) count(address);
        else if (entry.failures + entry.pending === 0) entries.delete(network);
      };
    },
  };
}
