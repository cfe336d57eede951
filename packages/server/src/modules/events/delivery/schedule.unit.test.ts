import { describe, expect, test } from 'vitest';
import { maxAttempts, parseRetryAfter, pauseAfter, retryDelay } from './sender.ts';

const hour = 3_600_000;

describe('retryDelay', () => {
  test('follows the schedule of the contract, with up to a tenth of jitter', () => {
    const minutes = [5 / 60, 5, 30, 120, 300, 600, 840, 1200, 1440];
    for (const [index, wanted] of minutes.entries()) {
      expect(retryDelay(index + 1, 0, 0)).toBe(wanted * 60_000);
      expect(retryDelay(index + 1, 0, 1)).toBe(Math.round(wanted * 60_000 * 1.1));
    }
    expect(maxAttempts).toBe(10);
    expect(retryDelay(10)).toBeUndefined();
  });

  test('waits as long as the receiver asks for, but a day at most, and never less than the schedule', () => {
    expect(retryDelay(1, 60_000, 0)).toBe(60_000);
    expect(retryDelay(1, 1_000, 0)).toBe(5_000);
    expect(retryDelay(1, 1_000 * hour, 0)).toBe(24 * hour);
    expect(retryDelay(10, 60_000)).toBeUndefined();
  });
});

test('pauseAfter › begins with the fifth failure, doubles, and ends at five minutes', () => {
  const pauses = Array.from({ length: 14 }, (_, failures) => pauseAfter(failures, 0, 0));
  expect(pauses).toEqual([0, 0, 0, 0, 0, 5, 10, 20, 40, 80, 160, 300, 300, 300].map((seconds) => seconds * 1000));
  expect(pauseAfter(1, 30_000, 0)).toBe(30_000);
  expect(pauseAfter(5, 30_000, 0)).toBe(30_000);
  expect(pauseAfter(5000, 0, 1)).toBe(330_000);
});

test.each([
  ['120', 120_000],
  [' 7 ', 7_000],
  ['0', 0],
  ['Sun, 22 Nov 2026 14:00:30 GMT', 30_000],
  ['Sunday, 22-Nov-26 14:00:30 GMT', 30_000],
  ['Sun, 22 Nov 2026 13:59:30 GMT', 0],
  ['-5', 0],
  ['1.5', 0],
  ['2026-11-22', 0],
  ['soon', 0],
  ['99999999999', 0],
  ['', 0],
  [undefined, 0],
])('parseRetryAfter › %s is %s milliseconds', (header, milliseconds) => {
  expect(parseRetryAfter(header, Date.parse('2026-11-22T14:00:00Z'))).toBe(milliseconds);
});
