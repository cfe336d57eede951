create table file (
  like entity_columns including defaults including indexes,
  status text collate "C" not null default 'PENDING',
  file_name text collate "C" not null,
  source text collate "C" not null,
  mime_type text collate "C" not null,
  size_bytes bigint not null,
  sha256 text collate "C",
  client_id uuid,
  job_id uuid,
  engagement_id uuid,
  uploaded_by_type text collate "C" not null,
  -- A staff member or a contact.
  uploaded_by_id uuid,
  folder_path text collate "C",
  tax_year integer,
  constraint file_status_enum check (status in ('PENDING', 'SCANNING', 'AVAILABLE', 'REJECTED', 'ARCHIVED', 'DELETED')),
  constraint file_source_enum check (source in ('CLIENT_REQUEST', 'DELIVERABLE', 'REFERENCE_FILE', 'DMS_DIRECT_UPLOAD')),
  constraint file_uploaded_by_type_enum check (uploaded_by_type in ('STAFF', 'CONTACT', 'SYSTEM')),
  constraint file_uploaded_by_id_agrees check ((uploaded_by_type = 'SYSTEM') = (uploaded_by_id is null)),
  constraint file_size_bytes_range check (size_bytes between 0 and 9007199254740991),
  constraint file_sha256_pattern check (sha256 ~ '^[0-9a-f]{64}$'),
  constraint file_sha256_agrees check (sha256 is not null or status not in ('AVAILABLE', 'ARCHIVED')),
  constraint file_active_agrees check (active = (status <> 'DELETED'))
);
call add_references('file', 'client_id', 'job_id', 'engagement_id');
create index file_client_id_index on file (tenant_id, client_id, id) where (client_id is not null);
create index file_job_id_index on file (tenant_id, job_id, id) where (job_id is not null);
create index file_engagement_id_index on file (tenant_id, engagement_id, id) where (engagement_id is not null);
call index_orders('file', 'status', 'source', 'created_at');
create index file_names_index on file using gin (tenant_id, lower((file_name collate fa_case)) collate "C" gin_trgm_ops);
call refuse_merged('file', 'client_id', 'new.client_id is not null');
call add_references('engagement_document', 'file_id');
call add_references('expense_entry', 'receipt_file_id: file');
call add_references('invoice', 'pdf_file_id: file');

create table custom_record_type (
  like entity_columns including defaults including indexes,
  name text collate "C" not null,
  display_name text collate "C",
  description text collate "C",
  fields jsonb not null,
  constraint custom_record_type_name_pattern check (name ~ '^[A-Z][A-Za-z0-9]{1,62}$'),
  constraint custom_record_type_fields_list check (jsonb_typeof(fields) = 'array'),
  -- For foreign keys of rows. The index below is stricter: callers get its violations.
  constraint custom_record_type_name_exact_unique unique (tenant_id, name)
);
create unique index custom_record_type_name_unique on custom_record_type (tenant_id, lower(name));

create table custom_record (
  like entity_columns including defaults,
  type text collate "C" not null,
  attributes jsonb not null,
  constraint custom_record_attributes_object check (jsonb_typeof(attributes) = 'object'),
  primary key (tenant_id, id),
  constraint custom_record_system_ref_unique unique (tenant_id, type, system_ref),
  constraint custom_record_type_reference foreign key (tenant_id, type) references custom_record_type (tenant_id, name)
);
create index custom_record_type_index on custom_record (tenant_id, type, id);

-- The values of fields that a custom type declares unique. The database keeps them unique by this key, which it could not
-- for values inside the JSON of a row. Only active records have rows here. A value can be longer than a key, so
-- its digest is stored.
create table custom_record_value (
  tenant_id integer not null,
  type text collate "C" not null,
  field text collate "C" not null,
  digest text collate "C" not null,
  record_id uuid not null,
  constraint custom_record_value_type_field_digest_unique primary key (tenant_id, type, field, digest)
);
call add_references('custom_record_value', 'record_id: custom_record');
call protect_tenant_table('custom_record_value', 'select, insert, delete');
call index_columns('custom_record_value', 'record_id');

-- Records that are written in the background, many in one request.
create table record_batch (
  tenant_id integer not null,
  id uuid not null,
  total integer not null,
  created integer not null default 0,
  updated integer not null default 0,
  unchanged integer not null default 0,
  failed integer not null default 0,
  -- The first of them.
  failures jsonb not null default '[]',
  result_file_id uuid,
  created_by_api_user_id uuid not null,
  created_at timestamptz(3) not null default tenant_now(),
  finished_at timestamptz(3),
  constraint record_batch_total_range check (created + updated + unchanged + failed between 0 and total),
  constraint record_batch_finished_at_agrees check (
    (finished_at is null) = (result_file_id is null) and (finished_at is null or created + updated + unchanged + failed = total)),
  primary key (tenant_id, id)
);
call add_references('record_batch', 'created_by_api_user_id: api_user', 'result_file_id: file');
call protect_tenant_table('record_batch', 'select, insert, update');

-- The records of an unfinished batch as they were sent, with their results. The file has the results of a finished one.
create table record_batch_item (
  tenant_id integer not null,
  record_batch_id uuid not null,
  index integer not null,
  entry jsonb,
  result jsonb,
  -- They can have tax IDs, which no table has in readable form.
  entry_encrypted bytea,
  primary key (tenant_id, record_batch_id, index)
);
call add_references('record_batch_item', 'record_batch_id');
call protect_tenant_table('record_batch_item', 'select, insert, update, delete');

-- What imports last sent for rows, as digests: a record that is sent again as it was changes nothing, whatever happened to its row since.
-- Of a digest, whoever has the database could find values that no table has in readable form, such as tax IDs, by trying all: theirs are encrypted.
create table imported_content (
  tenant_id integer not null,
  type text collate "C" not null,
  system_ref text collate "C" not null,
  digest bytea,
  digest_encrypted bytea,
  constraint imported_content_key_unique primary key (tenant_id, type, system_ref)
);
call protect_tenant_table('imported_content', 'select, insert, update');
