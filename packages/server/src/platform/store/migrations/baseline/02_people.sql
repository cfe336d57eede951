create table org (
  like entity_columns including defaults including indexes,
  name text collate "C" not null,
  legal_name text collate "C" not null,
  code text collate "C" not null,
  currency text collate "C" not null,
  country text collate "C" not null,
  time_zone text collate "C" not null,
  fiscal_year_start_month integer not null,
  -- Closed periods: no entry of the ledger gets a day on or before the one through which the books of the client's org are closed.
  books_closed_through date,
  tax_rounding text collate "C" not null default 'LINE',
  vat_id text collate "C",
  -- The amount up to which the rest of an invoice is settled.
  settle_within numeric(16, 2) not null default 0,
  -- The step of recorded hours.
  time_step numeric(10, 2),
  reminder_schedule jsonb not null default '[]',
  electronic_address jsonb,
  bank_accounts jsonb not null default '[]',
  constraint org_fiscal_year_start_month_range check (fiscal_year_start_month between 1 and 12),
  constraint org_tax_rounding_enum check (tax_rounding in ('LINE', 'DOCUMENT')),
  constraint org_settle_within_range check (settle_within >= 0),
  constraint org_time_step_range check (time_step in (0.01, 0.10, 0.25)),
  constraint org_name_unique unique (tenant_id, name),
  constraint org_code_unique unique (tenant_id, code)
);

create table office (
  like entity_columns including defaults including indexes,
  name text collate "C" not null,
  code text collate "C" not null,
  org_id uuid not null,
  line1 text collate "C",
  line2 text collate "C",
  city text collate "C",
  state text collate "C",
  postal_code text collate "C",
  country text collate "C",
  phone text collate "C",
  time_zone text collate "C" not null,
  constraint office_name_unique unique (tenant_id, name),
  constraint office_code_unique unique (tenant_id, code)
);
call add_references('office', 'org_id');

-- Series of the numbers of invoices and credit notes.
create table document_series (
  like entity_columns including defaults including indexes,
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
    end)
);
call add_references('document_series', 'org_id', 'office_id');
create unique index document_series_office_id_unique on document_series (tenant_id, org_id, document_type, office_id) nulls not distinct
  where (active);
create unique index document_series_pattern_unique on document_series (tenant_id, org_id, regexp_replace(pattern, '\{N+\}', '{N}'))
  where (active);

-- The head of a department is a staff member: the reference is added with the staff table.
create table department (
  like entity_columns including defaults including indexes,
  name text collate "C" not null,
  code text collate "C" not null,
  head_id uuid,
  office_id uuid,
  parent_id uuid,
  constraint department_parent_id_other check (parent_id <> id),
  constraint department_name_unique unique (tenant_id, name),
  constraint department_code_unique unique (tenant_id, code)
);
call add_references('department', 'office_id', 'parent_id: department deferred');

create table service_line (
  like entity_columns including defaults including indexes,
  name text collate "C" not null,
  code text collate "C" not null,
  department_id uuid,
  revenue_account_code text collate "C",
  constraint service_line_name_unique unique (tenant_id, name),
  constraint service_line_code_unique unique (tenant_id, code)
);
call add_references('service_line', 'department_id');

create table industry (
  like entity_columns including defaults including indexes,
  name text collate "C" not null,
  code text collate "C",
  parent_id uuid,
  constraint industry_code_pattern check (code ~ '^[0-9]{2,6}$'),
  constraint industry_parent_id_other check (parent_id <> id),
  constraint industry_name_unique unique (tenant_id, name)
);
call add_references('industry', 'parent_id: industry deferred');

create table client_type (
  like entity_columns including defaults including indexes,
  name text collate "C" not null,
  code text collate "C" not null,
  description text collate "C",
  default_payment_terms_days integer,
  display_order integer not null default 0,
  constraint client_type_default_payment_terms_days_range check (default_payment_terms_days between 0 and 120),
  constraint client_type_name_unique unique (tenant_id, name),
  constraint client_type_code_unique unique (tenant_id, code)
);

create table client_business_entity (
  like entity_columns including defaults including indexes,
  name text collate "C" not null,
  code text collate "C" not null,
  description text collate "C",
  tax_form text collate "C",
  constraint client_business_entity_tax_form_enum check (
    tax_form in ('FORM_1040', 'FORM_1065', 'FORM_1120', 'FORM_1120S', 'FORM_990', 'FORM_1041', 'OTHER')),
  constraint client_business_entity_name_unique unique (tenant_id, name),
  constraint client_business_entity_code_unique unique (tenant_id, code)
);

