-- Events are only inserted and removed from now on, and `assign_event_positions` moves rows from `event_waiting` to `event_position`.
-- The view `outbox_event` has the columns of before, and writes through it go to the tables: the program before works on it, beside this one
-- and after a rollback. One release later, the view, `event_arrival` and the functions of the triggers of 0210 can be removed.
-- locks: access exclusive on event_position, access exclusive on outbox_event

drop trigger outbox_event_positioned on outbox_event;
drop trigger outbox_event_inserted on outbox_event;
drop trigger outbox_event_removed on outbox_event;

insert into event_waiting (tenant_id, recorded_at, sequence, event_id, entity_type, entity_id, operation)
select tenant_id, recorded_at, sequence, id, entity_type, entity_id, operation from outbox_event where position is null;

drop policy outbox_event_copied on outbox_event;
drop policy event_position_copied on event_position;

alter table outbox_event rename to recorded_event;
-- Its three indexes go with it.
alter table recorded_event drop column position;
alter trigger outbox_event_arrives on recorded_event rename to recorded_event_waits;
-- Later versions of PostgreSQL also have a constraint for each column that is not null.
do $$
declare
  one record;
begin
  for one in select conname as name from pg_constraint where conrelid = 'recorded_event'::regclass loop
    execute format('alter table recorded_event rename constraint %I to %I', one.name, replace(one.name, 'outbox_event', 'recorded_event'));
  end loop;
end
$$;

create or replace function note_events() returns trigger language plpgsql as $$
begin
  insert into event_waiting (tenant_id, recorded_at, sequence, event_id, entity_type, entity_id, operation)
  select tenant_id, recorded_at, sequence, id, entity_type, entity_id, operation from recorded;
  return null;
end
$$;

-- Assigns positions to events that have none yet, in the order in which they were recorded, and makes the partitions of their
-- subscribers due. Sequences and clocks do not show in which order transactions commit, so positions are assigned after the commit, by
-- one process at a time: the lock on the feed is released when its positions are visible. Events of one row keep their order, since
-- each of their transactions locks the row. `sequence` orders events that were recorded in the same millisecond.
create or replace function assign_event_positions(max_events integer, out assigned integer, out partitions integer) language plpgsql
  -- Few rows of a large table, in the order of an index, whatever its statistics say.
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  bound integer := current_setting('app.tenant_id')::integer;
  last bigint;
begin
  select position into last from event_feed where tenant_id = bound for update;
  if not found then
    insert into event_feed (tenant_id) values (bound) on conflict do nothing;
    select position into last from event_feed where tenant_id = bound for update;
  end if;
  with recorded as (
    -- By the places of the rows: nobody else removes them while the feed is locked. A list, because a join could compare all rows.
    delete from event_waiting where tenant_id = bound and ctid = any (array(
      select ctid from event_waiting where tenant_id = bound order by recorded_at, sequence, event_id limit max_events))
    returning recorded_at, sequence, event_id, entity_type, entity_id, operation
  ), positioned as (
    insert into event_position (tenant_id, position, event_id, entity_type, entity_id, operation, recorded_at)
    select bound, last + row_number() over (order by recorded_at, sequence, event_id), event_id, entity_type, entity_id, operation,
      recorded_at
    from recorded
  ), subscribed as (
    -- In the order of their keys, as in every transaction that locks partitions.
    select tenant_id, subscription_id, greatest(date_trunc('milliseconds', clock_timestamp()), paused_until) as next
    from delivery_partition
    where tenant_id = bound and subscription_id in (
      select subscription.id from event_subscription subscription
      join (select distinct entity_type, operation from recorded) kind
        on kind.entity_type = subscription.entity_type and kind.operation = any (subscription.operations)
      where subscription.tenant_id = bound and subscription.active)
    order by subscription_id for update
  ), due as (
    update delivery_partition set due_at = least(due_at, subscribed.next) from subscribed
    where delivery_partition.tenant_id = bound and delivery_partition.subscription_id = subscribed.subscription_id
    returning 1
  )
  select (select count(*) from recorded), (select count(*) from due) into assigned, partitions;
  if assigned > 0 then
    update event_feed set position = last + assigned where tenant_id = bound;
  end if;
end
$$;

-- One step in the index for each tenant, whatever the number of its events.
create or replace function tenants_with_new_events() returns setof integer language sql as $$
  with recursive found as (
    (select tenant_id from event_waiting order by tenant_id limit 1)
    union all
    select (select tenant_id from event_waiting where tenant_id > found.tenant_id order by tenant_id limit 1)
    from found where found.tenant_id is not null
  )
  select tenant_id from found where tenant_id is not null
$$;

-- For the program before. What it selects by comes from the table with the index for that: joins of which it needs no column are left
-- out, and positions are read in their order.
create view outbox_event with (security_invoker) as
(select waiting.tenant_id, waiting.event_id as id, event.entity_type, event.entity_id, waiting.operation, event.sequence,
    event.occurred_at, event.data, event.changed_fields, event.request_id, waiting.recorded_at, null::bigint as position,
    event.traceparent
  from event_waiting waiting
  left join recorded_event event on event.tenant_id = waiting.tenant_id and event.id = waiting.event_id
    and event.recorded_at = waiting.recorded_at and event.sequence = waiting.sequence)
union all
(select placed.tenant_id, placed.event_id, placed.entity_type, event.entity_id, placed.operation, event.sequence, event.occurred_at,
    event.data, event.changed_fields, event.request_id, placed.recorded_at, placed.position, event.traceparent
  from event_position placed
  left join recorded_event event
    on event.tenant_id = placed.tenant_id and event.id = placed.event_id and event.entity_type = placed.entity_type
  order by placed.position);
grant select, insert, delete on outbox_event to financial_automation_service;
alter view outbox_event
  alter column occurred_at set default tenant_now(),
  alter column recorded_at set default tenant_clock_timestamp();

create function insert_outbox_event() returns trigger language plpgsql as $$
begin
  insert into recorded_event (tenant_id, id, entity_type, entity_id, operation, sequence, occurred_at, data, changed_fields, request_id,
    recorded_at, traceparent)
  values (new.tenant_id, new.id, new.entity_type, new.entity_id, new.operation, new.sequence, new.occurred_at, new.data,
    new.changed_fields, new.request_id, new.recorded_at, new.traceparent);
  return new;
end
$$;
create trigger outbox_event_insert instead of insert on outbox_event for each row execute function insert_outbox_event();

create function delete_outbox_event() returns trigger language plpgsql as $$
begin
  delete from event_waiting where tenant_id = old.tenant_id and recorded_at = old.recorded_at and sequence = old.sequence
    and event_id = old.id;
  delete from event_position where tenant_id = old.tenant_id and event_id = old.id;
  delete from recorded_event where tenant_id = old.tenant_id and id = old.id;
  return old;
end
$$;
create trigger outbox_event_delete instead of delete on outbox_event for each row execute function delete_outbox_event();
