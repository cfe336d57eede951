import { zero } from '../../../contract/decimal.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import { newId } from '../../../platform/store/new-id.ts';
import { outstandingOf, wipEntry } from '../../time/index.ts';
import { billJobs } from '../invoice/bill-jobs.ts';
import { invoice } from '../invoice/invoice.ts';
import { lockBalances } from '../ledger/balances.ts';
import { enterBilling, readEntries } from '../ledger/work-entries.ts';
import { billedRows, jobAmountsOf, jobsOf, wipIdsOf } from './billed-work.ts';
import { reliefOf } from './relief.ts';

/** Creates the invoice or credit note of an approved draft, and relieves the billed work in progress. Returns its ID. */
export function postDraft(plan: Plan, draft: Row<'DraftInvoice'>): string {
  const rows = plan.getManyForUpdate(wipEntry, wipIdsOf(draft.lines));
  plan.together(
    () => lockBalances(plan, [draft.clientId], [...jobsOf(draft.lines, rows)]),
    () => readEntries(plan, rows.keys()),
  );
  const { clientId, billingContactId, creditedInvoiceId, proposedInvoiceDate, dueDate, currency } = draft;
  const lines = draft.lines.map((line) => ({ ...line, id: newId() }));
  const document = { creditedInvoiceId, purchaseOrder: draft.purchaseOrder, memo: draft.memo, lines };
  const shared = { clientId, jobIds: [...draft.jobIds], billingContactId, dueDate, currency, ...document };
  const { row } = plan.create(
    invoice,
    {},
    { system: { ...shared, draftInvoiceId: draft.id, invoiceDate: proposedInvoiceDate, status: 'POSTED' } },
  );
  billJobs(plan, row, (line) => jobAmountsOf(line, rows));
  for (const line of draft.lines) {
    for (const { wipEntryId, billed, writeUp, writeOff } of reliefOf(line, billedRows(line, rows))) {
      const wip = rows.get(wipEntryId);
      if (wip === undefined) throw new Error(`Work in progress ${wipEntryId} not found.`);
      const amounts = {
        amount: wip.amount,
        billedAmount: wip.billedAmount.plus(billed),
        writeUpAmount: wip.writeUpAmount.plus(writeUp),
        writeOffAmount: wip.writeOffAmount.plus(writeOff),
      };
      const status = outstandingOf(amounts).eq(zero) ? 'BILLED' : 'PARTIALLY_BILLED';
      const system = { ...amounts, status, invoiceId: row.id, billedAt: plan.now } as const;
      plan.update(wipEntry, wipEntryId, {}, { system, event: 'draftApproved' });
      enterBilling(plan, wip, row, { billed, writeUp, writeOff });
      plan.insertPlain({
        entity: invoice,
        table: 'wip_relief',
        key: { invoice_id: row.id, wip_entry_id: wipEntryId },
        columns: { billed: billed.toFixed(2), write_up: writeUp.toFixed(2), write_off: writeOff.toFixed(2) },
      });
    }
  }
  return row.id;
}
