-- The sums of the entries from before the trigger, of 200 clients at a time. The sums of a client that gets an entry meanwhile are complete.
-- without transaction
-- locks: access exclusive on ledger_entry, access exclusive on ledger_month, access exclusive on client

call lift_protection('ledger_entry', 'ledger_month', 'client');
-- in batches
insert into ledger_month as kept (tenant_id, account, client_id, currency, business_date, amount, entries)
select e.tenant_id, e.account, e.client_id, e.currency, date_trunc('month', e.business_date::timestamp)::date, sum(e.amount), count(*)
from (
  select c.tenant_id, c.id from client c
  where exists (select from ledger_entry e where e.tenant_id = c.tenant_id and e.client_id = c.id)
    and not exists (select from ledger_month m
      where m.tenant_id = c.tenant_id and m.account in ('RECEIVABLE', 'CREDIT', 'WIP') and m.client_id = c.id)
  limit 200) unknown
join ledger_entry e on e.tenant_id = unknown.tenant_id and e.client_id = unknown.id
group by 1, 2, 3, 4, 5
on conflict (tenant_id, account, client_id, currency, business_date) do update set entries = kept.entries;
call restore_protection('ledger_entry', 'ledger_month', 'client');

-- A client without sums has no entries now.
create or replace function sum_ledger() returns trigger language plpgsql as $$
begin
  insert into ledger_month as kept (tenant_id, account, client_id, currency, business_date, amount, entries)
  select tenant_id, account, client_id, currency, date_trunc('month', business_date::timestamp)::date, sum(amount), count(*)
  from new_rows group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (tenant_id, account, client_id, currency, business_date)
    do update set amount = kept.amount + excluded.amount, entries = kept.entries + excluded.entries;
  return null;
end
$$;
