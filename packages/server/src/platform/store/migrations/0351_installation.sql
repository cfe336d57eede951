-- An installation recognizes a copy of its database: the server, the database in it or its timeline is another one.
-- locks: none

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
