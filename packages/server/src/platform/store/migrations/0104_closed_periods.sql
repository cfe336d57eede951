-- Closed periods: no entry of the ledger gets a day on or before the one through which the books of the client's org are closed.
alter table org add column books_closed_through date;

-- An entry and the closing of its period exclude each other: entries share the lock, and closing needs it alone. Closing waits for
-- entries that are not committed yet, and entries after it see the closed period.
create function check_open_period() returns trigger language plpgsql as $$
declare
  closed record;
begin
  perform pg_advisory_xact_lock_shared(72304, (select e.tenant_id from new_rows e limit 1));
  select e.id, e.business_date, o.books_closed_through into closed
    from new_rows e
    join client k on k.tenant_id = e.tenant_id and k.id = e.client_id
    join org o on o.tenant_id = k.tenant_id and o.id = k.org_id
    where e.business_date <= o.books_closed_through
    limit 1;
  if found then
    raise exception 'the books are closed through %, and entry % is of %', closed.books_closed_through, closed.id, closed.business_date
      using errcode = 'check_violation', constraint = 'ledger_entry_period_open', table = 'ledger_entry';
  end if;
  return null;
end
$$;
create trigger ledger_entry_period_open after insert on ledger_entry
  referencing new table as new_rows for each statement execute function check_open_period();

create function lock_periods() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(72304, new.tenant_id);
  return new;
end
$$;
create trigger org_periods_locked before update of books_closed_through on org
  for each row when (old.books_closed_through is distinct from new.books_closed_through)
  execute function lock_periods();
