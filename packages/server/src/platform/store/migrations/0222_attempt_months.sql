-- Attempts to deliver events have a partition for each month of their IDs, so that old ones are dropped with their table. The table of before
-- is the first partition: nothing is read or rewritten, because 0221 has proved its range. The version before finds the same name, columns
-- and privileges, and removes old attempts row by row.
-- locks: access exclusive on delivery_attempt

-- As before, but rows of a partition can be changed where those of its parent can.
create or replace procedure add_partition(parent regclass, partition text, bounds text) language plpgsql as $$
begin
  execute format('create table %I (like %s including defaults including constraints including indexes)', partition, parent);
  execute format('call protect_tenant_table(%L, ''select'')', partition);
  execute format('revoke all on %I from financial_automation_service', partition);
  if exists (select from pg_trigger where tgrelid = parent and tgfoid = 'refuse_change'::regproc) then
    execute format('create trigger %I before update or delete or truncate on %I for each statement execute function refuse_change()',
      partition || '_append_only', partition);
  end if;
  execute format('alter table %s attach partition %I %s', parent, partition, bounds);
end
$$;

-- The ID at which the first partition begins that has a range; null if it has no lower bound. The default partition has all rows before it.
create function first_partition_begins(parent regclass) returns uuid language sql stable as $$
  select case when bool_and(bounds like 'FOR VALUES FROM (''%') then min(substring(bounds from 'FROM \(''([0-9a-f-]{36})''\)') collate "C")::uuid end
  from (select pg_get_expr(relpartbound, oid) as bounds from pg_class join pg_inherits on inhrelid = oid where inhparent = parent) partition
  where bounds <> 'DEFAULT'
$$;

alter table delivery_attempt rename to delivery_attempt_first;
alter index delivery_attempt_pkey rename to delivery_attempt_first_pkey;
alter index delivery_attempt_subscription_id_index rename to delivery_attempt_first_subscription_id_index;
revoke all on delivery_attempt_first from financial_automation_service;

create table delivery_attempt (
  like delivery_attempt_first including defaults including constraints,
  primary key (tenant_id, id)
) partition by range (id);
-- Only the first partition has it.
alter table delivery_attempt drop constraint delivery_attempt_first_range;
call protect_tenant_table('delivery_attempt', 'select, insert, delete');
create index delivery_attempt_subscription_id_index on delivery_attempt (tenant_id, subscription_id, attempted_at, id);

do $$
declare
  range text := (select pg_get_constraintdef(oid) from pg_constraint
    where conrelid = 'delivery_attempt_first'::regclass and conname = 'delivery_attempt_first_range');
begin
  execute format('alter table delivery_attempt attach partition delivery_attempt_first for values from (minvalue) to (%L)',
    substring(range from '''([0-9a-f-]{36})'''));
end
$$;
-- The bounds of the partition say the same.
alter table delivery_attempt_first drop constraint delivery_attempt_first_range;
-- For IDs of a month that has no partition: a write must never fail for the want of one.
call add_partition('delivery_attempt', 'delivery_attempt_other', 'default');
do $$ begin perform add_months('delivery_attempt', now() + interval '3 months'); end $$;
