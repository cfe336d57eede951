-- Sums of the ledger and of the journal by day, from which figures as of a day are added up.

-- Writers only add rows, so they never wait for each other: the rows of a day add up to its sums. A task of the clock folds them.
create table ledger_day (
  tenant_id integer not null,
  id uuid not null default gen_random_uuid(),
  business_date date not null,
  account text collate "C" not null,
  currency text collate "C" not null,
  due_date date,
  work_date date,
  amount numeric(18,2) not null,
  -- How many entries there are.
  entries integer not null,
  primary key (tenant_id, account, business_date, id)
);
call protect_tenant_table('ledger_day', 'select, insert, delete');

-- The rows of the journal by what decides their account. Its name and number are those of the present mapping.
create table journal_sum (
  tenant_id integer not null,
  id uuid not null default gen_random_uuid(),
  business_date date not null,
  org_id uuid not null,
  office_id uuid,
  purpose text collate "C" not null,
  kind text collate "C" not null,
  currency text collate "C" not null,
  payment_method text collate "C",
  service_line_id uuid,
  tax_name text collate "C",
  amount numeric(18,2) not null,
  debit numeric(18,2) not null,
  credit numeric(18,2) not null,
  -- Negative where rows have moved to another org or service line.
  entries integer not null,
  primary key (tenant_id, business_date, id)
);
call protect_tenant_table('journal_sum', 'select, insert, delete');

-- What is written with an entry, such as the lines and taxes of its document, is written before it.
-- Postings are looked up by values, and not by a join: the view has so many tables that the planner joins them all before another one.
-- Planning it takes ten times as long as reading the few rows.
create function sum_ledger_by_day() returns trigger language plpgsql set plan_cache_mode = 'force_generic_plan' as $$
declare
  tenant integer := (select tenant_id from new_rows limit 1);
  postings uuid[] := array(select id from new_rows);
begin
  insert into ledger_day (tenant_id, business_date, account, currency, due_date, work_date, amount, entries)
  select tenant_id, business_date, account, currency, due_date, work_date, sum(amount), count(*)
  from new_rows group by 1, 2, 3, 4, 5, 6;
  insert into journal_sum (tenant_id, business_date, org_id, office_id, purpose, kind, currency, payment_method, service_line_id, tax_name,
    amount, debit, credit, entries)
  select j.tenant_id, j.business_date, j.org_id, j.office_id, j.purpose, j.kind, j.currency, j.payment_method, j.service_line_id, j.tax_name,
    sum(j.amount), sum(j.debit), sum(j.credit), count(*)
  from journal_entry j where j.tenant_id = tenant and j.posting_id = any (postings)
  group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;
  return null;
end
$$;

call add_trigger('ledger_entry_sum_by_day', 'after insert on ledger_entry referencing new table as new_rows for each statement',
  'sum_ledger_by_day()');

-- The rows of a client in the journal have its office, and those that belong neither to a document nor to an unknown payer its org. Half of an
-- allocation can be that of another client, and half of an identification that of nobody. A client that is merged still has its rows.
create function move_sums_of_client() returns trigger language plpgsql as $$
declare
  target client;
  postings uuid[];
  of_nobody uuid[];
