import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { testStore } from '../../../test/database.ts';
import type { Query } from './store.ts';

const { store, tenantId } = await testStore();

function rowOf(query: Query<unknown>): Promise<unknown> {
  return store.read(tenantId, (session) => session.first(query));
}

test('values are returned in the format of the API', async () => {
  const value = await rowOf(sql`
    select timestamptz '2026-10-01 11:30:00+02' as instant, timestamptz '2026-10-01 09:30:00.1239Z' as fraction,
      date '2024-02-29' as day, 1250.50::numeric(16, 2) as money, 0.0725::numeric as rate,
      9007199254740991::bigint as integer, '{"a": [1, null]}'::jsonb as structure, null::timestamptz as nothing,
      '\\x00ff'::bytea as bytes`);
  expect(value).toEqual({
    instant: '2026-10-01T09:30:00.000Z',
    fraction: '2026-10-01T09:30:00.123Z',
    day: '2024-02-29',
    money: '1250.50',
    rate: '0.0725',
    integer: 9_007_199_254_740_991,
    structure: { a: [1, null] },
    nothing: null,
    bytes: Buffer.from([0, 255]),
  });
});

test('lists in results are lists of values in the form of JSON', async () => {
  const value = await rowOf(sql`
    select array['2026-10-01 09:30:00Z', null]::timestamptz[] as instants, array['2024-02-29']::date[] as days,
      array[1.50, 2]::numeric[] as hours, array[1, 2]::bigint[] as integers, array['a', 'b,"c', null]::text[] as texts,
      array['0198c0de-0000-7000-8000-000000000001']::uuid[] as ids`);
  expect(value).toEqual({
    instants: ['2026-10-01T09:30:00.000Z', null],
    days: ['2024-02-29'],
    hours: ['1.50', '2'],
    integers: [1, 2],
    texts: ['a', 'b,"c', null],
    ids: ['0198c0de-0000-7000-8000-000000000001'],
  });
});

test('an integer beyond the safe range is an error, and the store remains usable', async () => {
  await expect(rowOf(sql`select 9007199254740992::bigint as integer`)).rejects.toThrow('beyond the safe range');
  expect(await rowOf(sql`select 1 as one`)).toEqual({ one: 1 });
});
