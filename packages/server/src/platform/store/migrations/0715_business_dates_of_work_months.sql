-- The first and the last business date of the entries of a month, by which figures of all clients and jobs are sorted.
-- locks: access exclusive on ledger_work_month

-- Null in the sums of entries from before this migration, until they are filled.
alter table ledger_work_month add column first_business_date date, add column last_business_date date;

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
