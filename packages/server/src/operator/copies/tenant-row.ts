import { type RawBuilder, sql } from 'kysely';
import type { Transaction } from '../../platform/store/session.ts';
import type { Store } from '../../platform/store/store.ts';
import { newestMigration, tenantColumns } from '../../platform/store/tenant-tables.ts';

/** The row of a tenant itself, by the names of its columns. */
export type TenantRow = Readonly<Record<string, unknown>> & { readonly name: string; readonly active: boolean };

export interface FoundTenant {
  readonly tenantId: number;
  readonly tenant: TenantRow;
  /** The name of the last migration that its database has. */
  readonly schema: string;
  /** When the transaction began. */
  readonly asOf: string;
}

/** The name of the last migration that a database has. */
export async function schemaIn(store: Store): Promise<string> {
  const found = await store.owner.first<{ schema: string }>(sql`select ${newestMigration} as schema`);
  return found?.schema ?? '';
}

/** @param isIt condition on the table `tenant` */
export async function findTenant(
  transaction: Transaction,
  isIt: RawBuilder<unknown>,
): Promise<FoundTenant | undefined> {
  const columns = await tenantColumns(transaction);
  return transaction.first<FoundTenant>(sql`
    select tenant.id as "tenantId", row_to_json(r) as tenant, ${newestMigration} as schema, now() as "asOf"
    from tenant cross join lateral (select ${sql.join(columns.map((column) => sql.ref(`tenant.${column}`)))}) r
    where ${isIt}`);
}

export async function insertTenant(transaction: Transaction, id: number, row: TenantRow): Promise<void> {
  const columns = await tenantColumns(transaction);
  await transaction.all(sql`
    insert into tenant (${sql.join([sql.ref('id'), ...columns.map((column) => sql.ref(column))])}) overriding system value
    select ${sql.join([sql`${id}::integer`, ...columns.map((column) => sql.ref(`r.${column}`))])}
    from json_populate_record(null::tenant, ${JSON.stringify(row)}::json) r`);
}

export async function updateTenant(transaction: Transaction, id: number, row: TenantRow): Promise<void> {
  const columns = await tenantColumns(transaction);
  const changes = columns.map((column) => sql`${sql.ref(column)} = ${sql.ref(`r.${column}`)}`);
  await transaction.all(sql`
    update tenant set ${sql.join(changes)}
    from json_populate_record(null::tenant, ${JSON.stringify(row)}::json) r where tenant.id = ${id}`);
}
