-- Requests of the last day, of all processes, so that the ID of a response leads to what happened.
-- locks: none

create table recent_request (
  tenant_id integer not null,
  id uuid not null,
  received_at timestamptz(3) not null,
  operation text collate "C" not null,
  method text collate "C" not null,
  path text collate "C" not null,
  status integer not null,
  milliseconds numeric(12,1) not null,
  user_name text collate "C" not null,
  -- The process that responded: its machine and its number there.
  process text collate "C" not null,
  problem jsonb,
  primary key (tenant_id, id)
);
call protect_tenant_table('recent_request', 'select, insert');
call admit_owner('recent_request');
