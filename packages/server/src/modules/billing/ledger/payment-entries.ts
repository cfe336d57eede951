import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import type { PendingChange } from '../../../entity/rules.ts';
import { type Decimal, sum, zero } from '../../../platform/decimal.ts';
import { invoice } from '../invoice/invoice.ts';
import { counts } from '../rules/balances.ts';
import { byDay, firstDayFor } from '../rules/entry-day.ts';
import {
  dayOfChange,
  type Entry,
  type EntryHolder,
  enter,
  entriesOf,
  firstOpenDay,
  type Kind,
  lastOf,
  later,
} from './enter.ts';

type PaymentRow = Row<'Payment'>;

/** A change of a payment, by a caller or by its processor. */
export interface PaymentChange extends Pick<PendingChange<'Payment'>, 'id' | 'values' | 'previous'> {
  readonly input: Pick<PendingChange<'Payment'>['input'], 'changeDate' | 'changeReason'>;
}

/** Enters the money of a payment from which on it covers invoices. */
export function enterReceipt(plan: Plan, { id, values }: PaymentChange): void {
  enter(plan, { ...creditOf(id, values), kind: 'PAYMENT', amount: values.amount, businessDate: values.paymentDate });
}

/** Moves what is held of a payment to its client, which was unknown. */
export function enterIdentified(plan: Plan, { id, values, previous, input }: PaymentChange): void {
  if (previous === undefined || previous.clientId !== null || values.clientId === null) return;
  const entries = entriesOf(plan, 'CREDIT', id);
  const amount = sum(entries.map((entry) => entry.amount));
  // Nothing is held after a return or a refund, so no entry needs a day.
  if (amount.eq(zero)) return;
  const change = zero.minus(amount);
  const undone = entries.findLast(({ kind }) => kind === 'PAYMENT' || kind === 'RETURN');
  // After a refund and a return, less than nothing is held.
  const isLost = amount.lt(zero);
  const dated = { ...booksOf(previous), given: input.changeDate, change, entries: isLost ? [] : entries, undone };
  const businessDate = dayOfChange(plan, dated);
  const moved = { kind: 'IDENTIFICATION', businessDate, reason: input.changeReason ?? null } as const;
  enter(plan, { ...creditOf(id, previous), ...moved, amount: change });
  enter(plan, { ...creditOf(id, values), ...moved, amount });
}

/** The entries of what a payment holds for its present client, or for nobody yet. */
function heldEntries(plan: Plan, id: string, { clientId }: PaymentRow): readonly Entry[] {
  return entriesOf(plan, 'CREDIT', id).filter((entry) => entry.clientId === clientId);
}

/** Enters the allocations that are taken back, or of which a part is. */
export function enterUnapplied(plan: Plan, payment: PaymentChange, moves: readonly Move[]): void {
  const { id, values, input } = payment;
  const entries = heldEntries(plan, id, values);
  // By day, because there can be a thousand of them for each of a thousand moves.
  let held = byDay(entries);
  for (const { invoiceId, more } of moves) {
    if (!more.lt(zero)) continue;
    const undone = lastOf(entries, 'ALLOCATION', { invoiceId });
    const half = lastOf(entriesOf(plan, 'RECEIVABLE', invoiceId), 'ALLOCATION', { paymentId: id });
    const change = zero.minus(more);
    const dated = { ...booksOf(values), given: input.changeDate, change, entries: held, undone };
    const businessDate = later(dayOfChange(plan, dated), firstOpenDay(plan, values));
    const of = { CREDIT: undone?.id, RECEIVABLE: half?.id };
    enterBoth(plan, payment, { kind: 'DEALLOCATION', invoiceId, change, businessDate, of });
    held = byDay([...held, { businessDate, amount: change }]);
  }
}

/** Enters the money that is applied to invoices, on the first day on which both had as much. */
export function enterApplied(plan: Plan, payment: PaymentChange, moves: readonly Move[]): void {
  const { id, values } = payment;
  let held = byDay(heldEntries(plan, id, values));
  for (const { invoiceId, more } of moves) {
    if (!more.gt(zero)) continue;
    const change = zero.minus(more);
    const bill = billOf(plan, invoiceId);
    const receivable = entriesOf(plan, 'RECEIVABLE', invoiceId);
    const opened = [values, bill].map((holder) => firstOpenDay(plan, holder));
    let day = [values.paymentDate, bill.invoiceDate, ...opened].reduce(later);
    for (;;) {
      const next = firstDayFor(firstDayFor(day, change, receivable), change, held);
      if (next === day) break;
      day = next;
    }
    enterBoth(plan, payment, { kind: 'ALLOCATION', invoiceId, change, businessDate: day, of: {} });
    held = byDay([...held, { businessDate: day, amount: change }]);
  }
}

