import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { PoolClient } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { testDatabase, testEngine } from '../../../test/database.ts';
import { type Columns, runStatement } from './statement.ts';

const { pool } = await testEngine(await testDatabase());
const client: PoolClient = await pool.connect();
afterAll(() => client.release());

const described = new Map<string, Columns>();
let descriptions = 0;
client.connection.on('rowDescription', () => (descriptions += 1));

async function rowsOf(text: string, values: unknown[], name?: string): Promise<unknown[]> {
  const statement = { text, values, ...(name !== undefined && { name }), query_timeout: 10_000 };
  return (await runStatement(client, statement, described)).rows;
}

test('a statement with a name describes its columns once per connection', async () => {
  const text = `select $1::integer as number, $2::text as text, null::date as nothing, date '2026-02-28' as day`;
  descriptions = 0;
  for (const value of [1, 2, 3])
    expect(await rowsOf(text, [value, 'a'], 'described')).toEqual([
      { number: value, text: 'a', nothing: null, day: '2026-02-28' },
    ]);
  expect(descriptions).toBe(1);
  expect(await rowsOf(text, [4, null], 'described')).toEqual([
    { number: 4, text: null, nothing: null, day: '2026-02-28' },
  ]);
});

test('a statement without a name describes its columns each time', async () => {
  descriptions = 0;
  expect(await rowsOf('select $1::integer as one', [1])).toEqual([{ one: 1 }]);
  expect(await rowsOf('select $1::text as two', [2])).toEqual([{ two: '2' }]);
  expect(descriptions).toBe(2);
});

test('a statement with a name that first fails runs later, and returns no rows where it has none', async () => {
  const divide = (by: number) => rowsOf('select 6 / $1::integer as result', [by], 'divide');
  await expect(divide(0)).rejects.toMatchObject({ code: '22012' });
  expect(await divide(2)).toEqual([{ result: 3 }]);
  await expect(divide(0)).rejects.toMatchObject({ code: '22012' });
  expect(await divide(3)).toEqual([{ result: 2 }]);
  const without = () => rowsOf(`select set_config('app.test', $1, true) where false`, ['x'], 'without rows');
  expect([await without(), await without()]).toEqual([[], []]);
});

test('a value that cannot be read or sent fails the statement, and the connection remains usable', async () => {
  const count = (value: string) => rowsOf('select $1::bigint as count', [value], 'count');
  expect(await count('1')).toEqual([{ count: 1 }]);
  await expect(count('9007199254740992')).rejects.toThrow('beyond the safe range');
  const circular: { self?: unknown } = {};
  circular.self = circular;
  await expect(rowsOf('select $1::jsonb as value', [circular])).rejects.toThrow('circular');
  expect(await count('2')).toEqual([{ count: 2 }]);
});

test('a prepared statement whose columns have changed is rejected', async () => {
  await client.query('create temporary table changing (value integer)');
  await client.query('insert into changing values (1)');
  const read = () => rowsOf('select * from changing where value::integer >= $1', [0], 'changing');
  expect([await read(), await read()]).toEqual([[{ value: 1 }], [{ value: 1 }]]);
  await client.query('alter table changing alter column value type text using value::text');
  await expect(read()).rejects.toMatchObject({ code: '0A000' });
});

test('the rows of statements that have ended are free without a full collection', async () => {
  setFlagsFromString('--expose-gc');
  const collectYoung = runInNewContext('options => gc(options)').bind(undefined, { type: 'minor' });
  const read = async () =>
    void (await rowsOf(`select repeat('x', 100) || $1 || n as text from generate_series(1, 1000) n`, ['']));
  const readAndCollect = async () => {
    await read();
    // The first one leaves it among the young, the second one would move it to the old.
    collectYoung();
    collectYoung();
  };
  for (let count = 0; count < 5; count += 1) await readAndCollect();
  const before = process.memoryUsage().heapUsed;
  for (let count = 0; count < 40; count += 1) await readAndCollect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(2_000_000);
});
