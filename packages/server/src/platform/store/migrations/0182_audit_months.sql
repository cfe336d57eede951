-- The audit log has a partition for each month, so that what is older than it must be kept is dropped with its table, and not row by row.
-- The table of before is the first partition: nothing is read or rewritten, because 0181 has proved its range. The version before finds
-- the same name, columns and privileges.
-- locks: access exclusive on audit_log

alter table audit_log rename to audit_log_first;
alter index audit_log_pkey rename to audit_log_first_pkey;
alter index audit_log_entity_index rename to audit_log_first_entity_index;
revoke all on audit_log_first from financial_automation_service;

create table audit_log (
  like audit_log_first including defaults,
  primary key (tenant_id, id)
) partition by range (id);
call protect_tenant_table('audit_log', 'select, insert');
create index audit_log_entity_index on audit_log (tenant_id, entity_type, entity_id, id);
create trigger audit_log_append_only before update or delete or truncate on audit_log
  for each statement execute function refuse_change();

-- Prepares a table to become a partition. Requests reach it through its parent alone; whoever else does is held to the same rules.
create procedure add_partition(parent regclass, partition text, bounds text) language plpgsql as $$
begin
  execute format('create table %I (like %s including defaults including constraints including indexes)', partition, parent);
  execute format('call protect_tenant_table(%L, ''select'')', partition);
  execute format('revoke all on %I from financial_automation_service', partition);
  execute format('create trigger %I before update or delete or truncate on %I for each statement execute function refuse_change()',
    partition || '_append_only', partition);
  execute format('alter table %s attach partition %I %s', parent, partition, bounds);
end
$$;

-- The partitions of a table by ranges of IDs, but for the one that takes what has no range.
create function partitions_of(parent regclass, out partition text, out ends_at timestamptz) returns setof record language sql stable as $$
  select relname::text, instant_of_id(substring(pg_get_expr(relpartbound, oid) from 'TO \(''([0-9a-f-]{36})''\)')::uuid)
  from pg_class join pg_inherits on inhrelid = oid
  where inhparent = parent and pg_get_expr(relpartbound, oid) <> 'DEFAULT'
$$;

-- Adds a partition for each month that begins before an instant, after the last one. A month of which rows exist already, because no
-- process ran for a long time, gets none: its rows stay where they are. Returns the number of those that were added.
create function add_months(parent regclass, until timestamptz) returns integer language plpgsql as $$
declare
  month timestamp := (select max(ends_at) from partitions_of(parent)) at time zone 'UTC';
  added integer := 0;
begin
  while month at time zone 'UTC' < until loop
    begin
      call add_partition(parent, format('%s_%s', parent, to_char(month, 'YYYY_MM')), format('for values from (%L) to (%L)',
        first_id_at(month at time zone 'UTC'), first_id_at((month + interval '1 month') at time zone 'UTC')));
      added := added + 1;
    exception when check_violation then null;
    end;
    month := month + interval '1 month';
  end loop;
  return added;
end
$$;

do $$
declare
  range text := (select pg_get_constraintdef(oid) from pg_constraint where conname = 'audit_log_first_range');
begin
  execute format('alter table audit_log attach partition audit_log_first for values from (minvalue) to (%L)',
    substring(range from '''([0-9a-f-]{36})'''));
end
$$;
-- The bounds of the partition say the same.
alter table audit_log_first drop constraint audit_log_first_range;
-- For IDs of a month that has no partition: a write must never fail for the want of one.
call add_partition('audit_log', 'audit_log_other', 'default');
do $$ begin perform add_months('audit_log', now() + interval '3 months'); end $$;
