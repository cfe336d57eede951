import { pino } from 'pino';
import { expect, test } from 'vitest';
import { DatabaseUnavailable, OutcomeUnknown, TransactionConflict } from '../platform/store/errors.ts';
import { progressOf, toRejection } from './failure.ts';

test.each([
  [new DatabaseUnavailable('gone'), 'changes begun', 'SERVICE_UNAVAILABLE'],
  [new TransactionConflict('conflict'), 'changes begun', 'SERVICE_UNAVAILABLE'],
  [new OutcomeUnknown(new Error('gone')), 'changes begun', 'OUTCOME_UNKNOWN'],
  [new OutcomeUnknown(new Error('gone')), 'no changes', 'SERVICE_UNAVAILABLE'],
  // A request of several transactions, of which one was committed.
  [new DatabaseUnavailable('gone'), 'changes committed', 'OUTCOME_UNKNOWN'],
  [new TransactionConflict('conflict'), 'changes committed', 'OUTCOME_UNKNOWN'],
] as const)('%s in a request with %s is %s', (error, progress, code) => {
  expect(toRejection(error, pino({ level: 'silent' }), progress)).toMatchObject({ status: 503, code });
});

test.each([
  ['GET', 'SERVICE_UNAVAILABLE'],
  ['HEAD', 'SERVICE_UNAVAILABLE'],
  ['POST', 'OUTCOME_UNKNOWN'],
])('a connection that breaks during a commit makes %s of a page %s', (method, code) => {
  const error = new OutcomeUnknown(new Error('gone'));
  expect(toRejection(error, pino({ level: 'silent' }), progressOf({ method }))).toMatchObject({ status: 503, code });
});
