import { instantAt, lastDay, yearOf } from './calendar.ts';
import type { Firm } from './firm.ts';
import type { JobSeed } from './jobs.ts';
import type { ClientSeed } from './parties.ts';
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
  readonly lines: readonly BillLine[];
  /** In thousandths of a percent. */
  readonly taxRate: number;
  /** The standard value of the work, in cents. */
  readonly standard: number;
  readonly total: number;
  /** Voiding an invoice reopens its work, which a closed job cannot have. */
  readonly mayBeVoided: boolean;
}

/**
 * The amounts that an invoice took from each row of work, by index in `Work`; undefined if a draft only reserves the row.
 */
export interface Billed {
  readonly bill: Bill;
  readonly billed: number;
}

/** Number of days of one job that are billed together. */
const billedTogether = 45;
/** Approximate number of days until work is billed. */
const waits = 30;

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
  readonly lastNumbers: ReadonlyMap<number, number>;
} {
  const periods = [...Map.groupBy(work.jobs.keys(), (index) => periodOf(jobs, work, index)).values()];
  const dated = periods.map((rows) => {
    const job = jobs[work.jobs[rows[0] ?? 0] ?? 0];
    if (job === undefined) throw new Error('The work has no job.');
    const period = Math.floor(((work.days[rows[0] ?? 0] ?? 0) - job.start) / billedTogether);
    return { rows, job, day: Math.min(job.end, job.start + (period + 1) * billedTogether) + waits };
  });
  // Numbers are in date order.
  dated.sort((one, other) => one.day - other.day || (one.job.id < other.job.id ? -1 : 1));
  const random = new Random(5);
  const numbers = new Map(firstNumbers);
  const bills: Bill[] = [];
  const billed = new Map<number, Billed>();
  for (const { rows, job, day: due } of dated) {
    if (due > lastDay + 5) continue;
    const draftStatus = due <= lastDay ? 'POSTED' : random.pick(['DRAFT', 'IN_REVIEW', 'REJECTED']);
    const day = Math.min(due, lastDay);
    const number = bills.length;
    const taxRate = firm.taxRegions[clients[job.client]?.regionIndex ?? 0]?.rate ?? 0;
    const { lines, standard } = linesOf(random, work, rows, taxRate, number);
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
      lines,
      taxRate,
      standard,
      total,
      mayBeVoided: job.status !== 'CLOSED',
    };
    bills.push(bill);
    for (const line of lines)
      for (const [index, amount] of sharesOf(work, line)) billed.set(index, { bill, billed: isPosted ? amount : 0 });
  }
  return { bills, billed, lastNumbers: numbers };
}

const descriptions: Readonly<Record<WorkKind, string>> = {
  TIME: 'Professional services',
  EXPENSE: 'Expenses',
  FIXED_FEE: 'Fee as agreed',
  PROGRESS: 'Less progress bill',
};

function periodOf(jobs: readonly JobSeed[], work: Work, index: number): number {
  const job = work.jobs[index] ?? 0;
  return job * 1000 + Math.floor(((work.days[index] ?? 0) - (jobs[job]?.start ?? 0)) / billedTogether);
}

/**
 * A line for the time, at 86 percent of standard on average, and one for each other kind of work in full; some bills have
 * a charge, and a few have a total of zero.
 */
function linesOf(
  random: Random,
  work: Work,
  rows: readonly number[],
  taxRate: number,
  number: number,
): { readonly lines: BillLine[]; readonly standard: number } {
  const taxed = (amount: number) => Math.sign(amount) * Math.floor((Math.abs(amount) * taxRate) / 100_000 + 0.5);
  const standard = rows.reduce((sum, row) => sum + (work.amounts[row] ?? 0), 0);
  const share = 0.72 + random.next() * 0.28;
  const lines: BillLine[] = [];
  for (const [lineType, billed] of Map.groupBy(rows, (row) => work.kinds[row] ?? 'TIME')) {
    const full = billed.reduce((sum, row) => sum + (work.amounts[row] ?? 0), 0);
    const amount = lineType === 'TIME' ? Math.round(full * share) : full;
    lines.push({ lineType, description: descriptions[lineType], amount, tax: taxed(amount), work: billed });
  }
  if (random.chance(0.2))
    lines.push({ lineType: 'OTHER', description: 'Filing fee', amount: 7_500, tax: taxed(7_500), work: [] });
  // One bill has the maximum number of lines, and one in four thousand has a total of zero.
  if (number === 40)
    for (let line = 1; line < 400; line++)
      lines.push({ lineType: 'OTHER', description: `Copy ${line}`, amount: 25, tax: taxed(25), work: [] });
  if (number % 4_000 === 41 && taxRate === 0) {
    const total = lines.reduce((sum, line) => sum + line.amount, 0);
    lines.push({ lineType: 'DISCOUNT', description: 'Courtesy', amount: -total, tax: 0, work: [] });
  }
  return { lines, standard };
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
