-- The ledger: a row for each movement of what clients owe on invoices (RECEIVABLE), of what the firm holds for them (CREDIT), and of
-- work that is not billed yet (WIP). Rows never change, so that figures as of a day can be added up later.
create table ledger_entry (
  tenant_id integer not null,
  id uuid not null,
  account text collate "C" not null,
  kind text collate "C" not null,
  amount numeric(16,2) not null,
  currency text collate "C" not null,
  -- The day for which it counts, and the time at which it was recorded.
  business_date date not null,
  recorded_at timestamptz(3) not null,
  client_id uuid,
  job_id uuid,
  -- What it belongs to has no foreign keys: the sums of an entry's rows are compared with these rows, which are never removed.
  invoice_id uuid,
  payment_id uuid,
  wip_entry_id uuid,
  staff_id uuid,
  due_date date,
  reverses_id uuid,
  reason text collate "C",
  recorded_by_api_user_id uuid,
  work_date date,
  is_rounding boolean not null default false,
  -- The day of the invoice or payment of the entry. No entry of a document is of an earlier day, and that day never changes.
  document_date date,
  constraint ledger_entry_account_enum check (account in ('RECEIVABLE', 'CREDIT', 'WIP')),
  constraint ledger_entry_kind_enum check (kind in (
    'INVOICE', 'ALLOCATION', 'DEALLOCATION', 'WRITE_OFF', 'RECOVERY', 'VOID', 'PAYMENT', 'CREDIT_NOTE', 'REFUND', 'RETURN',
    'PAYMENT_VOID', 'NOTE_VOID', 'IDENTIFICATION', 'WORK', 'WORK_REVERSED', 'WRITE_UP', 'WRITE_DOWN', 'BILLED', 'UNBILLED')),
  constraint ledger_entry_kind_agrees check (
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
    end),
  constraint ledger_entry_amount_agrees check (
    case
      -- From nobody to a client. After a refund and a return, less than nothing is held.
      when account = 'WIP' or kind = 'IDENTIFICATION' then amount <> 0
      when kind in ('INVOICE', 'PAYMENT', 'CREDIT_NOTE', 'DEALLOCATION', 'RECOVERY') then amount > 0
      when kind = 'VOID' then amount <= 0
      else amount < 0
    end),
  primary key (tenant_id, id),
  constraint ledger_entry_work_date_agrees check ((account = 'WIP') = (work_date is not null)),
  constraint ledger_entry_work_date_order check (business_date >= work_date),
  constraint ledger_entry_document_date_agrees check ((account = 'WIP') = (document_date is null) and business_date >= document_date)
);
call add_references('ledger_entry', 'client_id');
call protect_tenant_table('ledger_entry', 'select, insert');
grant update (client_id) on ledger_entry to financial_automation_service;
create index ledger_entry_invoice_id_index on ledger_entry (tenant_id, invoice_id, account) include (amount) where (invoice_id is not null);
create index ledger_entry_payment_id_index on ledger_entry (tenant_id, payment_id, account) include (amount) where (payment_id is not null);
create index ledger_entry_wip_entry_id_index on ledger_entry (tenant_id, wip_entry_id) include (amount) where (wip_entry_id is not null);
create index ledger_entry_unidentified_index on ledger_entry (tenant_id, business_date, id) where (client_id is null);
create index ledger_entry_client_index on ledger_entry (tenant_id, client_id, business_date, id) include (account, currency, due_date, amount);
-- What a client owed, and what was held for it, without the entries of its work: statements, and figures that balances do not say.
create index ledger_entry_client_document_index on ledger_entry (tenant_id, client_id, business_date)
  include (account, currency, due_date, amount) where (account <> 'WIP');
create index ledger_entry_job_id_index on ledger_entry (tenant_id, job_id) where (job_id is not null);
create index ledger_entry_business_date_index on ledger_entry (tenant_id, business_date, id);
create index ledger_entry_recorded_at_index on ledger_entry (tenant_id, recorded_at, id);
-- What has happened since a day to what is owed and held, and balances as they were known at a time; and what was settled late.
create index ledger_entry_document_index on ledger_entry (tenant_id, account, business_date)
  include (client_id, currency, due_date, amount, document_date, recorded_at) where (account <> 'WIP');
create index ledger_entry_late_index on ledger_entry (tenant_id, account, business_date)
  include (client_id, currency, due_date, amount, document_date) where (business_date - document_date > 100);

