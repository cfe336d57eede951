import { expect, it } from 'vitest';
import { NotSent } from '../http/gate.ts';
import { RateLimits } from './parallel.ts';

it('waits for the same limit count once, so that what is deleted at the same time is deleted', async () => {
  const ending = new AbortController();
  let givenUp = 0;
  const limits = new RateLimits(ending.signal, 600_000, () => {
    givenUp += 1;
  });
  limits.note('deleteThing', 40);
  const waits = Array.from({ length: 4 }, () => limits.admit('deleteThing'));
  limits.note('deleteOther', 3600);
  await expect(limits.admit('deleteOther')).rejects.toThrow(NotSent);
  ending.abort();
  await Promise.all(waits);
  // The report says that something was not sent.
  expect(givenUp).toBe(1);
});
