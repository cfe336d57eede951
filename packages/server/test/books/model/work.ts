import { type Cents, cents, halfOf, total } from '../cents.ts';
import type { BooksRequest } from '../requests.ts';
import { isUntouched, outstandingOf } from './balances.ts';
import { dayOfChange, enter, entriesOf, firstDayFor, firstOpenDay, lastOf, latest } from './ledger.ts';
import { areMet, type Conditions, transitionsOf } from './machine.ts';
import {
  currencyOf,
  found,
  type InvoiceRow,
  type ModelBooks,
  must,
  mustBeInUnits,
  type Relief,
  type WipRow,
} from './rows.ts';

type Request<Kind extends BooksRequest['kind']> = BooksRequest & { readonly kind: Kind };
type NewWork = Pick<WipRow, 'jobId' | 'workDate' | 'amount' | 'entry'>;

export function newWork(books: ModelBooks, ref: string, { jobId, workDate, amount, entry }: NewWork): void {
  const clientId = found(books.firm.clientOfJob, jobId);
  const empty = { billed: 0n, up: 0n, off: 0n, status: 'OPEN', draft: null };
  books.rows.wips.set(ref, { jobId, clientId, entry, workDate, amount, ...empty });
  enter(books, { account: 'WIP', owner: ref, clientId, kind: 'WORK', amount, businessDate: workDate });
}

export function addWork(books: ModelBooks, { ref, jobId, wipType, workDate, amount }: Request<'wip'>): void {
  must(wipType !== 'FIXED_FEE' || cents(amount) >= 0n);
  must(!['CLOSED', 'CANCELLED'].includes(found(books.rows.jobs, jobId).status));
  const clientId = found(books.firm.clientOfJob, jobId);
  must(books.rows.clients.get(clientId)?.status !== 'ARCHIVED');
  mustBeInUnits(cents(amount), currencyOf(books, clientId));
  newWork(books, ref, { jobId, workDate, amount: cents(amount), entry: null });
}

/** Writes a row off, or undoes that in part. */
export function writeOffWork(books: ModelBooks, { ref, amount, changeDate }: Request<'writeOffWip'>): void {
  const row = found(books.rows.wips, ref);
  const off = cents(amount);
  if (off === row.off) return;
  must(['OPEN', 'PARTIALLY_BILLED', 'WRITTEN_OFF'].includes(row.status));
  must(changeDate === null || changeDate >= row.workDate);
  mustBeInUnits(off, currencyOf(books, row.clientId));
  const isAll = off === row.off + outstandingOf(row);
  const least = writtenDown(books, ref);
  must(isAll || (least <= row.off ? off >= least && off <= row.off : off <= least && off >= row.off));
  const [account, change] = ['WIP', row.off - off] as const;
  const entries = entriesOf(books, account, ref);
  const undone = isAll ? undefined : lastOf(entries, 'WRITE_OFF');
  const businessDate = dayOfChange(books, { given: changeDate, change, entries, undone, sign: signOf(row) });
  const [kind, reverses] = [isAll ? 'WRITE_OFF' : 'RECOVERY', undone ?? null];
  enter(books, { account, owner: ref, clientId: row.clientId, kind, amount: change, businessDate, reverses });
  row.off = off;
  row.status = isAll ? 'WRITTEN_OFF' : isUntouched(row) ? 'OPEN' : 'PARTIALLY_BILLED';
}

/** The conditions under which the amount that is written off changes to another. */
export function workConditions(row: WipRow, off: Cents): Conditions {
  const isLowered = off !== row.off && off !== row.off + outstandingOf(row);
  const isUndone = isLowered && isUntouched({ ...row, off });
  return {
    outstandingWrittenOff: outstandingOf(row) !== 0n && off === row.off + outstandingOf(row),
    writeOffUndone: isUndone,
    writeOffLowered: isLowered && !isUndone,
  };
}

/** The amounts that can be written off of a row, each by a transition that the contract declares to a status. */
export function writeOffsOf(books: ModelBooks, ref: string): { readonly off: Cents; readonly to: string }[] {
  const row = found(books.rows.wips, ref);
  const least = writtenDown(books, ref);
  const amounts = new Set([
    row.off + outstandingOf(row),
    least,
    least + halfOf(row.off - least, currencyOf(books, row.clientId)),
  ]);
  return [...amounts].flatMap((off) =>
    transitionsOf('WipEntryStatus')
      .filter((one) => one.events === undefined && one.from.includes(row.status))
      .filter((one) => areMet('WipEntryStatus', one, workConditions(row, off)))
      .map(({ to }) => ({ off, to })),
  );
}

/** The amount that invoices wrote down. */
function writtenDown({ rows }: ModelBooks, ref: string): Cents {
  const valid = [...rows.invoices.values()].filter(({ status }) => status !== 'VOIDED');
  return total(valid.flatMap(({ reliefs }) => reliefs.filter(({ wipId }) => wipId === ref).map(({ off }) => off)));
}

/** Takes what an invoice bills from its rows, as of its date or the first later day on which there was as much work. */
export function relieveWork(books: ModelBooks, invoice: string, { invoiceDate, reliefs }: InvoiceRow): void {
  for (const { wipId, billed, up, off } of reliefs) {
    const row = found(books.rows.wips, wipId);
    const entries = entriesOf(books, 'WIP', wipId);
    const worked = entries.map(({ businessDate }) => businessDate).sort()[0] ?? '';
    const from = latest(invoiceDate, worked, firstOpenDay(books));
    const businessDate = firstDayFor(from, up - off - billed, entries, signOf(row));
    const of = { account: 'WIP', owner: wipId, clientId: row.clientId, invoice, businessDate } as const;
    enter(books, { ...of, kind: 'WRITE_UP', amount: up });
    enter(books, { ...of, kind: 'WRITE_DOWN', amount: -off });
    enter(books, { ...of, kind: 'BILLED', amount: -billed });
    Object.assign(row, { billed: row.billed + billed, up: row.up + up, off: row.off + off });
    row.status = outstandingOf(row) === 0n ? 'BILLED' : 'PARTIALLY_BILLED';
  }
}

/** Gives back what a voided invoice billed. What was written off since then remains written off. */
export function returnWork(books: ModelBooks, invoice: string, reliefs: readonly Relief[], given: string | null): void {
  for (const { wipId, billed, up, off } of reliefs) {
    const row = found(books.rows.wips, wipId);
    Object.assign(row, { billed: row.billed - billed, up: row.up - up, off: row.off - off });
    row.status = isUntouched(row) ? 'OPEN' : 'PARTIALLY_BILLED';
    const entries = entriesOf(books, 'WIP', wipId);
    const change = billed - up + off;
    const undone = (kind: string) => lastOf(entries, kind, { invoice });
    const dated = { given, change, entries, undone: undone('BILLED'), sign: signOf(row) };
    const of = {
      account: 'WIP',
      owner: wipId,
      clientId: row.clientId,
      businessDate: dayOfChange(books, dated),
    } as const;
    enter(books, { ...of, invoice, kind: 'UNBILLED', amount: billed, reverses: undone('BILLED') ?? null });
    enter(books, { ...of, invoice, kind: 'WRITE_UP', amount: -up, reverses: undone('WRITE_UP') ?? null });
    enter(books, { ...of, invoice, kind: 'WRITE_DOWN', amount: off, reverses: undone('WRITE_DOWN') ?? null });
  }
}

export function signOf({ amount }: Pick<WipRow, 'amount'>): 1 | -1 {
  return amount < 0n ? -1 : 1;
}
