import { sql } from 'kysely';
import { defineEntity, one } from '../../../entity/entity.ts';
import { documentNumber } from './ledger-entry.ts';

/** A row of a posting in double entry, which a view of the database derives from the ledger. */
export const journalEntry = defineEntity('JournalEntry', {
  table: 'journal_entry',
  relations: { client: one('Client', 'clientId'), job: one('Job', 'jobId') },
  computed: {
    systemRef: (row) => sql`${sql.ref(`${row}.id`)}::text`,
    sysRefs: () => sql`'[]'::jsonb`,
    metadata: () => sql`'{}'::jsonb`,
    active: () => sql`true`,
    createdAt: (row) => sql.ref(`${row}.recorded_at`),
    updatedAt: (row) => sql.ref(`${row}.recorded_at`),
    version: () => sql`1`,
    documentNumber,
  },
  sums: [
    {
      table: 'journal_day',
      per: 'DAY',
      by: [
        'kind',
        'purpose',
        'accountCode',
        'accountName',
        'currency',
        'orgId',
        'officeId',
        'serviceLineId',
        'paymentMethod',
        'taxName',
      ],
      day: 'businessDate',
      amounts: ['amount', 'debit', 'credit'],
    },
  ],
  // The order of IDs is that of postings, which have an index.
  sortedBy: { id: 'postingId', systemRef: 'postingId', active: null, createdAt: 'recordedAt', updatedAt: 'recordedAt' },
  near: {
    // It begins as the ID of the posting.
    id: (row, _tenantId, id) =>
      sql`${sql.ref(`${row}.posting_id`)} between ${`${id.slice(0, -7)}0000000`} and ${`${id.slice(0, -7)}fffffff`}`,
    // Of a client are rows of its entries, invoices and payments.
    clientId: (row, tenantId, id) => {
      const ofClient = sql`tenant_id = ${tenantId} and client_id = ${id}`;
      return sql`${sql.ref(`${row}.posting_id`)} = any(array(
        select id from ledger_entry where ${ofClient} union select id from invoice where ${ofClient}
        union select id from ledger_entry where tenant_id = ${tenantId} and invoice_id in (select id from invoice where ${ofClient})
        union select id from ledger_entry where tenant_id = ${tenantId} and payment_id in (select id from payment where ${ofClient})))`;
    },
  },
  writable: false,
  audited: false,
});
