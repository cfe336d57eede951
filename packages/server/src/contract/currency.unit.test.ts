import { codes } from 'currency-codes';
import { expect, test } from 'vitest';
import { parseDecimal } from '../platform/decimal.ts';
import { schemaOf } from './contract.ts';
import { isInMinorUnits, placesOf, roundMoney } from './currency.ts';

const accepted = new RegExp(schemaOf('Currency').pattern ?? '');

test('the contract accepts currencies of ISO 4217 with at most two decimals', () => {
  // The list is of 2024: these three were withdrawn since.
  const withdrawn = ['ANG', 'BGN', 'CUC'];
  const more = ['BHD', 'CLF', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND', 'UYW'];
  expect([...new Set(codes())].filter((code) => !accepted.test(code)).sort()).toEqual([...withdrawn, ...more].sort());
});

test.each([
  ['USD', 2],
  ['JPY', 0],
  ['KRW', 0],
  // Intl, which follows the use in shops, has no decimals for these two.
  ['HUF', 2],
  ['COP', 2],
  // Newer than the list.
  ['XCG', 2],
])('placesOf › %s has %d decimals', (currency, places) => {
  expect(placesOf(currency)).toBe(places);
});

test('roundMoney rounds half up to the minor unit', () => {
  const amount = parseDecimal('100.50');
  expect([roundMoney(amount, 'JPY').toFixed(2), roundMoney(amount, 'USD').toFixed(2)]).toEqual(['101.00', '100.50']);
  expect([isInMinorUnits(amount, 'JPY'), isInMinorUnits(amount, 'USD')]).toEqual([false, true]);
});