create function set_document_date() returns trigger language plpgsql as $$
begin
  if new.account = 'RECEIVABLE' then
    select i.invoice_date into new.document_date from invoice i where i.tenant_id = new.tenant_id and i.id = new.invoice_id;
  else
    select p.payment_date into new.document_date from payment p where p.tenant_id = new.tenant_id and p.id = new.payment_id;
  end if;
  return new;
end
$$;

call add_trigger('ledger_entry_document_date', 'before insert on ledger_entry for each row', 'set_document_date()',
  'new.account <> ''WIP'' and new.document_date is null');

-- Sums of the entries of the ledger by month, from which figures as of a day are added up without reading all entries.
create table ledger_month (
  tenant_id integer not null,
  account text collate "C" not null,
  client_id uuid not null,
  currency text collate "C" not null,
  -- The first day of the month of the entries' business dates.
  business_date date not null,
  amount numeric(18,2) not null,
  -- How many entries there are.
  entries integer not null,
  -- The first day of the work that is entered in the month, from which ages and the oldest day of work follow.
  first_work_date date,
  constraint ledger_month_business_date_agrees check (extract(day from business_date) = 1),
  constraint ledger_month_first_work_date_agrees check ((account = 'WIP') = (first_work_date is not null)),
  primary key (tenant_id, account, client_id, currency, business_date)
) with (fillfactor = 80);
call protect_tenant_table('ledger_month', 'select, insert, update, delete');

-- Sums of the entries of work by client, job, day of the work and day, from which work that was not billed on a day follows.
-- Writers only add rows, so that they never wait for each other: several can have one client, job, day of the work and day.
create table ledger_work (
  tenant_id integer not null,
  id uuid not null default gen_random_uuid(),
  client_id uuid not null,
  business_date date not null,
  work_date date not null,
  job_id uuid not null,
  currency text collate "C" not null,
  amount numeric(18,2) not null,
  -- How many entries there are.
  entries integer not null,
  primary key (tenant_id, client_id, business_date, id) include (work_date, job_id, currency, amount, entries)
);
call protect_tenant_table('ledger_work', 'select, insert, update (client_id), delete');

-- What relieves work of earlier days.
create index ledger_work_relief_index on ledger_work (tenant_id, business_date) include (work_date, client_id, job_id, currency, amount)
  where business_date > work_date;
create index ledger_work_late_relief_index on ledger_work (tenant_id, business_date) include (work_date, client_id, job_id, currency, amount)
  where business_date - work_date > 100;
-- How many entries the work of some jobs has, and its oldest day, without the sums of all clients.
create index ledger_work_job_index on ledger_work (tenant_id, job_id, business_date)
  include (work_date, client_id, currency, amount, entries);
create index ledger_work_day_index on ledger_work (tenant_id, business_date);

-- Sums of the entries of work by client, job and month, from which figures of all jobs as of a day follow, such as their numbers of entries.
create table ledger_work_month (
  tenant_id integer not null,
  client_id uuid not null,
  job_id uuid not null,
  currency text collate "C" not null,
  -- The first day of the month of the entries' business dates.
  business_date date not null,
  amount numeric(18,2) not null,
  -- How many entries there are.
  entries integer not null,
  -- The first and the last day of the work that is entered in the month.
  first_work_date date not null,
  last_work_date date not null,
  -- The first and the last business date of the entries, by which figures of all clients and jobs are sorted.
  first_business_date date,
  last_business_date date,
  constraint ledger_work_month_business_date_agrees check (extract(day from business_date) = 1),
  constraint ledger_work_month_business_dates_agree check (first_business_date is not null and last_business_date is not null),
  primary key (tenant_id, client_id, job_id, currency, business_date)
) with (fillfactor = 80);
call protect_tenant_table('ledger_work_month', 'select, insert, update, delete');
call index_columns('ledger_work_month', 'job_id');

-- Why a row of the books was changed, and for which day it counts, where a caller said so.
create table book_change (
  tenant_id integer not null,
  -- The invoice, the payment or the work in progress.
  changed_row uuid not null,
  recorded_at timestamptz(3) not null,
  change_date date,
  change_reason text collate "C",
  api_user_id uuid,
  primary key (tenant_id, changed_row, recorded_at)
);
call protect_tenant_table('book_change', 'select, insert');

