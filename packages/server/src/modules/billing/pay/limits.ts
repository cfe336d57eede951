import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { Rejection } from '../../../contract/rejection.ts';
import { networkOf } from '../../../http/network.ts';

/** Limits of requests, each with its own key. Each process counts separately. */
const policies = {
  /** By address. */
  request: { points: 240, duration: 60 },
  /** By address: forms that were submitted. */
  submission: { points: 30, duration: 60 },
  /** By address: unknown tokens. */
  unknown: { points: 30, duration: 60 },
  /** By link. */
  link: { points: 240, duration: 60 },
  /** By link: submitted forms, which limits testing of stolen cards. */
  payment: { points: 10, duration: 60 },
  /** By address: notifications that do not come from the processor. */
  notification: { points: 30, duration: 60 },
} as const;

type Policy = keyof typeof policies;

export interface PayLimits {
  /** Counts one request. @throws Rejection `RATE_LIMITED` */
  take(policy: Policy, key: string): Promise<void>;
  /** Checks the limit without counting. @throws Rejection `RATE_LIMITED` if it was already exceeded */
  check(policy: Policy, key: string): Promise<void>;
}

/** @param factor for the limits; 0 disables them. */
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

function tooMany({ msBeforeNext }: RateLimiterRes): Rejection {
  const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
  return new Rejection('RATE_LIMITED', 'Too many requests.', { headers: { 'Retry-After': String(seconds) } });
}
