-- Delivery and the clock in the terms that the code uses: each subscription is a partition that a process leases, positions are
-- assigned to events, and the clock ticks in the process that holds its lease. Rows, rights and behavior stay as they are.

alter table delivery_lane rename to delivery_partition;
alter table delivery_partition rename column claimed_by to leased_by;
alter table delivery_partition rename column claimed_until to leased_until;
alter policy delivery_lane_owner on delivery_partition rename to delivery_partition_owner;

alter table clock_turn rename to clock_lease;
alter index clock_turn_single rename to clock_lease_single;

-- Later versions of PostgreSQL also have a constraint for each column that is not null.
do $$
declare
  one record;
begin
  for one in
    select conrelid::regclass as tab, conname as name from pg_constraint
    where conrelid in ('delivery_partition'::regclass, 'clock_lease'::regclass)
  loop
    execute format('alter table %s rename constraint %I to %I', one.tab, one.name,
      replace(replace(replace(one.name, 'delivery_lane', 'delivery_partition'), 'claimed_by', 'leased_by'), 'clock_turn', 'clock_lease'));
  end loop;
end
$$;

-- The triggers of `event_subscription` keep calling it.
alter function start_delivery_lane() rename to start_delivery_partition;
create or replace function start_delivery_partition() returns trigger language plpgsql as $$
begin
  insert into delivery_partition (tenant_id, subscription_id, position)
  values (new.tenant_id, new.id, coalesce((select position from event_feed where tenant_id = new.tenant_id), 0))
  on conflict (tenant_id, subscription_id) do update
    set position = excluded.position, due_at = null, leased_by = null, leased_until = null, consecutive_failures = 0,
      failing_since = null, paused_until = null;
  delete from delivery_retry where tenant_id = new.tenant_id and subscription_id = new.id;
  return null;
end
$$;

-- Assigns positions to events that have none yet, in the order in which they were recorded, and makes the partitions of their
-- subscribers due. Sequences and clocks do not show in which order transactions commit, so positions are assigned after the commit, by
-- one process at a time: the lock on the feed is released when its positions are visible. Events of one row keep their order, since
-- each of their transactions locks the row. `sequence` orders events that were recorded in the same millisecond.
drop function relay_events(integer);
create function assign_event_positions(max_events integer, out assigned integer, out partitions integer) language plpgsql
  -- Few rows of a large table, whatever its statistics say.
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  bound integer := current_setting('app.tenant_id')::integer;
  last bigint;
begin
  select position into last from event_feed where tenant_id = bound for update;
  if not found then
    insert into event_feed (tenant_id) values (bound) on conflict do nothing;
    select position into last from event_feed where tenant_id = bound for update;
  end if;
  with recorded as materialized (
    select id, row_number() over (order by recorded_at, sequence, id) as number
    from (select id, recorded_at, sequence from outbox_event where tenant_id = bound and position is null
      order by recorded_at, sequence, id limit max_events) oldest
  ), positioned as (
    update outbox_event event set position = last + recorded.number from recorded
    where event.tenant_id = bound and event.id = recorded.id
    returning event.entity_type, event.operation
  ), subscribed as (
    -- In the order of their keys, as in every transaction that locks partitions.
    select tenant_id, subscription_id, greatest(date_trunc('milliseconds', clock_timestamp()), paused_until) as next
    from delivery_partition
    where tenant_id = bound and subscription_id in (
      select subscription.id from event_subscription subscription
      join (select distinct entity_type, operation from positioned) kind
        on kind.entity_type = subscription.entity_type and kind.operation = any (subscription.operations)
      where subscription.tenant_id = bound and subscription.active)
    order by subscription_id for update
  ), due as (
    update delivery_partition set due_at = least(due_at, subscribed.next) from subscribed
    where delivery_partition.tenant_id = bound and delivery_partition.subscription_id = subscribed.subscription_id
    returning 1
  )
  select (select count(*) from positioned), (select count(*) from due) into assigned, partitions;
  if assigned > 0 then
    update event_feed set position = last + assigned where tenant_id = bound;
  end if;
end
$$;

-- The tenants that have events without a position. Binds one tenant after the other, because the owner of the tables sees no rows of
-- tenants otherwise.
drop function tenants_to_relay();
create function tenants_with_new_events() returns setof integer language plpgsql as $$
declare
  one integer;
begin
  for one in select id from tenant order by id loop
    perform set_config('app.tenant_id', one::text, true);
    if exists (select from outbox_event where tenant_id = one and position is null) then
      return next one;
    end if;
  end loop;
  perform set_config('app.tenant_id', '', true);
end
$$;
revoke all on function tenants_with_new_events() from public;

-- Locks the lease of the clock until the end of the caller's transaction, if a run still holds it. Requests have no rights on the table.
drop function hold_clock_turn(uuid);
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
