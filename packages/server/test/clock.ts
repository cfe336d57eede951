import { vi } from 'vitest';
import { databaseClock } from '../src/platform/database-clock.ts';
import { atEnd } from './at-end.ts';

/**
 * Sets the clock of this test file. Call it before the service is created: access tokens are issued at the time of the clock,
 * and are valid for minutes only. PGlite uses this clock, too; statements of PostgreSQL use the real one.
 */
export function startClock(now: Temporal.Instant): void {
  moveMachineClock(now);
  vi.spyOn(databaseClock, 'now').mockImplementation(() => Date.now());
  atEnd(() => void vi.restoreAllMocks());
}

/** Moves a clock that has been started. Tokens that were issued before may have expired then. */
export function moveClock(now: Temporal.Instant): void {
  vi.setSystemTime(now.epochMilliseconds);
}

/** Sets the clock of this machine alone, which is wrong then. */
export function moveMachineClock(now: Temporal.Instant): void {
  // biome-ignore lint/plugin: the one place that sets the clock of a service
  vi.useFakeTimers({ toFake: ['Date'], now: now.epochMilliseconds });
  atEnd(() => void vi.useRealTimers());
}

/** Options of Node with which the clock of a process is ahead of that of the machine. */
export function clockAhead(seconds: number): string {
  const module = `globalThis.Date = class extends Date {
    constructor(...parts) { parts.length === 0 ? super(Date.now()) : super(...parts); }
    static #now = Date.now;
    static now() { return this.#now() + ${seconds * 1_000}; }
  }`;
  return `--import=data:text/javascript,${encodeURIComponent(module)}`;
}
