import { sql } from 'kysely';
import type { Caller, Tenant } from '../platform/auth/caller.ts';
import type { Session } from '../platform/store/store.ts';

/**
 * Returns the API user who created a row, as it is now: a job does what that user asked for in their name, with the roles that they
 * have when it runs. An inactive API user has none.
 */
export async function creatorOf(
  session: Session,
  { id: tenantId }: Tenant,
  table: string,
  id: string,
): Promise<Caller> {
  const user = await session.first<Omit<Caller, 'roles'> & { readonly roles: readonly string[] }>(sql`
    select u.id as "apiUserId", u.name as "apiUserName", u.staff_id as "staffId", case when u.active then u.roles else '{}' end as roles
    from ${sql.table(table)} created join api_user u on u.tenant_id = created.tenant_id and u.id = created.created_by_api_user_id
    where created.tenant_id = ${tenantId} and created.id = ${id}`);
  if (user === undefined) throw new Error(`The row ${id} of ${table} has no creator.`);
  return { ...user, roles: new Set(user.roles) };
}
