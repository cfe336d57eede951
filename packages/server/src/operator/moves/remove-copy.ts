import { sql } from 'kysely';
import { actAsMover } from '../../platform/store/finish-move.ts';
import type { Transaction } from '../../platform/store/session.ts';
import { tenantTables } from '../../platform/store/tenant-tables.ts';

/** Removes all rows of a tenant from a database that it is not in, in the transaction. */
export async function removeRows(transaction: Transaction, tenantId: number, isHome: boolean): Promise<void> {
  const tables = await tenantTables(transaction);
  await transaction.all(sql`set local idle_in_transaction_session_timeout = 0`);
  await transaction.all(sql`set constraints all deferred`);
  await actAsMover(transaction, tenantId);
  await skipReferenceChecks(transaction);
  for (const { name } of tables.toReversed())
    await transaction.all(sql`delete from ${sql.table(name)} where tenant_id = ${tenantId}`);
  await transaction.all(sql`delete from payment_link_token where tenant = ${tenantId}`);
  // In the database with the directory, it says where the tenant is.
  if (!isHome)
    await transaction.all(sql`delete from tenant_place where name = (select name from tenant where id = ${tenantId})`);
  await transaction.all(sql`delete from tenant where id = ${tenantId}`);
  await transaction.all(sql`delete from moved_row where tenant = ${tenantId}`);
}

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