-- The accounts of a firm's general ledger.
create table gl_mapping (
  like entity_columns including defaults including indexes,
  org_id uuid not null,
  purpose text collate "C" not null,
  kind text collate "C",
  payment_method text collate "C",
  service_line_id uuid,
  tax_name text collate "C",
  account_code text collate "C" not null,
  account_name text collate "C",
  -- What it is restricted to, in the form in which the journal looks for it; empty if it is the account of the whole purpose.
  subject text collate "C" not null generated always as (
    coalesce(kind, payment_method, service_line_id::text, tax_name, '')) stored,
  constraint gl_mapping_purpose_enum check (
    purpose in ('RECEIVABLE', 'CREDIT', 'SUSPENSE', 'WIP', 'REVENUE', 'TAX', 'PAYMENT', 'WRITE_OFF', 'ROUNDING', 'WIP_CHANGE')),
  constraint gl_mapping_kind_enum check (kind in (
    'INVOICE', 'ALLOCATION', 'DEALLOCATION', 'WRITE_OFF', 'RECOVERY', 'VOID', 'PAYMENT', 'CREDIT_NOTE', 'REFUND', 'RETURN',
    'PAYMENT_VOID', 'NOTE_VOID', 'IDENTIFICATION', 'WORK', 'WORK_REVERSED', 'WRITE_UP', 'WRITE_DOWN', 'BILLED', 'UNBILLED')),
  constraint gl_mapping_payment_method_enum check (payment_method in ('ACH', 'CARD', 'CHECK', 'WIRE', 'CASH', 'CREDIT', 'OTHER')),
  constraint gl_mapping_purpose_agrees check (
    (kind is null or purpose in ('RECEIVABLE', 'CREDIT', 'SUSPENSE', 'WIP', 'WRITE_OFF', 'WIP_CHANGE'))
    and (payment_method is null or purpose = 'PAYMENT')
    and (service_line_id is null or purpose = 'REVENUE')
    and (tax_name is null or purpose = 'TAX'))
);
call add_references('gl_mapping', 'org_id', 'service_line_id');
create unique index gl_mapping_subject_unique on gl_mapping (tenant_id, org_id, purpose, subject) where (active);

-- The rows of the tax report.
create view billed_line with (security_invoker = true) as
select t.tenant_id, t.id, t.invoice_id, t.line_id, i.created_at, i.updated_at, i.version, i.invoice_number as document_number, i.document_type, i.status,
  i.invoice_date, i.org_id, i.client_id, c.office_id, coalesce(t.region_id, i.tax_region_id) as tax_region_id, i.currency, l.line_type,
  l.job_id, j.service_line_id, l.description, l.quantity, l.unit_amount, t.amount, t.name is not null as taxable, t.taxable_amount,
  t.name as tax_name, t.category as tax_category, t.rate_percent as tax_rate_percent, t.tax_amount,
  -- The void of a document over nothing has no entries.
  case when i.status = 'VOIDED' then coalesce((
    select max(v.business_date) from ledger_entry v
    where v.tenant_id = i.tenant_id and v.invoice_id = i.id and v.kind in ('VOID', 'NOTE_VOID')), tenant_day(i.voided_at)) end as voided_date
from invoice_line_tax t
join invoice i on i.tenant_id = t.tenant_id and i.id = t.invoice_id
join invoice_line l on l.tenant_id = t.tenant_id and l.id = t.line_id
left join client c on c.tenant_id = i.tenant_id and c.id = i.client_id
left join job j on j.tenant_id = l.tenant_id and j.id = l.job_id;
grant select on billed_line to financial_automation_service;

-- The ID of a row of a posting. Its first digits are those of the posting, so both have one order; the row 0 has the ID of the posting.
create function journal_row_id(posting uuid, number integer) returns uuid language sql immutable parallel safe
  return (left(posting::text, 29) || lpad(to_hex(
    (('x' || right(posting::text, 7))::bit(28)::bigint + number::bigint * 165115451) % 268435456), 7, '0'))::uuid;

