-- Payments whose payer is not known yet: their money has no client until theirs is set.
-- locks: access exclusive on gl_mapping, access exclusive on ledger_entry, access exclusive on payment, share row exclusive on org, share row exclusive on payment

alter table payment add column org_id uuid, alter column client_id drop not null;
alter table payment add constraint payment_org_id_reference foreign key (tenant_id, org_id) references org (tenant_id, id) not valid;
alter table payment add constraint payment_client_id_agrees
  check (client_id is not null or (org_id is not null and method <> 'CREDIT' and quick_payment_link_id is null)) not valid;

alter table ledger_entry alter column client_id drop not null;
alter table ledger_entry drop constraint ledger_entry_kind_enum;
alter table ledger_entry add constraint ledger_entry_kind_enum check (kind in (
    'INVOICE', 'ALLOCATION', 'DEALLOCATION', 'WRITE_OFF', 'RECOVERY', 'VOID', 'PAYMENT', 'CREDIT_NOTE', 'REFUND', 'RETURN',
    'PAYMENT_VOID', 'NOTE_VOID', 'IDENTIFICATION', 'WORK', 'WORK_REVERSED', 'WRITE_UP', 'WRITE_DOWN', 'BILLED', 'UNBILLED')) not valid;
alter table ledger_entry drop constraint ledger_entry_kind_agrees;
alter table ledger_entry add constraint ledger_entry_kind_agrees check (
    case account
      when 'RECEIVABLE' then client_id is not null and invoice_id is not null and due_date is not null
        and kind in ('INVOICE', 'ALLOCATION', 'DEALLOCATION', 'WRITE_OFF', 'RECOVERY', 'VOID')
        and (kind in ('ALLOCATION', 'DEALLOCATION')) = (payment_id is not null)
      when 'CREDIT' then payment_id is not null
        and kind in ('PAYMENT', 'CREDIT_NOTE', 'ALLOCATION', 'DEALLOCATION', 'REFUND', 'RETURN', 'PAYMENT_VOID', 'NOTE_VOID', 'IDENTIFICATION')
        and (kind not in ('ALLOCATION', 'DEALLOCATION') or invoice_id is not null)
        and (client_id is not null or kind in ('PAYMENT', 'REFUND', 'RETURN', 'PAYMENT_VOID', 'IDENTIFICATION'))
      when 'WIP' then client_id is not null and wip_entry_id is not null and job_id is not null
        and kind in ('WORK', 'WORK_REVERSED', 'WRITE_UP', 'WRITE_DOWN', 'BILLED', 'UNBILLED', 'WRITE_OFF', 'RECOVERY')
      else false
    end) not valid;
alter table ledger_entry drop constraint ledger_entry_amount_agrees;
alter table ledger_entry add constraint ledger_entry_amount_agrees check (
    amount <> 0 and case
      when account = 'WIP' then true
      -- From nobody to a client. After a refund and a return, less than nothing is held.
      when kind = 'IDENTIFICATION' then true
      when kind in ('INVOICE', 'PAYMENT', 'CREDIT_NOTE', 'DEALLOCATION', 'RECOVERY') then amount > 0
      else amount < 0
    end) not valid;

alter table gl_mapping drop constraint gl_mapping_purpose_enum;
alter table gl_mapping add constraint gl_mapping_purpose_enum check (
    purpose in ('RECEIVABLE', 'CREDIT', 'SUSPENSE', 'WIP', 'REVENUE', 'TAX', 'PAYMENT', 'WRITE_OFF', 'WIP_CHANGE')) not valid;
alter table gl_mapping drop constraint gl_mapping_kind_enum;
alter table gl_mapping add constraint gl_mapping_kind_enum check (kind in (
    'INVOICE', 'ALLOCATION', 'DEALLOCATION', 'WRITE_OFF', 'RECOVERY', 'VOID', 'PAYMENT', 'CREDIT_NOTE', 'REFUND', 'RETURN',
    'PAYMENT_VOID', 'NOTE_VOID', 'IDENTIFICATION', 'WORK', 'WORK_REVERSED', 'WRITE_UP', 'WRITE_DOWN', 'BILLED', 'UNBILLED')) not valid;
