-- Work that was not billed at the end of a day, without adding up all that was ever billed.
-- locks: access exclusive on ledger_entry

alter table ledger_entry add constraint ledger_entry_work_date_order check (business_date >= work_date) not valid;

-- What is open now, less what has happened since to work of that day or before. Work of later days has no entry until then. Work is billed within
-- months, so the entries soon after the day are read, and of the others those that are late. The rows add up to the entries until the day
-- for each client, job, currency and work date; they are not the entries.
create function open_work(tenant integer, day date)
returns table (tenant_id integer, account text, business_date date, work_date date, client_id uuid, job_id uuid, currency text, amount numeric)
language sql stable parallel safe
begin atomic
  select w.tenant_id, 'WIP'::text collate "C", day, w.work_date, w.client_id, w.job_id, w.currency, w.outstanding_amount
  from wip_entry w
  where w.tenant_id = tenant and w.status in ('OPEN', 'PARTIALLY_BILLED', 'IN_DRAFT') and w.work_date <= day
  union all
  select e.tenant_id, 'WIP'::text collate "C", day, e.work_date, e.client_id, e.job_id, e.currency, -e.amount
  from ledger_entry e
  where e.tenant_id = tenant and e.business_date > e.work_date and e.work_date <= day
    and e.business_date > day and e.business_date <= day + 100
  union all
  select e.tenant_id, 'WIP'::text collate "C", day, e.work_date, e.client_id, e.job_id, e.currency, -e.amount
  from ledger_entry e
  where e.tenant_id = tenant and e.business_date - e.work_date > 100 and e.work_date <= day and e.business_date > day + 100;
end;
