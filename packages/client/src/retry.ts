/** Which failures may be repeated. The contract decides, by `x-idempotent`; see the table in the README. */
import { isProblem } from './problem.ts';
import type { AnyAnswer, Call } from './types.ts';

/** `x-idempotent`: may be repeated as it is, only with an `Idempotency-Key`, or not at all. */
export type Idempotent = Call[2];

/** Answers that leave open whether something was done. */
const ambiguous = new Set([408, 500, 502, 504]);

/** Whether a call that was answered so may be sent again. */
export function mayRepeatAfter(answer: AnyAnswer, idempotent: Idempotent): boolean {
  // Both say that nothing was done. A 503 of something in between says nothing of the kind.
  if (answer.status === 429) return true;
  if (answer.status === 503) return idempotent !== false || isProblem(answer.body, 'SERVICE_UNAVAILABLE');
  if (ambiguous.has(answer.status)) return idempotent !== false;
  // The try before is still running, with the same key: its answer will be replayed.
  return idempotent === 'key' && isProblem(answer.body, 'REQUEST_IN_PROGRESS');
}

/** Milliseconds that `Retry-After` asks to wait (RFC 9110: seconds, or a date); 0 without it. */
export function retryAfter(headers: Headers): number {
  const value = headers.get('Retry-After');
  if (value === null) return 0;
  const seconds = Number(value);
  const milliseconds = Number.isNaN(seconds) ? Date.parse(value) - Date.now() : seconds * 1000;
  return Math.max(0, milliseconds || 0);
}
