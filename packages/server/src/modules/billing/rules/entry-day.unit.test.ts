import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDecimal, sum, zero } from '../../../platform/decimal.ts';
import { firstDayFor } from './entry-day.ts';

const entry = (businessDate: string, amount: string) => ({ businessDate, amount: parseDecimal(amount) });
const bill = [entry('2026-01-10', '100'), entry('2026-03-01', '-60')];

test.each([
  ['a change that every day allows counts for its day', '2026-02-01', '-40', bill, '2026-02-01'],
  ['a payment does not count before the invoice', '2026-01-05', '-40', bill, '2026-01-10'],
  ['a row without entries allows an increase on any day', '2026-01-05', '40', [], '2026-01-05'],
  [
    'money that is gone on some day in between counts from the day on which it is back',
    '2026-02-01',
    '-50',
    [...bill, entry('2026-04-01', '60')],
    '2026-04-01',
  ],
  ['if no day allows it, it counts for the last', '2026-02-01', '-500', bill, '2026-03-01'],
])('%s', (_what, day, change, entries, expected) => {
  expect(firstDayFor(day, parseDecimal(change), entries)).toBe(expected);
});

test('negative work has the opposite signs', () => {
  const work = [entry('2026-01-10', '-100')];
  expect(firstDayFor('2026-01-05', parseDecimal('100'), work, -1)).toBe('2026-01-10');
  expect(firstDayFor('2026-01-05', parseDecimal('-100'), work, -1)).toBe('2026-01-05');
});

const days = Array.from({ length: 8 }, (_, index) => `2026-01-0${index + 1}`);
const anyEntries = fc.array(fc.record({ day: fc.constantFrom(...days), amount: fc.integer({ min: -9, max: 9 }) }), {
  maxLength: 8,
});

test('the day of an entry is the first one from which on no balance is negative', () => {
  fc.assert(
    fc.property(anyEntries, fc.constantFrom(...days), fc.integer({ min: -9, max: 9 }), (parts, from, amount) => {
      const entries = parts.map((part) => entry(part.day, String(part.amount)));
      const change = parseDecimal(String(amount));
      const isAllowed = (day: string) =>
        days
          .filter((other) => other >= day)
          .every((other) =>
            sum([change, ...entries.filter((one) => one.businessDate <= other).map((one) => one.amount)]).gte(zero),
          );
      const possible = days.filter((day) => day >= from && isAllowed(day));
      if (possible.length > 0) expect(firstDayFor(from, change, entries)).toBe(possible[0]);
    }),
    { numRuns: 500 },
  );
});
