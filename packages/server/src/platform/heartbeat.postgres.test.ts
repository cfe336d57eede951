import { sql } from 'kysely';
import { afterAll, expect, test } from 'vitest';
import { testStore } from '../../test/database.ts';
import { Heartbeat } from './heartbeat.ts';
import { TenantBound } from './tenant-bound.ts';

const { store } = await testStore();
const bounds = [1, 2, 3].map(() => new TenantBound(20));
const beats = bounds.map((bound) => new Heartbeat(store, () => [], bound));
afterAll(() => Promise.all(beats.map((beat) => beat.stop())));
const partsOf = (tenant: string) => bounds.map((bound) => bound.of(tenant));

async function beatAll(...busy: string[][]): Promise<void> {
  // The second time, each has seen what the others told the first time.
  for (let round = 1; round <= 2; round++)
    for (const [index, beat] of beats.entries()) await beat.beat(busy[index] ?? []);
}

test('processes divide the bound of a tenant by where it is busy', async () => {
  await beatAll([], [], []);
  expect(partsOf('firm')).toEqual([6, 6, 6]);
  await beatAll(['firm'], ['other'], []);
  expect(partsOf('firm')).toEqual([20, 6, 6]);
  await beatAll(['firm'], ['firm', 'other'], ['firm']);
  expect(partsOf('firm')).toEqual([7, 7, 6]);
  expect(partsOf('other')).toEqual([6, 20, 6]);
});

test('a process that has stopped, or was not seen for a while, leaves its part to the others', async () => {
  await beatAll(['firm'], ['firm'], ['firm']);
  await beats[2]?.stop();
  for (const beat of beats.slice(0, 2)) await beat.beat(['firm']);
  expect(partsOf('firm').slice(0, 2)).toEqual([10, 10]);
  await store.system((transaction) =>
    transaction.all(sql`update process_heartbeat set seen_at = now() - interval '1 minute'`),
  );
  await beats[0]?.beat(['firm']);
  expect(partsOf('firm')[0]).toBe(20);
});
