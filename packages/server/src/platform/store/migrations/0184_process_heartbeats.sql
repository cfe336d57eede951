-- Processes that serve, and the tenants of which each has several requests at a time: the bound of a tenant is divided among them. A
-- crash of the server may lose them.
-- locks: none

create unlogged table process_heartbeat (
  process uuid primary key,
  busy_tenants text[] not null,
  seen_at timestamptz(3) not null
) with (fillfactor = 50);