begin
  select * into target from client c where c.tenant_id = new.tenant_id and c.id = coalesce(new.merged_into_id, new.id);
  if (old.org_id, old.office_id) is not distinct from (target.org_id, target.office_id) then
    return null;
  end if;
  postings := array(
    select e.id from ledger_entry e where e.tenant_id = new.tenant_id and e.client_id = new.id
    union
    select other.id from ledger_entry e
    join ledger_entry other on other.tenant_id = e.tenant_id and other.invoice_id = e.invoice_id and other.account = 'CREDIT'
    where e.tenant_id = new.tenant_id and e.client_id = new.id and e.account = 'RECEIVABLE' and e.kind in ('ALLOCATION', 'DEALLOCATION'));
  of_nobody := array(
    select e.id from payment p
    join ledger_entry e on e.tenant_id = p.tenant_id and e.payment_id = p.id and e.kind = 'IDENTIFICATION' and e.client_id is null
    where p.tenant_id = new.tenant_id and p.client_id = new.id);
  insert into journal_sum (tenant_id, business_date, org_id, office_id, purpose, kind, currency, payment_method, service_line_id, tax_name,
    amount, debit, credit, entries)
  select j.tenant_id, j.business_date,
    case when j.posting_id <> all (of_nobody) and j.purpose not in ('RECEIVABLE', 'REVENUE', 'TAX', 'WRITE_OFF') then side.org_id else j.org_id end,
    side.office_id, j.purpose, j.kind, j.currency, j.payment_method, j.service_line_id, j.tax_name,
    sum(side.sign * j.amount), sum(side.sign * j.debit), sum(side.sign * j.credit), sum(side.sign)
  from journal_entry j
  cross join (values (old.org_id, old.office_id, -1), (target.org_id, target.office_id, 1)) side (org_id, office_id, sign)
  where j.tenant_id = new.tenant_id and j.posting_id = any (postings || of_nobody) and j.client_id = new.id
  group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;
  return null;
end
$$;

call add_trigger('client_sums_moved', 'after update on client for each row', 'move_sums_of_client()',
  '(old.org_id, old.office_id, old.merged_into_id) is distinct from (new.org_id, new.office_id, new.merged_into_id)');

create function move_sums_of_job() returns trigger language plpgsql as $$
declare
  postings uuid[] := array(
    select e.id from ledger_entry e where e.tenant_id = new.tenant_id and e.job_id = new.id
    union
    select e.id from invoice i join ledger_entry e on e.tenant_id = i.tenant_id and e.invoice_id = i.id
    where i.tenant_id = new.tenant_id and i.job_ids @> array[new.id] and e.kind in ('INVOICE', 'CREDIT_NOTE', 'VOID', 'NOTE_VOID'));
begin
  insert into journal_sum (tenant_id, business_date, org_id, office_id, purpose, kind, currency, payment_method, service_line_id, tax_name,
    amount, debit, credit, entries)
  select j.tenant_id, j.business_date, j.org_id, j.office_id, j.purpose, j.kind, j.currency, j.payment_method, side.service_line_id, j.tax_name,
    sum(side.sign * j.amount), sum(side.sign * j.debit), sum(side.sign * j.credit), sum(side.sign)
  from journal_entry j
  cross join (values (old.service_line_id, -1), (new.service_line_id, 1)) side (service_line_id, sign)
  where j.tenant_id = new.tenant_id and j.posting_id = any (postings) and j.job_id = new.id
  group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;
  return null;
end
$$;

call add_trigger('job_sums_moved', 'after update on job for each row', 'move_sums_of_job()',
  'old.service_line_id is distinct from new.service_line_id');

-- The journal of invoices of 0.00 as a function: as a part of the view, all of the journal was planned for each read of its sums, which
-- took ten times as long as the read itself. The plan of a function is kept by the connection.
create function journal_of_empty_invoices() returns setof journal_entry
language plpgsql stable rows 10 set plan_cache_mode = force_generic_plan as $$
begin
  return query select j.* from journal_entry j
    where j.posting_id = any (array(select i.id from invoice i where i.total = 0 and i.posted_at is not null));
end
$$;

-- The sums of the journal with the accounts of the present mapping, as `journal_entry` has them. Invoices of 0.00 are no entries of the ledger,
-- and few: their rows are those of the journal.
create view journal_day with (security_invoker = true) as
select s.tenant_id, s.kind, s.purpose,
  coalesce(narrow.account_code, case when s.purpose = 'REVENUE' then l.revenue_account_code end, wide.account_code) as account_code,
  case when narrow.id is not null then narrow.account_name
    when s.purpose <> 'REVENUE' or l.revenue_account_code is null then wide.account_name end as account_name,
  s.amount, s.debit, s.credit, s.currency, s.business_date, s.org_id, s.office_id, s.service_line_id, s.payment_method, s.tax_name, s.entries
