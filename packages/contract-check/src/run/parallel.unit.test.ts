import { expect, it } from 'vitest';
import { RateLimited } from '../http/gate.ts';
import { RateLimits } from './parallel.ts';

it('waits for the same limit count once, so that what is deleted at the same time is deleted', async () => {
  const ending = new AbortController();
  let givenUp = 0;
  const limits = new RateLimits(ending.signal, 600_000, () => {
    givenUp += 1;
  });
  limits.note('deleteThing', 40);
  const limited = await limits.admit('deleteThing').catch((error: unknown) => error);
  if (!(limited instanceof RateLimited)) throw new Error('Admitted.');
  const waits = Array.from({ length: 4 }, () => limited.wait());
  limits.note('deleteOther', 3600);
  const other = await limits.admit('deleteOther').catch((error: unknown) => error);
  expect(other instanceof RateLimited && (await other.wait())).toBe(false);
  ending.abort();
  expect(await Promise.all(waits)).toEqual([true, true, true, true]);
  // The report says that something was not sent.
  expect(givenUp).toBe(1);
});
