import type { Pool, PoolClient } from 'pg';
import { expect, test } from 'vitest';
import { engineName, testDatabase, testEngine } from '../../../test/database.ts';
import { insertOrg } from '../../../test/rows.ts';
import { checkMigrated, type MigrationProgress, migrate, pendingMigrations, readMigrations } from './migrate.ts';
import { parseMigration } from './migration-file.ts';
import { ensureServiceRole } from './role.ts';
import { openStore } from './store.ts';

const migrations = await readMigrations();
const [baseline, ...later] = migrations;
if (baseline === undefined) throw new Error('There is no baseline.');

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
  const { rows } = await fresh.pool.query(
    'select name from schema_migration union all select name from schema_expansion order by name',
  );
  expect(rows).toEqual([...migrations.keys()].map((name) => ({ name })));
});

test('migrations take the locks that they say, and can be applied to a database with rows', async () => {
  await migrate(older.pool, new Map([baseline]));
  await asOwner(
    older.pool,
    `insert into org (tenant_id, id, system_ref, name, legal_name, code, currency, country, time_zone,
       fiscal_year_start_month)
     values (7, gen_random_uuid(), 'kept', 'kept', 'kept', 'kept', 'USD', 'US', 'America/New_York', 1)`,
  );
  for (const [name, text] of later) {
    const { locks, inTransaction } = parseMigration(text);
    if (inTransaction) expect([name, await locksOf(older.pool, text)]).toEqual([name, locks]);
    await migrate(older.pool, new Map([...migrations].filter(([one]) => one <= name)));
  }
  expect(await asOwner(older.pool, 'select name from org')).toEqual([{ name: 'kept' }]);
});

/** Tries a migration. @returns the locks on tables that existed before, other than those of reads and writes of rows */
async function locksOf(pool: Pool, text: string): Promise<string> {
  const client = await pool.connect();
  try {
    const tables = `select array_agg(oid) as ids, array_agg(relname) as names from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace`;
    const { rows: before } = await client.query(tables);
    await client.query('begin');
    await client.query(text);
    const { rows } = await client.query(
      `select distinct lower(trim(regexp_replace(regexp_replace(mode, 'Lock$', ''), '([A-Z])', ' \\1', 'g'))) || ' on ' || name as lock
       from pg_locks join unnest($1::oid[], $2::name[]) as known (id, name) on id = relation
       where pid = pg_backend_pid() and mode not in ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')
       order by lock`,
      // A table that is renamed is locked by the name that others know.
      [before[0]?.ids, before[0]?.names],
    );
    await client.query('rollback');
    return rows.length === 0 ? 'none' : rows.map(({ lock }) => lock).join(', ');
  } finally {
    client.release();
  }
}

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

test('a database that is newer than the program is rejected, unless its newer migrations only add to it', async () => {
  const newer = new Map([
    ...migrations,
    ['9980_more', '-- locks: none\ncreate table more (id integer);'],
    ['9981_less', '-- locks: access exclusive on more\n-- contracts: v9.9.0\ndrop table more;'],
  ]);
  await migrate(fresh.pool, new Map([...newer].slice(0, -1)));
  expect(await pendingMigrations(fresh.pool, migrations)).toEqual([]);
  await checkMigrated(fresh.pool, migrations);
  await migrate(fresh.pool, newer);
  await expect(migrate(fresh.pool, migrations)).rejects.toThrow(
    'The database is newer than this program: it has 9981_less.',
  );
  await fresh.pool.query(`delete from schema_migration where name = '9981_less'`);
});

test('a database that lacks migrations is rejected by a check', async () => {
  const one = new Map([...migrations, ['9990_more', 'select 1']]);
  await expect(checkMigrated(fresh.pool, one)).rejects.toThrow(
    'The database lacks the migration 9990_more: run "operator migrate" of this version, or set MIGRATE_AT_START=on.',
  );
  const two = new Map([...one, ['9991_more', 'select 1']]);
  await expect(checkMigrated(fresh.pool, two)).rejects.toThrow('lacks 2 migrations, from 9990_more on:');
  await checkMigrated(fresh.pool, migrations);
});

/** Migrations after those of the service. Rows of `numbers` are not those of a tenant. */
const numbered = new Map([
  ...migrations,
  [
    '9992_numbers',
    'create table numbers (id integer, twice integer); insert into numbers select generate_series(1, 25)',
  ],
  [
    '9993_twice',
    `-- locks: none
     -- without transaction
     drop index concurrently if exists numbers_index;
     create index concurrently numbers_index on numbers (id);
     -- in batches
     with wait as materialized (select pg_sleep(0.11))
     update numbers set twice = id * 2 from wait where id in (select id from numbers where twice is null limit 160);`.replaceAll(
      /^ +/gm,
      '',
    ),
  ],
]);

test('a migration without transaction fills rows in batches, smaller ones if they take long, and a failed one leaves those before it', async () => {
  const broken = new Map([...numbered, ['9994_broken', 'create table other (id integer); select wrong']]);
  const progress = observed();
  await expect(migrate(older.pool, broken, progress)).rejects.toThrow(/\(9994_broken\): column "wrong" does not exist/);
  expect(progress.seen).toEqual([
    '9992_numbers',
    '9993_twice',
    '9993_twice: 10',
    '9993_twice: 10',
    '9993_twice: 5',
    '9994_broken',
  ]);
  expect(await pendingMigrations(older.pool, broken)).toEqual(['9994_broken']);
  const { rows } = await older.pool.query(
    `select count(*)::integer, sum(twice)::integer, to_regclass('other') is null as absent,
       (select indisvalid from pg_index where indexrelid = 'numbers_index'::regclass) as valid from numbers`,
  );
  expect(rows).toEqual([{ count: 25, sum: 650, absent: true, valid: true }]);
});

// PGlite has one connection, so nothing else holds a lock.
test.skipIf(engineName === 'pglite')(
  'a migration that does not get a lock in time lets others pass, and tries again',
  async () => {
    const changed = new Map([...numbered, ['9995_change', 'alter table numbers add column thrice integer']]);
    const holder: PoolClient = await older.pool.connect();
    await holder.query('begin; select from numbers');
    const progress = observed(async (seen) => {
      // After the second attempt, which shows that a failed one is not the end.
      if (seen === '9995_change again 3') await holder.query('commit');
    });
    await migrate(older.pool, changed, progress, { timeout: 20, attempts: 1_000 });
    holder.release();
    expect(progress.seen.slice(0, 3)).toEqual(['9995_change', '9995_change again 2', '9995_change again 3']);
    const held = await older.pool.connect();
    await held.query('begin; select from numbers');
    const once = new Map([...changed, ['9996_change', 'alter table numbers drop column thrice']]);
    await expect(migrate(older.pool, once, observed(), { timeout: 20, attempts: 2 })).rejects.toThrow(
      /\(9996_change\): .*55P03/,
    );
    await held.query('commit');
    held.release();
  },
);

function observed(react: (seen: string) => Promise<void> = async () => {}): MigrationProgress & { seen: string[] } {
  const seen: string[] = [];
  const see = (text: string) => {
    seen.push(text);
    void react(text);
  };
  return {
    seen,
    started: (name) => see(name),
    waits() {},
    retries: (name, attempt) => see(`${name} again ${attempt}`),
    batch: (name, rows) => see(`${name}: ${rows}`),
    ended() {},
  };
}
