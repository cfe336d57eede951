import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withLock } from './lock.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lock-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe('withLock', () => {
  it('does one piece of work at a time, also after one that fails', async () => {
    const file = join(folder, 'new/lock');
    let working = 0;
    const work = (fails: boolean) => async () => {
      expect(++working).toBe(1);
      await setTimeout(5);
      working -= 1;
      if (fails) throw new Error('It fails.');
      return 'done';
    };
    const results = await Promise.allSettled([true, false, false].map((fails) => withLock(file, work(fails))));
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  });
});
