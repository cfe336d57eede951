import { command } from '../../../entity/command.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import type { PendingChange } from '../../../entity/rules.ts';
import { planDocument } from '../document/write-invoice.ts';
import { billWork, lockWork } from '../invoice/bill-work.ts';
import { invoice } from '../invoice/invoice.ts';
import { enterDocument } from '../invoice/post-invoice.ts';
import type { WipRows } from './billed-work.ts';

type Draft = Row<'DraftInvoice'>;

/** An approved draft becomes an invoice, or a credit note if its total is negative, and its work in progress is billed. */
export const postDraft = command(
  'draftApproved',
  (plan, { entity, id, values: draft }: PendingChange<'DraftInvoice'>) => {
    const work = lockWork(plan, draft);
    const bill = createDocument(plan, draft, work);
    enterDocument(plan, bill);
    planDocument(plan, bill);
    billWork(plan, bill, work);
    plan.set(entity, id, { status: 'POSTED', invoiceId: bill.id });
  },
);

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
