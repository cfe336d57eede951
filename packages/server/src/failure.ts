import type { Logger } from 'pino';
import { problemOfViolations, Violation } from './entity/violation.ts';
import { Problem } from './http/problem.ts';
import { DatabaseUnavailable, DiskFull, TimeBudgetExceeded, TransactionConflict } from './store/errors.ts';

/** Whatever a step threw, as the problem that the caller is told. What we did not foresee is logged, and told as our fault. */
export function toProblem(error: unknown, log: Logger): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof Violation) return problemOfViolations([error]);
  if (error instanceof TimeBudgetExceeded) return readTimeout(error.budget / 1000);
  if (error instanceof DatabaseUnavailable || error instanceof TransactionConflict) {
    log.warn({ err: error }, 'The database operation failed.');
    return new Problem('SERVICE_UNAVAILABLE', unavailability(error), { headers: { 'Retry-After': '5' } });
  }
  log.error({ err: error }, 'A request failed unexpectedly.');
  return new Problem(
    'INTERNAL_ERROR',
    'An internal error occurred, and nothing was written. Report the requestId to support.',
  );
}

/** Repeating the read at once would cost the same and end the same way, so it is to wait longer than for other failures. */
function readTimeout(seconds: number): Problem {
  return new Problem(
    'READ_TIMEOUT',
    `The read took longer than ${seconds} ${seconds === 1 ? 'second' : 'seconds'}. Narrow the search, or request a smaller page.`,
    { headers: { 'Retry-After': '30' } },
  );
}

/** What a caller may know of a database that is not available: nothing of its address or its statements. */
export function unavailability(error: unknown): string {
  if (error instanceof DiskFull) {
    return 'The disk of the database is full, and nothing was written. Try again after the operator has freed space.';
  }
  return 'The service is unavailable. Try again in 5 seconds.';
}
