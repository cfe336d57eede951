import { vi } from 'vitest';
import { atEnd } from './at-end.ts';

/**
 * Sets the clock of this test file. Call it before the service is created: access tokens are issued at the time of the clock,
 * and are valid for minutes only. PGlite uses this clock, too; PostgreSQL uses the real one.
 */
export function startClock(now: Temporal.Instant): void {
  // biome-ignore lint/plugin: the one place that sets the clock of a service
  vi.useFakeTimers({ toFake: ['Date'], now: now.epochMilliseconds });
  atEnd(() => vi.useRealTimers());
}

/** Moves a clock that has been started. Tokens that were issued before may have expired then. */
export function moveClock(now: Temporal.Instant): void {
  vi.setSystemTime(now.epochMilliseconds);
}
