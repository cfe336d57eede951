-- The first day of work of months from before 0694.
-- without transaction
-- locks: access exclusive on ledger_month, access exclusive on ledger_work

call lift_protection('ledger_month', 'ledger_work');
-- A month to which entries are added meanwhile has another number of them than its work, and is left to the second statement.
-- in batches
with found as materialized (
  select tenant_id, client_id, currency, business_date, entries from ledger_month
  where account = 'WIP' and first_work_date is null limit 5000 for update),
sums as (
  select f.tenant_id, f.client_id, f.currency, f.business_date, w.first_work_date
  from found f cross join lateral (
    select min(w.work_date) as first_work_date, sum(w.entries) as entries from ledger_work w
    where w.tenant_id = f.tenant_id and w.client_id = f.client_id and w.currency = f.currency
      and w.business_date >= f.business_date and w.business_date < f.business_date + interval '1 month') w
  where w.entries = f.entries)
update ledger_month m set first_work_date = s.first_work_date
from sums s
where m.tenant_id = s.tenant_id and m.account = 'WIP' and m.client_id = s.client_id and m.currency = s.currency and m.business_date = s.business_date;
-- in batches
with found as materialized (
  select tenant_id, client_id, currency, business_date, entries from ledger_month
  where account = 'WIP' and first_work_date is null limit 5000 for update),
sums as (
  select f.tenant_id, f.client_id, f.currency, f.business_date, w.first_work_date
  from found f cross join lateral (
    select min(w.work_date) as first_work_date, sum(w.entries) as entries from ledger_work w
    where w.tenant_id = f.tenant_id and w.client_id = f.client_id and w.currency = f.currency
      and w.business_date >= f.business_date and w.business_date < f.business_date + interval '1 month') w
  where w.entries = f.entries)
update ledger_month m set first_work_date = s.first_work_date
from sums s
where m.tenant_id = s.tenant_id and m.account = 'WIP' and m.client_id = s.client_id and m.currency = s.currency and m.business_date = s.business_date;
alter table ledger_month drop constraint if exists ledger_month_first_work_date_agrees;
alter table ledger_month add constraint ledger_month_first_work_date_agrees check ((account = 'WIP') = (first_work_date is not null)) not valid;
alter table ledger_month validate constraint ledger_month_first_work_date_agrees;
call restore_protection('ledger_month', 'ledger_work');
