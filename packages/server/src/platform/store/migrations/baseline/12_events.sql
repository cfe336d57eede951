create table event_subscription (
  like entity_columns including defaults including indexes,
  delivery_url text collate "C" not null,
  entity_type text collate "C" not null,
  operations text[] not null,
  filter_expression text collate "C",
  description text collate "C",
  created_by_api_user_id uuid not null,
  deactivated_at timestamptz(3),
  -- Earlier events are not sent to this subscription. The time is that of the database, which all processes share.
  active_since timestamptz(3) not null default tenant_clock_timestamp(),
  -- Its events are due for each of its entity types.
  more_entity_types text[] not null default '{}',
  constraint event_subscription_operations_enum check (operations <@ array['CREATE', 'UPDATE', 'DELETE']),
  constraint event_subscription_operations_present check (cardinality(operations) > 0),
  constraint event_subscription_deactivated_at_agrees check (active = (deactivated_at is null))
);
call add_references('event_subscription', 'created_by_api_user_id: api_user');
create index event_subscription_entity_type_index on event_subscription (tenant_id, entity_type) where active;

-- The newest secret signs, and earlier ones in addition until they expire.
create table webhook_secret (
  tenant_id integer not null,
  id uuid not null,
  -- Encrypted with the master key, which the database never sees.
  secret_encrypted bytea not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3),
  primary key (tenant_id, id)
);
call protect_tenant_table('webhook_secret', 'select, insert, update, delete');
create unique index webhook_secret_current_unique on webhook_secret (tenant_id) where (expires_at is null);

-- The last position of each tenant. The row is locked before positions are assigned.
create table event_feed (
  tenant_id integer not null,
  position bigint not null default 0,
  primary key (tenant_id)
);
call protect_tenant_table('event_feed', 'select, insert, update');

create table recorded_event (
  tenant_id integer not null,
  id uuid not null,
  entity_type text collate "C" not null,
  entity_id uuid not null,
  operation text collate "C" not null,
  sequence bigint not null,
  occurred_at timestamptz(3) not null default tenant_now(),
  data jsonb not null,
  changed_fields text[],
  request_id text collate "C",
  recorded_at timestamptz(3) not null default tenant_clock_timestamp(),
  -- The trace of the call that caused an event (W3C Trace Context), which deliveries pass on; null where it had none.
  traceparent text collate "C",
  -- Whether it reports the history of another system.
  is_import boolean not null default false,
  constraint recorded_event_operation_enum check ((operation = ANY (ARRAY['CREATE'::text, 'UPDATE'::text, 'DELETE'::text]))),
  primary key (tenant_id, id),
  constraint recorded_event_entity_type_entity_id_sequence_unique unique (tenant_id, entity_type, entity_id, sequence)
);
call protect_tenant_table('recorded_event', 'select, insert, delete');

-- Events that have no position yet, in the order in which they get one. They are removed together with that.
create table event_waiting (
  tenant_id integer not null,
  recorded_at timestamptz(3) not null,
  sequence bigint not null,
  event_id uuid not null,
  entity_type text collate "C" not null,
  entity_id uuid not null,
  operation text collate "C" not null,
  primary key (tenant_id, recorded_at, sequence, event_id)
);
call protect_tenant_table('event_waiting', 'select, insert, delete');
call admit_owner('event_waiting');

-- The place of each event in the feed of its tenant, with what decides on whether it is due for a subscription.
create table event_position (
  tenant_id integer not null,
  position bigint not null,
  event_id uuid not null,
  entity_type text collate "C" not null,
  entity_id uuid not null,
  operation text collate "C" not null,
  recorded_at timestamptz(3) not null,
  primary key (tenant_id, "position"),
  constraint event_position_event_id_unique unique (tenant_id, event_id)
);
call protect_tenant_table('event_position', 'select, insert, delete');
create index event_position_entity_type_index on event_position (tenant_id, entity_type, "position");

create table delivery_partition (
  tenant_id integer not null,
  subscription_id uuid not null,
  -- The offset: every event up to it was delivered, is in `delivery_retry`, or is no longer retried.
  position bigint not null,
  -- When the partition is due; null if nothing is pending. A process that leases the partition sets it to null.
  due_at timestamptz(3),
  leased_by uuid,
  leased_until timestamptz(3),
  last_delivery_at timestamptz(3),
  consecutive_failures integer not null default 0,
  -- The first of these failures.
  failing_since timestamptz(3),
  -- Nothing is sent before this time, because the receiver fails or requested a pause.
  paused_until timestamptz(3),
  constraint delivery_partition_leased_by_agrees check (((leased_by IS NULL) = (leased_until IS NULL))),
  constraint delivery_partition_failing_since_agrees check (((failing_since IS NULL) = (consecutive_failures = 0))),
  primary key (tenant_id, subscription_id)
) with (fillfactor = 50);
call add_references('delivery_partition', 'subscription_id: event_subscription');
call protect_tenant_table('delivery_partition', 'select, insert, update');
call admit_owner('delivery_partition');
create index delivery_partition_working_index on delivery_partition (due_at) where ((leased_until is null) and (due_at is not null) and (consecutive_failures = 0));
create index delivery_partition_failing_index on delivery_partition (due_at) where ((leased_until is null) and (due_at is not null) and (consecutive_failures > 0));
create index delivery_partition_leased_until_index on delivery_partition (leased_until) where (leased_until is not null);

