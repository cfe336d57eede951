import { operations } from '@financial-automation/spec';
import { LRUCache } from 'lru-cache';
import { networkOf } from './network.ts';
import { Problem } from './problem.ts';

/**
 * Limits failed authentication attempts by address, separately from the limits of API users: invalid requests do not use
 * up the limit of other callers at the same address.
 */
export interface FailureLimit {
  /** @throws Problem `RATE_LIMITED` if the address has failed too often */
  check(address: string): void;
  /** Counts a failed attempt. */
  count(address: string): void;
}

/** More addresses than this indicate an attack, and the oldest are dropped. */
const mostAddresses = 100_000;

const { policy, limit, window } = operations.createToken.rateLimit;

/** @param factor for the contract's limit; 0 disables it. */
export function createFailureLimit(factor: number, clock: { now(): number } = performance): FailureLimit {
  const most = Math.max(1, Math.round(limit * factor));
  const counts = new LRUCache<string, { failures: number; readonly until: number }>({
    max: mostAddresses,
    ttl: window * 1000,
    perf: clock,
  });
  return {
    check(address) {
      if (factor === 0) return;
      const count = counts.get(networkOf(address));
      if (count === undefined || count.failures < most) return;
      const seconds = Math.max(1, Math.ceil((count.until - clock.now()) / 1000));
      throw new Problem('RATE_LIMITED', `Too many failed attempts to authenticate. Try again in ${seconds} s.`, {
        headers: {
          'RateLimit-Policy': `"${policy}";q=${most};w=${window}`,
          RateLimit: `"${policy}";r=0;t=${seconds}`,
          'Retry-After': String(seconds),
        },
      });
    },
    count(address) {
      const network = networkOf(address);
      const count = counts.get(network) ?? { failures: 0, until: clock.now() + window * 1000 };
      count.failures += 1;
      // The window starts with the first failure and is not extended by others.
      counts.set(network, count, { ttl: Math.max(1, count.until - clock.now()) });
    },
  };
}
