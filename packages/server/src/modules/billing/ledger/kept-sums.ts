import { type RawBuilder, sql } from 'kysely';
import { columnOf } from '../../../contract/fields.ts';
import type { AnyEntity, SumTable } from '../../../entity/model.ts';
import type { Session, Transaction } from '../../../platform/store/session.ts';
import { journalEntry } from './journal-entry.ts';
import { ledgerEntry } from './ledger-entry.ts';

/** The types whose rows store sums, in the lock order. */
type SummingType = 'Payment' | 'Invoice' | 'Task' | 'Job' | 'Client';

/** A stored sum that differs from its sources. */
export interface Difference {
  /** `LedgerMonth`: the entries of a client in a month. `LedgerDay`, `JournalDay`: those of a day. */
  readonly type: SummingType | 'LedgerMonth' | 'LedgerDay' | 'JournalDay';
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
  for (const { type, id, entity, sums } of sumTables)
    for (const row of await session.all(wrongSums(tenantId, entity, sums, id))) differences.push({ type, ...row });
  return differences;
}

/** The tables with sums of entries, and what identifies their differences. */
const sumTables = [ledgerEntry, journalEntry].flatMap((entity) =>
  entity.sums.map((sums) => {
    const isMonth = sums.per === 'MONTH';
    const type = isMonth ? 'LedgerMonth' : entity === ledgerEntry ? 'LedgerDay' : 'JournalDay';
    return { type, id: isMonth ? 'clientId' : sums.day, entity, sums } as const;
  }),
);

/** Query of the sums of entries in a table that differ from the entries. */
function wrongSums(
  tenantId: number,
  entity: AnyEntity,
  { table, per, by, requires, day, amounts }: SumTable,
  id: string,
) {
  const names = by.map((field) => sql.ref(columnOf(field)));
  const dayColumn = sql.ref(columnOf(day));
  const entryDay = per === 'MONTH' ? sql`date_trunc('month', ${dayColumn}::timestamp)::date` : dayColumn;
  const isSummed = requires === undefined ? sql`true` : sql`${sql.ref(columnOf(requires))} is not null`;
  const sumsOf = (from: string, first: RawBuilder<unknown>, entries: RawBuilder<unknown>, isKept: boolean) => sql`
    select ${sql.join(names)}, ${first} as day, ${sql.join(amounts.map((amount) => sql`sum(${sql.ref(columnOf(amount))}) as ${sql.ref(columnOf(amount))}`))},
      ${entries} as entries, ${sql.lit(isKept)} as is_kept
    from ${sql.table(from)} where tenant_id = ${tenantId} and ${isSummed} group by ${sql.join([...names, first])}`;
  const shown = (isKept: boolean) => {
    const of = (column: string) =>
      sql`coalesce(sum(${sql.ref(column)}) filter (where is_kept = ${sql.lit(isKept)}), 0)`;
    const figures = amounts.map((amount) => sql`${of(columnOf(amount))}::numeric(18, 2)`);
    return sql`concat_ws(' ', ${sql.join(figures)}, 'in', ${of('entries')}, 'entries')`;
  };
  const field = by.flatMap((name, index) => (name === id ? [] : [names[index] ?? sql``]));
  const shownDay = per === 'MONTH' ? sql`to_char(day, 'YYYY-MM')` : sql`null`;
  return sql<Omit<Difference, 'type'>>`
    select ${id === day ? sql`day` : sql.ref(columnOf(id))}::text as id, concat_ws(' ', ${sql.join([...field, shownDay])}) as field,
      ${shown(true)} as kept, ${shown(false)} as actual
    from (${sumsOf(table, dayColumn, sql`sum(entries)`, true)} union all ${sumsOf(entity.table, entryDay, sql`count(*)`, false)}) s
    group by ${sql.join([...names, sql`day`])} having ${shown(true)} <> ${shown(false)} order by 1, 2`;
}

/** Writes the sums of the ledger by month of clients, who are locked. */
export async function writeMonths(
  transaction: Transaction,
  tenantId: number,
  clientIds: readonly string[],
): Promise<void> {
  await transaction.all(
    sql`delete from ledger_month where tenant_id = ${tenantId} and client_id = any(${clientIds}::uuid[])`,
  );
  await transaction.all(sql`
    insert into ledger_month (tenant_id, account, client_id, currency, business_date, amount, entries)
    select tenant_id, account, client_id, currency, date_trunc('month', business_date::timestamp)::date, sum(amount), count(*)
    from ledger_entry where tenant_id = ${tenantId} and client_id = any(${clientIds}::uuid[]) group by 1, 2, 3, 4, 5`);
}

/** Writes the sums of the ledger and the journal by day. Entries can be written meanwhile. */
export async function writeDays(transaction: Transaction, tenantId: number): Promise<void> {
  await transaction.all(sql`select write_day_sums(${tenantId})`);
}
