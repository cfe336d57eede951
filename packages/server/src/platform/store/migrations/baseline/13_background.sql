create table background_job (
  tenant_id integer not null,
  id uuid not null,
  name text collate "C" not null,
  data jsonb not null,
  status text collate "C" not null default 'WAITING',
  due_at timestamptz(3) not null default now(),
  -- Number of runs so far, and how many of them failed.
  runs integer not null default 0,
  failures integer not null default 0,
  -- The run that has leased the job. A later one has another ID, so a run that has lost the job writes nothing.
  run_id uuid,
  leased_until timestamptz(3),
  ended_at timestamptz(3),
  -- Why the last run failed, for the operator.
  failure text collate "C",
  constraint background_job_status_enum check (status in ('WAITING', 'RUNNING', 'COMPLETED', 'DEAD')),
  constraint background_job_run_id_agrees check ((status = 'RUNNING') = (run_id is not null) and (run_id is null) = (leased_until is null)),
  constraint background_job_ended_at_agrees check ((status in ('COMPLETED', 'DEAD')) = (ended_at is not null)),
  primary key (tenant_id, id)
) with (fillfactor = 50);
call protect_tenant_table('background_job', 'select, insert, update');
call admit_owner('background_job');
create index background_job_due_at_index on background_job (name, due_at, id) where (status = 'WAITING');
-- The next job of the next tenant: workers take jobs of all tenants in turn.
create index background_job_turn_index on background_job (name, tenant_id, due_at, id) where (status = 'WAITING');
create index background_job_leased_until_index on background_job (name, leased_until) where (status = 'RUNNING');
create index background_job_ended_at_index on background_job (status, ended_at) where (status in ('COMPLETED', 'DEAD'));

-- When a task of the clock may have something to do for a tenant, by the clock of the tenant; the task `day` stands for all of them, at
-- the start of its day. Writers only add rows, so they never wait for each other, and a row that commits late is still found.
create table clock_due (
  tenant_id integer not null,
  id bigint generated always as identity,
  task text collate "C" not null,
  due_at timestamptz(3) not null,
  -- The run that has taken the row, and removes it when it succeeds. Until then the row is due again a minute later.
  run_id uuid,
  primary key (tenant_id, id)
);
call protect_tenant_table('clock_due', 'select, insert, delete');
call admit_owner('clock_due');
create index clock_due_task_index on clock_due (tenant_id, task, due_at);
-- The process whose clock ticks reads them for all tenants, as the owner of the table.
create index clock_due_due_at_index on clock_due (due_at);

-- The last day on which a daily task of the clock succeeded for a tenant.
create table clock_day (
  tenant_id integer not null,
  task text collate "C" not null,
  day date not null,
  -- Where an interrupted run of a daily task continues on the same day, as JSON of the task; null after a run that succeeded.
  place jsonb,
  primary key (tenant_id, task)
);
call protect_tenant_table('clock_day', 'select, insert, update');

-- The lease of the clock: the last minute that a process has run, and when its lease ends.
create table clock_lease (
  minute bigint not null,
  run_id uuid,
  leased_until timestamptz(3)
);
create unique index clock_lease_single on clock_lease ((true));
insert into clock_lease (minute) values (0);

create unlogged table process_heartbeat (
  process uuid not null,
  busy_tenants text[] not null,
  seen_at timestamptz(3) not null,
  primary key (process)
) with (fillfactor = 50);

-- Marks in large tables: every 5,000 rows in the order of their IDs, how many rows come before. A page by number is then found from the
-- nearest mark, and not by reading all rows before it. Marks only save time: without them, a page is found from the first row.
create table page_mark (
  tenant_id integer not null,
  table_name text collate "C" not null,
  rows_before integer not null,
  id uuid not null,
  primary key (tenant_id, table_name, rows_before),
  constraint page_mark_id_unique unique (tenant_id, table_name, id)
);
call protect_tenant_table('page_mark', 'select, insert, delete');

create function lock_clock_lease(run_id uuid) returns boolean
  language plpgsql security definer as $$
begin
  perform from clock_lease lease where lease.run_id = lock_clock_lease.run_id for share;
  return found;
end
$$;
do $$
begin
  execute format('alter function lock_clock_lease(uuid) set search_path = pg_catalog, %I, pg_temp', current_schema());
end
$$;
revoke all on function lock_clock_lease(uuid) from public;
grant execute on function lock_clock_lease(uuid) to financial_automation_service;

-- Whoever runs jobs is notified when the transaction that adds some commits: by their name, or by an empty one if they are not due
-- yet.
create function announce_jobs() returns trigger language plpgsql as $$
begin
  perform pg_notify('background_job', case when due_at > now() then '' else name end)
  from (select distinct name, due_at from added) job;
  return null;
end
$$;

-- Rows are never removed, and new ones have the greatest IDs, but for those of concurrent transactions and of other clocks: these remove
-- the marks after them. They share a lock that marking needs alone, so that no mark misses a row that is not committed yet.
create function keep_page_marks() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(72305, (select n.tenant_id from new_rows n limit 1));
  delete from page_mark m using (select n.tenant_id, n.id from new_rows n order by n.id limit 1) first
    where m.tenant_id = first.tenant_id and m.table_name = tg_table_name and m.id > first.id;
  return null;
end
$$;

