import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Transaction } from '../../platform/store/session.ts';
import type { Store } from '../../platform/store/store.ts';

export interface MovedTenant {
  readonly name: string;
  readonly id: number;
  /** Numbers of databases. */
  readonly from: number;
  readonly to: number;
}

/** How long a process that works on a move keeps others from it, in seconds, and how often it renews that, in milliseconds. */
export const lease = { seconds: 10, renewEvery: 3_000 };

/** @returns the ID of the move. @throws Error with a sentence if another process works on it, or it leads to another database */
export async function claimMove(
  source: Store,
  { id, name, to }: MovedTenant,
  mover: string,
  toName: string,
): Promise<string> {
  for (const end = performance.now() + 1_500 * lease.seconds; ; await pause(500)) {
    const claimed = await source.system(async (transaction) => {
      await transaction.all(sql`
        insert into tenant_move (tenant, phase, cell, move_id, mover, mover_until)
        values (${id}, 'LEAVING', ${to}, ${randomUUID()}, ${mover}, '-infinity') on conflict (tenant) do nothing`);
      const move = await transaction.first<{ cell: number }>(sql`
        select cell from tenant_move where tenant = ${id} for update`);
      if (move?.cell !== to)
        throw new Error(
          `The tenant ${name} is on its way to another database. Continue that, or give it up: operator tenant move ${name} --cancel`,
        );
      return transaction.first<{ moveId: string }>(sql`
        update tenant_move set mover = ${mover}, mover_until = now() + ${lease.seconds} * interval '1 second',
          phase = 'LEAVING', stopped_until = null
        where tenant = ${id} and phase in ('LEAVING', 'STOPPED') and mover_until < now() returning move_id as "moveId"`);
    });
    if (claimed !== undefined) return claimed.moveId;
    if (performance.now() > end)
      throw new Error(`Another process is moving the tenant ${name} to ${toName}. Wait for it.`);
  }
}

/** Whether no transaction that has written rows of the tenant is open. None begins while writes are stopped. */
export async function lockWrites(transaction: Transaction, tenantId: number): Promise<boolean> {
  const lock = await transaction.first<{ isFree: boolean }>(
    sql`select pg_try_advisory_xact_lock(72307, ${tenantId}::integer) as "isFree"`,
  );
  return lock?.isFree === true;
}

export async function forgetRows(transaction: Transaction, tenantId: number, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  await transaction.all(sql`
    delete from moved_row where tenant = ${tenantId} and id in (select value::bigint from json_array_elements_text(${JSON.stringify(ids)}::json))`);
}
