-- The assignment of positions to events. 0111 renames these functions in the terms of the field, which the comments use.

-- Assigns positions to events that have none yet, in the order in which they were recorded, and makes the partitions of their
-- subscribers due. Sequences and clocks do not show in which order transactions commit, so positions are assigned after the commit, by
-- one process at a time: the lock on the feed is released when its positions are visible. Events of one row keep their order, since
-- each of their transactions locks the row. `sequence` orders events that were recorded in the same millisecond.
create function relay_events(most integer, out relayed integer, out lanes integer) language plpgsql
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
  with waiting as materialized (
    select id, row_number() over (order by recorded_at, sequence, id) as place
    from (select id, recorded_at, sequence from outbox_event where tenant_id = bound and position is null
      order by recorded_at, sequence, id limit most) oldest
  ), placed as (
    update outbox_event event set position = last + waiting.place from waiting
    where event.tenant_id = bound and event.id = waiting.id
    returning event.entity_type, event.operation
  ), lane as (
    -- In the order of their keys, as in every transaction that locks partitions.
    select tenant_id, subscription_id, greatest(date_trunc('milliseconds', clock_timestamp()), paused_until) as next
    from delivery_lane
    where tenant_id = bound and subscription_id in (
      select subscription.id from event_subscription subscription
      join (select distinct entity_type, operation from placed) kind
        on kind.entity_type = subscription.entity_type and kind.operation = any (subscription.operations)
      where subscription.tenant_id = bound and subscription.active)
    order by subscription_id for update
  ), woken as (
    update delivery_lane set due_at = least(due_at, lane.next) from lane
    where delivery_lane.tenant_id = bound and delivery_lane.subscription_id = lane.subscription_id
    returning 1
  )
  select (select count(*) from placed), (select count(*) from woken) into relayed, lanes;
  if relayed > 0 then
    update event_feed set position = last + relayed where tenant_id = bound;
  end if;
end
$$;

-- The tenants that have events without a position. Binds one tenant after the other, because the owner of the tables sees no rows of
-- tenants otherwise.
create function tenants_to_relay() returns setof integer language plpgsql as $$
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
revoke all on function tenants_to_relay() from public;

-- The lease of a subscription that becomes active ends: what its process sends is from before the activation.
create or replace function start_delivery_lane() returns trigger language plpgsql as $$
begin
  insert into delivery_lane (tenant_id, subscription_id, position)
  values (new.tenant_id, new.id, coalesce((select position from event_feed where tenant_id = new.tenant_id), 0))
  on conflict (tenant_id, subscription_id) do update
    set position = excluded.position, due_at = null, claimed_by = null, claimed_until = null, consecutive_failures = 0,
      failing_since = null, paused_until = null;
  delete from delivery_retry where tenant_id = new.tenant_id and subscription_id = new.id;
  return null;
end
$$;
