/** The rows of a firm from before the ledger get their entries by the migrations, as an update of the service runs them. */
import { sql } from 'kysely';
import pg from 'pg';
import { expect, test } from 'vitest';
import { ensureApiUser } from '../../../server/src/operator/api-keys.ts';
import { checkBooks } from '../../../server/src/operator/books.ts';
import { Directory } from '../../../server/src/platform/auth/directory.ts';
import { migrate, readMigrations } from '../../../server/src/platform/store/migrate.ts';
import { ensureServiceRole } from '../../../server/src/platform/store/role.ts';
import { openStore } from '../../../server/src/platform/store/store.ts';
import { atEnd } from '../../../server/test/at-end.ts';
import { testDatabase, testEngine } from '../../../server/test/database.ts';
import { patientLimits } from '../../../server/test/patient-limits.ts';
import { testService } from '../../../server/test/service.ts';
import { loadProfiles } from './load-profile.ts';
import { isProfile, profiles } from './profile.ts';

const ledger = '0103_ledger';
const profile = process.env.MIGRATION_PROFILE ?? 'tiny';
if (!isProfile(profile)) throw new Error(`There is no profile ${profile}.`);

test('the migration of the ledger enters the rows of a firm, whose balances agree', async () => {
  const database = await testDatabase();
  const service = await testService({ database });
  const { tenant } = service;
  const user = { user: 'demo-data', roles: [] };
  const apiUserId = await service.store.write(tenant.id, (transaction) => ensureApiUser(transaction, tenant, user));
  const place = { store: service.store, databaseUrl: database.databaseUrl };
  // The schema of then cannot hold credit notes.
  await loadProfiles(place, [{ tenantId: tenant.id, profile, apiUserId, hasCreditNotes: false }]);

  const earlier = await testDatabase('empty');
  const engine = await testEngine(earlier);
  const owner = await engine.pool.connect();
  await ensureServiceRole(owner).finally(() => owner.release());
  const migrations = await readMigrations();
  await migrate(engine.pool, new Map([...migrations].filter(([name]) => name < ledger)));
  const copied = await copyRows(database.databaseUrl ?? '', earlier.databaseUrl ?? '');
  expect(copied).toBeGreaterThan(profiles[profile].entries);
  await migrate(engine.pool, migrations);

  const store = await openStore({ ...earlier, limits: patientLimits });
  atEnd(() => store.close());
  const operator = { service: { store, directory: new Directory(store) } };
  expect(await checkBooks(operator, { tenant: tenant.name, repair: false })).toEqual({ differences: [], breaches: [] });
  const balances = (of: typeof store) =>
    of.read(tenant.id, (session) =>
      session.all(
        sql`select account, client_id, work_date, sum(amount) as balance, count(*) as entries from ledger_entry
          group by 1, 2, 3 order by 1, 2, 3`,
      ),
    );
  expect(await balances(store)).toEqual(await balances(service.store));
});

/** Copies the rows of all tables that two databases have. @returns how many */
async function copyRows(from: string, to: string): Promise<number> {
  const [source, target] = [from, to].map((connectionString) => new pg.Client({ connectionString }));
  if (source === undefined || target === undefined) throw new Error('There are two databases.');
  await Promise.all([source.connect(), target.connect()]);
  try {
    const known = await columnsOf(source);
    const wanted = [...(await columnsOf(target))].filter(([table]) => known.has(table) && !table.startsWith('schema_'));
    const tables = wanted.map(([table]) => table);
    // In any order: foreign keys are checked at the end.
    await target.query(deferForeignKeys);
    for (const client of [source, target])
      for (const table of tables)
        await client.query(
          `alter table ${table} disable trigger user; alter table ${table} no force row level security`,
        );
    await target.query('begin; set constraints all deferred');
    let copied = 0;
    for (const [table, columns] of wanted) {
      const shared = columns.filter((column) => known.get(table)?.includes(column)).join(', ');
      await target.query(`delete from ${table}`);
      await source.query(`begin; declare rows no scroll cursor for select to_jsonb(t) as row from ${table} t`);
      for (;;) {
        const { rows } = await source.query<{ row: object }>('fetch 5000 from rows');
        if (rows.length === 0) break;
        await target.query(
          `insert into ${table} (${shared}) overriding system value select ${shared} from jsonb_populate_recordset(null::${table}, $1)`,
          [JSON.stringify(rows.map(({ row }) => row))],
        );
        copied += rows.length;
      }
      await source.query('commit');
    }
    // What jobs billed was the sum of their work before lines and fees counted.
    await target.query(`update job j set billed_amount = coalesce((select sum(w.billed_amount) from wip_entry w
      where w.tenant_id = j.tenant_id and w.job_id = j.id), 0)`);
    await target.query('commit');
    for (const table of tables)
      await target.query(`alter table ${table} enable trigger user; alter table ${table} force row level security`);
    for (const table of tables)
      await source.query(`alter table ${table} enable trigger user; alter table ${table} force row level security`);
    return copied;
  } finally {
    await Promise.all([source.end(), target.end()]);
  }
}

/** The columns of each table that statements can write. */
async function columnsOf(client: pg.Client): Promise<Map<string, string[]>> {
  const { rows } = await client.query<{ table: string; column: string }>(`
    select c.table_name as "table", c.column_name as "column" from information_schema.columns c
    join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name and t.table_type = 'BASE TABLE'
    where c.table_schema = 'public' and c.is_generated = 'NEVER' order by c.ordinal_position`);
  return new Map(
    [...Map.groupBy(rows, (row) => row.table)].map(([table, all]) => [table, all.map((row) => row.column)]),
  );
}

const deferForeignKeys = `do $$ declare one record; begin
  for one in select conname, conrelid::regclass as owner from pg_constraint
    where contype = 'f' and connamespace = 'public'::regnamespace and not condeferrable and conparentid = 0
  loop execute format('alter table %s alter constraint %I deferrable initially immediate', one.owner, one.conname); end loop; end $$`;
