import { command } from '../../../entity/command.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import { decimals } from '../../../platform/arithmetic.ts';
import { type Decimal, zero } from '../../../platform/decimal.ts';
import { planDocument } from '../document/write-invoice.ts';
import { withdrawCredit } from '../invoice/credit-note.ts';
import { invoice } from '../invoice/invoice.ts';
import { checkOpenDay, entriesOf, lastDayOf } from '../ledger/enter.ts';
import { settledRest } from '../ledger/invoice-entries.ts';
import {
  enterApplied,
  enterReceipt,
  enterRefund,
  enterReturn,
  enterUnapplied,
  enterVoid,
  movesOf,
  type PaymentChange,
} from '../ledger/payment-entries.ts';
import { invalidateLinks, readLinks } from '../link/payment-link.ts';
import { counts, cover, dueOf } from '../rules/balances.ts';
import { sumOf } from './allocations.ts';
import { payment } from './payment.ts';

/** Money is received, or a bank has settled what was pending or had failed. */
export const completePayment = command('paymentCompleted', (plan, change: PaymentChange) => {
  const { values, previous } = change;
  if (previous === undefined) checkOpenDay(plan, values, { field: 'paymentDate', day: values.paymentDate });
  applyPayment(plan, change);
});

/** Money is allocated to invoices, when it is received or later. What is no longer allocated is unapplied. */
export const applyPayment = command('paymentApplied', (plan, change: PaymentChange) => {
  if (counts(change.values.status)) {
    if (change.previous === undefined || !counts(change.previous.status)) enterReceipt(plan, change);
    const moves = movesOf(plan, change);
    enterUnapplied(plan, change, moves);
    enterApplied(plan, change, moves);
  }
  const covers = coversOf(change);
  readLinks(plan, [...covers.keys()]);
  for (const [id, cover] of covers) {
    if (Object.values(cover).every((part) => part.lte(zero))) uncoverInvoice(plan, id, cover);
    else {
      coverInvoice(plan, id, cover);
      invalidateLinks(plan, id);
    }
  }
  withdrawDiscounts(plan, change, covers);
});

/** Nothing was paid: the invoices no longer wait for the payment. */
export const failPayment = command('paymentFailed', (plan, change: PaymentChange) => {
  for (const [id, cover] of coversOf(change)) uncoverInvoice(plan, id, cover);
});

/** A bank or card company has taken the money back. */
export const returnPayment = command('paymentReturned', (plan, change: PaymentChange) => {
  enterUnapplied(plan, change, movesOf(plan, change));
  enterReturn(plan, change);
  takeFromInvoices(plan, change);
});

/** A part or all of the money was paid back, also another part: first what is unapplied, then the newest allocations. */
export const refundPayment = command('paymentRefunded', (plan, change: PaymentChange) => {
  enterUnapplied(plan, change, movesOf(plan, change));
  enterRefund(plan, change);
  takeFromInvoices(plan, change);
});

/** The payment was entered by mistake. */
export const voidPayment = command('paymentVoided', (plan, change: PaymentChange) => {
  enterUnapplied(plan, change, movesOf(plan, change));
  enterVoid(plan, change);
  takeFromInvoices(plan, change);
});

/** How much more payments, credits and pending payments cover of an invoice; negative if it is less. */
type Cover = Pick<Row<'Invoice'>, 'amountPaid' | 'amountCredited' | 'amountPending'>;

const nothing: Cover = { amountPaid: zero, amountCredited: zero, amountPending: zero };

/** Changes the amount that payments cover of an invoice, and its status accordingly. */
function coverInvoice(plan: Plan, id: string, cover: Cover): void {
  const row = plan.getForUpdate(invoice, id);
  if (row === undefined) throw new Error(`Invoice ${id} not found.`);
  const covered: Cover = {
    amountPaid: row.amountPaid.plus(cover.amountPaid),
    amountCredited: row.amountCredited.plus(cover.amountCredited),
    amountPending: row.amountPending.plus(cover.amountPending),
  };
  const isSettled = dueOf({ ...row, ...covered }).eq(zero);
  const isWrittenOff = row.amountWrittenOff.gt(zero) && row.amountWrittenOff.gt(settledRest(plan, id));
  const isPart = covered.amountPaid.plus(covered.amountCredited).gt(zero);
  const status = isSettled ? (isWrittenOff ? 'WRITTEN_OFF' : 'PAID') : isPart ? 'PARTIALLY_PAID' : 'POSTED';
  const paidAt = status === 'PAID' ? (row.paidAt ?? plan.now) : null;
  const paidDate = status === 'PAID' ? lastDayOf(entriesOf(plan, 'RECEIVABLE', id)) : null;
  plan.set(invoice, id, { ...covered, status, paidAt, paidDate });
}

