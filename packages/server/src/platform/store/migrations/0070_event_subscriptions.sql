-- Subscriptions to events, and the secrets that sign events.

create table event_subscription (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  delivery_url text collate "C" not null,
  entity_type text collate "C" not null,
  operations text[] not null,
  filter_expression text collate "C",
  description text collate "C",
  created_by_api_user_id uuid not null,
  deactivated_at timestamptz(3),
  -- Earlier events are not sent to this subscription. The time is that of the database, which all processes share.
  active_since timestamptz(3) not null default clock_timestamp(),
  primary key (tenant_id, id),
  constraint event_subscription_system_ref_unique unique (tenant_id, system_ref),
  constraint event_subscription_created_by_api_user_id_reference
    foreign key (tenant_id, created_by_api_user_id) references api_user (tenant_id, id),
  constraint event_subscription_operations_enum check (operations <@ array['CREATE', 'UPDATE', 'DELETE']),
  constraint event_subscription_operations_present check (cardinality(operations) > 0),
  constraint event_subscription_deactivated_at_agrees check (active = (deactivated_at is null))
);
call protect_entity_table('event_subscription');
create index event_subscription_entity_type_index on event_subscription (tenant_id, entity_type) where active;

-- The newest secret signs, and earlier ones in addition until they expire.
create table webhook_secret (
  tenant_id integer not null,
  id uuid not null,
  -- Encrypted with the master key, which the database never sees.
  secret_encrypted bytea not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3),
  primary key (tenant_id, id)
);
call protect_tenant_table('webhook_secret', 'select, insert, update, delete');
create unique index webhook_secret_current_unique on webhook_secret (tenant_id) where expires_at is null;
