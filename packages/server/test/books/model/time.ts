import { cents, divideToUnits, total, unitOf } from '../cents.ts';
import type { BooksRequest } from '../requests.ts';
import { dayOfChange, enter, entriesOf, lastOf } from './ledger.ts';
import { mustMove } from './machine.ts';
import { currencyOf, found, type ModelBooks, must, type TimeRow } from './rows.ts';
import { newWork, signOf } from './work.ts';

type Request<Kind extends BooksRequest['kind']> = BooksRequest & { readonly kind: Kind };

const fullDay = 2400n;

export function recordTime(books: ModelBooks, { ref, hours, ...request }: Request<'time'>): void {
  const { jobId, taskId, workDate, isBillable, status, reverses } = request;
  const entry: TimeRow = { jobId, taskId, workDate, isBillable, reverses, hours: cents(hours), status };
  mustTakeBackWhatIsLeft(books, ref, entry);
  must(reverses === null ? entry.hours > 0n && entry.hours <= fullDay : entry.hours < 0n);
  mustBeOpen(books, jobId);
  mustKeepDay(books, ref, entry);
  books.rows.entries.set(ref, entry);
}

export function changeHours(books: ModelBooks, { ref, hours }: Request<'hours'>): void {
  const entry = found(books.rows.entries, ref);
  const changed = { ...entry, hours: cents(hours) };
  if (changed.hours === entry.hours) return;
  must(entry.status !== 'APPROVED');
  mustKeepDay(books, ref, changed);
  books.rows.entries.set(ref, changed);
}

export function moveEntry(books: ModelBooks, { ref, to }: Request<'moveEntry'>, madeRef: () => string): void {
  const { rows, firm } = books;
  const entry = found(rows.entries, ref);
  if (entry.status === to) return;
  const work = [...rows.wips].find(([, row]) => row.entry === ref && row.status !== 'REVERSED');
  const wipIsOpen = work === undefined || work[1].status === 'OPEN';
  mustMove('EntryStatus', entry.status, to, { ...decided, wipIsOpen });
  must(entry.status !== 'APPROVED' || reversalsOf(books, ref).length === 0);
  const moved = { ...entry, status: to };
  mustTakeBackWhatIsLeft(books, ref, moved);
  mustKeepDay(books, ref, moved);
  if (to !== 'REJECTED') mustBeOpen(books, entry.jobId);
  if (entry.status === 'APPROVED' && work !== undefined) {
    const [wip, row] = work;
    const entries = entriesOf(books, 'WIP', wip);
    const undone = lastOf(entries, 'WORK');
    const change = -row.amount;
    const businessDate = dayOfChange(books, { given: null, change, entries, undone, sign: signOf(row) });
    const of = { account: 'WIP', owner: wip, clientId: row.clientId } as const;
    enter(books, { ...of, kind: 'WORK_REVERSED', amount: change, businessDate, reverses: undone ?? null });
    row.status = 'REVERSED';
  }
  if (to === 'APPROVED') {
    const job = found(rows.jobs, entry.jobId);
    if (job.status === 'PLANNED' || job.status === 'READY') job.status = 'IN_PROGRESS';
    const currency = currencyOf(books, found(firm.clientOfJob, entry.jobId));
    const amount = divideToUnits(entry.hours * firm.hourlyRate, 100n, unitOf(currency));
    if (entry.isBillable) newWork(books, madeRef(), { ...entry, amount, entry: ref });
  }
  rows.entries.set(ref, moved);
}

/** Conditions that the requests of walks meet. */
const decided = { approverIsNotAuthor: true, dayReached: true, rateExists: true };

export function removeEntry({ rows }: ModelBooks, { ref }: Request<'removeEntry'>): void {
  const { status } = found(rows.entries, ref);
  must(status === 'DRAFT' || status === 'REJECTED');
  rows.entries.delete(ref);
}

/** Whether an entry of the job is a draft or waits for approval. */
export function hasUnapproved({ rows }: ModelBooks, jobId: string): boolean {
  return [...rows.entries.values()].some(
    (one) => one.jobId === jobId && (one.status === 'DRAFT' || one.status === 'SUBMITTED'),
  );
}

function mustBeOpen({ rows }: ModelBooks, jobId: string): void {
  must(!['CLOSED', 'CANCELLED'].includes(found(rows.jobs, jobId).status));
}

/** Reversals of one entry reverse at most its hours, and only while it is approved. */
function mustTakeBackWhatIsLeft(books: ModelBooks, ref: string, { reverses, hours, status }: TimeRow): void {
  if (reverses === null) return;
  const original = found(books.rows.entries, reverses);
  must(original.status === 'APPROVED' && original.reverses === null);
  must(status === 'REJECTED' || original.hours + hours + total(reversalsOf(books, reverses, ref)) >= 0n);
}

/** The hours of the active reversals of an entry, except one. */
function reversalsOf({ rows }: ModelBooks, ref: string, except?: string): bigint[] {
  return [...rows.entries]
    .filter(([other, one]) => one.reverses === ref && other !== except && one.status !== 'REJECTED')
    .map(([, { hours }]) => hours);
}

/** A day has at most 24 hours; a reversal of an entry of another day does not count. */
function mustKeepDay({ rows }: ModelBooks, ref: string, entry: TimeRow): void {
  const makesRoom = (one: TimeRow) =>
    one.reverses === null || found(rows.entries, one.reverses).workDate === one.workDate;
  const others = [...rows.entries].filter(([other]) => other !== ref).map(([, one]) => one);
  const ofDay = [...others, entry].filter(
    (one) => one.workDate === entry.workDate && one.status !== 'REJECTED' && makesRoom(one),
  );
  must(total(ofDay.map(({ hours }) => hours)) <= fullDay);
}
