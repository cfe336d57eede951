import { sql } from 'kysely';
import type { Session } from '../../../platform/store/session.ts';
import type { BookRule, Breach } from './book-rule.ts';
import { findWrongBilling } from './job-billing.ts';
import { findJournalBreaches } from './journal-invariants.ts';
import { findLedgerBreaches } from './ledger-invariants.ts';

/**
 * Returns the rows of a tenant that violate an invariant of the books. Each row is checked in one statement, so
 * concurrent writes do no harm.
 */
export async function findBreaches(session: Pick<Session, 'all'>, tenantId: number): Promise<Breach[]> {
  const breaches = [
    ...(await findJournalBreaches(session, tenantId)),
    ...(await findLedgerBreaches(session, tenantId)),
  ];
  for (const { rule, broken } of rules)
    for (const { id, detail } of await session.all(broken(tenantId))) breaches.push({ rule, id, detail });
  for (const wrong of await findWrongBilling(session, tenantId))
    breaches.push({ rule: 'what an invoice bills a job follows from its lines', ...wrong });
  return breaches;
}

const documents = ['draft_invoice', 'invoice'] as const;

/** Tables with amounts in the currency of the client, and their amounts. */
const amountsOf = {
  job: ['fee_amount', 'budget_amount'],
  engagement: ['fee_amount', 'deposit_amount'],
  wip_entry: ['amount', 'write_off_amount'],
  draft_invoice: ['total'],
  invoice: ['total', 'amount_due'],
  payment: ['amount', 'unapplied_amount', 'refunded_amount'],
  quick_payment_link: ['amount'],
} as const;

