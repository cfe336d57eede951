-- Sums of the entries of work by client, job and month, from which figures of all jobs as of a day follow, such as their numbers of entries.
-- locks: share row exclusive on ledger_entry

create table ledger_work_month (
  tenant_id integer not null,
  client_id uuid not null,
  job_id uuid not null,
  currency text collate "C" not null,
  -- The first day of the month of the entries' business dates.
  business_date date not null,
  amount numeric(18,2) not null,
  -- How many entries there are.
  entries integer not null,
  -- The first and the last day of the work that is entered in the month.
  first_work_date date not null,
  last_work_date date not null,
  constraint ledger_work_month_business_date_agrees check (extract(day from business_date) = 1),
  primary key (tenant_id, client_id, job_id, currency, business_date)
) with (fillfactor = 80);
call protect_tenant_table('ledger_work_month', 'select, insert, update, delete');
create index ledger_work_month_job_id_index on ledger_work_month (tenant_id, job_id);

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
    (tenant_id, client_id, job_id, currency, business_date, amount, entries, first_work_date, last_work_date)
  select tenant_id, client_id, job_id, currency, date_trunc('month', business_date::timestamp)::date, sum(amount), count(*),
    min(work_date), max(work_date)
  from new_rows where account = 'WIP' group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (tenant_id, client_id, job_id, currency, business_date)
    do update set amount = kept.amount + excluded.amount, entries = kept.entries + excluded.entries,
      first_work_date = least(kept.first_work_date, excluded.first_work_date),
      last_work_date = greatest(kept.last_work_date, excluded.last_work_date);
  return null;
end
$$;

-- As it was. Its lock waits for those who have written entries without these sums.
create or replace trigger ledger_entry_sum
  after insert on ledger_entry referencing new table as new_rows for each statement
  when (current_setting('app.copies_rows', true) is distinct from 'on')
  execute function sum_ledger();

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
    (tenant_id, client_id, job_id, currency, business_date, amount, entries, first_work_date, last_work_date)
  select tenant_id, client_id, job_id, currency, date_trunc('month', business_date::timestamp)::date, sum(amount), count(*),
    min(work_date), max(work_date)
  from new_rows where account = 'WIP' group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (tenant_id, client_id, job_id, currency, business_date)
    do update set amount = kept.amount + excluded.amount, entries = kept.entries + excluded.entries,
      first_work_date = least(kept.first_work_date, excluded.first_work_date),
      last_work_date = greatest(kept.last_work_date, excluded.last_work_date);
  return null;
end
$$;
