import type { Pool } from 'pg';
import { expect, test } from 'vitest';
import { testDatabase, testEngine } from '../../../test/database.ts';
import { insertOrg } from '../../../test/rows.ts';
import { migrate, readMigrations } from './migrate.ts';
import { ensureServiceRole } from './role.ts';
import { openStore } from './store.ts';

const migrations = await readMigrations();
const [lastName = ''] = [...migrations.keys()].slice(-1);
const allButLast = new Map([...migrations].slice(0, -1));

const fromEmpty = await testDatabase('empty');
const fresh = await testEngine(await testDatabase('empty'));
const older = await testEngine(await testDatabase('empty'));
for (const engine of [fresh, older]) {
  const client = await engine.pool.connect();
  await ensureServiceRole(client).finally(() => client.release());
}

test('an empty database is migrated, and opening it again changes nothing', async () => {
  for (const expected of [1, 2]) {
    const store = await openStore(fromEmpty);
    await store.write(expected, (transaction) => transaction.all(insertOrg(expected, 'org')));
    await store.close();
  }
});

test('concurrent migrations run once', async () => {
  await Promise.all([1, 2, 3].map(() => migrate(fresh.pool, migrations)));
  await migrate(fresh.pool, migrations);
  const { rows } = await fresh.pool.query('select name from schema_migration order by name');
  expect(rows).toEqual([...migrations.keys()].map((name) => ({ name })));
});

test('the last migration can be applied to a database with the others and with rows', async () => {
  await migrate(older.pool, allButLast);
  await asOwner(
    older.pool,
    `insert into org (tenant_id, id, system_ref, name, legal_name, code, currency, country, time_zone,
       fiscal_year_start_month)
     values (7, gen_random_uuid(), 'kept', 'kept', 'kept', 'kept', 'USD', 'US', 'America/New_York', 1)`,
  );
  await migrate(older.pool, migrations);
  expect(await asOwner(older.pool, 'select name from org')).toEqual([{ name: 'kept' }]);
});

/** Runs a statement as the owner of the tables, to whom row-level security applies as well. */
async function asOwner(pool: Pool, statement: string): Promise<unknown[]> {
  const client = await pool.connect();
  try {
    await client.query(`begin; set local app.tenant_id = '7'`);
    const { rows } = await client.query(statement);
    await client.query('commit');
    return rows;
  } finally {
    client.release();
  }
}

test('a database that is newer than the program is rejected', async () => {
  await expect(migrate(fresh.pool, allButLast)).rejects.toThrow(
    `The database is newer than this program: it has ${lastName}.`,
  );
});
