import { sql } from 'kysely';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';

/** The oldest active contact with exactly this e-mail address, which several may share. */
export async function findByEmail(unit: UnitOfWork, email: string): Promise<string | undefined> {
  const row = await unit.transaction.first<{ id: string }>(sql`
    select id from contact where tenant_id = ${unit.tenantId} and email = ${email.toLowerCase()} and active
    order by id limit 1`);
  return row?.id;
}