alter table gl_mapping drop constraint gl_mapping_purpose_agrees;
alter table gl_mapping add constraint gl_mapping_purpose_agrees check (
    (kind is null or purpose in ('RECEIVABLE', 'CREDIT', 'SUSPENSE', 'WIP', 'WRITE_OFF', 'WIP_CHANGE'))
    and (payment_method is null or purpose = 'PAYMENT')
    and (service_line_id is null or purpose = 'REVENUE')
    and (tax_name is null or purpose = 'TAX')) not valid;

-- Entries of a payment that has no client are of the org that received it.
create or replace function check_open_period() returns trigger language plpgsql as $$
declare
  closed record;
begin
  perform pg_advisory_xact_lock_shared(72304, (select e.tenant_id from new_rows e limit 1));
  select e.id, e.business_date, o.books_closed_through into closed
    from new_rows e
    left join client k on k.tenant_id = e.tenant_id and k.id = e.client_id
    left join payment p on p.tenant_id = e.tenant_id and p.id = e.payment_id and e.client_id is null
    join org o on o.tenant_id = e.tenant_id and o.id = coalesce(k.org_id, p.org_id)
    where e.business_date <= o.books_closed_through
    limit 1;
  if found then
    raise exception 'the books are closed through %, and entry % is of %', closed.books_closed_through, closed.id, closed.business_date
      using errcode = 'check_violation', constraint = 'ledger_entry_period_open', table = 'ledger_entry';
  end if;
  return null;
end
$$;

create or replace function check_payment() returns trigger language plpgsql as $$
declare
  paid payment;
  allocated numeric;
begin
  select * into paid from payment p where p.tenant_id = new.tenant_id and p.id = new.id;
  select coalesce(sum(amount), 0) into allocated
    from payment_allocation a where a.tenant_id = paid.tenant_id and a.payment_id = paid.id;
  if paid.unapplied_amount <> unapplied(paid.status, paid.amount, paid.refunded_amount, allocated)
    or not (allocated = 0 or counts(paid.status) or paid.status = 'PENDING') then
    raise exception 'payment % does not add up', paid.id
      using errcode = 'check_violation', constraint = 'payment_amount_agrees', table = 'payment';
  end if;
  if paid.client_id is null and allocated > 0 then
    raise exception 'payment % of an unknown payer is allocated', paid.id
      using errcode = 'check_violation', constraint = 'payment_allocations_client', table = 'payment';
  end if;
  -- Invoices whose amounts do not agree with their allocations.
  if exists (
    select 1
    from payment_allocation mine
    join invoice i on i.tenant_id = mine.tenant_id and i.id = mine.invoice_id
    join payment_allocation a on a.tenant_id = i.tenant_id and a.invoice_id = i.id
    join payment p on p.tenant_id = a.tenant_id and p.id = a.payment_id
    where mine.tenant_id = paid.tenant_id and mine.payment_id = paid.id
    group by i.id, i.amount_paid, i.amount_credited, i.amount_pending, i.currency
    having i.amount_paid <> sum(paid_by(p.status, p.method, a.amount))
      or i.amount_credited <> sum(credited_by(p.status, p.method, a.amount))
      or i.amount_pending <> sum(pending_by(p.status, a.amount))
      or i.currency <> paid.currency) then
    raise exception 'an invoice of payment % does not agree with what is allocated to it', paid.id
      using errcode = 'check_violation', constraint = 'payment_allocations_agree', table = 'payment';
  end if;
  if exists (
    select 1
    from payment_allocation a
    join invoice i on i.tenant_id = a.tenant_id and i.id = a.invoice_id
    join client billed on billed.tenant_id = i.tenant_id and billed.id = i.client_id
    join client payer on payer.tenant_id = a.tenant_id and payer.id = paid.client_id
    where a.tenant_id = paid.tenant_id and a.payment_id = paid.id and a.allocated_at = paid.updated_at
      and billed.id <> payer.id and billed.client_group_id is distinct from payer.client_group_id) then
    raise exception 'payment % goes to an invoice of another client', paid.id
      using errcode = 'check_violation', constraint = 'payment_allocations_client', table = 'payment';
  end if;
  return null;
