import { valuesWith } from '../../../contract/values-with.ts';
import type { Row } from '../../../entity/row.ts';
import { type Arithmetic, decimals } from '../../../platform/arithmetic.ts';
import type { Decimal } from '../../../platform/decimal.ts';
import { openStatuses } from '../../reference/index.ts';

type Document = Row<'Invoice'>;

/** The status of payments that cover invoices. */
export const countingStatuses = valuesWith<Row<'Payment'>['status']>({
  ...{ PENDING: false, FAILED: false, RETURNED: false, VOIDED: false },
  ...{ COMPLETED: true, PARTIALLY_REFUNDED: true, REFUNDED: true },
});

/** Whether a payment with this status covers invoices. */
export function counts(status: string): boolean {
  return countingStatuses.includes(status);
}

interface Allocated<Amount, Text> {
  readonly status: Text;
  readonly method: Text;
  readonly amount: Amount;
}

/** What an allocation of a payment adds to the amounts of its invoice. */
export const cover = {
  amountPaid: <A, T>({ when, zero }: Arithmetic<A, T>, { status, method, amount }: Allocated<A, T>): A =>
    when(status, countingStatuses, when(method, ['CREDIT'], zero, amount), zero),
  amountCredited: <A, T>({ when, zero }: Arithmetic<A, T>, { status, method, amount }: Allocated<A, T>): A =>
    when(status, countingStatuses, when(method, ['CREDIT'], amount, zero), zero),
  amountPending: <A, T>({ when, zero }: Arithmetic<A, T>, { status, amount }: Allocated<A, T>): A =>
    when(status, ['PENDING'], amount, zero),
};

interface Received<Amount, Text> {
  readonly status: Text;
  readonly amount: Amount;
  readonly refunded: Amount;
  readonly allocated: Amount;
}

/** What is neither applied nor refunded of a payment. What was refunded before is lost when the bank takes the money back. */
export function unapplied<A, T>(
  { when, minus, zero }: Arithmetic<A, T>,
  { status, amount, refunded, allocated }: Received<A, T>,
): A {
  const rest = minus(amount, refunded, allocated);
  return when(status, [...countingStatuses, 'PENDING'], rest, when(status, ['RETURNED'], minus(zero, refunded), zero));
}

/** What the firm holds for the client, or has lost on the payment. */
export function held<A, T>(
  { when, zero }: Arithmetic<A, T>,
  { status, unapplied: amount }: { readonly status: T; readonly unapplied: A },
): A {
  return when(status, [...countingStatuses, 'RETURNED'], amount, zero);
}

interface Billed<Amount, Text> {
  readonly status: Text;
  readonly documentType: Text;
  readonly total: Amount;
  readonly paid: Amount;
  readonly credited: Amount;
  readonly writtenOff: Amount;
}

/** The amount due on an invoice. Nothing is due on a credit note, whatever its status. */
export function due<A, T>(
  { when, minus, zero }: Arithmetic<A, T>,
  { status, documentType, total, paid, credited, writtenOff }: Billed<A, T>,
): A {
  const rest = minus(total, paid, credited, writtenOff);
  return when(status, ['VOIDED'], zero, when(documentType, ['CREDIT_NOTE'], zero, rest));
}

/** What an invoice adds to the balance of its client: nothing before it is posted. */
export function owed<A, T>(
  { when, zero }: Arithmetic<A, T>,
  { status, due: amount }: { readonly status: T; readonly due: A },
): A {
  return when(status, ['PENDING'], zero, amount);
}

/** The status of invoices whose lines do not count as billed. */
export const statusesWithoutBilling = valuesWith<Document['status']>({
  ...{ PENDING: true, VOIDED: true },
  ...{ POSTED: false, PARTIALLY_PAID: false, PAID: false, WRITTEN_OFF: false },
});

export function isCreditNote({ documentType }: Pick<Document, 'documentType'>): boolean {
  return documentType === 'CREDIT_NOTE';
}

/** Whether payments can be allocated to an invoice. */
export function isOpen(row: Pick<Document, 'documentType' | 'status'>): boolean {
  return !isCreditNote(row) && openStatuses.includes(row.status);
}

/** The amount due on an invoice. The column of the same name is only updated when the row is stored. */
export function dueOf(
  row: Pick<Document, 'documentType' | 'status' | 'total' | 'amountPaid' | 'amountCredited' | 'amountWrittenOff'>,
): Decimal {
  const { amountPaid: paid, amountCredited: credited, amountWrittenOff: writtenOff, ...rest } = row;
  return due(decimals(), { ...rest, paid, credited, writtenOff });
}
