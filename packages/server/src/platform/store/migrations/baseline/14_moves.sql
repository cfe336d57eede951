-- Imports that have not ended: the content of files is stored before the transaction of the rows commits. What an interrupted one has
-- left behind is found by this, and the number of the tenant is not given twice.
create table tenant_import (
  tenant integer not null,
  name text collate "C" not null,
  started_at timestamptz(3) not null default now(),
  primary key (tenant),
  constraint tenant_import_name_unique unique (name)
);

create table tenant_move (
  tenant integer not null,
  -- LEAVING: it is here, and changes are noted. STOPPED: also its writes are rejected, until `stopped_until`. LEFT: it is in the other
  -- database, and a copy is kept here. REMOVED: as LEFT, without the copy. ARRIVING: a copy is here that is not complete.
  phase text collate "C" not null,
  -- Number of the other database.
  cell integer not null,
  -- The same on both sides, and the process that works on it, which only it may continue until it stops renewing that.
  move_id uuid not null,
  mover uuid not null,
  mover_until timestamptz(3) not null,
  -- Whether the tenant is open once it has moved; until then, the copy is closed.
  opens boolean not null default true,
  stopped_until timestamptz(3),
  started_at timestamptz(3) not null default now(),
  constraint tenant_move_phase_enum check (phase in ('LEAVING', 'STOPPED', 'LEFT', 'REMOVED', 'ARRIVING')),
  constraint tenant_move_stopped_until_agrees check (phase <> 'STOPPED' or stopped_until is not null),
  primary key (tenant)
);

-- Rows that have changed since the copy began.
create table moved_row (
  tenant integer not null,
  id bigint generated always as identity,
  table_name text collate "C" not null,
  -- The rest of the primary key.
  key jsonb not null,
  primary key (tenant, id)
);

-- Requests cannot read `tenant_move`. Null for nearly all tenants.
create function tenant_move_phase(tenant_id integer) returns text
  language sql stable security definer
  return (select phase from tenant_move where tenant = tenant_move_phase.tenant_id);

-- Notes that a row changes. Returns false if it must not. Whoever stops the writes of the tenant waits for those that hold the lock.
create function note_moved_row(moving integer, changed_table text, changed_keys jsonb[]) returns boolean language plpgsql security definer as $$
declare
  move tenant_move;
begin
  select * into move from tenant_move where tenant = moving;
  if move.phase in ('LEFT', 'REMOVED') or (move.phase = 'STOPPED' and move.stopped_until > clock_timestamp()) then
    return false;
  end if;
  perform pg_advisory_xact_lock_shared(72307, moving);
  -- It may have been stopped before the lock was held.
  select * into move from tenant_move where tenant = moving;
  if move.phase in ('LEFT', 'REMOVED') or (move.phase = 'STOPPED' and move.stopped_until > clock_timestamp()) then
    return false;
  end if;
  if move.phase in ('LEAVING', 'STOPPED') then
    insert into moved_row (tenant, table_name, key) select moving, changed_table, key from unnest(changed_keys) key;
  end if;
  return true;
end
$$;
do $$
begin
  execute format('alter function note_moved_row(integer, text, jsonb[]) set search_path = pg_catalog, %I, pg_temp', current_schema());
end
$$;

-- The arguments: the tenant, the table (triggers run for its partitions), and the columns of the rest of the primary key.
create function watch_moved_row() returns trigger language plpgsql as $$
declare
  keys jsonb[];
begin
  if current_setting('app.moves_tenant', true) is distinct from 'on' then
    if tg_op <> 'INSERT' then
      keys := array[(select coalesce(jsonb_object_agg(name, to_jsonb(old) -> name), '{}') from unnest(tg_argv[2:]) name)];
    end if;
    if tg_op <> 'DELETE' then
      keys := array_append(keys, (select coalesce(jsonb_object_agg(name, to_jsonb(new) -> name), '{}') from unnest(tg_argv[2:]) name));
    end if;
    if not note_moved_row(tg_argv[0]::integer, tg_argv[1], keys) then
      if tg_argv[1] = 'tenant' or current_setting('app.tenant_id', true) = tg_argv[0] then
        raise exception 'the tenant % moves to another database', tg_argv[0] using errcode = 'MV001';
      end if;
      -- Statements for the jobs and deliveries of all tenants go on with the others.
      return null;
    end if;
  end if;
  if tg_op = 'DELETE' then
    return old;
  end if;
  return new;
end
$$;

do $$
declare
  entity_table regclass;
  is_protected boolean;
begin
  for entity_table, is_protected in select pg_class.oid, relrowsecurity from pg_class join pg_attribute on attrelid = pg_class.oid and attname = 'metadata'
    where relnamespace = current_schema()::regnamespace and relkind = 'r' and relname <> 'entity_columns' loop
    -- What is only inserted is protected otherwise.
    if not is_protected then
      call protect_entity_table(entity_table);
    end if;
    execute format('create index %I on %s using gin (tenant_id, metadata jsonb_path_ops) where metadata <> ''{}''',
      entity_table || '_metadata_index', entity_table);
  end loop;
end
$$;

-- Copied keys are named after their columns, and other copied constraints after the table that they are copied from.
do $$
declare
  copied record;
begin
  for copied in select conrelid::regclass as to_table, conname, contype, from_table from pg_constraint
    left join unnest(array['entity_columns', 'code_columns', 'approval_columns', 'document_columns', 'line_columns']) from_table
      on starts_with(conname, from_table || '_') and conrelid <> from_table::regclass
    where from_table is not null or contype = 'u' and conname like '%\_tenant\_id\_system\_ref\_key' and conrelid <> 'entity_columns'::regclass loop
    execute format('alter table %s rename constraint %I to %I', copied.to_table, copied.conname,
      case when copied.from_table is null then copied.to_table || '_system_ref_unique'
        else replace(copied.conname, copied.from_table, copied.to_table::text) end);
  end loop;
end
$$;
drop table entity_columns, code_columns, approval_columns, document_columns, line_columns;
drop procedure index_orders, index_columns, add_references, refuse_merged, check_at_commit, add_trigger;