end
$$;

-- Sums by month are those of clients. Entries without one are few, and have an index.
create or replace function sum_ledger() returns trigger language plpgsql as $$
begin
  insert into ledger_month as kept (tenant_id, account, client_id, currency, business_date, amount, entries)
  select tenant_id, account, client_id, currency, date_trunc('month', business_date::timestamp)::date, sum(amount), count(*)
  from new_rows where client_id is not null group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (tenant_id, account, client_id, currency, business_date)
    do update set amount = kept.amount + excluded.amount, entries = kept.entries + excluded.entries;
  return null;
end
$$;

-- The entries of a payment whose client is set move to that client.
create function check_identified_payment() returns trigger language plpgsql as $$
begin
  if exists (select from ledger_entry e
    where e.tenant_id = new.tenant_id and e.payment_id = new.id and e.account = 'CREDIT' and e.client_id is null
    having sum(e.amount) <> 0) then
    raise exception 'payment % has a client, but its money has none', new.id
      using errcode = 'check_violation', constraint = 'ledger_entry_payment_identified', table = 'ledger_entry';
  end if;
  return null;
end
$$;

create constraint trigger payment_identified
  after update on payment deferrable initially deferred for each row
  when (old.client_id is null and new.client_id is not null and (current_setting('app.copies_rows', true) is distinct from 'on'))
  execute function check_identified_payment();

-- The entries of an identification are one posting, like those of an allocation, in the org that received the money.
create or replace view journal_entry with (security_invoker = true) as
select e.tenant_id, journal_row_id(e.id, r.number) as id, e.id as posting_id, e.kind, r.purpose,
  coalesce(narrow.account_code, case when r.purpose = 'REVENUE' then s.revenue_account_code end, wide.account_code) as account_code,
  case when narrow.id is not null then narrow.account_name
    when r.purpose <> 'REVENUE' or s.revenue_account_code is null then wide.account_name end as account_name,
  r.amount, greatest(r.amount, 0.00) as debit, greatest(-r.amount, 0.00) as credit, e.currency, e.business_date, e.recorded_at,
  o.org_id, r.client_id, c.office_id, r.job_id, j.service_line_id, e.invoice_id, r.invoice_line_id, e.payment_id, e.wip_entry_id,
  r.payment_method, r.tax_name, r.tax_category, r.tax_region_id, r.tax_rate_percent, e.reverses_id, e.reason