-- Adds the next marks of a table, a few at a time, because inserts wait meanwhile. Returns how many; the table is marked if they are
-- fewer than requested.
create function add_page_marks(tenant integer, marked_table text, most integer) returns integer language plpgsql as $$
declare
  first_id uuid := '00000000-0000-0000-0000-000000000000';
  first_rows integer := 0;
  added integer;
begin
  perform pg_advisory_xact_lock(72305, tenant);
  select m.id, m.rows_before into first_id, first_rows from page_mark m
    where m.tenant_id = tenant and m.table_name = marked_table order by m.rows_before desc limit 1;
  execute format('insert into page_mark (tenant_id, table_name, rows_before, id)
    select $1, $2, $3 + r.n, r.id
    from (select e.id, (row_number() over (order by e.id) - 1)::integer as n from %I e
      where e.tenant_id = $1 and e.id >= $4 order by e.id limit $5 * 5000 + 1) r
    where r.n > 0 and r.n %% 5000 = 0', marked_table)
    using tenant, marked_table, coalesce(first_rows, 0), coalesce(first_id, '00000000-0000-0000-0000-000000000000'), most;
  get diagnostics added = row_count;
  return added;
end
$$;

-- The tables that have marks.
create function page_marked_tables() returns setof text language sql stable
begin atomic
  select distinct c.relname::text from pg_trigger t join pg_class c on c.oid = t.tgrelid
  where t.tgfoid = 'keep_page_marks'::regproc;
end;

-- A row that is due at an instant that is noted already adds nothing: whoever goes through what is due then finds it, too.
create function note_due_links() returns trigger language plpgsql as $$
begin
  insert into clock_due (tenant_id, task, due_at)
  select distinct tenant_id, 'expire-links', expires_at from changed
  where status = 'ACTIVE' and expires_at is not null and not exists (select from clock_due due
    where due.tenant_id = changed.tenant_id and due.task = 'expire-links' and due.due_at = changed.expires_at);
  return null;
end
$$;

create function note_due_letters() returns trigger language plpgsql as $$
begin
  insert into clock_due (tenant_id, task, due_at)
  select distinct tenant_id, 'expire-letters', expires_at from changed
  where status = 'SENT' and expires_at is not null and not exists (select from clock_due due
    where due.tenant_id = changed.tenant_id and due.task = 'expire-letters' and due.due_at = changed.expires_at);
  return null;
end
$$;

create function note_due_attempts() returns trigger language plpgsql as $$
begin
  insert into clock_due (tenant_id, task, due_at)
  select distinct tenant_id, 'follow-payment-attempts', next_check_at from changed
  where next_check_at is not null and not exists (select from clock_due due
    where due.tenant_id = changed.tenant_id and due.task = 'follow-payment-attempts' and due.due_at = changed.next_check_at);
  return null;
end
$$;

-- Invoices become overdue at the start of a day, which the clock goes through for every tenant. Only those that are overdue when they are
-- written are noted; a day more, because the day of the tenant may be ahead.
create function note_due_invoices() returns trigger language plpgsql as $$
begin
  insert into clock_due (tenant_id, task, due_at)
  select distinct tenant_id, 'mark-overdue', date_trunc('milliseconds', tenant_now()) from changed
  where status in ('POSTED', 'PARTIALLY_PAID') and overdue_at is null and document_type = 'INVOICE'
    and due_date <= (tenant_now() at time zone 'UTC')::date + 1;
  return null;
end
$$;

-- A tenant that is new, opened again, or has another time zone: its next day is found after this one.
create function note_due_day() returns trigger language plpgsql as $$
begin
  insert into clock_due (tenant_id, task, due_at) values (new.id, 'day', date_trunc('milliseconds', now()));
  return null;
end
$$;

create trigger background_job_announced
  after insert on background_job referencing new table as added for each statement
  execute function announce_jobs();

call add_trigger('time_entry_page_marks', 'after insert on time_entry referencing new table as new_rows for each statement', 'keep_page_marks()');
call add_trigger('expense_entry_page_marks', 'after insert on expense_entry referencing new table as new_rows for each statement',
  'keep_page_marks()');
call add_trigger('wip_entry_page_marks', 'after insert on wip_entry referencing new table as new_rows for each statement', 'keep_page_marks()');
call add_trigger('quick_payment_link_due', 'after insert on quick_payment_link referencing new table as changed for each statement',
  'note_due_links()');
call add_trigger('quick_payment_link_due_again', 'after update on quick_payment_link referencing new table as changed for each statement',
  'note_due_links()');
call add_trigger('engagement_due', 'after insert on engagement referencing new table as changed for each statement', 'note_due_letters()');
call add_trigger('engagement_due_again', 'after update on engagement referencing new table as changed for each statement', 'note_due_letters()');
call add_trigger('payment_attempt_due', 'after insert on payment_attempt referencing new table as changed for each statement', 'note_due_attempts()');
call add_trigger('payment_attempt_due_again', 'after update on payment_attempt referencing new table as changed for each statement',
  'note_due_attempts()');
call add_trigger('invoice_due', 'after insert on invoice referencing new table as changed for each statement', 'note_due_invoices()');
call add_trigger('invoice_due_again', 'after update on invoice referencing new table as changed for each statement', 'note_due_invoices()');
call add_trigger('tenant_due', 'after insert on tenant for each row', 'note_due_day()');
call add_trigger('tenant_due_again', 'after update of time_zone, active on tenant for each row', 'note_due_day()',
  'new.active and ((new.time_zone <> old.time_zone) or not old.active)');
