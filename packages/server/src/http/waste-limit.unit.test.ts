import { expect, test } from 'vitest';
import { WasteLimit } from './waste-limit.ts';

test('a network may waste 100 connections at once, and then ten a second', () => {
  let now = 1_000;
  const limit = new WasteLimit({ now: () => now });
  for (let count = 0; count < 100; count += 1) limit.count('192.0.2.1');
  expect(limit.isExceeded('192.0.2.1')).toBe(false);
  limit.count('192.0.2.1');
  expect(limit.isExceeded('192.0.2.1')).toBe(true);
  expect(limit.isExceeded('192.0.2.2')).toBe(false);
  now += 100;
  expect(limit.isExceeded('192.0.2.1')).toBe(false);
  for (let count = 0; count < 10; count += 1) limit.count('192.0.2.1');
  now += 900;
  expect(limit.isExceeded('192.0.2.1')).toBe(true);
  now += 100;
  expect(limit.isExceeded('192.0.2.1')).toBe(false);
});
