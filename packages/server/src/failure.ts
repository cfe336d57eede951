import type { Logger } from 'pino';
import { Violation } from './entity/violation.ts';
import { Problem } from './http/problem.ts';
import { DatabaseUnavailable, TransactionConflict } from './store/errors.ts';

/** Whatever a step threw, as the problem that the caller is told. What we did not foresee is logged, and told as our fault. */
export function toProblem(error: unknown, log: Logger): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof Violation) return error.toProblem();
  if (error instanceof DatabaseUnavailable || error instanceof TransactionConflict) {
    log.warn({ err: error }, 'The database did not do it.');
    return new Problem('SERVICE_UNAVAILABLE', 'The service cannot answer now. Try again in 5 seconds.', {
      headers: { 'Retry-After': '5' },
    });
  }
  log.error({ err: error }, 'A request failed for a reason that is not foreseen.');
  return new Problem(
    'INTERNAL_ERROR',
    'Something went wrong on our side, and nothing was written. Give the request id to support.',
  );
}
