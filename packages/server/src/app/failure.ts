import type { Logger } from 'pino';
import { Rejection } from '../contract/rejection.ts';
import { LastAdministrator } from '../platform/auth/api-key-store.ts';
import {
  DatabaseUpgraded,
  DiskFull,
  isTemporary,
  OutcomeUnknown,
  TenantMoving,
  TimeBudgetExceeded,
  WrongClock,
} from '../platform/store/errors.ts';
import type { Exchange } from '../wire/exchange.ts';

/** How far a request got with its changes. */
export type WriteProgress = 'no changes' | 'changes begun' | 'changes committed';

/** How far a request may have got if its transactions are not observed: a read changes nothing. */
export function progressOf({ method }: Pick<Exchange, 'method'>): WriteProgress {
  return method === 'GET' || method === 'HEAD' ? 'no changes' : 'changes begun';
}

/** Converts an error to the problem that the caller receives. Unexpected errors are logged and become `INTERNAL_ERROR`. */
export function toRejection(error: unknown, log: Logger, progress: WriteProgress = 'changes begun'): Rejection {
  if (error instanceof Rejection) return error;
  if (error instanceof LastAdministrator) return new Rejection('INVALID_STATE', error.message);
  const isUnavailable = isTemporary(error);
  const hasWritten = progress === 'changes committed';
  // The service also commits for itself, such as when it looks up a key or a tenant.
  if ((error instanceof OutcomeUnknown && progress !== 'no changes') || (isUnavailable && hasWritten)) {
    log.warn({ err: error }, 'Outcome of a write is unknown.');
    return new Rejection('OUTCOME_UNKNOWN', outcomeUnknown);
  }
  if (error instanceof TimeBudgetExceeded) return readTimeout(error.budget / 1000);
  if (isUnavailable) {
    log.warn({ err: error }, 'Database operation failed.');
    return new Rejection('SERVICE_UNAVAILABLE', unavailability(error), { headers: { 'Retry-After': '5' } });
  }
  log.error({ err: error }, 'Request failed unexpectedly.');
  return new Rejection(
    'INTERNAL_ERROR',
    `An internal error occurred${hasWritten ? '' : ', and nothing was written'}. Report the requestId to support.`,
  );
}

const outcomeUnknown =
  'It is unknown whether the changes took effect. Repeat the request with the same Idempotency-Key, or look for the result first.';

/** An immediate retry would cost the same and fail again, so `Retry-After` is longer than for other failures. */
function readTimeout(seconds: number): Rejection {
  return new Rejection(
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
  if (error instanceof TenantMoving) {
    return 'The tenant is being moved to another database, and nothing was written. Try again in 5 seconds.';
  }
  if (error instanceof DatabaseUpgraded) {
    return 'The database has been upgraded by a newer version of the service. Try again when this process has been replaced.';
  }
  if (error instanceof WrongClock) return error.message;
  return 'The service is unavailable. Try again in 5 seconds.';
}
