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

/**
 * Returns a digest of the rows of a tenant in each table and of the tenant itself, to find changed tables by comparison.
 */
export async function digestOf(store: Store, tenantId: number): Promise<Readonly<Record<string, string>>> {
  const columns = await store.system(columnsOfTenants);
  const tables = [...new Set(columns.map(({ table }) => table))];
  return store.system(async (transaction) => {
    await transaction.all(sql`select set_config('app.tenant_id', ${String(tenantId)}, true)`);
    const digests: Record<string, string> = {};
    for (const table of ['tenant', ...tables]) {
      const own = table === 'tenant' ? sql`t.id` : sql`t.tenant_id`;
      const row = await transaction.first<{ digest: string }>(sql`
        select count(*) || ' rows, ' || coalesce(md5(string_agg(md5(t::text), '' order by md5(t::text))), '') as digest
        from ${sql.table(table)} t where ${own} = ${tenantId}`);
      digests[table] = row?.digest ?? '';
    }
    return digests;
  });
}

/** Whether any row of a tenant contains one of the texts. */
export async function storesAny(store: Store, tenantId: number, texts: readonly string[]): Promise<boolean> {
  const columns = await store.system(columnsOfTenants);
  return store.system(async (transaction) => {
    await transaction.all(sql`select set_config('app.tenant_id', ${String(tenantId)}, true)`);
    for (const table of new Set(columns.map((column) => column.table))) {
      const row = await transaction.first(sql`
        select 1 from ${sql.table(table)} t where t.tenant_id = ${tenantId}
          and exists (select from unnest(${texts}::text[]) text where position(text in t::text) > 0) limit 1`);
      if (row !== undefined) return true;
    }
    return false;
  });
}