from (
  select tenant_id, business_date, org_id, office_id, purpose, kind, currency, payment_method, service_line_id, tax_name, amount, debit, credit, entries
  from journal_sum
  union all
  select j.tenant_id, j.business_date, j.org_id, j.office_id, j.purpose, j.kind, j.currency, j.payment_method, j.service_line_id, j.tax_name, j.amount,
    j.debit, j.credit, 1
  from journal_of_empty_invoices() j
) s
left join service_line l on l.tenant_id = s.tenant_id and l.id = s.service_line_id
left join gl_mapping narrow on narrow.tenant_id = s.tenant_id and narrow.active and narrow.org_id = s.org_id and narrow.purpose = s.purpose
  and narrow.subject = case s.purpose when 'REVENUE' then s.service_line_id::text when 'TAX' then s.tax_name
    when 'PAYMENT' then s.payment_method else s.kind end
left join gl_mapping wide on wide.tenant_id = s.tenant_id and wide.active and wide.org_id = s.org_id and wide.purpose = s.purpose
  and wide.subject = '';
grant select on journal_day to financial_automation_service;

-- What `journal_sum` adds up to. The journal has work as it is in the ledger, with its other side, so it is not evaluated for each entry of it.
create view journal_sum_source with (security_invoker = true) as
select j.tenant_id, j.business_date, j.org_id, j.office_id, j.purpose, j.kind, j.currency, j.payment_method, j.service_line_id, j.tax_name,
  sum(j.amount) as amount, sum(j.debit) as debit, sum(j.credit) as credit, count(*) as entries
from journal_entry j
left join invoice empty on empty.tenant_id = j.tenant_id and empty.id = j.posting_id
where j.wip_entry_id is null and empty.id is null
group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
union all
select w.tenant_id, w.business_date, w.org_id, w.office_id, side.purpose, w.kind, w.currency, null, w.service_line_id, null,
  side.sign * w.amount, case side.sign when 1 then w.positive else -w.negative end, case side.sign when 1 then -w.negative else w.positive end, w.entries
from (
  select e.tenant_id, e.business_date, c.org_id, c.office_id, e.kind, e.currency, j.service_line_id, sum(e.amount) as amount,
    coalesce(sum(e.amount) filter (where e.amount > 0), 0) as positive, coalesce(sum(e.amount) filter (where e.amount < 0), 0) as negative,
    count(*) as entries
  from ledger_entry e
  join client c on c.tenant_id = e.tenant_id and c.id = e.client_id
  left join job j on j.tenant_id = e.tenant_id and j.id = e.job_id
  where e.account = 'WIP'
  group by 1, 2, 3, 4, 5, 6, 7) w
cross join (values ('WIP'::text collate "C", 1), ('WIP_CHANGE'::text collate "C", -1)) side (purpose, sign);
grant select on journal_sum_source to financial_automation_service;

-- Each table in one statement: it removes the sums that it sees, and adds up the entries that it sees. Those of other transactions have sums
-- of their own, which it does not see either.
create function write_day_sums(tenant integer) returns void language plpgsql as $$
begin
  with removed as (delete from ledger_day where tenant_id = tenant)
  insert into ledger_day (tenant_id, business_date, account, currency, due_date, work_date, amount, entries)
  select tenant_id, business_date, account, currency, due_date, work_date, sum(amount), count(*)
  from ledger_entry where tenant_id = tenant group by 1, 2, 3, 4, 5, 6;
  with removed as (delete from journal_sum where tenant_id = tenant)
  insert into journal_sum (tenant_id, business_date, org_id, office_id, purpose, kind, currency, payment_method, service_line_id, tax_name,
    amount, debit, credit, entries)
  select tenant_id, business_date, org_id, office_id, purpose, kind, currency, payment_method, service_line_id, tax_name,
    amount, debit, credit, entries
  from journal_sum_source where tenant_id = tenant;
