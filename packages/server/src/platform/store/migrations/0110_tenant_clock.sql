-- A sandbox has a clock of its own, ahead of the real one. Each connection carries the difference of its tenant
-- (`app.clock_offset`, in milliseconds; empty for tenants without such a clock), set together with the tenant.
alter table tenant
  add column is_sandbox boolean not null default false,
  -- At most a hundred years, so that no day on the way has a year of more than four digits.
  add column clock_offset bigint not null default 0,
  -- While the clock is advanced, no other call advances it, and background tasks of the tenant wait.
  add column clock_leased_by uuid,
  add column clock_leased_until timestamptz(3),
  add constraint tenant_clock_offset_range check (clock_offset between 0 and 36525 * 86400000::bigint),
  add constraint tenant_clock_offset_agrees check (is_sandbox or clock_offset = 0),
  add constraint tenant_clock_leased_by_agrees check ((clock_leased_by is null) = (clock_leased_until is null));

-- Requests cannot read `tenant`. Null for a tenant without a clock of its own.
create function tenant_clock_offset(tenant_id integer) returns bigint
  language sql stable security definer
  return (select clock_offset from tenant where id = tenant_clock_offset.tenant_id and is_sandbox);

-- The time of the transaction's start, by the clock of the tenant.
create function tenant_now() returns timestamptz
  language sql stable parallel safe
  return now() + coalesce(nullif(current_setting('app.clock_offset', true), '')::bigint, 0) * interval '1 millisecond';

-- The present time, by the clock of the tenant.
create function tenant_clock_timestamp() returns timestamptz
  language sql volatile parallel safe
  return clock_timestamp() + coalesce(nullif(current_setting('app.clock_offset', true), '')::bigint, 0) * interval '1 millisecond';

create or replace function today() returns date
  language sql stable parallel safe
  return tenant_day(tenant_now());

-- All times in rows of a tenant. Access, requests and background jobs use the real time.
do $$
declare
  one record;
begin
  for one in
    select format('alter table %I alter column %I set default %s', c.table_name, c.column_name,
      case when column_default like '%clock_timestamp()%' then 'tenant_clock_timestamp()' else 'tenant_now()' end) as change
    from information_schema.columns c
    where table_schema = current_schema() and column_default ~ '(now|clock_timestamp)\(\)'
      and exists (select from information_schema.columns t
        where t.table_schema = c.table_schema and t.table_name = c.table_name and t.column_name = 'tenant_id')
      and c.table_name not in ('api_user', 'api_key', 'webhook_secret', 'background_job', 'idempotency_key')
  loop
    execute one.change;
  end loop;
end
$$;

-- Compared with the time at which events are recorded.
create or replace function renew_active_since() returns trigger language plpgsql as $$
begin
  new.active_since = tenant_clock_timestamp();
  return new;
end
$$;

-- As before, at the time of the tenant.
create or replace procedure add_hours(changes hours_change[]) language sql
begin atomic
  update task t set actual_hours = t.actual_hours + c.hours, version = t.version + 1,
    updated_at = greatest(t.updated_at, tenant_now())
  from (select tenant_id, task_id, sum(hours) as hours from unnest(changes) group by 1, 2 having sum(hours) <> 0) c
  where t.tenant_id = c.tenant_id and t.id = c.task_id;
  update job j set actual_hours = j.actual_hours + c.hours, version = j.version + 1,
    updated_at = greatest(j.updated_at, tenant_now())
  from (select tenant_id, job_id, sum(hours) as hours from unnest(changes) group by 1, 2 having sum(hours) <> 0) c
  where j.tenant_id = c.tenant_id and j.id = c.job_id;
end;

create or replace procedure add_balances(changes balance_change[]) language sql
begin atomic
  update client k set outstanding_balance = limited(k.outstanding_balance + c.outstanding),
    unapplied_credit = limited(k.unapplied_credit + c.unapplied), version = k.version + 1,
    updated_at = greatest(k.updated_at, tenant_now())
  from (select tenant_id, client_id, currency, sum(outstanding) as outstanding, sum(unapplied) as unapplied
    from unnest(changes) group by 1, 2, 3 having sum(outstanding) <> 0 or sum(unapplied) <> 0) c
  where k.tenant_id = c.tenant_id and k.id = c.client_id and k.currency = c.currency;
end;

create or replace procedure add_wip(changes wip_change[]) language sql
begin atomic
  update job j set wip_amount = limited(j.wip_amount + c.outstanding), billed_amount = limited(j.billed_amount + c.billed),
    write_off_amount = limited(j.write_off_amount + c.written_off),
    write_up_amount = limited(j.write_up_amount + c.written_up), version = j.version + 1,
    updated_at = greatest(j.updated_at, tenant_now())
  from (select tenant_id, job_id, sum(outstanding) as outstanding, sum(billed) as billed, sum(written_off) as written_off,
      sum(written_up) as written_up
    from unnest(changes) group by 1, 2
    having sum(outstanding) <> 0 or sum(billed) <> 0 or sum(written_off) <> 0 or sum(written_up) <> 0) c
  where j.tenant_id = c.tenant_id and j.id = c.job_id;
  update client k set unbilled_wip = limited(k.unbilled_wip + c.outstanding), version = k.version + 1,
    updated_at = greatest(k.updated_at, tenant_now())
  from (select tenant_id, client_id, currency, sum(outstanding) as outstanding from unnest(changes) group by 1, 2, 3
    having sum(outstanding) <> 0) c
  where k.tenant_id = c.tenant_id and k.id = c.client_id and k.currency = c.currency;
end;
