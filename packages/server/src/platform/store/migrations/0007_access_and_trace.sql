-- API users and keys, idempotency keys, the audit log, and the outbox of events.

create table api_user (
  tenant_id integer not null,
  id uuid not null,
  name text collate "C" not null,
  roles text[] not null default '{}',
  staff_id uuid,
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, id),
  constraint api_user_name_unique unique (tenant_id, name),
  constraint api_user_staff_id_reference foreign key (tenant_id, staff_id) references staff (tenant_id, id)
);
call protect_tenant_table('api_user', 'select, insert, update');

create table api_key (
  tenant_id integer not null,
  id uuid not null,
  api_user_id uuid not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  description text collate "C",
  primary key (tenant_id, id),
  constraint api_key_api_user_id_reference foreign key (tenant_id, api_user_id) references api_user (tenant_id, id),
  constraint api_key_expires_at_order check (expires_at > created_at)
);
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
  constraint idempotency_key_api_user_id_operation_key_unique primary key (tenant_id, api_user_id, operation, key),
  constraint idempotency_key_api_user_id_reference
    foreign key (tenant_id, api_user_id) references api_user (tenant_id, id),
  constraint idempotency_key_status_enum check (status in ('RUNNING', 'DONE')),
  constraint idempotency_key_response_status_agrees check ((status = 'DONE') = (response_status is not null))
);
call protect_tenant_table('idempotency_key', 'select, insert, update, delete');
create index idempotency_key_expires_at_index on idempotency_key (tenant_id, expires_at);

-- Append-only, for the owner of the table as well. No foreign keys: one would lock the row of the API
-- user in each of that user's transactions.
create table audit_log (
  tenant_id integer not null,
  id uuid not null,
  occurred_at timestamptz(3) not null default now(),
  api_user_id uuid,
  actor text collate "C" not null,
  operation text collate "C" not null,
  request_id text collate "C",
  entity_type text collate "C" not null,
  entity_id uuid not null,
  before jsonb,
  after jsonb,
  primary key (tenant_id, id)
);
call protect_tenant_table('audit_log', 'select, insert');
create index audit_log_entity_index on audit_log (tenant_id, entity_type, entity_id, id);
create trigger audit_log_append_only before update or delete or truncate on audit_log
  for each statement execute function refuse_change();

create table outbox_event (
  tenant_id integer not null,
  id uuid not null,
  entity_type text collate "C" not null,
  entity_id uuid not null,
  operation text collate "C" not null,
  sequence bigint not null,
  occurred_at timestamptz(3) not null default now(),
  data jsonb not null,
  changed_fields text[],
  request_id text collate "C",
  dispatched_at timestamptz(3),
  primary key (tenant_id, id),
  constraint outbox_event_entity_type_entity_id_sequence_unique unique (tenant_id, entity_type, entity_id, sequence),
  constraint outbox_event_operation_enum check (operation in ('CREATE', 'UPDATE', 'DELETE'))
);
call protect_tenant_table('outbox_event', 'select, insert, update (dispatched_at)');
create index outbox_event_waiting_index on outbox_event (tenant_id, id) where dispatched_at is null;

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
