import { type RawBuilder, sql } from 'kysely';
import type { Session, Transaction } from '../../../platform/store/session.ts';

/** The types whose rows store sums, in the lock order. */
type SummingType = 'Payment' | 'Invoice' | 'Task' | 'Job' | 'Client';

/** A stored sum that differs from its sources. */
export interface Difference {
  /**
   * `LedgerMonth`, `LedgerWork`, `LedgerWorkMonth`: the entries of a client, by month, of its work by day, and of its work by job and month.
   * `LedgerDay`, `JournalDay`: those of a day.
   */
  readonly type: SummingType | 'LedgerMonth' | 'LedgerWork' | 'LedgerWorkMonth' | 'LedgerDay' | 'JournalDay';
  /** Of the row, or of the client; or the day. */
  readonly id: string;
  readonly field: string;
  readonly kept: string;
  readonly actual: string;
}

/** Sums of other rows that a table stores, all of which one query recalculates. */
export interface KeptSums {
  readonly type: SummingType;
  readonly table: string;
  /** Columns by the name of the field. */
  readonly columns: Readonly<Record<string, string>>;
  /** Query of the `id` of each row and its sums, under the names of the columns. A row without sources may be missing. */
  readonly sums: (tenantId: number) => RawBuilder<unknown>;
}

const allocated = sql`coalesce((
  select sum(a.amount) from payment_allocation a where a.tenant_id = p.tenant_id and a.payment_id = p.id), 0)`;

/** In the lock order. Balances of clients are sums over invoices and payments, which are sums of allocations. */
export const keptSums: readonly KeptSums[] = [
  {
    type: 'Payment',
    table: 'payment',
    columns: { unappliedAmount: 'unapplied_amount' },
    sums: (tenantId) => sql`
      select p.id, unapplied(p.status, p.amount, p.refunded_amount, ${allocated}) as unapplied_amount
      from payment p where p.tenant_id = ${tenantId}`,
  },
  {
    type: 'Invoice',
    table: 'invoice',
    columns: { amountPaid: 'amount_paid', amountCredited: 'amount_credited', amountPending: 'amount_pending' },
    sums: (tenantId) => sql`
      select a.invoice_id as id,
        sum(paid_by(p.status, p.method, a.amount)) as amount_paid, sum(credited_by(p.status, p.method, a.amount)) as amount_credited,
        sum(pending_by(p.status, a.amount)) as amount_pending
      from payment_allocation a join payment p on p.tenant_id = a.tenant_id and p.id = a.payment_id
      where a.tenant_id = ${tenantId} group by 1`,
  },
  {
    type: 'Task',
    table: 'task',
    columns: { actualHours: 'actual_hours' },
    sums: (tenantId) => sql`
      select e.task_id as id, sum(e.hours) as actual_hours from time_entry e
      where e.tenant_id = ${tenantId} and e.active and e.status = 'APPROVED' and e.task_id is not null group by 1`,
  },
  {
    type: 'Job',
    table: 'job',
    columns: {
      actualHours: 'actual_hours',
      wipAmount: 'wip_amount',
      billedAmount: 'billed_amount',
      billedFeeAmount: 'billed_fee_amount',
      feeWithoutWorkAmount: 'fee_without_work_amount',
      billedWorkAmount: 'billed_work_amount',
      writeOffAmount: 'write_off_amount',
      writeUpAmount: 'write_up_amount',
    },
    sums: (tenantId) => sql`
      select id, sum(hours) as actual_hours, sum(outstanding) as wip_amount, sum(billed) as billed_amount,
        sum(fee) as billed_fee_amount, sum(fee_without_work) as fee_without_work_amount,
        sum(billed_work) as billed_work_amount, sum(written_off) as write_off_amount, sum(written_up) as write_up_amount
      from (
        select e.job_id as id, e.hours, 0 as outstanding, 0 as billed, 0 as fee, 0 as fee_without_work, 0 as billed_work,
          0 as written_off, 0 as written_up
        from time_entry e
        where e.tenant_id = ${tenantId} and e.active and e.status = 'APPROVED' and e.job_id is not null
        union all
        select w.job_id, 0, w.outstanding_amount, 0, 0, 0, w.billed_amount, w.write_off_amount, w.write_up_amount
        from wip_entry w where w.tenant_id = ${tenantId}
        union all
        select b.job_id, 0, 0, b.billed, b.fee, b.fee_without_work, 0, 0, 0
        from invoice_billing b join invoice i on i.tenant_id = b.tenant_id and i.id = b.invoice_id
        where b.tenant_id = ${tenantId} and is_billing(i.status)) parts
      group by 1`,
  },
  {
    type: 'Client',
    table: 'client',
    columns: {
      outstandingBalance: 'outstanding_balance',
      unappliedCredit: 'unapplied_credit',
      unbilledWip: 'unbilled_wip',
    },
    sums: (tenantId) => sql`
      select k.id, coalesce(sum(outstanding), 0) as outstanding_balance, coalesce(sum(unapplied), 0) as unapplied_credit,
        coalesce(sum(unbilled), 0) as unbilled_wip
      from client k join (
        select i.client_id, i.currency, outstanding(i.status, i.amount_due) as outstanding, 0 as unapplied, 0 as unbilled
        from invoice i where i.tenant_id = ${tenantId}
        union all
        select p.client_id, p.currency, 0, held(p.status, p.unapplied_amount), 0
        from payment p where p.tenant_id = ${tenantId}
        union all
        select w.client_id, w.currency, 0, 0, w.outstanding_amount from wip_entry w
        where w.tenant_id = ${tenantId}) parts on parts.client_id = k.id and parts.currency = k.currency
      where k.tenant_id = ${tenantId} group by k.id`,
  },
];

