import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { networkOf } from '../http/failure-limit.ts';
import { Problem } from '../http/problem.ts';

/** How many requests are served, each by its own key. Each process counts for itself. */
const policies = {
  /** By address. */
  request: { points: 240, duration: 60 },
  /** By address: forms that were submitted. */
  submission: { points: 30, duration: 60 },
  /** By address: tokens that lead nowhere. */
  unknown: { points: 30, duration: 60 },
  /** By link. */
  link: { points: 240, duration: 60 },
  /** By link: forms that were submitted. A stolen card is not tried out here. */
  payment: { points: 10, duration: 60 },
  /** By address: notifications of a processor that were not from it. */
  notification: { points: 30, duration: 60 },
} as const;

type Policy = keyof typeof policies;

export interface PayLimits {
  /** Counts one. @throws Problem `RATE_LIMITED` */
  take(policy: Policy, key: string): Promise<void>;
  /** Counts nothing. @throws Problem `RATE_LIMITED` where there were too many already */
  check(policy: Policy, key: string): Promise<void>;
}

/** @param factor what the limits are multiplied with; 0 switches them off. */
export function createPayLimits(factor: number): PayLimits {
  const limiters = new Map(
    Object.entries(policies).map(([name, { points, duration }]) => [
      name,
      new RateLimiterMemory({ points: Math.max(1, Math.round(points * factor)), duration }),
    ]),
  );
  const limiterOf = (policy: Policy) => {
    const limiter = limiters.get(policy);
    if (limiter === undefined) throw new Error(`There is no limit ${policy}.`);
    return limiter;
  };
  return {
    async take(policy, key) {
      if (factor === 0) return;
      try {
        await limiterOf(policy).consume(key);
      } catch (rejected) {
        throw rejected instanceof RateLimiterRes ? tooMany(rejected) : rejected;
      }
    },
    async check(policy, key) {
      if (factor === 0) return;
      const limiter = limiterOf(policy);
      const used = await limiter.get(key);
      if (used !== null && used.consumedPoints >= limiter.points) throw tooMany(used);
    },
  };
}

export function addressKey(address: string | undefined): string {
  return networkOf(address ?? '');
}

function tooMany({ msBeforeNext }: RateLimiterRes): Problem {
  const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
  return new Problem('RATE_LIMITED', 'Too many requests.', { headers: { 'Retry-After': String(seconds) } });
}
