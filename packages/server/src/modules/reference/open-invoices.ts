import { type RawBuilder, sql } from 'kysely';

/** The status of invoices that can be paid. */
export const openStatuses: readonly string[] = ['POSTED', 'PARTIALLY_PAID'];

/** SQL condition of invoices with such a status. It is written out, as the indexes of open invoices are. */
export function hasOpenStatus(row: string): RawBuilder<boolean> {
  return sql`${sql.ref(`${row}.status`)} in (${sql.join(openStatuses.map((status) => sql.lit(status)))})`;
}