const uncoverInvoice = command('paymentUnapplied', coverInvoice);

function takeFromInvoices(plan: Plan, change: PaymentChange): void {
  const covers = coversOf(change);
  for (const [id, cover] of covers) coverInvoice(plan, id, cover);
  withdrawDiscounts(plan, change, covers);
}

/** A client that no longer has paid in time loses the discount for it. */
function withdrawDiscounts(plan: Plan, { values, input }: PaymentChange, covers: ReadonlyMap<string, Cover>): void {
  for (const [id, { amountPaid, amountCredited }] of covers) {
    const noteId = plan.get(invoice, id)?.earlyPaymentNoteId ?? null;
    if (noteId === null || noteId === values.creditNoteId || !amountPaid.plus(amountCredited).lt(zero)) continue;
    withdrawDiscount(plan, id, noteId, input.changeDate);
  }
}

/** The credit of the discount is unapplied, and its credit note voided, unless the credit was applied to other invoices as well. */
const withdrawDiscount = command(
  'discountWithdrawn',
  (plan, invoiceId: string, noteId: string, day: string | null | undefined) => {
    const [note, credit] = [plan.getForUpdate(invoice, noteId), plan.findForUpdate(payment, 'creditNoteId', noteId)];
    const allocations = credit?.allocations.filter((one) => one.invoiceId !== invoiceId) ?? [];
    if (note === undefined || credit === undefined || allocations.length === credit.allocations.length) return;
    // Before the day on which the discount was taken, it cannot be undone; the payment can.
    const taken = lastDayOf(entriesOf(plan, 'CREDIT', credit.id)) ?? note.invoiceDate;
    const input = { changeDate: typeof day === 'string' && day >= taken ? day : null };
    const values = { ...credit, allocations, unappliedAmount: credit.amount.minus(sumOf(allocations)) };
    plan.set(payment, credit.id, { allocations, unappliedAmount: values.unappliedAmount });
    applyPayment(plan, { id: credit.id, values, previous: credit, input });
    if (allocations.length > 0) return;
    const bill = plan.get(invoice, invoiceId);
    const voided = {
      status: 'VOIDED',
      voidReason: `The discount for early payment of ${bill?.invoiceNumber} is withdrawn, because less of it is paid.`,
      voidedAt: plan.now,
    } as const;
    const { row } = plan.set(invoice, noteId, voided);
    withdrawCredit(plan, { values: row, input });
    planDocument(plan, row);
  },
);

/** What a change covers more or less of each invoice, in the order of their IDs, which is the lock order. */
function coversOf({ values, previous }: PaymentChange): ReadonlyMap<string, Cover> {
  const covers = new Map<string, Cover>();
  const arithmetic = decimals();
  const add = ({ status, method }: Row<'Payment'>, invoiceId: string, amount: Decimal) => {
    const { amountPaid, amountCredited, amountPending } = covers.get(invoiceId) ?? nothing;
    const allocation = { status, method, amount };
    covers.set(invoiceId, {
      amountPaid: amountPaid.plus(cover.amountPaid(arithmetic, allocation)),
      amountCredited: amountCredited.plus(cover.amountCredited(arithmetic, allocation)),
      amountPending: amountPending.plus(cover.amountPending(arithmetic, allocation)),
    });
  };
  for (const { invoiceId, amount } of previous?.allocations ?? [])
    add(previous ?? values, invoiceId, zero.minus(amount));
  for (const { invoiceId, amount } of values.allocations) add(values, invoiceId, amount);
  const changed = [...covers].filter(([, parts]) => Object.values(parts).some((part) => !part.eq(zero)));
  return new Map(changed.sort(([one], [other]) => (one < other ? -1 : 1)));
}
