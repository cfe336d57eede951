import { command } from '../../../entity/command.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import type { PendingChange } from '../../../entity/rules.ts';
import { zero } from '../../../platform/decimal.ts';
import { outstandingOf, wipEntry } from '../../time/index.ts';
import { planDocument } from '../document/write-invoice.ts';
import { invoice } from '../invoice/invoice.ts';
import { billJobs, enterDocument } from '../invoice/post-invoice.ts';
import { lockBalances } from '../ledger/balances.ts';
import { enterBilling, readEntries } from '../ledger/work-entries.ts';
import { jobsOf, type RowRelief, reliefsOf, type WipRows, wipIdsOf } from './billed-work.ts';

type Draft = Row<'DraftInvoice'>;

/** An approved draft becomes an invoice, or a credit note if its total is negative, and its work in progress is billed. */
export const postDraft = command(
  'draftApproved',
  (plan, { entity, id, values: draft }: PendingChange<'DraftInvoice'>) => {
    const work = lockWork(plan, draft);
    const bill = createDocument(plan, draft, work);
    enterDocument(plan, bill);
    planDocument(plan, bill);
    const lines = draft.lines.map((line) => ({ ...line, work: reliefsOf(line, work) }));
    billJobs(plan, bill, lines);
    for (const relief of lines.flatMap((line) => line.work)) relieveWork(plan, bill, relief);
    plan.set(entity, id, { status: 'POSTED', invoiceId: bill.id });
  },
);

/** Locks what changes: the work, its jobs and the client. */
function lockWork(plan: Plan, { lines, clientId }: Draft): WipRows {
  const rows = plan.getManyForUpdate(wipEntry, wipIdsOf(lines));
  plan.together(
    () => lockBalances(plan, [clientId], [...jobsOf(lines, rows)]),
    () => readEntries(plan, rows.keys()),
  );
  return rows;
}

/** Creates the document with lines of its own. The rules of invoices number it, and complete its totals and address. */
function createDocument(plan: Plan, draft: Draft, work: WipRows): Row<'Invoice'> {
  const { clientId, billingContactId, creditedInvoiceId, dueDate, memo } = draft;
  const { purchaseOrder, orderReference, buyerReference } = draft;
  const { earlyPayment, currency, pricesIncludeTax, taxRounding, taxExemptReason } = draft;
  const copied = { clientId, billingContactId, creditedInvoiceId, dueDate, memo };
  const references = { purchaseOrder, orderReference, buyerReference };
  const priced = { earlyPayment, currency, pricesIncludeTax, taxRounding, taxExemptReason };
  const lines = draft.lines.map((line) => ({ ...line, id: plan.newId() }));
  const own = { draftInvoiceId: draft.id, invoiceDate: draft.proposedInvoiceDate, jobIds: [...draft.jobIds], lines };
  return plan.insert(invoice, {
    ...copied,
    ...references,
    ...priced,
    ...periodOf(draft, work),
    ...own,
    status: 'POSTED',
  }).row;
}

/** The period of the services: that of the draft, otherwise the days of the work. */
function periodOf({ servicePeriodStart, servicePeriodEnd }: Draft, work: WipRows) {
  const days = Array.from(work.values(), ({ workDate }) => workDate).sort();
  return {
    servicePeriodStart: servicePeriodStart ?? days[0] ?? null,
    servicePeriodEnd: servicePeriodEnd ?? days.at(-1) ?? null,
  };
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
