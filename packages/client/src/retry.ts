/** Which failures can be retried, by `x-idempotent` of the contract; see the table in the README. */
import { isProblem } from './problem.ts';
import type { AnyApiResponse, Call } from './types.ts';

/** `x-idempotent`: safe to repeat, only with an `Idempotency-Key`, or never. */
export type Idempotent = Call[2];

/** Statuses that do not show whether the request was processed. */
const ambiguous = new Set([408, 500, 502, 504]);

/** Whether a call can be retried after this response. */
export function mayRepeatAfter(response: AnyApiResponse, idempotent: Idempotent): boolean {
  // A 429 and a SERVICE_UNAVAILABLE of the service mean that nothing was written. Any other 503, OUTCOME_UNKNOWN included, does not.
  if (response.status === 429) return true;
  // The read would time out again.
  if (isProblem(response.body, 'READ_TIMEOUT')) return false;
  if (response.status === 503) return idempotent !== false || isProblem(response.body, 'SERVICE_UNAVAILABLE');
  if (ambiguous.has(response.status)) return idempotent !== false;
  return idempotent === 'key' && isInProgress(response);
}

/** Whether the first attempt with the key is still running; its response will be replayed. Its end decides how long to wait. */
export function isInProgress(response: AnyApiResponse): boolean {
  return isProblem(response.body, 'REQUEST_IN_PROGRESS');
}

/** The value of `Retry-After` in milliseconds (RFC 9110: seconds, or a date); 0 without it. */
export function retryAfter(headers: Headers): number {
  const value = headers.get('Retry-After');
  if (value === null) return 0;
  const seconds = Number(value);
  const milliseconds = Number.isNaN(seconds) ? Date.parse(value) - Date.now() : seconds * 1000;
  return Math.max(0, milliseconds || 0);
}
