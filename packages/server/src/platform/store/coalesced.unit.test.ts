import { expect, test } from 'vitest';
import { Coalesced } from './coalesced.ts';

test('callers share a calculation that began after they came', async () => {
  const begun: PromiseWithResolvers<number>[] = [];
  const shared = new Coalesced(() => {
    const one = Promise.withResolvers<number>();
    begun.push(one);
    return one.promise;
  });
  const first = [shared.get(), shared.get()];
  await expect.poll(() => begun.length).toBe(1);
  // The calculation that runs began before these.
  const later = [shared.get(), shared.get(), shared.get()];
  begun[0]?.resolve(1);
  expect(await Promise.all(first)).toEqual([1, 1]);
  await expect.poll(() => begun.length).toBe(2);
  begun[1]?.resolve(2);
  expect(await Promise.all(later)).toEqual([2, 2, 2]);
});

test('a calculation that fails rejects its callers, and not those of the next one', async () => {
  let fails = true;
  const shared = new Coalesced(async () => {
    if (fails) throw new Error('no');
    return 'yes';
  });
  await expect(Promise.allSettled([shared.get(), shared.get()])).resolves.toMatchObject([
    { status: 'rejected' },
    { status: 'rejected' },
  ]);
  fails = false;
  expect(await shared.get()).toBe('yes');
});
