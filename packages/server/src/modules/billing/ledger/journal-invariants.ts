import { sql } from 'kysely';
import type { Session } from '../../../platform/store/session.ts';
import { type BookRule, type Breach, findBroken } from './book-rule.ts';

/** Returns the rows of a tenant with which the journal does not agree. It is derived once for all rules, as of one moment. */
export function findJournalBreaches(session: Pick<Session, 'all'>, tenantId: number): Promise<Breach[]> {
  const journal = sql`journal as materialized (
    select posting_id, client_id, invoice_id, payment_id, purpose, business_date, currency, amount
    from journal_entry where tenant_id = ${tenantId} and wip_entry_id is null)`;
  return findBroken(session, tenantId, journal, rules);
}

/**
 * What the journal, which the database derives, must agree with: itself, the ledger, documents and payments. Of work it has each entry and
 * its other side, whatever they are, so these rows are left out.
 */
const rules: readonly BookRule[] = [
  {
    rule: 'the rows of a posting add up to zero',
    broken: () => sql`
      select posting_id::text as id, concat_ws(' ', currency, sum(amount)) as detail from journal
      group by posting_id, currency having sum(amount) <> 0`,
  },
  {
    rule: 'the journal has the movements of the ledger, by client, account and day',
    broken: (tenantId) => sql`
      select coalesce(e.client_id, j.client_id) as id, concat_ws(' ', account, business_date, e.amount, j.amount) as detail
      from (select coalesce(client_id::text, 'no client') as client_id, account, business_date, sum(amount) as amount from ledger_entry
        where tenant_id = ${tenantId} and account <> 'WIP' group by 1, 2, 3) e
      full join (select coalesce(client_id::text, 'no client') as client_id, case purpose when 'SUSPENSE' then 'CREDIT' else purpose end as account,
          business_date, sum(case when purpose in ('CREDIT', 'SUSPENSE') then -amount else amount end) as amount
        from journal where purpose in ('RECEIVABLE', 'CREDIT', 'SUSPENSE') group by 1, 2, 3) j
        using (client_id, account, business_date)
      where coalesce(e.amount, 0) <> coalesce(j.amount, 0)`,
  },
  {
    rule: 'the journal has the revenue and the tax of documents that count',
    broken: (tenantId) => sql`
      select i.id::text, concat_ws(' ', i.status, l.revenue, j.revenue, l.tax, j.tax) as detail
      from invoice i
      left join (select l.invoice_id, sum(l.amount) as revenue, sum(l.tax_amount) as tax from invoice_line l
        join invoice i on i.tenant_id = l.tenant_id and i.id = l.invoice_id
        where l.tenant_id = ${tenantId} and i.status not in ('PENDING', 'VOIDED') group by 1) l on l.invoice_id = i.id
      left join (select invoice_id, coalesce(-sum(amount) filter (where purpose = 'REVENUE'), 0) as revenue,
          coalesce(-sum(amount) filter (where purpose = 'TAX'), 0) as tax
        from journal where purpose in ('REVENUE', 'TAX') group by 1) j on j.invoice_id = i.id
      where i.tenant_id = ${tenantId}
        and (coalesce(l.revenue, 0), coalesce(l.tax, 0)) is distinct from (coalesce(j.revenue, 0), coalesce(j.tax, 0))`,
  },
  {
    rule: 'the journal has the money that was received and not refunded or returned',
    broken: (tenantId) => sql`
      select p.id::text, concat_ws(' ', p.status, p.amount, p.refunded_amount, j.amount) as detail
      from payment p
      left join (select payment_id, sum(amount) as amount from journal
        where purpose = 'PAYMENT' group by 1) j on j.payment_id = p.id
      where p.tenant_id = ${tenantId} and coalesce(j.amount, 0) <> case
        when p.credit_note_id is not null then 0
        when p.status = 'RETURNED' then -p.refunded_amount
        when counts(p.status) then p.amount - p.refunded_amount
        else 0 end`,
  },
];
