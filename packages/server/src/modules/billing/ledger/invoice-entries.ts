import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import type { PendingChange } from '../../../entity/rules.ts';
import { type Decimal, sum, zero } from '../../../platform/decimal.ts';
import { dayOfChange, enter, entriesOf, type Kind, lastOf } from './enter.ts';

/** Enters the total of an invoice that counts from now on, as of its date. */
export function enterReceivable(plan: Plan, bill: Row<'Invoice'>): void {
  enter(plan, { ...receivableOf(bill), kind: 'INVOICE', amount: bill.total, businessDate: bill.invoiceDate });
}

/** Enters that a part of the amount due is written off. A rest that is settled is rounding, and no loss. */
export function enterWriteOff(plan: Plan, change: PendingChange<'Invoice'>): void {
  const { status, writeOffReason } = change.values;
  const isRounding = status === 'PAID';
  enterChange(plan, change, 'WRITE_OFF', zero.minus(writtenOff(change)), { reason: writeOffReason, isRounding });
}

/** Enters that what was written off is due again: first the rest that was settled last. */
export function enterRecovery(plan: Plan, change: PendingChange<'Invoice'>): void {
  const { id, input, values } = change;
  const reason = input.changeReason ?? values.voidReason;
  const recovered = zero.minus(writtenOff(change));
  const rounding = smaller(recovered, settledRest(plan, id));
  for (const [amount, isRounding] of [
    [rounding, true],
    [recovered.minus(rounding), false],
  ] as const)
    enterChange(plan, change, 'RECOVERY', amount, { undoes: 'WRITE_OFF', reason, isRounding });
}

/** The part of what is written off of an invoice that is a settled rest, and no loss. */
export function settledRest(plan: Plan, invoiceId: string): Decimal {
  const settled = entriesOf(plan, 'RECEIVABLE', invoiceId).filter((entry) => entry.isRounding);
  return zero.minus(sum(settled.map(({ amount }) => amount)));
}

function smaller(one: Decimal, other: Decimal): Decimal {
  return one.lt(other) ? one : other;
}

/** Enters a void, of 0.00 if only the lines of the invoice are not zero: the journal takes them back by it. */
export function enterVoid(plan: Plan, change: PendingChange<'Invoice'>): void {
  const { total, lines, voidReason } = change.values;
  if (lines.every(({ amount, taxAmount }) => amount.eq(zero) && taxAmount.eq(zero))) return;
  enterChange(plan, change, 'VOID', zero.minus(total), { undoes: 'INVOICE', reason: voidReason, isRounding: false });
}

function writtenOff({ values, previous }: PendingChange<'Invoice'>): Decimal {
  return values.amountWrittenOff.minus(previous?.amountWrittenOff ?? zero);
}

/** What an entry says beside its amount. */
interface EnteredChange {
  /** The kind of the entry that is undone, if any. */
  readonly undoes?: Kind;
  readonly reason: string | null;
  readonly isRounding: boolean;
}

function enterChange(
  plan: Plan,
  { id, values, input }: PendingChange<'Invoice'>,
  kind: Kind,
  amount: Decimal,
  { undoes, reason, isRounding }: EnteredChange,
): void {
  if (amount.eq(zero) && kind !== 'VOID') return;
  const entries = entriesOf(plan, 'RECEIVABLE', id);
  const ofKind = entries.filter((entry) => entry.isRounding === isRounding);
  const undone = undoes === undefined ? undefined : lastOf(ofKind, undoes);
  const dated = { clientId: values.clientId, given: input.changeDate, change: amount, entries };
  // An invoice of 0.00 has no entry that is undone.
  const businessDate = dayOfChange(plan, { ...dated, undone: undone ?? { businessDate: values.invoiceDate } });
  const undoing = { reversesId: undone?.id ?? null, reason, isRounding };
  enter(plan, { ...receivableOf(values), ...undoing, kind, amount, businessDate });
}

function receivableOf({ id, clientId, currency, dueDate }: Row<'Invoice'>) {
  return { account: 'RECEIVABLE', clientId, currency, dueDate, invoiceId: id } as const;
}
