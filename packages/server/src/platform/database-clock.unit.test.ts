import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { clockFault, DatabaseClock } from './database-clock.ts';

const day = 86_400_000;
/** The clock of this machine and `performance.now()`, which nobody sets, in milliseconds. */
let machine = 0;
let passed = 0;
beforeEach(() => {
  [machine, passed] = [Date.UTC(2026, 0, 15), 5_000];
  vi.spyOn(Date, 'now').mockImplementation(() => machine);
  vi.spyOn(performance, 'now').mockImplementation(() => passed);
});
afterEach(() => vi.restoreAllMocks());

/** A reading that took some milliseconds until now. */
const reading = (database: number, took = 1) => ({ database, requestedAt: passed - took, arrivedAt: passed });

test.each([8 * 365 * day, -40 * day])('the clock of a process that is %d ms off is that of the database', (off) => {
  const real = machine;
  machine += off;
  const clock = new DatabaseClock();
  clock.follow(reading(real));
  expect(Math.abs(clock.now() - real)).toBeLessThanOrEqual(1);
  // Whoever sets the clock of the machine later does not set this one.
  machine -= 2 * off;
  passed += 60_000;
  expect(Math.abs(clock.now() - real - 60_000)).toBeLessThanOrEqual(1);
});

test('the clock does not move as long as a reading allows that, and moves no further than it must', () => {
  const real = machine;
  const clock = new DatabaseClock();
  clock.follow(reading(real - 400, 500));
  expect(clock.now()).toBe(real);
  clock.follow(reading(real - 700, 500));
  expect(clock.now()).toBe(real - 200);
  clock.follow(reading(real + 300, 500));
  expect(clock.now()).toBe(real + 300);
});

test.each([
  [4_900, undefined],
  [-4_900, undefined],
  [7_000, '7 seconds ahead of'],
  [-7_000, '7 seconds behind'],
  [3 * 3_600_000, '3 hours ahead of'],
  [-40 * day, '40 days behind'],
])('a difference of %d ms is described', (difference, described) => {
  const fault = clockFault(reading(machine - difference, 0));
  if (described === undefined) expect(fault).toBeUndefined();
  else expect(fault).toContain(`The clock of this process is ${described} that of the database.`);
});

test('a slow response shows no difference that it does not prove', () => {
  expect(clockFault(reading(machine - 20_000, 20_000))).toBeUndefined();
  expect(clockFault(reading(machine - 40_000, 20_000))).toContain('20 seconds ahead');
});
