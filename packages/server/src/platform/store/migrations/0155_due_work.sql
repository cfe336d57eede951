-- What the clock has to do and which tenants have new events is found in tables of their own, across tenants and by an index, instead of
-- by a look at the rows of each tenant.
-- locks: share row exclusive on engagement, share row exclusive on invoice, share row exclusive on outbox_event, share row exclusive on payment_attempt, share row exclusive on quick_payment_link, share row exclusive on tenant

-- When a task of the clock may have something to do for a tenant, by the clock of the tenant; the task `day` stands for all of them, at
-- the start of its day. Writers only add rows, so they never wait for each other, and a row that commits late is still found.
create table clock_due (
  tenant_id integer not null,
  id bigint generated always as identity,
  task text collate "C" not null,
  due_at timestamptz(3) not null,
  -- The run that has taken the row, and removes it when it succeeds. Until then the row is due again a minute later.
  run_id uuid,
  primary key (tenant_id, id)
);
call protect_tenant_table('clock_due', 'select, insert, delete');
create index clock_due_task_index on clock_due (tenant_id, task, due_at);
-- The process whose clock ticks reads them for all tenants, as the owner of the table.
create index clock_due_due_at_index on clock_due (due_at);

-- Transactions that recorded events which have no positions yet. A row is removed together with giving them.
create table event_arrival (
  tenant_id integer not null,
  id bigint generated always as identity,
  primary key (tenant_id, id)
);
call protect_tenant_table('event_arrival', 'select, insert, delete');

do $$
declare
  one text;
begin
  foreach one in array array['clock_due', 'event_arrival'] loop
    execute format('create policy %I on %I to %I using (true) with check (true)', one || '_owner', one, current_user);
  end loop;
end
$$;

create function note_events() returns trigger language plpgsql as $$
begin
  insert into event_arrival (tenant_id) select distinct tenant_id from recorded;
  return null;
end
$$;
create trigger outbox_event_arrives after insert on outbox_event
  referencing new table as recorded for each statement execute function note_events();

-- A row that is due at an instant that is noted already adds nothing: whoever goes through what is due then finds it, too.
create function note_due_links() returns trigger language plpgsql as $$
begin
  insert into clock_due (tenant_id, task, due_at)
  select distinct tenant_id, 'expire-links', expires_at from changed
  where status = 'ACTIVE' and expires_at is not null and not exists (select from clock_due due
    where due.tenant_id = changed.tenant_id and due.task = 'expire-links' and due.due_at = changed.expires_at);
  return null;
end
$$;
create trigger quick_payment_link_due after insert on quick_payment_link
  referencing new table as changed for each statement execute function note_due_links();
create trigger quick_payment_link_due_again after update on quick_payment_link
  referencing new table as changed for each statement execute function note_due_links();

create function note_due_letters() returns trigger language plpgsql as $$
begin
  insert into clock_due (tenant_id, task, due_at)
  select distinct tenant_id, 'expire-letters', expires_at from changed
  where status = 'SENT' and expires_at is not null and not exists (select from clock_due due
    where due.tenant_id = changed.tenant_id and due.task = 'expire-letters' and due.due_at = changed.expires_at);
  return null;
end
$$;
create trigger engagement_due after insert on engagement
  referencing new table as changed for each statement execute function note_due_letters();
create trigger engagement_due_again after update on engagement
  referencing new table as changed for each statement execute function note_due_letters();

create function note_due_attempts() returns trigger language plpgsql as $$
begin
  insert into clock_due (tenant_id, task, due_at)
  select distinct tenant_id, 'follow-payment-attempts', next_check_at from changed
  where next_check_at is not null and not exists (select from clock_due due
    where due.tenant_id = changed.tenant_id and due.task = 'follow-payment-attempts' and due.due_at = changed.next_check_at);
  return null;
end
$$;
create trigger payment_attempt_due after insert on payment_attempt
  referencing new table as changed for each statement execute function note_due_attempts();
create trigger payment_attempt_due_again after update on payment_attempt
  referencing new table as changed for each statement execute function note_due_attempts();

-- Invoices become overdue at the start of a day, which the clock goes through for every tenant. Only those that are overdue when they are
-- written are noted; a day more, because the day of the tenant may be ahead.
create function note_due_invoices() returns trigger language plpgsql as $$
begin
  insert into clock_due (tenant_id, task, due_at)
  select distinct tenant_id, 'mark-overdue', date_trunc('milliseconds', tenant_now()) from changed
  where status in ('POSTED', 'PARTIALLY_PAID') and overdue_at is null and document_type = 'INVOICE'
    and due_date <= (tenant_now() at time zone 'UTC')::date + 1;
  return null;
end
$$;
create trigger invoice_due after insert on invoice
  referencing new table as changed for each statement execute function note_due_invoices();
create trigger invoice_due_again after update on invoice
  referencing new table as changed for each statement execute function note_due_invoices();

-- A tenant that is new, opened again, or has another time zone: its next day is found after this one.
create function note_due_day() returns trigger language plpgsql as $$
begin
  insert into clock_due (tenant_id, task, due_at) values (new.id, 'day', date_trunc('milliseconds', now()));
  return null;
end
$$;
create trigger tenant_due after insert on tenant for each row execute function note_due_day();
create trigger tenant_due_again after update of time_zone, active on tenant
  for each row when (new.active and (new.time_zone <> old.time_zone or not old.active)) execute function note_due_day();
insert into clock_due (tenant_id, task, due_at) select id, 'day', date_trunc('milliseconds', now()) from tenant;

-- As before, and removes the notes first: of a note that is seen, the events are seen by the next statement. If events remain, one note
-- stays.
create or replace function assign_event_positions(max_events integer, out assigned integer, out partitions integer) language plpgsql
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
  delete from event_arrival where tenant_id = bound;
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
  if assigned = max_events then
    insert into event_arrival (tenant_id) values (bound);
  end if;
end
$$;

-- Events from before this migration, for each tenant once.
insert into event_arrival (tenant_id) select id from tenant;

create or replace function tenants_with_new_events() returns setof integer language sql as $$
  select distinct tenant_id from event_arrival
$$;
