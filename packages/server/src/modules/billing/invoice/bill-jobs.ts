import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import { type Decimal, sum, zero } from '../../../platform/decimal.ts';
import { shareOf } from '../draft/relief.ts';
import { invoice } from './invoice.ts';
import { type InvoiceLine, isFee } from './invoice-lines.ts';

/** An amount that a line bills a job; null for lines without a job. */
export interface JobAmount {
  readonly jobId: string | null;
  readonly amount: Decimal;
}

interface Part extends JobAmount {
  readonly line: InvoiceLine;
  readonly discount: Decimal;
}

/**
 * Stores what an invoice bills each job. The database adds it to the sums of the jobs, until the invoice is voided.
 *
 * @param amountsOf the jobs of a line: its own, or those of its work
 */
export function billJobs(
  plan: Plan,
  { id, currency, lines }: Pick<Row<'Invoice'>, 'id' | 'currency' | 'lines'>,
  amountsOf: (line: InvoiceLine) => readonly JobAmount[],
): void {
  const ofLines = lines.flatMap((line) => amountsOf(line).map((amount) => ({ ...amount, line })));
  const parts = withDiscounts(ofLines, currency);
  for (const [jobId, ofJob] of Map.groupBy(parts, (part) => part.jobId)) {
    if (jobId === null) continue;
    const fees = ofJob.filter(({ line }) => isFee(line));
    const text = (some: readonly Part[]) => sum(some.map(({ amount }) => amount)).toFixed(2);
    plan.insertPlain({
      entity: invoice,
      table: 'invoice_billing',
      key: { invoice_id: id, job_id: jobId },
      columns: {
        billed: sum(ofJob.map(({ amount, discount }) => amount.plus(discount))).toFixed(2),
        fee: text(fees),
        fee_without_work: text(fees.filter(({ line }) => line.wipIds.length === 0)),
      },
    });
  }
}

/** Spreads the discounts without a job over the other lines in proportion to their amounts. The last one takes the rest. */
function withDiscounts(parts: readonly Omit<Part, 'discount'>[], currency: string): Part[] {
  const [discounts, others] = [parts.filter(isDiscount), parts.filter((part) => !isDiscount(part))];
  const common = sum(discounts.filter(({ jobId }) => jobId === null).map(({ amount }) => amount));
  const amounts = others.map(({ amount }) => amount);
  const shares = sum(amounts).eq(zero) ? [] : shareOf(common, amounts, currency);
  return [
    ...others.map((part, index) => ({ ...part, discount: shares[index] ?? zero })),
    ...discounts.filter(({ jobId }) => jobId !== null).map((part) => ({ ...part, discount: zero })),
  ];
}

function isDiscount({ line }: Pick<Part, 'line'>): boolean {
  return line.lineType === 'DISCOUNT';
}
