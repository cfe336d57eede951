import { type RawBuilder, sql } from 'kysely';
import { money } from '../books/cents.ts';
import type { FirmCalls } from './firm-calls.ts';
import type { Journal } from './journal.ts';

/** Figures by what they are of. Figures of zero are left out. */
type Figures = ReadonlyMap<string, string>;

/** A figure from two sources. */
export interface Comparison {
  readonly name: string;
  readonly figures: number;
  /** Those that differ, as texts. */
  readonly differences: readonly string[];
}

/** A month that was closed: its last day, when it was closed, and the figures as of that day, as the API returned them then. */
export interface ClosedMonth {
  readonly day: string;
  readonly closedAt: string;
  readonly figures: Figures;
}

/** Runs a query on the rows of the tenant. */
type Query = <Row>(query: RawBuilder<Row>) => Promise<Row[]>;

interface Books {
  readonly calls: FirmCalls;
  readonly query: Query;
  readonly tenantId: number;
  readonly journal: Journal;
  readonly closed: readonly ClosedMonth[];
}

/** The balances of clients, and the ages of what they owe and of work that is not billed, as of a day. */
export async function figuresAsOf(calls: FirmCalls, day: string): Promise<Figures> {
  const where = { businessDate: { _lte: day } };
  const measures = { sum: { function: 'SUM', column: 'amount' }, entries: { function: 'COUNT' } };
  const balances = await calls.groups('ledger_entries', {
    where,
    groupBy: [{ column: 'account' }, { column: 'clientId' }],
    measures,
  });
  const aged = await calls.groups('ledger_entries', {
    where: { ...where, account: { _eq: 'RECEIVABLE' } },
    groupBy: [{ column: 'dueDate', daysBefore: day, boundaries: [1, 31, 61, 91] }],
    measures,
  });
  const work = await calls.groups('ledger_entries', {
    where: { ...where, account: { _eq: 'WIP' } },
    groupBy: [{ column: 'workDate', daysBefore: day, boundaries: [-31, 0, 31, 61] }],
    measures,
  });
  return new Map(
    [...balances, ...aged, ...work.map(({ key, values }) => ({ key: { work: `work ${key.workDate}` }, values }))].map(
      ({ key, values }) => [Object.values(key).join(' '), `${values.sum} of ${values.entries}`],
    ),
  );
}

/**
 * Recomputes all sums of the books from the rows, with SQL that shares nothing with the service, and compares them with what the API
 * returns and with what the firm has entered.
 */
