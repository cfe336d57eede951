import { operations } from '@financial-automation/spec';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { Problem } from './problem.ts';

/**
 * Limits failed attempts to sign in by address, apart from the limits of API users: whoever sends garbage uses up nothing
 * that another caller behind the same address needs.
 */
export interface FailureLimit {
  /** @throws Problem `RATE_LIMITED` where too many attempts of the address have failed */
  check(address: string): void;
  /** Counts a failed attempt. */
  count(address: string): void;
}

/** More addresses than this at a time are an attack, and then the oldest are forgotten. */
const mostAddresses = 100_000;

const { policy, limit, window } = operations.createToken.rateLimit;

/** @param factor what the contract's limit is multiplied with; 0 switches it off. */
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
      // The window begins with its first failure, and is not prolonged by others.
      counts.set(network, count, { ttl: Math.max(1, count.until - clock.now()) });
    },
  };
}

/** The address, or of IPv6 the network that one subscriber has: it holds more addresses than could be counted. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv6' ? parsed.toNormalizedString().split(':').slice(0, 4).join(':') : parsed.toString();
}
