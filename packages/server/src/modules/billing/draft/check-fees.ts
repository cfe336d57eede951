import { sql } from 'kysely';
import { Rejection } from '../../../contract/rejection.ts';
import type { Lookup } from '../../../entity/loaded-rows.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import { type Decimal, parseDecimal, sum, zero } from '../../../platform/decimal.ts';
import { job } from '../../projects/index.ts';
import { wipEntry } from '../../time/index.ts';
import { invoice } from '../invoice/invoice.ts';
import type { InvoiceLine } from '../invoice/invoice-lines.ts';
import { isFee, jobAmountsOf } from '../rules/job-amounts.ts';
import { jobsOf, reliefsOf, wipIdsOf } from './billed-work.ts';

/** What invoices billed of the fees of jobs, as decimal text. */
const billedFees: Lookup<string> = {
  name: 'billed fees of jobs',
  async load(transaction, tenantId, ids) {
    const rows = await transaction.all<{ id: string; billed: string }>(sql`
      select id, billed_fee_amount::text as billed from job where tenant_id = ${tenantId} and id = any(${ids})`);
    return new Map(rows.map(({ id, billed }) => [id, billed]));
  },
};

/** @throws Rejection `FEE_EXCEEDED` if a line bills more than what remains of the fixed fee of its job. */
export function checkFees(plan: Plan, { clientId, lines }: Row<'DraftInvoice'>): void {
  if (!lines.some(isLimited)) return;
  const rows = plan.getManyForUpdate(wipEntry, wipIdsOf(lines));
  // Locked, so that two drafts cannot bill the same fee at the same time.
  const jobs = plan.getManyForUpdate(job, jobsOf(lines, rows));
  const remaining = new Map<string, Decimal>();
  for (const [index, line] of lines.entries()) {
    if (!isLimited(line)) continue;
    for (const { jobId, amount } of jobAmountsOf({ ...line, work: reliefsOf(line, rows) })) {
      if (jobId === null) continue;
      const { billingType, feeAmount } = jobs.get(jobId) ?? {};
      if (billingType !== 'FIXED_FEE' || feeAmount == null) continue;
      const left = remaining.get(jobId) ?? feeAmount.minus(billedFee(plan, clientId, jobId));
      if (amount.gt(zero) && amount.gt(left))
        throw new Rejection(
          'FEE_EXCEEDED',
          `Of the job's fee of ${feeAmount.toFixed(2)}, ${left.toFixed(2)} remains, and the line bills ${amount.toFixed(2)}. Lower it, or set exceedsFee of the line to true.`,
          `/lines/${index}/unitAmount`,
        );
      remaining.set(jobId, left.minus(amount));
    }
  }
}

function isLimited(line: InvoiceLine): boolean {
  return isFee(line) && !line.exceedsFee;
}

/** Returns what invoices billed of the fee of a job, also those that this plan creates. */
function billedFee(plan: Plan, clientId: string, jobId: string): Decimal {
  const created = plan.created(invoice, 'clientId', clientId).flatMap(({ id }) => {
    const billing = plan.plainRow('invoice_billing', { invoice_id: id, job_id: jobId });
    return billing == null ? [] : [parseDecimal(String(billing.fee))];
  });
  return parseDecimal(plan.lookup(billedFees, jobId) ?? '0').plus(sum(created));
}