export async function auditBooks(books: Books): Promise<Comparison[]> {
  const { calls, query, tenantId, journal, closed } = books;
  const computed = async (statement: RawBuilder<unknown>) =>
    figuresOf(
      await query<{ key: string; value: string | null }>(statement as RawBuilder<{ key: string; value: string }>),
    );
  const comparisons: Comparison[] = [];
  const compare = (name: string, one: Figures, other: Figures) => {
    const keys = new Set([...one.keys(), ...other.keys()]);
    const differences = [...keys].flatMap((key) => {
      const [left, right] = [one.get(key) ?? '0', other.get(key) ?? '0'];
      return left === right ? [] : [`${key}: ${left}, recomputed ${right}`];
    });
    comparisons.push({ name, figures: keys.size, differences });
  };

  const clients = await calls.rows('clients');
  for (const [field, statement] of Object.entries(balancesOfClients(tenantId)))
    compare(`${field} of clients`, fieldOf(clients, field), await computed(statement));
  const invoices = await calls.rows('invoices');
  for (const [field, statement] of Object.entries(amountsOfInvoices(tenantId)))
    compare(`${field} of invoices`, fieldOf(invoices, field), await computed(statement));
  compare('daysToPay of invoices', fieldOf(invoices, 'daysToPay'), await computed(daysToPay(tenantId)));
  const payments = await calls.rows('payments');
  compare('unappliedAmount of payments', fieldOf(payments, 'unappliedAmount'), await computed(unapplied(tenantId)));
  const projects = await calls.rows('projects');
  for (const [field, statement] of Object.entries(sumsOfJobs(tenantId)))
    compare(`${field} of jobs`, fieldOf(projects, field), await computed(statement));

  // A discount is spread over the jobs of an invoice, to the cent.
  const billed = await calls.groups('projects', { measures: { sum: { function: 'SUM', column: 'billedAmount' } } });
  compare(
    'billedAmount of all jobs',
    groupsOf(billed),
    await computed(sql`
    select '' as key, sum(l.amount)::text as value
    from invoice i join invoice_line l on l.tenant_id = i.tenant_id and l.invoice_id = i.id
    where i.tenant_id = ${tenantId} and i.status <> 'VOIDED' and i.draft_invoice_id is not null and i.document_type = 'INVOICE'`),
  );

  const sum = { sum: { function: 'SUM', column: 'amount' } };
  const movements = await calls.groups('ledger_entries', {
    groupBy: [{ column: 'businessDate', by: 'MONTH' }, { column: 'account' }, { column: 'kind' }],
    measures: sum,
  });
  const byMonth = await computed(sql`
    select to_char(business_date, 'YYYY-MM-01') || ' ' || account || ' ' || kind as key, sum(amount)::text as value
    from ledger_entry where tenant_id = ${tenantId} group by 1`);
  compare('entries by account, kind and month', groupsOf(movements), byMonth);
  const entered = new Map([...journal.sums].map(([key, value]) => [key, money(value)]));
  compare(
    'entries that the firm has entered, by account, kind and month',
    entered,
    await computed(sql`
    select to_char(business_date, 'YYYY-MM-01') || ' ' || account || ' '
        || case when kind in ('WRITE_UP', 'WRITE_DOWN') then 'ADJUSTMENT' else kind end as key, sum(amount)::text as value
    from ledger_entry where tenant_id = ${tenantId} group by 1`),
  );

  const revenue = await calls.groups('invoices', {
    where: { status: { _neq: 'VOIDED' } },
    groupBy: [{ column: 'clientId' }, { column: 'invoiceDate', by: 'MONTH' }],
    measures: { sum: { function: 'SUM', column: 'total' } },
  });
  compare(
    'revenue by client and month',
    groupsOf(revenue),
    await computed(sql`
    select i.client_id || ' ' || to_char(i.invoice_date, 'YYYY-MM-01') as key, sum(l.amount + l.tax_amount)::text as value
    from invoice i join invoice_line l on l.tenant_id = i.tenant_id and l.invoice_id = i.id
    where i.tenant_id = ${tenantId} and i.status <> 'VOIDED' group by 1`),
  );
  const taxes = await calls.groups('invoice_lines', {
    where: { status: { _nin: ['VOIDED', 'PENDING'] } },
    groupBy: [{ column: 'invoiceDate', by: 'MONTH' }],
    measures: { sum: { function: 'SUM', column: 'taxAmount' } },
  });
  compare(
    'tax of the report by month',
    groupsOf(taxes),
    await computed(sql`
    select to_char(i.invoice_date, 'YYYY-MM-01') as key, sum(l.tax_amount)::text as value
    from invoice i join invoice_line l on l.tenant_id = i.tenant_id and l.invoice_id = i.id
    where i.tenant_id = ${tenantId} and i.status not in ('VOIDED', 'PENDING') group by 1`),
  );
  const trial = await calls.groups('journal_entries', { groupBy: [{ column: 'purpose' }], measures: sum });
  compare('trial balance', groupsOf(trial), await computed(trialBalance(tenantId)));
  const hours = await calls.groups('time_entries', {
    where: { status: { _eq: 'APPROVED' } },
    groupBy: [{ column: 'staffId' }, { column: 'workDate', by: 'MONTH' }],
    measures: { sum: { function: 'SUM', column: 'hours' } },
  });
  compare(
    'hours by person and month',
    groupsOf(hours),
    await computed(sql`
    select staff_id || ' ' || to_char(work_date, 'YYYY-MM-01') as key, sum(hours)::text as value
    from time_entry where tenant_id = ${tenantId} and status = 'APPROVED' and active group by 1`),
  );

  const today = Temporal.Now.plainDateISO('UTC').add({ days: 1 }).toString();
  const aged = await calls.groups('ledger_entries', {
    where: { account: { _eq: 'RECEIVABLE' } },
    groupBy: [{ column: 'clientId' }, { column: 'dueDate', daysBefore: today, boundaries: [1, 31, 61, 91] }],
    measures: sum,
  });
  compare('receivables by client and age', groupsOf(aged), await computed(agedInvoices(tenantId, today)));

  for (const { day, closedAt, figures } of closed) {
    compare(`figures as of ${day}, when it was closed and now`, figures, await figuresAsOf(calls, day));
    compare(`figures as of ${day}`, figures, await computed(asOf(tenantId, day, closedAt)));
  }
  for (const [name, statement] of Object.entries(mistakes(tenantId)))
    compare(name, new Map(), await computed(statement));
  return comparisons;
}

