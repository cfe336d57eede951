-- Sums of the entries of work by client, job, day of the work and day, from which work that was not billed on a day follows.
-- locks: share row exclusive on ledger_entry

-- Writers only add rows, so that they never wait for each other: several can have one client, job, day of the work and day.
create table ledger_work (
  tenant_id integer not null,
  id uuid not null default gen_random_uuid(),
  client_id uuid not null,
  business_date date not null,
  work_date date not null,
  job_id uuid not null,
  currency text collate "C" not null,
  amount numeric(18,2) not null,
  -- How many entries there are.
  entries integer not null,
  primary key (tenant_id, client_id, business_date, id) include (work_date, job_id, currency, amount, entries)
);
call protect_tenant_table('ledger_work', 'select, insert, update (client_id), delete');

-- What relieves work of earlier days.
create index ledger_work_relief_index on ledger_work (tenant_id, business_date) include (work_date, client_id, job_id, currency, amount)
  where business_date > work_date;
create index ledger_work_late_relief_index on ledger_work (tenant_id, business_date) include (work_date, client_id, job_id, currency, amount)
  where business_date - work_date > 100;

create or replace function sum_ledger() returns trigger language plpgsql as $$
begin
  insert into ledger_month as kept (tenant_id, account, client_id, currency, business_date, amount, entries)
  select tenant_id, account, client_id, currency, date_trunc('month', business_date::timestamp)::date, sum(amount), count(*)
  from new_rows where client_id is not null group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (tenant_id, account, client_id, currency, business_date)
    do update set amount = kept.amount + excluded.amount, entries = kept.entries + excluded.entries;
  insert into ledger_work (tenant_id, client_id, business_date, work_date, job_id, currency, amount, entries)
  select tenant_id, client_id, business_date, work_date, job_id, currency, sum(amount), count(*)
  from new_rows where account = 'WIP' group by 1, 2, 3, 4, 5, 6;
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
  insert into ledger_month as kept (tenant_id, account, client_id, currency, business_date, amount, entries)
  select tenant_id, account, client_id, currency, date_trunc('month', business_date::timestamp)::date, sum(amount), sum(entries)
  from (
    select tenant_id, account, client_id, currency, business_date, amount, 1 as entries from new_rows
    union all
    select tenant_id, account, client_id, currency, business_date, -amount, -1 from old_rows) moved
  group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (tenant_id, account, client_id, currency, business_date)
    do update set amount = kept.amount + excluded.amount, entries = kept.entries + excluded.entries;
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
