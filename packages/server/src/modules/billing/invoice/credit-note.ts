import { zero } from '../../../contract/decimal.ts';
import { Rejection } from '../../../contract/rejection.ts';
import type { Plan } from '../../../entity/plan.ts';
import { entityNamed } from '../../../entity/registry.ts';
import type { Row } from '../../../entity/row.ts';
import { dayOfChange, enter, entriesOf, lastOf } from '../ledger/enter.ts';

type Document = Row<'Invoice'>;

export function isCreditNote({ documentType }: Pick<Document, 'documentType'>): boolean {
  return documentType === 'CREDIT_NOTE';
}

/** Creates the credit of a new credit note: a payment by credit, which is applied like money. */
export function grantCredit(plan: Plan, note: Document): void {
  const { id, clientId, currency, invoiceDate, total } = note;
  const amount = zero.minus(total);
  const fixed = { method: 'CREDIT', source: 'CREDIT_NOTE', status: 'COMPLETED', creditNoteId: id } as const;
  const system = { ...fixed, clientId, currency, amount, paymentDate: invoiceDate, allocations: [] };
  const { row } = plan.create(entityNamed('Payment'), {}, { system });
  const of = { account: 'CREDIT', clientId, currency, paymentId: row.id, invoiceId: id } as const;
  enter(plan, { ...of, kind: 'CREDIT_NOTE', amount, businessDate: invoiceDate });
}

/**
 * Voids the credit of a voided credit note.
 *
 * @param changeDate the day of the void that the caller gave, if any
 */
export function withdrawCredit(plan: Plan, note: Document, changeDate: string | null | undefined): void {
  const credit = creditOf(plan, note.id);
  const { id: paymentId, clientId, currency } = credit;
  const change = zero.minus(credit.amount);
  const entries = entriesOf(plan, 'CREDIT', paymentId);
  const undone = lastOf(entries, 'CREDIT_NOTE');
  const businessDate = dayOfChange(plan, { clientId, given: changeDate, change, entries, undone });
  const system = { status: 'VOIDED', unappliedAmount: zero } as const;
  plan.update(entityNamed('Payment'), paymentId, {}, { system, event: 'creditNoteVoided' });
  const of = { account: 'CREDIT', clientId, currency, paymentId, invoiceId: note.id, businessDate } as const;
  enter(plan, {
    ...of,
    kind: 'NOTE_VOID',
    amount: change,
    reversesId: undone?.id ?? null,
    reason: note.voidReason,
  });
}

/** @throws Rejection if the credit of a credit note is applied to an invoice */
export function checkCreditUnapplied(plan: Plan, note: Document): void {
  if (!isCreditNote(note)) return;
  const { paymentNumber, allocations } = creditOf(plan, note.id);
  if (allocations.length === 0) return;
  const invoices = new Intl.ListFormat('en').format(
    allocations.slice(0, 10).map(({ invoiceNumber }) => invoiceNumber ?? ''),
  );
  throw new Rejection(
    'INVALID_STATE',
    `The credit of the credit note, ${paymentNumber}, is applied to ${invoices}. Unapply it first.`,
    '/status',
  );
}

function creditOf(plan: Plan, noteId: string): Row<'Payment'> {
  const row = plan.findForUpdate(entityNamed('Payment'), 'creditNoteId', noteId);
  if (row === undefined) throw new Error(`Credit note ${noteId} has no credit.`);
  return row;
}
