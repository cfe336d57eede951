import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { eachOperation, waiting } from './parallel.ts';

it('work that starts while other work waits can fail first, and its error is thrown', async () => {
  const error = new Error('The second failed.');
  const run = eachOperation([1, 2, 3], 1, async (item) => {
    if (item === 1) await sleep(5).then(() => waiting(sleep(30)));
    if (item === 2) throw error;
  });
  await expect(run).rejects.toBe(error);
});
