-- The access of requests to the queue of background jobs, until 0096 gives jobs a table of their own. The tables of the queue were in
-- the schema `pgboss` of the library of that name. The role of requests had no rights there: it called these functions, which have the
-- owner's rights and read the tenant from the connection.

-- Adds a job of the bound tenant in the transaction of the caller: it exists if and only if that transaction commits.
-- Whoever runs jobs is notified at the commit; with an empty name where the job is not due yet.
create function enqueue_job(job_id uuid, job_name text, job_data jsonb, due_at timestamptz) returns void
  language plpgsql security definer as $$
declare
  bound tenant%rowtype;
begin
  select * into strict bound from tenant where id = current_setting('app.tenant_id')::integer;
  insert into pgboss.job (id, name, data, group_id, policy, start_after, keep_until, expire_seconds, deletion_seconds, retry_limit,
    retry_delay, retry_delay_max, retry_backoff, heartbeat_seconds, dead_letter)
  select job_id, name, jsonb_build_object('tenant', bound.name, 'data', job_data), bound.id::text, policy, coalesce(due_at, now()),
    coalesce(due_at, now()) + retention_seconds * interval '1 second', expire_seconds, deletion_seconds, retry_limit,
    retry_delay, retry_delay_max, retry_backoff, heartbeat_seconds, dead_letter
  from pgboss.queue where name = job_name;
  if not found then
    raise exception 'the queue of the job % does not exist', job_name;
  end if;
  perform pg_notify('background_job', case when due_at > now() then '' else job_name end);
end
$$;

-- Whether a run of a job still holds the job. The job cannot be given to another run before the caller's transaction ends, so
-- a run that checks this right before its commit never writes at the same time as its successor.
create function hold_job(job_name text, job_id uuid, job_attempt integer) returns boolean
  language plpgsql security definer as $$
begin
  perform from pgboss.job
  where name = job_name and id = job_id and state = 'active' and retry_count = job_attempt
    and (group_id is null or group_id = current_setting('app.tenant_id'))
  for share;
  return found;
end
$$;

-- Completes a job in the transaction of the caller, so that what it writes happens once. False where the run lost the job.
create function finish_job(job_name text, job_id uuid, job_attempt integer) returns boolean
  language plpgsql security definer as $$
begin
  update pgboss.job set state = 'completed', completed_on = now()
  where name = job_name and id = job_id and state = 'active' and retry_count = job_attempt
    and (group_id is null or group_id = current_setting('app.tenant_id'));
  return found;
end
$$;

-- Functions with the owner's rights must not search for tables in a path that the caller sets.
do $$
declare
  signature text;
begin
  foreach signature in array array['enqueue_job(uuid, text, jsonb, timestamptz)', 'hold_job(text, uuid, integer)',
      'finish_job(text, uuid, integer)'] loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', signature, current_schema());
    execute format('revoke all on function %s from public', signature);
    execute format('grant execute on function %s to financial_automation_service', signature);
  end loop;
end
$$;

-- The last day on which a daily task of the clock succeeded for a tenant.
create table clock_day (
  tenant_id integer not null,
  task text collate "C" not null,
  day date not null,
  primary key (tenant_id, task)
);
call protect_tenant_table('clock_day', 'select, insert, update');