const isZero = (value: unknown) => value === null || value === undefined || /^-?0(\.0+)?$/.test(String(value));

function figuresOf(rows: readonly { readonly key: string; readonly value: string | null }[]): Figures {
  return new Map(rows.flatMap(({ key, value }) => (isZero(value) ? [] : [[key, String(value)]])));
}

function fieldOf(rows: readonly Readonly<Record<string, unknown>>[], field: string): Figures {
  return new Map(rows.flatMap((row) => (isZero(row[field]) ? [] : [[String(row.id), String(row[field])]])));
}

function groupsOf(groups: Awaited<ReturnType<FirmCalls['groups']>>): Figures {
  return figuresOf(groups.map(({ key, values }) => ({ key: Object.values(key).join(' '), value: values.sum ?? null })));
}

/** The payments that cover invoices. */
const counts = sql`p.status in ('COMPLETED', 'PARTIALLY_REFUNDED', 'REFUNDED')`;

/** What is owed on invoices, from their lines, the payments that cover them, and what is written off. */
const owed = (tenantId: number) => sql`(
  select i.id, i.client_id, i.due_date,
    (select coalesce(sum(l.amount + l.tax_amount), 0) from invoice_line l where l.tenant_id = i.tenant_id and l.invoice_id = i.id)
    - (select coalesce(sum(a.amount), 0) from payment_allocation a join payment p on p.tenant_id = a.tenant_id and p.id = a.payment_id
      where a.tenant_id = i.tenant_id and a.invoice_id = i.id and ${counts})
    - i.amount_written_off as due
  from invoice i where i.tenant_id = ${tenantId} and i.document_type = 'INVOICE' and i.status not in ('VOIDED', 'PENDING'))`;

/** Debit less credit by purpose: what is owed, held and not billed, and what documents and payments state. */
const trialBalance = (tenantId: number) => sql`
  select key, sum(value)::text as value from (
    select 'RECEIVABLE' as key, due as value from ${owed(tenantId)} o
    union all select 'CREDIT', -rest from ${held(tenantId)} h where status <> 'PENDING'
    union all select unnest(array['REVENUE', 'TAX']), -unnest(array[l.amount, l.tax_amount])
      from invoice i join invoice_line l on l.tenant_id = i.tenant_id and l.invoice_id = i.id
      where i.tenant_id = ${tenantId} and i.status not in ('VOIDED', 'PENDING')
    union all select 'PAYMENT', case when p.status = 'RETURNED' then 0 else p.amount end - p.refunded_amount from payment p
      where p.tenant_id = ${tenantId} and p.credit_note_id is null and (${counts} or p.status = 'RETURNED')
    union all select 'WRITE_OFF', amount_written_off from invoice where tenant_id = ${tenantId} and status not in ('VOIDED', 'PENDING')
    union all select unnest(array['WIP', 'WIP_CHANGE']), unnest(array[outstanding_amount, -outstanding_amount])
      from wip_entry where tenant_id = ${tenantId}) figures
  group by key`;

