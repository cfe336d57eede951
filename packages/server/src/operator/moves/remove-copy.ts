import { sql } from 'kysely';
import { actAsMover } from '../../platform/store/databases/index.ts';
import { plannedForValues, type Transaction } from '../../platform/store/session.ts';
import type { Store } from '../../platform/store/store.ts';
import { tenantTables } from '../../platform/store/tenant-tables.ts';

/** Removes all rows of a tenant from a database that it is not in, in the transaction. */
export async function removeRows(transaction: Transaction, tenantId: number, isHome: boolean): Promise<void> {
  for (const names of await removedTogether(transaction)) await removeFrom(transaction, tenantId, names);
  await removeTenant(transaction, tenantId, isHome);
}

/**
 * The same in several transactions, for a copy that nobody can serve: tables that others refer to come after these. If it ends early, it
 * can be repeated.
 *
 * Without the privilege to leave out the checks of references, the database looks for each removed row in the tables that refer to it.
 * As long as their rows are removed in the same transaction, it visits all of them each time; of those that an earlier one has
 * removed, it knows that they are gone.
 *
 * @param removed is called with the rows of tables that were removed.
 */
export async function removeCopy(
  store: Store,
  tenantId: number,
  isHome: boolean,
  removed: (rows: number) => void,
): Promise<void> {
  for (const names of await store.system(removedTogether))
    removed(await store.system((transaction) => removeFrom(transaction, tenantId, names)));
  await store.system((transaction) => removeTenant(transaction, tenantId, isHome));
}

/** @returns the number of rows */
async function removeFrom(transaction: Transaction, tenantId: number, tables: readonly string[]): Promise<number> {
  await transaction.all(sql`set local idle_in_transaction_session_timeout = 0`);
  await transaction.all(sql`set constraints all deferred`);
  await actAsMover(transaction, tenantId);
  await skipReferenceChecks(transaction);
  let count = 0;
  for (const name of tables) {
    const [found] = await transaction.all<{ rows: number }>(sql`
      with removed as (delete from ${sql.table(name)} where tenant_id = ${tenantId} returning 1)
      select count(*)::integer as rows from removed`);
    count += found?.rows ?? 0;
  }
  return count;
}

async function removeTenant(transaction: Transaction, tenantId: number, isHome: boolean): Promise<void> {
  await actAsMover(transaction, tenantId);
  await skipReferenceChecks(transaction);
  await transaction.all(sql`delete from payment_link_token where tenant = ${tenantId}`);
  // In the database with the directory, it says where the tenant is.
  if (!isHome)
    await transaction.all(sql`
      delete from tenant_place where (select name from tenant where id = ${tenantId}) in (name, renamed_to)`);
  await transaction.all(sql`delete from tenant where id = ${tenantId}`);
  await transaction.all(sql`delete from moved_row where tenant = ${tenantId}`);
}

/**
 * Returns all tables with a tenant, in groups. Each group comes before the tables that its rows refer to; tables that refer to each other
 * are one group, which a transaction has to remove together.
 */
async function removedTogether(transaction: Pick<Transaction, 'all'>): Promise<readonly (readonly string[])[]> {
  const tables = await tenantTables(transaction);
  const references = await transaction.all<{ from: string; to: string }>(plannedForValues(allReferences));
  const reached = new Map<string, Set<string>>();
  const reach = (name: string, found: Set<string>) => {
    for (const { from, to } of references) if (from === name && !found.has(to)) reach(to, found.add(to));
    return found;
  };
  for (const { name } of tables) reached.set(name, reach(name, new Set([name])));
  // What a table reaches, the tables that refer to it reach too. Those that refer to each other reach the same.
  const groups = Map.groupBy(tables.toReversed(), ({ name }) => [...(reached.get(name) ?? [])].sort().join());
  return [...groups.values()]
    .map((group) => group.map(({ name }) => name))
    .sort(([one = ''], [other = '']) => (reached.get(other)?.size ?? 0) - (reached.get(one)?.size ?? 0));
}

const allReferences = sql<{ from: string; to: string }>`
  select distinct f.conrelid::regclass::text as from, f.confrelid::regclass::text as to from pg_constraint f
  where f.contype = 'f' and f.connamespace = current_schema()::regnamespace`;

/**
 * Lets the database check no references until the end of the transaction: they never leave the tenant, all of which goes or is the same as
 * elsewhere. It requires a privilege that an administrator can grant; without it, nothing changes but the time. Each check of a removed row
 * reads all rows of the tenant that may refer to it, unless they have an index for that, which takes hours for a large tenant.
 */
export async function skipReferenceChecks(transaction: Transaction): Promise<void> {
  await transaction.all(sql`
    select set_config('session_replication_role', 'replica', true)
    where has_parameter_privilege('session_replication_role', 'set')`);
}
