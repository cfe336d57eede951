-- Series of the numbers of invoices and credit notes.
-- locks: share row exclusive on office, share row exclusive on org

create table document_series (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  metadata jsonb not null default '{}',
  active boolean not null default true,
  created_at timestamptz(3) not null default tenant_now(),
  updated_at timestamptz(3) not null default tenant_now(),
  version integer not null default 1,
  org_id uuid not null,
  document_type text collate "C" not null,
  office_id uuid,
  pattern text collate "C" not null,
  restarts text collate "C" not null,
  -- The number that a caller wrote, and its period. The last number of each period is in `tenant_counter`.
  first_number integer not null default 1,
  first_period text collate "C" not null default '',
  constraint document_series_document_type_enum check (document_type in ('INVOICE', 'CREDIT_NOTE')),
  constraint document_series_restarts_enum check (restarts in ('NEVER', 'YEAR', 'MONTH')),
  constraint document_series_pattern_agrees check (
    case restarts
      when 'YEAR' then pattern ~ '\{YY(YY)?\}'
      when 'MONTH' then pattern ~ '\{YY(YY)?\}' and pattern like '%{MM}%'
      else true
    end),
  primary key (tenant_id, id),
  constraint document_series_system_ref_unique unique (tenant_id, system_ref),
  constraint document_series_org_id_reference foreign key (tenant_id, org_id) references org (tenant_id, id),
  constraint document_series_office_id_reference foreign key (tenant_id, office_id) references office (tenant_id, id)
);
call protect_entity_table('document_series');
create index document_series_metadata_index on document_series using gin (tenant_id, metadata jsonb_path_ops) where metadata <> '{}';
create unique index document_series_office_id_unique on document_series (tenant_id, org_id, document_type, office_id) nulls not distinct
  where (active);
create unique index document_series_pattern_unique on document_series (tenant_id, org_id, regexp_replace(pattern, '\{N+\}', '{N}'))
  where (active);
