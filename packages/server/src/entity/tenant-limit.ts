import { type RawBuilder, sql } from 'kysely';
import { contract } from '../contract/contract.ts';
import { Rejection } from '../contract/rejection.ts';
import type { UnitOfWork } from './unit-of-work.ts';

/** The key of the lock that makes calls of a tenant count one after the other. */
const lockKey = 72308;

/**
 * Checks that a tenant can have one more of what the contract limits. Concurrent calls of the tenant wait for the end of the
 * transaction.
 *
 * @param limit a name in `x-tenant-limits`.
 * @param noun what is limited, in the plural.
 * @param rows a query that finds those that the tenant has.
 * @throws Rejection `LIMIT_REACHED`.
 */
export async function checkTenantLimit(
  { transaction, tenantId }: UnitOfWork,
  limit: string,
  noun: string,
  rows: RawBuilder<unknown>,
): Promise<void> {
  const max = contract['x-tenant-limits'][limit];
  if (max === undefined) throw new Error(`The contract has no limit ${limit}.`);
  await transaction.all(sql`select pg_advisory_xact_lock(${lockKey}, ${tenantId})`);
  const found = await transaction.first<{ count: number }>(
    sql`select count(*)::integer as count from (${rows}) as found`,
  );
  if (found !== undefined && found.count >= max)
    throw new Rejection('LIMIT_REACHED', `Your tenant already has ${max} ${noun}, the maximum.`);
}
