import { command } from '../../../entity/command.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import type { PendingChange } from '../../../entity/rules.ts';
import { zero } from '../../../platform/decimal.ts';
import { checkOpenDay } from '../ledger/enter.ts';
import { enterReceivable } from '../ledger/invoice-entries.ts';
import { dueOf, isCreditNote } from '../rules/balances.ts';
import { billImported } from './bill-work.ts';
import { grantCredit } from './credit-note.ts';
import { invoice } from './invoice.ts';

/** An imported invoice counts from now on, and bills the work of its lines. Its document is elsewhere. */
export function postImport(plan: Plan, { values: bill, previous }: PendingChange<'Invoice'>): void {
  // One that waited to be posted counts from the first open day.
  if (previous === undefined) checkOpenDay(plan, bill, { field: 'invoiceDate', day: bill.invoiceDate });
  enterDocument(plan, bill);
  billImported(plan, bill);
}

/** Enters what a new document changes of the balances of its client: an amount due, or the credit of a credit note. */
export function enterDocument(plan: Plan, bill: Row<'Invoice'>): void {
  if (isCreditNote(bill)) grantCredit(plan, bill);
  else enterReceivable(plan, bill);
  if (!isCreditNote(bill) && dueOf(bill).eq(zero)) settleAtOnce(plan, bill);
}

/** An invoice on which nothing is due is paid as soon as it is posted. */
const settleAtOnce = command('invoicePosted', (plan, { id, invoiceDate }: Row<'Invoice'>) =>
  plan.set(invoice, id, { status: 'PAID', paidAt: plan.now, paidDate: invoiceDate }),
);