/** What is left of each payment, from its allocations and refunds. */
const held = (tenantId: number) => sql`(
  select p.id, p.client_id, case
      when p.status = 'RETURNED' then -p.refunded_amount
      when ${counts} or p.status = 'PENDING' then p.amount - p.refunded_amount - (select coalesce(sum(a.amount), 0)
        from payment_allocation a where a.tenant_id = p.tenant_id and a.payment_id = p.id)
      else 0 end as rest, p.status
  from payment p where p.tenant_id = ${tenantId})`;

/** What is left of work, from the approved time and expenses, and what invoices took of it. */
const unbilled = (tenantId: number) => sql`(
  select w.id, w.client_id, w.job_id,
    case when w.time_entry_id is not null then (select e.amount from time_entry e where e.tenant_id = w.tenant_id and e.id = w.time_entry_id)
      else (select e.billable_amount from expense_entry e where e.tenant_id = w.tenant_id and e.id = w.expense_entry_id) end
    - (select coalesce(sum(r.billed - r.write_up + r.write_off), 0) from wip_relief r
      join invoice i on i.tenant_id = r.tenant_id and i.id = r.invoice_id
      where r.tenant_id = w.tenant_id and r.wip_entry_id = w.id and i.status <> 'VOIDED')
    - case when w.status = 'WRITTEN_OFF' then w.amount else 0 end as rest
  from wip_entry w where w.tenant_id = ${tenantId} and w.status <> 'REVERSED')`;

function balancesOfClients(tenantId: number): Readonly<Record<string, RawBuilder<unknown>>> {
  return {
    outstandingBalance: sql`select client_id::text as key, sum(due)::text as value from ${owed(tenantId)} o group by 1`,
    unappliedCredit: sql`select client_id::text as key, sum(rest)::text as value from ${held(tenantId)} h
      where status <> 'PENDING' group by 1`,
    unbilledWip: sql`select client_id::text as key, sum(rest)::text as value from ${unbilled(tenantId)} u group by 1`,
  };
}

function amountsOfInvoices(tenantId: number): Readonly<Record<string, RawBuilder<unknown>>> {
  const covered = (byCredit: boolean) => sql`
    select a.invoice_id::text as key, sum(a.amount)::text as value
    from payment_allocation a join payment p on p.tenant_id = a.tenant_id and p.id = a.payment_id
    where a.tenant_id = ${tenantId} and ${counts} and (p.method = 'CREDIT') = ${byCredit} group by 1`;
  return {
    amountDue: sql`select id::text as key, due::text as value from ${owed(tenantId)} o`,
    amountPaid: covered(false),
    amountCredited: covered(true),
    total: sql`select invoice_id::text as key, sum(amount + tax_amount)::text as value
      from invoice_line where tenant_id = ${tenantId} group by 1`,
  };
}

/** From the last entry that paid an invoice on which nothing is due any more. */
function daysToPay(tenantId: number): RawBuilder<unknown> {
  return sql`select i.id::text as key, (max(e.business_date) - i.invoice_date)::text as value
    from invoice i join ledger_entry e on e.tenant_id = i.tenant_id and e.invoice_id = i.id and e.account = 'RECEIVABLE' and e.kind = 'ALLOCATION'
    where i.tenant_id = ${tenantId} and i.status = 'PAID' and exists (select from payment_allocation a
      where a.tenant_id = e.tenant_id and a.invoice_id = e.invoice_id and a.payment_id = e.payment_id)
    group by i.id, i.invoice_date`;
}

