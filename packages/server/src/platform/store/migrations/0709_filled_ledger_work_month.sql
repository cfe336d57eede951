-- The sums of the entries from before the trigger, of 2,000 clients at a time: those whose months of jobs have other entries than their months.
-- without transaction
-- locks: access exclusive on ledger_month, access exclusive on ledger_work, access exclusive on ledger_work_month

call lift_protection('ledger_month', 'ledger_work', 'ledger_work_month');
-- in batches
with incomplete as materialized (
  select tenant_id, client_id
  from (
    select tenant_id, client_id, entries from ledger_month where account = 'WIP'
    union all
    select tenant_id, client_id, -entries from ledger_work_month) sums
  group by 1, 2 having sum(entries) <> 0 limit 2000)
insert into ledger_work_month (tenant_id, client_id, job_id, currency, business_date, amount, entries, first_work_date, last_work_date)
select w.tenant_id, w.client_id, w.job_id, w.currency, date_trunc('month', w.business_date::timestamp)::date, sum(w.amount), sum(w.entries),
  min(w.work_date), max(w.work_date)
from incomplete i join ledger_work w on w.tenant_id = i.tenant_id and w.client_id = i.client_id
group by 1, 2, 3, 4, 5
on conflict (tenant_id, client_id, job_id, currency, business_date)
  do update set amount = excluded.amount, entries = excluded.entries,
    first_work_date = excluded.first_work_date, last_work_date = excluded.last_work_date;
call restore_protection('ledger_month', 'ledger_work', 'ledger_work_month');
