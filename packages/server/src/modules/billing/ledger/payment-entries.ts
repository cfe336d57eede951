import { type Decimal, zero } from '../../../contract/decimal.ts';
import type { Plan } from '../../../entity/plan.ts';
import { entityNamed } from '../../../entity/registry.ts';
import type { Row } from '../../../entity/row.ts';
import type { PendingChange } from '../../../entity/rules.ts';
import { checkOpenDay, dayOfChange, enter, entriesOf, firstOpenDay, type Kind, lastOf, later } from './enter.ts';
import { firstDayFor } from './entry-day.ts';

type PaymentRow = Row<'Payment'>;

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
  const { clientId, currency, amount, paymentDate, refundedAmount } = values;
  const credit = { account: 'CREDIT', clientId, currency, paymentId: id } as const;
  const { changeDate, changeReason = null } = input;
  if (previous === undefined && Object.keys(input).length > 0)
    checkOpenDay(plan, clientId, { field: 'paymentDate', day: paymentDate });
  const opened = firstOpenDay(plan, clientId);
  // A credit note enters what it grants, and what it withdraws.
  const isOfNote = values.source === 'CREDIT_NOTE';
  if (before === undefined && !isOfNote) enter(plan, { ...credit, kind: 'PAYMENT', amount, businessDate: paymentDate });

  const moves = movesBetween(before, after);
  plan.together(
    () => entriesOf(plan, 'CREDIT', id),
    ...moves.map(
      ({ invoiceId }) =>
        () =>
          entriesOf(plan, 'RECEIVABLE', invoiceId),
    ),
  );
  for (const { invoiceId, more } of moves) if (more.lt(zero)) unapply(invoiceId, zero.minus(more));
  const refunded = refundedAmount.minus(previous?.refundedAmount ?? zero);
  if (refunded.gt(zero)) take('REFUND', refunded);
  if (after === undefined && values.status === 'RETURNED') take('RETURN', amount);
  if (after === undefined && values.status === 'VOIDED' && !isOfNote)
    take('PAYMENT_VOID', amount.minus(refundedAmount));
  for (const { invoiceId, more } of moves) if (more.gt(zero)) apply(invoiceId, more);

  function unapply(invoiceId: string, part: Decimal): void {
    const entries = entriesOf(plan, 'CREDIT', id);
    const undone = lastOf(entries, 'ALLOCATION', { invoiceId });
    const businessDate = dayOfChange(plan, { clientId, given: changeDate, change: part, entries, undone });
    const half = lastOf(entriesOf(plan, 'RECEIVABLE', invoiceId), 'ALLOCATION', { paymentId: id });
    enterBoth('DEALLOCATION', invoiceId, part, businessDate, { CREDIT: undone?.id, RECEIVABLE: half?.id });
  }

  /** Takes money from what is held. Only what a bank takes back after a refund is more than there is. */
  function take(kind: Kind, part: Decimal): void {
    const entries = entriesOf(plan, 'CREDIT', id);
    const change = zero.minus(part);
    const undone = kind === 'REFUND' ? undefined : lastOf(entries, 'PAYMENT');
    const isLost = kind === 'RETURN' && refundedAmount.gt(zero);
    const businessDate = dayOfChange(plan, {
      clientId,
      given: changeDate,
      change,
      entries: isLost ? [] : entries,
      undone,
      ...(isLost && { sign: -1 }),
    });
    enter(plan, {
      ...credit,
      kind,
      amount: change,
      businessDate,
      reversesId: undone?.id ?? null,
      reason: changeReason,
    });
  }

  function apply(invoiceId: string, part: Decimal): void {
    const { invoiceDate, clientId: billed } = billOf(plan, invoiceId);
    const change = zero.minus(part);
    const [receivable, held] = [entriesOf(plan, 'RECEIVABLE', invoiceId), entriesOf(plan, 'CREDIT', id)];
    let day = [paymentDate, invoiceDate, opened, firstOpenDay(plan, billed)].reduce(later);
    for (;;) {
      const next = firstDayFor(firstDayFor(day, change, receivable), change, held);
      if (next === day) break;
      day = next;
    }
    enterBoth('ALLOCATION', invoiceId, change, day, {});
  }

  function enterBoth(
    kind: Kind,
    invoiceId: string,
    change: Decimal,
    businessDate: string,
    undone: { readonly CREDIT?: string | undefined; readonly RECEIVABLE?: string | undefined },
  ): void {
    const bill = billOf(plan, invoiceId);
    const shared = { kind, amount: change, businessDate, invoiceId, paymentId: id, reason: changeReason, currency };
    const ofInvoice = { account: 'RECEIVABLE', clientId: bill.clientId, dueDate: bill.dueDate } as const;
    enter(plan, { ...shared, ...ofInvoice, reversesId: undone.RECEIVABLE ?? null });
    enter(plan, { ...shared, account: 'CREDIT', clientId, reversesId: undone.CREDIT ?? null });
  }
}

function billOf(plan: Plan, id: string): Row<'Invoice'> {
  const bill = plan.get(entityNamed('Invoice'), id);
  if (bill === undefined) throw new Error(`Invoice ${id} not found.`);
  return bill;
}

/** What more is allocated to each invoice after a change, in the order of their IDs; negative if it is less. */
function movesBetween(before: PaymentRow | undefined, after: PaymentRow | undefined) {
  const more = new Map<string, Decimal>();
  for (const { invoiceId, amount } of before?.allocations ?? []) more.set(invoiceId, zero.minus(amount));
  for (const { invoiceId, amount } of after?.allocations ?? [])
    more.set(invoiceId, (more.get(invoiceId) ?? zero).plus(amount));
  return [...more]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([invoiceId, part]) => ({ invoiceId, more: part }));
}
