import { expect, test } from 'vitest';
import { laterBy } from './advance-clock.ts';

test.each([
  ['2026-01-31T10:00:00Z', 'P1M', '2026-02-28T10:00:00Z'],
  ['2028-01-31T10:00:00Z', 'P1M', '2028-02-29T10:00:00Z'],
  ['2026-11-26T10:00:00Z', 'P1M2W3DT4H', '2027-01-12T14:00:00Z'],
  ['2028-02-29T10:00:00Z', 'P1Y2M', '2029-04-29T10:00:00Z'],
  ['2026-03-08T00:30:00Z', 'P1D', '2026-03-09T00:30:00Z'],
])('laterBy › %s and %s are %s, by the calendar in UTC', (now, duration, later) => {
  expect(laterBy(Temporal.Instant.from(now), Temporal.Duration.from(duration)).toString()).toBe(later);
});