end
$$;

-- Makes one row of those that several writers have added for the same sums.
create function fold_day_sums(tenant integer) returns void language plpgsql as $$
begin
  with folded as (
    delete from ledger_day d using (
      select business_date, account, currency, due_date, work_date from ledger_day where tenant_id = tenant
      group by 1, 2, 3, 4, 5 having count(*) > 1) several
    where d.tenant_id = tenant and d.account = several.account and d.business_date = several.business_date
      and (d.currency, d.due_date, d.work_date) is not distinct from (several.currency, several.due_date, several.work_date)
    returning d.*)
  insert into ledger_day (tenant_id, business_date, account, currency, due_date, work_date, amount, entries)
  select tenant_id, business_date, account, currency, due_date, work_date, sum(amount), sum(entries)
  from folded group by 1, 2, 3, 4, 5, 6;
  with folded as (
    delete from journal_sum d using (
      select business_date, org_id, office_id, purpose, kind, currency, payment_method, service_line_id, tax_name from journal_sum
      where tenant_id = tenant group by 1, 2, 3, 4, 5, 6, 7, 8, 9 having count(*) > 1) several
    where d.tenant_id = tenant and d.business_date = several.business_date and d.org_id = several.org_id and d.purpose = several.purpose
      and d.kind = several.kind and d.currency = several.currency
      and (d.office_id, d.payment_method, d.service_line_id, d.tax_name)
        is not distinct from (several.office_id, several.payment_method, several.service_line_id, several.tax_name)
    returning d.*)
  insert into journal_sum (tenant_id, business_date, org_id, office_id, purpose, kind, currency, payment_method, service_line_id, tax_name,
    amount, debit, credit, entries)
  select tenant_id, business_date, org_id, office_id, purpose, kind, currency, payment_method, service_line_id, tax_name,
    sum(amount), sum(debit), sum(credit), sum(entries)
  from folded group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 having sum(entries) <> 0;
end
$$;

-- What is open now, less what has happened since to invoices of that day or before. Later invoices have no entry until then. Invoices are settled
-- within months, so the entries soon after the day are read, and of the others those that are late. The rows add up to the entries until the
-- day for each client, currency and due date; they are not the entries.
create function open_receivables(tenant integer, day date)
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
create function open_credit(tenant integer, day date)
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

-- What is open now, less what has happened since to work of that day or before. Work of later days has no entry until then. Work is billed within
-- months, so the sums soon after the day are read, and of the others those that are late. The rows add up to the entries until the day
-- for each client, job, currency and work date; they are not the entries.
create function open_work(tenant integer, day date)
returns table (tenant_id integer, account text, business_date date, work_date date, client_id uuid, job_id uuid, currency text, amount numeric)
language sql stable parallel safe
begin atomic
  select w.tenant_id, 'WIP'::text collate "C", day, w.work_date, w.client_id, w.job_id, w.currency, w.outstanding_amount
  from wip_entry w
  where w.tenant_id = tenant and w.status in ('OPEN', 'PARTIALLY_BILLED', 'IN_DRAFT') and w.work_date <= day
  union all
  select s.tenant_id, 'WIP'::text collate "C", day, s.work_date, s.client_id, s.job_id, s.currency, -s.amount
  from ledger_work s
  where s.tenant_id = tenant and s.business_date > s.work_date and s.work_date <= day
    and s.business_date > day and s.business_date <= day + 100
  union all
  select s.tenant_id, 'WIP'::text collate "C", day, s.work_date, s.client_id, s.job_id, s.currency, -s.amount
  from ledger_work s
  where s.tenant_id = tenant and s.business_date - s.work_date > 100 and s.work_date <= day and s.business_date > day + 100;
end;
