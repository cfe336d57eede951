-- Baseline: functions and collations that all tables use, and the tables that belong to no tenant. The other files of this folder follow in
-- the order of their names, a subject each. They create the schema of an empty database in one transaction.
--
-- Rules that hold for every table of a tenant:
-- * `tenant_id` leads the primary key, every unique key, every foreign key and every index, so no row of one tenant is
--   read on the way to another's, and no reference can leave the tenant. It has no foreign key to `tenant` itself: every
--   insert would lock the one row of its tenant, and row-level security already ties the column to the bound tenant.
-- * Text sorts by code point (`collate "C"`), so PGlite and PostgreSQL sort in the same order, whatever the locale of the database.
-- * Names of constraints say what they guard, because a violation is mapped to a field by that name:
--   `<table>_<columns>_unique`, `<table>_<column>_reference`, `<table>_<column>_enum`.
-- * Row-level security also applies to the owner of the tables. A migration that rewrites rows of a tenant table, or adds a
--   reference from or to one (which queries the rows), lifts it temporarily:
--   `call lift_protection('a', 'b')` … `call restore_protection('a', 'b')`.

-- Functions name tables of later files.
set local check_function_bodies = off;
-- References that are added to a table later are checked by a query, which needs a tenant. There are no rows yet.
set local app.tenant_id = '0';

create extension if not exists pg_trgm;
create extension if not exists btree_gin;
create extension if not exists btree_gist;

-- Upper and lower case of every script, whatever the locale of the database. Case-insensitive searches compare `lower(… collate fa_case) collate "C"`, and their trigram indexes are on the same expression.
do $$
begin
  if current_setting('server_version_num')::integer >= 170000 then
    create collation fa_case (provider = builtin, locale = 'C.UTF-8');
  else
    create collation fa_case (provider = icu, locale = 'und');
  end if;
end
$$;

