import { sql } from 'kysely';
import type { Store, Transaction } from '../store.ts';

/** Lets a transaction of the owner access the rows of one tenant as they are: triggers neither derive, check nor note them. */
export async function actAsMover(transaction: Transaction, tenantId: number): Promise<void> {
  await transaction.all(sql`
    select set_config('app.tenant_id', ${String(tenantId)}, true), set_config('app.copies_rows', 'on', true),
      set_config('app.moves_tenant', 'on', true), set_config('app.time_zone', 'UTC', true)`);
}

/**
 * Finishes the move of a tenant that has left a database: opens it in the other one, and changes the directory. Every process that
 * finds such a tenant does this, so it does not depend on the command that moved it. It can be repeated.
 *
 * @param home the database with the directory
 * @param from the number of the database that it has left
 * @returns the number of the database that it is in; undefined if it has not left
 */
export async function finishMove(home: Store, from: number, tenantId: number): Promise<number | undefined> {
  const left = await home.cell(from).owner.first<{ cell: number; moveId: string }>(sql`
    select cell, move_id as "moveId" from tenant_move where tenant = ${tenantId} and phase in ('LEFT', 'REMOVED')`);
  if (left === undefined) return undefined;
  await home.cell(left.cell).system((transaction) => openArrived(transaction, tenantId, left.moveId));
  await home.owner.all(sql`
    update tenant_place set cell = ${left.cell}, moves_to = null where tenant = ${tenantId} and cell = ${from}`);
  return left.cell;
}

async function openArrived(transaction: Transaction, tenantId: number, moveId: string): Promise<void> {
  await actAsMover(transaction, tenantId);
  const arrived = await transaction.first<{ opens: boolean }>(sql`
    delete from tenant_move where tenant = ${tenantId} and phase = 'ARRIVING' and move_id = ${moveId} returning opens`);
  if (arrived === undefined) return;
  // A trigger makes its day due.
  await transaction.all(sql`select set_config('app.copies_rows', '', true)`);
  await transaction.all(sql`update tenant set active = ${arrived.opens} where id = ${tenantId}`);
}
