import { differencesOf, findBreaches } from '@financial-automation/server/modules/billing';
import pg from 'pg';
import { CopyLoader, type Loader, type Report } from './table-loader.ts';

/** Statements that remove something temporarily, and those that restore it. */
interface RemovedObjects {
  readonly remove: readonly string[];
  readonly restore: readonly string[];
}

/**
 * Loads rows of several tenants in one transaction, which would take hours row by row: indexes are built afterwards, and
 * references, sums and rules are checked for all rows at once. The tables are locked meanwhile. It does not require a
 * superuser.
 *
 * @throws Error if the rows violate a reference or a rule of the books; then nothing is loaded.
 */
export async function loadInBulk(
  databaseUrl: string,
  report: Report,
  work: (loaderOf: (tenantId: number) => Loader) => Promise<void>,
): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('begin');
    await client.query(`set local synchronous_commit = off; set local work_mem = '256MB'`);
    await client.query(`set local maintenance_work_mem = '512MB'`);
    const [protection, references, triggers, indexes] = [
      await rowProtection(client),
      await referencesOf(client),
      await triggersOf(client),
      await indexesOf(client),
    ];
    for (const { remove } of [protection, references, triggers, indexes]) await runAll(client, remove);
    const loaders = new Map<number, CopyLoader>();
    await work((tenantId) => {
      const loader = loaders.get(tenantId) ?? new CopyLoader(client, tenantId, report, 'bulk');
      loaders.set(tenantId, loader);
      return loader;
    });
    const step = async (name: string, work: () => Promise<number>) => {
      const start = performance.now();
      const count = await work();
      report(name, count, (performance.now() - start) / 1000);
    };
    // The planner needs statistics of the rows before it checks references between them.
    await step('statistics', async () => runAll(client, ['analyze']));
    await step('indexes', () => runAll(client, indexes.restore));
    await step('references', () => runAll(client, references.restore));
    await step('rules', async () => {
      for (const loader of loaders.values()) await checkBooks(loader);
      return loaders.size;
    });
    await runAll(client, [...triggers.restore, ...protection.restore]);
    await client.query('commit');
  } finally {
    await client.end();
  }
}

async function runAll(client: pg.Client, statements: readonly string[]): Promise<number> {
  for (const statement of statements) await client.query(statement);
  return statements.length;
}

async function checkBooks(loader: CopyLoader): Promise<void> {
  const found = [
    ...(await differencesOf(loader, loader.tenantId)).map(({ type, id, field }) => `${field} of ${type} ${id}`),
    ...(await findBreaches(loader, loader.tenantId)).map(({ rule, id, detail }) => `${rule}: ${id} has ${detail}`),
  ];
  if (found.length > 0)
    throw new Error(`The demo data is inconsistent in ${found.length} places, first in: ${found[0]}`);
}

/** The tables with rows of tenants. */
const tenantTables = `select a.attrelid from pg_attribute a join pg_class c on c.oid = a.attrelid
  where a.attname = 'tenant_id' and c.relkind = 'r' and c.relnamespace = 'public'::regnamespace`;

async function removalOf(client: pg.Client, query: string): Promise<RemovedObjects> {
  const { rows } = await client.query<{ remove: string; restore: string }>(query);
  return { remove: rows.map(({ remove }) => remove), restore: rows.map(({ restore }) => restore) };
}

/** Row-level security that also applies to the owner: rows cannot be copied into such tables. */
function rowProtection(client: pg.Client): Promise<RemovedObjects> {
  return removalOf(
    client,
    `select format('alter table %s no force row level security', oid::regclass) as remove,
      format('alter table %s force row level security', oid::regclass) as restore
    from pg_class where oid in (${tenantTables}) and relforcerowsecurity order by oid`,
  );
}

function referencesOf(client: pg.Client): Promise<RemovedObjects> {
  return removalOf(
    client,
    `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as remove,
      format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as restore
    from pg_constraint where contype = 'f' and conparentid = 0 and conrelid in (${tenantTables}) order by oid`,
  );
}

/** Triggers that update sums and check rows, by the names of their functions. Others have required effects. */
function triggersOf(client: pg.Client): Promise<RemovedObjects> {
  return removalOf(
    client,
    `select format('alter table %s disable trigger %I', t.tgrelid::regclass, t.tgname) as remove,
      format('alter table %s enable trigger %I', t.tgrelid::regclass, t.tgname) as restore
    from pg_trigger t join pg_proc p on p.oid = t.tgfoid
    where not t.tgisinternal and t.tgrelid in (${tenantTables}) and p.proname similar to '(sum|check)\\_%' order by t.oid`,
  );
}

/** Indexes without a constraint. Those of a partition belong to the index of the whole table. */
function indexesOf(client: pg.Client): Promise<RemovedObjects> {
  return removalOf(
    client,
    `select format('drop index %s', indexrelid::regclass) as remove, pg_get_indexdef(indexrelid) as restore
    from pg_index where indrelid in (${tenantTables}) and not indisprimary
      and not exists (select from pg_constraint where conindid = indexrelid and contype in ('u', 'x'))
      and not exists (select from pg_inherits where inhrelid = indexrelid) order by indexrelid`,
  );
}
