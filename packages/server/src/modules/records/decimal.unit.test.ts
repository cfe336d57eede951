import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareDecimals, inShortestForm, withPlaces } from './decimal.ts';

const decimals = fc
  .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 9_999_999_999_999_999n }), fc.integer({ min: 0, max: 6 }), fc.nat())
  .map(([negative, whole, places, fraction]) => {
    const digits = String(fraction).padStart(places, '0').slice(0, places);
    return `${negative ? '-' : ''}${whole}${places === 0 ? '' : `.${digits}`}`;
  });

test('decimals are padded to their scale, and zero has no sign', () => {
  expect(['1', '-1.5', '-0', '0.00'].map((text) => withPlaces(text, 2))).toEqual(['1.00', '-1.50', '0.00', '0.00']);
  expect(withPlaces('-12', 0)).toBe('-12');
});

test('the shortest form has no redundant characters', () => {
  const short = ['1.50', '10', '10.0', '-0.00', '0', '-3.10'].map(inShortestForm);
  expect(short).toEqual(['1.5', '10', '10', '0', '0', '-3.1']);
});

test('equal numbers have the same shortest form, however many places they have', () => {
  fc.assert(
    fc.property(decimals, fc.integer({ min: 0, max: 6 }), (text, more) => {
      const places = Math.max(more, text.split('.')[1]?.length ?? 0);
      expect(inShortestForm(withPlaces(text, places))).toBe(inShortestForm(text));
      expect(compareDecimals(withPlaces(text, places), text)).toBe(0);
    }),
  );
});

test('decimals are compared by value', () => {
  expect(compareDecimals('9', '10')).toBe(-1);
  expect(compareDecimals('-9', '-10')).toBe(1);
  expect(compareDecimals('9999999999999999.000001', '9999999999999999')).toBe(1);
  fc.assert(
    fc.property(decimals, decimals, (left, right) => {
      expect(compareDecimals(left, right) + compareDecimals(right, left)).toBe(0);
    }),
  );
});
