import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';

/** What was counted for a key in the present window. */
export interface Counted {
  readonly total: number;
  /** Milliseconds until the window ends. It starts with the first count. */
  readonly msBeforeNext: number;
}

/** Counts what is limited. */
export interface Counters {
  add(key: string, points: number, seconds: number): Promise<Counted>;
}

/** @param open creates what counts in windows of a length, in seconds. */
export function countersBy(
  open: (seconds: number) => { penalty(key: string, points: number): Promise<RateLimiterRes> },
): Counters {
  const limiters = new Map<number, ReturnType<typeof open>>();
  return {
    async add(key, points, seconds) {
      const limiter = limiters.getOrInsertComputed(seconds, open);
      const { consumedPoints, msBeforeNext } = await limiter.penalty(key, points);
      return { total: consumedPoints, msBeforeNext };
    },
  };
}

/** Counts in this process alone. */
export function memoryCounters(): Counters {
  return countersBy((duration) => new RateLimiterMemory({ points: 1, duration }));
}