-- Each entry of the ledger is a posting, but for the half of an allocation that is a receivable, which belongs to the posting of the
-- other half. Amounts are debits if they are positive. The rows of a posting add up to zero.
-- The entries of an identification are one posting, like those of an allocation, in the org that received the money.
create view journal_entry with (security_invoker = true) as
select e.tenant_id, journal_row_id(e.id, r.number) as id, e.id as posting_id, e.kind, r.purpose,
  coalesce(narrow.account_code, case when r.purpose = 'REVENUE' then s.revenue_account_code end, wide.account_code) as account_code,
  case when narrow.id is not null then narrow.account_name
    when r.purpose <> 'REVENUE' or s.revenue_account_code is null then wide.account_name end as account_name,
  r.amount, greatest(r.amount, 0.00) as debit, greatest(-r.amount, 0.00) as credit, e.currency, e.business_date, e.recorded_at,
  o.org_id, r.client_id, c.office_id, r.job_id, j.service_line_id, e.invoice_id, r.invoice_line_id, e.payment_id, e.wip_entry_id,
  r.payment_method, r.tax_name, r.tax_category, r.tax_region_id, r.tax_rate_percent, e.reverses_id, e.reason
from (
  select tenant_id, id, account, kind, amount, currency, business_date, recorded_at, client_id, job_id, invoice_id, payment_id,
    wip_entry_id, reverses_id, reason, is_rounding
  from ledger_entry
  union all
  -- An invoice of 0.00 moves no balance, but can have revenue and tax. It is paid when it is posted, so it is never voided.
  select tenant_id, id, 'RECEIVABLE'::text collate "C", 'INVOICE'::text collate "C", 0.00::numeric(16, 2), currency, invoice_date, posted_at,
    client_id, null::uuid, id, null::uuid, null::uuid, null::uuid, null::text collate "C", false
  from invoice where total = 0 and posted_at is not null
) e
cross join lateral (
  -- The movement itself. What the firm holds for a client is a liability.
  select 0 as number, case when e.account = 'CREDIT' and e.client_id is null then 'SUSPENSE' collate "C" else e.account end as purpose,
    case e.account when 'CREDIT' then -e.amount else e.amount end as amount, e.client_id, e.job_id,
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
  select 1, case when e.account = 'WIP' then 'WIP_CHANGE' when e.is_rounding then 'ROUNDING' else 'WRITE_OFF' end, -e.amount, e.client_id, e.job_id, null, null, null, null, null, null
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
  select case when e.client_id is null then paid.org_id
    when r.purpose in ('RECEIVABLE', 'REVENUE', 'TAX', 'WRITE_OFF', 'ROUNDING') then coalesce(d.org_id, c.org_id) else c.org_id end as org_id
) o
left join gl_mapping narrow on narrow.tenant_id = e.tenant_id and narrow.active and narrow.org_id = o.org_id and narrow.purpose = r.purpose
  and narrow.subject = case r.purpose when 'REVENUE' then j.service_line_id::text when 'TAX' then r.tax_name
    when 'PAYMENT' then r.payment_method else e.kind end
left join gl_mapping wide on wide.tenant_id = e.tenant_id and wide.active and wide.org_id = o.org_id and wide.purpose = r.purpose
  and wide.subject = '';
grant select on journal_entry to financial_automation_service;

-- Whoever adds an entry has locked its client, whose balance also changes.
-- Entries without a client are few, and have an index.
create function sum_ledger() returns trigger language plpgsql as $$
begin
  insert into ledger_month as kept (tenant_id, account, client_id, currency, business_date, amount, entries, first_work_date)
  select tenant_id, account, client_id, currency, date_trunc('month', business_date::timestamp)::date, sum(amount), count(*), min(work_date)
  from new_rows where client_id is not null group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (tenant_id, account, client_id, currency, business_date)
    do update set amount = kept.amount + excluded.amount, entries = kept.entries + excluded.entries,
      first_work_date = case when kept.first_work_date is not null then least(kept.first_work_date, excluded.first_work_date) end;
  insert into ledger_work (tenant_id, client_id, business_date, work_date, job_id, currency, amount, entries)
  select tenant_id, client_id, business_date, work_date, job_id, currency, sum(amount), count(*)
  from new_rows where account = 'WIP' group by 1, 2, 3, 4, 5, 6;
  insert into ledger_work_month as kept
    (tenant_id, client_id, job_id, currency, business_date, amount, entries, first_work_date, last_work_date,
      first_business_date, last_business_date)
  select tenant_id, client_id, job_id, currency, date_trunc('month', business_date::timestamp)::date, sum(amount), count(*),
    min(work_date), max(work_date), min(business_date), max(business_date)
  from new_rows where account = 'WIP' group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (tenant_id, client_id, job_id, currency, business_date)
    do update set amount = kept.amount + excluded.amount, entries = kept.entries + excluded.entries,
      first_work_date = least(kept.first_work_date, excluded.first_work_date),
      last_work_date = greatest(kept.last_work_date, excluded.last_work_date),
      first_business_date = case when kept.first_business_date is not null then least(kept.first_business_date, excluded.first_business_date) end,
      last_business_date = case when kept.last_business_date is not null then greatest(kept.last_business_date, excluded.last_business_date) end;
  return null;
