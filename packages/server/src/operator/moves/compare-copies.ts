import { sql } from 'kysely';
import { plannedForValues, type Transaction } from '../../platform/store/session.ts';
import type { TenantTable } from '../../platform/store/tenant-tables.ts';
import { type RowKey, readRowsByKey } from '../copies/index.ts';

type Reader = Pick<Transaction, 'all'>;

/** The number of rows that a tenant has in a table, and a hash of all their values. It does not depend on the order of rows. */
async function describeRows(reader: Reader, { name, columns }: TenantTable, tenantId: number): Promise<string> {
  const values = columns.map((column) => sql.ref(column.name));
  const [row] = await reader.all<{ description: string }>(
    plannedForValues(sql`
      select count(*) || ' '
        || sum(('x' || left(encode(sha256(convert_to(row(${sql.join(values)})::text, 'UTF8')), 'hex'), 15))::bit(60)::bigint)
        as description
      from ${sql.table(name)} where tenant_id = ${sql.lit(tenantId)}`),
  );
  return row?.description ?? '';
}

/** Returns the names of tables in which a tenant has other rows on one side than on the other. */
export async function differentTables(
  from: Reader,
  to: Reader,
  tenantId: number,
  tables: readonly TenantTable[],
  progress?: (table: string) => void,
): Promise<string[]> {
  const different: string[] = [];
  for (const table of tables) {
    progress?.(table.name);
    const [one, other] = await Promise.all([from, to].map((side) => describeRows(side, table, tenantId)));
    if (one !== other) different.push(table.name);
  }
  return different;
}

const rowsAtOnce = 500;

/** Whether some rows of a tenant are the same on both sides, or missing on both. */
export async function areSameRows(
  from: Reader,
  to: Reader,
  tenantId: number,
  table: TenantTable,
  keys: readonly RowKey[],
): Promise<boolean> {
  for (let at = 0; at < keys.length; at += rowsAtOnce) {
    const some = keys.slice(at, at + rowsAtOnce);
    const [one, other] = await Promise.all([from, to].map((side) => readRowsByKey(side, table, tenantId, some)));
    if (JSON.stringify(one) !== JSON.stringify(other)) return false;
  }
  return true;
}
