create table engagement (
  like entity_columns including defaults including indexes,
  client_id uuid not null,
  name text collate "C" not null,
  engagement_ref text collate "C" not null,
  type text collate "C" not null default 'OTHER',
  fiscal_year integer not null,
  start_date date,
  end_date date,
  status text collate "C" not null default 'DRAFT',
  template_id uuid,
  template_name text collate "C",
  partner_id uuid,
  manager_id uuid,
  fee_amount numeric(16,2),
  fee_type text collate "C",
  deposit_amount numeric(16,2),
  currency text collate "C" not null,
  expires_at timestamptz(3),
  decline_reason text collate "C",
  sent_at timestamptz(3),
  viewed_at timestamptz(3),
  executed_at timestamptz(3),
  completed_at timestamptz(3),
  constraint engagement_type_enum check (type in ('AUDIT', 'REVIEW', 'COMPILATION', 'TAX', 'CAS', 'ADVISORY', 'OTHER')),
  constraint engagement_status_enum check (status in ('DRAFT', 'SENT', 'EXECUTED', 'ACTIVE', 'ON_HOLD', 'COMPLETED',
    'DECLINED', 'EXPIRED', 'CANCELLED')),
  constraint engagement_fee_type_enum check (fee_type in ('TIME_AND_MATERIALS', 'FIXED_FEE', 'RECURRING', 'NON_BILLABLE')),
  constraint engagement_fiscal_year_range check (fiscal_year between 2000 and 2100),
  constraint engagement_fee_amount_range check (fee_amount >= 0),
  constraint engagement_deposit_amount_range check (deposit_amount >= 0),
  constraint engagement_end_date_order check (end_date >= start_date),
  constraint engagement_sent_at_agrees check (
    case when status = 'DRAFT' then sent_at is null when status = 'CANCELLED' then true else sent_at is not null end),
  constraint engagement_executed_at_agrees check (
    case status when 'CANCELLED' then true
      when 'EXECUTED' then executed_at is not null when 'ACTIVE' then executed_at is not null
      when 'ON_HOLD' then executed_at is not null when 'COMPLETED' then executed_at is not null
      else executed_at is null end),
  constraint engagement_completed_at_agrees check ((status = 'COMPLETED') = (completed_at is not null)),
  constraint engagement_engagement_ref_unique unique (tenant_id, engagement_ref)
);
call add_references('engagement', 'client_id', 'partner_id: staff', 'manager_id: staff');
create index engagement_client_id_index on engagement (tenant_id, client_id, status);
call index_orders('engagement', 'status', 'name', 'fiscal_year', 'start_date', 'end_date', 'sent_at', 'executed_at', 'expires_at',
  'fee_amount', 'created_at', 'active', 'active desc', 'fiscal_year desc', 'status desc', 'start_date desc nulls last',
  'end_date desc nulls last', 'sent_at desc nulls last', 'executed_at desc nulls last', 'expires_at desc nulls last');
create index engagement_expiring_index on engagement (tenant_id, expires_at) where ((status = 'SENT') and (expires_at is not null));
create index engagement_partner_id_index on engagement (tenant_id, partner_id) where (partner_id is not null);
create index engagement_manager_id_index on engagement (tenant_id, manager_id) where (manager_id is not null);
create index engagement_template_id_index on engagement (tenant_id, template_id) where (template_id is not null);
create index engagement_names_index on engagement using gin (tenant_id, name gin_trgm_ops, lower((name collate fa_case)) collate "C" gin_trgm_ops);
create index engagement_refs_index on engagement using gin (tenant_id, engagement_ref gin_trgm_ops, lower((engagement_ref collate fa_case)) collate "C" gin_trgm_ops);
create index engagement_search_index on engagement using gin (tenant_id, search_text(name) gin_trgm_ops);
call refuse_merged('engagement', 'client_id');
call add_references('job', 'engagement_id deferred');

