import { expect, test } from 'vitest';
import { Rejection } from '../contract/rejection.ts';
import { type ShareLimits, Shares } from './shares.ts';
import { Turn } from './turn.ts';

const limits: ShareLimits = { total: 2, perTenant: 2, perUser: 2, wait: 60_000, waiting: 1 };
const sharesOf = (changed: Partial<ShareLimits>) =>
  new Shares({ ...limits, ...changed }, { started() {}, rejected() {} });

test('a costly search waits without a place, and returns both at its end', async () => {
  const queues = { shares: sharesOf({}), costlySearches: sharesOf({ total: 1 }), bulkWrites: sharesOf({}) };
  const start = async () => new Turn(queues, 'a', 'x', await queues.shares.enter('a', 'x'));
  let finish: (value: string) => void = () => {};
  const first = await start();
  const running = first.of('costlySearches', () => new Promise<string>((resolve) => (finish = resolve)));
  const second = await start();
  const waiting = second.of('costlySearches', async () => queues.shares.usage().inProgress);
  expect(queues.shares.usage()).toMatchObject({ inProgress: 1, waiting: 0 });
  expect(queues.costlySearches.usage()).toMatchObject({ inProgress: 1, waiting: 1 });
  const beyond = await start();
  await expect(beyond.of('costlySearches', async () => 'run')).rejects.toThrow(Rejection);
  expect(queues.shares.usage().inProgress).toBe(1);
  beyond.end();
  finish('done');
  expect(await running).toBe('done');
  first.end();
  expect(await waiting).toBe(1);
  second.end();
  expect(queues.shares.usage()).toMatchObject({ inProgress: 0, waiting: 0 });
  expect(queues.costlySearches.usage()).toMatchObject({ inProgress: 0, waiting: 0 });
});
