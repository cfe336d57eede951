-- Background jobs, in a table like any other: a job belongs to a tenant, is added and completed in the tenant's transactions, and
-- is under its row-level security. Until here, jobs were in the tables of a library, which requests could only reach through
-- functions with the owner's rights.

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
  primary key (tenant_id, id),
  constraint background_job_status_enum check (status in ('WAITING', 'RUNNING', 'COMPLETED', 'DEAD')),
  constraint background_job_run_id_agrees check ((status = 'RUNNING') = (run_id is not null) and (run_id is null) = (leased_until is null)),
  constraint background_job_ended_at_agrees check ((status in ('COMPLETED', 'DEAD')) = (ended_at is not null))
) with (fillfactor = 50);
call protect_tenant_table('background_job', 'select, insert, update');

-- Processes lease jobs of all tenants, as the owner of the table; that is also why these indexes do not start with the tenant.
do $$
begin
  execute format('create policy background_job_owner on background_job to %I using (true) with check (true)', current_user);
end
$$;
create index background_job_due_at_index on background_job (name, due_at, id) where status = 'WAITING';
create index background_job_leased_until_index on background_job (name, leased_until) where status = 'RUNNING';
create index background_job_ended_at_index on background_job (status, ended_at) where status in ('COMPLETED', 'DEAD');

-- The lease of the clock: the last minute that a process has run, and when its lease ends.
create table clock_turn (
  minute bigint not null,
  run_id uuid,
  leased_until timestamptz(3)
);
insert into clock_turn (minute) values (0);
create unique index clock_turn_single on clock_turn ((true));

-- Whether a run of the clock still has its lease, until the end of the caller's transaction. Requests have no rights on the table.
create function hold_clock_turn(held_by uuid) returns boolean
  language plpgsql security definer as $$
begin
  perform from clock_turn where run_id = held_by for share;
  return found;
end
$$;
do $$
begin
  execute format('alter function hold_clock_turn(uuid) set search_path = pg_catalog, %I, pg_temp', current_schema());
end
$$;
revoke all on function hold_clock_turn(uuid) from public;
grant execute on function hold_clock_turn(uuid) to financial_automation_service;

-- Jobs that wait, run or have died are kept.
do $$
begin
  if to_regclass('pgboss.job') is not null then
    insert into background_job (tenant_id, id, name, data, status, due_at, failures, ended_at, failure)
    select t.id, j.id, case when j.name = 'dead-letter' then j.source_name else j.name end, j.data->'data',
      case when j.name = 'dead-letter' then 'DEAD' else 'WAITING' end, j.start_after, j.retry_count,
      case when j.name = 'dead-letter' then j.created_on end,
      coalesce(j.source_output->>'message', j.source_output->'value'->>'message')
    from pgboss.job j join tenant t on t.name = j.data->>'tenant'
    where j.state in ('created', 'retry', 'active');
    drop schema pgboss cascade;
  end if;
end
$$;

drop function enqueue_job(uuid, text, jsonb, timestamptz);
drop function hold_job(text, uuid, integer);
drop function finish_job(text, uuid, integer);
