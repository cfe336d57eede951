-- The metadata of files. Their content is in the content storage, by tenant and hash.

create table file (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
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
  primary key (tenant_id, id),
  constraint file_system_ref_unique unique (tenant_id, system_ref),
  constraint file_client_id_reference foreign key (tenant_id, client_id) references client (tenant_id, id),
  constraint file_job_id_reference foreign key (tenant_id, job_id) references job (tenant_id, id),
  constraint file_status_enum check (status in ('PENDING', 'SCANNING', 'AVAILABLE', 'REJECTED', 'ARCHIVED', 'DELETED')),
  constraint file_source_enum check (source in ('CLIENT_REQUEST', 'DELIVERABLE', 'REFERENCE_FILE', 'DMS_DIRECT_UPLOAD')),
  constraint file_uploaded_by_type_enum check (uploaded_by_type in ('STAFF', 'CONTACT', 'SYSTEM')),
  constraint file_uploaded_by_id_agrees check ((uploaded_by_type = 'SYSTEM') = (uploaded_by_id is null)),
  constraint file_size_bytes_range check (size_bytes between 0 and 9007199254740991),
  constraint file_sha256_pattern check (sha256 ~ '^[0-9a-f]{64}$'),
  constraint file_sha256_agrees check (sha256 is not null or status not in ('AVAILABLE', 'ARCHIVED')),
  constraint file_active_agrees check (active = (status <> 'DELETED'))
);
call protect_entity_table('file');
create index file_client_id_index on file (tenant_id, client_id, id) where client_id is not null;
create index file_job_id_index on file (tenant_id, job_id, id) where job_id is not null;
create index file_engagement_id_index on file (tenant_id, engagement_id, id) where engagement_id is not null;
create index file_status_index on file (tenant_id, status, id);
create index file_source_index on file (tenant_id, source, id);
create index file_created_at_index on file (tenant_id, created_at, id);
create index file_names_index on file using gin (tenant_id, (lower(file_name collate fa_case) collate "C") gin_trgm_ops);

call lift_protection('file', 'expense_entry', 'invoice');
alter table expense_entry add constraint expense_entry_receipt_file_id_reference
  foreign key (tenant_id, receipt_file_id) references file (tenant_id, id);
alter table invoice add constraint invoice_pdf_file_id_reference
  foreign key (tenant_id, pdf_file_id) references file (tenant_id, id);
call restore_protection('file', 'expense_entry', 'invoice');
