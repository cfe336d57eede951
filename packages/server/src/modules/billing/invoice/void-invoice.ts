import { sql } from 'kysely';
import { Rejection } from '../../../contract/rejection.ts';
import { command } from '../../../entity/command.ts';
import type { Lookup } from '../../../entity/loaded-rows.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { PendingChange } from '../../../entity/rules.ts';
import { parseDecimal, zero } from '../../../platform/decimal.ts';
import { wipEntry } from '../../time/index.ts';
import { planDocument } from '../document/write-invoice.ts';
import { lockBalances } from '../ledger/balances.ts';
import { enterRecovery, enterVoid } from '../ledger/invoice-entries.ts';
import { enterUnbilling, readEntries } from '../ledger/work-entries.ts';
import { invalidateLinks } from '../link/payment-link.ts';
import { isCreditNote } from '../rules/balances.ts';
import { withdrawCredit } from './credit-note.ts';
import { invalidLine } from './invoice-lines.ts';

/** The amounts that an invoice took from a row of work in progress, as decimal text. */
interface StoredRelief {
  readonly invoiceId: string;
  readonly wipEntryId: string;
  readonly billed: string;
  readonly writeUp: string;
  readonly writeOff: string;
  /** The latest other invoice that bills the row. */
  readonly otherInvoiceId: string | null;
}

const reliefOfInvoices: Lookup<readonly StoredRelief[]> = {
  name: 'relief of invoices',
  async load(transaction, tenantId, invoiceIds) {
    const rows = await transaction.all<StoredRelief>(sql`
      select r.invoice_id as "invoiceId", r.wip_entry_id as "wipEntryId", r.billed::text as billed,
        r.write_up::text as "writeUp", r.write_off::text as "writeOff",
        (select other.invoice_id from wip_relief other
          join invoice i on i.tenant_id = other.tenant_id and i.id = other.invoice_id
          where other.tenant_id = r.tenant_id and other.wip_entry_id = r.wip_entry_id and other.invoice_id <> r.invoice_id
            and i.status <> 'VOIDED'
          order by i.posted_at desc, i.id desc limit 1) as "otherInvoiceId"
      from wip_relief r where r.tenant_id = ${tenantId} and r.invoice_id = any(${invoiceIds})`);
    return Map.groupBy(rows, ({ invoiceId }) => invoiceId);
  },
};

/** @throws Rejection `INVALID_STATE` if a draft invoice reserves work that the invoice billed. */
export function checkNotInDraft(plan: Plan, invoiceId: string): void {
  const reliefs = plan.lookup(reliefOfInvoices, invoiceId) ?? [];
  const rows = plan.getManyForUpdate(
    wipEntry,
    reliefs.map(({ wipEntryId }) => wipEntryId),
  );
  if (![...rows.values()].some(({ status }) => status === 'IN_DRAFT')) return;
  const detail =
    'A draft invoice includes work in progress that this invoice billed in part. Post or delete that draft first.';
  throw new Rejection('INVALID_STATE', detail, '/status');
}

/** Nothing is due on a voided invoice any more, its work is outstanding again, and its links can no longer be paid. */
export const voidInvoice = command('invoiceVoided', (plan, change: PendingChange<'Invoice'>) => {
  const { id, values, input } = change;
  const billing = plan.isNew(id) ? values.lines.findIndex(({ wipIds }) => wipIds.length > 0) : -1;
  if (billing >= 0)
    throw invalidLine(
      billing,
      'wipIds',
      'An invoice that is imported as VOIDED bills no work in progress. Send an empty list.',
    );
  if (isCreditNote(values)) withdrawCredit(plan, change);
  else {
    enterRecovery(plan, change);
    enterVoid(plan, change);
  }
  planDocument(plan, values);
  returnWork(plan, id, input.changeDate);
  invalidateLinks(plan, id);
});

/**
 * Restores the work in progress that a voided invoice relieved. What a user wrote off of it since then remains written off.
 *
 * @param changeDate the day of the void that the caller gave, if any
 */
function returnWork(plan: Plan, invoiceId: string, changeDate: string | null | undefined): void {
  const reliefs = plan.lookup(reliefOfInvoices, invoiceId) ?? [];
  const rows = plan.getManyForUpdate(
    wipEntry,
    reliefs.map(({ wipEntryId }) => wipEntryId),
  );
  lockBalances(
    plan,
    [],
    [...rows.values()].map(({ jobId }) => jobId),
  );
  readEntries(plan, rows.keys());
  for (const { wipEntryId, billed, writeUp, writeOff, otherInvoiceId } of reliefs) {
    const row = rows.get(wipEntryId);
    if (row === undefined) throw new Error(`Work in progress ${wipEntryId} not found.`);
    const relief = { billed: parseDecimal(billed), writeUp: parseDecimal(writeUp), writeOff: parseDecimal(writeOff) };
    const returned = {
      ...row,
      billedAmount: row.billedAmount.minus(relief.billed),
      writeUpAmount: row.writeUpAmount.minus(relief.writeUp),
      writeOffAmount: row.writeOffAmount.minus(relief.writeOff),
    };
    const { billedAmount, writeUpAmount, writeOffAmount } = returned;
    const link = { invoiceId: otherInvoiceId, billedAt: otherInvoiceId === null ? null : row.billedAt };
    const isUntouched = billedAmount.eq(zero) && writeUpAmount.eq(zero) && writeOffAmount.eq(zero);
    const status = isUntouched ? 'OPEN' : 'PARTIALLY_BILLED';
    enterUnbilling(plan, row, invoiceId, relief, changeDate);
    plan.set(wipEntry, wipEntryId, { ...link, billedAmount, writeUpAmount, writeOffAmount, status });
  }
}
