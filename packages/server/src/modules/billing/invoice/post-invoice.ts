import { command } from '../../../entity/command.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import type { PendingChange } from '../../../entity/rules.ts';
import { zero } from '../../../platform/decimal.ts';
import { checkOpenDay } from '../ledger/enter.ts';
import { enterReceivable } from '../ledger/invoice-entries.ts';
import { dueOf, isCreditNote } from '../rules/balances.ts';
import { type BilledLine, jobBilling } from '../rules/job-amounts.ts';
import { grantCredit } from './credit-note.ts';
import { invoice } from './invoice.ts';

/** An imported invoice counts from now on. What it bills of work is not known, and its document is elsewhere. */
export function postImport(plan: Plan, { values: bill, previous }: PendingChange<'Invoice'>): void {
  // One that waited to be posted counts from the first open day.
  if (previous === undefined) checkOpenDay(plan, bill, { field: 'invoiceDate', day: bill.invoiceDate });
  enterDocument(plan, bill);
  billJobs(
    plan,
    bill,
    bill.lines.map((line) => ({ ...line, work: [] })),
  );
}

/** Enters what a new document changes of the balances of its client: an amount due, or the credit of a credit note. */
export function enterDocument(plan: Plan, bill: Row<'Invoice'>): void {
  if (isCreditNote(bill)) grantCredit(plan, bill);
  else enterReceivable(plan, bill);
  if (!isCreditNote(bill) && dueOf(bill).eq(zero)) settleAtOnce(plan, bill);
}

/** Stores what a document bills each job. The database adds it to the sums of the jobs, until the document is voided. */
export function billJobs(plan: Plan, { id, currency }: Row<'Invoice'>, lines: readonly BilledLine[]): void {
  for (const [jobId, { billed, fee, feeWithoutWork }] of jobBilling(lines, currency))
    plan.insertPlain({
      entity: invoice,
      table: 'invoice_billing',
      key: { invoice_id: id, job_id: jobId },
      columns: { billed: billed.toFixed(2), fee: fee.toFixed(2), fee_without_work: feeWithoutWork.toFixed(2) },
    });
}

/** An invoice on which nothing is due is paid as soon as it is posted. */
const settleAtOnce = command('invoicePosted', (plan, { id, invoiceDate }: Row<'Invoice'>) =>
  plan.set(invoice, id, { status: 'PAID', paidAt: plan.now, paidDate: invoiceDate }),
);
