import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { DatabaseUnavailable } from '../../platform/store/errors.ts';
import type { Store } from '../../platform/store/store.ts';
import { type TenantTable, tenantColumns } from '../../platform/store/tenant-tables.ts';

/** How long others can wait behind a change of a table, in milliseconds, and how often it is tried. */
const patience = { timeout: 500, attempts: 40, pause: 250 };

/** They run after all others, which may change the row. */
const triggersOf = (tenantId: number) =>
  [`zz_move_${tenantId}_write`, `zz_move_${tenantId}_delete`] as const satisfies readonly string[];

/**
 * Adds triggers that note which rows of a tenant change, and that keep changes out while its writes are stopped. A table gets them when no
 * transaction that has written to it is open, so none escapes them. They cost other tenants a comparison for each row.
 */
export async function watchRows(store: Store, tenantId: number, tables: readonly TenantTable[]): Promise<void> {
  const [write, remove] = triggersOf(tenantId);
  const watched = await watchedTables(store, tenantId);
  const text = (value: string | number) => `'${value}'`;
  for (const { name, key } of tables) {
    if (watched.has(name)) continue;
    const call = `execute function watch_moved_row(${[tenantId, name, ...key].map(text).join(', ')})`;
    await changeTable(store, name, [
      `create or replace trigger ${write} before insert or update on "${name}" for each row when (new.tenant_id = ${tenantId}) ${call}`,
      `create or replace trigger ${remove} before delete on "${name}" for each row when (old.tenant_id = ${tenantId}) ${call}`,
    ]);
  }
  if (watched.has('tenant')) return;
  const columns = await store.system(tenantColumns);
  const row = (side: string) => `(${columns.map((column) => `${side}.${column}`).join(', ')})`;
  await changeTable(store, 'tenant', [
    `create or replace trigger ${write} before update on tenant for each row
       when (new.id = ${tenantId} and ${row('new')} is distinct from ${row('old')})
       execute function watch_moved_row('${tenantId}', 'tenant')`,
  ]);
}

export async function unwatchRows(store: Store, tenantId: number): Promise<void> {
  for (const name of await watchedTables(store, tenantId))
    await changeTable(
      store,
      name,
      triggersOf(tenantId).map((trigger) => `drop trigger if exists ${trigger} on "${name}"`),
    );
}

async function watchedTables(store: Store, tenantId: number): Promise<ReadonlySet<string>> {
  const [write] = triggersOf(tenantId);
  const rows = await store.owner.all<{ name: string }>(sql`
    select c.relname as name from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where t.tgname = ${write} and t.tgparentid = 0 and c.relnamespace = current_schema()::regnamespace`);
  return new Set(rows.map(({ name }) => name));
}

/** @throws Error with a sentence if the table is locked for long. */
async function changeTable(store: Store, table: string, statements: readonly string[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await store.system(async (transaction) => {
        await transaction.all(sql`select set_config('lock_timeout', ${`${patience.timeout}ms`}, true)`);
        for (const statement of statements) await transaction.all(sql.raw(statement));
      });
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable) || error.sqlState !== lockNotAvailable) throw error;
      if (attempt === patience.attempts)
        throw new Error(
          `A long transaction keeps the table ${table} locked, such as an import or an index that is created. Run the command again when it has ended.`,
          { cause: error },
        );
      await pause(patience.pause);
    }
  }
}

const lockNotAvailable = '55P03';
