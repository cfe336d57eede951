-- Sums of the entries of the ledger by month, from which figures as of a day are added up without reading all entries.
-- locks: share row exclusive on ledger_entry

create table ledger_month (
  tenant_id integer not null,
  account text collate "C" not null,
  client_id uuid not null,
  currency text collate "C" not null,
  -- The first day of the month of the entries' business dates.
  business_date date not null,
  amount numeric(18,2) not null,
  -- How many entries there are.
  entries integer not null,
  constraint ledger_month_business_date_agrees check (extract(day from business_date) = 1),
  primary key (tenant_id, account, client_id, currency, business_date)
) with (fillfactor = 80);
call protect_tenant_table('ledger_month', 'select, insert, update, delete');

-- Until the next migration has added up what is there, a client without sums gets those of all its entries. Whoever adds an entry has locked
-- its client, whose balance also changes.
create function sum_ledger() returns trigger language plpgsql as $$
begin
  -- One statement, so that both halves see the same clients without sums.
  with unknown as (
    select distinct tenant_id, client_id from new_rows n
    where not exists (select from ledger_month m
      where m.tenant_id = n.tenant_id and m.account in ('RECEIVABLE', 'CREDIT', 'WIP') and m.client_id = n.client_id)),
  added as (
    insert into ledger_month as kept (tenant_id, account, client_id, currency, business_date, amount, entries)
    select tenant_id, account, client_id, currency, date_trunc('month', business_date::timestamp)::date, sum(amount), count(*)
    from new_rows n
    where not exists (select from unknown u where u.tenant_id = n.tenant_id and u.client_id = n.client_id)
    group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict (tenant_id, account, client_id, currency, business_date)
      do update set amount = kept.amount + excluded.amount, entries = kept.entries + excluded.entries)
  insert into ledger_month as kept (tenant_id, account, client_id, currency, business_date, amount, entries)
  select e.tenant_id, e.account, e.client_id, e.currency, date_trunc('month', e.business_date::timestamp)::date, sum(e.amount), count(*)
  from unknown u join ledger_entry e on e.tenant_id = u.tenant_id and e.client_id = u.client_id
  group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (tenant_id, account, client_id, currency, business_date)
    do update set amount = excluded.amount, entries = excluded.entries;
  return null;
end
$$;

create trigger ledger_entry_sum
  after insert on ledger_entry referencing new table as new_rows for each statement
  when (current_setting('app.copies_rows', true) is distinct from 'on')
  execute function sum_ledger();
