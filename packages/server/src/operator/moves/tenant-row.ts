import { sql } from 'kysely';
import type { Transaction } from '../../platform/store/session.ts';
import { tenantColumns } from '../../platform/store/tenant-tables.ts';

/** The row of a tenant itself, by the names of its columns. */
export type TenantRow = Readonly<Record<string, unknown>> & { readonly active: boolean };

export async function insertTenant(transaction: Transaction, id: number, row: TenantRow): Promise<void> {
  const columns = await tenantColumns(transaction);
  await transaction.all(sql`
    insert into tenant (${sql.join([sql.ref('id'), ...columns.map((column) => sql.ref(column))])}) overriding system value
    select ${sql.join([sql`${id}::integer`, ...columns.map((column) => sql.ref(`r.${column}`))])}
    from json_populate_record(null::tenant, ${JSON.stringify({ ...row, active: false })}::json) r`);
}

export async function updateTenant(transaction: Transaction, id: number, row: TenantRow): Promise<void> {
  const columns = await tenantColumns(transaction);
  const changes = columns.map((column) => sql`${sql.ref(column)} = ${sql.ref(`r.${column}`)}`);
  await transaction.all(sql`
    update tenant set ${sql.join(changes)}
    from json_populate_record(null::tenant, ${JSON.stringify({ ...row, active: false })}::json) r where tenant.id = ${id}`);
}