create table engagement_staff (
  tenant_id integer not null,
  engagement_id uuid not null,
  position integer not null,
  staff_id uuid not null,
  role text collate "C" not null,
  constraint engagement_staff_role_enum check (role in ('PARTNER', 'MANAGER', 'IN_CHARGE', 'REVIEWER', 'PREPARER', 'OTHER')),
  primary key (tenant_id, engagement_id, "position")
);
call add_references('engagement_staff', 'engagement_id', 'staff_id');
call protect_tenant_table('engagement_staff', 'select, insert, delete');

create table engagement_signer (
  tenant_id integer not null,
  engagement_id uuid not null,
  position integer not null,
  contact_id uuid not null,
  status text collate "C" not null,
  signed_at timestamptz(3),
  constraint engagement_signer_status_enum check (status in ('PENDING', 'VIEWED', 'SIGNED', 'DECLINED')),
  constraint engagement_signer_signed_at_agrees check ((status = 'SIGNED') = (signed_at is not null)),
  primary key (tenant_id, engagement_id, "position"),
  constraint engagement_signer_contact_id_unique unique (tenant_id, engagement_id, contact_id)
);
call add_references('engagement_signer', 'engagement_id', 'contact_id');
call protect_tenant_table('engagement_signer', 'select, insert, delete');

-- The jobs that are or were linked. The current link is also in the job.
create table engagement_job (
  tenant_id integer not null,
  engagement_id uuid not null,
  position integer not null,
  -- Of the job.
  id uuid not null,
  is_active boolean not null,
  primary key (tenant_id, engagement_id, id)
);
call add_references('engagement_job', 'engagement_id', 'id: job deferred');
call protect_tenant_table('engagement_job', 'select, insert, delete');
create unique index engagement_job_active_unique on engagement_job (tenant_id, id) where is_active;

create table engagement_document (
  like entity_columns including defaults including indexes,
  engagement_id uuid not null,
  document_type_id uuid not null,
  document_type_name text collate "C" not null,
  file_name text collate "C" not null,
  file_id uuid,
  mime_type text collate "C" not null,
  size_bytes bigint not null default 0,
  status text collate "C" not null default 'DRAFT',
  version_number integer not null,
  signed_at timestamptz(3),
  -- When the last try to write the file failed.
  file_failed_at timestamptz(3),
  constraint engagement_document_status_enum check (status in ('DRAFT', 'SENT', 'SIGNED', 'SUPERSEDED')),
  constraint engagement_document_signed_at_agrees check ((status = 'SIGNED') = (signed_at is not null)),
  constraint engagement_document_size_bytes_range check (size_bytes between 0 and 9007199254740991),
  constraint engagement_document_version_number_unique unique (tenant_id, engagement_id, document_type_id, version_number)
);
call add_references('engagement_document', 'engagement_id');

create table engagement_batch (
  like entity_columns including defaults including indexes,
  status text collate "C" not null default 'PENDING',
  total integer not null,
  started_at timestamptz(3),
  finished_at timestamptz(3),
  created_by_api_user_id uuid not null,
  constraint engagement_batch_status_enum check (status in ('PENDING', 'PROCESSING', 'COMPLETED', 'COMPLETED_WITH_ERRORS', 'FAILED')),
  constraint engagement_batch_total_range check (total between 1 and 500),
  constraint engagement_batch_started_at_agrees check ((status = 'PENDING') = (started_at is null)),
  constraint engagement_batch_finished_at_agrees check ((status in ('PENDING', 'PROCESSING')) = (finished_at is null))
);

-- The entries of a batch as they were sent, with their results: an engagement, a failure, or none yet.
create table engagement_batch_item (
  tenant_id integer not null,
  engagement_batch_id uuid not null,
  index integer not null,
  entry jsonb not null,
  engagement_id uuid,
  failure jsonb,
  constraint engagement_batch_item_failure_agrees check (engagement_id is null or failure is null),
  primary key (tenant_id, engagement_batch_id, index)
);
call add_references('engagement_batch_item', 'engagement_batch_id', 'engagement_id');
call protect_tenant_table('engagement_batch_item', 'select, insert, update');
