import { type Decimal, zero } from '../../../contract/decimal.ts';
import type { Plan } from '../../../entity/plan.ts';
import { entityNamed } from '../../../entity/registry.ts';
import type { Row } from '../../../entity/row.ts';
import type { PendingChange } from '../../../entity/rules.ts';
import { checkOpenDay, dayOfChange, enter, entriesOf, firstOpenDay, type Kind, lastOf, later } from './enter.ts';
import { firstDayFor } from './entry-day.ts';

type PaymentRow = Row<'Payment'>;

/** A change of a payment, while its entries are recorded. */
interface Recording extends Pick<PendingChange<'Payment'>, 'id' | 'values' | 'input'> {
  readonly plan: Plan;
}

/**
 * Enters what a change of a payment changes of what the firm holds for the client, and of the amounts due on its invoices.
 *
 * @param isCounted whether a payment with this status covers invoices
 */
export function enterPayment(
  { id, values, previous, input }: PendingChange<'Payment'>,
  plan: Plan,
  isCounted: (status: string) => boolean,
): void {
  const counted = (row: PaymentRow | undefined) => (row !== undefined && isCounted(row.status) ? row : undefined);
  const [before, after] = [counted(previous), counted(values)];
  if (before === undefined && after === undefined) return;
  const recording: Recording = { plan, id, values, input };
  if (previous === undefined && Object.keys(input).length > 0)
    checkOpenDay(plan, values.clientId, { field: 'paymentDate', day: values.paymentDate });
  if (before === undefined) enterReceipt(recording);
  const moves = movesBetween(before, after);
  readEntries(recording, moves);
  for (const { invoiceId, more } of moves) if (more.lt(zero)) unapply(recording, invoiceId, zero.minus(more));
  enterRefund(recording, previous?.refundedAmount ?? zero);
  if (after === undefined) enterLoss(recording);
  for (const { invoiceId, more } of moves) if (more.gt(zero)) apply(recording, invoiceId, more);
}

/** A credit note itself enters what it grants, and what it withdraws. */
function isOfNote({ values }: Recording): boolean {
  return values.source === 'CREDIT_NOTE';
}

/** Enters the money of a payment from which on it covers invoices. */
function enterReceipt(recording: Recording): void {
  const { plan, values } = recording;
  if (isOfNote(recording)) return;
  enter(plan, { ...creditOf(recording), kind: 'PAYMENT', amount: values.amount, businessDate: values.paymentDate });
}

/** Reads the earlier entries of the payment, and of the invoices that it pays or paid. */
function readEntries({ plan, id, values }: Recording, moves: readonly Move[]): void {
  plan.together(
    () => firstOpenDay(plan, values.clientId),
    () => entriesOf(plan, 'CREDIT', id),
    ...moves.map(
      ({ invoiceId }) =>
        () =>
          entriesOf(plan, 'RECEIVABLE', invoiceId),
    ),
  );
}

function enterRefund(recording: Recording, before: Decimal): void {
  const refunded = recording.values.refundedAmount.minus(before);
  if (refunded.gt(zero)) take(recording, 'REFUND', refunded);
}

/** Enters what a payment that no longer covers invoices takes with it. */
function enterLoss(recording: Recording): void {
  const { status, amount, refundedAmount } = recording.values;
  if (status === 'RETURNED') take(recording, 'RETURN', amount);
  if (status === 'VOIDED' && !isOfNote(recording)) take(recording, 'PAYMENT_VOID', amount.minus(refundedAmount));
}

/** Takes an allocation back, or a part of it. */
function unapply(recording: Recording, invoiceId: string, part: Decimal): void {
  const { plan, id, values, input } = recording;
  const entries = entriesOf(plan, 'CREDIT', id);
  const undone = lastOf(entries, 'ALLOCATION', { invoiceId });
  const moved = { clientId: values.clientId, given: input.changeDate, change: part, entries, undone };
  const half = lastOf(entriesOf(plan, 'RECEIVABLE', invoiceId), 'ALLOCATION', { paymentId: id });
  const of = { CREDIT: undone?.id, RECEIVABLE: half?.id };
  enterBoth(recording, { kind: 'DEALLOCATION', invoiceId, change: part, businessDate: dayOfChange(plan, moved), of });
}

