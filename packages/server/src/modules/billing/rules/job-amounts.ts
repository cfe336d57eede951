import { valuesWith } from '../../../contract/values-with.ts';
import type { Row } from '../../../entity/row.ts';
import { type Decimal, sum, zero } from '../../../platform/decimal.ts';
import { shareOf } from './relief.ts';

/** An amount that a line bills a job; null for lines without a job. */
export interface JobAmount {
  readonly jobId: string | null;
  readonly amount: Decimal;
}

/** A line, and what it takes from the work that it bills. */
export interface BilledLine extends JobAmount {
  readonly lineType: string;
  readonly work: readonly { readonly jobId: string; readonly billed: Decimal }[];
}

/** What the lines of an invoice bill a job. */
export interface JobBilling {
  readonly billed: Decimal;
  /** The part that is a fee, and that part of it which bills no work. */
  readonly fee: Decimal;
  readonly feeWithoutWork: Decimal;
}

/** The types of lines that bill a fee. */
const feeTypes = valuesWith<Row<'Invoice'>['lines'][number]['lineType']>({
  ...{ FIXED_FEE: true, PROGRESS: true },
  ...{ TIME: false, EXPENSE: false, DISCOUNT: false, INTEREST: false, OTHER: false },
});

export function isFee({ lineType }: Pick<BilledLine, 'lineType'>): boolean {
  return feeTypes.includes(lineType);
}

/** Returns what a line bills its job or, without one, each job of its work, in the order of their IDs. */
export function jobAmountsOf({ jobId, amount, work }: Omit<BilledLine, 'lineType'>): JobAmount[] {
  if (jobId !== null || work.length === 0) return [{ jobId, amount }];
  return [...Map.groupBy(work, (row) => row.jobId)]
    .map(([id, rows]) => ({ jobId: id, amount: sum(rows.map(({ billed }) => billed)) }))
    .sort((one, other) => (one.jobId < other.jobId ? -1 : 1));
}

/**
 * Calculates what the lines of an invoice bill each job. Discounts without a job are spread over the other lines in proportion to
 * their amounts; the last one takes the rest.
 */
export function jobBilling(lines: readonly BilledLine[], currency: string): ReadonlyMap<string, JobBilling> {
  const parts = lines.flatMap((line) => jobAmountsOf(line).map((part) => ({ ...part, line })));
  const isDiscount = ({ line }: { readonly line: BilledLine }) => line.lineType === 'DISCOUNT';
  const [discounts, others] = [parts.filter(isDiscount), parts.filter((part) => !isDiscount(part))];
  const common = sum(discounts.filter(({ jobId }) => jobId === null).map(({ amount }) => amount));
  const amounts = others.map(({ amount }) => amount);
  const shares = sum(amounts).eq(zero) ? [] : shareOf(common, amounts, currency);
  const billed = [
    ...others.map((part, index) => ({ ...part, discount: shares[index] ?? zero })),
    ...discounts.map((part) => ({ ...part, discount: zero })),
  ];
  const ofJobs = new Map<string, JobBilling>();
  for (const [jobId, ofJob] of Map.groupBy(billed, (part) => part.jobId)) {
    if (jobId === null) continue;
    const fees = ofJob.filter(({ line }) => isFee(line));
    ofJobs.set(jobId, {
      billed: sum(ofJob.map(({ amount, discount }) => amount.plus(discount))),
      fee: sum(fees.map(({ amount }) => amount)),
      feeWithoutWork: sum(fees.filter(({ line }) => line.work.length === 0).map(({ amount }) => amount)),
    });
  }
  return ofJobs;
}