function unapplied(tenantId: number): RawBuilder<unknown> {
  return sql`select id::text as key, rest::text as value from ${held(tenantId)} h`;
}

function sumsOfJobs(tenantId: number): Readonly<Record<string, RawBuilder<unknown>>> {
  return {
    wipAmount: sql`select job_id::text as key, sum(rest)::text as value from ${unbilled(tenantId)} u group by 1`,
    actualHours: sql`select job_id::text as key, sum(hours)::text as value from time_entry
      where tenant_id = ${tenantId} and status = 'APPROVED' and active group by 1`,
  };
}

function agedInvoices(tenantId: number, today: string): RawBuilder<unknown> {
  return sql`select client_id || ' ' || case
      when ${today}::date - due_date < 1 then 'below' when ${today}::date - due_date < 31 then '1'
      when ${today}::date - due_date < 61 then '31' when ${today}::date - due_date < 91 then '61' else '91' end as key,
    sum(due)::text as value
    from ${owed(tenantId)} o group by 1`;
}

/** The figures as of a day, from the entries that were recorded before it was closed. */
function asOf(tenantId: number, day: string, closedAt: string): RawBuilder<unknown> {
  const entries = sql`(select * from ledger_entry
    where tenant_id = ${tenantId} and business_date <= ${day} and recorded_at <= ${closedAt})`;
  return sql`
    select account || ' ' || client_id as key, sum(amount) || ' of ' || count(*) as value from ${entries} e group by 1
    union all
    select case when ${day}::date - due_date < 1 then 'below' when ${day}::date - due_date < 31 then '1'
        when ${day}::date - due_date < 61 then '31' when ${day}::date - due_date < 91 then '61' else '91' end,
      sum(amount) || ' of ' || count(*)
    from ${entries} e where account = 'RECEIVABLE' group by 1
    union all
    select 'work ' || case when ${day}::date - w.work_date < 0 then '-31' when ${day}::date - w.work_date < 31 then '0'
        when ${day}::date - w.work_date < 61 then '31' else '61' end, sum(e.amount) || ' of ' || count(*)
    from ${entries} e join wip_entry w on w.tenant_id = e.tenant_id and w.id = e.wip_entry_id group by 1`;
}

/** What must not exist. */
function mistakes(tenantId: number): Readonly<Record<string, RawBuilder<unknown>>> {
  return {
    'halves of allocations without the other half': sql`
      select payment_id || ' ' || invoice_id || ' ' || business_date as key,
        (coalesce(sum(amount) filter (where account = 'RECEIVABLE'), 0) - coalesce(sum(amount) filter (where account = 'CREDIT'), 0))::text as value
      from ledger_entry where tenant_id = ${tenantId} and kind in ('ALLOCATION', 'DEALLOCATION')
      group by payment_id, invoice_id, business_date, kind`,
    'invoices and payments with a negative balance on some day': sql`
      select account || ' ' || row || ' ' || business_date as key, balance::text as value
      from (select account, coalesce(case account when 'CREDIT' then payment_id end, invoice_id) as row, business_date,
          sum(sum(amount)) over (partition by account, coalesce(case account when 'CREDIT' then payment_id end, invoice_id)
            order by business_date) as balance
        from ledger_entry where tenant_id = ${tenantId} and account <> 'WIP' group by 1, 2, 3) b
      where balance < 0 and not exists (select from payment p
        where p.tenant_id = ${tenantId} and p.id = b.row and p.status = 'RETURNED' and p.refunded_amount > 0)`,
    'allocations that exceed their payment': sql`
      select p.id::text as key, p.amount::text as value from payment p
      where p.tenant_id = ${tenantId} and p.amount < p.refunded_amount + (select coalesce(sum(a.amount), 0)
        from payment_allocation a where a.tenant_id = p.tenant_id and a.payment_id = p.id)`,
  };
}
