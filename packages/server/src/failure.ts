import type { Logger } from 'pino';
import { problemOfViolations, Violation } from './entity/violation.ts';
import { Problem } from './http/problem.ts';
import {
  DatabaseUnavailable,
  DatabaseUpgraded,
  DiskFull,
  TimeBudgetExceeded,
  TransactionConflict,
} from './store/errors.ts';

/**
 * Converts an error to the problem that the caller receives. Unexpected errors are logged and become `INTERNAL_ERROR`.
 */
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

/** An immediate retry would cost the same and fail again, so `Retry-After` is longer than for other failures. */
function readTimeout(seconds: number): Problem {
  return new Problem(
    'READ_TIMEOUT',
    `The read took longer than ${seconds} ${seconds === 1 ? 'second' : 'seconds'}. Narrow the search, or request a smaller page.`,
    { headers: { 'Retry-After': '30' } },
  );
}

/** Describes an unavailable database to callers, without its address or statements. */
export function unavailability(error: unknown): string {
  if (error instanceof DiskFull) {
    return 'The disk of the database is full, and nothing was written. Try again after the operator has freed space.';
  }
  if (error instanceof DatabaseUpgraded) {
    return 'The database has been upgraded by a newer version of the service. Try again when this process has been replaced.';
  }
  return 'The service is unavailable. Try again in 5 seconds.';
}
