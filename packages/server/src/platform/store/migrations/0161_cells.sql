-- The directory: which database has which tenant. The database of the directory has tenants itself, and is number 0.
-- locks: share row exclusive on tenant

-- Other databases. IDs of their tenants start at their number times ten million.
create table cell (
  number integer primary key,
  name text collate "C" not null,
  -- Encrypted with the master key, because it contains a password.
  url_encrypted bytea not null,
  added_at timestamptz(3) not null default now(),
  constraint cell_name_unique unique (name),
  constraint cell_name_pattern check (name ~ '^[a-z][a-z0-9_-]{0,62}$'),
  constraint cell_number_range check (number between 1 and 200)
);

-- The number of the database that has the tenant. A name is placed before the tenant exists in another database, so it is used once.
create table tenant_place (
  name text collate "C" primary key,
  cell integer not null
);
create function place_tenant() returns trigger language plpgsql as $$
begin
  insert into tenant_place (name, cell) values (new.name, 0);
  return null;
end
$$;
create trigger tenant_placed after insert on tenant for each row execute function place_tenant();
insert into tenant_place (name, cell) select name, 0 from tenant;
