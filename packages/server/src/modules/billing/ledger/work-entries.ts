import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import { addRules, type PendingChange } from '../../../entity/rules.ts';
import { type Decimal, zero } from '../../../platform/decimal.ts';
import { outstandingOf, wipEntry } from '../../time/index.ts';
import { firstDayFor } from '../rules/entry-day.ts';
import { dayOfChange, type Entry, enter, entriesOf, firstOpenDay, type Kind, lastOf, later } from './enter.ts';

type WipRow = Row<'WipEntry'>;

/** What an invoice takes from a row of work, or gives back. */
interface Relief {
  readonly billed: Decimal;
  readonly writeUp: Decimal;
  readonly writeOff: Decimal;
}

addRules(wipEntry, {
  afterWrite(change, plan) {
    const { values, previous } = change;
    if (previous === undefined) enterMove(plan, values, 'WORK', values.amount, values.workDate);
    else if (change.by === 'caller') enterChange(plan, change, previous);
    // The other changes by the service are those of invoices, which enter them.
    else if (values.status === 'REVERSED') enterWithdrawal(plan, previous);
  },
});

/** Enters that the approval of the entry of a row was withdrawn. */
function enterWithdrawal(plan: Plan, row: WipRow): void {
  enterChangeOf(plan, row, 'WORK_REVERSED', zero.minus(outstandingOf(row)), 'WORK', undefined, null);
}

/** Enters what a caller changes of work in progress: other work, or how much of it is written off. */
function enterChange(plan: Plan, { values, input }: PendingChange<'WipEntry'>, previous: WipRow): void {
  if (isOtherWork(previous, values)) correctWork(plan, previous, values);
  const more = zero.minus(values.writeOffAmount.minus(previous.writeOffAmount));
  const { changeDate, changeReason = null } = input;
  if (values.status === 'WRITTEN_OFF')
    enterChangeOf(plan, values, 'WRITE_OFF', more, undefined, changeDate, values.writeOffReason);
  else enterChangeOf(plan, values, 'RECOVERY', more, 'WRITE_OFF', changeDate, changeReason);
}

/** @param undoes the kind of entries of which the last one is undone */
function enterChangeOf(
  plan: Plan,
  row: WipRow,
  kind: Kind,
  amount: Decimal,
  undoes: Kind | undefined,
  given: string | null | undefined,
  reason: string | null,
): void {
  if (amount.eq(zero)) return;
  const entries = entriesOf(plan, 'WIP', row.id);
  const undone = undoes === undefined ? undefined : lastOf(entries, undoes);
  const day = dayOfChange(plan, { clientId: row.clientId, given, change: amount, entries, undone, sign: signOf(row) });
  enterMove(plan, row, kind, amount, day, { reversesId: undone?.id ?? null, reason });
}

/** Reads the entries of rows of work together. */
export function readEntries(plan: Plan, ids: Iterable<string>): void {
  plan.each([...ids], (id) => entriesOf(plan, 'WIP', id));
}

/** Enters what a new invoice takes from a row of work: as of its date, or the day from which there was as much work. */
export function enterBilling(plan: Plan, row: WipRow, bill: Row<'Invoice'>, relief: Relief): void {
  const { billed, writeUp, writeOff } = relief;
  const entries = entriesOf(plan, 'WIP', row.id);
  const change = writeUp.minus(writeOff).minus(billed);
  const from = [bill.invoiceDate, firstDayOf(entries), firstOpenDay(plan, row)].reduce(later);
  const day = firstDayFor(from, change, entries, signOf(row));
  const of = { invoiceId: bill.id };
  enterMove(plan, row, 'WRITE_UP', writeUp, day, of);
  enterMove(plan, row, 'WRITE_DOWN', zero.minus(writeOff), day, of);
  enterMove(plan, row, 'BILLED', zero.minus(billed), day, of);
}

/** Enters what a voided invoice gives back to a row of work. */
export function enterUnbilling(
  plan: Plan,
  row: WipRow,
  invoiceId: string,
  relief: Relief,
  given: string | null | undefined,
): void {
  const { billed, writeUp, writeOff } = relief;
  const entries = entriesOf(plan, 'WIP', row.id);
  const undone = (kind: Kind) => lastOf(entries, kind, { invoiceId });
  const change = billed.minus(writeUp).plus(writeOff);
  const dated = { clientId: row.clientId, given, change, entries, undone: undone('BILLED'), sign: signOf(row) };
  const day = dayOfChange(plan, dated);
  const reversing = (kind: Kind) => ({ invoiceId, reversesId: undone(kind)?.id ?? null });
  enterMove(plan, row, 'UNBILLED', billed, day, reversing('BILLED'));
  enterMove(plan, row, 'WRITE_UP', zero.minus(writeUp), day, reversing('WRITE_UP'));
  enterMove(plan, row, 'WRITE_DOWN', writeOff, day, reversing('WRITE_DOWN'));
}

function enterMove(
  plan: Plan,
  { id, clientId, jobId, staffId, currency, workDate }: WipRow,
  kind: Kind,
  amount: Decimal,
  businessDate: string,
  more: { readonly invoiceId?: string; readonly reversesId?: string | null; readonly reason?: string | null } = {},
): void {
  const of = { account: 'WIP', clientId, jobId, staffId, currency, wipEntryId: id, workDate } as const;
  enter(plan, { ...of, kind, amount, businessDate, ...more });
}

/** Replaces the entry of work that is not billed yet, on its own day, so that figures as of any day agree with the row. */
function correctWork(plan: Plan, previous: WipRow, values: WipRow): void {
  const undone = lastOf(entriesOf(plan, 'WIP', values.id), 'WORK');
  const day = undone?.businessDate ?? previous.workDate;
  enterMove(plan, previous, 'WORK_REVERSED', zero.minus(previous.amount), day, { reversesId: undone?.id ?? null });
  enterMove(plan, values, 'WORK', values.amount, values.workDate);
}

function isOtherWork(previous: WipRow, values: WipRow): boolean {
  const { amount, workDate, staffId } = previous;
  return !amount.eq(values.amount) || workDate !== values.workDate || staffId !== values.staffId;
}

function signOf({ amount }: WipRow): 1 | -1 {
  return amount.lt(zero) ? -1 : 1;
}

/** The day of the first entry; none is later than any day. */
function firstDayOf(entries: readonly Entry[]): string {
  return entries.map(({ businessDate }) => businessDate).sort()[0] ?? '';
}
