-- The first and the last business date of the months from before the trigger wrote them. A month to which entries were added meanwhile is
-- left for the next batch.
-- without transaction
-- locks: access exclusive on ledger_work, access exclusive on ledger_work_month

call lift_protection('ledger_work', 'ledger_work_month');
-- in batches
with missing as materialized (
  select tenant_id, client_id, job_id, currency, business_date from ledger_work_month where first_business_date is null limit 2000)
update ledger_work_month m set first_business_date = w.first_day, last_business_date = w.last_day
from (
  select k.tenant_id, k.client_id, k.job_id, k.currency, k.business_date as month, sum(w.entries) as entries,
    min(w.business_date) as first_day, max(w.business_date) as last_day
  from missing k join ledger_work w on w.tenant_id = k.tenant_id and w.job_id = k.job_id and w.client_id = k.client_id
    and w.currency = k.currency and w.business_date >= k.business_date and w.business_date < k.business_date + interval '1 month'
  group by 1, 2, 3, 4, 5) w
where m.tenant_id = w.tenant_id and m.client_id = w.client_id and m.job_id = w.job_id and m.currency = w.currency
  and m.business_date = w.month and m.entries = w.entries;
alter table ledger_work_month add constraint ledger_work_month_business_dates_agree
  check (first_business_date is not null and last_business_date is not null) not valid;
alter table ledger_work_month validate constraint ledger_work_month_business_dates_agree;
call restore_protection('ledger_work', 'ledger_work_month');
