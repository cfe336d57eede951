import { eventRetries, millisecondsOf } from '../../../contract/durations.ts';

/** How often an event is sent to a subscription before it is given up. */
export const mostAttempts = eventRetries.length + 1;

/** The longest pause that a receiver can ask for, in milliseconds. */
const longestRetryAfter = millisecondsOf('retryAfter');

/** After so many failed attempts in a row, nothing is sent for a while. */
export const breaksAfter = 5;
/** In milliseconds. */
const shortestPause = 5_000;
const longestPause = 300_000;

/** A subscription whose attempts have all failed for so long is deactivated, in milliseconds. */
export const deactivatesAfter = millisecondsOf('failingSubscription');

/** Events that failed together are not sent again together. */
function withJitter(milliseconds: number, random: number): number {
  return Math.round(milliseconds * (1 + random / 10));
}

/**
 * The time until an event is sent again, in milliseconds, or undefined where it is given up.
 *
 * @param attempt the number of the attempt that failed, from 1.
 * @param retryAfter what the receiver asks for, in milliseconds.
 * @param random from 0 to 1.
 */
export function retryDelay(attempt: number, retryAfter = 0, random = Math.random()): number | undefined {
  const delay = eventRetries[attempt - 1];
  return delay === undefined ? undefined : Math.max(withJitter(delay, random), Math.min(retryAfter, longestRetryAfter));
}

/**
 * The time for which nothing is sent to a receiver, in milliseconds; 0 while it counts as working. After the pause, one event is
 * sent to find out whether it works again.
 *
 * @param failures attempts that failed in a row.
 * @param retryAfter what the receiver asks for, in milliseconds.
 * @param random from 0 to 1.
 */
export function pauseAfter(failures: number, retryAfter = 0, random = Math.random()): number {
  const requested = Math.min(retryAfter, longestRetryAfter);
  if (failures < breaksAfter) return requested;
  const pause = Math.min(shortestPause * 2 ** (failures - breaksAfter), longestPause);
  return Math.max(withJitter(pause, random), requested);
}

/** The time that a `Retry-After` header asks for, in milliseconds; 0 where it has neither seconds nor a date in the future. */
export function parseRetryAfter(header: string | undefined, now: number): number {
  const text = header?.trim() ?? '';
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1_000;
  // Every form of an HTTP date names the month. Other text that `Date` accepts is not meant as one.
  const at = /[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? 0 : Math.max(0, at - now);
}
