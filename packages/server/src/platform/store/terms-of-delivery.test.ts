import type { Pool } from 'pg';
import { expect, test } from 'vitest';
import { testDatabase, testEngine } from '../../../test/database.ts';
import { migrate, readMigrations } from './migrate.ts';
import { ensureServiceRole } from './role.ts';

const name = '0111_terms_of_delivery';
const migrations = await readMigrations();
const { pool } = await testEngine(await testDatabase('empty'));
const client = await pool.connect();
await ensureServiceRole(client).finally(() => client.release());

const [working, waiting, process, run] = [
  '019a0000-0000-7000-8000-000000000001',
  '019a0000-0000-7000-8000-000000000002',
  '019a0000-0000-7000-8000-00000000000a',
  '019a0000-0000-7000-8000-00000000000b',
];

test('the migration renames the tables of delivery and of the clock, and keeps their rows, rights and triggers', async () => {
  await migrate(pool, new Map([...migrations].filter(([one]) => one < name)));
  // Triggers of the earlier migrations insert the rows of delivery.
  await asOwner(
    pool,
    `insert into tenant (id, name, display_name, time_zone) overriding system value values (7, 'seven', 'seven', 'America/New_York');
     insert into api_user (tenant_id, id, name, roles) values (7, '${run}', 'kept', '{}');
     insert into event_feed (tenant_id, position) values (7, 4);
     insert into event_subscription (tenant_id, id, system_ref, entity_type, operations, delivery_url, created_by_api_user_id)
     select 7, id::uuid, id, 'Client', '{CREATE}', 'https://example.com', '${run}' from unnest(array['${working}', '${waiting}']) id;
     update delivery_lane set claimed_by = '${process}', claimed_until = '2026-01-02T03:04:05Z' where subscription_id = '${working}';
     update delivery_lane set due_at = '2026-01-02T03:04:06Z', consecutive_failures = 2, failing_since = '2026-01-01T00:00:00Z'
     where subscription_id = '${waiting}';
     insert into outbox_event (tenant_id, id, entity_type, entity_id, operation, sequence, data)
     values (7, '${run}', 'Client', '${run}', 'CREATE', 1, '{}');
     update clock_turn set minute = 29, run_id = '${run}', leased_until = '2026-01-02T03:04:07Z'`,
  );
  await migrate(pool, migrations);
  const partitions = `
    select subscription_id as id, position::integer, leased_by, leased_until is not null as leased, due_at is not null as due,
      consecutive_failures as failures
    from delivery_partition order by subscription_id`;
  const at = { position: 4, due: false, leased: false, leased_by: null, failures: 0 };
  expect(await asOwner(pool, partitions)).toEqual([
    { ...at, id: working, leased_by: process, leased: true },
    { ...at, id: waiting, due: true, failures: 2 },
  ]);
  expect(await asOwner(pool, 'select minute::integer, run_id as run from clock_lease')).toEqual([{ minute: 29, run }]);
  expect(await asOwner(pool, oldNames)).toEqual([]);
  // As a request.
  const asService = (statement: string) => asOwner(pool, statement, 'set local role financial_automation_service;');
  expect(await asService(`select lock_clock_lease('${run}') as held, lock_clock_lease('${process}') as other`)).toEqual(
    [{ held: true, other: false }],
  );
  expect(await asService('select * from assign_event_positions(100)')).toEqual([{ assigned: 1, partitions: 2 }]);
  await expect(asService('select * from clock_lease')).rejects.toThrow('permission denied');
  await expect(asService('select * from tenants_with_new_events()')).rejects.toThrow('permission denied');
  // The trigger of a subscription that becomes active resets its partition, also if a process has leased it.
  await asOwner(pool, 'update event_subscription set active = false, deactivated_at = now()');
  await asOwner(pool, 'update event_subscription set active = true, deactivated_at = null');
  expect(await asOwner(pool, partitions)).toEqual([
    { ...at, id: working, position: 5 },
    { ...at, id: waiting, position: 5 },
  ]);
});

/** Names in the database, and texts of functions, with the earlier terms. */
const oldNames = `
  select name from (
    select relname::text as name from pg_class union all
    select conname from pg_constraint union all
    select polname from pg_policy union all
    select attname from pg_attribute union all
    select proname || ': ' || prosrc from pg_proc) names
  where name ~ '(delivery_lane|clock_turn|claimed_(by|until)|relay)'`;

/** Runs statements as the owner of the tables, to whom row-level security applies as well. */
async function asOwner(pool: Pool, statements: string, role = ''): Promise<unknown[]> {
  const client = await pool.connect();
  try {
    const results = [await client.query(`begin; ${role} set local app.tenant_id = '7'; ${statements}; commit`)].flat();
    return results.at(-2)?.rows ?? [];
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}
