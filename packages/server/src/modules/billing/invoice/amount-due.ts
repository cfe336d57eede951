import type { Row } from '../../../entity/row.ts';
import type { Decimal } from '../../../platform/decimal.ts';
import { amountBy, due } from '../money-rules.ts';

type Document = Row<'Invoice'>;

export function isCreditNote({ documentType }: Pick<Document, 'documentType'>): boolean {
  return documentType === 'CREDIT_NOTE';
}

/** The amount due on an invoice. The column of the same name is only updated when the row is stored. */
export function dueOf(
  row: Pick<Document, 'documentType' | 'status' | 'total' | 'amountPaid' | 'amountCredited' | 'amountWrittenOff'>,
): Decimal {
  const { total, amountPaid: paid, amountCredited: credited, amountWrittenOff: writtenOff } = row;
  return amountBy(due, isCreditNote(row) ? row.documentType : row.status, { total, paid, credited, writtenOff });
}

/** Whether payments can be allocated to an invoice. */
export function isOpen(row: Pick<Document, 'documentType' | 'status'>): boolean {
  return !isCreditNote(row) && (row.status === 'POSTED' || row.status === 'PARTIALLY_PAID');
}
