-- What clients owed, and what was held for them, at the end of a day, from what has happened since to the documents of that day or before.
-- locks: none

-- What is open now, less what has happened since to invoices of that day or before. Later invoices have no entry until then. Invoices are settled
-- within months, so the entries soon after the day are read, and of the others those that are late. The rows add up to the entries until the
-- day for each client, currency and due date; they are not the entries.
create or replace function open_receivables(tenant integer, day date)
returns table (tenant_id integer, account text, business_date date, due_date date, client_id uuid, currency text, amount numeric)
language sql stable parallel safe
begin atomic
  select i.tenant_id, 'RECEIVABLE'::text collate "C", day, i.due_date, i.client_id, i.currency, i.amount_due
  from invoice i
  where i.tenant_id = tenant and i.status in ('POSTED', 'PARTIALLY_PAID') and i.invoice_date <= day
  union all
  select e.tenant_id, 'RECEIVABLE'::text collate "C", day, e.due_date, e.client_id, e.currency, -e.amount
  from ledger_entry e
  where e.tenant_id = tenant and e.account = 'RECEIVABLE' and e.account <> 'WIP' and e.document_date <= day
    and e.business_date > day and e.business_date <= day + 100
  union all
  select e.tenant_id, 'RECEIVABLE'::text collate "C", day, e.due_date, e.client_id, e.currency, -e.amount
  from ledger_entry e
  where e.tenant_id = tenant and e.account = 'RECEIVABLE' and e.business_date - e.document_date > 100 and e.document_date <= day
    and e.business_date > day + 100;
end;

-- Less than nothing is held of a payment only if it was returned.
create or replace function open_credit(tenant integer, day date)
returns table (tenant_id integer, account text, business_date date, client_id uuid, currency text, amount numeric)
language sql stable parallel safe
begin atomic
  select p.tenant_id, 'CREDIT'::text collate "C", day, p.client_id, p.currency, held(p.status, p.unapplied_amount)
  from payment p
  where p.tenant_id = tenant and p.unapplied_amount > 0 and p.payment_date <= day
  union all
  select p.tenant_id, 'CREDIT'::text collate "C", day, p.client_id, p.currency, p.unapplied_amount
  from payment p
  where p.tenant_id = tenant and p.status = 'RETURNED' and p.unapplied_amount < 0 and p.payment_date <= day
  union all
  select e.tenant_id, 'CREDIT'::text collate "C", day, e.client_id, e.currency, -e.amount
  from ledger_entry e
  where e.tenant_id = tenant and e.account = 'CREDIT' and e.account <> 'WIP' and e.document_date <= day
    and e.business_date > day and e.business_date <= day + 100
  union all
  select e.tenant_id, 'CREDIT'::text collate "C", day, e.client_id, e.currency, -e.amount
  from ledger_entry e
  where e.tenant_id = tenant and e.account = 'CREDIT' and e.business_date - e.document_date > 100 and e.document_date <= day
    and e.business_date > day + 100;
end;
