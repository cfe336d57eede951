import { beforeEach, expect, test } from 'vitest';
import { Slots } from './slots.ts';

const started: string[] = [];
beforeEach(() => void started.splice(0));
const work = (name: string, ended: Promise<string>) => () => {
  started.push(name);
  return ended;
};
const never = new Promise<string>(() => {});

test('work waits for a slot, and starts in the order of the calls', async () => {
  const slots = new Slots(2, 1_000);
  const first = Promise.withResolvers<string>();
  const failing = Promise.withResolvers<string>();
  const results = [slots.run(work('a', first.promise)), slots.run(work('b', failing.promise))];
  const later = [slots.run(work('c', Promise.resolve('C'))), slots.run(work('d', Promise.resolve('D')))];
  expect(started).toEqual(['a', 'b']);
  first.resolve('A');
  expect(await results[0]).toBe('A');
  expect(await Promise.all(later)).toEqual(['C', 'D']);
  expect(started).toEqual(['a', 'b', 'c', 'd']);
  failing.reject(new Error('failed'));
  await expect(results[1]).rejects.toThrow('failed');
});

test('work that takes long keeps its slot for some time only', async () => {
  const slots = new Slots(1, 20);
  for (const name of ['a', 'b', 'c']) void slots.run(work(name, never));
  expect(started).toEqual(['a']);
  await expect.poll(() => started).toEqual(['a', 'b', 'c']);
});
