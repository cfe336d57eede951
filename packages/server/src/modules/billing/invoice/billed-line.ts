import { type RawBuilder, sql } from 'kysely';
import { defineEntity } from '../../../entity/entity.ts';

/** SQL of the value of a column of the invoice of a line. */
const ofInvoice = (column: string) => (row: string) => ofDocument(row, sql.ref(`i.${column}`));

function ofDocument(row: string, value: RawBuilder<unknown>, joined = sql``): RawBuilder<unknown> {
  return sql`(select ${value} from invoice i${joined}
    where i.tenant_id = ${sql.ref(`${row}.tenant_id`)} and i.id = ${sql.ref(`${row}.invoice_id`)})`;
}

/** SQL of the day for which the void of an invoice counts. One over nothing has no entries. */
const voidedDate = sql`case when i.status = 'VOIDED' then coalesce((
  select max(v.business_date) from ledger_entry v
  where v.tenant_id = i.tenant_id and v.invoice_id = i.id and v.kind in ('VOID', 'NOTE_VOID')), tenant_day(i.voided_at)) end`;

/** A line of an invoice or a credit note as a row of its own. It never changes; what its document adds can. */
export const billedLine = defineEntity('BilledLine', {
  table: 'invoice_line',
  computed: {
    systemRef: (row) => sql`${sql.ref(`${row}.id`)}::text`,
    sysRefs: () => sql`'[]'::jsonb`,
    metadata: () => sql`'{}'::jsonb`,
    active: () => sql`true`,
    createdAt: ofInvoice('created_at'),
    updatedAt: ofInvoice('updated_at'),
    version: ofInvoice('version'),
    documentNumber: ofInvoice('invoice_number'),
    documentType: ofInvoice('document_type'),
    status: ofInvoice('status'),
    invoiceDate: ofInvoice('invoice_date'),
    voidedDate: (row) => ofDocument(row, voidedDate),
    orgId: ofInvoice('org_id'),
    clientId: ofInvoice('client_id'),
    officeId: (row) =>
      ofDocument(row, sql`c.office_id`, sql` join client c on c.tenant_id = i.tenant_id and c.id = i.client_id`),
    taxRegionId: ofInvoice('tax_region_id'),
    currency: ofInvoice('currency'),
    serviceLineId: (row) => sql`(select j.service_line_id from job j
      where j.tenant_id = ${sql.ref(`${row}.tenant_id`)} and j.id = ${sql.ref(`${row}.job_id`)})`,
  },
  sortedBy: { systemRef: 'id', active: null },
  writable: false,
  audited: false,
});
