-- A subscription can have several entity types, and its events are due for each of them.
-- locks: access exclusive on event_subscription

alter table event_subscription add column more_entity_types text[] not null default '{}';

CREATE OR REPLACE FUNCTION assign_event_positions(max_events integer, OUT assigned integer, OUT partitions integer)
 RETURNS record
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
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
        on kind.entity_type = any (array[subscription.entity_type] || subscription.more_entity_types) and kind.operation = any (subscription.operations)
      where subscription.tenant_id = bound and subscription.active)
    order by subscription_id for update
  ), due as (
    update delivery_partition set due_at = least(due_at, subscribed.next) from subscribed
    where delivery_partition.tenant_id = bound and delivery_partition.subscription_id = subscribed.subscription_id
    returning leased_until is null or leased_until < now() as is_free
  )
  select (select count(*) from recorded), (select count(*) from due where is_free) into assigned, partitions;
  if assigned > 0 then
    update event_feed set position = last + assigned where tenant_id = bound;
  end if;
end
$function$
;
