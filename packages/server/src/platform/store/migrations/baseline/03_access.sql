create table api_user (
  tenant_id integer not null,
  id uuid not null,
  name text collate "C" not null,
  roles text[] not null default '{}',
  staff_id uuid,
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  -- Who the person is at the identity provider at which people sign in to the console.
  identity text collate "C",
  primary key (tenant_id, id),
  constraint api_user_name_unique unique (tenant_id, name)
);
call add_references('api_user', 'staff_id');
call protect_tenant_table('api_user', 'select, insert, update');
create unique index api_user_identity_unique on api_user (tenant_id, identity);

create table api_key (
  tenant_id integer not null,
  id uuid not null,
  api_user_id uuid not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  description text collate "C",
  -- Retiring a signing key ends the API keys that it signed, so the log says which.
  signing_kid text collate "C",
  constraint api_key_expires_at_order check (expires_at > created_at),
  primary key (tenant_id, id)
);
call add_references('api_key', 'api_user_id');
call protect_tenant_table('api_key', 'select, insert, update');
create index api_key_api_user_id_index on api_key (tenant_id, api_user_id, id);

-- Requests with an idempotency key: the request while it runs, and then its response, as it was sent. Rejected ones are not kept.
create table idempotency_key (
  tenant_id integer not null,
  api_user_id uuid not null,
  operation text collate "C" not null,
  key text collate "C" not null,
  request_hash text collate "C" not null,
  status text collate "C" not null default 'RUNNING',
  response_status integer,
  response_headers json,
  response_body json,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  constraint idempotency_key_status_enum check (status in ('RUNNING', 'DONE')),
  constraint idempotency_key_response_status_agrees check ((status = 'DONE') = (response_status is not null)),
  constraint idempotency_key_api_user_id_key_unique primary key (tenant_id, api_user_id, key)
);
call add_references('idempotency_key', 'api_user_id');
call protect_tenant_table('idempotency_key', 'select, insert, update, delete');
call index_columns('idempotency_key', 'expires_at');

-- Sessions of the console that somebody ended by signing out. A cookie that was copied before is of no use after it.
create table ended_session (
  tenant_id integer not null,
  id text collate "C" not null,
  -- When the session would have ended by itself: the row can be removed then.
  expires_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
call protect_tenant_table('ended_session', 'select, insert, delete');

-- Requests of the last day, of all processes, so that the ID of a response leads to what happened.
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

create unlogged table request_count (
  key text collate "C" not null,
  points integer not null default 0,
  -- The end of the window, in milliseconds since 1970.
  expire bigint,
  primary key (key)
) with (fillfactor = 50);

-- Append-only, for the owner of the table as well. No foreign keys: one would lock the row of the API
-- user in each of that user's transactions.
create table audit_log (
  tenant_id integer not null,
  id uuid not null,
  occurred_at timestamptz(3) not null default tenant_now(),
  api_user_id uuid,
  actor text collate "C" not null,
  operation text collate "C" not null,
  request_id text collate "C",
  entity_type text collate "C" not null,
  entity_id uuid not null,
  before jsonb,
  after jsonb,
  primary key (tenant_id, id)
) partition by range (id);
call protect_tenant_table('audit_log', 'select, insert');
create index audit_log_entity_index on audit_log (tenant_id, entity_type, entity_id, id);

create trigger audit_log_append_only
  before delete or update or truncate on audit_log for each statement
  execute function refuse_change();

-- A partition for each month of its IDs, so that old rows are dropped with their table, and not one by one. The first takes what is older, the
-- other one what has no month: a write must never fail for the want of one.
do $$
begin
  call add_partition('audit_log', 'audit_log_first', format('for values from (minvalue) to (%L)', first_id_at(date_trunc('month', now() at time zone 'UTC') at time zone 'UTC')));
  call add_partition('audit_log', 'audit_log_other', 'default');
  perform add_months('audit_log', now() + interval '3 months');
end
$$;