/** Takes money from what is held. Only what a bank takes back after a refund is more than there is. */
function take(recording: Recording, kind: Kind, part: Decimal): void {
  const { plan, id, values, input } = recording;
  const entries = entriesOf(plan, 'CREDIT', id);
  const change = zero.minus(part);
  const undone = kind === 'REFUND' ? undefined : lastOf(entries, 'PAYMENT');
  const isLost = kind === 'RETURN' && values.refundedAmount.gt(zero);
  const businessDate = dayOfChange(plan, {
    clientId: values.clientId,
    given: input.changeDate,
    change,
    entries: isLost ? [] : entries,
    undone,
    ...(isLost && { sign: -1 }),
  });
  const [reversesId, reason] = [undone?.id ?? null, input.changeReason ?? null];
  enter(plan, { ...creditOf(recording), kind, amount: change, businessDate, reversesId, reason });
}

/** Applies money to an invoice, on the first day on which both had as much. */
function apply(recording: Recording, invoiceId: string, part: Decimal): void {
  const { plan, id, values } = recording;
  const { invoiceDate, clientId: billed } = billOf(plan, invoiceId);
  const change = zero.minus(part);
  const [receivable, held] = [entriesOf(plan, 'RECEIVABLE', invoiceId), entriesOf(plan, 'CREDIT', id)];
  const opened = [values.clientId, billed].map((clientId) => firstOpenDay(plan, clientId));
  let day = [values.paymentDate, invoiceDate, ...opened].reduce(later);
  for (;;) {
    const next = firstDayFor(firstDayFor(day, change, receivable), change, held);
    if (next === day) break;
    day = next;
  }
  enterBoth(recording, { kind: 'ALLOCATION', invoiceId, change, businessDate: day, of: {} });
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
function enterBoth({ plan, id, values, input }: Recording, { change, of: undone, ...moved }: BothHalves): void {
  const { clientId, currency } = values;
  const bill = billOf(plan, moved.invoiceId);
  const shared = { ...moved, amount: change, paymentId: id, reason: input.changeReason ?? null, currency };
  const ofInvoice = { account: 'RECEIVABLE', clientId: bill.clientId, dueDate: bill.dueDate } as const;
  enter(plan, { ...shared, ...ofInvoice, reversesId: undone.RECEIVABLE ?? null });
  enter(plan, { ...shared, account: 'CREDIT', clientId, reversesId: undone.CREDIT ?? null });
}

/** What entries of the account CREDIT of the payment have in common. */
function creditOf({ id, values: { clientId, currency } }: Recording) {
  return { account: 'CREDIT', clientId, currency, paymentId: id } as const;
}

function billOf(plan: Plan, id: string): Row<'Invoice'> {
  const bill = plan.get(entityNamed('Invoice'), id);
  if (bill === undefined) throw new Error(`Invoice ${id} not found.`);
  return bill;
}

/** What more is allocated to an invoice after a change; negative if it is less. */
interface Move {
  readonly invoiceId: string;
  readonly more: Decimal;
}

/** The moves of a change, in the order of the IDs of invoices. */
function movesBetween(before: PaymentRow | undefined, after: PaymentRow | undefined): Move[] {
  const more = new Map<string, Decimal>();
  for (const { invoiceId, amount } of before?.allocations ?? []) more.set(invoiceId, zero.minus(amount));
  for (const { invoiceId, amount } of after?.allocations ?? [])
    more.set(invoiceId, (more.get(invoiceId) ?? zero).plus(amount));
  return [...more]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([invoiceId, part]) => ({ invoiceId, more: part }));
}
