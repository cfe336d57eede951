import { command } from '../../../entity/command.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import { zero } from '../../../platform/decimal.ts';
import { outstandingOf, wipEntry } from '../../time/index.ts';
import { checkBilledRows, jobsOf, type RowRelief, reliefsOf, type WipRows, wipIdsOf } from '../draft/billed-work.ts';
import { lockBalances } from '../ledger/balances.ts';
import { enterBilling, readEntries } from '../ledger/work-entries.ts';
import { type BilledLine, jobBilling } from '../rules/job-amounts.ts';
import { invoice } from './invoice.ts';

/** Locks what the lines of a document change: the work, its jobs and the client. */
export function lockWork(plan: Plan, { lines, clientId }: Pick<Row<'Invoice'>, 'lines' | 'clientId'>): WipRows {
  const rows = plan.getManyForUpdate(wipEntry, wipIdsOf(lines));
  plan.together(
    () => lockBalances(plan, [clientId], [...jobsOf(lines, rows)]),
    () => readEntries(plan, rows.keys()),
  );
  return rows;
}

/** What a document bills of jobs and of their work counts from now on. */
export function billWork(plan: Plan, bill: Row<'Invoice'>, work: WipRows): void {
  const lines = bill.lines.map((line) => ({ ...line, work: reliefsOf(line, work) }));
  billJobs(plan, bill, lines);
  for (const relief of lines.flatMap((line) => line.work)) relieveWork(plan, bill, relief);
}

/** An imported invoice bills work that no draft has reserved. */
export const billImported = command('invoiceImported', (plan, bill: Row<'Invoice'>) => {
  const work = lockWork(plan, bill);
  const { id, clientId, currency, invoiceDate: billThroughDate } = bill;
  for (const [index, line] of bill.lines.entries())
    if (line.wipIds.length > 0) checkBilledRows({ id, clientId, currency, billThroughDate }, index, line, work);
  billWork(plan, bill, work);
});

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

/** Takes from a row of work what a line bills of it, with the entries of the ledger and what voiding gives back. */
function relieveWork(plan: Plan, bill: Row<'Invoice'>, { row, billed, writeUp, writeOff }: RowRelief): void {
  const amounts = {
    billedAmount: row.billedAmount.plus(billed),
    writeUpAmount: row.writeUpAmount.plus(writeUp),
    writeOffAmount: row.writeOffAmount.plus(writeOff),
  };
  const status = outstandingOf({ ...row, ...amounts }).eq(zero) ? 'BILLED' : 'PARTIALLY_BILLED';
  plan.set(wipEntry, row.id, { ...amounts, status, invoiceId: bill.id, billedAt: plan.now });
  enterBilling(plan, row, bill, { billed, writeUp, writeOff });
  plan.insertPlain({
    entity: invoice,
    table: 'wip_relief',
    key: { invoice_id: bill.id, wip_entry_id: row.id },
    columns: { billed: billed.toFixed(2), write_up: writeUp.toFixed(2), write_off: writeOff.toFixed(2) },
  });
}
