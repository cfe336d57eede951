import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import type { PendingChange } from '../../../entity/rules.ts';
import { type Decimal, zero } from '../../../platform/decimal.ts';
import { dayOfChange, enter, entriesOf, type Kind, lastOf } from './enter.ts';

/** Enters the total of an invoice that counts from now on, as of its date. */
export function enterReceivable(plan: Plan, bill: Row<'Invoice'>): void {
  enter(plan, { ...receivableOf(bill), kind: 'INVOICE', amount: bill.total, businessDate: bill.invoiceDate });
}

/** Enters that a part of the amount due is written off. */
export function enterWriteOff(plan: Plan, change: PendingChange<'Invoice'>): void {
  enterChange(plan, change, 'WRITE_OFF', zero.minus(writtenOff(change)), undefined, change.values.writeOffReason);
}

/** Enters that what was written off is due again. */
export function enterRecovery(plan: Plan, change: PendingChange<'Invoice'>): void {
  const { input, values } = change;
  const reason = input.changeReason ?? values.voidReason;
  enterChange(plan, change, 'RECOVERY', zero.minus(writtenOff(change)), 'WRITE_OFF', reason);
}

export function enterVoid(plan: Plan, change: PendingChange<'Invoice'>): void {
  enterChange(plan, change, 'VOID', zero.minus(change.values.total), 'INVOICE', change.values.voidReason);
}

function writtenOff({ values, previous }: PendingChange<'Invoice'>): Decimal {
  return values.amountWrittenOff.minus(previous?.amountWrittenOff ?? zero);
}

/** @param undoes the kind of the entry that is undone, if any */
function enterChange(
  plan: Plan,
  { id, values, input }: PendingChange<'Invoice'>,
  kind: Kind,
  amount: Decimal,
  undoes: Kind | undefined,
  reason: string | null,
): void {
  if (amount.eq(zero)) return;
  const entries = entriesOf(plan, 'RECEIVABLE', id);
  const undone = undoes === undefined ? undefined : lastOf(entries, undoes);
  const dated = { clientId: values.clientId, given: input.changeDate, change: amount, entries, undone };
  const businessDate = dayOfChange(plan, dated);
  enter(plan, { ...receivableOf(values), kind, amount, businessDate, reversesId: undone?.id ?? null, reason });
}

function receivableOf({ id, clientId, currency, dueDate }: Row<'Invoice'>) {
  return { account: 'RECEIVABLE', clientId, currency, dueDate, invoiceId: id } as const;
}