end
$$;

-- The sums of the months follow the entries of a client that is merged.
create function move_ledger_sums() returns trigger language plpgsql as $$
begin
  insert into ledger_month as kept (tenant_id, account, client_id, currency, business_date, amount, entries, first_work_date)
  select tenant_id, account, client_id, currency, date_trunc('month', business_date::timestamp)::date, sum(amount), sum(entries), min(work_date)
  from (
    select tenant_id, account, client_id, currency, business_date, amount, 1 as entries, work_date from new_rows
    union all
    select tenant_id, account, client_id, currency, business_date, -amount, -1, work_date from old_rows) moved
  group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (tenant_id, account, client_id, currency, business_date)
    do update set amount = kept.amount + excluded.amount, entries = kept.entries + excluded.entries,
      first_work_date = case when kept.first_work_date is not null then least(kept.first_work_date, excluded.first_work_date) end;
  delete from ledger_month m using (select distinct tenant_id, client_id from old_rows) moved
  where m.tenant_id = moved.tenant_id and m.client_id = moved.client_id and m.entries = 0;
  -- All entries of a client move at once.
  update ledger_work w set client_id = moved.new_id
  from (
    select distinct o.tenant_id, o.client_id as old_id, n.client_id as new_id from old_rows o
    join new_rows n on n.tenant_id = o.tenant_id and n.id = o.id where o.account = 'WIP') moved
  where w.tenant_id = moved.tenant_id and w.client_id = moved.old_id;
  delete from ledger_work_month m using (select distinct tenant_id, client_id from old_rows) moved
  where m.tenant_id = moved.tenant_id and m.client_id = moved.client_id;
  insert into ledger_work_month as kept
    (tenant_id, client_id, job_id, currency, business_date, amount, entries, first_work_date, last_work_date,
      first_business_date, last_business_date)
  select tenant_id, client_id, job_id, currency, date_trunc('month', business_date::timestamp)::date, sum(amount), count(*),
    min(work_date), max(work_date), min(business_date), max(business_date)
  from new_rows where account = 'WIP' group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (tenant_id, client_id, job_id, currency, business_date)
    do update set amount = kept.amount + excluded.amount, entries = kept.entries + excluded.entries,
      first_work_date = least(kept.first_work_date, excluded.first_work_date),
      last_work_date = greatest(kept.last_work_date, excluded.last_work_date),
      first_business_date = case when kept.first_business_date is not null then least(kept.first_business_date, excluded.first_business_date) end,
      last_business_date = case when kept.last_business_date is not null then greatest(kept.last_business_date, excluded.last_business_date) end;
  return null;
end
$$;

-- The entries of a row add up to its balance when a transaction commits. Whoever changes a balance writes its entries; the
-- database only accepts what agrees.
create function check_balance_of_invoice(tenant integer, invoice uuid) returns void language plpgsql as $$
begin
  if (select outstanding(i.status, i.amount_due) from invoice i where i.tenant_id = tenant and i.id = invoice)
    is distinct from (select coalesce(sum(e.amount), 0) from ledger_entry e
      where e.tenant_id = tenant and e.invoice_id = invoice and e.account = 'RECEIVABLE') then
    raise exception 'the entries of invoice % do not add up to its amount due', invoice
      using errcode = 'check_violation', constraint = 'ledger_entry_invoice_agrees', table = 'ledger_entry';
  end if;
end
$$;

-- An entry of a credit note names it, so it is an entry with a payment and an invoice that has no other half.
create function check_balance_of_payment(tenant integer, payment uuid) returns void language plpgsql as $$
begin
  if (select held(p.status, p.unapplied_amount) from payment p where p.tenant_id = tenant and p.id = payment)
    is distinct from (select coalesce(sum(e.amount), 0) from ledger_entry e
      where e.tenant_id = tenant and e.payment_id = payment and e.account = 'CREDIT') then
    raise exception 'the entries of payment % do not add up to its unapplied amount', payment
      using errcode = 'check_violation', constraint = 'ledger_entry_payment_agrees', table = 'ledger_entry';
  end if;
end
$$;

