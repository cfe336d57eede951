-- The delivery of events. 0111 renames these tables and functions in the terms of the field, which the comments use.
--
-- One process at a time assigns positions to the events of a tenant, in the order in which they were recorded, so positions become
-- visible in their order. Each subscription is a partition with an offset: the events after it that match are sent. An event that fails
-- is kept in `delivery_retry`, and the partition continues.

alter table outbox_event
  drop column dispatched_at,
  add column recorded_at timestamptz(3) not null default clock_timestamp(),
  -- Null until a position is assigned.
  add column position bigint;
create index outbox_event_waiting_index on outbox_event (tenant_id, recorded_at, id) where position is null;
create unique index outbox_event_position_unique on outbox_event (tenant_id, position) where position is not null;
create index outbox_event_entity_type_index on outbox_event (tenant_id, entity_type, position) where position is not null;
grant update (position), delete on outbox_event to financial_automation_service;

-- The last position of each tenant. The row is locked before positions are assigned.
create table event_feed (
  tenant_id integer primary key,
  position bigint not null default 0
);
call protect_tenant_table('event_feed', 'select, insert, update');

create table delivery_lane (
  tenant_id integer not null,
  subscription_id uuid not null,
  -- The offset: every event up to it was delivered, is in `delivery_retry`, or is no longer retried.
  position bigint not null,
  -- When the partition is due; null if nothing is pending. A process that leases the partition sets it to null.
  due_at timestamptz(3),
  claimed_by uuid,
  claimed_until timestamptz(3),
  last_delivery_at timestamptz(3),
  consecutive_failures integer not null default 0,
  -- The first of these failures.
  failing_since timestamptz(3),
  -- Nothing is sent before this time, because the receiver fails or requested a pause.
  paused_until timestamptz(3),
  primary key (tenant_id, subscription_id),
  constraint delivery_lane_subscription_id_reference
    foreign key (tenant_id, subscription_id) references event_subscription (tenant_id, id),
  constraint delivery_lane_claimed_by_agrees check ((claimed_by is null) = (claimed_until is null)),
  constraint delivery_lane_failing_since_agrees check ((failing_since is null) = (consecutive_failures = 0))
) with (fillfactor = 50);
call protect_tenant_table('delivery_lane', 'select, insert, update');
-- The owner of the table leases partitions of all tenants. They contain no data of a tenant's rows.
do $$
begin
  execute format('create policy delivery_lane_owner on delivery_lane to %I using (true) with check (true)', current_user);
end
$$;

create table delivery_retry (
  tenant_id integer not null,
  subscription_id uuid not null,
  event_id uuid not null,
  entity_id uuid not null,
  position bigint not null,
  -- Null if the event waits for an earlier one of its row.
  attempts smallint not null,
  due_at timestamptz(3) not null,
  primary key (tenant_id, subscription_id, event_id),
  constraint delivery_retry_attempts_range check (attempts between 0 and 9)
);
call protect_tenant_table('delivery_retry', 'select, insert, update, delete');
create index delivery_retry_due_at_index on delivery_retry (tenant_id, subscription_id, due_at);
create index delivery_retry_entity_id_index on delivery_retry (tenant_id, subscription_id, entity_id, position);
create index delivery_retry_event_id_index on delivery_retry (tenant_id, event_id);

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
);
call protect_tenant_table('delivery_attempt', 'select, insert, delete');
create index delivery_attempt_subscription_id_index on delivery_attempt (tenant_id, subscription_id, attempted_at, id);

-- A subscription that becomes active starts with what happens from now on, and with a clean record.
create function start_delivery_lane() returns trigger language plpgsql as $$
begin
  insert into delivery_lane (tenant_id, subscription_id, position)
  values (new.tenant_id, new.id, coalesce((select position from event_feed where tenant_id = new.tenant_id), 0))
  on conflict (tenant_id, subscription_id) do update
    set position = excluded.position, due_at = null, consecutive_failures = 0, failing_since = null, paused_until = null;
  delete from delivery_retry where tenant_id = new.tenant_id and subscription_id = new.id;
  return null;
end
$$;
create trigger event_subscription_starts after insert on event_subscription
  for each row when (new.active) execute function start_delivery_lane();
create trigger event_subscription_starts_again after update of active on event_subscription
  for each row when (new.active and not old.active) execute function start_delivery_lane();

create function renew_active_since() returns trigger language plpgsql as $$
begin
  new.active_since = clock_timestamp();
  return new;
end
$$;
create trigger event_subscription_active_since before update of active on event_subscription
  for each row when (new.active and not old.active) execute function renew_active_since();
