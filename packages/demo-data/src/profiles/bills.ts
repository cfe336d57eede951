import { dateText, instantAt, isWeekday, startOfPeriod, yearOf } from './calendar.ts';
import type { Firm } from './firm.ts';
import type { JobSeed } from './jobs.ts';
import type { ClientSeed } from './parties.ts';
import { writeDownReasons, writeOffReasons } from './practice.ts';
import { Random } from './random.ts';
import { rowId } from './row-id.ts';
import type { Work, WorkKind } from './time.ts';

/** A line that bills work, or another charge. */
export interface BillLine {
  readonly lineType: WorkKind | 'OTHER' | 'DISCOUNT';
  readonly description: string;
  /** In cents. */
  readonly amount: number;
  readonly tax: number;
  /** Indexes in `Work`. */
  readonly work: readonly number[];
  /** Whether the work is done with, whatever was billed for it. */
  readonly relief: 'FULL' | 'PART';
}

/** A draft, and the invoice that was created from it. */
export interface Bill {
  readonly number: number;
  readonly draftId: string;
  /** Undefined if the draft is not approved yet. */
  readonly invoiceId: string | undefined;
  /** Numbered per year, without gaps. */
  readonly invoiceNumber: string;
  readonly draftStatus: 'DRAFT' | 'IN_REVIEW' | 'REJECTED' | 'POSTED';
  readonly client: number;
  readonly jobId: string;
  readonly day: number;
  readonly dueDay: number;
  readonly lines: readonly BillLine[];
  /** In thousandths of a percent. */
  readonly taxRate: number;
  /** The standard value of the work, in cents. */
  readonly standard: number;
  readonly total: number;
  /** Voiding an invoice reopens its work, which a closed job cannot have. */
  readonly mayBeVoided: boolean;
  /** Why the work was billed at much less than its standard value. */
  readonly writeDownReason: string | undefined;
  /** What a credit note credits; its total is negative. */
  readonly credited?: Bill;
}

/** Work that is not billed. */
export interface WriteOff {
  readonly day: number;
  readonly reason: string;
}

/**
 * The amounts that an invoice took from each row of work, by index in `Work`; undefined if a draft only reserves the row.
 */
export interface Billed {
  readonly bill: Bill;
  readonly billed: number;
}

const draftStatuses = ['DRAFT', 'IN_REVIEW', 'REJECTED'] as const;

/** Creates the bills for the work of every job, period by period. */
export function createBills(
  firm: Firm,
  clients: readonly ClientSeed[],
  jobs: readonly JobSeed[],
  work: Work,
  firstNumbers: ReadonlyMap<number, number>,
): {
  readonly bills: readonly Bill[];
  readonly billed: Map<number, Billed>;
  /** By index in `Work`. */
  readonly writtenOff: ReadonlyMap<number, WriteOff>;
  readonly lastNumbers: ReadonlyMap<number, number>;
} {
  const { today } = firm.span;
  const random = new Random(5);
  const jobOf = (index: number) => {
    const job = jobs[work.jobs[index] ?? 0];
    if (job === undefined) throw new Error('The work has no job.');
    return job;
  };
  // The recurring fee of the current period is not billed yet.
  const due = [...work.jobs.keys()].filter(
    (index) => work.kinds[index] !== 'FIXED_FEE' || jobOf(index).billingType !== 'RECURRING',
  );
  const dated = [...Map.groupBy(due, (index) => periodOf(jobOf(index), work, index)).values()].map((rows) => {
    const job = jobOf(rows[0] ?? 0);
    return { rows, job, day: billingDay(random, job, work, rows) };
  });
  // Numbers are in date order.
  dated.sort((one, other) => one.day - other.day || (one.job.id < other.job.id ? -1 : 1));
  const numbers = new Map(firstNumbers);
  const bills: Bill[] = [];
  const billed = new Map<number, Billed>();
  const writtenOff = new Map<number, WriteOff>();
  let drafts = 0;
  for (const { rows: all, job, day: due } of dated) {
    // Drafts are what is billed in the next days, and at least one in each status.
    if (due >= today && due > today + 5 && drafts >= draftStatuses.length) continue;
    const draftStatus = due < today ? 'POSTED' : (draftStatuses[drafts++ % draftStatuses.length] ?? 'DRAFT');
    const day = Math.min(due, today - 1);
    const number = bills.length;
    const client = clients[job.client];
    const taxRate = firm.taxRegions[client?.regionIndex ?? 0]?.rate ?? 0;
    // Some work is not worth billing.
    const dropped =
      draftStatus === 'POSTED' && random.chance(0.06) ? all.findLast((row) => work.kinds[row] === 'TIME') : undefined;
    const rows = all.length > 3 ? all.filter((row) => row !== dropped) : all;
    if (dropped !== undefined && rows.length < all.length)
      writtenOff.set(dropped, { day, reason: random.pick(writeOffReasons) });
    const { lines, standard } = linesOf(random, { work, job, rows, taxRate, number, day });
    const total = lines.reduce((sum, line) => sum + line.amount + line.tax, 0);
    const isPosted = draftStatus === 'POSTED';
    const year = yearOf(day);
    const place = (numbers.get(year) ?? 0) + 1;
    if (isPosted) numbers.set(year, place);
    const bill: Bill = {
      number,
      draftId: rowId(50, number, instantAt(day, 16) + (number % 100_000)),
      invoiceId: isPosted ? rowId(51, number, instantAt(day, 18) + (number % 100_000)) : undefined,
      invoiceNumber: isPosted ? `INV-${year}-${String(place).padStart(5, '0')}` : '',
      draftStatus,
      client: job.client,
      jobId: job.id,
      day,
      dueDay: day + (client?.paymentTermsDays ?? 30),
      lines,
      taxRate,
      standard,
      total,
      mayBeVoided: job.status !== 'CLOSED',
      writeDownReason: billedOf(lines) < standard * 0.8 ? random.pick(writeDownReasons) : undefined,
    };
    bills.push(bill);
    for (const line of lines)
      for (const [index, amount] of sharesOf(work, line)) billed.set(index, { bill, billed: isPosted ? amount : 0 });
  }
  return { bills, billed, writtenOff, lastNumbers: numbers };
}

