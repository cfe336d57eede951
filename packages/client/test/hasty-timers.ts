import { vi } from 'vitest';
import { defaultTimeout } from '../src/options.ts';

/** Makes timers a hundred times faster, and returns their original durations in milliseconds. */
export function hastenTimers(): number[] {
  const waits: number[] = [];
  const real = globalThis.setTimeout;
  vi.stubGlobal('setTimeout', (callback: () => void, milliseconds = 0, ...more: []) => {
    // `fetch` sets its own timers, which are recognized by their arguments.
    if (more.length > 0) return real(callback, milliseconds, ...more);
    // The timeout of a call is not a delay.
    if (milliseconds === defaultTimeout) return real(callback, milliseconds);
    waits.push(milliseconds);
    return real(callback, milliseconds / 100);
  });
  return waits;
}
