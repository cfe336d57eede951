import { type RawBuilder, sql } from 'kysely';
import { defineEntity, one } from '../../../entity/entity.ts';
import type { SumTable } from '../../../entity/model.ts';

const work: SumTable = {
  table: 'ledger_work',
  per: 'DAY',
  only: { field: 'account', value: 'WIP' },
  by: ['clientId', 'jobId', 'currency', 'workDate'],
  day: 'businessDate',
  amounts: ['amount'],
  extremes: ['businessDate', 'workDate'],
};

const months: SumTable = {
  table: 'ledger_month',
  per: 'MONTH',
  by: ['account', 'clientId', 'currency'],
  day: 'businessDate',
  amounts: ['amount'],
};

const monthsOfJobs: SumTable = {
  table: 'ledger_work_month',
  per: 'MONTH',
  only: { field: 'account', value: 'WIP' },
  by: ['clientId', 'jobId', 'currency'],
  day: 'businessDate',
  amounts: ['amount'],
  extremeColumns: {
    workDate: { MIN: 'first_work_date', MAX: 'last_work_date' },
    businessDate: { MIN: 'first_business_date', MAX: 'last_business_date' },
  },
  days: work,
  notBy: 'jobId',
};

/**
 * A movement of a balance. Entries are only inserted, with the change that causes them; the database refuses any other change,
 * and balances that are not their sums.
 */
export const ledgerEntry = defineEntity('LedgerEntry', {
  table: 'ledger_entry',
  relations: { client: one('Client', 'clientId'), job: one('Job', 'jobId'), staff: one('Staff', 'staffId') },
  // The table has no columns for what is the same in all entries.
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
      table: 'ledger_day',
      per: 'DAY',
      by: ['account', 'currency', 'dueDate', 'workDate'],
      day: 'businessDate',
      amounts: ['amount'],
      extremes: ['businessDate', 'dueDate', 'workDate'],
    },
    // Its days that are no whole months are those of work, which are fewer than the entries.
    { ...months, extremeColumns: { workDate: { MIN: 'first_work_date' } }, days: work },
    { ...months, requires: 'clientId' },
    monthsOfJobs,
    work,
  ],
  balances: {
    day: 'businessDate',
    amounts: ['amount'],
    of: 'account',
    few: { field: 'currency', table: 'ledger_day' },
    functions: {
      RECEIVABLE: {
        name: 'open_receivables',
        by: ['account', 'clientId', 'currency', 'dueDate'],
        ids: ['clientId'],
      },
      CREDIT: {
        name: 'open_credit',
        by: ['account', 'clientId', 'currency'],
        ids: ['clientId'],
        hasRowsWithoutId: true,
      },
      WIP: {
        name: 'open_work',
        by: ['account', 'clientId', 'jobId', 'currency', 'workDate'],
        ids: ['jobId', 'clientId'],
      },
    },
  },
  sortedBy: { systemRef: 'id', active: null, createdAt: 'recordedAt', updatedAt: 'recordedAt' },
  rules: {
    constraints: {
      ledger_entry_period_open: {
        code: 'PERIOD_CLOSED',
        detail: 'The period of an entry was closed meanwhile. Repeat the request.',
      },
    },
  },
  writable: false,
  audited: false,
  appendOnly: true,
});

/** SQL of the day for which the allocation in a row counts; null while its payment is pending. */
export function allocationDate(row: string): RawBuilder<string | null> {
  return sql`(select max(e.business_date) from ledger_entry e
    where e.tenant_id = ${sql.ref(`${row}.tenant_id`)} and e.payment_id = ${sql.ref(`${row}.payment_id`)}
      and e.invoice_id = ${sql.ref(`${row}.invoice_id`)} and e.account = 'CREDIT' and e.kind = 'ALLOCATION')`;
}

/** SQL of the number of the document that the entry in a row concerns. */
export function documentNumber(row: string): RawBuilder<string | null> {
  const [tenantId, invoiceId, paymentId] = ['tenant_id', 'invoice_id', 'payment_id'].map((column) =>
    sql.ref(`${row}.${column}`),
  );
  return sql`coalesce(
    (select i.invoice_number from invoice i where i.tenant_id = ${tenantId} and i.id = ${invoiceId}),
    (select p.payment_number from payment p where p.tenant_id = ${tenantId} and p.id = ${paymentId}))`;
}