function billedOf(lines: readonly BillLine[]): number {
  return lines.reduce((sum, line) => sum + (line.work.length > 0 ? line.amount : 0), 0);
}

/** Whether a job is billed by month or quarter, and not at its end. */
function isPeriodic({ billingType, hours, workStart, end }: JobSeed): boolean {
  return billingType === 'RECURRING' || (billingType === 'TIME_AND_MATERIALS' && hours > 60 && end - workStart > 45);
}

const monthsOf = ({ kind }: JobSeed) => (kind.schedule === 'QUARTERLY' ? 3 : 1);

/** Returns what work is grouped by for bills. */
function periodOf(job: JobSeed, work: Work, index: number): string {
  if (isPeriodic(job)) return `${job.id} ${startOfPeriod(work.days[index] ?? 0, monthsOf(job))}`;
  // A part of the fee is billed in advance.
  return `${job.id} ${job.billingType === 'FIXED_FEE' && work.kinds[index] === 'FIXED_FEE' ? 'advance' : 'end'}`;
}

/** Returns the day on which work is billed: some days after the month, the quarter or the job. */
function billingDay(random: Random, job: JobSeed, work: Work, rows: readonly number[]): number {
  const first = rows[0] ?? 0;
  const isAdvance = job.billingType === 'FIXED_FEE' && work.kinds[first] === 'FIXED_FEE';
  const periodEnd = startOfPeriod(work.days[first] ?? 0, monthsOf(job), 1);
  let day = isAdvance
    ? (work.days[first] ?? 0) + 2
    : job.billingType === 'RECURRING'
      ? periodEnd + random.below(4)
      : (isPeriodic(job) ? Math.min(periodEnd, job.end) : job.end) + random.between(5, 22);
  while (!isWeekday(day)) day++;
  return day;
}

interface BillSeed {
  readonly work: Work;
  readonly job: JobSeed;
  readonly rows: readonly number[];
  readonly taxRate: number;
  readonly number: number;
  readonly day: number;
}

/**
 * A line for the time, at 86 percent of standard on average or at the fee, and one for each other kind of work in full; some
 * bills have a charge, and a few have a total of zero.
 */
function linesOf(
  random: Random,
  { work, job, rows, taxRate, number, day }: BillSeed,
): { readonly lines: BillLine[]; readonly standard: number } {
  const taxed = (amount: number) => Math.sign(amount) * Math.floor((Math.abs(amount) * taxRate) / 100_000 + 0.5);
  const amountOf = (of: readonly number[]) => of.reduce((sum, row) => sum + (work.amounts[row] ?? 0), 0);
  const share = 0.72 + random.next() * 0.28;
  const lines: BillLine[] = [];
  const add = (lineType: BillLine['lineType'], description: string, amount: number, more: Partial<BillLine> = {}) =>
    lines.push({ lineType, description, amount, tax: taxed(amount), work: [], relief: 'FULL', ...more });
  for (const [kind, billed] of Map.groupBy(rows, (row) => work.kinds[row] ?? 'TIME')) {
    const full = amountOf(billed);
    if (kind === 'TIME' && job.fee !== undefined)
      add('FIXED_FEE', `${job.name}: agreed fee`, job.fee, { work: billed });
    else if (kind === 'TIME')
      add('TIME', `${job.name}: services through ${dateText(day)}`, Math.round(full * share), { work: billed });
    else if (kind === 'EXPENSE') add('EXPENSE', `${job.name}: expenses`, full, { work: billed });
    else {
      const label = kind === 'FIXED_FEE' ? 'fee in advance' : 'less fee in advance';
      add(kind, `${job.name}: ${label}`, full, { work: billed, relief: 'PART' });
    }
  }
  if (random.chance(0.1)) add('OTHER', 'Filing fee', 7_500);
  // One bill has the maximum number of lines, and one in four thousand has a total of zero.
  if (number === 40) for (let line = 1; line < 400; line++) add('OTHER', `Copy ${line}`, 25);
  if (number % 4_000 === 41 && taxRate === 0)
    add('DISCOUNT', 'Courtesy', -lines.reduce((sum, line) => sum + line.amount, 0), { tax: 0 });
  return { lines, standard: amountOf(rows) };
}

/** Divides the amount of a line among its rows of work, in proportion; the last one takes the remaining cents. */
export function sharesOf(work: Work, line: BillLine): [index: number, cents: number][] {
  const standard = line.work.reduce((sum, row) => sum + (work.amounts[row] ?? 0), 0);
  let left = line.amount;
  return line.work.map((row, place) => {
    const isLast = place === line.work.length - 1;
    const share = isLast ? left : standard === 0 ? 0 : Math.floor((line.amount * (work.amounts[row] ?? 0)) / standard);
    left -= share;
    return [row, share];
  });
}
