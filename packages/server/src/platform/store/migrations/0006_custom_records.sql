-- Record types that a tenant defines itself, and their rows.

create table custom_record_type (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  name text collate "C" not null,
  display_name text collate "C",
  description text collate "C",
  fields jsonb not null,
  primary key (tenant_id, id),
  constraint custom_record_type_system_ref_unique unique (tenant_id, system_ref),
  -- For foreign keys of rows. The index below is stricter: callers get its violations.
  constraint custom_record_type_name_exact_unique unique (tenant_id, name),
  constraint custom_record_type_name_pattern check (name ~ '^[A-Z][A-Za-z0-9]{1,62}$'),
  constraint custom_record_type_fields_list check (jsonb_typeof(fields) = 'array')
);
call protect_entity_table('custom_record_type');
create unique index custom_record_type_name_unique on custom_record_type (tenant_id, lower(name));

create table custom_record (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  type text collate "C" not null,
  attributes jsonb not null,
  primary key (tenant_id, id),
  constraint custom_record_system_ref_unique unique (tenant_id, type, system_ref),
  constraint custom_record_type_reference foreign key (tenant_id, type) references custom_record_type (tenant_id, name),
  constraint custom_record_attributes_object check (jsonb_typeof(attributes) = 'object')
);
call protect_entity_table('custom_record');
create index custom_record_type_index on custom_record (tenant_id, type, id);
