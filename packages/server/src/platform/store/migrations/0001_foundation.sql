-- Functions and collations that all later tables use, and the tables that belong to no tenant.
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

create extension if not exists pg_trgm;
create extension if not exists btree_gin;

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

-- An entity is never deleted, only deactivated. The index is for searches of what has changed since an instant.
create procedure protect_entity_table(entity_table regclass) language plpgsql as $$
begin
  call protect_tenant_table(entity_table, 'select, insert, update');
  execute format('create index %I on %s (tenant_id, updated_at, id)', entity_table || '_updated_at_index', entity_table);
end
$$;

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'rows of % are never changed or removed', tg_table_name using errcode = 'insufficient_privilege';
end
$$;

create table tenant (
  id integer generated always as identity primary key,
  name text collate "C" not null,
  display_name text collate "C" not null,
  currency text collate "C" not null default 'USD',
  time_zone text collate "C" not null,
  settings jsonb not null default '{}',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  constraint tenant_name_unique unique (name),
  constraint tenant_name_pattern check (name ~ '^[a-z][a-z0-9_]{1,62}$')
);

create table signing_key (
  kid text collate "C" primary key,
  algorithm text collate "C" not null,
  public_jwk jsonb not null,
  -- Encrypted with the master key, which the database never sees.
  private_jwk_encrypted bytea not null,
  created_at timestamptz(3) not null default now(),
  retired_at timestamptz(3)
);
