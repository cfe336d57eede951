import { expect, test } from 'vitest';
import { networkOf } from '../platform/network.ts';
import { WasteLimit } from './waste-limit.ts';

test('a network may waste 100 connections at once, and then ten a second', () => {
  let now = 1_000;
  const limit = new WasteLimit({ now: () => now });
  for (let count = 0; count < 100; count += 1) limit.count('192.0.2.1');
  expect(limit.isExceeded('192.0.2.1', 0)).toBe(false);
  limit.count('192.0.2.1');
  expect(limit.isExceeded('192.0.2.1', 0)).toBe(true);
  expect(limit.isExceeded('192.0.2.2', 0)).toBe(false);
  now += 100;
  expect(limit.isExceeded('192.0.2.1', 0)).toBe(false);
  for (let count = 0; count < 10; count += 1) limit.count('192.0.2.1');
  now += 900;
  expect(limit.isExceeded('192.0.2.1', 0)).toBe(true);
  now += 100;
  expect(limit.isExceeded('192.0.2.1', 0)).toBe(false);
});

test('a network is admitted again two seconds after its attack has ended', () => {
  let now = 1_000;
  const limit = new WasteLimit({ now: () => now });
  for (let count = 0; count < 10_000; count += 1) limit.count('192.0.2.1');
  now += 1_900;
  expect(limit.isExceeded('192.0.2.1', 0)).toBe(true);
  now += 100;
  expect(limit.isExceeded('192.0.2.1', 0)).toBe(false);
});

test.each(['127.0.0.1', '::1', '::ffff:127.0.0.1'])('programs of this machine have no limit: %s', (address) => {
  const limit = new WasteLimit();
  for (let count = 0; count < 1_000; count += 1) limit.count(networkOf(address));
  expect(limit.isExceeded(networkOf(address), 0)).toBe(false);
});

test('open connections count as wasted once half of the burst is', () => {
  const limit = new WasteLimit({ now: () => 1_000 });
  for (let count = 0; count < 50; count += 1) limit.count('192.0.2.1');
  expect(limit.isExceeded('192.0.2.1', 400)).toBe(false);
  limit.count('192.0.2.1');
  expect(limit.isExceeded('192.0.2.1', 49)).toBe(false);
  expect(limit.isExceeded('192.0.2.1', 50)).toBe(true);
});
