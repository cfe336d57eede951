import { pino } from 'pino';
import { expect, test } from 'vitest';
import { DatabaseUnavailable, OutcomeUnknown, TransactionConflict } from '../platform/store/errors.ts';
import { toRejection } from './failure.ts';

test.each([
  [new DatabaseUnavailable('gone'), false, 'SERVICE_UNAVAILABLE'],
  [new TransactionConflict('conflict'), false, 'SERVICE_UNAVAILABLE'],
  [new OutcomeUnknown(new Error('gone')), false, 'OUTCOME_UNKNOWN'],
  // A request of several transactions, of which one was committed.
  [new DatabaseUnavailable('gone'), true, 'OUTCOME_UNKNOWN'],
  [new TransactionConflict('conflict'), true, 'OUTCOME_UNKNOWN'],
])('%s in a request that has committed changes (%s) is %s', (error, hasWritten, code) => {
  expect(toRejection(error, pino({ level: 'silent' }), hasWritten)).toMatchObject({ status: 503, code });
});
