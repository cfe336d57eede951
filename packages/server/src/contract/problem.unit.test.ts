import { expect, test } from 'vitest';
import { schemaOf } from './contract.ts';
import { problemDocument } from './problem.ts';
import { isItemRejection, type ProblemCode, Rejection, together } from './rejection.ts';

const name = new Rejection('VALIDATION_ERROR', 'The name is invalid.', '/name');

test('a rejection with a pointer has one error, at this place of the body', () => {
  expect(name.under('/contacts/3').errors).toEqual([
    { in: 'body', pointer: '/contacts/3/name', code: 'VALIDATION_ERROR', detail: 'The name is invalid.' },
  ]);
});

test('a prefix does not change places that are stated as a whole', () => {
  const errors = [{ in: 'query', pointer: '/page', code: 'EXCLUSIVE', detail: 'Send either cursor or page.' }] as const;
  expect(new Rejection('VALIDATION_ERROR', 'Invalid.', { errors }).under('/contacts/3').errors).toEqual(errors);
});

test('a rejection without a place has no errors, also under a prefix', () => {
  const locked = new Rejection('LOCKED', 'The row is locked.').under('/contacts/3');
  expect([locked.errors, problemDocument(locked, 'x')]).toEqual([
    undefined,
    expect.not.objectContaining({ errors: expect.anything() }),
  ]);
});

test('each problem that the contract says to repeat after Retry-After has it, and no other', () => {
  const { description = '', enum: codes = [] } = schemaOf('ProblemCode');
  const repeated = [...description.matchAll(/^\| `(\w+)` \|.*\brepeat after `Retry-After`/gm)].map(([, code]) => code);
  expect(repeated).toContain('REQUEST_IN_PROGRESS');
  const timed = codes.filter((code) => 'Retry-After' in new Rejection(code as ProblemCode, 'x').headers);
  // Whoever can repeat these should not do so at once, either.
  expect(timed.sort()).toEqual([...repeated, 'OUTCOME_UNKNOWN', 'READ_TIMEOUT'].sort());
});

test('a request is rejected with the code of items, except for a row that does not exist', () => {
  const missing = new Rejection('RECORD_NOT_FOUND', 'No contact has this pmsRef.', '/pmsRef');
  expect(problemDocument(missing, 'x')).toMatchObject({
    status: 404,
    code: 'NOT_FOUND',
    errors: [{ code: 'RECORD_NOT_FOUND', pointer: '/pmsRef' }],
  });
  expect(problemDocument(name, 'x')).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
});

test('items have only the codes that the contract declares for them', () => {
  expect(isItemRejection(name)).toBe(true);
  expect(isItemRejection(new Rejection('CONFLICT', 'The job is linked to another engagement.', '/jobIds/0'))).toBe(
    false,
  );
  expect(isItemRejection(new Error('VALIDATION_ERROR'))).toBe(false);
});

test('several rejections of a request are one, which lists each place once', () => {
  const locked = new Rejection('LOCKED', 'The row is locked.', '/id');
  const all = together([name, locked, new Rejection('LOCKED', 'The row is locked.', '/id')]);
  expect(all).toMatchObject({ code: 'VALIDATION_ERROR', message: 'The name is invalid. (1 more in errors.)' });
  expect(all.errors?.map(({ pointer }) => pointer)).toEqual(['/name', '/id']);
  expect(together([name])).toBe(name);
});

test('a rejection keeps within the limits of the contract', () => {
  const errors = Array.from({ length: 200 }, () => ({
    in: 'body' as const,
    pointer: `/${'x'.repeat(2_000)}`,
    code: 'TYPE' as const,
    detail: 'y'.repeat(2_000),
  }));
  const { errors: kept = [], message } = new Rejection('VALIDATION_ERROR', 'z'.repeat(3_000), { errors });
  expect([kept.length, kept[0]?.pointer.length, kept[0]?.detail.length, message.length]).toEqual([
    100, 1_000, 1_000, 2_000,
  ]);
});
