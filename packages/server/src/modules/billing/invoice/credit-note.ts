import { Rejection } from '../../../contract/rejection.ts';
import { command } from '../../../entity/command.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import type { PendingChange } from '../../../entity/rules.ts';
import { type Decimal, zero } from '../../../platform/decimal.ts';
import { dayOfChange, enter, entriesOf, lastOf } from '../ledger/enter.ts';
import { payment } from '../payment/payment.ts';
import { isCreditNote } from '../rules/balances.ts';
import { invoice } from './invoice.ts';

type Document = Row<'Invoice'>;

/** Creates the credit of a new credit note: a payment by credit, which is applied like money. */
export function grantCredit(plan: Plan, note: Document): void {
  const { id, clientId, currency, invoiceDate, total } = note;
  const amount = zero.minus(total);
  const fixed = { method: 'CREDIT', source: 'CREDIT_NOTE', status: 'COMPLETED', creditNoteId: id } as const;
  const own = { clientId, currency, amount, paymentDate: invoiceDate, allocations: [] };
  const { row } = plan.insert(payment, { ...fixed, ...own });
  const of = { account: 'CREDIT', clientId, currency, paymentId: row.id, invoiceId: id } as const;
  enter(plan, { ...of, kind: 'CREDIT_NOTE', amount, businessDate: invoiceDate });
}

/** Voids the credit of a voided credit note, as of the day of the void. */
export const withdrawCredit = command(
  'creditNoteVoided',
  (plan, { values: note, input }: Pick<PendingChange<'Invoice'>, 'values' | 'input'>) => {
    const credit = creditOf(plan, note.id);
    const { id: paymentId, clientId, currency } = credit;
    const change = zero.minus(credit.amount);
    const entries = entriesOf(plan, 'CREDIT', paymentId);
    const undone = lastOf(entries, 'CREDIT_NOTE');
    const businessDate = dayOfChange(plan, { clientId, given: input.changeDate, change, entries, undone });
    plan.set(payment, paymentId, { status: 'VOIDED', unappliedAmount: zero });
    const of = { account: 'CREDIT', clientId, currency, paymentId, invoiceId: note.id, businessDate } as const;
    const reversed = { reversesId: undone?.id ?? null, reason: note.voidReason };
    enter(plan, { ...of, kind: 'NOTE_VOID', amount: change, ...reversed });
  },
);

/** @throws Rejection if the credit of a credit note is applied to an invoice */
export function checkCreditUnapplied(plan: Plan, note: Document): void {
  if (!isCreditNote(note)) return;
  if (creditOf(plan, note.id).allocations.length === 0) return;
  throw new Rejection(
    'INVALID_STATE',
    'The credit of the credit note is applied to invoices. Unapply it first: the payment with this creditNoteId has the allocations.',
    '/status',
  );
}

/** What of an invoice no credit note refers to. */
export function notCredited(plan: Plan, { id, total }: Pick<Document, 'id' | 'total'>): Decimal {
  const notes = plan.all(invoice, 'creditedInvoiceId', id).filter(({ status }) => status !== 'VOIDED');
  return notes.reduce((rest, note) => rest.plus(note.total), total);
}

function creditOf(plan: Plan, noteId: string): Row<'Payment'> {
  const row = plan.findForUpdate(payment, 'creditNoteId', noteId);
  if (row === undefined) throw new Error(`Credit note ${noteId} has no credit.`);
  return row;
}
