import type { Operation } from '../contract/contract.ts';
import { Rejection } from '../contract/rejection.ts';
import type { Counters } from '../platform/counters.ts';
import { SharedLimit } from './shared-limit.ts';

export interface RateLimit {
  /** Counts one request. @returns the `RateLimit` headers. @throws Rejection `RATE_LIMITED`. */
  take(operation: Operation, key: string): Promise<Record<string, string>>;
}

/**
 * Limits requests per caller, by the policies of the contract (headers as in the IETF draft on RateLimit fields), for all
 * processes that share the counters.
 *
 * @param factor for the contract's limits; 0 disables limiting.
 */
export function createRateLimit(factor: number, counters: Counters): RateLimit {
  const limits = new Map<string, SharedLimit>();
  return {
    async take({ rateLimit: { policy, limit, window } }, key) {
      if (factor === 0) return {};
      const points = Math.max(1, Math.round(limit * factor));
      const shared = limits.getOrInsertComputed(
        policy,
        (name) => new SharedLimit(counters, { name, points, seconds: window }),
      );
      const { isAllowed, remaining, msBeforeNext } = await shared.take(key);
      const seconds = Math.ceil(msBeforeNext / 1000);
      if (isAllowed)
        return {
          'RateLimit-Policy': `"${policy}";q=${points};w=${window}`,
          RateLimit: `"${policy}";r=${remaining};t=${seconds}`,
        };
      const wait = Math.max(1, seconds);
      throw new Rejection(
        'RATE_LIMITED',
        `The limit of ${points} requests in ${window} seconds is exceeded. Try again in ${wait} s.`,
        { headers: limitHeaders(policy, points, window, wait) },
      );
    },
  };
}

/** The headers of a rejection by a rate limit. */
export function limitHeaders(policy: string, points: number, window: number, seconds: number): Record<string, string> {
  return {
    'RateLimit-Policy': `"${policy}";q=${points};w=${window}`,
    RateLimit: `"${policy}";r=0;t=${seconds}`,
    'Retry-After': String(seconds),
  };
}
