-- Positions of events get a table of their own: as a column, each position wrote a new version of the whole event and four entries of
-- indexes. This migration creates the tables, and lets the program before write positions to both places. 0211 copies the positions that
-- exist, and 0212 removes the column.
-- locks: access exclusive on outbox_event, share row exclusive on outbox_event

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

-- The place of each event in the feed of its tenant, with what decides on whether it is due for a subscription.
create table event_position (
  tenant_id integer not null,
  position bigint not null,
  event_id uuid not null,
  entity_type text collate "C" not null,
  entity_id uuid not null,
  operation text collate "C" not null,
  recorded_at timestamptz(3) not null,
  primary key (tenant_id, position),
  constraint event_position_event_id_unique unique (tenant_id, event_id)
);
call protect_tenant_table('event_position', 'select, insert, delete');
create index event_position_entity_type_index on event_position (tenant_id, entity_type, position);

-- The owner finds tenants with new events. Until 0212, the owner also copies positions of all tenants.
do $$
begin
  execute format('create policy event_waiting_owner on event_waiting to %I using (true) with check (true)', current_user);
  execute format('create policy event_position_copied on event_position to %I using (true) with check (true)', current_user);
  execute format('create policy outbox_event_copied on outbox_event to %I using (true) with check (true)', current_user);
end
$$;

-- Until 0212. Also while a tenant is imported: its positions may be in the old place alone.
create function copy_event_positions() returns trigger language plpgsql as $$
begin
  insert into event_position (tenant_id, position, event_id, entity_type, entity_id, operation, recorded_at)
  select tenant_id, position, id, entity_type, entity_id, operation, recorded_at from changed where position is not null
  on conflict do nothing;
  return null;
end
$$;
create trigger outbox_event_positioned after update on outbox_event
  referencing new table as changed for each statement execute function copy_event_positions();
create trigger outbox_event_inserted after insert on outbox_event
  referencing new table as changed for each statement execute function copy_event_positions();

create function remove_event_positions() returns trigger language plpgsql as $$
begin
  delete from event_position using removed
  where event_position.tenant_id = removed.tenant_id and event_position.position = removed.position;
  return null;
end
$$;
create trigger outbox_event_removed after delete on outbox_event
  referencing old table as removed for each statement execute function remove_event_positions();
