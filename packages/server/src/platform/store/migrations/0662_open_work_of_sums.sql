-- Work that was not billed on a day, from sums of what has relieved it since.
-- locks: none

-- What is open now, less what has happened since to work of that day or before. Work of later days has no entry until then. Work is billed within
-- months, so the sums soon after the day are read, and of the others those that are late. The rows add up to the entries until the day
-- for each client, job, currency and work date; they are not the entries.
create or replace function open_work(tenant integer, day date)
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