/** Recalculates the stored sums of a tenant, and returns those that differ from their sources. */
export async function differencesOf(session: Pick<Session, 'all'>, tenantId: number): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const { type, table, columns, sums } of keptSums) {
    const compared = Object.entries(columns).map(
      ([field, column]) => sql`
        select t.id::text, ${field}::text as field, t.${sql.ref(column)}::text as kept,
          coalesce(s.${sql.ref(column)}, 0)::numeric(16, 2)::text as actual
        from ${sql.table(table)} t left join sums s on s.id = t.id
        where t.tenant_id = ${tenantId} and t.${sql.ref(column)} <> coalesce(s.${sql.ref(column)}, 0)`,
    );
    const rows = await session.all(sql<Omit<Difference, 'type'>>`
      with sums as (${sums(tenantId)}) ${sql.join(compared, sql` union all `)} order by 1, 2`);
    for (const row of rows) differences.push({ type, ...row });
  }
  return [...differences, ...(await session.all(wrongSums(tenantId)))];
}

/** A table with sums of entries, and what it adds up to. */
interface SumsOfEntries {
  readonly type: Difference['type'];
  readonly table: string;
  /** The column that identifies a difference; the others describe it. */
  readonly id: string;
  readonly by: readonly string[];
  readonly amounts: readonly string[];
  /** Columns with the first of their days, and with the last. */
  readonly first?: readonly string[];
  readonly last?: readonly string[];
  /** SQL of the rows that it adds up to, with the same columns. */
  readonly source: RawBuilder<unknown>;
}

const sumTables: readonly SumsOfEntries[] = [
  {
    type: 'LedgerDay',
    table: 'ledger_day',
    id: 'business_date',
    by: ['account', 'currency', 'due_date', 'work_date'],
    amounts: ['amount'],
    source: sql`added`,
  },
  {
    type: 'LedgerMonth',
    table: 'ledger_month',
    id: 'client_id',
    by: ['account', 'currency', 'business_date'],
    amounts: ['amount'],
    first: ['first_work_date'],
    source: sql`(select tenant_id, account, client_id, currency, date_trunc('month', business_date::timestamp)::date as business_date, amount,
      entries, work_date as first_work_date from added where client_id is not null)`,
  },
  {
    type: 'LedgerWork',
    table: 'ledger_work',
    id: 'client_id',
    by: ['job_id', 'currency', 'work_date', 'business_date'],
    amounts: ['amount'],
    source: sql`(select * from added where account = 'WIP')`,
  },
  {
    type: 'LedgerWorkMonth',
    table: 'ledger_work_month',
    id: 'client_id',
    by: ['job_id', 'currency', 'business_date'],
    amounts: ['amount'],
    first: ['first_work_date', 'first_business_date'],
    last: ['last_work_date', 'last_business_date'],
    source: sql`(select tenant_id, client_id, job_id, currency, date_trunc('month', business_date::timestamp)::date as business_date, amount,
      entries, work_date as first_work_date, work_date as last_work_date, business_date as first_business_date,
      business_date as last_business_date from added where account = 'WIP')`,
  },
  {
    type: 'JournalDay',
    table: 'journal_sum',
    id: 'business_date',
    by: ['purpose', 'kind', 'currency', 'org_id', 'office_id', 'service_line_id', 'payment_method', 'tax_name'],
    amounts: ['amount', 'debit', 'credit'],
    source: sql`journal_sum_source`,
  },
];