const rules: readonly BookRule[] = [
  // Rows from before these rules keep their currencies and amounts; they are listed here.
  ...Object.entries(amountsOf).flatMap(([table, columns]): BookRule[] => [
    {
      rule: `the currency of a row of ${table} is that of its client`,
      broken: (tenantId) => sql`
        select t.id::text, concat_ws(' ', t.currency, k.currency) as detail from ${sql.table(table)} t
        join client k on k.tenant_id = t.tenant_id and k.id = t.client_id
        where t.tenant_id = ${tenantId} and t.currency <> k.currency`,
    },
    {
      rule: `amounts of ${table} have the minor units of their currency`,
      broken: (tenantId) => {
        const amounts = columns.map((column) => sql.ref(`t.${column}`));
        const places = amounts.map((amount) => sql`${amount} <> round(${amount}, minor_units(t.currency))`);
        return sql`
          select t.id::text, concat_ws(' ', t.currency, ${sql.join(amounts)}) as detail from ${sql.table(table)} t
          where t.tenant_id = ${tenantId} and minor_units(t.currency) < 2 and (${sql.join(places, sql` or `)})`;
      },
    },
  ]),
  ...documents.map((table) => ({
    rule: `lines of ${table} are quantity times unit amount and their taxes, rounded half up to the minor unit of the currency`,
    // Only documents with a line that is not right by itself, such as one with several taxes or with tax in its price, are compared as a whole.
    broken: (tenantId: number) => sql<{ id: string; detail: string }>`
      with compared as materialized (
        select distinct d.id from ${sql.table(`${table}_line`)} l
        join ${sql.table(table)} d on d.tenant_id = l.tenant_id and d.id = l.${sql.ref(`${table}_id`)}
        where l.tenant_id = ${tenantId} and (
          line_amount(quantity, unit_amount, minor_units(currency)) = amount
          and case when not taxable then taxes = '[]' and tax_amount = 0
            when prices_include_tax or tax_rounding <> 'LINE' or jsonb_array_length(taxes) <> 1 then false
            else (taxes -> 0 ->> 'amount')::numeric = tax_amount and (taxes -> 0 ->> 'ratePercent')::numeric = tax_rate_percent
              and tax_amount = line_tax(amount, taxable, tax_rate_percent, minor_units(currency))
            end) is not true)
      select d.id::text, string_agg(concat_ws(' ', quantity, unit_amount, amount, tax_rate_percent, tax_amount), ', ') as detail
      from compared
      join ${sql.table(table)} d on d.tenant_id = ${tenantId} and d.id = compared.id
      join ${sql.table(`${table}_line`)} l on l.tenant_id = d.tenant_id and l.${sql.ref(`${table}_id`)} = d.id
      group by d.tenant_id, d.id
      having not are_priced(jsonb_agg(priced_line(
        l.position, quantity, unit_amount, amount, taxable, tax_rate_percent, tax_amount, taxes)),
        prices_include_tax, ${table === 'invoice' ? sql`case when tax_as_stated then 'STATED' else tax_rounding end` : sql`tax_rounding`},
        minor_units(currency))`,
  })),
  {
    rule: 'the rows of the tax report of a line have its amount and its taxes',
    broken: (tenantId: number) => sql<{ id: string; detail: string }>`
      select l.id::text, concat_ws(' ', l.amount, l.tax_amount, t.amount, t.tax_amount) as detail
      from invoice_line l cross join lateral (
        select sum(t.amount) as amount, sum(t.tax_amount) as tax_amount, count(t.name) as taxes
        from invoice_line_tax t where t.tenant_id = l.tenant_id and t.line_id = l.id) t
      where l.tenant_id = ${tenantId} and (l.amount, l.tax_amount, jsonb_array_length(l.taxes)) is distinct from (t.amount, t.tax_amount, t.taxes)`,
  },
  ...documents.map((table) => ({
    rule: `totals of ${table} are those of its lines`,
    broken: (tenantId: number) => sql<{ id: string; detail: string }>`
      select d.id::text, concat_ws(' ', d.subtotal, d.discount_total, d.tax_total, d.interest_total, d.total) as detail
      from ${sql.table(table)} d
      left join (select ${sql.ref(`${table}_id`)} as id,
          sum(subtotal_of(line_type, amount)) as subtotal, sum(discount_of(line_type, amount)) as discount,
          sum(interest_of(line_type, amount)) as interest, sum(tax_amount) as tax
        from ${sql.table(`${table}_line`)} where tenant_id = ${tenantId} group by 1) l on l.id = d.id
      where d.tenant_id = ${tenantId}
        and ((d.subtotal, d.discount_total, d.tax_total, d.interest_total)
            is distinct from (coalesce(l.subtotal, 0), coalesce(l.discount, 0), coalesce(l.tax, 0), coalesce(l.interest, 0))
          or d.total <> document_total(d.subtotal, d.discount_total, d.tax_total, d.interest_total))`,
  })),
  {
    rule: 'the entries of work are those of its day, client and job, and all others add up to nothing',
    broken: (tenantId) => sql`
      select w.id::text, concat_ws(' ', w.work_date, e.work_date, e.client_id, e.job_id, sum(e.amount)) as detail
      from ledger_entry e join wip_entry w on w.tenant_id = e.tenant_id and w.id = e.wip_entry_id
      where e.tenant_id = ${tenantId} and (e.work_date <> w.work_date or e.client_id <> w.client_id or e.job_id <> w.job_id)
      group by w.id, w.work_date, e.work_date, e.client_id, e.job_id
      having sum(e.amount) <> 0`,
  },
  {
    // What was owed on a day is read from what invoices owe now and the entries since, by client and due date.
    rule: 'the RECEIVABLE entries of an invoice have its client and its due date',
    broken: (tenantId) => sql`
      select distinct i.id::text, concat_ws(' ', i.client_id, i.due_date, e.client_id, e.due_date) as detail
      from ledger_entry e join invoice i on i.tenant_id = e.tenant_id and i.id = e.invoice_id
      where e.tenant_id = ${tenantId} and e.account = 'RECEIVABLE' and (e.client_id <> i.client_id or e.due_date <> i.due_date)`,
  },
  {
    // As of a day, only what has happened to the documents of that day or before is read.
    rule: 'the entries of an invoice or a payment have its date, and none is of an earlier day',
    broken: (tenantId) => sql`
      select e.id::text, concat_ws(' ', i.invoice_date, p.payment_date, e.document_date, e.business_date) as detail
      from ledger_entry e
      left join invoice i on e.account = 'RECEIVABLE' and i.tenant_id = e.tenant_id and i.id = e.invoice_id
      left join payment p on e.account = 'CREDIT' and p.tenant_id = e.tenant_id and p.id = e.payment_id
      where e.tenant_id = ${tenantId} and e.account <> 'WIP'
        and (e.document_date is distinct from coalesce(i.invoice_date, p.payment_date) or e.business_date < e.document_date)`,
  },
  {
    rule: 'the CREDIT entries of a payment are those of its client, and those of nobody add up to nothing once it has one',
    broken: (tenantId) => sql`
      select p.id::text, concat_ws(' ', p.client_id, e.client_id, sum(e.amount)) as detail
      from ledger_entry e join payment p on p.tenant_id = e.tenant_id and p.id = e.payment_id
      where e.tenant_id = ${tenantId} and e.account = 'CREDIT' and e.client_id is distinct from p.client_id
      group by p.id, p.client_id, e.client_id having sum(e.amount) <> 0`,
  },
  {
    rule: 'both halves of an allocation have one amount',
    broken: (tenantId) => sql`
      select payment_id::text as id, concat_ws(' ', invoice_id, business_date, sum(amount)) as detail
      from ledger_entry where tenant_id = ${tenantId} and kind in ('ALLOCATION', 'DEALLOCATION')
      group by payment_id, invoice_id, kind, business_date, recorded_at
      having sum(amount) filter (where account = 'RECEIVABLE')
        is distinct from sum(amount) filter (where account = 'CREDIT')`,
  },
  {
    rule: 'the amount due of an invoice is its total less its payments, credits and write-offs, and its status agrees with that',
    broken: (tenantId) => sql`
      select id::text, concat_ws(' ', status, total, amount_paid, amount_credited, amount_written_off, amount_pending,
        amount_due) as detail
      from invoice where tenant_id = ${tenantId} and not (
        amount_due = due(status, document_type, total, amount_paid, amount_credited, amount_written_off)
        and amount_due >= 0 and amount_pending between 0 and amount_due
        and (document_type = 'CREDIT_NOTE') = (total < 0)
        and case when document_type = 'CREDIT_NOTE' then status in ('POSTED', 'VOIDED')
          else (status = 'PAID') = (amount_due = 0 and status not in ('VOIDED', 'WRITTEN_OFF', 'PENDING')) end
        and (status <> 'PARTIALLY_PAID' or amount_paid + amount_credited > 0)
        and (status <> 'POSTED' or amount_paid + amount_credited = 0)
        and (status in ('POSTED', 'PARTIALLY_PAID', 'PAID', 'WRITTEN_OFF') or amount_written_off = 0)
        and (amount_written_off > 0) = (write_off_reason is not null)
        and (status <> 'VOIDED' or amount_paid + amount_credited + amount_pending = 0))`,
  },
  {
    rule: 'the amount of a payment is the sum of its allocations, its unapplied and its refunded amount',
    broken: (tenantId) => sql`
      select p.id::text, concat_ws(' ', p.status, p.amount, a.allocated, p.unapplied_amount, p.refunded_amount) as detail
      from payment p cross join lateral (select coalesce(sum(amount), 0) as allocated from payment_allocation a
        where a.tenant_id = p.tenant_id and a.payment_id = p.id) a
      where p.tenant_id = ${tenantId} and not (p.unapplied_amount = unapplied(p.status, p.amount, p.refunded_amount, a.allocated)
        and (a.allocated = 0 or counts(p.status) or p.status = 'PENDING')
        and (p.unapplied_amount >= 0 or p.status = 'RETURNED'))`,
  },
  {
    // Whether the clients are in one group is checked when the allocation is created: a client may leave its group later.
    rule: 'allocations stay in one currency',
    broken: (tenantId) => sql`
      select a.payment_id::text as id, concat_ws(' ', a.invoice_id, p.currency, i.currency) as detail
      from payment_allocation a
      join payment p on p.tenant_id = a.tenant_id and p.id = a.payment_id
      join invoice i on i.tenant_id = a.tenant_id and i.id = a.invoice_id
      where a.tenant_id = ${tenantId} and p.currency <> i.currency`,
  },
  {
    rule: 'work in progress is billed, written off or outstanding',
    broken: (tenantId) => sql`
      select id::text, concat_ws(' ', status, amount, write_up_amount, write_off_amount, billed_amount, outstanding_amount)
        as detail
      from wip_entry where tenant_id = ${tenantId} and not (
        (status = 'REVERSED' and outstanding_amount = 0
          or amount + write_up_amount - write_off_amount = billed_amount + outstanding_amount)
        and (status <> 'BILLED' or (outstanding_amount = 0 and invoice_id is not null))
        and (status <> 'WRITTEN_OFF' or outstanding_amount = 0)
        and (status = 'IN_DRAFT') = (status = 'IN_DRAFT' and draft_invoice_id is not null)
        and (status <> 'OPEN' or (billed_amount = 0 and write_up_amount = 0 and write_off_amount = 0)))`,
  },
  {
    rule: 'work in progress is reserved by at most one active draft',
    broken: (tenantId) => sql`
      select w.id::text, concat_ws(' ', w.status, w.draft_invoice_id, array_agg(d.id)) as detail
      from wip_entry w
      left join (select lw.wip_entry_id, d.id from draft_invoice d
        join draft_invoice_line l on l.tenant_id = d.tenant_id and l.draft_invoice_id = d.id
        join draft_invoice_line_wip lw on lw.tenant_id = l.tenant_id and lw.line_id = l.id
        where d.tenant_id = ${tenantId} and d.status in ('DRAFT', 'IN_REVIEW', 'APPROVED', 'REJECTED')) d
        on d.wip_entry_id = w.id
      where w.tenant_id = ${tenantId} group by w.tenant_id, w.id
      having count(d.id) > 1 or (w.status = 'IN_DRAFT') <> (count(d.id) = 1)
        or (w.status = 'IN_DRAFT' and w.draft_invoice_id is distinct from (array_agg(d.id))[1])`,
  },
  {
    rule: 'an invoice bills the work of its client alone',
    broken: (tenantId) => sql`
      select i.id::text, w.id::text as detail from invoice i
      join invoice_line l on l.tenant_id = i.tenant_id and l.invoice_id = i.id
      join invoice_line_wip lw on lw.tenant_id = l.tenant_id and lw.line_id = l.id
      join wip_entry w on w.tenant_id = lw.tenant_id and w.id = lw.wip_entry_id
      where i.tenant_id = ${tenantId} and (w.client_id <> i.client_id or w.currency <> i.currency)`,
  },
  {
    rule: 'an invoice bills of its work the amounts of the lines with that work',
    broken: (tenantId) => sql`
      select i.id::text, concat_ws(' ', taken.billed, lines.amount) as detail from invoice i
      cross join lateral (select coalesce(sum(r.billed), 0) as billed from wip_relief r
        where r.tenant_id = i.tenant_id and r.invoice_id = i.id) taken
      cross join lateral (select coalesce(sum(l.amount), 0) as amount from invoice_line l
        where l.tenant_id = i.tenant_id and l.invoice_id = i.id and exists (
          select from invoice_line_wip lw where lw.tenant_id = l.tenant_id and lw.line_id = l.id)) lines
      where i.tenant_id = ${tenantId} and taken.billed <> lines.amount`,
  },
  {
    rule: 'the billed and written-off amounts of work in progress are those of invoices that are not voided',
    broken: (tenantId) => sql`
      select w.id::text, concat_ws(' ', w.status, w.billed_amount, r.billed, w.write_up_amount, r.write_up,
        w.write_off_amount, r.write_off) as detail
      from wip_entry w left join (
        select r.wip_entry_id, sum(r.billed) as billed, sum(r.write_up) as write_up, sum(r.write_off) as write_off
        from wip_relief r join invoice i on i.tenant_id = r.tenant_id and i.id = r.invoice_id
        where r.tenant_id = ${tenantId} and i.status <> 'VOIDED' group by 1) r on r.wip_entry_id = w.id
      where w.tenant_id = ${tenantId} and (w.billed_amount <> coalesce(r.billed, 0) or w.write_up_amount <> coalesce(r.write_up, 0)
        or (w.write_off_reason is null and w.write_off_amount <> coalesce(r.write_off, 0)))`,
  },
  {
    rule: 'a posted draft and its invoice have one total, and no other draft has an invoice',
    broken: (tenantId) => sql`
      select d.id::text, concat_ws(' ', d.status, d.total, i.total) as detail
      from draft_invoice d left join invoice i on i.tenant_id = d.tenant_id and i.draft_invoice_id = d.id
      where d.tenant_id = ${tenantId} and ((d.status = 'POSTED') <> (i.id is not null)
        or i.total <> d.total or d.invoice_id is distinct from i.id)`,
  },
  {
    rule: 'the credit of a credit note has its amount, and is voided with it',
    broken: (tenantId) => sql`
      select i.id::text, concat_ws(' ', i.status, i.total, p.status, p.amount) as detail
      from invoice i left join payment p on p.tenant_id = i.tenant_id and p.credit_note_id = i.id
      where i.tenant_id = ${tenantId} and (i.document_type = 'CREDIT_NOTE' or p.id is not null) and (
        i.document_type = 'INVOICE' or p.amount is distinct from -i.total
        or (p.client_id, p.currency, p.payment_date) is distinct from (i.client_id, i.currency, i.invoice_date)
        or (p.status = 'VOIDED') <> (i.status = 'VOIDED'))`,
  },
  {
    // Imported documents can have such numbers, too: those that are reached are skipped.
    rule: 'the document numbers of a type, an org and a year have no gap',
    broken: (tenantId) => sql`
      select c.name as id, concat_ws(' ', c.value, n.numbers) as detail
      from tenant_counter c cross join lateral (
        select count(distinct substring(i.invoice_number from '\\d+$')::numeric) as numbers from invoice i
        where i.tenant_id = c.tenant_id and i.org_id::text = split_part(c.name, '.', 3)
          and i.document_type = case split_part(c.name, '.', 2) when 'invoice_number' then 'INVOICE' else 'CREDIT_NOTE' end
          and i.invoice_number ~ ('-' || split_part(c.name, '.', 4) || '-\\d{5,}$')
          and substring(i.invoice_number from '\\d+$')::numeric <= c.value) n
      where c.tenant_id = ${tenantId} and starts_with(c.name, 'invoice.') and n.numbers <> c.value`,
  },
  {
    // From the number that a caller wrote, or since the pattern changed.
    rule: 'the document numbers of a series and a period have no gap',
    broken: (tenantId) => sql`
      select s.id::text, concat_ws(' ', c.period, c.first, c.value, n.numbers) as detail
      from document_series s
      cross join lateral (
        select value, split_part(name, '.', 3) as period,
          case split_part(name, '.', 3) when s.first_period then s.first_number else 1 end as first
        from tenant_counter where tenant_id = s.tenant_id and starts_with(name, 'document_series.' || s.id || '.')) c
      cross join lateral (
        select replace(replace(replace(replace(s.pattern, '.', '\\.'), '{YYYY}', coalesce(nullif(left(c.period, 4), ''), '\\d{4}')),
          '{YY}', coalesce(nullif(substring(c.period from 3 for 2), ''), '\\d{2}')),
          '{MM}', coalesce(nullif(substring(c.period from 6), ''), '\\d{2}')) as pattern) known
      cross join lateral (
        select count(distinct number) as numbers from (
          select substring(i.invoice_number from '^' || regexp_replace(known.pattern, '\\{N+\\}', '(\\\\d+)') || '$')::numeric as number
          from invoice i where i.tenant_id = s.tenant_id and i.org_id = s.org_id) numbered
        where number between c.first and c.value) n
      where s.tenant_id = ${tenantId} and c.period >= s.first_period and c.value >= c.first and n.numbers <> c.value - c.first + 1`,
  },
  {
    rule: 'approved billable time is one row of work in progress, and other time is none',
    broken: (tenantId) => sql`
      select e.id::text, concat_ws(' ', e.status, e.amount, w.amounts) as detail
      from time_entry e left join (
        select time_entry_id, count(*) as rows, min(amount) as amount, array_agg(amount) as amounts from wip_entry
        where tenant_id = ${tenantId} and time_entry_id is not null and status <> 'REVERSED' group by 1) w on w.time_entry_id = e.id
      where e.tenant_id = ${tenantId} and (w.amount <> e.amount
        or coalesce(w.rows, 0) <> case when e.status = 'APPROVED' and e.is_billable then 1 else 0 end)`,
  },
  {
    rule: 'an approved expense that is billed is one row of work in progress, and any other is none',
    broken: (tenantId) => sql`
      select e.id::text, concat_ws(' ', e.status, e.billable_amount, array_agg(w.amount)) as detail
      from expense_entry e
      left join wip_entry w on w.tenant_id = e.tenant_id and w.expense_entry_id = e.id and w.status <> 'REVERSED'
      where e.tenant_id = ${tenantId} group by e.tenant_id, e.id
      having count(w.id) <> (case when e.status = 'APPROVED' and e.billable_amount > 0 then 1 else 0 end)
        or min(w.amount) <> e.billable_amount`,
  },
  {
    rule: 'no staff member works more than 24 hours a day',
    broken: (tenantId) => sql`
      select e.staff_id::text as id, concat_ws(' ', e.work_date, sum(e.hours)) as detail from time_entry e
      where e.tenant_id = ${tenantId} and e.active and e.status <> 'REJECTED'
        and (e.reverses_system_ref is null or exists (select from time_entry reversed
          where reversed.tenant_id = e.tenant_id and reversed.system_ref = e.reverses_system_ref
            and reversed.work_date = e.work_date))
      group by e.staff_id, e.work_date having sum(e.hours) > 24`,
  },
  {
    rule: 'an entry is reversed by at most its hours',
    broken: (tenantId) => sql`
      select o.id::text, concat_ws(' ', o.status, o.hours, sum(r.hours)) as detail from time_entry o
      join time_entry r on r.tenant_id = o.tenant_id and r.reverses_system_ref = o.system_ref
        and r.active and r.status <> 'REJECTED'
      where o.tenant_id = ${tenantId} group by o.tenant_id, o.id
      having o.hours + sum(r.hours) < 0 or o.status <> 'APPROVED'`,
  },
  {
    rule: 'a used payment link has the one payment that came through it',
    broken: (tenantId) => sql`
      select k.id::text, concat_ws(' ', k.status, k.payment_id, count(p.id)) as detail from quick_payment_link k
      left join payment p on p.tenant_id = k.tenant_id and p.quick_payment_link_id = k.id
        and p.status not in ('FAILED')
      where k.tenant_id = ${tenantId} group by k.tenant_id, k.id
      having count(p.id) > 1 or (k.status = 'USED' and not coalesce(bool_or(p.id = k.payment_id), false))
        and not exists (select from payment p where p.tenant_id = k.tenant_id and p.id = k.payment_id
          and p.source = 'QUICK_PAYMENT_LINK')`,
  },
];
