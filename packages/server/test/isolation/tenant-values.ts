import { sql } from 'kysely';
import type { Store } from '../../src/platform/store/store.ts';
import { columnsOfTenants } from './marked-tenant.ts';

/** The values of a tenant in all tables, by table and column. */
export class TenantValues {
  /** IDs by table. */
  readonly ids: ReadonlyMap<string, readonly string[]>;
  /** The table of each ID. */
  readonly tableOf: ReadonlyMap<string, string>;
  /** Some texts by the name of their column, whatever the table. */
  readonly texts: ReadonlyMap<string, readonly string[]>;

  private constructor(ids: ReadonlyMap<string, readonly string[]>, texts: ReadonlyMap<string, readonly string[]>) {
    this.ids = ids;
    this.texts = texts;
    this.tableOf = new Map([...ids].flatMap(([table, list]) => list.map((id) => [id, table] as const)));
  }

  static async read(store: Store, tenantId: number): Promise<TenantValues> {
    const columns = await store.system(columnsOfTenants);
    return store.system(async (transaction) => {
      await transaction.all(sql`select set_config('app.tenant_id', ${String(tenantId)}, true)`);
      const ids = new Map<string, readonly string[]>();
      const texts = new Map<string, readonly string[]>();
      for (const table of new Set(columns.map((column) => column.table))) {
        const own = columns.filter((column) => column.table === table);
        const names = own.filter(({ type }) => type === 'text').map(({ name }) => name);
        if (own.some(({ name, type }) => name === 'id' && type === 'uuid')) {
          const rows = await transaction.all(sql<{ id: string }>`
            select id from ${sql.table(table)} where tenant_id = ${tenantId} order by id`);
          ids.set(
            table,
            rows.map(({ id }) => id),
          );
        }
        const rows = await transaction.all(sql<Readonly<Record<string, string | null>>>`
          select ${sql.join([sql`1`, ...names.map((name) => sql.ref(name))])} from ${sql.table(table)}
          where tenant_id = ${tenantId} limit 300`);
        for (const name of names) {
          const values = rows.flatMap((row) => row[name] ?? []);
          texts.set(name, [...new Set([...(texts.get(name) ?? []), ...values])]);
        }
      }
      return new TenantValues(ids, texts);
    });
  }
}

/** The tables with rows of tenants, which takes a moment to find. */
const tablesIn = new WeakMap<Store, Promise<readonly string[]>>();

function tablesOf(store: Store): Promise<readonly string[]> {
  const known =
    tablesIn.get(store) ??
    store.system(columnsOfTenants).then((columns) => [...new Set(columns.map(({ table }) => table))]);
  tablesIn.set(store, known);
  return known;
}

/**
 * Returns a digest of the rows of a tenant in each table and of the tenant itself, to find changed tables by comparison.
 */
export async function digestOf(store: Store, tenantId: number): Promise<Readonly<Record<string, string>>> {
  const tables = await tablesOf(store);
  // The sum of their hashes is the same in any order of the rows.
  const digests = ['tenant', ...tables].map(
    (table) => sql<{ table: string; digest: string }>`
      select ${table}::text as "table", count(*) || ' rows, ' || coalesce(sum(hashtextextended(t::text, 0)::numeric), 0) as digest
      from ${sql.table(table)} t where ${table === 'tenant' ? sql`t.id` : sql`t.tenant_id`} = ${tenantId}`,
  );
  return store.system(async (transaction) => {
    await transaction.all(sql`select set_config('app.tenant_id', ${String(tenantId)}, true)`);
    const rows = await transaction.all<{ table: string; digest: string }>(sql.join(digests, sql` union all `));
    return Object.fromEntries(rows.map(({ table, digest }) => [table, digest]));
  });
}

/** Whether any row of a tenant contains one of the texts. */
export async function storesAny(store: Store, tenantId: number, texts: readonly string[]): Promise<boolean> {
  const tables = await tablesOf(store);
  return store.system(async (transaction) => {
    await transaction.all(sql`select set_config('app.tenant_id', ${String(tenantId)}, true)`);
    for (const table of tables) {
      const row = await transaction.first(sql`
        select 1 from ${sql.table(table)} t where t.tenant_id = ${tenantId}
          and exists (select from unnest(${texts}::text[]) text where position(text in t::text) > 0) limit 1`);
      if (row !== undefined) return true;
    }
    return false;
  });
}