from (
  select tenant_id, id, account, kind, amount, currency, business_date, recorded_at, client_id, job_id, invoice_id, payment_id,
    wip_entry_id, reverses_id, reason
  from ledger_entry
  union all
  -- An invoice of 0.00 moves no balance, but can have revenue and tax. It is paid when it is posted, so it is never voided.
  select tenant_id, id, 'RECEIVABLE'::text collate "C", 'INVOICE'::text collate "C", 0.00::numeric(16, 2), currency, invoice_date, posted_at,
    client_id, null::uuid, id, null::uuid, null::uuid, null::uuid, null::text collate "C"
  from invoice where total = 0 and posted_at is not null
) e
cross join lateral (
  -- The movement itself. What the firm holds for a client is a liability.
  select 0 as number, case when e.account = 'CREDIT' and e.client_id is null then 'SUSPENSE' collate "C" else e.account end as purpose, case e.account when 'CREDIT' then -e.amount else e.amount end as amount, e.client_id, e.job_id,
    null::uuid as invoice_line_id, null::text collate "C" as payment_method, null::text collate "C" as tax_name, null::text collate "C" as tax_category,
    null::uuid as tax_region_id, null::numeric as tax_rate_percent
  where e.amount <> 0 and not (e.account = 'RECEIVABLE' and e.kind in ('ALLOCATION', 'DEALLOCATION'))
    and not (e.kind = 'IDENTIFICATION' and e.client_id is not null)
  union all
  select 1, 'CREDIT', e.amount, p.client_id, null, null, null, null, null, null, null
  from payment p where p.tenant_id = e.tenant_id and p.id = e.payment_id and e.kind = 'IDENTIFICATION' and e.client_id is null
  union all
  select 1, 'RECEIVABLE', e.amount, i.client_id, null, null, null, null, null, null, null
  from invoice i where i.tenant_id = e.tenant_id and i.id = e.invoice_id
    and e.account = 'CREDIT' and e.kind in ('ALLOCATION', 'DEALLOCATION')
  union all
  select 1, case e.account when 'WIP' then 'WIP_CHANGE' else 'WRITE_OFF' end, -e.amount, e.client_id, e.job_id, null, null, null, null, null, null
  where e.account = 'WIP' or e.kind in ('WRITE_OFF', 'RECOVERY')
  union all
  select 1, 'PAYMENT', e.amount, e.client_id, null, null, p.method, null, null, null, null
  from payment p where p.tenant_id = e.tenant_id and p.id = e.payment_id
    and e.account = 'CREDIT' and e.kind in ('PAYMENT', 'REFUND', 'RETURN', 'PAYMENT_VOID')
  union all
  select 8 * (l.position + 1) + part.number, part.purpose, part.amount * case when e.kind in ('VOID', 'NOTE_VOID') then 1 else -1 end, e.client_id,
    l.job_id, t.id, null, part.tax_name, part.tax_category, part.tax_region_id, part.tax_rate_percent
  from invoice_line_tax t
  join invoice_line l on l.tenant_id = t.tenant_id and l.id = t.line_id
  join invoice i on i.tenant_id = t.tenant_id and i.id = t.invoice_id
  cross join lateral (values
    (0, 'REVENUE'::text collate "C", t.amount, null::text collate "C", null::text collate "C", null::uuid, null::numeric),
    (1 + t.position, 'TAX', t.tax_amount, t.name, t.category, coalesce(t.region_id, i.tax_region_id), t.rate_percent)
  ) part (number, purpose, amount, tax_name, tax_category, tax_region_id, tax_rate_percent)
  where t.tenant_id = e.tenant_id and t.invoice_id = e.invoice_id and part.amount <> 0
    and e.kind in ('INVOICE', 'CREDIT_NOTE', 'VOID', 'NOTE_VOID')
) r
left join client c on c.tenant_id = e.tenant_id and c.id = r.client_id
left join invoice d on d.tenant_id = e.tenant_id and d.id = e.invoice_id
left join payment paid on paid.tenant_id = e.tenant_id and paid.id = e.payment_id and e.client_id is null
left join job j on j.tenant_id = e.tenant_id and j.id = r.job_id
left join service_line s on s.tenant_id = j.tenant_id and s.id = j.service_line_id
-- A client can move to another org; its documents cannot.
cross join lateral (
  select case when e.client_id is null then paid.org_id when r.purpose in ('RECEIVABLE', 'REVENUE', 'TAX', 'WRITE_OFF') then coalesce(d.org_id, c.org_id) else c.org_id end as org_id
) o
left join gl_mapping narrow on narrow.tenant_id = e.tenant_id and narrow.active and narrow.org_id = o.org_id and narrow.purpose = r.purpose
  and narrow.subject = case r.purpose when 'REVENUE' then j.service_line_id::text when 'TAX' then r.tax_name
    when 'PAYMENT' then r.payment_method else e.kind end
left join gl_mapping wide on wide.tenant_id = e.tenant_id and wide.active and wide.org_id = o.org_id and wide.purpose = r.purpose
  and wide.subject = '';