-- Rates and percentages keep the decimal places that they are written with: a column type of a fixed scale would silently
-- round the fifth place, which the check rejects.
create table tax_region (
  like entity_columns including defaults including indexes,
  name text collate "C" not null,
  code text collate "C" not null,
  country text collate "C" not null,
  state text collate "C",
  rate_percent numeric not null,
  applies_to_services boolean not null,
  tax_exempt_reason text collate "C",
  constraint tax_region_rate_percent_range check (rate_percent between 0 and 100 and scale(rate_percent) <= 4),
  constraint tax_region_name_unique unique (tenant_id, name),
  constraint tax_region_code_unique unique (tenant_id, code)
);

create table tax_code (
  like entity_columns including defaults including indexes,
  name text collate "C" not null,
  code text collate "C" not null,
  taxes jsonb not null,
  constraint tax_code_name_unique unique (tenant_id, name),
  constraint tax_code_code_unique unique (tenant_id, code)
);

create table staff_type (
  like entity_columns including defaults including indexes,
  name text collate "C" not null,
  code text collate "C" not null,
  description text collate "C",
  rank integer not null,
  is_billable boolean not null,
  default_billing_rate numeric,
  default_average_rate numeric,
  constraint staff_type_default_billing_rate_range check (default_billing_rate >= 0 and default_billing_rate < 1e11 and scale(default_billing_rate) <= 4),
  constraint staff_type_default_average_rate_range check (default_average_rate >= 0 and default_average_rate < 1e11 and scale(default_average_rate) <= 4),
  constraint staff_type_name_unique unique (tenant_id, name),
  constraint staff_type_code_unique unique (tenant_id, code)
);

create table staff (
  like entity_columns including defaults including indexes,
  staff_ref text collate "C" not null,
  pms_ref text collate "C",
  first_name text collate "C" not null,
  last_name text collate "C" not null,
  display_name text collate "C" not null,
  email text collate "C" not null,
  phone text collate "C",
  title text collate "C",
  staff_type_id uuid not null,
  department_id uuid,
  office_id uuid,
  org_id uuid,
  manager_id uuid,
  hire_date date,
  termination_date date,
  is_billable boolean not null,
  weekly_capacity_hours numeric(10,2) not null default 40.00,
  target_utilization_percent numeric,
  status text collate "C" not null default 'ACTIVE',
  constraint staff_manager_id_other check (manager_id <> id),
  constraint staff_termination_date_order check (termination_date >= hire_date),
  constraint staff_weekly_capacity_hours_range check (weekly_capacity_hours between 0 and 168),
  constraint staff_target_utilization_percent_range check (target_utilization_percent between 0 and 100 and scale(target_utilization_percent) <= 4),
  constraint staff_status_enum check (status in ('ACTIVE', 'ON_LEAVE', 'TERMINATED')),
  constraint staff_staff_ref_unique unique (tenant_id, staff_ref),
  constraint staff_pms_ref_unique unique (tenant_id, pms_ref),
  constraint staff_email_unique unique (tenant_id, email)
);
call add_references('staff', 'staff_type_id', 'department_id', 'office_id', 'org_id', 'manager_id: staff deferred');
create index staff_names_index on staff using gin (tenant_id, display_name gin_trgm_ops, last_name gin_trgm_ops, first_name gin_trgm_ops, lower((display_name collate fa_case)) collate "C" gin_trgm_ops, lower((last_name collate fa_case)) collate "C" gin_trgm_ops, lower((first_name collate fa_case)) collate "C" gin_trgm_ops);
create index staff_search_index on staff using gin (tenant_id, search_text(display_name) gin_trgm_ops, search_text(last_name) gin_trgm_ops, search_text(first_name) gin_trgm_ops);

call add_references('department', 'head_id: staff deferred');

create table staff_rate (
  tenant_id integer not null,
  staff_id uuid not null,
  effective_from_date date not null,
  effective_to_date date,
  billing_rate numeric not null,
  average_rate numeric not null,
  currency text collate "C" not null,
  rate_card_id uuid,
  rate_card_name text collate "C",
  constraint staff_rate_effective_to_date_order check (effective_to_date >= effective_from_date),
  constraint staff_rate_billing_rate_range check (billing_rate >= 0 and billing_rate < 1e11 and scale(billing_rate) <= 4),
  constraint staff_rate_average_rate_range check (average_rate >= 0 and average_rate < 1e11 and scale(average_rate) <= 4),
  primary key (tenant_id, staff_id, effective_from_date),
  constraint staff_rate_period_unique exclude using gist (tenant_id with =, staff_id with =, daterange(effective_from_date, effective_to_date, '[]'::text) with &&)
);
call add_references('staff_rate', 'staff_id');
call protect_tenant_table('staff_rate', 'select, insert, update, delete');
