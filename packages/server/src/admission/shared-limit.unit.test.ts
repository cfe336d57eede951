import { describe, expect, test } from 'vitest';
import type { Counters } from '../platform/counters.ts';
import { memoryCounters } from '../platform/counters.ts';
import { SharedLimit } from './shared-limit.ts';

/** Counters that several processes share, and the calls that they got. */
function counting(): { readonly counters: Counters; calls: number } {
  const shared = memoryCounters();
  const result = {
    calls: 0,
    counters: {
      add(key: string, points: number, seconds: number) {
        result.calls += 1;
        return shared.add(key, points, seconds);
      },
    },
  };
  return result;
}

/** Limits of several processes. */
const processes = (count: number, counters: Counters, points: number, now = () => 0) =>
  Array.from({ length: count }, () => new SharedLimit(counters, { name: 'read', points, seconds: 60 }, { now }));

async function allowed(limit: SharedLimit, times: number): Promise<number> {
  const taken = await Promise.all(Array.from({ length: times }, () => limit.take('caller')));
  return taken.filter(({ isAllowed }) => isAllowed).length;
}

describe('SharedLimit', () => {
  test('allows one process the whole limit, with at most a call for ten requests', async () => {
    const shared = counting();
    const [limit] = processes(1, shared.counters, 600);
    expect(limit && (await allowed(limit, 1_000))).toBe(600);
    expect(shared.calls).toBeLessThanOrEqual(60);
    // The rest is rejected without a call.
    const before = shared.calls;
    expect(limit && (await allowed(limit, 100))).toBe(0);
    expect(shared.calls).toBe(before);
  });

  test.each([2, 10, 50])('holds for %i processes together, and leaves little unused', async (count) => {
    const shared = counting();
    const limits = processes(count, shared.counters, 600);
    let [total, before] = [0, 0];
    for (let round = 0; round < 1_200 / count; round++) {
      for (const limit of limits) {
        const { isAllowed } = await limit.take('caller');
        if (isAllowed) total += 1;
        else if (before === 0) before = total;
      }
    }
    expect(total).toBe(600);
    // Nobody is rejected while others have much in reserve.
    expect(before).toBeGreaterThan(400);
  });

  test('counts a small limit one by one', async () => {
    const shared = counting();
    const limits = processes(10, shared.counters, 10);
    const taken = await Promise.all(limits.map((limit) => limit.take('link')));
    expect(taken.map(({ isAllowed }) => isAllowed)).toEqual(Array(10).fill(true));
    for (const limit of limits) expect((await limit.take('link')).isAllowed).toBe(false);
  });

  test('shows what is left, and begins again with the next window', async () => {
    let now = 0;
    const [limit] = processes(1, counting().counters, 100, () => now);
    expect(await limit?.take('caller')).toMatchObject({ isAllowed: true, remaining: 99 });
    expect(await limit?.take('caller')).toMatchObject({ isAllowed: true, remaining: 98 });
    expect(limit?.exhausted('caller')).toBeUndefined();
    if (limit) await allowed(limit, 98);
    expect(limit?.exhausted('caller')).toBeGreaterThan(0);
    expect(limit?.exhausted('other')).toBeUndefined();
    now += 61_000;
    expect(limit?.exhausted('caller')).toBeUndefined();
  });
});
