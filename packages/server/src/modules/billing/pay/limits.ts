import { SharedLimit } from '../../../admission/shared-limit.ts';
import { Rejection } from '../../../contract/rejection.ts';
import type { Counters } from '../../../platform/counters.ts';
import { networkOf } from '../../../platform/network.ts';

/** Limits of requests to all processes, each with its own key. */
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
export function createPayLimits(factor: number, counters: Counters): PayLimits {
  const limits = new Map(
    Object.entries(policies).map(([name, { points: most, duration: seconds }]) => {
      const points = Math.max(1, Math.round(most * factor));
      return [name, new SharedLimit(counters, { name: `pay ${name}`, points, seconds })];
    }),
  );
  const limitOf = (policy: Policy) => {
    const limit = limits.get(policy);
    if (limit === undefined) throw new Error(`There is no limit ${policy}.`);
    return limit;
  };
  return {
    async take(policy, key) {
      if (factor === 0) return;
      const { isAllowed, msBeforeNext } = await limitOf(policy).take(key);
      if (!isAllowed) throw tooMany(msBeforeNext);
    },
    async check(policy, key) {
      if (factor === 0) return;
      const exhausted = limitOf(policy).exhausted(key);
      if (exhausted !== undefined) throw tooMany(exhausted);
    },
  };
}

export function addressKey(address: string | undefined): string {
  return networkOf(address ?? '');
}

function tooMany(msBeforeNext: number): Rejection {
  const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
  return new Rejection('RATE_LIMITED', 'Too many requests.', { headers: { 'Retry-After': String(seconds) } });
}
