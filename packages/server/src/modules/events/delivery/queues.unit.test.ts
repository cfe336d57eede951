import { beforeEach, expect, test } from 'vitest';
import { Slots } from './queues.ts';

const started: string[] = [];
beforeEach(() => void started.splice(0));
const work = (name: string, ended: Promise<string>) => () => {
  started.push(name);
  return ended;
};
const never = new Promise<string>(() => {});

test('work waits for a slot, and starts in the order of the calls', async () => {
  const slots = new Slots(4, 1_000);
  const first = Promise.withResolvers<string>();
  const failing = Promise.withResolvers<string>();
  const results = [slots.run(1, 'one', work('a', first.promise)), slots.run(1, 'one', work('b', failing.promise))];
  const later = [
    slots.run(1, 'one', work('c', Promise.resolve('C'))),
    slots.run(1, 'one', work('d', Promise.resolve('D'))),
  ];
  expect(started).toEqual(['a', 'b']);
  first.resolve('A');
  expect(await results[0]).toBe('A');
  expect(await Promise.all(later)).toEqual(['C', 'D']);
  expect(started).toEqual(['a', 'b', 'c', 'd']);
  failing.reject(new Error('failed'));
  await expect(results[1]).rejects.toThrow('failed');
});

test('work that takes long keeps its slot for some time only', async () => {
  const slots = new Slots(2, 20);
  for (const name of ['a', 'b', 'c']) void slots.run(1, 'one', work(name, never));
  expect(started).toEqual(['a']);
  await expect.poll(() => started).toEqual(['a', 'b', 'c']);
});

test('a free slot goes to the tenant with the fewest, and its subscriptions take turns', async () => {
  const slots = new Slots(4, 60_000);
  const [first, second, other] = Array.from({ length: 3 }, () => Promise.withResolvers<string>());
  for (const held of [first, second]) if (held !== undefined) void slots.run(1, 'one', work('held', held.promise));
  if (other !== undefined) void slots.run(2, 'one', work('held', other.promise));
  for (const index of [1, 2, 3]) void slots.run(1, 'one', work(`one ${index}`, never));
  void slots.run(1, 'two', work('two', never));
  void slots.run(2, 'one', work('other', never));
  started.splice(0);
  for (const ending of [other, first, second]) {
    ending?.resolve('');
    await new Promise(setImmediate);
  }
  expect(started).toEqual(['other', 'one 1', 'two']);
});

test('the next tenant finds free slots, however much the others have', () => {
  const slots = new Slots(60, 1_000);
  const tenants = [1, 2, 3, 4, 5];
  for (const tenant of tenants)
    for (let index = 0; index < 100; index++) void slots.run(tenant, `${index % 50}`, work(String(tenant), never));
  expect(tenants.map((tenant) => started.filter((one) => one === String(tenant)).length)).toEqual([30, 15, 8, 4, 2]);
});