create function check_balance_of_work(tenant integer, work uuid) returns void language plpgsql as $$
begin
  if (select w.outstanding_amount from wip_entry w where w.tenant_id = tenant and w.id = work)
    is distinct from (select coalesce(sum(e.amount), 0) from ledger_entry e
      where e.tenant_id = tenant and e.wip_entry_id = work) then
    raise exception 'the entries of work % do not add up to its outstanding amount', work
      using errcode = 'check_violation', constraint = 'ledger_entry_wip_entry_agrees', table = 'ledger_entry';
  end if;
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

create function check_ledger_of_invoice() returns trigger language plpgsql as $$
begin
  perform check_balance_of_invoice(new.tenant_id, new.id);
  return null;
end
$$;

create function check_ledger_of_payment() returns trigger language plpgsql as $$
begin
  perform check_balance_of_payment(new.tenant_id, new.id);
  return null;
end
$$;

create function check_ledger_of_work() returns trigger language plpgsql as $$
begin
  perform check_balance_of_work(new.tenant_id, new.id);
  return null;
end
$$;

-- A payment with a thousand allocations is compared once in a check of all: those of one statement, SET CONSTRAINTS or COMMIT, see the same rows.
create function check_ledger_of_entry() returns trigger language plpgsql as $$
declare
  compared text := new.payment_id || ' ' || statement_timestamp();
begin
  case new.account
    when 'RECEIVABLE' then perform check_balance_of_invoice(new.tenant_id, new.invoice_id);
    when 'CREDIT' then
      if current_setting('app.compared_payment', true) is distinct from compared then
        perform check_balance_of_payment(new.tenant_id, new.payment_id);
        perform set_config('app.compared_payment', compared, true);
      end if;
    else perform check_balance_of_work(new.tenant_id, new.wip_entry_id);
  end case;
  -- Both halves of an allocation have one amount and one day. With OFFSET, they are found among the few entries of the invoice, and not among
  -- the thousands that a payment can have.
  if new.kind in ('ALLOCATION', 'DEALLOCATION') and (
    select sum(e.amount) filter (where e.account = 'RECEIVABLE') is distinct from sum(e.amount) filter (where e.account = 'CREDIT')
    from (select * from ledger_entry where tenant_id = new.tenant_id and invoice_id = new.invoice_id offset 0) e
    where e.payment_id = new.payment_id and e.kind = new.kind
      and e.business_date = new.business_date and e.recorded_at = new.recorded_at) then
    raise exception 'half an allocation of payment % is missing', new.payment_id
      using errcode = 'check_violation', constraint = 'ledger_entry_halves_agree', table = 'ledger_entry';
  end if;
  return null;
end
$$;

create trigger book_change_immutable
  before delete or update on book_change for each row
  execute function refuse_change();

create trigger ledger_entry_immutable
  before delete or update on ledger_entry for each row
  execute function refuse_change_but_merge();

call add_trigger('ledger_entry_period_open', 'after insert on ledger_entry referencing new table as new_rows for each statement',
  'check_open_period()');
call add_trigger('ledger_entry_sum', 'after insert on ledger_entry referencing new table as new_rows for each statement', 'sum_ledger()');
call add_trigger('ledger_entry_moved', 'after update on ledger_entry referencing old table as old_rows new table as new_rows for each statement',
  'move_ledger_sums()');
call check_at_commit('invoice_ledger_inserted', 'after insert on invoice', 'check_ledger_of_invoice()');
call check_at_commit('invoice_ledger_updated', 'after update on invoice', 'check_ledger_of_invoice()',
  'outstanding(old.status, old.amount_due) is distinct from outstanding(new.status, new.amount_due)');
call check_at_commit('ledger_entry_agrees', 'after insert on ledger_entry', 'check_ledger_of_entry()');
call check_at_commit('payment_ledger_inserted', 'after insert on payment', 'check_ledger_of_payment()');
call check_at_commit('payment_ledger_updated', 'after update on payment', 'check_ledger_of_payment()',
  'held(old.status, old.unapplied_amount) is distinct from held(new.status, new.unapplied_amount)');
call check_at_commit('wip_entry_ledger_inserted', 'after insert on wip_entry', 'check_ledger_of_work()');
call check_at_commit('wip_entry_ledger_updated', 'after update on wip_entry', 'check_ledger_of_work()',
  'old.outstanding_amount is distinct from new.outstanding_amount');
call check_at_commit('payment_identified', 'after update on payment', 'check_identified_payment()',
  'old.client_id is null and new.client_id is not null');
