import { type RawBuilder, sql } from 'kysely';
import { valuesWith } from '../../contract/values-with.ts';
import type { Row } from '../../entity/row.ts';

/** The status of invoices that can be paid. */
export const openStatuses = valuesWith<Row<'Invoice'>['status']>({
  ...{ POSTED: true, PARTIALLY_PAID: true },
  ...{ PENDING: false, PAID: false, VOIDED: false, WRITTEN_OFF: false },
});

/** SQL condition of invoices with such a status. It is written out, as the indexes of open invoices are. */
export function hasOpenStatus(row: string): RawBuilder<boolean> {
  return sql`${sql.ref(`${row}.status`)} in (${sql.join(openStatuses.map((status) => sql.lit(status)))})`;
}