-- Texts as _search compares them: by the folding of Unicode, without case and accents. By parts of PostgreSQL itself, so that it needs no
-- extension, is the same on both engines, and can be inlined: PostgreSQL uses an index under row-level security only for functions that are
-- declared leakproof (platform/store/leakproof.ts). Upper case first, because ς and σ have the same. The marks are those of Latin, Greek,
-- Cyrillic, Hebrew and Arabic; in other scripts they are letters.
create function search_text(value text) returns text
  language sql immutable parallel safe
  return regexp_replace(
    normalize(
      translate(
        replace(replace(replace(lower(upper(value collate fa_case) collate fa_case) collate "C", 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'),
        'øłđħŧı', 'oldhti'),
      nfkd) collate "C",
    U&'[\0300-\036F\0591-\05C7\064B-\065F\0670\1AB0-\1AFF\1DC0-\1DFF\20D0-\20FF\FE20-\FE2F]', '', 'g') collate "C";

-- A setting that is missing or empty is an error, not "no rows": a query without a tenant is a defect and must fail.
create procedure protect_tenant_table(tenant_table regclass, privileges text) language plpgsql as $$
begin
  execute format('alter table %s enable row level security', tenant_table);
  execute format('alter table %s force row level security', tenant_table);
  execute format(
    'create policy tenant_isolation on %s
       using (tenant_id = current_setting(''app.tenant_id'')::integer)
       with check (tenant_id = current_setting(''app.tenant_id'')::integer)',
    tenant_table);
  execute format('grant %s on %s to financial_automation_service', privileges, tenant_table);
end
$$;

-- An entity is never deleted, only deactivated. The index is for searches of what has changed since an instant.
create procedure protect_entity_table(entity_table regclass) language plpgsql as $$
begin
  call protect_tenant_table(entity_table, 'select, insert, update');
  execute format('create index %I on %s (tenant_id, updated_at, id)', entity_table || '_updated_at_index', entity_table);
end
$$;

-- Columns by which callers sort a large table, with their direction. The ID makes each order unique. The last file drops it.
create procedure index_orders(tenant_table regclass, variadic orders text[]) language plpgsql as $$
declare
  sorted text;
begin
  foreach sorted in array orders loop
    execute format('create index %I on %s (tenant_id, %s, id)',
      format('%s_%s_index', tenant_table, replace(replace(sorted, ' desc nulls last', '_nulls_last'), ' desc', '_desc')), tenant_table, sorted);
  end loop;
end
$$;

-- Indexes by one column. The last file drops this and what follows up to `refuse_merged`.
create procedure index_columns(tenant_table regclass, variadic columns text[]) language plpgsql as $$
declare
  indexed text;
begin
  foreach indexed in array columns loop
    execute format('create index %I on %s (tenant_id, %I)', format('%s_%s_index', tenant_table, indexed), tenant_table, indexed);
  end loop;
end
$$;

-- References to rows of the tenant: `client_id`, `head_id: staff` if the table has another name than the column, and `head_id: staff deferred` if
-- the reference is checked when a transaction commits.
create procedure add_references(tenant_table regclass, variadic listed text[]) language plpgsql as $$
declare
  reference text;
  part text[];
begin
  foreach reference in array listed loop
    part := regexp_match(reference, '^(\w+)(?:: (\w+))?( deferred)?$');
    execute format('alter table %s add constraint %I foreign key (tenant_id, %I) references %I (tenant_id, id) %s',
      tenant_table, format('%s_%s_reference', tenant_table, part[1]), part[1], coalesce(part[2], regexp_replace(part[1], '_id$', '')),
      case when part[3] is not null then 'deferrable initially deferred' end);
  end loop;
end
$$;

-- A trigger that derives or checks rows. It does nothing while a tenant is copied.
create procedure add_trigger(name text, called_for text, called text, condition text default 'true', kind text default '') language plpgsql as $$
begin
  execute format('create %s trigger %I %s when (%s current_setting(''app.copies_rows'', true) is distinct from ''on'') execute function %s',
    kind, name, called_for, case when condition <> 'true' then format('(%s) and', condition) end, called);
end
$$;

-- A check of each row when its transaction commits.
create procedure check_at_commit(name text, called_after text, called text, condition text default 'true') language plpgsql as $$
begin
  call add_trigger(name, called_after || ' deferrable initially deferred for each row', called, condition, 'constraint');
end
$$;

-- No row refers to a client that was merged into another one.
create procedure refuse_merged(tenant_table regclass, reference text, condition text default 'true') language plpgsql as $$
begin
  call add_trigger(format('%s_%s_present', tenant_table, reference), format('after insert or update of %I on %s for each row', reference, tenant_table),
    format('refuse_merged_client(%L)', reference), condition);
end
$$;

-- Whoever owns the tables works on the rows of all tenants in this one: it relays, schedules and recovers for all of them.
create procedure admit_owner(tenant_table regclass) language plpgsql as $$
begin
  execute format('create policy %I on %s to %I using (true) with check (true)', tenant_table || '_owner', tenant_table, current_user);
end
$$;

create procedure lift_protection(variadic tenant_tables regclass[]) language plpgsql as $$
declare
  tenant_table regclass;
begin
  foreach tenant_table in array tenant_tables loop
    execute format('alter table %s no force row level security', tenant_table);
  end loop;
end
$$;

create procedure restore_protection(variadic tenant_tables regclass[]) language plpgsql as $$
declare
  tenant_table regclass;
begin
  foreach tenant_table in array tenant_tables loop
    execute format('alter table %s force row level security', tenant_table);
  end loop;
end
$$;

-- Rows of a copy that is not needed any more are removed; those of a tenant never.
create function refuse_change() returns trigger language plpgsql as $$
begin
  if current_setting('app.moves_tenant', true) = 'on' and current_user <> 'financial_automation_service'
    and tg_table_name <> 'operator_log' then
    if tg_op = 'DELETE' then
      return old;
    end if;
    return new;
  end if;
  raise exception 'rows of % are never changed or removed', tg_table_name using errcode = 'insufficient_privilege';
end
$$;

-- Rows that are only inserted: the one change is that of a merge. A closed period keeps its entries and their days.
create function refuse_change_but_merge() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and to_jsonb(new) - 'client_id' = to_jsonb(old) - 'client_id'
    and new.client_id = (select k.merged_into_id from client k where k.tenant_id = old.tenant_id and k.id = old.client_id) then
    return new;
  end if;
  if current_setting('app.moves_tenant', true) = 'on' and current_user <> 'financial_automation_service' then
    if tg_op = 'DELETE' then
      return old;
    end if;
    return new;
  end if;
  raise exception 'rows of % are never changed or removed', tg_table_name using errcode = 'insufficient_privilege';
end
$$;

-- Searches filter revisions of drafts by the approval of the draft, which is part of the snapshot. The text is always an instant in UTC,
-- so its value depends on no setting.
create function stored_instant(written text) returns timestamptz language sql immutable strict parallel safe
  return written::timestamptz;

-- The largest amount that a column of a sum gets. It is beyond the bound of each, so that a constraint rejects it and names the column:
-- a larger amount would exceed the type of the column, with an error that names nothing.
create function limited(amount numeric) returns numeric language sql immutable parallel safe
return least(greatest(amount, -1e13), 1e13);

-- Amounts have the minor units of their currency: the decimals of ISO 4217, at most two. A test compares these with the list that the
-- service uses.
create function minor_units(currency text) returns integer language sql immutable parallel safe
  return case when currency in (
    'BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX', 'UYI', 'VND', 'VUV', 'XAF', 'XAG',
    'XAU', 'XBA', 'XBB', 'XBC', 'XBD', 'XDR', 'XOF', 'XPD', 'XPF', 'XPT', 'XSU', 'XTS', 'XUA', 'XXX')
  then 0 else 2 end;

-- IDs begin with the milliseconds of their creation (UUID version 7), so the IDs of a month are a range.
create function first_id_at(instant timestamptz) returns uuid language sql immutable parallel safe as $$
  select (lpad(to_hex(floor(extract(epoch from instant) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

create function instant_of_id(id uuid) returns timestamptz language sql immutable parallel safe as $$
  select to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
$$;

create table tenant (
  id integer generated always as identity,
  name text collate "C" not null,
  display_name text collate "C" not null,
  currency text collate "C" not null default 'USD',
  time_zone text collate "C" not null,
  settings jsonb not null default '{}',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  -- A sandbox has a clock of its own, ahead of the real one. Each connection carries the difference of its tenant
  -- (`app.clock_offset`, in milliseconds; empty for tenants without such a clock), set together with the tenant.
  is_sandbox boolean not null default false,
  -- At most a hundred years, so that no day on the way has a year of more than four digits.
  clock_offset bigint not null default 0,
  -- While the clock is advanced, no other call advances it, and background tasks of the tenant wait.
  clock_leased_by uuid,
  clock_leased_until timestamptz(3),
  -- A tenant that leaves is closed, exported, and deleted after some days.
  closed_at timestamptz(3),
  delete_after timestamptz(3),
  constraint tenant_name_pattern check (name ~ '^[a-z][a-z0-9_]{1,62}$'),
  primary key (id),
  constraint tenant_name_unique unique (name),
  constraint tenant_clock_offset_range check (clock_offset between 0 and 36525 * 86400000::bigint),
  constraint tenant_clock_offset_agrees check (is_sandbox or clock_offset = 0),
  constraint tenant_clock_leased_by_agrees check ((clock_leased_by is null) = (clock_leased_until is null))
);

-- The number of the database that has the tenant. A name is placed before the tenant exists in another database, so it is used once.
create table tenant_place (
  name text collate "C" not null,
  cell integer not null,
  -- The ID of a tenant that has moved does not say its database any more. Null for all others.
  tenant integer,
  -- Number of the database that a tenant is moving to.
  moves_to integer,
  -- The name of a tenant that had this one before.
  renamed_to text collate "C",
  primary key (name)
);

-- Other databases. IDs of their tenants start at their number times ten million.
create table cell (
  number integer not null,
  name text collate "C" not null,
  -- Encrypted with the master key, because it contains a password.
  url_encrypted bytea not null,
  added_at timestamptz(3) not null default now(),
  constraint cell_name_pattern check (name ~ '^[a-z][a-z0-9_-]{0,62}$'),
  constraint cell_number_range check (number between 1 and 200),
  primary key (number),
  constraint cell_name_unique unique (name)
);

-- Settings that must be the same in all processes. Those of a process that starts are compared with them.
create table shared_setting (
  name text collate "C" not null primary key,
  value text collate "C" not null
);

-- An installation recognizes a copy of its database: the server, the database in it or its timeline is another one.
create table installation (
  id uuid not null default gen_random_uuid() primary key,
  -- Of the database that the installation has adopted.
  database text collate "C" not null,
  adopted_at timestamptz(3) not null default now()
);
create unique index installation_single on installation ((true));

-- A dump is restored into another database, a base backup starts a timeline, as does the promotion of a standby.
create function present_database() returns text language sql stable as $$
  select format('%s/%s/%s', (select system_identifier from pg_control_system()),
    (select oid from pg_database where datname = current_database()), (select timeline_id from pg_control_checkpoint()))
$$;

create table signing_key (
  kid text collate "C" not null,
  algorithm text collate "C" not null,
  public_jwk jsonb not null,
  -- Encrypted with the master key, which the database never sees.
  private_jwk_encrypted bytea not null,
  created_at timestamptz(3) not null default now(),
  retired_at timestamptz(3),
  primary key (kid)
);

-- Commands of operators that belong to no tenant: signing keys, new tenants. Requests have no rights on it.
create table operator_log (
  id uuid not null,
  occurred_at timestamptz(3) not null default now(),
  operation text collate "C" not null,
  subject text collate "C" not null,
  details jsonb,
  primary key (id)
);

-- Numbers that people read: the last one that was assigned, by column (`client.client_ref`). Gaps are allowed here; invoice
-- numbers, which may have none, have a counter of their own.
create table tenant_counter (
  tenant_id integer not null,
  name text collate "C" not null,
  value integer not null,
  primary key (tenant_id, name)
);
call protect_tenant_table('tenant_counter', 'select, insert, update');

-- The keys of rows in other systems. They are unique, which the database cannot check in the list `sys_refs` of a row.
create table entity_ref (
  tenant_id integer not null,
  entity_type text collate "C" not null,
  system text collate "C" not null,
  ref text collate "C" not null,
  entity_id uuid not null,
  constraint entity_ref_entity_type_system_ref_unique primary key (tenant_id, entity_type, system, ref)
);
call protect_tenant_table('entity_ref', 'select, insert, update, delete');
create index entity_ref_entity_id_index on entity_ref (tenant_id, entity_type, entity_id);

-- The tenant's calendar in SQL. Each connection has the time zone of its tenant (`app.time_zone`), set together with the
-- tenant. Both functions are inlined into the statement that calls them. Without a tenant they fail, as tenant tables do.
create function tenant_day(instant timestamptz) returns date
  language sql stable parallel safe
  return (instant at time zone current_setting('app.time_zone'))::date;

-- The time of the transaction's start, by the clock of the tenant.
create function tenant_now() returns timestamptz
  language sql stable parallel safe
  return now() + coalesce(nullif(current_setting('app.clock_offset', true), '')::bigint, 0) * interval '1 millisecond';

-- What every table of an entity begins with. The last file names the keys after their tables, protects these, indexes their metadata, and
-- drops this one.
create table entity_columns (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  -- Values of the integrators' own.
  metadata jsonb not null default '{}',
  active boolean not null default true,
  created_at timestamptz(3) not null default tenant_now(),
  updated_at timestamptz(3) not null default tenant_now(),
  version integer not null default 1,
  primary key (tenant_id, id),
  unique (tenant_id, system_ref)
);

-- The day of the transaction's start, in the tenant's time zone: the same in every statement of a transaction.
create function today() returns date
  language sql stable parallel safe
  return tenant_day(tenant_now());

-- Requests cannot read `tenant`. Binding a connection requires its time zone.
create function tenant_time_zone(tenant_id integer) returns text
  language sql stable security definer
  return (select time_zone from tenant where id = tenant_time_zone.tenant_id);

-- Requests cannot read `tenant`. Null for a tenant without a clock of its own.
create function tenant_clock_offset(tenant_id integer) returns bigint
  language sql stable security definer
  return (select clock_offset from tenant where id = tenant_clock_offset.tenant_id and is_sandbox);

-- The present time, by the clock of the tenant.
create function tenant_clock_timestamp() returns timestamptz
  language sql volatile parallel safe
  return clock_timestamp() + coalesce(nullif(current_setting('app.clock_offset', true), '')::bigint, 0) * interval '1 millisecond';

-- The name of a tenant that arrives is known to the directory already.
create function place_tenant() returns trigger language plpgsql as $$
begin
  if current_setting('app.moves_tenant', true) = 'on' then
    insert into tenant_place (name, cell) values (new.name, 0) on conflict (name) do nothing;
  else
    insert into tenant_place (name, cell) values (new.name, 0);
  end if;
  return null;
end
$$;

-- What a reference from every table to its tenant would do, without a lock on the row of the tenant and a look-up for each row that is written:
-- those who remove the tenant look in all tables, also in those of later migrations.
create function tenant_is_empty() returns trigger language plpgsql as $$
declare
  tenant_table regclass;
  has_rows boolean;
begin
  perform set_config('app.tenant_id', old.id::text, true);
  for tenant_table in
    select c.oid from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  loop
    execute format('select exists (select from %s where tenant_id = $1)', tenant_table) into has_rows using old.id;
    if has_rows then
      raise exception 'the tenant % has rows in %', old.id, tenant_table
        using errcode = 'foreign_key_violation', table = tenant_table::text, constraint = 'tenant_is_empty';
    end if;
  end loop;
  return old;
end
$$;

-- Prepares a table to become a partition. Requests reach it through its parent alone; whoever else does is held to the same rules. Its rows can
-- be changed where those of its parent can.
create procedure add_partition(parent regclass, partition text, bounds text) language plpgsql as $$
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

-- The ID at which the first partition begins that has a range; null if it has no lower bound. The default partition has all rows before it.
create function first_partition_begins(parent regclass) returns uuid language sql stable as $$
  select case when bool_and(bounds like 'FOR VALUES FROM (''%') then min(substring(bounds from 'FROM \(''([0-9a-f-]{36})''\)') collate "C")::uuid end
  from (select pg_get_expr(relpartbound, oid) as bounds from pg_class join pg_inherits on inhrelid = oid where inhparent = parent) partition
  where bounds <> 'DEFAULT'
$$;

create trigger operator_log_append_only
  before delete or update or truncate on operator_log for each statement
  execute function refuse_change();

create trigger tenant_placed
  after insert on tenant for each row execute function place_tenant();

create trigger tenant_is_empty before delete on tenant for each row execute function tenant_is_empty();
-- Also for those who leave out the checks of references.
alter table tenant enable always trigger tenant_is_empty;
