import type { QueryResultRow } from 'pg';
import { expect, test } from 'vitest';
import { testDatabase, testEngine } from '../../../test/database.ts';
import { migrate, readMigrations } from './migrate.ts';
import { ensureServiceRole } from './role.ts';

const migrations = await readMigrations();
const { pool } = await testEngine(await testDatabase('empty'));
const client = await pool.connect();
await ensureServiceRole(client).finally(() => client.release());

const [first, second] = [7, 8];
const subscription = '019a0000-0000-7000-8000-000000000001';
const upTo = (last: string) => migrate(pool, new Map([...migrations].filter(([name]) => name <= last)));

/** The statements of the version before, with the values of a tenant. */
const before = {
  insert: (tenant: number, count: number, age = '0 days') => `
    insert into delivery_attempt (tenant_id, id, subscription_id, event_id, entity_type, operation, entity_id, attempt,
      delivery_url, outcome, duration_ms, attempted_at)
    select ${tenant}, uuidv7(), '${subscription}', uuidv7(), 'ClientGroup', 'UPDATE', uuidv7(), 1, 'https://example.com', 'FAILED', 1,
      now() - interval '${age}' from generate_series(1, ${count})`,
  list: (tenant: number) => `
    select id from delivery_attempt where tenant_id = ${tenant} and subscription_id = '${subscription}'
    order by attempted_at desc, id desc limit 1000`,
  remove: (tenant: number) => `
    delete from delivery_attempt where tenant_id = ${tenant} and id in (
      select id from (
        select id, attempted_at from delivery_attempt where tenant_id = ${tenant} order by id limit 1000) oldest
      where attempted_at < now() - interval '30 days') returning 1`,
} as const;

test('attempts become partitions by month while the version before inserts and removes them, and no row is rewritten', async () => {
  await upTo('0220');
  await as(first, before.insert(first, 20, '40 days'), before.insert(first, 30));
  await as(second, before.insert(second, 5));
  const rows = await as<{ id: string }>(first, before.list(first));
  expect(rows).toHaveLength(50);
  const file = async (table: string) =>
    (await pool.query('select pg_relation_filenode($1::regclass) as file', [table])).rows[0]?.file;
  const of = await file('delivery_attempt');

  await upTo('0220_attempt_range');
  await as(second, before.insert(second, 1));
  await upTo('0221_attempt_range_valid');
  await as(second, before.insert(second, 1));
  await migrate(pool, migrations);

  expect(await file('delivery_attempt_first')).toBe(of);
  expect(await as(first, before.list(first))).toEqual(rows);
  expect(await as(second, before.list(second))).toHaveLength(7);
  expect(
    await as(second, 'select distinct tenant_id, tableoid::regclass::text as place from delivery_attempt'),
  ).toEqual([{ tenant_id: second, place: 'delivery_attempt_first' }]);
  await as(second, before.insert(second, 3));
  expect(await as(second, before.list(second))).toHaveLength(10);
  expect(await as(first, before.remove(first))).toHaveLength(20);
  expect(await as(first, before.remove(first))).toHaveLength(0);
  await expect(as(second, before.insert(first, 1))).rejects.toThrow('row-level security');
});

test('an attempt has one row, and one of four outcomes', async () => {
  const [row] = await as<{ id: string }>(first, before.list(first));
  const insert = (id: string, outcome: string) =>
    as(first, before.insert(first, 1).replace('uuidv7()', `'${id}'`).replace('FAILED', outcome));
  await expect(insert(row?.id ?? '', 'FAILED')).rejects.toMatchObject({ code: '23505' });
  await expect(insert(subscription, 'LOST')).rejects.toMatchObject({ constraint: 'delivery_attempt_outcome_enum' });
});

/** Runs statements in one transaction as requests of a tenant. */
async function as<Row extends QueryResultRow>(tenant: number, ...statements: string[]): Promise<Row[]> {
  const client = await pool.connect();
  try {
    await client.query(
      `begin; set local app.tenant_id = '${tenant}'; set local timezone = 'UTC'; set local role financial_automation_service`,
    );
    let rows: Row[] = [];
    for (const statement of statements) ({ rows } = await client.query<Row>(statement));
    await client.query('commit');
    return rows;
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}
