import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Operation } from '../contract/contract.ts';
import { Rejection } from '../contract/rejection.ts';

export interface RateLimit {
  /** Counts one request. @returns the `RateLimit` headers. @throws Rejection `RATE_LIMITED`. */
  take(operation: Operation, key: string): Promise<Record<string, string>>;
}

/**
 * Limits requests per caller, by the policies of the contract (headers as in the IETF draft on RateLimit fields). Each
 * process counts separately: behind a balancer, the total limit is their sum.
 *
 * @param factor for the contract's limits; 0 disables limiting.
 */
export function createRateLimit(factor: number): RateLimit {
  const limiters = new Map<string, RateLimiterMemory>();
  return {
    async take({ rateLimit: { policy, limit, window } }, key) {
      if (factor === 0) return {};
      const points = Math.max(1, Math.round(limit * factor));
      let limiter = limiters.get(policy);
      if (limiter === undefined) {
        limiter = new RateLimiterMemory({ points, duration: window });
        limiters.set(policy, limiter);
      }
      const described = { 'RateLimit-Policy': `"${policy}";q=${points};w=${window}` };
      try {
        const { remainingPoints, msBeforeNext } = await limiter.consume(key);
        return { ...described, RateLimit: `"${policy}";r=${remainingPoints};t=${Math.ceil(msBeforeNext / 1000)}` };
      } catch (rejected) {
        if (!(rejected instanceof RateLimiterRes)) throw rejected;
        const seconds = Math.max(1, Math.ceil(rejected.msBeforeNext / 1000));
        throw new Rejection(
          'RATE_LIMITED',
          `The limit of ${points} requests in ${window} seconds is exceeded. Try again in ${seconds} s.`,
          {
            headers: { ...described, RateLimit: `"${policy}";r=0;t=${seconds}`, 'Retry-After': String(seconds) },
          },
        );
      }
    },
  };
}
