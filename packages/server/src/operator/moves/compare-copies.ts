import { type RawBuilder, sql } from 'kysely';
import { plannedForValues, type Transaction } from '../../platform/store/session.ts';
import type { TenantTable } from '../../platform/store/tenant-tables.ts';

/** What is compared of the rows of a table. */
export type Comparison = 'every value' | 'counts and sums';

type Reader = Pick<Transaction, 'all'>;

/** Describes the rows that a tenant has in a table. Two tables with the same rows have the same description. */
async function describeRows(
  reader: Reader,
  { name, columns }: TenantTable,
  tenantId: number,
  comparison: Comparison,
): Promise<string> {
  const values = columns.map((column) => sql.ref(column.name));
  const summed = columns.filter(({ type }) => ['numeric', 'bigint', 'integer'].includes(type));
  const described: RawBuilder<unknown>[] =
    comparison === 'counts and sums'
      ? summed.map((column) => sql`sum(${sql.ref(column.name)})::text`)
      : [
          // The sum does not depend on the order of rows.
          sql`sum(('x' || left(encode(sha256(convert_to(row(${sql.join(values)})::text, 'UTF8')), 'hex'), 15))::bit(60)::bigint)::text`,
        ];
  const [row] = await reader.all<{ description: string }>(
    plannedForValues(sql`
      select array[${sql.join([sql`count(*)::text`, ...described])}]::text as description
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
  comparison: Comparison,
  progress?: (table: string) => void,
): Promise<string[]> {
  const different: string[] = [];
  for (const table of tables) {
    progress?.(table.name);
    const [one, other] = await Promise.all([from, to].map((side) => describeRows(side, table, tenantId, comparison)));
    if (one !== other) different.push(table.name);
  }
  return different;
}
