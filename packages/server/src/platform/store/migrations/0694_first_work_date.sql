-- The first day of the work that is entered in a month, so that ages and the oldest day of work follow from its sums.
-- locks: access exclusive on ledger_month

-- Null until it is filled from the entries before this version.
alter table ledger_month add column first_work_date date;

create or replace function sum_ledger() returns trigger language plpgsql as $$
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
  return null;
end
$$;

create or replace function move_ledger_sums() returns trigger language plpgsql as $$
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
  return null;
end
$$;