export function enterRefund(plan: Plan, change: PaymentChange): void {
  const refunded = change.values.refundedAmount.minus(change.previous?.refundedAmount ?? zero);
  take(plan, change, 'REFUND', refunded, { undoesReceipt: false });
}

/** After a refund, a bank takes back more than there is. */
export function enterReturn(plan: Plan, change: PaymentChange): void {
  const { amount, refundedAmount } = change.values;
  take(plan, change, 'RETURN', amount, { undoesReceipt: true, isLost: refundedAmount.gt(zero) });
}

export function enterVoid(plan: Plan, change: PaymentChange): void {
  const { amount, refundedAmount } = change.values;
  take(plan, change, 'PAYMENT_VOID', amount.minus(refundedAmount), { undoesReceipt: true });
}

/** Takes money from what is held. */
function take(
  plan: Plan,
  { id, values, input }: PaymentChange,
  kind: Kind,
  part: Decimal,
  { undoesReceipt, isLost = false }: { readonly undoesReceipt: boolean; readonly isLost?: boolean },
): void {
  const entries = heldEntries(plan, id, values);
  const change = zero.minus(part);
  const undone = undoesReceipt ? (lastOf(entries, 'PAYMENT') ?? lastOf(entries, 'IDENTIFICATION')) : undefined;
  const dated = { ...booksOf(values), given: input.changeDate, change, entries: isLost ? [] : entries, undone };
  const businessDate = dayOfChange(plan, { ...dated, ...(isLost && { sign: -1 }) });
  const [reversesId, reason] = [undone?.id ?? null, input.changeReason ?? null];
  enter(plan, { ...creditOf(id, values), kind, amount: change, businessDate, reversesId, reason });
}

interface BothHalves {
  readonly kind: Kind;
  readonly invoiceId: string;
  readonly change: Decimal;
  readonly businessDate: string;
  /** The IDs of the entries that the halves undo. */
  readonly of: { readonly CREDIT?: string | undefined; readonly RECEIVABLE?: string | undefined };
}

/** Enters the halves of an allocation, or of one that is taken back: what is due on the invoice, and what is held. */
function enterBoth(
  plan: Plan,
  { id, values, input }: PaymentChange,
  { change, of: undone, ...moved }: BothHalves,
): void {
  const { currency } = values;
  const bill = billOf(plan, moved.invoiceId);
  const shared = { ...moved, amount: change, paymentId: id, reason: input.changeReason ?? null, currency };
  const ofInvoice = { account: 'RECEIVABLE', clientId: bill.clientId, dueDate: bill.dueDate } as const;
  enter(plan, { ...shared, ...ofInvoice, reversesId: undone.RECEIVABLE ?? null });
  enter(plan, { ...creditOf(id, values), ...shared, reversesId: undone.CREDIT ?? null });
}

function booksOf({ clientId, orgId }: PaymentRow): EntryHolder {
  return { clientId, orgId };
}

/** What entries of the account CREDIT of a payment have in common. */
function creditOf(paymentId: string, row: PaymentRow) {
  return { ...booksOf(row), account: 'CREDIT', currency: row.currency, paymentId } as const;
}

function billOf(plan: Plan, id: string): Row<'Invoice'> {
  const bill = plan.get(invoice, id);
  if (bill === undefined) throw new Error(`Invoice ${id} not found.`);
  return bill;
}

/** What more is allocated to an invoice after a change; negative if it is less. */
interface Move {
  readonly invoiceId: string;
  readonly more: Decimal;
}

/** The moves of a change, in the order of the IDs of invoices. Reads the earlier entries of the payment, and of these invoices. */
export function movesOf(plan: Plan, { id, values, previous }: PaymentChange): Move[] {
  const allocationsOf = (row: PaymentRow | undefined) =>
    row !== undefined && counts(row.status) ? row.allocations : [];
  const more = new Map<string, Decimal>();
  for (const { invoiceId, amount } of allocationsOf(previous)) more.set(invoiceId, zero.minus(amount));
  for (const { invoiceId, amount } of allocationsOf(values))
    more.set(invoiceId, (more.get(invoiceId) ?? zero).plus(amount));
  const ids = [...more.keys()].sort();
  plan.together(
    () => firstOpenDay(plan, values),
    () => entriesOf(plan, 'CREDIT', id),
    () => plan.each(ids, (invoiceId) => entriesOf(plan, 'RECEIVABLE', invoiceId)),
  );
  return ids.map((invoiceId) => ({ invoiceId, more: more.get(invoiceId) ?? zero }));
}