create table delivery_attempt (
  tenant_id integer not null,
  id uuid not null,
  subscription_id uuid not null,
  event_id uuid not null,
  entity_type text collate "C" not null,
  operation text collate "C" not null,
  entity_id uuid not null,
  attempt smallint not null,
  delivery_url text collate "C" not null,
  http_status_code smallint,
  outcome text collate "C" not null,
  duration_ms integer not null,
  response_snippet text collate "C",
  error_message text collate "C",
  attempted_at timestamptz(3) not null,
  next_retry_at timestamptz(3),
  primary key (tenant_id, id),
  constraint delivery_attempt_outcome_enum check (outcome in ('SUCCESS', 'FAILED', 'TIMEOUT', 'BLOCKED'))
) partition by range (id);
call protect_tenant_table('delivery_attempt', 'select, insert, delete');
create index delivery_attempt_subscription_id_index on delivery_attempt (tenant_id, subscription_id, attempted_at, id);

create table delivery_retry (
  tenant_id integer not null,
  subscription_id uuid not null,
  event_id uuid not null,
  entity_id uuid not null,
  position bigint not null,
  -- Null if the event waits for an earlier one of its row.
  attempts smallint not null,
  due_at timestamptz(3) not null,
  constraint delivery_retry_attempts_range check (attempts between 0 and 9),
  primary key (tenant_id, subscription_id, event_id)
);
call protect_tenant_table('delivery_retry', 'select, insert, update, delete');
create index delivery_retry_due_at_index on delivery_retry (tenant_id, subscription_id, due_at);
create index delivery_retry_entity_id_index on delivery_retry (tenant_id, subscription_id, entity_id, "position");
call index_columns('delivery_retry', 'event_id');

-- The lease of a subscription that becomes active ends: what its process sends is from before the activation.
create function start_delivery_partition() returns trigger language plpgsql as $$
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

-- Compared with the time at which events are recorded.
create function renew_active_since() returns trigger language plpgsql as $$
begin
  new.active_since = tenant_clock_timestamp();
  return new;
end
$$;

-- Assigns positions to events that have none yet, in the order in which they were recorded, and makes the partitions of their
-- subscribers due. Sequences and clocks do not show in which order transactions commit, so positions are assigned after the commit, by
-- one process at a time: the lock on the feed is released when its positions are visible. Events of one row keep their order, since
-- each of their transactions locks the row. `sequence` orders events that were recorded in the same millisecond.
--
-- `partitions` counts those that a process can lease now. The process that has the lease of another one finds the events itself: looking for
-- partitions after each batch of events took a tenth of the time of the database for a delivery.
create function assign_event_positions(max_events integer, out assigned integer, out partitions integer) language plpgsql
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
$$;

-- One step in the index for each tenant, whatever the number of its events.
create function tenants_with_new_events() returns setof integer language sql as $$
  with recursive found as (
    (select tenant_id from event_waiting order by tenant_id limit 1)
    union all
    select (select tenant_id from event_waiting where tenant_id > found.tenant_id order by tenant_id limit 1)
    from found where found.tenant_id is not null
  )
  select tenant_id from found where tenant_id is not null
$$;
revoke all on function tenants_with_new_events() from public;

create function note_events() returns trigger language plpgsql as $$
begin
  insert into event_waiting (tenant_id, recorded_at, sequence, event_id, entity_type, entity_id, operation)
  select tenant_id, recorded_at, sequence, id, entity_type, entity_id, operation from recorded;
  return null;
end
$$;

call add_trigger('event_subscription_starts', 'after insert on event_subscription for each row', 'start_delivery_partition()', 'new.active');
call add_trigger('event_subscription_starts_again', 'after update of active on event_subscription for each row', 'start_delivery_partition()',
  'new.active and not old.active');
call add_trigger('event_subscription_active_since', 'before update of active on event_subscription for each row', 'renew_active_since()',
  'new.active and not old.active');
call add_trigger('recorded_event_waits', 'after insert on recorded_event referencing new table as recorded for each statement', 'note_events()');

-- A partition for each month of its IDs, so that old rows are dropped with their table, and not one by one. The first takes what is older, the
-- other one what has no month: a write must never fail for the want of one.
do $$
begin
  call add_partition('delivery_attempt', 'delivery_attempt_first', format('for values from (minvalue) to (%L)', first_id_at(date_trunc('month', now() at time zone 'UTC') at time zone 'UTC')));
  call add_partition('delivery_attempt', 'delivery_attempt_other', 'default');
  perform add_months('delivery_attempt', now() + interval '3 months');
end
$$;
