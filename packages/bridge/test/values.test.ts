/** Days of other locales and centuries are asked for, never guessed. */
import { expect, test } from 'vitest';
import { parseDay } from '../src/files/values.ts';

test('parseDay asks for the order and the century of a day that does not say them, and reads it then', () => {
  const dmy = { dates: 'dmy', twoDigitYears: '2000' } as const;
  const days = ['03/04/26', '3-Apr-26', '3 April 26', '03.04.2026', 'Apr 3, 26', '2026-04-03'];
  for (const day of days) expect(parseDay(day, dmy), day).toBe('2026-04-03');
  expect(parseDay('04/03/26', { ...dmy, dates: 'mdy' })).toBe('2026-04-03');
  expect(['70', '69', '26'].map((year) => parseDay(`03/04/${year}`, { ...dmy, twoDigitYears: '1970' }))).toEqual([
    '1970-04-03',
    '2069-04-03',
    '2026-04-03',
  ]);
  expect(() => parseDay('03/04/26', {})).toThrow(/Add --dates dmy .* --dates mdy .*; and add --two-digit-years 2000/);
  expect(() => parseDay('03/04/26', { dates: 'dmy' })).toThrow(/“03\/04\/26”. Add --two-digit-years 2000/);
  expect(() => parseDay('3-Apr-26', {})).toThrow('--two-digit-years');
  expect(() => parseDay('31/04/26', dmy)).toThrow('not a date of the calendar');
  expect(() => parseDay('03/04/126', dmy)).toThrow('“03/04/126” is not a date.');
});
