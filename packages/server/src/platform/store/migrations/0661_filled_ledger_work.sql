-- The sums of the entries from before the trigger, of 2,000 clients at a time: those whose sums have fewer entries than their months.
-- without transaction
-- locks: access exclusive on ledger_entry, access exclusive on ledger_month, access exclusive on ledger_work

call lift_protection('ledger_entry', 'ledger_month', 'ledger_work');
-- One statement, so that what is removed and what is added up are of the same time.
-- in batches
with incomplete as materialized (
  select tenant_id, client_id
  from (
    select tenant_id, client_id, entries from ledger_month where account = 'WIP'
    union all
    select tenant_id, client_id, -entries from ledger_work) sums
  group by 1, 2 having sum(entries) <> 0 limit 2000),
removed as (
  delete from ledger_work w using incomplete i where w.tenant_id = i.tenant_id and w.client_id = i.client_id)
insert into ledger_work (tenant_id, client_id, business_date, work_date, job_id, currency, amount, entries)
select e.tenant_id, e.client_id, e.business_date, e.work_date, e.job_id, e.currency, sum(e.amount), count(*)
from incomplete i join ledger_entry e on e.tenant_id = i.tenant_id and e.client_id = i.client_id
where e.account = 'WIP' group by 1, 2, 3, 4, 5, 6;
call restore_protection('ledger_entry', 'ledger_month', 'ledger_work');