/** Query of the sums of all tables that differ from their entries. Those of the ledger are read and added up once for all. */
function wrongSums(tenantId: number) {
  return sql<Difference>`
    with added as materialized (
      select tenant_id, account, client_id, job_id, currency, due_date, work_date, business_date, sum(amount) as amount, count(*) as entries
      from ledger_entry where tenant_id = ${tenantId} group by 1, 2, 3, 4, 5, 6, 7, 8)
    ${sql.join(
      sumTables.map((sums) => sql`(${wrongSumsOf(tenantId, sums)})`),
      sql` union all `,
    )}`;
}

function wrongSumsOf(tenantId: number, { type, table, id, by, amounts, first = [], last = [], source }: SumsOfEntries) {
  const keys = sql.join([id, ...by].map((column) => sql.ref(column)));
  const figures = [...amounts, 'entries'];
  const days = [
    ...first.map((column) => ({ column, function: 'min', word: 'from' })),
    ...last.map((column) => ({ column, function: 'max', word: 'to' })),
  ];
  const rowsOf = (from: RawBuilder<unknown>, isKept: boolean) => sql`
    select ${keys}, ${sql.join([...figures, ...days.map(({ column }) => column)].map((column) => sql.ref(column)))}, ${sql.lit(isKept)} as is_kept
    from ${from} s where tenant_id = ${tenantId}`;
  const among = (isKept: boolean) => sql`filter (where is_kept = ${sql.lit(isKept)})`;
  const of = (column: string, isKept: boolean) => sql`coalesce(sum(${sql.ref(column)}) ${among(isKept)}, 0)`;
  const dayOf = (day: (typeof days)[number], isKept: boolean) =>
    sql`${sql.id(day.function)}(${sql.ref(day.column)}) ${among(isKept)}`;
  const shown = (isKept: boolean) => sql`concat_ws(' ',
    ${sql.join(amounts.map((column) => sql`${of(column, isKept)}::numeric(18, 2)`))}, 'in', ${of('entries', isKept)}, 'entries'
    ${sql.join(
      days.map((day) => sql`, ${sql.lit(`${day.word} `)} || ${dayOf(day, isKept)}`),
      sql``,
    )})`;
  const differ = sql.join(
    [
      ...figures.map((column) => sql`${of(column, true)} <> ${of(column, false)}`),
      ...days.map((day) => sql`${dayOf(day, true)} is distinct from ${dayOf(day, false)}`),
    ],
    sql` or `,
  );
  return sql`
    select ${type}::text as type, ${sql.ref(id)}::text as id, concat_ws(' ', ${sql.join(by.map((column) => sql.ref(column)))}) as field,
      ${shown(true)} as kept, ${shown(false)} as actual
    from (${rowsOf(sql.table(table), true)} union all ${rowsOf(source, false)}) s
    group by ${keys} having ${differ} order by 2, 3`;
}

/** Writes the sums of the ledger of clients, who are locked: by month, and those of their work by day and month. */
export async function writeSumsOfClients(
  transaction: Transaction,
  tenantId: number,
  clientIds: readonly string[],
): Promise<void> {
  for (const table of ['ledger_month', 'ledger_work', 'ledger_work_month'])
    await transaction.all(
      sql`delete from ${sql.table(table)} where tenant_id = ${tenantId} and client_id = any(${clientIds}::uuid[])`,
    );
  await transaction.all(sql`
    insert into ledger_month (tenant_id, account, client_id, currency, business_date, amount, entries, first_work_date)
    select tenant_id, account, client_id, currency, date_trunc('month', business_date::timestamp)::date, sum(amount), count(*), min(work_date)
    from ledger_entry where tenant_id = ${tenantId} and client_id = any(${clientIds}::uuid[]) group by 1, 2, 3, 4, 5`);
  await transaction.all(sql`
    insert into ledger_work (tenant_id, client_id, business_date, work_date, job_id, currency, amount, entries)
    select tenant_id, client_id, business_date, work_date, job_id, currency, sum(amount), count(*)
    from ledger_entry where tenant_id = ${tenantId} and client_id = any(${clientIds}::uuid[]) and account = 'WIP'
    group by 1, 2, 3, 4, 5, 6`);
  await transaction.all(sql`
    insert into ledger_work_month (tenant_id, client_id, job_id, currency, business_date, amount, entries, first_work_date, last_work_date,
      first_business_date, last_business_date)
    select tenant_id, client_id, job_id, currency, date_trunc('month', business_date::timestamp)::date, sum(amount), count(*),
      min(work_date), max(work_date), min(business_date), max(business_date)
    from ledger_entry where tenant_id = ${tenantId} and client_id = any(${clientIds}::uuid[]) and account = 'WIP'
    group by 1, 2, 3, 4, 5`);
}

/** Writes the sums of the ledger and the journal by day. Entries can be written meanwhile. */
export async function writeDays(transaction: Transaction, tenantId: number): Promise<void> {
  await transaction.all(sql`select write_day_sums(${tenantId})`);
}
