import { sql } from 'kysely';
import pg from 'pg';
import type { Transaction } from './session.ts';

/**
 * Allocates the next `count` numbers of a tenant's counter, which starts at 1. Counters have no gaps: the row remains
 * locked until the transaction ends, and a transaction that rolls back returns its numbers. Other transactions wait for
 * the lock, so allocate numbers last, after everything that is slow or locks other rows.
 *
 * @param name what is numbered, such as `Invoice/<orgId>`; a new name creates a counter.
 * @param from the least number that is used
 * @returns the first of the numbers; the others follow without a gap.
 */
export async function nextNumber(
  transaction: Transaction,
  tenantId: number,
  name: string,
  count = 1,
  from = 1,
): Promise<number> {
  if (!Number.isSafeInteger(count) || count < 1) throw new RangeError(`Cannot allocate ${count} numbers of ${name}.`);
  const counter = await transaction.first(sql<{ value: number }>`
    insert into tenant_counter (tenant_id, name, value) values (${tenantId}, ${name}, ${from - 1 + count})
    on conflict (tenant_id, name) do update set value = greatest(tenant_counter.value + ${count}, excluded.value)
    returning value`);
  if (counter === undefined) throw new Error(`The counter ${name} returned no number.`);
  return counter.value - count + 1;
}

/** Returns unused numbers, from `first` on, to a counter that this transaction allocated them from. */
export async function returnNumbers(
  transaction: Transaction,
  tenantId: number,
  name: string,
  first: number,
): Promise<void> {
  await transaction.all(sql`
    update tenant_counter set value = ${first - 1}::integer where tenant_id = ${tenantId} and name = ${name}`);
}

/**
 * Takes the next `count` numbers of a tenant's counter that may have gaps: they stay taken if the transaction rolls back. Where there is
 * more than one connection, nobody waits for the end of the transaction.
 *
 * @returns the first of the numbers; the others follow without a gap.
 */
export async function takeNumbers(
  transaction: Transaction,
  tenantId: number,
  name: string,
  count: number,
): Promise<number> {
  if (transaction.aside === undefined) return nextNumber(transaction, tenantId, name, count);
  const rows = await transaction.aside(`
    insert into tenant_counter (tenant_id, name, value) values (${tenantId}, ${pg.escapeLiteral(name)}, ${count})
    on conflict (tenant_id, name) do update set value = tenant_counter.value + excluded.value
    returning value as "lastNumber"`);
  const value = rows.at(-1)?.lastNumber;
  if (typeof value !== 'number') throw new Error(`The counter ${name} returned no number.`);
  return value - count + 1;
}

/** The last number that was taken from a counter. */
export async function lastNumber(transaction: Transaction, tenantId: number, name: string): Promise<number> {
  const counter = await transaction.first(sql<{ value: number }>`
    select value from tenant_counter where tenant_id = ${tenantId} and name = ${name}`);
  return counter?.value ?? 0;
}
