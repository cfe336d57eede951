create extension btree_gin;

create extension btree_gist;

create extension pg_trgm;

create collation fa_case;

create type public.balance_change as (tenant_id integer, client_id uuid, currency text, outstanding numeric, unapplied numeric);

create type public.billing_change as (tenant_id integer, job_id uuid, billed numeric, fee numeric, fee_without_work numeric);

create type public.hours_change as (tenant_id integer, job_id uuid, task_id uuid, hours numeric);

create type public.wip_change as (tenant_id integer, job_id uuid, client_id uuid, currency text, outstanding numeric, billed numeric, written_off numeric, written_up numeric);

create table api_key (
  tenant_id integer not null,
  id uuid not null,
  api_user_id uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  expires_at timestamp(3) with time zone not null,
  revoked_at timestamp(3) with time zone,
  last_used_at timestamp(3) with time zone,
  description text collate "C",
  signing_kid text collate "C",
  constraint api_key_api_user_id_reference FOREIGN KEY (tenant_id, api_user_id) REFERENCES api_user(tenant_id, id),
  constraint api_key_expires_at_order CHECK (expires_at > created_at),
  constraint api_key_pkey PRIMARY KEY (tenant_id, id)
);
CREATE INDEX api_key_api_user_id_index ON api_key USING btree (tenant_id, api_user_id, id);
alter table api_key enable row level security, force row level security;
create policy tenant_isolation on api_key for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on api_key to financial_automation_service;

create table api_user (
  tenant_id integer not null,
  id uuid not null,
  name text collate "C" not null,
  roles text[] default '{}'::text[] not null,
  staff_id uuid,
  active boolean default true not null,
  created_at timestamp(3) with time zone default now() not null,
  identity text collate "C",
  constraint api_user_name_unique UNIQUE (tenant_id, name),
  constraint api_user_pkey PRIMARY KEY (tenant_id, id),
  constraint api_user_staff_id_reference FOREIGN KEY (tenant_id, staff_id) REFERENCES staff(tenant_id, id)
);
CREATE UNIQUE INDEX api_user_identity_unique ON api_user USING btree (tenant_id, identity);
alter table api_user enable row level security, force row level security;
create policy tenant_isolation on api_user for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on api_user to financial_automation_service;

create table audit_log (
  tenant_id integer not null,
  id uuid not null,
  occurred_at timestamp(3) with time zone default tenant_now() not null,
  api_user_id uuid,
  actor text collate "C" not null,
  operation text collate "C" not null,
  request_id text collate "C",
  entity_type text collate "C" not null,
  entity_id uuid not null,
  before jsonb,
  after jsonb,
  constraint audit_log_pkey PRIMARY KEY (tenant_id, id)
) partition by RANGE (id);
CREATE INDEX audit_log_entity_index ON ONLY audit_log USING btree (tenant_id, entity_type, entity_id, id);
alter table audit_log enable row level security, force row level security;
create policy tenant_isolation on audit_log for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select on audit_log to financial_automation_service;
CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table background_job (
  tenant_id integer not null,
  id uuid not null,
  name text collate "C" not null,
  data jsonb not null,
  status text collate "C" default 'WAITING'::text not null,
  due_at timestamp(3) with time zone default now() not null,
  runs integer default 0 not null,
  failures integer default 0 not null,
  run_id uuid,
  leased_until timestamp(3) with time zone,
  ended_at timestamp(3) with time zone,
  failure text collate "C",
  constraint background_job_ended_at_agrees CHECK ((status = ANY (ARRAY['COMPLETED'::text, 'DEAD'::text])) = (ended_at IS NOT NULL)),
  constraint background_job_pkey PRIMARY KEY (tenant_id, id),
  constraint background_job_run_id_agrees CHECK ((status = 'RUNNING'::text) = (run_id IS NOT NULL) AND (run_id IS NULL) = (leased_until IS NULL)),
  constraint background_job_status_enum CHECK (status = ANY (ARRAY['WAITING'::text, 'RUNNING'::text, 'COMPLETED'::text, 'DEAD'::text]))
) with (fillfactor=50);
CREATE INDEX background_job_due_at_index ON background_job USING btree (name, due_at, id) WHERE status = 'WAITING'::text;
CREATE INDEX background_job_ended_at_index ON background_job USING btree (status, ended_at) WHERE status = ANY (ARRAY['COMPLETED'::text, 'DEAD'::text]);
CREATE INDEX background_job_leased_until_index ON background_job USING btree (name, leased_until) WHERE status = 'RUNNING'::text;
CREATE INDEX background_job_turn_index ON background_job USING btree (name, tenant_id, due_at, id) WHERE status = 'WAITING'::text;
alter table background_job enable row level security, force row level security;
create policy background_job_owner on background_job for all to the owner using (true) with check (true);
create policy tenant_isolation on background_job for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on background_job to financial_automation_service;
CREATE TRIGGER background_job_announced AFTER INSERT ON background_job REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION announce_jobs();

create table book_change (
  tenant_id integer not null,
  changed_row uuid not null,
  recorded_at timestamp(3) with time zone not null,
  change_date date,
  change_reason text collate "C",
  api_user_id uuid,
  constraint book_change_pkey PRIMARY KEY (tenant_id, changed_row, recorded_at)
);
alter table book_change enable row level security, force row level security;
create policy tenant_isolation on book_change for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select on book_change to financial_automation_service;
CREATE TRIGGER book_change_immutable BEFORE DELETE OR UPDATE ON book_change FOR EACH ROW EXECUTE FUNCTION refuse_change();

create table cell (
  number integer not null,
  name text collate "C" not null,
  url_encrypted bytea not null,
  added_at timestamp(3) with time zone default now() not null,
  constraint cell_name_pattern CHECK (name ~ '^[a-z][a-z0-9_-]{0,62}$'::text),
  constraint cell_name_unique UNIQUE (name),
  constraint cell_number_range CHECK (number >= 1 AND number <= 200),
  constraint cell_pkey PRIMARY KEY (number)
);

create table client (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  name text collate "C" not null,
  legal_name text collate "C",
  client_ref text collate "C" not null,
  pms_ref text collate "C" not null,
  status text collate "C" default 'PROSPECT'::text not null,
  entity_type text collate "C",
  client_type_id uuid,
  tax_region_id uuid,
  client_group_id uuid,
  client_business_entity_id uuid,
  industry_id uuid,
  office_id uuid,
  department_id uuid,
  service_line_id uuid,
  org_id uuid not null,
  parent_client_id uuid,
  partner_id uuid,
  manager_id uuid,
  biller_id uuid,
  email text collate "C",
  phone text collate "C",
  website text collate "C",
  tax_id_encrypted bytea,
  tax_id_last4 text collate "C",
  fiscal_year_end_month integer,
  fiscal_year_end_day integer,
  incorporation_date date,
  payment_terms_days integer default 30 not null,
  currency text collate "C" not null,
  onboarded_at timestamp(3) with time zone,
  client_contact_info_id uuid,
  billing_address_id uuid,
  preferred_contact_id uuid,
  billing_contact_id uuid,
  secondary_contact_id uuid,
  outstanding_balance numeric(16,2) default 0 not null,
  unbilled_wip numeric(16,2) default 0 not null,
  unapplied_credit numeric(16,2) default 0 not null,
  vat_id text collate "C",
  tax_exempt_reason text collate "C",
  tax_code_id uuid,
  document_language text collate "C" default 'en'::text not null,
  reminder_schedule jsonb,
  reminders_off boolean default false not null,
  electronic_address jsonb,
  merged_into_id uuid,
  constraint client_biller_id_reference FOREIGN KEY (tenant_id, biller_id) REFERENCES staff(tenant_id, id),
  constraint client_billing_address_id_reference FOREIGN KEY (tenant_id, billing_address_id) REFERENCES contact_info(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint client_billing_contact_id_reference FOREIGN KEY (tenant_id, billing_contact_id) REFERENCES contact(tenant_id, id),
  constraint client_client_business_entity_id_reference FOREIGN KEY (tenant_id, client_business_entity_id) REFERENCES client_business_entity(tenant_id, id),
  constraint client_client_contact_info_id_reference FOREIGN KEY (tenant_id, client_contact_info_id) REFERENCES contact_info(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint client_client_group_id_reference FOREIGN KEY (tenant_id, client_group_id) REFERENCES client_group(tenant_id, id),
  constraint client_client_ref_unique UNIQUE (tenant_id, client_ref),
  constraint client_client_type_id_reference FOREIGN KEY (tenant_id, client_type_id) REFERENCES client_type(tenant_id, id),
  constraint client_department_id_reference FOREIGN KEY (tenant_id, department_id) REFERENCES department(tenant_id, id),
  constraint client_document_language_enum CHECK (document_language = ANY (ARRAY['en'::text, 'de'::text, 'fr'::text, 'es'::text])),
  constraint client_entity_type_enum CHECK (entity_type = ANY (ARRAY['INDIVIDUAL'::text, 'SOLE_PROPRIETOR'::text, 'PARTNERSHIP'::text, 'LLC'::text, 'C_CORP'::text, 'S_CORP'::text, 'TRUST'::text, 'ESTATE'::text, 'NONPROFIT'::text, 'GOVERNMENT'::text, 'OTHER'::text])),
  constraint client_fiscal_year_end_day_range CHECK (fiscal_year_end_day >= 1 AND fiscal_year_end_day <=
CASE
    WHEN fiscal_year_end_month = 2 THEN 29
    WHEN fiscal_year_end_month = ANY (ARRAY[4, 6, 9, 11]) THEN 30
    ELSE 31
END),
  constraint client_fiscal_year_end_month_range CHECK (fiscal_year_end_month >= 1 AND fiscal_year_end_month <= 12),
  constraint client_industry_id_reference FOREIGN KEY (tenant_id, industry_id) REFERENCES industry(tenant_id, id),
  constraint client_manager_id_reference FOREIGN KEY (tenant_id, manager_id) REFERENCES staff(tenant_id, id),
  constraint client_merged_into_id_inactive CHECK (merged_into_id IS NULL OR NOT active),
  constraint client_merged_into_id_other CHECK (merged_into_id <> id),
  constraint client_merged_into_id_reference FOREIGN KEY (tenant_id, merged_into_id) REFERENCES client(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint client_office_id_reference FOREIGN KEY (tenant_id, office_id) REFERENCES office(tenant_id, id),
  constraint client_org_id_reference FOREIGN KEY (tenant_id, org_id) REFERENCES org(tenant_id, id),
  constraint client_outstanding_balance_bound CHECK (outstanding_balance < '10000000000000'::numeric),
  constraint client_outstanding_balance_range CHECK (outstanding_balance >= 0::numeric),
  constraint client_parent_client_id_other CHECK (parent_client_id <> id),
  constraint client_parent_client_id_reference FOREIGN KEY (tenant_id, parent_client_id) REFERENCES client(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint client_partner_id_reference FOREIGN KEY (tenant_id, partner_id) REFERENCES staff(tenant_id, id),
  constraint client_payment_terms_days_range CHECK (payment_terms_days >= 0 AND payment_terms_days <= 120),
  constraint client_pkey PRIMARY KEY (tenant_id, id),
  constraint client_pms_ref_same CHECK (pms_ref = client_ref),
  constraint client_pms_ref_unique UNIQUE (tenant_id, pms_ref),
  constraint client_preferred_contact_id_reference FOREIGN KEY (tenant_id, preferred_contact_id) REFERENCES contact(tenant_id, id),
  constraint client_secondary_contact_id_reference FOREIGN KEY (tenant_id, secondary_contact_id) REFERENCES contact(tenant_id, id),
  constraint client_service_line_id_reference FOREIGN KEY (tenant_id, service_line_id) REFERENCES service_line(tenant_id, id),
  constraint client_status_enum CHECK (status = ANY (ARRAY['PROSPECT'::text, 'ACTIVE'::text, 'INACTIVE'::text, 'ARCHIVED'::text])),
  constraint client_status_settled CHECK (status <> 'ARCHIVED'::text OR outstanding_balance = 0::numeric AND unbilled_wip = 0::numeric AND unapplied_credit = 0::numeric),
  constraint client_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint client_tax_code_id_reference FOREIGN KEY (tenant_id, tax_code_id) REFERENCES tax_code(tenant_id, id),
  constraint client_tax_id_last4_agrees CHECK ((tax_id_last4 IS NULL) = (tax_id_encrypted IS NULL)),
  constraint client_tax_id_last4_length CHECK (char_length(tax_id_last4) <= 4),
  constraint client_tax_region_id_reference FOREIGN KEY (tenant_id, tax_region_id) REFERENCES tax_region(tenant_id, id),
  constraint client_unapplied_credit_bound CHECK (abs(unapplied_credit) < '10000000000000'::numeric),
  constraint client_unbilled_wip_bound CHECK (abs(unbilled_wip) < '10000000000000'::numeric)
);
CREATE INDEX client_active_desc_index ON client USING btree (tenant_id, active DESC, id);
CREATE INDEX client_active_index ON client USING btree (tenant_id, active, id);
CREATE INDEX client_client_group_id_index ON client USING btree (tenant_id, client_group_id) WHERE client_group_id IS NOT NULL;
CREATE INDEX client_contact_refs_index ON client USING gin (tenant_id, pms_ref gin_trgm_ops, lower(pms_ref COLLATE fa_case) COLLATE "C" gin_trgm_ops, email gin_trgm_ops, lower(email COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX client_created_at_index ON client USING btree (tenant_id, created_at, id);
CREATE INDEX client_email_index ON client USING btree (tenant_id, email, id);
CREATE INDEX client_merged_into_id_index ON client USING btree (tenant_id, merged_into_id) WHERE merged_into_id IS NOT NULL;
CREATE INDEX client_metadata_index ON client USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX client_name_index ON client USING btree (tenant_id, name, id);
CREATE INDEX client_names_index ON client USING gin (tenant_id, name gin_trgm_ops, legal_name gin_trgm_ops, lower(name COLLATE fa_case) COLLATE "C" gin_trgm_ops, lower(legal_name COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX client_onboarded_at_index ON client USING btree (tenant_id, onboarded_at, id);
CREATE INDEX client_onboarded_at_nulls_last_index ON client USING btree (tenant_id, onboarded_at DESC NULLS LAST, id);
CREATE INDEX client_outstanding_balance_index ON client USING btree (tenant_id, outstanding_balance, id);
CREATE INDEX client_parent_client_id_index ON client USING btree (tenant_id, parent_client_id) WHERE parent_client_id IS NOT NULL;
CREATE INDEX client_phone_index ON client USING gin (tenant_id, phone gin_trgm_ops, lower(phone COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX client_refs_index ON client USING gin (tenant_id, client_ref gin_trgm_ops, lower(client_ref COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX client_search_index ON client USING gin (tenant_id, search_text(name) gin_trgm_ops, search_text(legal_name) gin_trgm_ops);
CREATE INDEX client_status_index ON client USING btree (tenant_id, status, id);
CREATE INDEX client_unbilled_wip_index ON client USING btree (tenant_id, unbilled_wip, id);
CREATE INDEX client_updated_at_index ON client USING btree (tenant_id, updated_at, id);
CREATE INDEX client_vat_id_index ON client USING btree (tenant_id, vat_id, id) WHERE vat_id IS NOT NULL;
alter table client enable row level security, force row level security;
create policy tenant_isolation on client for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on client to financial_automation_service;
CREATE TRIGGER client_merged_into_id_present AFTER INSERT OR UPDATE OF merged_into_id ON client FOR EACH ROW WHEN (new.merged_into_id IS NOT NULL AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION refuse_merged_client('merged_into_id');
CREATE TRIGGER client_parent_client_id_present AFTER INSERT OR UPDATE OF parent_client_id ON client FOR EACH ROW WHEN (new.parent_client_id IS NOT NULL AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION refuse_merged_client('parent_client_id');
CREATE TRIGGER client_sums_moved AFTER UPDATE ON client FOR EACH ROW WHEN ((old.org_id IS DISTINCT FROM new.org_id OR old.office_id IS DISTINCT FROM new.office_id OR old.merged_into_id IS DISTINCT FROM new.merged_into_id) AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION move_sums_of_client();

create table client_business_entity (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  name text collate "C" not null,
  code text collate "C" not null,
  description text collate "C",
  tax_form text collate "C",
  constraint client_business_entity_code_unique UNIQUE (tenant_id, code),
  constraint client_business_entity_name_unique UNIQUE (tenant_id, name),
  constraint client_business_entity_pkey PRIMARY KEY (tenant_id, id),
  constraint client_business_entity_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint client_business_entity_tax_form_enum CHECK (tax_form = ANY (ARRAY['FORM_1040'::text, 'FORM_1065'::text, 'FORM_1120'::text, 'FORM_1120S'::text, 'FORM_990'::text, 'FORM_1041'::text, 'OTHER'::text]))
);
CREATE INDEX client_business_entity_metadata_index ON client_business_entity USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX client_business_entity_updated_at_index ON client_business_entity USING btree (tenant_id, updated_at, id);
alter table client_business_entity enable row level security, force row level security;
create policy tenant_isolation on client_business_entity for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on client_business_entity to financial_automation_service;

create table client_group (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  name text collate "C" not null,
  description text collate "C",
  owner_id uuid,
  manager_id uuid,
  primary_client_id uuid,
  constraint client_group_manager_id_reference FOREIGN KEY (tenant_id, manager_id) REFERENCES staff(tenant_id, id),
  constraint client_group_name_unique UNIQUE (tenant_id, name),
  constraint client_group_owner_id_reference FOREIGN KEY (tenant_id, owner_id) REFERENCES staff(tenant_id, id),
  constraint client_group_pkey PRIMARY KEY (tenant_id, id),
  constraint client_group_primary_client_id_reference FOREIGN KEY (tenant_id, primary_client_id) REFERENCES client(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint client_group_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX client_group_metadata_index ON client_group USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX client_group_updated_at_index ON client_group USING btree (tenant_id, updated_at, id);
alter table client_group enable row level security, force row level security;
create policy tenant_isolation on client_group for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on client_group to financial_automation_service;
CREATE TRIGGER client_group_primary_client_id_present AFTER INSERT OR UPDATE OF primary_client_id ON client_group FOR EACH ROW WHEN (new.primary_client_id IS NOT NULL AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION refuse_merged_client('primary_client_id');

create table client_type (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  name text collate "C" not null,
  code text collate "C" not null,
  description text collate "C",
  default_payment_terms_days integer,
  display_order integer default 0 not null,
  constraint client_type_code_unique UNIQUE (tenant_id, code),
  constraint client_type_default_payment_terms_days_range CHECK (default_payment_terms_days >= 0 AND default_payment_terms_days <= 120),
  constraint client_type_name_unique UNIQUE (tenant_id, name),
  constraint client_type_pkey PRIMARY KEY (tenant_id, id),
  constraint client_type_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX client_type_metadata_index ON client_type USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX client_type_updated_at_index ON client_type USING btree (tenant_id, updated_at, id);
alter table client_type enable row level security, force row level security;
create policy tenant_isolation on client_type for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on client_type to financial_automation_service;

create table clock_day (
  tenant_id integer not null,
  task text collate "C" not null,
  day date not null,
  place jsonb,
  constraint clock_day_pkey PRIMARY KEY (tenant_id, task)
);
alter table clock_day enable row level security, force row level security;
create policy tenant_isolation on clock_day for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on clock_day to financial_automation_service;

create table clock_due (
  tenant_id integer not null,
  id bigint generated always as identity not null,
  task text collate "C" not null,
  due_at timestamp(3) with time zone not null,
  run_id uuid,
  constraint clock_due_pkey PRIMARY KEY (tenant_id, id)
);
CREATE INDEX clock_due_due_at_index ON clock_due USING btree (due_at);
CREATE INDEX clock_due_task_index ON clock_due USING btree (tenant_id, task, due_at);
alter table clock_due enable row level security, force row level security;
create policy clock_due_owner on clock_due for all to the owner using (true) with check (true);
create policy tenant_isolation on clock_due for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select on clock_due to financial_automation_service;

create table clock_lease (
  minute bigint not null,
  run_id uuid,
  leased_until timestamp(3) with time zone
);
CREATE UNIQUE INDEX clock_lease_single ON clock_lease USING btree ((true));

create table contact (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  pms_ref text collate "C" not null,
  first_name text collate "C",
  last_name text collate "C",
  middle_name text collate "C",
  display_name text collate "C" not null,
  salutation text collate "C",
  title text collate "C",
  email text collate "C",
  phone text collate "C",
  mobile text collate "C",
  preferred_channel text collate "C",
  portal_enabled boolean default false not null,
  email_opt_out boolean default false not null,
  primary_contact_info_id uuid,
  constraint contact_pkey PRIMARY KEY (tenant_id, id),
  constraint contact_pms_ref_unique UNIQUE (tenant_id, pms_ref),
  constraint contact_preferred_channel_enum CHECK (preferred_channel = ANY (ARRAY['EMAIL'::text, 'PHONE'::text, 'SMS'::text, 'PORTAL'::text])),
  constraint contact_primary_contact_info_id_reference FOREIGN KEY (tenant_id, primary_contact_info_id) REFERENCES contact_info(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint contact_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX contact_active_desc_index ON contact USING btree (tenant_id, active DESC, id);
CREATE INDEX contact_active_index ON contact USING btree (tenant_id, active, id);
CREATE INDEX contact_created_at_index ON contact USING btree (tenant_id, created_at, id);
CREATE INDEX contact_email_index ON contact USING btree (tenant_id, email, id);
CREATE INDEX contact_email_nulls_last_index ON contact USING btree (tenant_id, email DESC NULLS LAST, id);
CREATE INDEX contact_first_name_index ON contact USING btree (tenant_id, first_name, id);
CREATE INDEX contact_first_name_nulls_last_index ON contact USING btree (tenant_id, first_name DESC NULLS LAST, id);
CREATE INDEX contact_last_name_index ON contact USING btree (tenant_id, last_name, id);
CREATE INDEX contact_last_name_nulls_last_index ON contact USING btree (tenant_id, last_name DESC NULLS LAST, id);
CREATE INDEX contact_metadata_index ON contact USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX contact_names_index ON contact USING gin (tenant_id, display_name gin_trgm_ops, last_name gin_trgm_ops, first_name gin_trgm_ops, lower(display_name COLLATE fa_case) COLLATE "C" gin_trgm_ops, lower(last_name COLLATE fa_case) COLLATE "C" gin_trgm_ops, lower(first_name COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX contact_refs_index ON contact USING gin (tenant_id, pms_ref gin_trgm_ops, lower(pms_ref COLLATE fa_case) COLLATE "C" gin_trgm_ops, email gin_trgm_ops, lower(email COLLATE fa_case) COLLATE "C" gin_trgm_ops, phone gin_trgm_ops, lower(phone COLLATE fa_case) COLLATE "C" gin_trgm_ops, mobile gin_trgm_ops, lower(mobile COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX contact_search_index ON contact USING gin (tenant_id, search_text(display_name) gin_trgm_ops, search_text(last_name) gin_trgm_ops, search_text(first_name) gin_trgm_ops);
CREATE INDEX contact_updated_at_index ON contact USING btree (tenant_id, updated_at, id);
alter table contact enable row level security, force row level security;
create policy tenant_isolation on contact for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on contact to financial_automation_service;

create table contact_client (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  contact_id uuid not null,
  client_id uuid not null,
  roles text[] not null,
  is_primary boolean default false not null,
  receives_invoices boolean default false not null,
  can_sign boolean default false not null,
  linked_at timestamp(3) with time zone default tenant_now() not null,
  unlinked_at timestamp(3) with time zone,
  constraint contact_client_client_id_reference FOREIGN KEY (tenant_id, client_id) REFERENCES client(tenant_id, id),
  constraint contact_client_contact_id_client_id_unique UNIQUE (tenant_id, contact_id, client_id),
  constraint contact_client_contact_id_reference FOREIGN KEY (tenant_id, contact_id) REFERENCES contact(tenant_id, id),
  constraint contact_client_pkey PRIMARY KEY (tenant_id, id),
  constraint contact_client_roles_enum CHECK (roles <@ ARRAY['PREFERRED'::text, 'BILLING'::text, 'SECONDARY'::text, 'SIGNER'::text, 'OTHER'::text]),
  constraint contact_client_roles_present CHECK (cardinality(roles) > 0),
  constraint contact_client_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint contact_client_unlinked_at_agrees CHECK (active = (unlinked_at IS NULL))
);
CREATE UNIQUE INDEX contact_client_client_id_billing_unique ON contact_client USING btree (tenant_id, client_id) WHERE active AND roles @> ARRAY['BILLING'::text];
CREATE INDEX contact_client_client_id_index ON contact_client USING btree (tenant_id, client_id);
CREATE UNIQUE INDEX contact_client_client_id_preferred_unique ON contact_client USING btree (tenant_id, client_id) WHERE active AND roles @> ARRAY['PREFERRED'::text];
CREATE UNIQUE INDEX contact_client_client_id_secondary_unique ON contact_client USING btree (tenant_id, client_id) WHERE active AND roles @> ARRAY['SECONDARY'::text];
CREATE INDEX contact_client_metadata_index ON contact_client USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX contact_client_updated_at_index ON contact_client USING btree (tenant_id, updated_at, id);
alter table contact_client enable row level security, force row level security;
create policy tenant_isolation on contact_client for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on contact_client to financial_automation_service;
CREATE TRIGGER contact_client_client_id_present AFTER INSERT OR UPDATE OF client_id ON contact_client FOR EACH ROW WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION refuse_merged_client('client_id');
CREATE CONSTRAINT TRIGGER contact_client_one_primary AFTER INSERT OR UPDATE OF is_primary, active ON contact_client DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.active AND new.is_primary AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION check_one_primary();

create table contact_info (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  owner_type text collate "C" not null,
  owner_id uuid not null,
  owner_client_id uuid generated always as (
CASE owner_type
    WHEN 'CLIENT'::text THEN owner_id
    ELSE NULL::uuid
END) stored,
  owner_contact_id uuid generated always as (
CASE owner_type
    WHEN 'CONTACT'::text THEN owner_id
    ELSE NULL::uuid
END) stored,
  owner_office_id uuid generated always as (
CASE owner_type
    WHEN 'OFFICE'::text THEN owner_id
    ELSE NULL::uuid
END) stored,
  kind text collate "C" not null,
  email text collate "C",
  phone text collate "C",
  mobile text collate "C",
  fax text collate "C",
  website text collate "C",
  line1 text collate "C",
  line2 text collate "C",
  city text collate "C",
  state text collate "C",
  postal_code text collate "C",
  country text collate "C",
  constraint contact_info_kind_enum CHECK (kind = ANY (ARRAY['PRIMARY'::text, 'BILLING'::text, 'MAILING'::text, 'HOME'::text, 'OTHER'::text])),
  constraint contact_info_owner_client_id_reference FOREIGN KEY (tenant_id, owner_client_id) REFERENCES client(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint contact_info_owner_contact_id_reference FOREIGN KEY (tenant_id, owner_contact_id) REFERENCES contact(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint contact_info_owner_office_id_reference FOREIGN KEY (tenant_id, owner_office_id) REFERENCES office(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint contact_info_owner_type_enum CHECK (owner_type = ANY (ARRAY['CLIENT'::text, 'CONTACT'::text, 'OFFICE'::text])),
  constraint contact_info_pkey PRIMARY KEY (tenant_id, id),
  constraint contact_info_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX contact_info_metadata_index ON contact_info USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX contact_info_owner_id_index ON contact_info USING btree (tenant_id, owner_id);
CREATE UNIQUE INDEX contact_info_owner_id_kind_unique ON contact_info USING btree (tenant_id, owner_id, kind) WHERE active;
CREATE INDEX contact_info_reached_index ON contact_info USING gin (tenant_id, email gin_trgm_ops, lower(email COLLATE fa_case) COLLATE "C" gin_trgm_ops, phone gin_trgm_ops, lower(phone COLLATE fa_case) COLLATE "C" gin_trgm_ops, mobile gin_trgm_ops, lower(mobile COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX contact_info_updated_at_index ON contact_info USING btree (tenant_id, updated_at, id);
alter table contact_info enable row level security, force row level security;
create policy tenant_isolation on contact_info for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on contact_info to financial_automation_service;
CREATE TRIGGER contact_info_owner_id_present AFTER INSERT OR UPDATE OF owner_id ON contact_info FOR EACH ROW WHEN (new.owner_type = 'CLIENT'::text AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION refuse_merged_client('owner_client_id');

create table custom_record (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  type text collate "C" not null,
  attributes jsonb not null,
  constraint custom_record_attributes_object CHECK (jsonb_typeof(attributes) = 'object'::text),
  constraint custom_record_pkey PRIMARY KEY (tenant_id, id),
  constraint custom_record_system_ref_unique UNIQUE (tenant_id, type, system_ref),
  constraint custom_record_type_reference FOREIGN KEY (tenant_id, type) REFERENCES custom_record_type(tenant_id, name)
);
CREATE INDEX custom_record_metadata_index ON custom_record USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX custom_record_type_index ON custom_record USING btree (tenant_id, type, id);
CREATE INDEX custom_record_updated_at_index ON custom_record USING btree (tenant_id, updated_at, id);
alter table custom_record enable row level security, force row level security;
create policy tenant_isolation on custom_record for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on custom_record to financial_automation_service;

create table custom_record_type (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  name text collate "C" not null,
  display_name text collate "C",
  description text collate "C",
  fields jsonb not null,
  constraint custom_record_type_fields_list CHECK (jsonb_typeof(fields) = 'array'::text),
  constraint custom_record_type_name_exact_unique UNIQUE (tenant_id, name),
  constraint custom_record_type_name_pattern CHECK (name ~ '^[A-Z][A-Za-z0-9]{1,62}$'::text),
  constraint custom_record_type_pkey PRIMARY KEY (tenant_id, id),
  constraint custom_record_type_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX custom_record_type_metadata_index ON custom_record_type USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE UNIQUE INDEX custom_record_type_name_unique ON custom_record_type USING btree (tenant_id, lower(name));
CREATE INDEX custom_record_type_updated_at_index ON custom_record_type USING btree (tenant_id, updated_at, id);
alter table custom_record_type enable row level security, force row level security;
create policy tenant_isolation on custom_record_type for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on custom_record_type to financial_automation_service;

create table custom_record_value (
  tenant_id integer not null,
  type text collate "C" not null,
  field text collate "C" not null,
  digest text collate "C" not null,
  record_id uuid not null,
  constraint custom_record_value_record_id_reference FOREIGN KEY (tenant_id, record_id) REFERENCES custom_record(tenant_id, id),
  constraint custom_record_value_type_field_digest_unique PRIMARY KEY (tenant_id, type, field, digest)
);
CREATE INDEX custom_record_value_record_id_index ON custom_record_value USING btree (tenant_id, record_id);
alter table custom_record_value enable row level security, force row level security;
create policy tenant_isolation on custom_record_value for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select on custom_record_value to financial_automation_service;

create table delivery_attempt (
  tenant_id integer not null,
  id uuid not null,
  subscription_id uuid not null,
  event_id uuid not null,
  entity_type text collate "C" not null,
  operation text collate "C" not null,
  entity_id uuid not null,
  attempt smallint not null,
  delivery_url text collate "C" not null,
  http_status_code smallint,
  outcome text collate "C" not null,
  duration_ms integer not null,
  response_snippet text collate "C",
  error_message text collate "C",
  attempted_at timestamp(3) with time zone not null,
  next_retry_at timestamp(3) with time zone,
  constraint delivery_attempt_outcome_enum CHECK (outcome = ANY (ARRAY['SUCCESS'::text, 'FAILED'::text, 'TIMEOUT'::text, 'BLOCKED'::text])),
  constraint delivery_attempt_pkey PRIMARY KEY (tenant_id, id)
) partition by RANGE (id);
CREATE INDEX delivery_attempt_subscription_id_index ON ONLY delivery_attempt USING btree (tenant_id, subscription_id, attempted_at, id);
alter table delivery_attempt enable row level security, force row level security;
create policy tenant_isolation on delivery_attempt for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select on delivery_attempt to financial_automation_service;

create table delivery_partition (
  tenant_id integer not null,
  subscription_id uuid not null,
  "position" bigint not null,
  due_at timestamp(3) with time zone,
  leased_by uuid,
  leased_until timestamp(3) with time zone,
  last_delivery_at timestamp(3) with time zone,
  consecutive_failures integer default 0 not null,
  failing_since timestamp(3) with time zone,
  paused_until timestamp(3) with time zone,
  constraint delivery_partition_failing_since_agrees CHECK ((failing_since IS NULL) = (consecutive_failures = 0)),
  constraint delivery_partition_leased_by_agrees CHECK ((leased_by IS NULL) = (leased_until IS NULL)),
  constraint delivery_partition_pkey PRIMARY KEY (tenant_id, subscription_id),
  constraint delivery_partition_subscription_id_reference FOREIGN KEY (tenant_id, subscription_id) REFERENCES event_subscription(tenant_id, id)
) with (fillfactor=50);
CREATE INDEX delivery_partition_failing_index ON delivery_partition USING btree (due_at) WHERE leased_until IS NULL AND due_at IS NOT NULL AND consecutive_failures > 0;
CREATE INDEX delivery_partition_leased_until_index ON delivery_partition USING btree (leased_until) WHERE leased_until IS NOT NULL;
CREATE INDEX delivery_partition_working_index ON delivery_partition USING btree (due_at) WHERE leased_until IS NULL AND due_at IS NOT NULL AND consecutive_failures = 0;
alter table delivery_partition enable row level security, force row level security;
create policy delivery_partition_owner on delivery_partition for all to the owner using (true) with check (true);
create policy tenant_isolation on delivery_partition for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on delivery_partition to financial_automation_service;

create table delivery_retry (
  tenant_id integer not null,
  subscription_id uuid not null,
  event_id uuid not null,
  entity_id uuid not null,
  "position" bigint not null,
  attempts smallint not null,
  due_at timestamp(3) with time zone not null,
  constraint delivery_retry_attempts_range CHECK (attempts >= 0 AND attempts <= 9),
  constraint delivery_retry_pkey PRIMARY KEY (tenant_id, subscription_id, event_id)
);
CREATE INDEX delivery_retry_due_at_index ON delivery_retry USING btree (tenant_id, subscription_id, due_at);
CREATE INDEX delivery_retry_entity_id_index ON delivery_retry USING btree (tenant_id, subscription_id, entity_id, "position");
CREATE INDEX delivery_retry_event_id_index ON delivery_retry USING btree (tenant_id, event_id);
alter table delivery_retry enable row level security, force row level security;
create policy tenant_isolation on delivery_retry for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select, update on delivery_retry to financial_automation_service;

create table department (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  name text collate "C" not null,
  code text collate "C" not null,
  head_id uuid,
  office_id uuid,
  parent_id uuid,
  constraint department_code_unique UNIQUE (tenant_id, code),
  constraint department_head_id_reference FOREIGN KEY (tenant_id, head_id) REFERENCES staff(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint department_name_unique UNIQUE (tenant_id, name),
  constraint department_office_id_reference FOREIGN KEY (tenant_id, office_id) REFERENCES office(tenant_id, id),
  constraint department_parent_id_other CHECK (parent_id <> id),
  constraint department_parent_id_reference FOREIGN KEY (tenant_id, parent_id) REFERENCES department(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint department_pkey PRIMARY KEY (tenant_id, id),
  constraint department_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX department_metadata_index ON department USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX department_updated_at_index ON department USING btree (tenant_id, updated_at, id);
alter table department enable row level security, force row level security;
create policy tenant_isolation on department for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on department to financial_automation_service;

create table document_series (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  org_id uuid not null,
  document_type text collate "C" not null,
  office_id uuid,
  pattern text collate "C" not null,
  restarts text collate "C" not null,
  first_number integer default 1 not null,
  first_period text collate "C" default ''::text not null,
  constraint document_series_document_type_enum CHECK (document_type = ANY (ARRAY['INVOICE'::text, 'CREDIT_NOTE'::text])),
  constraint document_series_office_id_reference FOREIGN KEY (tenant_id, office_id) REFERENCES office(tenant_id, id),
  constraint document_series_org_id_reference FOREIGN KEY (tenant_id, org_id) REFERENCES org(tenant_id, id),
  constraint document_series_pattern_agrees CHECK (
CASE restarts
    WHEN 'YEAR'::text THEN pattern ~ '\{YY(YY)?\}'::text
    WHEN 'MONTH'::text THEN pattern ~ '\{YY(YY)?\}'::text AND pattern ~~ '%{MM}%'::text
    ELSE true
END),
  constraint document_series_pkey PRIMARY KEY (tenant_id, id),
  constraint document_series_restarts_enum CHECK (restarts = ANY (ARRAY['NEVER'::text, 'YEAR'::text, 'MONTH'::text])),
  constraint document_series_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX document_series_metadata_index ON document_series USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE UNIQUE INDEX document_series_office_id_unique ON document_series USING btree (tenant_id, org_id, document_type, office_id) NULLS NOT DISTINCT WHERE active;
CREATE UNIQUE INDEX document_series_pattern_unique ON document_series USING btree (tenant_id, org_id, regexp_replace(pattern, '\{N+\}'::text, '{N}'::text)) WHERE active;
CREATE INDEX document_series_updated_at_index ON document_series USING btree (tenant_id, updated_at, id);
alter table document_series enable row level security, force row level security;
create policy tenant_isolation on document_series for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on document_series to financial_automation_service;

create table draft_invoice (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  client_id uuid not null,
  job_ids uuid[] default '{}'::uuid[] not null,
  billing_contact_id uuid,
  due_date date not null,
  subtotal numeric(16,2) default 0 not null,
  discount_total numeric(16,2) default 0 not null,
  tax_total numeric(16,2) default 0 not null,
  interest_total numeric(16,2) default 0 not null,
  total numeric(16,2) default 0 not null,
  currency text collate "C" not null,
  credited_invoice_id uuid,
  purchase_order text collate "C",
  memo text collate "C",
  prices_include_tax boolean default false not null,
  tax_rounding text collate "C" default 'LINE'::text not null,
  tax_exempt_reason text collate "C",
  service_period_start date,
  service_period_end date,
  order_reference text collate "C",
  buyer_reference text collate "C",
  early_payment jsonb,
  draft_number text collate "C" not null,
  status text collate "C" default 'DRAFT'::text not null,
  bill_through_date date not null,
  proposed_invoice_date date not null,
  standard_amount numeric(16,2) default 0 not null,
  adjustment_amount numeric(16,2) default 0 not null,
  prepared_by_id uuid,
  reviewer_id uuid,
  approved_by_id uuid,
  submitted_at timestamp(3) with time zone,
  approved_at timestamp(3) with time zone,
  rejected_at timestamp(3) with time zone,
  invoice_id uuid,
  rejection_reason text collate "C",
  note text collate "C",
  created_by_api_user_id uuid,
  constraint draft_invoice_active_agrees CHECK (active = (status <> 'DELETED'::text)),
  constraint draft_invoice_approved_by_id_reference FOREIGN KEY (tenant_id, approved_by_id) REFERENCES staff(tenant_id, id),
  constraint draft_invoice_billing_contact_id_reference FOREIGN KEY (tenant_id, billing_contact_id) REFERENCES contact(tenant_id, id),
  constraint draft_invoice_client_id_reference FOREIGN KEY (tenant_id, client_id) REFERENCES client(tenant_id, id),
  constraint draft_invoice_credited_invoice_id_agrees CHECK (credited_invoice_id IS NULL OR total < 0::numeric OR (status = ANY (ARRAY['DRAFT'::text, 'REJECTED'::text, 'DELETED'::text]))),
  constraint draft_invoice_credited_invoice_id_reference FOREIGN KEY (tenant_id, credited_invoice_id) REFERENCES invoice(tenant_id, id) DEFERRABLE,
  constraint draft_invoice_discount_total_range CHECK (discount_total >= 0::numeric),
  constraint draft_invoice_draft_number_unique UNIQUE (tenant_id, draft_number),
  constraint draft_invoice_due_date_order CHECK (due_date >= proposed_invoice_date),
  constraint draft_invoice_interest_total_range CHECK (interest_total >= 0::numeric),
  constraint draft_invoice_invoice_id_agrees CHECK ((status = 'POSTED'::text) = (invoice_id IS NOT NULL)),
  constraint draft_invoice_invoice_id_reference FOREIGN KEY (tenant_id, invoice_id) REFERENCES invoice(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint draft_invoice_pkey PRIMARY KEY (tenant_id, id),
  constraint draft_invoice_prepared_by_id_reference FOREIGN KEY (tenant_id, prepared_by_id) REFERENCES staff(tenant_id, id),
  constraint draft_invoice_rejection_reason_agrees CHECK ((status = 'REJECTED'::text) = (rejection_reason IS NOT NULL)),
  constraint draft_invoice_reviewer_id_reference FOREIGN KEY (tenant_id, reviewer_id) REFERENCES staff(tenant_id, id),
  constraint draft_invoice_service_period_order CHECK (service_period_end >= service_period_start),
  constraint draft_invoice_status_enum CHECK (status = ANY (ARRAY['DRAFT'::text, 'IN_REVIEW'::text, 'APPROVED'::text, 'REJECTED'::text, 'POSTED'::text, 'DELETED'::text])),
  constraint draft_invoice_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint draft_invoice_tax_rounding_enum CHECK (tax_rounding = ANY (ARRAY['LINE'::text, 'DOCUMENT'::text])),
  constraint draft_invoice_total_agrees CHECK (total = document_total(subtotal, discount_total, tax_total, interest_total))
);
CREATE INDEX draft_invoice_client_id_index ON draft_invoice USING btree (tenant_id, client_id, status);
CREATE INDEX draft_invoice_metadata_index ON draft_invoice USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX draft_invoice_proposed_invoice_date_index ON draft_invoice USING btree (tenant_id, proposed_invoice_date, id);
CREATE INDEX draft_invoice_status_index ON draft_invoice USING btree (tenant_id, status, id);
CREATE INDEX draft_invoice_total_index ON draft_invoice USING btree (tenant_id, total, id);
CREATE INDEX draft_invoice_updated_at_index ON draft_invoice USING btree (tenant_id, updated_at, id);
alter table draft_invoice enable row level security, force row level security;
create policy tenant_isolation on draft_invoice for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on draft_invoice to financial_automation_service;
CREATE CONSTRAINT TRIGGER draft_invoice_agrees AFTER INSERT OR UPDATE ON draft_invoice DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION check_draft_invoice();
CREATE TRIGGER draft_invoice_client_id_present AFTER INSERT OR UPDATE OF client_id ON draft_invoice FOR EACH ROW WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION refuse_merged_client('client_id');

create table draft_invoice_history (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  draft_invoice_id uuid not null,
  revision integer not null,
  action text collate "C" not null,
  from_status text collate "C",
  to_status text collate "C" not null,
  changed_by_id uuid,
  changed_by_api_user_id uuid,
  changed_at timestamp(3) with time zone not null,
  changes jsonb not null,
  client_id uuid not null,
  job_ids uuid[] not null,
  invoice_id uuid,
  total numeric(16,2) not null,
  draft_invoice jsonb not null,
  constraint draft_invoice_history_action_enum CHECK (action = ANY (ARRAY['CREATED'::text, 'EDITED'::text, 'SUBMITTED'::text, 'APPROVED'::text, 'REJECTED'::text, 'POSTED'::text, 'DELETED'::text])),
  constraint draft_invoice_history_changed_by_id_reference FOREIGN KEY (tenant_id, changed_by_id) REFERENCES staff(tenant_id, id),
  constraint draft_invoice_history_client_id_reference FOREIGN KEY (tenant_id, client_id) REFERENCES client(tenant_id, id),
  constraint draft_invoice_history_draft_invoice_id_reference FOREIGN KEY (tenant_id, draft_invoice_id) REFERENCES draft_invoice(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint draft_invoice_history_from_status_enum CHECK (from_status = ANY (ARRAY['DRAFT'::text, 'IN_REVIEW'::text, 'APPROVED'::text, 'REJECTED'::text, 'POSTED'::text, 'DELETED'::text])),
  constraint draft_invoice_history_invoice_id_reference FOREIGN KEY (tenant_id, invoice_id) REFERENCES invoice(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint draft_invoice_history_pkey PRIMARY KEY (tenant_id, id),
  constraint draft_invoice_history_revision_unique UNIQUE (tenant_id, draft_invoice_id, revision),
  constraint draft_invoice_history_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint draft_invoice_history_to_status_enum CHECK (to_status = ANY (ARRAY['DRAFT'::text, 'IN_REVIEW'::text, 'APPROVED'::text, 'REJECTED'::text, 'POSTED'::text, 'DELETED'::text]))
);
CREATE INDEX draft_invoice_history_active_desc_index ON draft_invoice_history USING btree (tenant_id, active DESC, id);
CREATE INDEX draft_invoice_history_active_index ON draft_invoice_history USING btree (tenant_id, active, id);
CREATE INDEX draft_invoice_history_approved_at_index ON draft_invoice_history USING btree (tenant_id, stored_instant(draft_invoice ->> 'approvedAt'::text), id);
CREATE INDEX draft_invoice_history_changed_at_index ON draft_invoice_history USING btree (tenant_id, changed_at, id);
CREATE INDEX draft_invoice_history_client_id_index ON draft_invoice_history USING btree (tenant_id, client_id, changed_at, id);
CREATE INDEX draft_invoice_history_created_at_index ON draft_invoice_history USING btree (tenant_id, created_at, id);
CREATE INDEX draft_invoice_history_invoice_id_index ON draft_invoice_history USING btree (tenant_id, invoice_id) WHERE invoice_id IS NOT NULL;
CREATE INDEX draft_invoice_history_job_ids_index ON draft_invoice_history USING gin (tenant_id, job_ids);
CREATE INDEX draft_invoice_history_metadata_index ON draft_invoice_history USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX draft_invoice_history_revision_desc_index ON draft_invoice_history USING btree (tenant_id, revision DESC, id);
CREATE INDEX draft_invoice_history_revision_index ON draft_invoice_history USING btree (tenant_id, revision, id);
CREATE INDEX draft_invoice_history_to_status_index ON draft_invoice_history USING btree (tenant_id, to_status, id);
CREATE INDEX draft_invoice_history_total_index ON draft_invoice_history USING btree (tenant_id, total, id);
CREATE INDEX draft_invoice_history_updated_at_index ON draft_invoice_history USING btree (tenant_id, updated_at, id);
alter table draft_invoice_history enable row level security, force row level security;
create policy tenant_isolation on draft_invoice_history for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select on draft_invoice_history to financial_automation_service;
grant update (client_id) on draft_invoice_history to financial_automation_service;
CREATE TRIGGER draft_invoice_history_immutable BEFORE DELETE OR UPDATE ON draft_invoice_history FOR EACH ROW EXECUTE FUNCTION refuse_change_but_merge();

create table draft_invoice_line (
  tenant_id integer not null,
  "position" integer not null,
  id uuid not null,
  line_type text collate "C" not null,
  job_id uuid,
  description text collate "C" not null,
  quantity numeric not null,
  unit_amount numeric not null,
  amount numeric(16,2) not null,
  taxable boolean not null,
  tax_rate_percent numeric not null,
  tax_amount numeric(16,2) not null,
  relief text collate "C" not null,
  exceeds_fee boolean default false not null,
  taxes jsonb default '[]'::jsonb not null,
  tax_code_id uuid,
  unit_code text collate "C" default 'C62'::text not null,
  draft_invoice_id uuid not null,
  constraint draft_invoice_line_draft_invoice_id_reference FOREIGN KEY (tenant_id, draft_invoice_id) REFERENCES draft_invoice(tenant_id, id),
  constraint draft_invoice_line_job_id_reference FOREIGN KEY (tenant_id, job_id) REFERENCES job(tenant_id, id),
  constraint draft_invoice_line_line_type_enum CHECK (line_type = ANY (ARRAY['TIME'::text, 'EXPENSE'::text, 'FIXED_FEE'::text, 'PROGRESS'::text, 'DISCOUNT'::text, 'INTEREST'::text, 'OTHER'::text])),
  constraint draft_invoice_line_pkey PRIMARY KEY (tenant_id, id),
  constraint draft_invoice_line_quantity_range CHECK (abs(quantity) < '100000000000'::numeric AND scale(quantity) <= 4),
  constraint draft_invoice_line_relief_enum CHECK (relief = ANY (ARRAY['FULL'::text, 'PART'::text])),
  constraint draft_invoice_line_tax_code_id_reference FOREIGN KEY (tenant_id, tax_code_id) REFERENCES tax_code(tenant_id, id),
  constraint draft_invoice_line_tax_rate_percent_range CHECK (tax_rate_percent >= 0::numeric AND tax_rate_percent <= 100::numeric AND scale(tax_rate_percent) <= 4),
  constraint draft_invoice_line_unit_amount_range CHECK (abs(unit_amount) < '100000000000'::numeric AND scale(unit_amount) <= 4),
  constraint draft_invoice_line_unit_code_enum CHECK (unit_code = ANY (ARRAY['C62'::text, 'HUR'::text, 'MIN'::text, 'DAY'::text, 'WEE'::text, 'MON'::text, 'QAN'::text, 'ANN'::text, 'LS'::text, 'H87'::text, 'E48'::text, 'KMT'::text, 'SMI'::text, 'ZP'::text, 'P1'::text, 'KGM'::text, 'LTR'::text, 'MTR'::text, 'MTK'::text, 'KWH'::text]))
);
CREATE INDEX draft_invoice_line_draft_invoice_id_index ON draft_invoice_line USING btree (tenant_id, draft_invoice_id, "position");
alter table draft_invoice_line enable row level security, force row level security;
create policy tenant_isolation on draft_invoice_line for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select on draft_invoice_line to financial_automation_service;

create table draft_invoice_line_wip (
  tenant_id integer not null,
  line_id uuid not null,
  "position" integer not null,
  wip_entry_id uuid not null,
  constraint draft_invoice_line_wip_line_id_reference FOREIGN KEY (tenant_id, line_id) REFERENCES draft_invoice_line(tenant_id, id) ON DELETE CASCADE,
  constraint draft_invoice_line_wip_pkey PRIMARY KEY (tenant_id, line_id, "position"),
  constraint draft_invoice_line_wip_wip_entry_id_reference FOREIGN KEY (tenant_id, wip_entry_id) REFERENCES wip_entry(tenant_id, id)
);
alter table draft_invoice_line_wip enable row level security, force row level security;
create policy tenant_isolation on draft_invoice_line_wip for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select on draft_invoice_line_wip to financial_automation_service;

create table ended_session (
  tenant_id integer not null,
  id text collate "C" not null,
  expires_at timestamp(3) with time zone not null,
  constraint ended_session_pkey PRIMARY KEY (tenant_id, id)
);
alter table ended_session enable row level security, force row level security;
create policy tenant_isolation on ended_session for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select on ended_session to financial_automation_service;

create table engagement (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  client_id uuid not null,
  name text collate "C" not null,
  engagement_ref text collate "C" not null,
  type text collate "C" default 'OTHER'::text not null,
  fiscal_year integer not null,
  start_date date,
  end_date date,
  status text collate "C" default 'DRAFT'::text not null,
  template_id uuid,
  template_name text collate "C",
  partner_id uuid,
  manager_id uuid,
  fee_amount numeric(16,2),
  fee_type text collate "C",
  deposit_amount numeric(16,2),
  currency text collate "C" not null,
  expires_at timestamp(3) with time zone,
  decline_reason text collate "C",
  sent_at timestamp(3) with time zone,
  viewed_at timestamp(3) with time zone,
  executed_at timestamp(3) with time zone,
  completed_at timestamp(3) with time zone,
  constraint engagement_client_id_reference FOREIGN KEY (tenant_id, client_id) REFERENCES client(tenant_id, id),
  constraint engagement_completed_at_agrees CHECK ((status = 'COMPLETED'::text) = (completed_at IS NOT NULL)),
  constraint engagement_deposit_amount_range CHECK (deposit_amount >= 0::numeric),
  constraint engagement_end_date_order CHECK (end_date >= start_date),
  constraint engagement_engagement_ref_unique UNIQUE (tenant_id, engagement_ref),
  constraint engagement_executed_at_agrees CHECK (
CASE status
    WHEN 'CANCELLED'::text THEN true
    WHEN 'EXECUTED'::text THEN executed_at IS NOT NULL
    WHEN 'ACTIVE'::text THEN executed_at IS NOT NULL
    WHEN 'ON_HOLD'::text THEN executed_at IS NOT NULL
    WHEN 'COMPLETED'::text THEN executed_at IS NOT NULL
    ELSE executed_at IS NULL
END),
  constraint engagement_fee_amount_range CHECK (fee_amount >= 0::numeric),
  constraint engagement_fee_type_enum CHECK (fee_type = ANY (ARRAY['TIME_AND_MATERIALS'::text, 'FIXED_FEE'::text, 'RECURRING'::text, 'NON_BILLABLE'::text])),
  constraint engagement_fiscal_year_range CHECK (fiscal_year >= 2000 AND fiscal_year <= 2100),
  constraint engagement_manager_id_reference FOREIGN KEY (tenant_id, manager_id) REFERENCES staff(tenant_id, id),
  constraint engagement_partner_id_reference FOREIGN KEY (tenant_id, partner_id) REFERENCES staff(tenant_id, id),
  constraint engagement_pkey PRIMARY KEY (tenant_id, id),
  constraint engagement_sent_at_agrees CHECK (
CASE
    WHEN status = 'DRAFT'::text THEN sent_at IS NULL
    WHEN status = 'CANCELLED'::text THEN true
    ELSE sent_at IS NOT NULL
END),
  constraint engagement_status_enum CHECK (status = ANY (ARRAY['DRAFT'::text, 'SENT'::text, 'EXECUTED'::text, 'ACTIVE'::text, 'ON_HOLD'::text, 'COMPLETED'::text, 'DECLINED'::text, 'EXPIRED'::text, 'CANCELLED'::text])),
  constraint engagement_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint engagement_type_enum CHECK (type = ANY (ARRAY['AUDIT'::text, 'REVIEW'::text, 'COMPILATION'::text, 'TAX'::text, 'CAS'::text, 'ADVISORY'::text, 'OTHER'::text]))
);
CREATE INDEX engagement_active_desc_index ON engagement USING btree (tenant_id, active DESC, id);
CREATE INDEX engagement_active_index ON engagement USING btree (tenant_id, active, id);
CREATE INDEX engagement_client_id_index ON engagement USING btree (tenant_id, client_id, status);
CREATE INDEX engagement_created_at_index ON engagement USING btree (tenant_id, created_at, id);
CREATE INDEX engagement_end_date_index ON engagement USING btree (tenant_id, end_date, id);
CREATE INDEX engagement_end_date_nulls_last_index ON engagement USING btree (tenant_id, end_date DESC NULLS LAST, id);
CREATE INDEX engagement_executed_at_index ON engagement USING btree (tenant_id, executed_at, id);
CREATE INDEX engagement_executed_at_nulls_last_index ON engagement USING btree (tenant_id, executed_at DESC NULLS LAST, id);
CREATE INDEX engagement_expires_at_index ON engagement USING btree (tenant_id, expires_at, id);
CREATE INDEX engagement_expires_at_nulls_last_index ON engagement USING btree (tenant_id, expires_at DESC NULLS LAST, id);
CREATE INDEX engagement_expiring_index ON engagement USING btree (tenant_id, expires_at) WHERE status = 'SENT'::text AND expires_at IS NOT NULL;
CREATE INDEX engagement_fee_amount_index ON engagement USING btree (tenant_id, fee_amount, id);
CREATE INDEX engagement_fiscal_year_desc_index ON engagement USING btree (tenant_id, fiscal_year DESC, id);
CREATE INDEX engagement_fiscal_year_index ON engagement USING btree (tenant_id, fiscal_year, id);
CREATE INDEX engagement_manager_id_index ON engagement USING btree (tenant_id, manager_id) WHERE manager_id IS NOT NULL;
CREATE INDEX engagement_metadata_index ON engagement USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX engagement_name_index ON engagement USING btree (tenant_id, name, id);
CREATE INDEX engagement_names_index ON engagement USING gin (tenant_id, name gin_trgm_ops, lower(name COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX engagement_partner_id_index ON engagement USING btree (tenant_id, partner_id) WHERE partner_id IS NOT NULL;
CREATE INDEX engagement_refs_index ON engagement USING gin (tenant_id, engagement_ref gin_trgm_ops, lower(engagement_ref COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX engagement_search_index ON engagement USING gin (tenant_id, search_text(name) gin_trgm_ops);
CREATE INDEX engagement_sent_at_index ON engagement USING btree (tenant_id, sent_at, id);
CREATE INDEX engagement_sent_at_nulls_last_index ON engagement USING btree (tenant_id, sent_at DESC NULLS LAST, id);
CREATE INDEX engagement_start_date_index ON engagement USING btree (tenant_id, start_date, id);
CREATE INDEX engagement_start_date_nulls_last_index ON engagement USING btree (tenant_id, start_date DESC NULLS LAST, id);
CREATE INDEX engagement_status_desc_index ON engagement USING btree (tenant_id, status DESC, id);
CREATE INDEX engagement_status_index ON engagement USING btree (tenant_id, status, id);
CREATE INDEX engagement_template_id_index ON engagement USING btree (tenant_id, template_id) WHERE template_id IS NOT NULL;
CREATE INDEX engagement_updated_at_index ON engagement USING btree (tenant_id, updated_at, id);
alter table engagement enable row level security, force row level security;
create policy tenant_isolation on engagement for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on engagement to financial_automation_service;
CREATE TRIGGER engagement_client_id_present AFTER INSERT OR UPDATE OF client_id ON engagement FOR EACH ROW WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION refuse_merged_client('client_id');
CREATE TRIGGER engagement_due AFTER INSERT ON engagement REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION note_due_letters();
CREATE TRIGGER engagement_due_again AFTER UPDATE ON engagement REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION note_due_letters();

create table engagement_batch (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  status text collate "C" default 'PENDING'::text not null,
  total integer not null,
  started_at timestamp(3) with time zone,
  finished_at timestamp(3) with time zone,
  created_by_api_user_id uuid not null,
  constraint engagement_batch_finished_at_agrees CHECK ((status = ANY (ARRAY['PENDING'::text, 'PROCESSING'::text])) = (finished_at IS NULL)),
  constraint engagement_batch_pkey PRIMARY KEY (tenant_id, id),
  constraint engagement_batch_started_at_agrees CHECK ((status = 'PENDING'::text) = (started_at IS NULL)),
  constraint engagement_batch_status_enum CHECK (status = ANY (ARRAY['PENDING'::text, 'PROCESSING'::text, 'COMPLETED'::text, 'COMPLETED_WITH_ERRORS'::text, 'FAILED'::text])),
  constraint engagement_batch_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint engagement_batch_total_range CHECK (total >= 1 AND total <= 500)
);
CREATE INDEX engagement_batch_metadata_index ON engagement_batch USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX engagement_batch_updated_at_index ON engagement_batch USING btree (tenant_id, updated_at, id);
alter table engagement_batch enable row level security, force row level security;
create policy tenant_isolation on engagement_batch for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on engagement_batch to financial_automation_service;

create table engagement_batch_item (
  tenant_id integer not null,
  engagement_batch_id uuid not null,
  index integer not null,
  entry jsonb not null,
  engagement_id uuid,
  failure jsonb,
  constraint engagement_batch_item_engagement_batch_id_reference FOREIGN KEY (tenant_id, engagement_batch_id) REFERENCES engagement_batch(tenant_id, id),
  constraint engagement_batch_item_engagement_id_reference FOREIGN KEY (tenant_id, engagement_id) REFERENCES engagement(tenant_id, id),
  constraint engagement_batch_item_failure_agrees CHECK (engagement_id IS NULL OR failure IS NULL),
  constraint engagement_batch_item_pkey PRIMARY KEY (tenant_id, engagement_batch_id, index)
);
alter table engagement_batch_item enable row level security, force row level security;
create policy tenant_isolation on engagement_batch_item for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on engagement_batch_item to financial_automation_service;

create table engagement_document (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  engagement_id uuid not null,
  document_type_id uuid not null,
  document_type_name text collate "C" not null,
  file_name text collate "C" not null,
  file_id uuid,
  mime_type text collate "C" not null,
  size_bytes bigint default 0 not null,
  status text collate "C" default 'DRAFT'::text not null,
  version_number integer not null,
  signed_at timestamp(3) with time zone,
  file_failed_at timestamp(3) with time zone,
  constraint engagement_document_engagement_id_reference FOREIGN KEY (tenant_id, engagement_id) REFERENCES engagement(tenant_id, id),
  constraint engagement_document_file_id_reference FOREIGN KEY (tenant_id, file_id) REFERENCES file(tenant_id, id),
  constraint engagement_document_pkey PRIMARY KEY (tenant_id, id),
  constraint engagement_document_signed_at_agrees CHECK ((status = 'SIGNED'::text) = (signed_at IS NOT NULL)),
  constraint engagement_document_size_bytes_range CHECK (size_bytes >= 0 AND size_bytes <= '9007199254740991'::bigint),
  constraint engagement_document_status_enum CHECK (status = ANY (ARRAY['DRAFT'::text, 'SENT'::text, 'SIGNED'::text, 'SUPERSEDED'::text])),
  constraint engagement_document_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint engagement_document_version_number_unique UNIQUE (tenant_id, engagement_id, document_type_id, version_number)
);
CREATE INDEX engagement_document_metadata_index ON engagement_document USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX engagement_document_updated_at_index ON engagement_document USING btree (tenant_id, updated_at, id);
alter table engagement_document enable row level security, force row level security;
create policy tenant_isolation on engagement_document for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on engagement_document to financial_automation_service;

create table engagement_job (
  tenant_id integer not null,
  engagement_id uuid not null,
  "position" integer not null,
  id uuid not null,
  is_active boolean not null,
  constraint engagement_job_engagement_id_reference FOREIGN KEY (tenant_id, engagement_id) REFERENCES engagement(tenant_id, id),
  constraint engagement_job_id_reference FOREIGN KEY (tenant_id, id) REFERENCES job(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint engagement_job_pkey PRIMARY KEY (tenant_id, engagement_id, id)
);
CREATE UNIQUE INDEX engagement_job_active_unique ON engagement_job USING btree (tenant_id, id) WHERE is_active;
alter table engagement_job enable row level security, force row level security;
create policy tenant_isolation on engagement_job for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select on engagement_job to financial_automation_service;

create table engagement_signer (
  tenant_id integer not null,
  engagement_id uuid not null,
  "position" integer not null,
  contact_id uuid not null,
  status text collate "C" not null,
  signed_at timestamp(3) with time zone,
  constraint engagement_signer_contact_id_reference FOREIGN KEY (tenant_id, contact_id) REFERENCES contact(tenant_id, id),
  constraint engagement_signer_contact_id_unique UNIQUE (tenant_id, engagement_id, contact_id),
  constraint engagement_signer_engagement_id_reference FOREIGN KEY (tenant_id, engagement_id) REFERENCES engagement(tenant_id, id),
  constraint engagement_signer_pkey PRIMARY KEY (tenant_id, engagement_id, "position"),
  constraint engagement_signer_signed_at_agrees CHECK ((status = 'SIGNED'::text) = (signed_at IS NOT NULL)),
  constraint engagement_signer_status_enum CHECK (status = ANY (ARRAY['PENDING'::text, 'VIEWED'::text, 'SIGNED'::text, 'DECLINED'::text]))
);
alter table engagement_signer enable row level security, force row level security;
create policy tenant_isolation on engagement_signer for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select on engagement_signer to financial_automation_service;

create table engagement_staff (
  tenant_id integer not null,
  engagement_id uuid not null,
  "position" integer not null,
  staff_id uuid not null,
  role text collate "C" not null,
  constraint engagement_staff_engagement_id_reference FOREIGN KEY (tenant_id, engagement_id) REFERENCES engagement(tenant_id, id),
  constraint engagement_staff_pkey PRIMARY KEY (tenant_id, engagement_id, "position"),
  constraint engagement_staff_role_enum CHECK (role = ANY (ARRAY['PARTNER'::text, 'MANAGER'::text, 'IN_CHARGE'::text, 'REVIEWER'::text, 'PREPARER'::text, 'OTHER'::text])),
  constraint engagement_staff_staff_id_reference FOREIGN KEY (tenant_id, staff_id) REFERENCES staff(tenant_id, id)
);
alter table engagement_staff enable row level security, force row level security;
create policy tenant_isolation on engagement_staff for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select on engagement_staff to financial_automation_service;

create table entity_ref (
  tenant_id integer not null,
  entity_type text collate "C" not null,
  system text collate "C" not null,
  ref text collate "C" not null,
  entity_id uuid not null,
  constraint entity_ref_entity_type_system_ref_unique PRIMARY KEY (tenant_id, entity_type, system, ref)
);
CREATE INDEX entity_ref_entity_id_index ON entity_ref USING btree (tenant_id, entity_type, entity_id);
alter table entity_ref enable row level security, force row level security;
create policy tenant_isolation on entity_ref for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select, update on entity_ref to financial_automation_service;

create table event_feed (
  tenant_id integer not null,
  "position" bigint default 0 not null,
  constraint event_feed_pkey PRIMARY KEY (tenant_id)
);
alter table event_feed enable row level security, force row level security;
create policy tenant_isolation on event_feed for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on event_feed to financial_automation_service;

create table event_position (
  tenant_id integer not null,
  "position" bigint not null,
  event_id uuid not null,
  entity_type text collate "C" not null,
  entity_id uuid not null,
  operation text collate "C" not null,
  recorded_at timestamp(3) with time zone not null,
  constraint event_position_event_id_unique UNIQUE (tenant_id, event_id),
  constraint event_position_pkey PRIMARY KEY (tenant_id, "position")
);
CREATE INDEX event_position_entity_type_index ON event_position USING btree (tenant_id, entity_type, "position");
alter table event_position enable row level security, force row level security;
create policy tenant_isolation on event_position for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select on event_position to financial_automation_service;

create table event_subscription (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  delivery_url text collate "C" not null,
  entity_type text collate "C" not null,
  operations text[] not null,
  filter_expression text collate "C",
  description text collate "C",
  created_by_api_user_id uuid not null,
  deactivated_at timestamp(3) with time zone,
  active_since timestamp(3) with time zone default tenant_clock_timestamp() not null,
  more_entity_types text[] default '{}'::text[] not null,
  constraint event_subscription_created_by_api_user_id_reference FOREIGN KEY (tenant_id, created_by_api_user_id) REFERENCES api_user(tenant_id, id),
  constraint event_subscription_deactivated_at_agrees CHECK (active = (deactivated_at IS NULL)),
  constraint event_subscription_operations_enum CHECK (operations <@ ARRAY['CREATE'::text, 'UPDATE'::text, 'DELETE'::text]),
  constraint event_subscription_operations_present CHECK (cardinality(operations) > 0),
  constraint event_subscription_pkey PRIMARY KEY (tenant_id, id),
  constraint event_subscription_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX event_subscription_entity_type_index ON event_subscription USING btree (tenant_id, entity_type) WHERE active;
CREATE INDEX event_subscription_metadata_index ON event_subscription USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX event_subscription_updated_at_index ON event_subscription USING btree (tenant_id, updated_at, id);
alter table event_subscription enable row level security, force row level security;
create policy tenant_isolation on event_subscription for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on event_subscription to financial_automation_service;
CREATE TRIGGER event_subscription_active_since BEFORE UPDATE OF active ON event_subscription FOR EACH ROW WHEN (new.active AND NOT old.active AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION renew_active_since();
CREATE TRIGGER event_subscription_starts AFTER INSERT ON event_subscription FOR EACH ROW WHEN (new.active AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION start_delivery_partition();
CREATE TRIGGER event_subscription_starts_again AFTER UPDATE OF active ON event_subscription FOR EACH ROW WHEN (new.active AND NOT old.active AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION start_delivery_partition();

create table event_waiting (
  tenant_id integer not null,
  recorded_at timestamp(3) with time zone not null,
  sequence bigint not null,
  event_id uuid not null,
  entity_type text collate "C" not null,
  entity_id uuid not null,
  operation text collate "C" not null,
  constraint event_waiting_pkey PRIMARY KEY (tenant_id, recorded_at, sequence, event_id)
);
alter table event_waiting enable row level security, force row level security;
create policy event_waiting_owner on event_waiting for all to the owner using (true) with check (true);
create policy tenant_isolation on event_waiting for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select on event_waiting to financial_automation_service;

create table expense_code (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  code text collate "C" not null,
  name text collate "C" not null,
  description text collate "C",
  is_billable boolean not null,
  category text collate "C",
  service_line_id uuid,
  task_type_id uuid,
  default_rate numeric,
  constraint expense_code_code_unique UNIQUE (tenant_id, code),
  constraint expense_code_default_rate_range CHECK (default_rate >= 0::numeric AND default_rate < '100000000000'::numeric AND scale(default_rate) <= 4),
  constraint expense_code_pkey PRIMARY KEY (tenant_id, id),
  constraint expense_code_service_line_id_reference FOREIGN KEY (tenant_id, service_line_id) REFERENCES service_line(tenant_id, id),
  constraint expense_code_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint expense_code_task_type_id_reference FOREIGN KEY (tenant_id, task_type_id) REFERENCES task_type(tenant_id, id)
);
CREATE INDEX expense_code_metadata_index ON expense_code USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX expense_code_updated_at_index ON expense_code USING btree (tenant_id, updated_at, id);
alter table expense_code enable row level security, force row level security;
create policy tenant_isolation on expense_code for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on expense_code to financial_automation_service;

create table expense_entry (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  status text collate "C" default 'DRAFT'::text not null,
  rejection_reason text collate "C",
  approved_by_id uuid,
  approved_at timestamp(3) with time zone,
  created_by_api_user_id uuid,
  staff_id uuid not null,
  job_id uuid not null,
  code text collate "C" not null,
  expense_date date not null,
  cost numeric(16,2) not null,
  billable_amount numeric(16,2) not null,
  markup_percent numeric,
  description text collate "C" not null,
  receipt_file_id uuid,
  constraint expense_entry_approved_at_agrees CHECK ((status = 'APPROVED'::text) = (approved_at IS NOT NULL)),
  constraint expense_entry_approved_by_id_reference FOREIGN KEY (tenant_id, approved_by_id) REFERENCES staff(tenant_id, id),
  constraint expense_entry_billable_amount_range CHECK (billable_amount >= 0::numeric),
  constraint expense_entry_cost_range CHECK (cost >= 0::numeric),
  constraint expense_entry_job_id_reference FOREIGN KEY (tenant_id, job_id) REFERENCES job(tenant_id, id),
  constraint expense_entry_markup_percent_range CHECK (markup_percent >= 0::numeric AND scale(markup_percent) <= 4),
  constraint expense_entry_pkey PRIMARY KEY (tenant_id, id),
  constraint expense_entry_receipt_file_id_reference FOREIGN KEY (tenant_id, receipt_file_id) REFERENCES file(tenant_id, id),
  constraint expense_entry_rejection_reason_agrees CHECK ((status = 'REJECTED'::text) = (rejection_reason IS NOT NULL)),
  constraint expense_entry_staff_id_reference FOREIGN KEY (tenant_id, staff_id) REFERENCES staff(tenant_id, id),
  constraint expense_entry_status_enum CHECK (status = ANY (ARRAY['DRAFT'::text, 'SUBMITTED'::text, 'APPROVED'::text, 'REJECTED'::text])),
  constraint expense_entry_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX expense_entry_active_desc_index ON expense_entry USING btree (tenant_id, active DESC, id);
CREATE INDEX expense_entry_active_index ON expense_entry USING btree (tenant_id, active, id);
CREATE INDEX expense_entry_approved_at_index ON expense_entry USING btree (tenant_id, approved_at, id) WHERE approved_at IS NOT NULL;
CREATE INDEX expense_entry_approved_by_id_index ON expense_entry USING btree (tenant_id, approved_by_id) WHERE approved_by_id IS NOT NULL;
CREATE INDEX expense_entry_billable_amount_index ON expense_entry USING btree (tenant_id, billable_amount, id);
CREATE INDEX expense_entry_code_index ON expense_entry USING btree (tenant_id, code);
CREATE INDEX expense_entry_created_at_index ON expense_entry USING btree (tenant_id, created_at, id);
CREATE INDEX expense_entry_expense_date_index ON expense_entry USING btree (tenant_id, expense_date, id);
CREATE INDEX expense_entry_job_id_index ON expense_entry USING btree (tenant_id, job_id, status);
CREATE INDEX expense_entry_metadata_index ON expense_entry USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX expense_entry_notes_index ON expense_entry USING gin (tenant_id, description gin_trgm_ops, lower(description COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX expense_entry_receipt_file_id_index ON expense_entry USING btree (tenant_id, receipt_file_id) WHERE receipt_file_id IS NOT NULL;
CREATE INDEX expense_entry_rejection_reason_index ON expense_entry USING btree (tenant_id, id) WHERE rejection_reason IS NOT NULL;
CREATE INDEX expense_entry_search_index ON expense_entry USING gin (tenant_id, search_text(description) gin_trgm_ops);
CREATE INDEX expense_entry_staff_id_index ON expense_entry USING btree (tenant_id, staff_id, expense_date);
CREATE INDEX expense_entry_status_index ON expense_entry USING btree (tenant_id, status, id);
CREATE INDEX expense_entry_updated_at_index ON expense_entry USING btree (tenant_id, updated_at, id);
alter table expense_entry enable row level security, force row level security;
create policy tenant_isolation on expense_entry for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on expense_entry to financial_automation_service;
CREATE TRIGGER expense_entry_page_marks AFTER INSERT ON expense_entry REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION keep_page_marks();

create table file (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  status text collate "C" default 'PENDING'::text not null,
  file_name text collate "C" not null,
  source text collate "C" not null,
  mime_type text collate "C" not null,
  size_bytes bigint not null,
  sha256 text collate "C",
  client_id uuid,
  job_id uuid,
  engagement_id uuid,
  uploaded_by_type text collate "C" not null,
  uploaded_by_id uuid,
  folder_path text collate "C",
  tax_year integer,
  constraint file_active_agrees CHECK (active = (status <> 'DELETED'::text)),
  constraint file_client_id_reference FOREIGN KEY (tenant_id, client_id) REFERENCES client(tenant_id, id),
  constraint file_engagement_id_reference FOREIGN KEY (tenant_id, engagement_id) REFERENCES engagement(tenant_id, id),
  constraint file_job_id_reference FOREIGN KEY (tenant_id, job_id) REFERENCES job(tenant_id, id),
  constraint file_pkey PRIMARY KEY (tenant_id, id),
  constraint file_sha256_agrees CHECK (sha256 IS NOT NULL OR (status <> ALL (ARRAY['AVAILABLE'::text, 'ARCHIVED'::text]))),
  constraint file_sha256_pattern CHECK (sha256 ~ '^[0-9a-f]{64}$'::text),
  constraint file_size_bytes_range CHECK (size_bytes >= 0 AND size_bytes <= '9007199254740991'::bigint),
  constraint file_source_enum CHECK (source = ANY (ARRAY['CLIENT_REQUEST'::text, 'DELIVERABLE'::text, 'REFERENCE_FILE'::text, 'DMS_DIRECT_UPLOAD'::text])),
  constraint file_status_enum CHECK (status = ANY (ARRAY['PENDING'::text, 'SCANNING'::text, 'AVAILABLE'::text, 'REJECTED'::text, 'ARCHIVED'::text, 'DELETED'::text])),
  constraint file_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint file_uploaded_by_id_agrees CHECK ((uploaded_by_type = 'SYSTEM'::text) = (uploaded_by_id IS NULL)),
  constraint file_uploaded_by_type_enum CHECK (uploaded_by_type = ANY (ARRAY['STAFF'::text, 'CONTACT'::text, 'SYSTEM'::text]))
);
CREATE INDEX file_client_id_index ON file USING btree (tenant_id, client_id, id) WHERE client_id IS NOT NULL;
CREATE INDEX file_created_at_index ON file USING btree (tenant_id, created_at, id);
CREATE INDEX file_engagement_id_index ON file USING btree (tenant_id, engagement_id, id) WHERE engagement_id IS NOT NULL;
CREATE INDEX file_job_id_index ON file USING btree (tenant_id, job_id, id) WHERE job_id IS NOT NULL;
CREATE INDEX file_metadata_index ON file USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX file_names_index ON file USING gin (tenant_id, lower(file_name COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX file_source_index ON file USING btree (tenant_id, source, id);
CREATE INDEX file_status_index ON file USING btree (tenant_id, status, id);
CREATE INDEX file_updated_at_index ON file USING btree (tenant_id, updated_at, id);
alter table file enable row level security, force row level security;
create policy tenant_isolation on file for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on file to financial_automation_service;
CREATE TRIGGER file_client_id_present AFTER INSERT OR UPDATE OF client_id ON file FOR EACH ROW WHEN (new.client_id IS NOT NULL AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION refuse_merged_client('client_id');

create table gl_mapping (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  org_id uuid not null,
  purpose text collate "C" not null,
  kind text collate "C",
  payment_method text collate "C",
  service_line_id uuid,
  tax_name text collate "C",
  account_code text collate "C" not null,
  account_name text collate "C",
  subject text collate "C" generated always as (COALESCE(kind, payment_method, service_line_id::text, tax_name, ''::text)) stored not null,
  constraint gl_mapping_kind_enum CHECK (kind = ANY (ARRAY['INVOICE'::text, 'ALLOCATION'::text, 'DEALLOCATION'::text, 'WRITE_OFF'::text, 'RECOVERY'::text, 'VOID'::text, 'PAYMENT'::text, 'CREDIT_NOTE'::text, 'REFUND'::text, 'RETURN'::text, 'PAYMENT_VOID'::text, 'NOTE_VOID'::text, 'IDENTIFICATION'::text, 'WORK'::text, 'WORK_REVERSED'::text, 'WRITE_UP'::text, 'WRITE_DOWN'::text, 'BILLED'::text, 'UNBILLED'::text])),
  constraint gl_mapping_org_id_reference FOREIGN KEY (tenant_id, org_id) REFERENCES org(tenant_id, id),
  constraint gl_mapping_payment_method_enum CHECK (payment_method = ANY (ARRAY['ACH'::text, 'CARD'::text, 'CHECK'::text, 'WIRE'::text, 'CASH'::text, 'CREDIT'::text, 'OTHER'::text])),
  constraint gl_mapping_pkey PRIMARY KEY (tenant_id, id),
  constraint gl_mapping_purpose_agrees CHECK ((kind IS NULL OR (purpose = ANY (ARRAY['RECEIVABLE'::text, 'CREDIT'::text, 'SUSPENSE'::text, 'WIP'::text, 'WRITE_OFF'::text, 'WIP_CHANGE'::text]))) AND (payment_method IS NULL OR purpose = 'PAYMENT'::text) AND (service_line_id IS NULL OR purpose = 'REVENUE'::text) AND (tax_name IS NULL OR purpose = 'TAX'::text)),
  constraint gl_mapping_purpose_enum CHECK (purpose = ANY (ARRAY['RECEIVABLE'::text, 'CREDIT'::text, 'SUSPENSE'::text, 'WIP'::text, 'REVENUE'::text, 'TAX'::text, 'PAYMENT'::text, 'WRITE_OFF'::text, 'ROUNDING'::text, 'WIP_CHANGE'::text])),
  constraint gl_mapping_service_line_id_reference FOREIGN KEY (tenant_id, service_line_id) REFERENCES service_line(tenant_id, id),
  constraint gl_mapping_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX gl_mapping_metadata_index ON gl_mapping USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE UNIQUE INDEX gl_mapping_subject_unique ON gl_mapping USING btree (tenant_id, org_id, purpose, subject) WHERE active;
CREATE INDEX gl_mapping_updated_at_index ON gl_mapping USING btree (tenant_id, updated_at, id);
alter table gl_mapping enable row level security, force row level security;
create policy tenant_isolation on gl_mapping for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on gl_mapping to financial_automation_service;

create table idempotency_key (
  tenant_id integer not null,
  api_user_id uuid not null,
  operation text collate "C" not null,
  key text collate "C" not null,
  request_hash text collate "C" not null,
  status text collate "C" default 'RUNNING'::text not null,
  response_status integer,
  response_headers json,
  response_body json,
  created_at timestamp(3) with time zone default now() not null,
  expires_at timestamp(3) with time zone not null,
  constraint idempotency_key_api_user_id_key_unique PRIMARY KEY (tenant_id, api_user_id, key),
  constraint idempotency_key_api_user_id_reference FOREIGN KEY (tenant_id, api_user_id) REFERENCES api_user(tenant_id, id),
  constraint idempotency_key_response_status_agrees CHECK ((status = 'DONE'::text) = (response_status IS NOT NULL)),
  constraint idempotency_key_status_enum CHECK (status = ANY (ARRAY['RUNNING'::text, 'DONE'::text]))
);
CREATE INDEX idempotency_key_expires_at_index ON idempotency_key USING btree (tenant_id, expires_at);
alter table idempotency_key enable row level security, force row level security;
create policy tenant_isolation on idempotency_key for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select, update on idempotency_key to financial_automation_service;

create table imported_content (
  tenant_id integer not null,
  type text collate "C" not null,
  system_ref text collate "C" not null,
  digest bytea,
  digest_encrypted bytea,
  constraint imported_content_key_unique PRIMARY KEY (tenant_id, type, system_ref)
);
alter table imported_content enable row level security, force row level security;
create policy tenant_isolation on imported_content for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on imported_content to financial_automation_service;

create table industry (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  name text collate "C" not null,
  code text collate "C",
  parent_id uuid,
  constraint industry_code_pattern CHECK (code ~ '^[0-9]{2,6}$'::text),
  constraint industry_name_unique UNIQUE (tenant_id, name),
  constraint industry_parent_id_other CHECK (parent_id <> id),
  constraint industry_parent_id_reference FOREIGN KEY (tenant_id, parent_id) REFERENCES industry(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint industry_pkey PRIMARY KEY (tenant_id, id),
  constraint industry_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX industry_metadata_index ON industry USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX industry_updated_at_index ON industry USING btree (tenant_id, updated_at, id);
alter table industry enable row level security, force row level security;
create policy tenant_isolation on industry for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on industry to financial_automation_service;

create table installation (
  id uuid default gen_random_uuid() not null,
  database text collate "C" not null,
  adopted_at timestamp(3) with time zone default now() not null,
  constraint installation_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX installation_single ON installation USING btree ((true));

create table invoice (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  client_id uuid not null,
  job_ids uuid[] default '{}'::uuid[] not null,
  billing_contact_id uuid,
  due_date date not null,
  subtotal numeric(16,2) default 0 not null,
  discount_total numeric(16,2) default 0 not null,
  tax_total numeric(16,2) default 0 not null,
  interest_total numeric(16,2) default 0 not null,
  total numeric(16,2) default 0 not null,
  currency text collate "C" not null,
  credited_invoice_id uuid,
  purchase_order text collate "C",
  memo text collate "C",
  prices_include_tax boolean default false not null,
  tax_rounding text collate "C" default 'LINE'::text not null,
  tax_exempt_reason text collate "C",
  service_period_start date,
  service_period_end date,
  order_reference text collate "C",
  buyer_reference text collate "C",
  early_payment jsonb,
  invoice_number text collate "C" not null,
  pms_ref text collate "C",
  org_id uuid not null,
  engagement_id uuid,
  draft_invoice_id uuid,
  status text collate "C" default 'POSTED'::text not null,
  invoice_date date not null,
  posted_at timestamp(3) with time zone,
  paid_at timestamp(3) with time zone,
  voided_at timestamp(3) with time zone,
  overdue_at timestamp(3) with time zone,
  void_reason text collate "C",
  write_off_reason text collate "C",
  amount_paid numeric(16,2) default 0 not null,
  amount_credited numeric(16,2) default 0 not null,
  amount_written_off numeric(16,2) default 0 not null,
  amount_pending numeric(16,2) default 0 not null,
  tax_region_id uuid,
  line1 text collate "C",
  line2 text collate "C",
  city text collate "C",
  state text collate "C",
  postal_code text collate "C",
  country text collate "C",
  pdf_file_id uuid,
  sent_at timestamp(3) with time zone,
  paid_date date,
  document_type text collate "C" default 'INVOICE'::text not null,
  amount_due numeric(16,2) generated always as (
CASE
    WHEN status = 'VOIDED'::text OR document_type = 'CREDIT_NOTE'::text THEN 0::numeric
    ELSE total - amount_paid - amount_credited - amount_written_off
END) stored not null,
  document jsonb,
  pdf_failed_at timestamp(3) with time zone,
  tax_as_stated boolean default false not null,
  is_disputed boolean default false not null,
  reminded_after_days integer,
  early_payment_note_id uuid,
  constraint invoice_amount_credited_range CHECK (amount_credited >= 0::numeric),
  constraint invoice_amount_due_agrees CHECK (
CASE
    WHEN document_type = 'CREDIT_NOTE'::text THEN (status = ANY (ARRAY['POSTED'::text, 'VOIDED'::text])) AND amount_paid = 0::numeric AND amount_credited = 0::numeric AND amount_pending = 0::numeric AND amount_written_off = 0::numeric
    ELSE
    CASE status
        WHEN 'PENDING'::text THEN amount_paid = 0::numeric AND amount_credited = 0::numeric AND amount_pending = 0::numeric AND amount_written_off = 0::numeric
        WHEN 'POSTED'::text THEN amount_paid = 0::numeric AND amount_credited = 0::numeric AND amount_due > 0::numeric
        WHEN 'PARTIALLY_PAID'::text THEN (amount_paid + amount_credited) > 0::numeric AND amount_due > 0::numeric
        WHEN 'PAID'::text THEN amount_due = 0::numeric
        WHEN 'VOIDED'::text THEN amount_paid = 0::numeric AND amount_credited = 0::numeric AND amount_pending = 0::numeric AND amount_written_off = 0::numeric
        ELSE amount_due = 0::numeric
    END
END),
  constraint invoice_amount_due_range CHECK (amount_due >= 0::numeric),
  constraint invoice_amount_paid_range CHECK (amount_paid >= 0::numeric),
  constraint invoice_amount_pending_range CHECK (amount_pending >= 0::numeric AND amount_pending <= amount_due),
  constraint invoice_amount_written_off_range CHECK (amount_written_off >= 0::numeric),
  constraint invoice_billing_contact_id_reference FOREIGN KEY (tenant_id, billing_contact_id) REFERENCES contact(tenant_id, id),
  constraint invoice_client_id_reference FOREIGN KEY (tenant_id, client_id) REFERENCES client(tenant_id, id),
  constraint invoice_credited_invoice_id_agrees CHECK (credited_invoice_id IS NULL OR document_type = 'CREDIT_NOTE'::text),
  constraint invoice_credited_invoice_id_reference FOREIGN KEY (tenant_id, credited_invoice_id) REFERENCES invoice(tenant_id, id) DEFERRABLE,
  constraint invoice_document_type_enum CHECK (document_type = ANY (ARRAY['INVOICE'::text, 'CREDIT_NOTE'::text])),
  constraint invoice_draft_invoice_id_reference FOREIGN KEY (tenant_id, draft_invoice_id) REFERENCES draft_invoice(tenant_id, id),
  constraint invoice_draft_invoice_id_unique UNIQUE (tenant_id, draft_invoice_id),
  constraint invoice_due_date_order CHECK (due_date >= invoice_date),
  constraint invoice_early_payment_note_id_reference FOREIGN KEY (tenant_id, early_payment_note_id) REFERENCES invoice(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint invoice_engagement_id_reference FOREIGN KEY (tenant_id, engagement_id) REFERENCES engagement(tenant_id, id),
  constraint invoice_org_id_reference FOREIGN KEY (tenant_id, org_id) REFERENCES org(tenant_id, id),
  constraint invoice_paid_at_agrees CHECK ((status = 'PAID'::text) = (paid_at IS NOT NULL)),
  constraint invoice_paid_date_agrees CHECK ((status = 'PAID'::text) = (paid_date IS NOT NULL)),
  constraint invoice_pdf_file_id_reference FOREIGN KEY (tenant_id, pdf_file_id) REFERENCES file(tenant_id, id),
  constraint invoice_pkey PRIMARY KEY (tenant_id, id),
  constraint invoice_pms_ref_unique UNIQUE (tenant_id, pms_ref),
  constraint invoice_posted_at_agrees CHECK ((status = 'PENDING'::text) = (posted_at IS NULL)),
  constraint invoice_service_period_order CHECK (service_period_end >= service_period_start),
  constraint invoice_status_enum CHECK (status = ANY (ARRAY['PENDING'::text, 'POSTED'::text, 'PARTIALLY_PAID'::text, 'PAID'::text, 'VOIDED'::text, 'WRITTEN_OFF'::text])),
  constraint invoice_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint invoice_tax_region_id_reference FOREIGN KEY (tenant_id, tax_region_id) REFERENCES tax_region(tenant_id, id),
  constraint invoice_tax_rounding_enum CHECK (tax_rounding = ANY (ARRAY['LINE'::text, 'DOCUMENT'::text])),
  constraint invoice_total_agrees CHECK (total = document_total(subtotal, discount_total, tax_total, interest_total)),
  constraint invoice_total_agrees_with_type CHECK ((document_type = 'CREDIT_NOTE'::text) = (total < 0::numeric)),
  constraint invoice_voided_at_agrees CHECK ((status = 'VOIDED'::text) = (voided_at IS NOT NULL) AND (status = 'VOIDED'::text) = (void_reason IS NOT NULL)),
  constraint invoice_write_off_reason_agrees CHECK ((status = 'WRITTEN_OFF'::text OR amount_written_off > 0::numeric) = (write_off_reason IS NOT NULL))
);
CREATE INDEX invoice_active_desc_index ON invoice USING btree (tenant_id, active DESC, id);
CREATE INDEX invoice_active_index ON invoice USING btree (tenant_id, active, id);
CREATE INDEX invoice_amount_due_index ON invoice USING btree (tenant_id, amount_due, id);
CREATE INDEX invoice_amount_paid_index ON invoice USING btree (tenant_id, amount_paid, id);
CREATE INDEX invoice_client_id_index ON invoice USING btree (tenant_id, client_id, id);
CREATE INDEX invoice_created_at_index ON invoice USING btree (tenant_id, created_at, id);
CREATE INDEX invoice_credited_invoice_id_index ON invoice USING btree (tenant_id, credited_invoice_id) WHERE credited_invoice_id IS NOT NULL;
CREATE INDEX invoice_document_type_index ON invoice USING btree (tenant_id, document_type, id);
CREATE INDEX invoice_due_date_index ON invoice USING btree (tenant_id, due_date, id);
CREATE INDEX invoice_engagement_id_index ON invoice USING btree (tenant_id, engagement_id) WHERE engagement_id IS NOT NULL;
CREATE INDEX invoice_falling_due_index ON invoice USING btree (tenant_id, due_date) WHERE overdue_at IS NULL AND (status = ANY (ARRAY['POSTED'::text, 'PARTIALLY_PAID'::text])) AND document_type = 'INVOICE'::text;
CREATE INDEX invoice_invoice_date_index ON invoice USING btree (tenant_id, invoice_date, id);
CREATE UNIQUE INDEX invoice_invoice_number_org_unique ON invoice USING btree (tenant_id, invoice_number, org_id);
CREATE INDEX invoice_job_ids_index ON invoice USING gin (tenant_id, job_ids);
CREATE INDEX invoice_metadata_index ON invoice USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX invoice_overdue_at_index ON invoice USING btree (tenant_id, overdue_at, id);
CREATE INDEX invoice_overdue_index ON invoice USING btree (tenant_id, due_date, id) WHERE status = ANY (ARRAY['POSTED'::text, 'PARTIALLY_PAID'::text]);
CREATE INDEX invoice_paid_at_index ON invoice USING btree (tenant_id, paid_at, id);
CREATE INDEX invoice_paid_at_nulls_last_index ON invoice USING btree (tenant_id, paid_at DESC NULLS LAST, id);
CREATE INDEX invoice_paid_date_index ON invoice USING btree (tenant_id, paid_date, id);
CREATE INDEX invoice_paid_date_nulls_last_index ON invoice USING btree (tenant_id, paid_date DESC NULLS LAST, id);
CREATE INDEX invoice_posted_at_index ON invoice USING btree (tenant_id, posted_at, id);
CREATE INDEX invoice_posted_at_nulls_last_index ON invoice USING btree (tenant_id, posted_at DESC NULLS LAST, id);
CREATE INDEX invoice_refs_index ON invoice USING gin (tenant_id, invoice_number gin_trgm_ops, lower(invoice_number COLLATE fa_case) COLLATE "C" gin_trgm_ops, pms_ref gin_trgm_ops, lower(pms_ref COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX invoice_status_index ON invoice USING btree (tenant_id, status, id);
CREATE INDEX invoice_total_index ON invoice USING btree (tenant_id, total, id);
CREATE INDEX invoice_unpaid_index ON invoice USING btree (tenant_id, client_id, due_date, id) INCLUDE (currency, amount_due, invoice_date) WHERE status = ANY (ARRAY['POSTED'::text, 'PARTIALLY_PAID'::text]);
CREATE INDEX invoice_updated_at_index ON invoice USING btree (tenant_id, updated_at, id);
CREATE INDEX invoice_without_amount_index ON invoice USING btree (tenant_id, id) WHERE total = 0::numeric AND posted_at IS NOT NULL;
alter table invoice enable row level security, force row level security;
create policy tenant_isolation on invoice for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on invoice to financial_automation_service;
CREATE CONSTRAINT TRIGGER invoice_agrees_inserted AFTER INSERT ON invoice DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION check_invoice();
CREATE CONSTRAINT TRIGGER invoice_agrees_updated AFTER UPDATE ON invoice DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((old.amount_paid IS DISTINCT FROM new.amount_paid OR old.amount_credited IS DISTINCT FROM new.amount_credited OR old.amount_pending IS DISTINCT FROM new.amount_pending OR old.status IS DISTINCT FROM new.status) AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION check_invoice();
CREATE TRIGGER invoice_billing_voided AFTER UPDATE ON invoice FOR EACH ROW WHEN (is_billing(old.status) AND NOT is_billing(new.status) AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION subtract_billing();
CREATE TRIGGER invoice_client_id_present AFTER INSERT OR UPDATE OF client_id ON invoice FOR EACH ROW WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION refuse_merged_client('client_id');
CREATE CONSTRAINT TRIGGER invoice_credited_total AFTER INSERT OR UPDATE ON invoice DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.credited_invoice_id IS NOT NULL AND new.status <> 'VOIDED'::text AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION check_credited_total();
CREATE TRIGGER invoice_due AFTER INSERT ON invoice REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION note_due_invoices();
CREATE TRIGGER invoice_due_again AFTER UPDATE ON invoice REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION note_due_invoices();
CREATE CONSTRAINT TRIGGER invoice_ledger_inserted AFTER INSERT ON invoice DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION check_ledger_of_invoice();
CREATE CONSTRAINT TRIGGER invoice_ledger_updated AFTER UPDATE ON invoice DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (outstanding(old.status, old.amount_due) IS DISTINCT FROM outstanding(new.status, new.amount_due) AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION check_ledger_of_invoice();
CREATE TRIGGER invoice_sum_inserted AFTER INSERT ON invoice REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION sum_invoices();
CREATE TRIGGER invoice_sum_updated AFTER UPDATE ON invoice REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION sum_invoices();

create table invoice_billing (
  tenant_id integer not null,
  invoice_id uuid not null,
  job_id uuid not null,
  billed numeric(16,2) not null,
  fee numeric(16,2) not null,
  fee_without_work numeric(16,2) not null,
  constraint invoice_billing_invoice_id_reference FOREIGN KEY (tenant_id, invoice_id) REFERENCES invoice(tenant_id, id),
  constraint invoice_billing_job_id_reference FOREIGN KEY (tenant_id, job_id) REFERENCES job(tenant_id, id),
  constraint invoice_billing_pkey PRIMARY KEY (tenant_id, invoice_id, job_id)
);
CREATE INDEX invoice_billing_job_id_index ON invoice_billing USING btree (tenant_id, job_id);
alter table invoice_billing enable row level security, force row level security;
create policy tenant_isolation on invoice_billing for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select on invoice_billing to financial_automation_service;
CREATE TRIGGER invoice_billing_sum_inserted AFTER INSERT ON invoice_billing REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION sum_billing();

create table invoice_line (
  tenant_id integer not null,
  "position" integer not null,
  id uuid not null,
  line_type text collate "C" not null,
  job_id uuid,
  description text collate "C" not null,
  quantity numeric not null,
  unit_amount numeric not null,
  amount numeric(16,2) not null,
  taxable boolean not null,
  tax_rate_percent numeric not null,
  tax_amount numeric(16,2) not null,
  relief text collate "C" not null,
  exceeds_fee boolean default false not null,
  taxes jsonb default '[]'::jsonb not null,
  tax_code_id uuid,
  unit_code text collate "C" default 'C62'::text not null,
  invoice_id uuid not null,
  constraint invoice_line_invoice_id_reference FOREIGN KEY (tenant_id, invoice_id) REFERENCES invoice(tenant_id, id),
  constraint invoice_line_job_id_reference FOREIGN KEY (tenant_id, job_id) REFERENCES job(tenant_id, id),
  constraint invoice_line_line_type_enum CHECK (line_type = ANY (ARRAY['TIME'::text, 'EXPENSE'::text, 'FIXED_FEE'::text, 'PROGRESS'::text, 'DISCOUNT'::text, 'INTEREST'::text, 'OTHER'::text])),
  constraint invoice_line_pkey PRIMARY KEY (tenant_id, id),
  constraint invoice_line_quantity_range CHECK (abs(quantity) < '100000000000'::numeric AND scale(quantity) <= 4),
  constraint invoice_line_relief_enum CHECK (relief = ANY (ARRAY['FULL'::text, 'PART'::text])),
  constraint invoice_line_tax_code_id_reference FOREIGN KEY (tenant_id, tax_code_id) REFERENCES tax_code(tenant_id, id),
  constraint invoice_line_tax_rate_percent_range CHECK (tax_rate_percent >= 0::numeric AND tax_rate_percent <= 100::numeric AND scale(tax_rate_percent) <= 4),
  constraint invoice_line_unit_amount_range CHECK (abs(unit_amount) < '100000000000'::numeric AND scale(unit_amount) <= 4),
  constraint invoice_line_unit_code_enum CHECK (unit_code = ANY (ARRAY['C62'::text, 'HUR'::text, 'MIN'::text, 'DAY'::text, 'WEE'::text, 'MON'::text, 'QAN'::text, 'ANN'::text, 'LS'::text, 'H87'::text, 'E48'::text, 'KMT'::text, 'SMI'::text, 'ZP'::text, 'P1'::text, 'KGM'::text, 'LTR'::text, 'MTR'::text, 'MTK'::text, 'KWH'::text]))
);
CREATE INDEX invoice_line_invoice_id_index ON invoice_line USING btree (tenant_id, invoice_id, "position");
CREATE INDEX invoice_line_search_index ON invoice_line USING gin (tenant_id, search_text(description) gin_trgm_ops);
alter table invoice_line enable row level security, force row level security;
create policy tenant_isolation on invoice_line for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select on invoice_line to financial_automation_service;
CREATE TRIGGER invoice_line_reported AFTER INSERT ON invoice_line REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION report_taxes();

create table invoice_line_tax (
  tenant_id integer not null,
  id uuid not null,
  invoice_id uuid not null,
  line_id uuid not null,
  "position" integer not null,
  name text collate "C",
  category text collate "C",
  rate_percent numeric not null,
  region_id uuid,
  amount numeric(16,2) not null,
  taxable_amount numeric(16,2) not null,
  tax_amount numeric(16,2) not null,
  constraint invoice_line_tax_amount_agrees CHECK (name IS NOT NULL OR taxable_amount = 0::numeric AND tax_amount = 0::numeric),
  constraint invoice_line_tax_category_enum CHECK (category = ANY (ARRAY['S'::text, 'Z'::text, 'E'::text, 'AE'::text, 'K'::text, 'G'::text, 'O'::text])),
  constraint invoice_line_tax_invoice_id_reference FOREIGN KEY (tenant_id, invoice_id) REFERENCES invoice(tenant_id, id),
  constraint invoice_line_tax_line_id_reference FOREIGN KEY (tenant_id, line_id) REFERENCES invoice_line(tenant_id, id),
  constraint invoice_line_tax_pkey PRIMARY KEY (tenant_id, id),
  constraint invoice_line_tax_region_id_reference FOREIGN KEY (tenant_id, region_id) REFERENCES tax_region(tenant_id, id) DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX invoice_line_tax_invoice_id_index ON invoice_line_tax USING btree (tenant_id, invoice_id, id);
CREATE INDEX invoice_line_tax_line_id_index ON invoice_line_tax USING btree (tenant_id, line_id, "position");
alter table invoice_line_tax enable row level security, force row level security;
create policy tenant_isolation on invoice_line_tax for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select on invoice_line_tax to financial_automation_service;

create table invoice_line_wip (
  tenant_id integer not null,
  line_id uuid not null,
  "position" integer not null,
  wip_entry_id uuid not null,
  constraint invoice_line_wip_line_id_reference FOREIGN KEY (tenant_id, line_id) REFERENCES invoice_line(tenant_id, id),
  constraint invoice_line_wip_pkey PRIMARY KEY (tenant_id, line_id, "position"),
  constraint invoice_line_wip_wip_entry_id_reference FOREIGN KEY (tenant_id, wip_entry_id) REFERENCES wip_entry(tenant_id, id)
);
alter table invoice_line_wip enable row level security, force row level security;
create policy tenant_isolation on invoice_line_wip for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select on invoice_line_wip to financial_automation_service;

create table job (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  name text collate "C" not null,
  status text collate "C" default 'PLANNED'::text not null,
  client_id uuid not null,
  pms_ref text collate "C",
  job_ref text collate "C" not null,
  job_template_id uuid,
  engagement_id uuid,
  service_line_id uuid,
  department_id uuid,
  office_id uuid,
  partner_id uuid,
  manager_id uuid,
  in_charge_id uuid,
  fiscal_year integer,
  period_start_date date,
  period_end_date date,
  start_date date,
  due_date date,
  deadline_date date,
  completed_at timestamp(3) with time zone,
  closed_at timestamp(3) with time zone,
  billing_type text collate "C" not null,
  fee_amount numeric(16,2),
  billing_schedule text collate "C",
  budget_hours numeric(10,2),
  budget_amount numeric(16,2),
  currency text collate "C" not null,
  priority text collate "C" default 'NORMAL'::text not null,
  description text collate "C",
  actual_hours numeric(10,2) default 0 not null,
  wip_amount numeric(16,2) default 0 not null,
  billed_amount numeric(16,2) default 0 not null,
  write_off_amount numeric(16,2) default 0 not null,
  write_up_amount numeric(16,2) default 0 not null,
  billed_work_amount numeric(16,2) default 0 not null,
  billed_fee_amount numeric(16,2) default 0 not null,
  fee_without_work_amount numeric(16,2) default 0 not null,
  constraint job_actual_hours_bound CHECK (abs(actual_hours) < '10000000'::numeric),
  constraint job_billed_amount_bound CHECK (abs(billed_amount) < '10000000000000'::numeric),
  constraint job_billing_schedule_enum CHECK (billing_schedule = ANY (ARRAY['ON_COMPLETION'::text, 'MILESTONE'::text, 'MONTHLY'::text, 'QUARTERLY'::text])),
  constraint job_billing_type_enum CHECK (billing_type = ANY (ARRAY['TIME_AND_MATERIALS'::text, 'FIXED_FEE'::text, 'RECURRING'::text, 'NON_BILLABLE'::text])),
  constraint job_budget_amount_range CHECK (budget_amount >= 0::numeric),
  constraint job_budget_hours_range CHECK (budget_hours >= 0::numeric),
  constraint job_client_id_reference FOREIGN KEY (tenant_id, client_id) REFERENCES client(tenant_id, id),
  constraint job_department_id_reference FOREIGN KEY (tenant_id, department_id) REFERENCES department(tenant_id, id),
  constraint job_due_date_order CHECK (due_date >= start_date),
  constraint job_engagement_id_reference FOREIGN KEY (tenant_id, engagement_id) REFERENCES engagement(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint job_fee_amount_agrees CHECK ((fee_amount IS NOT NULL) = (billing_type = ANY (ARRAY['FIXED_FEE'::text, 'RECURRING'::text]))),
  constraint job_fee_amount_range CHECK (fee_amount >= 0::numeric),
  constraint job_fee_remaining_bound CHECK (fee_amount IS NULL OR abs(fee_amount - billed_fee_amount) < '10000000000000'::numeric),
  constraint job_in_charge_id_reference FOREIGN KEY (tenant_id, in_charge_id) REFERENCES staff(tenant_id, id),
  constraint job_job_ref_unique UNIQUE (tenant_id, job_ref),
  constraint job_job_template_id_reference FOREIGN KEY (tenant_id, job_template_id) REFERENCES job_template(tenant_id, id),
  constraint job_manager_id_reference FOREIGN KEY (tenant_id, manager_id) REFERENCES staff(tenant_id, id),
  constraint job_office_id_reference FOREIGN KEY (tenant_id, office_id) REFERENCES office(tenant_id, id),
  constraint job_partner_id_reference FOREIGN KEY (tenant_id, partner_id) REFERENCES staff(tenant_id, id),
  constraint job_period_end_date_order CHECK (period_end_date >= period_start_date),
  constraint job_pkey PRIMARY KEY (tenant_id, id),
  constraint job_pms_ref_unique UNIQUE (tenant_id, pms_ref),
  constraint job_priority_enum CHECK (priority = ANY (ARRAY['LOW'::text, 'NORMAL'::text, 'HIGH'::text])),
  constraint job_service_line_id_reference FOREIGN KEY (tenant_id, service_line_id) REFERENCES service_line(tenant_id, id),
  constraint job_standard_amount_bound CHECK (abs(billed_work_amount + write_off_amount - write_up_amount + fee_without_work_amount) < '10000000000000'::numeric),
  constraint job_status_enum CHECK (status = ANY (ARRAY['PLANNED'::text, 'READY'::text, 'IN_PROGRESS'::text, 'ON_HOLD'::text, 'IN_REVIEW'::text, 'COMPLETED'::text, 'CLOSED'::text, 'CANCELLED'::text])),
  constraint job_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint job_wip_amount_bound CHECK (abs(wip_amount) < '10000000000000'::numeric),
  constraint job_write_off_amount_bound CHECK (abs(write_off_amount) < '10000000000000'::numeric),
  constraint job_write_up_amount_range CHECK (abs(write_up_amount) < '10000000000000'::numeric)
);
CREATE INDEX job_active_desc_index ON job USING btree (tenant_id, active DESC, id);
CREATE INDEX job_active_index ON job USING btree (tenant_id, active, id);
CREATE INDEX job_actual_hours_index ON job USING btree (tenant_id, actual_hours, id);
CREATE INDEX job_billed_amount_index ON job USING btree (tenant_id, billed_amount, id);
CREATE INDEX job_billing_schedule_index ON job USING btree (tenant_id, billing_schedule, id) WHERE billing_schedule IS NOT NULL;
CREATE INDEX job_budget_amount_index ON job USING btree (tenant_id, budget_amount, id);
CREATE INDEX job_budget_amount_nulls_last_index ON job USING btree (tenant_id, budget_amount DESC NULLS LAST, id);
CREATE INDEX job_budget_hours_index ON job USING btree (tenant_id, budget_hours, id);
CREATE INDEX job_budget_hours_nulls_last_index ON job USING btree (tenant_id, budget_hours DESC NULLS LAST, id);
CREATE INDEX job_client_id_status_index ON job USING btree (tenant_id, client_id, status);
CREATE INDEX job_completed_at_index ON job USING btree (tenant_id, completed_at, id);
CREATE INDEX job_completed_at_nulls_last_index ON job USING btree (tenant_id, completed_at DESC NULLS LAST, id);
CREATE INDEX job_created_at_index ON job USING btree (tenant_id, created_at, id);
CREATE INDEX job_deadline_date_index ON job USING btree (tenant_id, deadline_date, id);
CREATE INDEX job_deadline_date_nulls_last_index ON job USING btree (tenant_id, deadline_date DESC NULLS LAST, id);
CREATE INDEX job_due_date_index ON job USING btree (tenant_id, due_date, id);
CREATE INDEX job_due_date_nulls_last_index ON job USING btree (tenant_id, due_date DESC NULLS LAST, id);
CREATE INDEX job_engagement_id_index ON job USING btree (tenant_id, engagement_id) WHERE engagement_id IS NOT NULL;
CREATE INDEX job_in_charge_id_index ON job USING btree (tenant_id, in_charge_id, due_date) WHERE in_charge_id IS NOT NULL;
CREATE INDEX job_job_template_id_index ON job USING btree (tenant_id, job_template_id) WHERE job_template_id IS NOT NULL;
CREATE INDEX job_manager_id_index ON job USING btree (tenant_id, manager_id, due_date) WHERE manager_id IS NOT NULL;
CREATE INDEX job_metadata_index ON job USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX job_name_index ON job USING btree (tenant_id, name, id);
CREATE INDEX job_names_index ON job USING gin (tenant_id, name gin_trgm_ops, lower(name COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX job_partner_id_index ON job USING btree (tenant_id, partner_id, due_date) WHERE partner_id IS NOT NULL;
CREATE INDEX job_pms_refs_index ON job USING gin (tenant_id, pms_ref gin_trgm_ops, lower(pms_ref COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX job_refs_index ON job USING gin (tenant_id, job_ref gin_trgm_ops, lower(job_ref COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX job_search_index ON job USING gin (tenant_id, search_text(name) gin_trgm_ops);
CREATE INDEX job_start_date_index ON job USING btree (tenant_id, start_date, id);
CREATE INDEX job_start_date_nulls_last_index ON job USING btree (tenant_id, start_date DESC NULLS LAST, id);
CREATE INDEX job_status_desc_index ON job USING btree (tenant_id, status DESC, id);
CREATE INDEX job_status_index ON job USING btree (tenant_id, status, id);
CREATE INDEX job_updated_at_index ON job USING btree (tenant_id, updated_at, id);
CREATE INDEX job_wip_amount_index ON job USING btree (tenant_id, wip_amount, id);
alter table job enable row level security, force row level security;
create policy tenant_isolation on job for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on job to financial_automation_service;
CREATE TRIGGER job_client_id_present AFTER INSERT OR UPDATE OF client_id ON job FOR EACH ROW WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION refuse_merged_client('client_id');
CREATE TRIGGER job_sums_moved AFTER UPDATE ON job FOR EACH ROW WHEN (old.service_line_id IS DISTINCT FROM new.service_line_id AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION move_sums_of_job();

create table job_template (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  name text collate "C" not null,
  code text collate "C",
  description text collate "C",
  service_line_id uuid,
  billing_type text collate "C" not null,
  default_fee numeric(16,2),
  budget_hours numeric(10,2),
  duration_days integer,
  recurrence text collate "C",
  published_at timestamp(3) with time zone,
  constraint job_template_billing_type_enum CHECK (billing_type = ANY (ARRAY['TIME_AND_MATERIALS'::text, 'FIXED_FEE'::text, 'RECURRING'::text, 'NON_BILLABLE'::text])),
  constraint job_template_budget_hours_range CHECK (budget_hours >= 0::numeric),
  constraint job_template_default_fee_range CHECK (default_fee >= 0::numeric),
  constraint job_template_duration_days_range CHECK (duration_days >= 0 AND duration_days <= 3650),
  constraint job_template_name_unique UNIQUE (tenant_id, name),
  constraint job_template_pkey PRIMARY KEY (tenant_id, id),
  constraint job_template_recurrence_enum CHECK (recurrence = ANY (ARRAY['NONE'::text, 'MONTHLY'::text, 'QUARTERLY'::text, 'ANNUAL'::text])),
  constraint job_template_service_line_id_reference FOREIGN KEY (tenant_id, service_line_id) REFERENCES service_line(tenant_id, id),
  constraint job_template_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX job_template_metadata_index ON job_template USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX job_template_updated_at_index ON job_template USING btree (tenant_id, updated_at, id);
alter table job_template enable row level security, force row level security;
create policy tenant_isolation on job_template for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on job_template to financial_automation_service;

create table job_template_task (
  tenant_id integer not null,
  job_template_id uuid not null,
  "position" integer not null,
  name text collate "C" not null,
  task_type_id uuid not null,
  offset_days integer not null,
  budget_hours numeric(10,2) not null,
  default_staff_type_id uuid not null,
  constraint job_template_task_budget_hours_range CHECK (budget_hours >= 0::numeric),
  constraint job_template_task_default_staff_type_id_reference FOREIGN KEY (tenant_id, default_staff_type_id) REFERENCES staff_type(tenant_id, id),
  constraint job_template_task_job_template_id_reference FOREIGN KEY (tenant_id, job_template_id) REFERENCES job_template(tenant_id, id),
  constraint job_template_task_offset_days_range CHECK (offset_days >= 0 AND offset_days <= 3650),
  constraint job_template_task_pkey PRIMARY KEY (tenant_id, job_template_id, "position"),
  constraint job_template_task_task_type_id_reference FOREIGN KEY (tenant_id, task_type_id) REFERENCES task_type(tenant_id, id)
);
alter table job_template_task enable row level security, force row level security;
create policy tenant_isolation on job_template_task for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select on job_template_task to financial_automation_service;

create table journal_sum (
  tenant_id integer not null,
  id uuid default gen_random_uuid() not null,
  business_date date not null,
  org_id uuid not null,
  office_id uuid,
  purpose text collate "C" not null,
  kind text collate "C" not null,
  currency text collate "C" not null,
  payment_method text collate "C",
  service_line_id uuid,
  tax_name text collate "C",
  amount numeric(18,2) not null,
  debit numeric(18,2) not null,
  credit numeric(18,2) not null,
  entries integer not null,
  constraint journal_sum_pkey PRIMARY KEY (tenant_id, business_date, id)
);
alter table journal_sum enable row level security, force row level security;
create policy tenant_isolation on journal_sum for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select on journal_sum to financial_automation_service;

create table ledger_day (
  tenant_id integer not null,
  id uuid default gen_random_uuid() not null,
  business_date date not null,
  account text collate "C" not null,
  currency text collate "C" not null,
  due_date date,
  work_date date,
  amount numeric(18,2) not null,
  entries integer not null,
  constraint ledger_day_pkey PRIMARY KEY (tenant_id, account, business_date, id)
);
alter table ledger_day enable row level security, force row level security;
create policy tenant_isolation on ledger_day for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select on ledger_day to financial_automation_service;

create table ledger_entry (
  tenant_id integer not null,
  id uuid not null,
  account text collate "C" not null,
  kind text collate "C" not null,
  amount numeric(16,2) not null,
  currency text collate "C" not null,
  business_date date not null,
  recorded_at timestamp(3) with time zone not null,
  client_id uuid,
  job_id uuid,
  invoice_id uuid,
  payment_id uuid,
  wip_entry_id uuid,
  staff_id uuid,
  due_date date,
  reverses_id uuid,
  reason text collate "C",
  recorded_by_api_user_id uuid,
  work_date date,
  is_rounding boolean default false not null,
  document_date date,
  constraint ledger_entry_account_enum CHECK (account = ANY (ARRAY['RECEIVABLE'::text, 'CREDIT'::text, 'WIP'::text])),
  constraint ledger_entry_amount_agrees CHECK (
CASE
    WHEN account = 'WIP'::text OR kind = 'IDENTIFICATION'::text THEN amount <> 0::numeric
    WHEN kind = ANY (ARRAY['INVOICE'::text, 'PAYMENT'::text, 'CREDIT_NOTE'::text, 'DEALLOCATION'::text, 'RECOVERY'::text]) THEN amount > 0::numeric
    WHEN kind = 'VOID'::text THEN amount <= 0::numeric
    ELSE amount < 0::numeric
END),
  constraint ledger_entry_client_id_reference FOREIGN KEY (tenant_id, client_id) REFERENCES client(tenant_id, id),
  constraint ledger_entry_document_date_agrees CHECK ((account = 'WIP'::text) = (document_date IS NULL) AND business_date >= document_date),
  constraint ledger_entry_kind_agrees CHECK (
CASE account
    WHEN 'RECEIVABLE'::text THEN client_id IS NOT NULL AND invoice_id IS NOT NULL AND due_date IS NOT NULL AND (kind = ANY (ARRAY['INVOICE'::text, 'ALLOCATION'::text, 'DEALLOCATION'::text, 'WRITE_OFF'::text, 'RECOVERY'::text, 'VOID'::text])) AND (kind = ANY (ARRAY['ALLOCATION'::text, 'DEALLOCATION'::text])) = (payment_id IS NOT NULL)
    WHEN 'CREDIT'::text THEN payment_id IS NOT NULL AND (kind = ANY (ARRAY['PAYMENT'::text, 'CREDIT_NOTE'::text, 'ALLOCATION'::text, 'DEALLOCATION'::text, 'REFUND'::text, 'RETURN'::text, 'PAYMENT_VOID'::text, 'NOTE_VOID'::text, 'IDENTIFICATION'::text])) AND ((kind <> ALL (ARRAY['ALLOCATION'::text, 'DEALLOCATION'::text])) OR invoice_id IS NOT NULL) AND (client_id IS NOT NULL OR (kind = ANY (ARRAY['PAYMENT'::text, 'REFUND'::text, 'RETURN'::text, 'PAYMENT_VOID'::text, 'IDENTIFICATION'::text])))
    WHEN 'WIP'::text THEN client_id IS NOT NULL AND wip_entry_id IS NOT NULL AND job_id IS NOT NULL AND (kind = ANY (ARRAY['WORK'::text, 'WORK_REVERSED'::text, 'WRITE_UP'::text, 'WRITE_DOWN'::text, 'BILLED'::text, 'UNBILLED'::text, 'WRITE_OFF'::text, 'RECOVERY'::text]))
    ELSE false
END),
  constraint ledger_entry_kind_enum CHECK (kind = ANY (ARRAY['INVOICE'::text, 'ALLOCATION'::text, 'DEALLOCATION'::text, 'WRITE_OFF'::text, 'RECOVERY'::text, 'VOID'::text, 'PAYMENT'::text, 'CREDIT_NOTE'::text, 'REFUND'::text, 'RETURN'::text, 'PAYMENT_VOID'::text, 'NOTE_VOID'::text, 'IDENTIFICATION'::text, 'WORK'::text, 'WORK_REVERSED'::text, 'WRITE_UP'::text, 'WRITE_DOWN'::text, 'BILLED'::text, 'UNBILLED'::text])),
  constraint ledger_entry_pkey PRIMARY KEY (tenant_id, id),
  constraint ledger_entry_work_date_agrees CHECK ((account = 'WIP'::text) = (work_date IS NOT NULL)),
  constraint ledger_entry_work_date_order CHECK (business_date >= work_date)
);
CREATE INDEX ledger_entry_business_date_index ON ledger_entry USING btree (tenant_id, business_date, id);
CREATE INDEX ledger_entry_client_document_index ON ledger_entry USING btree (tenant_id, client_id, business_date) INCLUDE (account, currency, due_date, amount) WHERE account <> 'WIP'::text;
CREATE INDEX ledger_entry_client_index ON ledger_entry USING btree (tenant_id, client_id, business_date, id) INCLUDE (account, currency, due_date, amount);
CREATE INDEX ledger_entry_document_index ON ledger_entry USING btree (tenant_id, account, business_date) INCLUDE (client_id, currency, due_date, amount, document_date, recorded_at) WHERE account <> 'WIP'::text;
CREATE INDEX ledger_entry_invoice_id_index ON ledger_entry USING btree (tenant_id, invoice_id, account) INCLUDE (amount) WHERE invoice_id IS NOT NULL;
CREATE INDEX ledger_entry_job_id_index ON ledger_entry USING btree (tenant_id, job_id) WHERE job_id IS NOT NULL;
CREATE INDEX ledger_entry_late_index ON ledger_entry USING btree (tenant_id, account, business_date) INCLUDE (client_id, currency, due_date, amount, document_date) WHERE (business_date - document_date) > 100;
CREATE INDEX ledger_entry_payment_id_index ON ledger_entry USING btree (tenant_id, payment_id, account) INCLUDE (amount) WHERE payment_id IS NOT NULL;
CREATE INDEX ledger_entry_recorded_at_index ON ledger_entry USING btree (tenant_id, recorded_at, id);
CREATE INDEX ledger_entry_unidentified_index ON ledger_entry USING btree (tenant_id, business_date, id) WHERE client_id IS NULL;
CREATE INDEX ledger_entry_wip_entry_id_index ON ledger_entry USING btree (tenant_id, wip_entry_id) INCLUDE (amount) WHERE wip_entry_id IS NOT NULL;
alter table ledger_entry enable row level security, force row level security;
create policy tenant_isolation on ledger_entry for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select on ledger_entry to financial_automation_service;
grant update (client_id) on ledger_entry to financial_automation_service;
CREATE CONSTRAINT TRIGGER ledger_entry_agrees AFTER INSERT ON ledger_entry DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION check_ledger_of_entry();
CREATE TRIGGER ledger_entry_document_date BEFORE INSERT ON ledger_entry FOR EACH ROW WHEN (new.account <> 'WIP'::text AND new.document_date IS NULL AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION set_document_date();
CREATE TRIGGER ledger_entry_immutable BEFORE DELETE OR UPDATE ON ledger_entry FOR EACH ROW EXECUTE FUNCTION refuse_change_but_merge();
CREATE TRIGGER ledger_entry_moved AFTER UPDATE ON ledger_entry REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION move_ledger_sums();
CREATE TRIGGER ledger_entry_period_open AFTER INSERT ON ledger_entry REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION check_open_period();
CREATE TRIGGER ledger_entry_sum AFTER INSERT ON ledger_entry REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION sum_ledger();
CREATE TRIGGER ledger_entry_sum_by_day AFTER INSERT ON ledger_entry REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION sum_ledger_by_day();

create table ledger_month (
  tenant_id integer not null,
  account text collate "C" not null,
  client_id uuid not null,
  currency text collate "C" not null,
  business_date date not null,
  amount numeric(18,2) not null,
  entries integer not null,
  first_work_date date,
  constraint ledger_month_business_date_agrees CHECK (EXTRACT(day FROM business_date) = 1::numeric),
  constraint ledger_month_first_work_date_agrees CHECK ((account = 'WIP'::text) = (first_work_date IS NOT NULL)),
  constraint ledger_month_pkey PRIMARY KEY (tenant_id, account, client_id, currency, business_date)
) with (fillfactor=80);
alter table ledger_month enable row level security, force row level security;
create policy tenant_isolation on ledger_month for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select, update on ledger_month to financial_automation_service;

create table ledger_work (
  tenant_id integer not null,
  id uuid default gen_random_uuid() not null,
  client_id uuid not null,
  business_date date not null,
  work_date date not null,
  job_id uuid not null,
  currency text collate "C" not null,
  amount numeric(18,2) not null,
  entries integer not null,
  constraint ledger_work_pkey PRIMARY KEY (tenant_id, client_id, business_date, id) INCLUDE (work_date, job_id, currency, amount, entries)
);
CREATE INDEX ledger_work_day_index ON ledger_work USING btree (tenant_id, business_date);
CREATE INDEX ledger_work_job_index ON ledger_work USING btree (tenant_id, job_id, business_date) INCLUDE (work_date, client_id, currency, amount, entries);
CREATE INDEX ledger_work_late_relief_index ON ledger_work USING btree (tenant_id, business_date) INCLUDE (work_date, client_id, job_id, currency, amount) WHERE (business_date - work_date) > 100;
CREATE INDEX ledger_work_relief_index ON ledger_work USING btree (tenant_id, business_date) INCLUDE (work_date, client_id, job_id, currency, amount) WHERE business_date > work_date;
alter table ledger_work enable row level security, force row level security;
create policy tenant_isolation on ledger_work for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select on ledger_work to financial_automation_service;
grant update (client_id) on ledger_work to financial_automation_service;

create table ledger_work_month (
  tenant_id integer not null,
  client_id uuid not null,
  job_id uuid not null,
  currency text collate "C" not null,
  business_date date not null,
  amount numeric(18,2) not null,
  entries integer not null,
  first_work_date date not null,
  last_work_date date not null,
  first_business_date date,
  last_business_date date,
  constraint ledger_work_month_business_date_agrees CHECK (EXTRACT(day FROM business_date) = 1::numeric),
  constraint ledger_work_month_business_dates_agree CHECK (first_business_date IS NOT NULL AND last_business_date IS NOT NULL),
  constraint ledger_work_month_pkey PRIMARY KEY (tenant_id, client_id, job_id, currency, business_date)
) with (fillfactor=80);
CREATE INDEX ledger_work_month_job_id_index ON ledger_work_month USING btree (tenant_id, job_id);
alter table ledger_work_month enable row level security, force row level security;
create policy tenant_isolation on ledger_work_month for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select, update on ledger_work_month to financial_automation_service;

create table mail (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  kind text collate "C" not null,
  status text collate "C" not null,
  org_id uuid not null,
  client_id uuid not null,
  invoice_ids uuid[] not null,
  to_addresses text[] not null,
  cc_addresses text[] not null,
  template text collate "C" not null,
  language text collate "C" not null,
  subject text collate "C",
  message text collate "C",
  quick_payment_link_id uuid,
  reminder_date date,
  attempts integer default 0 not null,
  accepted_addresses text[] default '{}'::text[] not null,
  bounced_addresses text[] default '{}'::text[] not null,
  failure text collate "C",
  sent_at timestamp(3) with time zone,
  addresses text[] generated always as (to_addresses || cc_addresses) stored not null,
  constraint mail_client_id_reference FOREIGN KEY (tenant_id, client_id) REFERENCES client(tenant_id, id),
  constraint mail_kind_enum CHECK (kind = ANY (ARRAY['INVOICE'::text, 'REMINDER'::text])),
  constraint mail_language_enum CHECK (language = ANY (ARRAY['en'::text, 'de'::text, 'fr'::text, 'es'::text])),
  constraint mail_org_id_reference FOREIGN KEY (tenant_id, org_id) REFERENCES org(tenant_id, id),
  constraint mail_pkey PRIMARY KEY (tenant_id, id),
  constraint mail_quick_payment_link_id_reference FOREIGN KEY (tenant_id, quick_payment_link_id) REFERENCES quick_payment_link(tenant_id, id),
  constraint mail_reminder_date_agrees CHECK ((kind = 'REMINDER'::text) = (reminder_date IS NOT NULL)),
  constraint mail_sent_at_agrees CHECK ((status = 'SENT'::text) = (sent_at IS NOT NULL)),
  constraint mail_status_enum CHECK (status = ANY (ARRAY['QUEUED'::text, 'SENDING'::text, 'SENT'::text, 'BOUNCED'::text, 'FAILED'::text, 'UNKNOWN'::text])),
  constraint mail_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX mail_addresses_index ON mail USING gin (tenant_id, addresses);
CREATE INDEX mail_attempts_index ON mail USING btree (tenant_id, attempts, id);
CREATE INDEX mail_bounced_index ON mail USING btree (tenant_id, id) WHERE bounced_addresses <> '{}'::text[];
CREATE INDEX mail_client_id_index ON mail USING btree (tenant_id, client_id, id);
CREATE INDEX mail_created_at_index ON mail USING btree (tenant_id, created_at, id);
CREATE INDEX mail_invoice_ids_index ON mail USING gin (tenant_id, invoice_ids);
CREATE INDEX mail_kind_index ON mail USING btree (tenant_id, kind, id);
CREATE INDEX mail_metadata_index ON mail USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX mail_org_id_index ON mail USING btree (tenant_id, org_id, id);
CREATE UNIQUE INDEX mail_reminder_date_unique ON mail USING btree (tenant_id, client_id, reminder_date) WHERE reminder_date IS NOT NULL;
CREATE INDEX mail_sent_at_index ON mail USING btree (tenant_id, sent_at, id);
CREATE INDEX mail_status_index ON mail USING btree (tenant_id, status, id);
CREATE INDEX mail_template_index ON mail USING btree (tenant_id, template, id);
CREATE INDEX mail_updated_at_index ON mail USING btree (tenant_id, updated_at, id);
alter table mail enable row level security, force row level security;
create policy tenant_isolation on mail for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on mail to financial_automation_service;
CREATE TRIGGER mail_client_id_present AFTER INSERT OR UPDATE OF client_id ON mail FOR EACH ROW WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION refuse_merged_client('client_id');

create table mail_template (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  org_id uuid not null,
  name text collate "C" not null,
  language text collate "C" not null,
  subject text collate "C" not null,
  text text collate "C" not null,
  html text collate "C",
  reply_to text collate "C",
  constraint mail_template_language_enum CHECK (language = ANY (ARRAY['en'::text, 'de'::text, 'fr'::text, 'es'::text])),
  constraint mail_template_org_id_reference FOREIGN KEY (tenant_id, org_id) REFERENCES org(tenant_id, id),
  constraint mail_template_pkey PRIMARY KEY (tenant_id, id),
  constraint mail_template_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX mail_template_metadata_index ON mail_template USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE UNIQUE INDEX mail_template_name_unique ON mail_template USING btree (tenant_id, org_id, name, language) WHERE active;
CREATE INDEX mail_template_updated_at_index ON mail_template USING btree (tenant_id, updated_at, id);
alter table mail_template enable row level security, force row level security;
create policy tenant_isolation on mail_template for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on mail_template to financial_automation_service;

create table moved_row (
  tenant integer not null,
  id bigint generated always as identity not null,
  table_name text collate "C" not null,
  key jsonb not null,
  constraint moved_row_pkey PRIMARY KEY (tenant, id)
);

create table non_work_code (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  code text collate "C" not null,
  name text collate "C" not null,
  description text collate "C",
  is_billable boolean default false not null,
  category text collate "C",
  service_line_id uuid,
  task_type_id uuid,
  default_rate numeric,
  constraint non_work_code_code_unique UNIQUE (tenant_id, code),
  constraint non_work_code_default_rate_range CHECK (default_rate >= 0::numeric AND default_rate < '100000000000'::numeric AND scale(default_rate) <= 4),
  constraint non_work_code_is_billable_range CHECK (NOT is_billable),
  constraint non_work_code_pkey PRIMARY KEY (tenant_id, id),
  constraint non_work_code_service_line_id_reference FOREIGN KEY (tenant_id, service_line_id) REFERENCES service_line(tenant_id, id),
  constraint non_work_code_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint non_work_code_task_type_id_reference FOREIGN KEY (tenant_id, task_type_id) REFERENCES task_type(tenant_id, id)
);
CREATE INDEX non_work_code_metadata_index ON non_work_code USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX non_work_code_updated_at_index ON non_work_code USING btree (tenant_id, updated_at, id);
alter table non_work_code enable row level security, force row level security;
create policy tenant_isolation on non_work_code for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on non_work_code to financial_automation_service;

create table office (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
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
  constraint office_code_unique UNIQUE (tenant_id, code),
  constraint office_name_unique UNIQUE (tenant_id, name),
  constraint office_org_id_reference FOREIGN KEY (tenant_id, org_id) REFERENCES org(tenant_id, id),
  constraint office_pkey PRIMARY KEY (tenant_id, id),
  constraint office_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX office_metadata_index ON office USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX office_updated_at_index ON office USING btree (tenant_id, updated_at, id);
alter table office enable row level security, force row level security;
create policy tenant_isolation on office for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on office to financial_automation_service;

create table operator_log (
  id uuid not null,
  occurred_at timestamp(3) with time zone default now() not null,
  operation text collate "C" not null,
  subject text collate "C" not null,
  details jsonb,
  constraint operator_log_pkey PRIMARY KEY (id)
);
CREATE TRIGGER operator_log_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON operator_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table org (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  name text collate "C" not null,
  legal_name text collate "C" not null,
  code text collate "C" not null,
  currency text collate "C" not null,
  country text collate "C" not null,
  time_zone text collate "C" not null,
  fiscal_year_start_month integer not null,
  books_closed_through date,
  tax_rounding text collate "C" default 'LINE'::text not null,
  vat_id text collate "C",
  settle_within numeric(16,2) default 0 not null,
  time_step numeric(10,2),
  reminder_schedule jsonb default '[]'::jsonb not null,
  electronic_address jsonb,
  bank_accounts jsonb default '[]'::jsonb not null,
  constraint org_code_unique UNIQUE (tenant_id, code),
  constraint org_fiscal_year_start_month_range CHECK (fiscal_year_start_month >= 1 AND fiscal_year_start_month <= 12),
  constraint org_name_unique UNIQUE (tenant_id, name),
  constraint org_pkey PRIMARY KEY (tenant_id, id),
  constraint org_settle_within_range CHECK (settle_within >= 0::numeric),
  constraint org_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint org_tax_rounding_enum CHECK (tax_rounding = ANY (ARRAY['LINE'::text, 'DOCUMENT'::text])),
  constraint org_time_step_range CHECK (time_step = ANY (ARRAY[0.01, 0.10, 0.25]))
);
CREATE INDEX org_metadata_index ON org USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX org_updated_at_index ON org USING btree (tenant_id, updated_at, id);
alter table org enable row level security, force row level security;
create policy tenant_isolation on org for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on org to financial_automation_service;
CREATE TRIGGER org_periods_locked BEFORE UPDATE OF books_closed_through ON org FOR EACH ROW WHEN (old.books_closed_through IS DISTINCT FROM new.books_closed_through AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION lock_periods();

create table page_mark (
  tenant_id integer not null,
  table_name text collate "C" not null,
  rows_before integer not null,
  id uuid not null,
  constraint page_mark_id_unique UNIQUE (tenant_id, table_name, id),
  constraint page_mark_pkey PRIMARY KEY (tenant_id, table_name, rows_before)
);
alter table page_mark enable row level security, force row level security;
create policy tenant_isolation on page_mark for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select on page_mark to financial_automation_service;

create table payment (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  payment_number text collate "C" not null,
  pms_ref text collate "C",
  client_id uuid,
  org_id uuid,
  payer_contact_id uuid,
  payer_name text collate "C",
  payer_email text collate "C",
  payment_date date not null,
  amount numeric(16,2) not null,
  currency text collate "C" not null,
  method text collate "C" not null,
  status text collate "C" default 'COMPLETED'::text not null,
  source text collate "C" not null,
  quick_payment_link_id uuid,
  processor text collate "C",
  processor_ref text collate "C",
  card_brand text collate "C",
  last4 text collate "C",
  surcharge_amount numeric(16,2) default 0 not null,
  fee_amount numeric(16,2) default 0 not null,
  unapplied_amount numeric(16,2) default 0 not null,
  refunded_amount numeric(16,2) default 0 not null,
  failure_code text collate "C",
  failure_message text collate "C",
  settled_at timestamp(3) with time zone,
  returned_at timestamp(3) with time zone,
  refunded_at timestamp(3) with time zone,
  note text collate "C",
  check_number text collate "C",
  batch_ref text collate "C",
  net_amount numeric(16,2) generated always as (
CASE method
    WHEN 'CREDIT'::text THEN 0::numeric
    ELSE amount + surcharge_amount - fee_amount
END) stored not null,
  credit_note_id uuid,
  constraint payment_amount_range CHECK (amount > 0::numeric),
  constraint payment_client_id_agrees CHECK (client_id IS NOT NULL OR org_id IS NOT NULL AND method <> 'CREDIT'::text AND quick_payment_link_id IS NULL),
  constraint payment_client_id_reference FOREIGN KEY (tenant_id, client_id) REFERENCES client(tenant_id, id),
  constraint payment_credit_note_id_agrees CHECK ((source = 'CREDIT_NOTE'::text) = (credit_note_id IS NOT NULL) AND (source <> 'CREDIT_NOTE'::text OR method = 'CREDIT'::text AND (status = ANY (ARRAY['COMPLETED'::text, 'VOIDED'::text])) AND refunded_amount = 0::numeric)),
  constraint payment_credit_note_id_reference FOREIGN KEY (tenant_id, credit_note_id) REFERENCES invoice(tenant_id, id),
  constraint payment_credit_note_id_unique UNIQUE (tenant_id, credit_note_id),
  constraint payment_fee_amount_range CHECK (fee_amount >= 0::numeric AND fee_amount <= (amount + surcharge_amount)),
  constraint payment_last4_pattern CHECK (last4 ~ '^[0-9]{4}$'::text),
  constraint payment_method_enum CHECK (method = ANY (ARRAY['ACH'::text, 'CARD'::text, 'CHECK'::text, 'WIRE'::text, 'CASH'::text, 'CREDIT'::text, 'OTHER'::text])),
  constraint payment_net_amount_bound CHECK (net_amount < '10000000000000'::numeric),
  constraint payment_org_id_reference FOREIGN KEY (tenant_id, org_id) REFERENCES org(tenant_id, id),
  constraint payment_payer_contact_id_reference FOREIGN KEY (tenant_id, payer_contact_id) REFERENCES contact(tenant_id, id),
  constraint payment_payment_number_unique UNIQUE (tenant_id, payment_number),
  constraint payment_pkey PRIMARY KEY (tenant_id, id),
  constraint payment_pms_ref_unique UNIQUE (tenant_id, pms_ref),
  constraint payment_processor_ref_unique UNIQUE (tenant_id, processor_ref),
  constraint payment_quick_payment_link_id_agrees CHECK ((source = 'QUICK_PAYMENT_LINK'::text) = (quick_payment_link_id IS NOT NULL)),
  constraint payment_quick_payment_link_id_reference FOREIGN KEY (tenant_id, quick_payment_link_id) REFERENCES quick_payment_link(tenant_id, id),
  constraint payment_refunded_amount_agrees CHECK (
CASE status
    WHEN 'REFUNDED'::text THEN refunded_amount = amount
    WHEN 'PARTIALLY_REFUNDED'::text THEN refunded_amount > 0::numeric AND refunded_amount < amount
    WHEN 'VOIDED'::text THEN refunded_amount < amount
    WHEN 'RETURNED'::text THEN true
    ELSE refunded_amount = 0::numeric
END),
  constraint payment_refunded_amount_range CHECK (refunded_amount >= 0::numeric AND refunded_amount <= amount),
  constraint payment_source_enum CHECK (source = ANY (ARRAY['QUICK_PAYMENT_LINK'::text, 'PORTAL'::text, 'MANUAL'::text, 'AUTOPAY'::text, 'IMPORT'::text, 'CREDIT_NOTE'::text])),
  constraint payment_status_enum CHECK (status = ANY (ARRAY['PENDING'::text, 'COMPLETED'::text, 'FAILED'::text, 'RETURNED'::text, 'PARTIALLY_REFUNDED'::text, 'REFUNDED'::text, 'VOIDED'::text])),
  constraint payment_surcharge_amount_range CHECK (surcharge_amount >= 0::numeric),
  constraint payment_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint payment_unapplied_amount_range CHECK (
CASE status
    WHEN 'RETURNED'::text THEN unapplied_amount = (- refunded_amount)
    ELSE unapplied_amount >= 0::numeric
END)
);
CREATE INDEX payment_active_desc_index ON payment USING btree (tenant_id, active DESC, id);
CREATE INDEX payment_active_index ON payment USING btree (tenant_id, active, id);
CREATE INDEX payment_amount_index ON payment USING btree (tenant_id, amount, id);
CREATE INDEX payment_batches_index ON payment USING gin (tenant_id, check_number gin_trgm_ops, lower(check_number COLLATE fa_case) COLLATE "C" gin_trgm_ops, batch_ref gin_trgm_ops, lower(batch_ref COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX payment_client_id_index ON payment USING btree (tenant_id, client_id, id);
CREATE INDEX payment_created_at_index ON payment USING btree (tenant_id, created_at, id);
CREATE INDEX payment_metadata_index ON payment USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX payment_org_id_index ON payment USING btree (tenant_id, org_id, id) WHERE org_id IS NOT NULL;
CREATE INDEX payment_payment_date_index ON payment USING btree (tenant_id, payment_date, id);
CREATE INDEX payment_quick_payment_link_id_index ON payment USING btree (tenant_id, quick_payment_link_id) WHERE quick_payment_link_id IS NOT NULL;
CREATE INDEX payment_refs_index ON payment USING gin (tenant_id, payment_number gin_trgm_ops, lower(payment_number COLLATE fa_case) COLLATE "C" gin_trgm_ops, pms_ref gin_trgm_ops, lower(pms_ref COLLATE fa_case) COLLATE "C" gin_trgm_ops, processor_ref gin_trgm_ops, lower(processor_ref COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX payment_settled_at_index ON payment USING btree (tenant_id, settled_at, id);
CREATE INDEX payment_status_index ON payment USING btree (tenant_id, status, id);
CREATE INDEX payment_unapplied_index ON payment USING btree (tenant_id, client_id) WHERE unapplied_amount > 0::numeric;
CREATE INDEX payment_updated_at_index ON payment USING btree (tenant_id, updated_at, id);
alter table payment enable row level security, force row level security;
create policy tenant_isolation on payment for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on payment to financial_automation_service;
CREATE CONSTRAINT TRIGGER payment_agrees AFTER INSERT OR UPDATE ON payment DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION check_payment();
CREATE TRIGGER payment_client_id_present AFTER INSERT OR UPDATE OF client_id ON payment FOR EACH ROW WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION refuse_merged_client('client_id');
CREATE CONSTRAINT TRIGGER payment_identified AFTER UPDATE ON payment DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.client_id IS NULL AND new.client_id IS NOT NULL AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION check_identified_payment();
CREATE CONSTRAINT TRIGGER payment_ledger_inserted AFTER INSERT ON payment DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION check_ledger_of_payment();
CREATE CONSTRAINT TRIGGER payment_ledger_updated AFTER UPDATE ON payment DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (held(old.status, old.unapplied_amount) IS DISTINCT FROM held(new.status, new.unapplied_amount) AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION check_ledger_of_payment();
CREATE TRIGGER payment_sum_inserted AFTER INSERT ON payment REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION sum_payments();
CREATE TRIGGER payment_sum_updated AFTER UPDATE ON payment REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION sum_payments();

create table payment_allocation (
  tenant_id integer not null,
  payment_id uuid not null,
  "position" integer not null,
  invoice_id uuid not null,
  amount numeric(16,2) not null,
  allocated_at timestamp(3) with time zone,
  constraint payment_allocation_amount_range CHECK (amount > 0::numeric),
  constraint payment_allocation_invoice_id_reference FOREIGN KEY (tenant_id, invoice_id) REFERENCES invoice(tenant_id, id),
  constraint payment_allocation_invoice_id_unique UNIQUE (tenant_id, payment_id, invoice_id),
  constraint payment_allocation_payment_id_reference FOREIGN KEY (tenant_id, payment_id) REFERENCES payment(tenant_id, id),
  constraint payment_allocation_pkey PRIMARY KEY (tenant_id, payment_id, "position")
);
CREATE INDEX payment_allocation_invoice_id_index ON payment_allocation USING btree (tenant_id, invoice_id);
alter table payment_allocation enable row level security, force row level security;
create policy tenant_isolation on payment_allocation for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select on payment_allocation to financial_automation_service;

create table payment_attempt (
  tenant_id integer not null,
  id uuid not null,
  quick_payment_link_id uuid not null,
  status text collate "C" default 'OPEN'::text not null,
  processor text collate "C" not null,
  reference text collate "C",
  method text collate "C" not null,
  amount numeric(16,2) not null,
  currency text collate "C" not null,
  payer_name text collate "C" not null,
  payer_email text collate "C",
  description text collate "C" not null,
  session_hash bytea not null,
  action_url text collate "C",
  failure_code text collate "C",
  failure_message text collate "C",
  payment_id uuid,
  created_at timestamp(3) with time zone default tenant_now() not null,
  checks integer default 0 not null,
  next_check_at timestamp(3) with time zone,
  checked_at timestamp(3) with time zone,
  to_refund boolean default false not null,
  constraint payment_attempt_amount_range CHECK (amount > 0::numeric),
  constraint payment_attempt_method_enum CHECK (method = ANY (ARRAY['CARD'::text, 'ACH'::text])),
  constraint payment_attempt_payment_id_agrees CHECK ((status = ANY (ARRAY['OPEN'::text, 'DECLINED'::text])) = (payment_id IS NULL)),
  constraint payment_attempt_payment_id_reference FOREIGN KEY (tenant_id, payment_id) REFERENCES payment(tenant_id, id),
  constraint payment_attempt_pkey PRIMARY KEY (tenant_id, id),
  constraint payment_attempt_quick_payment_link_id_reference FOREIGN KEY (tenant_id, quick_payment_link_id) REFERENCES quick_payment_link(tenant_id, id),
  constraint payment_attempt_status_enum CHECK (status = ANY (ARRAY['OPEN'::text, 'DECLINED'::text, 'PENDING'::text, 'COMPLETED'::text, 'FAILED'::text, 'RETURNED'::text, 'REFUNDED'::text])),
  constraint payment_attempt_to_refund_agrees CHECK (NOT to_refund OR (status <> ALL (ARRAY['OPEN'::text, 'DECLINED'::text])))
);
CREATE INDEX payment_attempt_link_index ON payment_attempt USING btree (tenant_id, quick_payment_link_id, id);
CREATE INDEX payment_attempt_next_check_at_index ON payment_attempt USING btree (tenant_id, next_check_at) WHERE next_check_at IS NOT NULL;
CREATE UNIQUE INDEX payment_attempt_quick_payment_link_id_unique ON payment_attempt USING btree (tenant_id, quick_payment_link_id) WHERE status <> 'DECLINED'::text AND NOT to_refund;
alter table payment_attempt enable row level security, force row level security;
create policy tenant_isolation on payment_attempt for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on payment_attempt to financial_automation_service;
CREATE TRIGGER payment_attempt_due AFTER INSERT ON payment_attempt REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION note_due_attempts();
CREATE TRIGGER payment_attempt_due_again AFTER UPDATE ON payment_attempt REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION note_due_attempts();

create table payment_link_token (
  token_hash bytea not null,
  tenant integer not null,
  quick_payment_link_id uuid not null,
  constraint payment_link_token_pkey PRIMARY KEY (token_hash)
);

create table process_heartbeat (
  process uuid not null,
  busy_tenants text[] not null,
  seen_at timestamp(3) with time zone not null,
  constraint process_heartbeat_pkey PRIMARY KEY (process)
) with (fillfactor=50);

create table quick_payment_link (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  url text collate "C" not null,
  token_hash bytea not null,
  client_id uuid not null,
  amount numeric(16,2),
  currency text collate "C" not null,
  note text collate "C",
  status text collate "C" default 'ACTIVE'::text not null,
  expires_at timestamp(3) with time zone not null,
  created_by_api_user_id uuid not null,
  payment_id uuid,
  used_at timestamp(3) with time zone,
  constraint quick_payment_link_active_agrees CHECK (active = (status <> 'CANCELLED'::text)),
  constraint quick_payment_link_amount_range CHECK (amount > 0::numeric),
  constraint quick_payment_link_client_id_reference FOREIGN KEY (tenant_id, client_id) REFERENCES client(tenant_id, id),
  constraint quick_payment_link_payment_id_agrees CHECK ((status = 'USED'::text) = (payment_id IS NOT NULL) AND (status = 'USED'::text) = (used_at IS NOT NULL)),
  constraint quick_payment_link_payment_id_reference FOREIGN KEY (tenant_id, payment_id) REFERENCES payment(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint quick_payment_link_pkey PRIMARY KEY (tenant_id, id),
  constraint quick_payment_link_status_enum CHECK (status = ANY (ARRAY['ACTIVE'::text, 'PROCESSING'::text, 'USED'::text, 'EXPIRED'::text, 'INVALIDATED'::text, 'CANCELLED'::text])),
  constraint quick_payment_link_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint quick_payment_link_token_hash_unique UNIQUE (tenant_id, token_hash)
);
CREATE INDEX quick_payment_link_client_id_index ON quick_payment_link USING btree (tenant_id, client_id, id);
CREATE INDEX quick_payment_link_expires_at_index ON quick_payment_link USING btree (tenant_id, expires_at) WHERE status = 'ACTIVE'::text;
CREATE INDEX quick_payment_link_metadata_index ON quick_payment_link USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX quick_payment_link_status_index ON quick_payment_link USING btree (tenant_id, status, id);
CREATE INDEX quick_payment_link_updated_at_index ON quick_payment_link USING btree (tenant_id, updated_at, id);
alter table quick_payment_link enable row level security, force row level security;
create policy tenant_isolation on quick_payment_link for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on quick_payment_link to financial_automation_service;
CREATE TRIGGER quick_payment_link_client_id_present AFTER INSERT OR UPDATE OF client_id ON quick_payment_link FOR EACH ROW WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION refuse_merged_client('client_id');
CREATE TRIGGER quick_payment_link_due AFTER INSERT ON quick_payment_link REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION note_due_links();
CREATE TRIGGER quick_payment_link_due_again AFTER UPDATE ON quick_payment_link REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION note_due_links();
CREATE TRIGGER quick_payment_link_token AFTER INSERT ON quick_payment_link FOR EACH ROW EXECUTE FUNCTION keep_payment_link_token();

create table quick_payment_link_invoice (
  tenant_id integer not null,
  quick_payment_link_id uuid not null,
  "position" integer not null,
  invoice_id uuid not null,
  amount_due_at_creation numeric(16,2) not null,
  constraint quick_payment_link_invoice_invoice_id_reference FOREIGN KEY (tenant_id, invoice_id) REFERENCES invoice(tenant_id, id),
  constraint quick_payment_link_invoice_link_reference FOREIGN KEY (tenant_id, quick_payment_link_id) REFERENCES quick_payment_link(tenant_id, id),
  constraint quick_payment_link_invoice_pkey PRIMARY KEY (tenant_id, quick_payment_link_id, "position")
);
CREATE INDEX quick_payment_link_invoice_invoice_id_index ON quick_payment_link_invoice USING btree (tenant_id, invoice_id);
alter table quick_payment_link_invoice enable row level security, force row level security;
create policy tenant_isolation on quick_payment_link_invoice for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select on quick_payment_link_invoice to financial_automation_service;

create table recent_request (
  tenant_id integer not null,
  id uuid not null,
  received_at timestamp(3) with time zone not null,
  operation text collate "C" not null,
  method text collate "C" not null,
  path text collate "C" not null,
  status integer not null,
  milliseconds numeric(12,1) not null,
  user_name text collate "C" not null,
  process text collate "C" not null,
  problem jsonb,
  constraint recent_request_pkey PRIMARY KEY (tenant_id, id)
);
alter table recent_request enable row level security, force row level security;
create policy recent_request_owner on recent_request for all to the owner using (true) with check (true);
create policy tenant_isolation on recent_request for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select on recent_request to financial_automation_service;

create table record_batch (
  tenant_id integer not null,
  id uuid not null,
  total integer not null,
  created integer default 0 not null,
  updated integer default 0 not null,
  unchanged integer default 0 not null,
  failed integer default 0 not null,
  failures jsonb default '[]'::jsonb not null,
  result_file_id uuid,
  created_by_api_user_id uuid not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  finished_at timestamp(3) with time zone,
  constraint record_batch_created_by_api_user_id_reference FOREIGN KEY (tenant_id, created_by_api_user_id) REFERENCES api_user(tenant_id, id),
  constraint record_batch_finished_at_agrees CHECK ((finished_at IS NULL) = (result_file_id IS NULL) AND (finished_at IS NULL OR (created + updated + unchanged + failed) = total)),
  constraint record_batch_pkey PRIMARY KEY (tenant_id, id),
  constraint record_batch_result_file_id_reference FOREIGN KEY (tenant_id, result_file_id) REFERENCES file(tenant_id, id),
  constraint record_batch_total_range CHECK ((created + updated + unchanged + failed) >= 0 AND (created + updated + unchanged + failed) <= total)
);
alter table record_batch enable row level security, force row level security;
create policy tenant_isolation on record_batch for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on record_batch to financial_automation_service;

create table record_batch_item (
  tenant_id integer not null,
  record_batch_id uuid not null,
  index integer not null,
  entry jsonb,
  result jsonb,
  entry_encrypted bytea,
  constraint record_batch_item_pkey PRIMARY KEY (tenant_id, record_batch_id, index),
  constraint record_batch_item_record_batch_id_reference FOREIGN KEY (tenant_id, record_batch_id) REFERENCES record_batch(tenant_id, id)
);
alter table record_batch_item enable row level security, force row level security;
create policy tenant_isolation on record_batch_item for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select, update on record_batch_item to financial_automation_service;

create table recorded_event (
  tenant_id integer not null,
  id uuid not null,
  entity_type text collate "C" not null,
  entity_id uuid not null,
  operation text collate "C" not null,
  sequence bigint not null,
  occurred_at timestamp(3) with time zone default tenant_now() not null,
  data jsonb not null,
  changed_fields text[],
  request_id text collate "C",
  recorded_at timestamp(3) with time zone default tenant_clock_timestamp() not null,
  traceparent text collate "C",
  is_import boolean default false not null,
  constraint recorded_event_entity_type_entity_id_sequence_unique UNIQUE (tenant_id, entity_type, entity_id, sequence),
  constraint recorded_event_operation_enum CHECK (operation = ANY (ARRAY['CREATE'::text, 'UPDATE'::text, 'DELETE'::text])),
  constraint recorded_event_pkey PRIMARY KEY (tenant_id, id)
);
alter table recorded_event enable row level security, force row level security;
create policy tenant_isolation on recorded_event for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select on recorded_event to financial_automation_service;
CREATE TRIGGER recorded_event_waits AFTER INSERT ON recorded_event REFERENCING NEW TABLE AS recorded FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION note_events();

create table request_count (
  key text collate "C" not null,
  points integer default 0 not null,
  expire bigint,
  constraint request_count_pkey PRIMARY KEY (key)
) with (fillfactor=50);

create table sandbox_payment (
  key uuid not null,
  reference text collate "C" not null,
  scenario text collate "C" not null,
  amount numeric(16,2) not null,
  fee numeric(16,2) not null,
  card_brand text collate "C",
  last4 text collate "C",
  submitted_at timestamp(3) with time zone not null,
  challenge_approved boolean,
  captured_at timestamp(3) with time zone,
  refunded_at timestamp(3) with time zone,
  constraint sandbox_payment_pkey PRIMARY KEY (key),
  constraint sandbox_payment_reference_unique UNIQUE (reference)
);

create table service_line (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  name text collate "C" not null,
  code text collate "C" not null,
  department_id uuid,
  revenue_account_code text collate "C",
  constraint service_line_code_unique UNIQUE (tenant_id, code),
  constraint service_line_department_id_reference FOREIGN KEY (tenant_id, department_id) REFERENCES department(tenant_id, id),
  constraint service_line_name_unique UNIQUE (tenant_id, name),
  constraint service_line_pkey PRIMARY KEY (tenant_id, id),
  constraint service_line_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX service_line_metadata_index ON service_line USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX service_line_updated_at_index ON service_line USING btree (tenant_id, updated_at, id);
alter table service_line enable row level security, force row level security;
create policy tenant_isolation on service_line for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on service_line to financial_automation_service;

create table shared_setting (
  name text collate "C" not null,
  value text collate "C" not null,
  constraint shared_setting_pkey PRIMARY KEY (name)
);

create table signing_key (
  kid text collate "C" not null,
  algorithm text collate "C" not null,
  public_jwk jsonb not null,
  private_jwk_encrypted bytea not null,
  created_at timestamp(3) with time zone default now() not null,
  retired_at timestamp(3) with time zone,
  constraint signing_key_pkey PRIMARY KEY (kid)
);

create table staff (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
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
  weekly_capacity_hours numeric(10,2) default 40.00 not null,
  target_utilization_percent numeric,
  status text collate "C" default 'ACTIVE'::text not null,
  constraint staff_department_id_reference FOREIGN KEY (tenant_id, department_id) REFERENCES department(tenant_id, id),
  constraint staff_email_unique UNIQUE (tenant_id, email),
  constraint staff_manager_id_other CHECK (manager_id <> id),
  constraint staff_manager_id_reference FOREIGN KEY (tenant_id, manager_id) REFERENCES staff(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint staff_office_id_reference FOREIGN KEY (tenant_id, office_id) REFERENCES office(tenant_id, id),
  constraint staff_org_id_reference FOREIGN KEY (tenant_id, org_id) REFERENCES org(tenant_id, id),
  constraint staff_pkey PRIMARY KEY (tenant_id, id),
  constraint staff_pms_ref_unique UNIQUE (tenant_id, pms_ref),
  constraint staff_staff_ref_unique UNIQUE (tenant_id, staff_ref),
  constraint staff_staff_type_id_reference FOREIGN KEY (tenant_id, staff_type_id) REFERENCES staff_type(tenant_id, id),
  constraint staff_status_enum CHECK (status = ANY (ARRAY['ACTIVE'::text, 'ON_LEAVE'::text, 'TERMINATED'::text])),
  constraint staff_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint staff_target_utilization_percent_range CHECK (target_utilization_percent >= 0::numeric AND target_utilization_percent <= 100::numeric AND scale(target_utilization_percent) <= 4),
  constraint staff_termination_date_order CHECK (termination_date >= hire_date),
  constraint staff_weekly_capacity_hours_range CHECK (weekly_capacity_hours >= 0::numeric AND weekly_capacity_hours <= 168::numeric)
);
CREATE INDEX staff_metadata_index ON staff USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX staff_names_index ON staff USING gin (tenant_id, display_name gin_trgm_ops, last_name gin_trgm_ops, first_name gin_trgm_ops, lower(display_name COLLATE fa_case) COLLATE "C" gin_trgm_ops, lower(last_name COLLATE fa_case) COLLATE "C" gin_trgm_ops, lower(first_name COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX staff_search_index ON staff USING gin (tenant_id, search_text(display_name) gin_trgm_ops, search_text(last_name) gin_trgm_ops, search_text(first_name) gin_trgm_ops);
CREATE INDEX staff_updated_at_index ON staff USING btree (tenant_id, updated_at, id);
alter table staff enable row level security, force row level security;
create policy tenant_isolation on staff for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on staff to financial_automation_service;

create table staff_job_assignment (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  staff_id uuid not null,
  job_id uuid not null,
  role text collate "C" not null,
  allocated_hours numeric(10,2),
  billing_rate_override numeric,
  start_date date,
  end_date date,
  deactivated_at timestamp(3) with time zone,
  constraint staff_job_assignment_allocated_hours_range CHECK (allocated_hours >= 0::numeric),
  constraint staff_job_assignment_billing_rate_override_range CHECK (billing_rate_override >= 0::numeric AND billing_rate_override < '100000000000'::numeric AND scale(billing_rate_override) <= 4),
  constraint staff_job_assignment_deactivated_at_agrees CHECK (active = (deactivated_at IS NULL)),
  constraint staff_job_assignment_end_date_order CHECK (end_date >= start_date),
  constraint staff_job_assignment_job_id_reference FOREIGN KEY (tenant_id, job_id) REFERENCES job(tenant_id, id),
  constraint staff_job_assignment_pkey PRIMARY KEY (tenant_id, id),
  constraint staff_job_assignment_role_enum CHECK (role = ANY (ARRAY['PARTNER'::text, 'MANAGER'::text, 'IN_CHARGE'::text, 'REVIEWER'::text, 'PREPARER'::text, 'OTHER'::text])),
  constraint staff_job_assignment_staff_id_reference FOREIGN KEY (tenant_id, staff_id) REFERENCES staff(tenant_id, id),
  constraint staff_job_assignment_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX staff_job_assignment_job_id_index ON staff_job_assignment USING btree (tenant_id, job_id);
CREATE INDEX staff_job_assignment_metadata_index ON staff_job_assignment USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE UNIQUE INDEX staff_job_assignment_role_unique ON staff_job_assignment USING btree (tenant_id, job_id, staff_id, role) WHERE active;
CREATE INDEX staff_job_assignment_staff_id_index ON staff_job_assignment USING btree (tenant_id, staff_id);
CREATE INDEX staff_job_assignment_updated_at_index ON staff_job_assignment USING btree (tenant_id, updated_at, id);
alter table staff_job_assignment enable row level security, force row level security;
create policy tenant_isolation on staff_job_assignment for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on staff_job_assignment to financial_automation_service;

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
  constraint staff_rate_average_rate_range CHECK (average_rate >= 0::numeric AND average_rate < '100000000000'::numeric AND scale(average_rate) <= 4),
  constraint staff_rate_billing_rate_range CHECK (billing_rate >= 0::numeric AND billing_rate < '100000000000'::numeric AND scale(billing_rate) <= 4),
  constraint staff_rate_effective_to_date_order CHECK (effective_to_date >= effective_from_date),
  constraint staff_rate_period_unique EXCLUDE USING gist (tenant_id WITH =, staff_id WITH =, daterange(effective_from_date, effective_to_date, '[]'::text) WITH &&),
  constraint staff_rate_pkey PRIMARY KEY (tenant_id, staff_id, effective_from_date),
  constraint staff_rate_staff_id_reference FOREIGN KEY (tenant_id, staff_id) REFERENCES staff(tenant_id, id)
);
alter table staff_rate enable row level security, force row level security;
create policy tenant_isolation on staff_rate for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select, update on staff_rate to financial_automation_service;

create table staff_task_assignment (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  staff_id uuid not null,
  task_id uuid not null,
  allocated_hours numeric(10,2),
  deactivated_at timestamp(3) with time zone,
  constraint staff_task_assignment_allocated_hours_range CHECK (allocated_hours >= 0::numeric),
  constraint staff_task_assignment_deactivated_at_agrees CHECK (active = (deactivated_at IS NULL)),
  constraint staff_task_assignment_pkey PRIMARY KEY (tenant_id, id),
  constraint staff_task_assignment_staff_id_reference FOREIGN KEY (tenant_id, staff_id) REFERENCES staff(tenant_id, id),
  constraint staff_task_assignment_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint staff_task_assignment_task_id_reference FOREIGN KEY (tenant_id, task_id) REFERENCES task(tenant_id, id)
);
CREATE INDEX staff_task_assignment_metadata_index ON staff_task_assignment USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX staff_task_assignment_staff_id_index ON staff_task_assignment USING btree (tenant_id, staff_id);
CREATE UNIQUE INDEX staff_task_assignment_task_id_unique ON staff_task_assignment USING btree (tenant_id, task_id, staff_id) WHERE active;
CREATE INDEX staff_task_assignment_updated_at_index ON staff_task_assignment USING btree (tenant_id, updated_at, id);
alter table staff_task_assignment enable row level security, force row level security;
create policy tenant_isolation on staff_task_assignment for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on staff_task_assignment to financial_automation_service;

create table staff_type (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  name text collate "C" not null,
  code text collate "C" not null,
  description text collate "C",
  rank integer not null,
  is_billable boolean not null,
  default_billing_rate numeric,
  default_average_rate numeric,
  constraint staff_type_code_unique UNIQUE (tenant_id, code),
  constraint staff_type_default_average_rate_range CHECK (default_average_rate >= 0::numeric AND default_average_rate < '100000000000'::numeric AND scale(default_average_rate) <= 4),
  constraint staff_type_default_billing_rate_range CHECK (default_billing_rate >= 0::numeric AND default_billing_rate < '100000000000'::numeric AND scale(default_billing_rate) <= 4),
  constraint staff_type_name_unique UNIQUE (tenant_id, name),
  constraint staff_type_pkey PRIMARY KEY (tenant_id, id),
  constraint staff_type_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX staff_type_metadata_index ON staff_type USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX staff_type_updated_at_index ON staff_type USING btree (tenant_id, updated_at, id);
alter table staff_type enable row level security, force row level security;
create policy tenant_isolation on staff_type for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on staff_type to financial_automation_service;

create table task (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  name text collate "C" not null,
  job_id uuid not null,
  task_type_id uuid not null,
  assignee_id uuid,
  status text collate "C" default 'NOT_STARTED'::text not null,
  priority text collate "C" default 'NORMAL'::text not null,
  start_date date,
  due_date date,
  completed_at timestamp(3) with time zone,
  budget_hours numeric(10,2),
  actual_hours numeric(10,2) default 0 not null,
  sequence integer not null,
  is_billable boolean not null,
  description text collate "C",
  constraint task_actual_hours_bound CHECK (abs(actual_hours) < '10000000'::numeric),
  constraint task_assignee_id_reference FOREIGN KEY (tenant_id, assignee_id) REFERENCES staff(tenant_id, id),
  constraint task_budget_hours_range CHECK (budget_hours >= 0::numeric),
  constraint task_job_id_reference FOREIGN KEY (tenant_id, job_id) REFERENCES job(tenant_id, id),
  constraint task_pkey PRIMARY KEY (tenant_id, id),
  constraint task_priority_enum CHECK (priority = ANY (ARRAY['LOW'::text, 'NORMAL'::text, 'HIGH'::text])),
  constraint task_sequence_range CHECK (sequence >= 0 AND sequence <= 1000000),
  constraint task_status_enum CHECK (status = ANY (ARRAY['NOT_STARTED'::text, 'IN_PROGRESS'::text, 'WAITING'::text, 'IN_REVIEW'::text, 'COMPLETED'::text, 'CANCELLED'::text])),
  constraint task_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint task_task_type_id_reference FOREIGN KEY (tenant_id, task_type_id) REFERENCES task_type(tenant_id, id)
);
CREATE INDEX task_active_desc_index ON task USING btree (tenant_id, active DESC, id);
CREATE INDEX task_active_index ON task USING btree (tenant_id, active, id);
CREATE INDEX task_assignee_id_index ON task USING btree (tenant_id, assignee_id, status);
CREATE INDEX task_created_at_index ON task USING btree (tenant_id, created_at, id);
CREATE INDEX task_due_date_index ON task USING btree (tenant_id, due_date, id);
CREATE INDEX task_due_date_nulls_last_index ON task USING btree (tenant_id, due_date DESC NULLS LAST, id);
CREATE INDEX task_job_id_index ON task USING btree (tenant_id, job_id, sequence);
CREATE INDEX task_metadata_index ON task USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX task_name_desc_index ON task USING btree (tenant_id, name DESC, id);
CREATE INDEX task_name_index ON task USING btree (tenant_id, name, id);
CREATE INDEX task_names_index ON task USING gin (tenant_id, name gin_trgm_ops, lower(name COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX task_not_billable_index ON task USING btree (tenant_id, id) WHERE NOT is_billable;
CREATE INDEX task_search_index ON task USING gin (tenant_id, search_text(name) gin_trgm_ops);
CREATE INDEX task_sequence_desc_index ON task USING btree (tenant_id, sequence DESC, id);
CREATE INDEX task_sequence_index ON task USING btree (tenant_id, sequence, id);
CREATE INDEX task_status_desc_index ON task USING btree (tenant_id, status DESC, id);
CREATE INDEX task_status_index ON task USING btree (tenant_id, status, id);
CREATE INDEX task_updated_at_index ON task USING btree (tenant_id, updated_at, id);
alter table task enable row level security, force row level security;
create policy tenant_isolation on task for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on task to financial_automation_service;

create table task_type (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  display_name text collate "C" not null,
  code text collate "C" not null,
  is_billable boolean not null,
  billing_method text collate "C" not null,
  default_rate numeric,
  default_work_code text collate "C",
  invoice_description text collate "C",
  service_line_id uuid,
  constraint task_type_billing_method_enum CHECK (billing_method = ANY (ARRAY['HOURLY'::text, 'FIXED'::text, 'NON_BILLABLE'::text])),
  constraint task_type_code_unique UNIQUE (tenant_id, code),
  constraint task_type_default_rate_range CHECK (default_rate >= 0::numeric AND default_rate < '100000000000'::numeric AND scale(default_rate) <= 4),
  constraint task_type_display_name_unique UNIQUE (tenant_id, display_name),
  constraint task_type_pkey PRIMARY KEY (tenant_id, id),
  constraint task_type_service_line_id_reference FOREIGN KEY (tenant_id, service_line_id) REFERENCES service_line(tenant_id, id),
  constraint task_type_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX task_type_metadata_index ON task_type USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX task_type_updated_at_index ON task_type USING btree (tenant_id, updated_at, id);
alter table task_type enable row level security, force row level security;
create policy tenant_isolation on task_type for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on task_type to financial_automation_service;

create table tax_code (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  name text collate "C" not null,
  code text collate "C" not null,
  taxes jsonb not null,
  constraint tax_code_code_unique UNIQUE (tenant_id, code),
  constraint tax_code_name_unique UNIQUE (tenant_id, name),
  constraint tax_code_pkey PRIMARY KEY (tenant_id, id),
  constraint tax_code_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX tax_code_metadata_index ON tax_code USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX tax_code_updated_at_index ON tax_code USING btree (tenant_id, updated_at, id);
alter table tax_code enable row level security, force row level security;
create policy tenant_isolation on tax_code for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on tax_code to financial_automation_service;

create table tax_region (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  name text collate "C" not null,
  code text collate "C" not null,
  country text collate "C" not null,
  state text collate "C",
  rate_percent numeric not null,
  applies_to_services boolean not null,
  tax_exempt_reason text collate "C",
  constraint tax_region_code_unique UNIQUE (tenant_id, code),
  constraint tax_region_name_unique UNIQUE (tenant_id, name),
  constraint tax_region_pkey PRIMARY KEY (tenant_id, id),
  constraint tax_region_rate_percent_range CHECK (rate_percent >= 0::numeric AND rate_percent <= 100::numeric AND scale(rate_percent) <= 4),
  constraint tax_region_system_ref_unique UNIQUE (tenant_id, system_ref)
);
CREATE INDEX tax_region_metadata_index ON tax_region USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX tax_region_updated_at_index ON tax_region USING btree (tenant_id, updated_at, id);
alter table tax_region enable row level security, force row level security;
create policy tenant_isolation on tax_region for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on tax_region to financial_automation_service;

create table tenant (
  id integer generated always as identity not null,
  name text collate "C" not null,
  display_name text collate "C" not null,
  currency text collate "C" default 'USD'::text not null,
  time_zone text collate "C" not null,
  settings jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default now() not null,
  is_sandbox boolean default false not null,
  clock_offset bigint default 0 not null,
  clock_leased_by uuid,
  clock_leased_until timestamp(3) with time zone,
  closed_at timestamp(3) with time zone,
  delete_after timestamp(3) with time zone,
  constraint tenant_clock_leased_by_agrees CHECK ((clock_leased_by IS NULL) = (clock_leased_until IS NULL)),
  constraint tenant_clock_offset_agrees CHECK (is_sandbox OR clock_offset = 0),
  constraint tenant_clock_offset_range CHECK (clock_offset >= 0 AND clock_offset <= (36525 * 86400000::bigint)),
  constraint tenant_name_pattern CHECK (name ~ '^[a-z][a-z0-9_]{1,62}$'::text),
  constraint tenant_name_unique UNIQUE (name),
  constraint tenant_pkey PRIMARY KEY (id)
);
CREATE TRIGGER tenant_due AFTER INSERT ON tenant FOR EACH ROW WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION note_due_day();
CREATE TRIGGER tenant_due_again AFTER UPDATE OF time_zone, active ON tenant FOR EACH ROW WHEN (new.active AND (new.time_zone <> old.time_zone OR NOT old.active) AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION note_due_day();
CREATE TRIGGER tenant_is_empty BEFORE DELETE ON tenant FOR EACH ROW EXECUTE FUNCTION tenant_is_empty(); -- A
CREATE TRIGGER tenant_placed AFTER INSERT ON tenant FOR EACH ROW EXECUTE FUNCTION place_tenant();

create table tenant_counter (
  tenant_id integer not null,
  name text collate "C" not null,
  value integer not null,
  constraint tenant_counter_pkey PRIMARY KEY (tenant_id, name)
);
alter table tenant_counter enable row level security, force row level security;
create policy tenant_isolation on tenant_counter for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on tenant_counter to financial_automation_service;

create table tenant_import (
  tenant integer not null,
  name text collate "C" not null,
  started_at timestamp(3) with time zone default now() not null,
  constraint tenant_import_name_unique UNIQUE (name),
  constraint tenant_import_pkey PRIMARY KEY (tenant)
);

create table tenant_move (
  tenant integer not null,
  phase text collate "C" not null,
  cell integer not null,
  move_id uuid not null,
  mover uuid not null,
  mover_until timestamp(3) with time zone not null,
  opens boolean default true not null,
  stopped_until timestamp(3) with time zone,
  started_at timestamp(3) with time zone default now() not null,
  constraint tenant_move_phase_enum CHECK (phase = ANY (ARRAY['LEAVING'::text, 'STOPPED'::text, 'LEFT'::text, 'REMOVED'::text, 'ARRIVING'::text])),
  constraint tenant_move_pkey PRIMARY KEY (tenant),
  constraint tenant_move_stopped_until_agrees CHECK (phase <> 'STOPPED'::text OR stopped_until IS NOT NULL)
);

create table tenant_place (
  name text collate "C" not null,
  cell integer not null,
  tenant integer,
  moves_to integer,
  renamed_to text collate "C",
  constraint tenant_place_pkey PRIMARY KEY (name)
);

create table time_entry (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  status text collate "C" default 'DRAFT'::text not null,
  rejection_reason text collate "C",
  approved_by_id uuid,
  approved_at timestamp(3) with time zone,
  created_by_api_user_id uuid,
  staff_id uuid not null,
  job_id uuid,
  task_id uuid,
  code text collate "C",
  work_date date not null,
  hours numeric(10,2) not null,
  is_billable boolean not null,
  description text collate "C",
  internal_note text collate "C",
  reverses_system_ref text collate "C",
  billing_rate numeric default 0 not null,
  amount numeric(16,2) default 0 not null,
  started_at timestamp(3) with time zone,
  ended_at timestamp(3) with time zone,
  constraint time_entry_amount_agrees CHECK (amount = work_amount(hours, billing_rate, 2) OR amount = work_amount(hours, billing_rate, 0)),
  constraint time_entry_approved_at_agrees CHECK ((status = 'APPROVED'::text) = (approved_at IS NOT NULL)),
  constraint time_entry_approved_by_id_reference FOREIGN KEY (tenant_id, approved_by_id) REFERENCES staff(tenant_id, id),
  constraint time_entry_billing_rate_range CHECK (billing_rate >= 0::numeric AND billing_rate < '100000000000'::numeric AND scale(billing_rate) <= 4),
  constraint time_entry_ended_at_order CHECK ((started_at IS NULL) = (ended_at IS NULL) AND (ended_at > started_at) IS NOT FALSE),
  constraint time_entry_hours_range CHECK (
CASE
    WHEN reverses_system_ref IS NULL THEN hours > 0::numeric AND hours <= 24::numeric
    ELSE hours < 0::numeric AND hours >= '-24'::integer::numeric
END),
  constraint time_entry_job_id_agrees CHECK (job_id IS NOT NULL OR NOT is_billable),
  constraint time_entry_job_id_reference FOREIGN KEY (tenant_id, job_id) REFERENCES job(tenant_id, id),
  constraint time_entry_pkey PRIMARY KEY (tenant_id, id),
  constraint time_entry_rejection_reason_agrees CHECK ((status = 'REJECTED'::text) = (rejection_reason IS NOT NULL)),
  constraint time_entry_reverses_system_ref_reference FOREIGN KEY (tenant_id, reverses_system_ref) REFERENCES time_entry(tenant_id, system_ref) DEFERRABLE INITIALLY DEFERRED,
  constraint time_entry_staff_id_reference FOREIGN KEY (tenant_id, staff_id) REFERENCES staff(tenant_id, id),
  constraint time_entry_status_enum CHECK (status = ANY (ARRAY['DRAFT'::text, 'SUBMITTED'::text, 'APPROVED'::text, 'REJECTED'::text])),
  constraint time_entry_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint time_entry_task_id_reference FOREIGN KEY (tenant_id, task_id) REFERENCES task(tenant_id, id)
);
CREATE INDEX time_entry_active_desc_index ON time_entry USING btree (tenant_id, active DESC, id);
CREATE INDEX time_entry_active_index ON time_entry USING btree (tenant_id, active, id);
CREATE INDEX time_entry_amount_index ON time_entry USING btree (tenant_id, amount, id);
CREATE INDEX time_entry_approved_at_index ON time_entry USING btree (tenant_id, approved_at, id) WHERE approved_at IS NOT NULL;
CREATE INDEX time_entry_approved_by_id_index ON time_entry USING btree (tenant_id, approved_by_id) WHERE approved_by_id IS NOT NULL;
CREATE INDEX time_entry_code_index ON time_entry USING btree (tenant_id, code);
CREATE INDEX time_entry_created_at_index ON time_entry USING btree (tenant_id, created_at, id);
CREATE INDEX time_entry_job_id_index ON time_entry USING btree (tenant_id, job_id, status);
CREATE INDEX time_entry_metadata_index ON time_entry USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX time_entry_notes_index ON time_entry USING gin (tenant_id, description gin_trgm_ops, lower(description COLLATE fa_case) COLLATE "C" gin_trgm_ops, internal_note gin_trgm_ops, lower(internal_note COLLATE fa_case) COLLATE "C" gin_trgm_ops);
CREATE INDEX time_entry_rejection_reason_index ON time_entry USING btree (tenant_id, id) WHERE rejection_reason IS NOT NULL;
CREATE INDEX time_entry_reverses_system_ref_index ON time_entry USING btree (tenant_id, reverses_system_ref) WHERE reverses_system_ref IS NOT NULL;
CREATE INDEX time_entry_search_index ON time_entry USING gin (tenant_id, search_text(description) gin_trgm_ops, search_text(internal_note) gin_trgm_ops);
CREATE INDEX time_entry_staff_id_index ON time_entry USING btree (tenant_id, staff_id, work_date);
CREATE INDEX time_entry_status_index ON time_entry USING btree (tenant_id, status, id);
CREATE INDEX time_entry_task_id_index ON time_entry USING btree (tenant_id, task_id);
CREATE INDEX time_entry_updated_at_index ON time_entry USING btree (tenant_id, updated_at, id);
CREATE INDEX time_entry_work_date_index ON time_entry USING btree (tenant_id, work_date, id);
alter table time_entry enable row level security, force row level security;
create policy tenant_isolation on time_entry for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on time_entry to financial_automation_service;
CREATE TRIGGER time_entry_hours_inserted AFTER INSERT ON time_entry REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION check_hours_of_day();
CREATE TRIGGER time_entry_hours_updated AFTER UPDATE ON time_entry REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION check_hours_of_day();
CREATE TRIGGER time_entry_page_marks AFTER INSERT ON time_entry REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION keep_page_marks();
CREATE TRIGGER time_entry_sum_inserted AFTER INSERT ON time_entry REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION sum_hours();
CREATE TRIGGER time_entry_sum_updated AFTER UPDATE ON time_entry REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION sum_hours();

create table webhook_secret (
  tenant_id integer not null,
  id uuid not null,
  secret_encrypted bytea not null,
  created_at timestamp(3) with time zone default now() not null,
  expires_at timestamp(3) with time zone,
  constraint webhook_secret_pkey PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX webhook_secret_current_unique ON webhook_secret USING btree (tenant_id) WHERE expires_at IS NULL;
alter table webhook_secret enable row level security, force row level security;
create policy tenant_isolation on webhook_secret for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant delete, insert, select, update on webhook_secret to financial_automation_service;

create table wip_entry (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  wip_type text collate "C" not null,
  client_id uuid not null,
  job_id uuid not null,
  staff_id uuid,
  task_id uuid,
  code text collate "C",
  engagement_id uuid,
  work_date date not null,
  hours numeric(10,2),
  billing_rate numeric,
  amount numeric(16,2) not null,
  write_off_amount numeric(16,2) default 0 not null,
  write_off_reason text collate "C",
  time_entry_id uuid,
  expense_entry_id uuid,
  status text collate "C" default 'OPEN'::text not null,
  currency text collate "C" not null,
  billed_amount numeric(16,2) default 0 not null,
  write_up_amount numeric(16,2) default 0 not null,
  outstanding_amount numeric(16,2) generated always as (
CASE
    WHEN status = 'REVERSED'::text THEN 0::numeric
    ELSE amount + write_up_amount - write_off_amount - billed_amount
END) stored not null,
  draft_invoice_id uuid,
  invoice_id uuid,
  posted_at timestamp(3) with time zone not null,
  billed_at timestamp(3) with time zone,
  constraint wip_entry_amount_agrees CHECK (amount = work_amount(hours, billing_rate, 2) OR amount = work_amount(hours, billing_rate, minor_units(currency))),
  constraint wip_entry_amount_range CHECK ((wip_type <> ALL (ARRAY['EXPENSE'::text, 'FIXED_FEE'::text])) OR amount >= 0::numeric),
  constraint wip_entry_billing_rate_range CHECK (billing_rate >= 0::numeric AND billing_rate < '100000000000'::numeric AND scale(billing_rate) <= 4),
  constraint wip_entry_client_id_reference FOREIGN KEY (tenant_id, client_id) REFERENCES client(tenant_id, id),
  constraint wip_entry_draft_invoice_id_reference FOREIGN KEY (tenant_id, draft_invoice_id) REFERENCES draft_invoice(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint wip_entry_engagement_id_reference FOREIGN KEY (tenant_id, engagement_id) REFERENCES engagement(tenant_id, id),
  constraint wip_entry_expense_entry_id_agrees CHECK ((wip_type = 'EXPENSE'::text) = (expense_entry_id IS NOT NULL)),
  constraint wip_entry_expense_entry_id_reference FOREIGN KEY (tenant_id, expense_entry_id) REFERENCES expense_entry(tenant_id, id),
  constraint wip_entry_invoice_id_reference FOREIGN KEY (tenant_id, invoice_id) REFERENCES invoice(tenant_id, id) DEFERRABLE INITIALLY DEFERRED,
  constraint wip_entry_job_id_reference FOREIGN KEY (tenant_id, job_id) REFERENCES job(tenant_id, id),
  constraint wip_entry_outstanding_amount_agrees CHECK (
CASE status
    WHEN 'BILLED'::text THEN (amount + write_up_amount - write_off_amount) = billed_amount AND invoice_id IS NOT NULL
    WHEN 'WRITTEN_OFF'::text THEN (amount + write_up_amount - write_off_amount) = billed_amount
    WHEN 'OPEN'::text THEN billed_amount = 0::numeric AND write_up_amount = 0::numeric AND write_off_amount = 0::numeric
    WHEN 'IN_DRAFT'::text THEN draft_invoice_id IS NOT NULL
    ELSE true
END),
  constraint wip_entry_outstanding_amount_bound CHECK (abs(outstanding_amount) < '10000000000000'::numeric),
  constraint wip_entry_pkey PRIMARY KEY (tenant_id, id),
  constraint wip_entry_staff_id_reference FOREIGN KEY (tenant_id, staff_id) REFERENCES staff(tenant_id, id),
  constraint wip_entry_status_enum CHECK (status = ANY (ARRAY['OPEN'::text, 'IN_DRAFT'::text, 'PARTIALLY_BILLED'::text, 'BILLED'::text, 'WRITTEN_OFF'::text, 'REVERSED'::text])),
  constraint wip_entry_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint wip_entry_task_id_reference FOREIGN KEY (tenant_id, task_id) REFERENCES task(tenant_id, id),
  constraint wip_entry_time_entry_id_agrees CHECK ((wip_type = 'TIME'::text) = (time_entry_id IS NOT NULL)),
  constraint wip_entry_time_entry_id_reference FOREIGN KEY (tenant_id, time_entry_id) REFERENCES time_entry(tenant_id, id),
  constraint wip_entry_wip_type_enum CHECK (wip_type = ANY (ARRAY['TIME'::text, 'EXPENSE'::text, 'FIXED_FEE'::text, 'PROGRESS'::text, 'ADJUSTMENT'::text])),
  constraint wip_entry_write_off_reason_agrees CHECK (status <> 'WRITTEN_OFF'::text OR write_off_reason IS NOT NULL)
);
CREATE INDEX wip_entry_active_desc_index ON wip_entry USING btree (tenant_id, active DESC, id);
CREATE INDEX wip_entry_active_index ON wip_entry USING btree (tenant_id, active, id);
CREATE INDEX wip_entry_amount_index ON wip_entry USING btree (tenant_id, amount, id);
CREATE INDEX wip_entry_billed_amount_index ON wip_entry USING btree (tenant_id, billed_amount, id);
CREATE INDEX wip_entry_client_id_index ON wip_entry USING btree (tenant_id, client_id, work_date, id);
CREATE INDEX wip_entry_created_at_index ON wip_entry USING btree (tenant_id, created_at, id);
CREATE INDEX wip_entry_draft_invoice_id_index ON wip_entry USING btree (tenant_id, draft_invoice_id);
CREATE INDEX wip_entry_engagement_id_index ON wip_entry USING btree (tenant_id, engagement_id) WHERE engagement_id IS NOT NULL;
CREATE UNIQUE INDEX wip_entry_expense_entry_id_unique ON wip_entry USING btree (tenant_id, expense_entry_id) WHERE status <> 'REVERSED'::text;
CREATE INDEX wip_entry_invoice_id_index ON wip_entry USING btree (tenant_id, invoice_id);
CREATE INDEX wip_entry_job_id_index ON wip_entry USING btree (tenant_id, job_id, status);
CREATE INDEX wip_entry_metadata_index ON wip_entry USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX wip_entry_outstanding_amount_index ON wip_entry USING btree (tenant_id, outstanding_amount, id);
CREATE INDEX wip_entry_posted_at_index ON wip_entry USING btree (tenant_id, posted_at, id);
CREATE INDEX wip_entry_task_id_index ON wip_entry USING btree (tenant_id, task_id) WHERE task_id IS NOT NULL;
CREATE INDEX wip_entry_time_entry_id_index ON wip_entry USING btree (tenant_id, time_entry_id) WHERE time_entry_id IS NOT NULL;
CREATE UNIQUE INDEX wip_entry_time_entry_id_unique ON wip_entry USING btree (tenant_id, time_entry_id) WHERE status <> 'REVERSED'::text;
CREATE INDEX wip_entry_unbilled_index ON wip_entry USING btree (tenant_id, client_id, work_date, id) INCLUDE (job_id, currency, outstanding_amount) WHERE status = ANY (ARRAY['OPEN'::text, 'PARTIALLY_BILLED'::text, 'IN_DRAFT'::text]);
CREATE INDEX wip_entry_updated_at_index ON wip_entry USING btree (tenant_id, updated_at, id);
CREATE INDEX wip_entry_work_date_index ON wip_entry USING btree (tenant_id, work_date, id);
CREATE INDEX wip_entry_write_off_amount_index ON wip_entry USING btree (tenant_id, write_off_amount, id);
alter table wip_entry enable row level security, force row level security;
create policy tenant_isolation on wip_entry for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on wip_entry to financial_automation_service;
CREATE TRIGGER wip_entry_client_id_present AFTER INSERT OR UPDATE OF client_id ON wip_entry FOR EACH ROW WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION refuse_merged_client('client_id');
CREATE CONSTRAINT TRIGGER wip_entry_ledger_inserted AFTER INSERT ON wip_entry DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION check_ledger_of_work();
CREATE CONSTRAINT TRIGGER wip_entry_ledger_updated AFTER UPDATE ON wip_entry DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.outstanding_amount IS DISTINCT FROM new.outstanding_amount AND current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION check_ledger_of_work();
CREATE TRIGGER wip_entry_page_marks AFTER INSERT ON wip_entry REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION keep_page_marks();
CREATE TRIGGER wip_entry_sum_inserted AFTER INSERT ON wip_entry REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION sum_wip();
CREATE TRIGGER wip_entry_sum_updated AFTER UPDATE ON wip_entry REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.copies_rows'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION sum_wip();

create table wip_relief (
  tenant_id integer not null,
  invoice_id uuid not null,
  wip_entry_id uuid not null,
  billed numeric(16,2) not null,
  write_up numeric(16,2) not null,
  write_off numeric(16,2) not null,
  constraint wip_relief_invoice_id_reference FOREIGN KEY (tenant_id, invoice_id) REFERENCES invoice(tenant_id, id),
  constraint wip_relief_pkey PRIMARY KEY (tenant_id, invoice_id, wip_entry_id),
  constraint wip_relief_wip_entry_id_reference FOREIGN KEY (tenant_id, wip_entry_id) REFERENCES wip_entry(tenant_id, id)
);
CREATE INDEX wip_relief_wip_entry_id_index ON wip_relief USING btree (tenant_id, wip_entry_id);
alter table wip_relief enable row level security, force row level security;
create policy tenant_isolation on wip_relief for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select on wip_relief to financial_automation_service;

create table work_code (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  active boolean default true not null,
  created_at timestamp(3) with time zone default tenant_now() not null,
  updated_at timestamp(3) with time zone default tenant_now() not null,
  version integer default 1 not null,
  code text collate "C" not null,
  name text collate "C" not null,
  description text collate "C",
  is_billable boolean not null,
  category text collate "C",
  service_line_id uuid,
  task_type_id uuid,
  default_rate numeric,
  constraint work_code_code_unique UNIQUE (tenant_id, code),
  constraint work_code_default_rate_range CHECK (default_rate >= 0::numeric AND default_rate < '100000000000'::numeric AND scale(default_rate) <= 4),
  constraint work_code_pkey PRIMARY KEY (tenant_id, id),
  constraint work_code_service_line_id_reference FOREIGN KEY (tenant_id, service_line_id) REFERENCES service_line(tenant_id, id),
  constraint work_code_system_ref_unique UNIQUE (tenant_id, system_ref),
  constraint work_code_task_type_id_reference FOREIGN KEY (tenant_id, task_type_id) REFERENCES task_type(tenant_id, id)
);
CREATE INDEX work_code_metadata_index ON work_code USING gin (tenant_id, metadata jsonb_path_ops) WHERE metadata <> '{}'::jsonb;
CREATE INDEX work_code_updated_at_index ON work_code USING btree (tenant_id, updated_at, id);
alter table work_code enable row level security, force row level security;
create policy tenant_isolation on work_code for all to public using (tenant_id = current_setting('app.tenant_id'::text)::integer) with check (tenant_id = current_setting('app.tenant_id'::text)::integer);
grant insert, select, update on work_code to financial_automation_service;

create view billed_line with (security_invoker=true) as
 SELECT t.tenant_id,
    t.id,
    t.invoice_id,
    t.line_id,
    i.created_at,
    i.updated_at,
    i.version,
    i.invoice_number AS document_number,
    i.document_type,
    i.status,
    i.invoice_date,
    i.org_id,
    i.client_id,
    c.office_id,
    COALESCE(t.region_id, i.tax_region_id) AS tax_region_id,
    i.currency,
    l.line_type,
    l.job_id,
    j.service_line_id,
    l.description,
    l.quantity,
    l.unit_amount,
    t.amount,
    t.name IS NOT NULL AS taxable,
    t.taxable_amount,
    t.name AS tax_name,
    t.category AS tax_category,
    t.rate_percent AS tax_rate_percent,
    t.tax_amount,
        CASE
            WHEN i.status = 'VOIDED'::text THEN COALESCE(( SELECT max(v.business_date) AS max
               FROM ledger_entry v
              WHERE v.tenant_id = i.tenant_id AND v.invoice_id = i.id AND (v.kind = ANY (ARRAY['VOID'::text, 'NOTE_VOID'::text]))), tenant_day(i.voided_at))
            ELSE NULL::date
        END AS voided_date
   FROM invoice_line_tax t
     JOIN invoice i ON i.tenant_id = t.tenant_id AND i.id = t.invoice_id
     JOIN invoice_line l ON l.tenant_id = t.tenant_id AND l.id = t.line_id
     LEFT JOIN client c ON c.tenant_id = i.tenant_id AND c.id = i.client_id
     LEFT JOIN job j ON j.tenant_id = l.tenant_id AND j.id = l.job_id;
grant select on billed_line to financial_automation_service;

create view journal_day with (security_invoker=true) as
 SELECT s.tenant_id,
    s.kind,
    s.purpose,
    COALESCE(narrow.account_code,
        CASE
            WHEN s.purpose = 'REVENUE'::text THEN l.revenue_account_code
            ELSE NULL::text
        END, wide.account_code) AS account_code,
        CASE
            WHEN narrow.id IS NOT NULL THEN narrow.account_name
            WHEN s.purpose <> 'REVENUE'::text OR l.revenue_account_code IS NULL THEN wide.account_name
            ELSE NULL::text
        END AS account_name,
    s.amount,
    s.debit,
    s.credit,
    s.currency,
    s.business_date,
    s.org_id,
    s.office_id,
    s.service_line_id,
    s.payment_method,
    s.tax_name,
    s.entries
   FROM ( SELECT journal_sum.tenant_id,
            journal_sum.business_date,
            journal_sum.org_id,
            journal_sum.office_id,
            journal_sum.purpose,
            journal_sum.kind,
            journal_sum.currency,
            journal_sum.payment_method,
            journal_sum.service_line_id,
            journal_sum.tax_name,
            journal_sum.amount,
            journal_sum.debit,
            journal_sum.credit,
            journal_sum.entries
           FROM journal_sum
        UNION ALL
         SELECT j.tenant_id,
            j.business_date,
            j.org_id,
            j.office_id,
            j.purpose,
            j.kind,
            j.currency,
            j.payment_method,
            j.service_line_id,
            j.tax_name,
            j.amount,
            j.debit,
            j.credit,
            1
           FROM journal_of_empty_invoices() j(tenant_id, id, posting_id, kind, purpose, account_code, account_name, amount, debit, credit, currency, business_date, recorded_at, org_id, client_id, office_id, job_id, service_line_id, invoice_id, invoice_line_id, payment_id, wip_entry_id, payment_method, tax_name, tax_category, tax_region_id, tax_rate_percent, reverses_id, reason)) s
     LEFT JOIN service_line l ON l.tenant_id = s.tenant_id AND l.id = s.service_line_id
     LEFT JOIN gl_mapping narrow ON narrow.tenant_id = s.tenant_id AND narrow.active AND narrow.org_id = s.org_id AND narrow.purpose = s.purpose AND narrow.subject =
        CASE s.purpose
            WHEN 'REVENUE'::text THEN s.service_line_id::text
            WHEN 'TAX'::text THEN s.tax_name
            WHEN 'PAYMENT'::text THEN s.payment_method
            ELSE s.kind
        END
     LEFT JOIN gl_mapping wide ON wide.tenant_id = s.tenant_id AND wide.active AND wide.org_id = s.org_id AND wide.purpose = s.purpose AND wide.subject = ''::text;
grant select on journal_day to financial_automation_service;

create view journal_entry with (security_invoker=true) as
 SELECT e.tenant_id,
    journal_row_id(e.id, r.number) AS id,
    e.id AS posting_id,
    e.kind,
    r.purpose,
    COALESCE(narrow.account_code,
        CASE
            WHEN r.purpose = 'REVENUE'::text THEN s.revenue_account_code
            ELSE NULL::text
        END, wide.account_code) AS account_code,
        CASE
            WHEN narrow.id IS NOT NULL THEN narrow.account_name
            WHEN r.purpose <> 'REVENUE'::text OR s.revenue_account_code IS NULL THEN wide.account_name
            ELSE NULL::text
        END AS account_name,
    r.amount,
    GREATEST(r.amount, 0.00) AS debit,
    GREATEST(- r.amount, 0.00) AS credit,
    e.currency,
    e.business_date,
    e.recorded_at,
    o.org_id,
    r.client_id,
    c.office_id,
    r.job_id,
    j.service_line_id,
    e.invoice_id,
    r.invoice_line_id,
    e.payment_id,
    e.wip_entry_id,
    r.payment_method,
    r.tax_name,
    r.tax_category,
    r.tax_region_id,
    r.tax_rate_percent,
    e.reverses_id,
    e.reason
   FROM ( SELECT ledger_entry.tenant_id,
            ledger_entry.id,
            ledger_entry.account,
            ledger_entry.kind,
            ledger_entry.amount,
            ledger_entry.currency,
            ledger_entry.business_date,
            ledger_entry.recorded_at,
            ledger_entry.client_id,
            ledger_entry.job_id,
            ledger_entry.invoice_id,
            ledger_entry.payment_id,
            ledger_entry.wip_entry_id,
            ledger_entry.reverses_id,
            ledger_entry.reason,
            ledger_entry.is_rounding
           FROM ledger_entry
        UNION ALL
         SELECT invoice.tenant_id,
            invoice.id,
            'RECEIVABLE'::text COLLATE "C" AS text,
            'INVOICE'::text COLLATE "C" AS text,
            0.00::numeric(16,2) AS "numeric",
            invoice.currency,
            invoice.invoice_date,
            invoice.posted_at,
            invoice.client_id,
            NULL::uuid AS uuid,
            invoice.id,
            NULL::uuid AS uuid,
            NULL::uuid AS uuid,
            NULL::uuid AS uuid,
            NULL::text COLLATE "C" AS text,
            false
           FROM invoice
          WHERE invoice.total = 0::numeric AND invoice.posted_at IS NOT NULL) e
     CROSS JOIN LATERAL ( SELECT 0 AS number,
                CASE
                    WHEN e.account = 'CREDIT'::text AND e.client_id IS NULL THEN 'SUSPENSE'::text COLLATE "C"
                    ELSE e.account
                END AS purpose,
                CASE e.account
                    WHEN 'CREDIT'::text THEN - e.amount
                    ELSE e.amount
                END AS amount,
            e.client_id,
            e.job_id,
            NULL::uuid AS invoice_line_id,
            NULL::text COLLATE "C" AS payment_method,
            NULL::text COLLATE "C" AS tax_name,
            NULL::text COLLATE "C" AS tax_category,
            NULL::uuid AS tax_region_id,
            NULL::numeric AS tax_rate_percent
          WHERE e.amount <> 0::numeric AND NOT (e.account = 'RECEIVABLE'::text AND (e.kind = ANY (ARRAY['ALLOCATION'::text, 'DEALLOCATION'::text]))) AND NOT (e.kind = 'IDENTIFICATION'::text AND e.client_id IS NOT NULL)
        UNION ALL
         SELECT 1,
            'CREDIT'::text,
            e.amount,
            p.client_id,
            NULL::uuid,
            NULL::uuid,
            NULL::text,
            NULL::text,
            NULL::text,
            NULL::uuid,
            NULL::numeric
           FROM payment p
          WHERE p.tenant_id = e.tenant_id AND p.id = e.payment_id AND e.kind = 'IDENTIFICATION'::text AND e.client_id IS NULL
        UNION ALL
         SELECT 1,
            'RECEIVABLE'::text,
            e.amount,
            i.client_id,
            NULL::uuid,
            NULL::uuid,
            NULL::text,
            NULL::text,
            NULL::text,
            NULL::uuid,
            NULL::numeric
           FROM invoice i
          WHERE i.tenant_id = e.tenant_id AND i.id = e.invoice_id AND e.account = 'CREDIT'::text AND (e.kind = ANY (ARRAY['ALLOCATION'::text, 'DEALLOCATION'::text]))
        UNION ALL
         SELECT 1,
                CASE
                    WHEN e.account = 'WIP'::text THEN 'WIP_CHANGE'::text
                    WHEN e.is_rounding THEN 'ROUNDING'::text
                    ELSE 'WRITE_OFF'::text
                END AS "case",
            - e.amount,
            e.client_id,
            e.job_id,
            NULL::uuid,
            NULL::text,
            NULL::text,
            NULL::text,
            NULL::uuid,
            NULL::numeric
          WHERE e.account = 'WIP'::text OR (e.kind = ANY (ARRAY['WRITE_OFF'::text, 'RECOVERY'::text]))
        UNION ALL
         SELECT 1,
            'PAYMENT'::text,
            e.amount,
            e.client_id,
            NULL::uuid,
            NULL::uuid,
            p.method,
            NULL::text,
            NULL::text,
            NULL::uuid,
            NULL::numeric
           FROM payment p
          WHERE p.tenant_id = e.tenant_id AND p.id = e.payment_id AND e.account = 'CREDIT'::text AND (e.kind = ANY (ARRAY['PAYMENT'::text, 'REFUND'::text, 'RETURN'::text, 'PAYMENT_VOID'::text]))
        UNION ALL
         SELECT 8 * (l."position" + 1) + part.number,
            part.purpose,
            part.amount *
                CASE
                    WHEN e.kind = ANY (ARRAY['VOID'::text, 'NOTE_VOID'::text]) THEN 1
                    ELSE '-1'::integer
                END::numeric,
            e.client_id,
            l.job_id,
            t.id,
            NULL::text,
            part.tax_name,
            part.tax_category,
            part.tax_region_id,
            part.tax_rate_percent
           FROM invoice_line_tax t
             JOIN invoice_line l ON l.tenant_id = t.tenant_id AND l.id = t.line_id
             JOIN invoice i ON i.tenant_id = t.tenant_id AND i.id = t.invoice_id
             CROSS JOIN LATERAL ( VALUES (0,'REVENUE'::text COLLATE "C",t.amount,NULL::text COLLATE "C",NULL::text COLLATE "C",NULL::uuid,NULL::numeric), (1 + t."position",'TAX'::text,t.tax_amount,t.name,t.category,COALESCE(t.region_id, i.tax_region_id),t.rate_percent)) part(number, purpose, amount, tax_name, tax_category, tax_region_id, tax_rate_percent)
          WHERE t.tenant_id = e.tenant_id AND t.invoice_id = e.invoice_id AND part.amount <> 0::numeric AND (e.kind = ANY (ARRAY['INVOICE'::text, 'CREDIT_NOTE'::text, 'VOID'::text, 'NOTE_VOID'::text]))) r
     LEFT JOIN client c ON c.tenant_id = e.tenant_id AND c.id = r.client_id
     LEFT JOIN invoice d ON d.tenant_id = e.tenant_id AND d.id = e.invoice_id
     LEFT JOIN payment paid ON paid.tenant_id = e.tenant_id AND paid.id = e.payment_id AND e.client_id IS NULL
     LEFT JOIN job j ON j.tenant_id = e.tenant_id AND j.id = r.job_id
     LEFT JOIN service_line s ON s.tenant_id = j.tenant_id AND s.id = j.service_line_id
     CROSS JOIN LATERAL ( SELECT
                CASE
                    WHEN e.client_id IS NULL THEN paid.org_id
                    WHEN r.purpose = ANY (ARRAY['RECEIVABLE'::text, 'REVENUE'::text, 'TAX'::text, 'WRITE_OFF'::text, 'ROUNDING'::text]) THEN COALESCE(d.org_id, c.org_id)
                    ELSE c.org_id
                END AS org_id) o
     LEFT JOIN gl_mapping narrow ON narrow.tenant_id = e.tenant_id AND narrow.active AND narrow.org_id = o.org_id AND narrow.purpose = r.purpose AND narrow.subject =
        CASE r.purpose
            WHEN 'REVENUE'::text THEN j.service_line_id::text
            WHEN 'TAX'::text THEN r.tax_name
            WHEN 'PAYMENT'::text THEN r.payment_method
            ELSE e.kind
        END
     LEFT JOIN gl_mapping wide ON wide.tenant_id = e.tenant_id AND wide.active AND wide.org_id = o.org_id AND wide.purpose = r.purpose AND wide.subject = ''::text;
grant select on journal_entry to financial_automation_service;

create view journal_sum_source with (security_invoker=true) as
 SELECT j.tenant_id,
    j.business_date,
    j.org_id,
    j.office_id,
    j.purpose,
    j.kind,
    j.currency,
    j.payment_method,
    j.service_line_id,
    j.tax_name,
    sum(j.amount) AS amount,
    sum(j.debit) AS debit,
    sum(j.credit) AS credit,
    count(*) AS entries
   FROM journal_entry j
     LEFT JOIN invoice empty ON empty.tenant_id = j.tenant_id AND empty.id = j.posting_id
  WHERE j.wip_entry_id IS NULL AND empty.id IS NULL
  GROUP BY j.tenant_id, j.business_date, j.org_id, j.office_id, j.purpose, j.kind, j.currency, j.payment_method, j.service_line_id, j.tax_name
UNION ALL
 SELECT w.tenant_id,
    w.business_date,
    w.org_id,
    w.office_id,
    side.purpose,
    w.kind,
    w.currency,
    NULL::text AS payment_method,
    w.service_line_id,
    NULL::text AS tax_name,
    side.sign::numeric * w.amount AS amount,
        CASE side.sign
            WHEN 1 THEN w.positive
            ELSE - w.negative
        END AS debit,
        CASE side.sign
            WHEN 1 THEN - w.negative
            ELSE w.positive
        END AS credit,
    w.entries
   FROM ( SELECT e.tenant_id,
            e.business_date,
            c.org_id,
            c.office_id,
            e.kind,
            e.currency,
            j.service_line_id,
            sum(e.amount) AS amount,
            COALESCE(sum(e.amount) FILTER (WHERE e.amount > 0::numeric), 0::numeric) AS positive,
            COALESCE(sum(e.amount) FILTER (WHERE e.amount < 0::numeric), 0::numeric) AS negative,
            count(*) AS entries
           FROM ledger_entry e
             JOIN client c ON c.tenant_id = e.tenant_id AND c.id = e.client_id
             LEFT JOIN job j ON j.tenant_id = e.tenant_id AND j.id = e.job_id
          WHERE e.account = 'WIP'::text
          GROUP BY e.tenant_id, e.business_date, c.org_id, c.office_id, e.kind, e.currency, j.service_line_id) w
     CROSS JOIN ( VALUES ('WIP'::text COLLATE "C",1), ('WIP_CHANGE'::text COLLATE "C",'-1'::integer)) side(purpose, sign);
grant select on journal_sum_source to financial_automation_service;

CREATE OR REPLACE PROCEDURE public.add_balances(IN changes balance_change[]) LANGUAGE sql
BEGIN ATOMIC
 UPDATE client k SET outstanding_balance = limited((k.outstanding_balance + c.outstanding)), unapplied_credit = limited((k.unapplied_credit + c.unapplied)), version = (k.version + 1), updated_at = GREATEST(k.updated_at, tenant_now())
    FROM ( SELECT unnest.tenant_id,
             unnest.client_id,
             unnest.currency,
             sum(unnest.outstanding) AS outstanding,
             sum(unnest.unapplied) AS unapplied
            FROM unnest(add_balances.changes) unnest(tenant_id, client_id, currency, outstanding, unapplied)
           GROUP BY unnest.tenant_id, unnest.client_id, unnest.currency
          HAVING ((sum(unnest.outstanding) <> (0)::numeric) OR (sum(unnest.unapplied) <> (0)::numeric))) c
   WHERE ((k.tenant_id = c.tenant_id) AND (k.id = c.client_id) AND (k.currency = c.currency));
END;

CREATE OR REPLACE PROCEDURE public.add_billing(IN changes billing_change[]) LANGUAGE sql
BEGIN ATOMIC
 UPDATE job j SET billed_amount = limited((j.billed_amount + c.billed)), billed_fee_amount = limited((j.billed_fee_amount + c.fee)), fee_without_work_amount = limited((j.fee_without_work_amount + c.fee_without_work)), version = (j.version + 1), updated_at = GREATEST(j.updated_at, tenant_now())
    FROM ( SELECT unnest.tenant_id,
             unnest.job_id,
             sum(unnest.billed) AS billed,
             sum(unnest.fee) AS fee,
             sum(unnest.fee_without_work) AS fee_without_work
            FROM unnest(add_billing.changes) unnest(tenant_id, job_id, billed, fee, fee_without_work)
           GROUP BY unnest.tenant_id, unnest.job_id) c
   WHERE ((j.tenant_id = c.tenant_id) AND (j.id = c.job_id));
END;

CREATE OR REPLACE PROCEDURE public.add_hours(IN changes hours_change[]) LANGUAGE sql
BEGIN ATOMIC
 UPDATE task t SET actual_hours = (t.actual_hours + c.hours), version = (t.version + 1), updated_at = GREATEST(t.updated_at, tenant_now())
    FROM ( SELECT unnest.tenant_id,
             unnest.task_id,
             sum(unnest.hours) AS hours
            FROM unnest(add_hours.changes) unnest(tenant_id, job_id, task_id, hours)
           GROUP BY unnest.tenant_id, unnest.task_id
          HAVING (sum(unnest.hours) <> (0)::numeric)) c
   WHERE ((t.tenant_id = c.tenant_id) AND (t.id = c.task_id));
 UPDATE job j SET actual_hours = (j.actual_hours + c.hours), version = (j.version + 1), updated_at = GREATEST(j.updated_at, tenant_now())
    FROM ( SELECT unnest.tenant_id,
             unnest.job_id,
             sum(unnest.hours) AS hours
            FROM unnest(add_hours.changes) unnest(tenant_id, job_id, task_id, hours)
           GROUP BY unnest.tenant_id, unnest.job_id
          HAVING (sum(unnest.hours) <> (0)::numeric)) c
   WHERE ((j.tenant_id = c.tenant_id) AND (j.id = c.job_id));
END;

CREATE OR REPLACE FUNCTION public.add_months(parent regclass, until timestamp with time zone) RETURNS integer LANGUAGE plpgsql AS $function$
declare
  month timestamp := (select max(ends_at) from partitions_of(parent)) at time zone 'UTC';
  added integer := 0;
begin
  while month at time zone 'UTC' < until loop
    begin
      call add_partition(parent, format('%s_%s', parent, to_char(month, 'YYYY_MM')), format('for values from (%L) to (%L)',
        first_id_at(month at time zone 'UTC'), first_id_at((month + interval '1 month') at time zone 'UTC')));
      added := added + 1;
    exception when check_violation then null;
    end;
    month := month + interval '1 month';
  end loop;
  return added;
end
$function$;

CREATE OR REPLACE FUNCTION public.add_page_marks(tenant integer, marked_table text, most integer) RETURNS integer LANGUAGE plpgsql AS $function$
declare
  first_id uuid := '00000000-0000-0000-0000-000000000000';
  first_rows integer := 0;
  added integer;
begin
  perform pg_advisory_xact_lock(72305, tenant);
  select m.id, m.rows_before into first_id, first_rows from page_mark m
    where m.tenant_id = tenant and m.table_name = marked_table order by m.rows_before desc limit 1;
  execute format('insert into page_mark (tenant_id, table_name, rows_before, id)
    select $1, $2, $3 + r.n, r.id
    from (select e.id, (row_number() over (order by e.id) - 1)::integer as n from %I e
      where e.tenant_id = $1 and e.id >= $4 order by e.id limit $5 * 5000 + 1) r
    where r.n > 0 and r.n %% 5000 = 0', marked_table)
    using tenant, marked_table, coalesce(first_rows, 0), coalesce(first_id, '00000000-0000-0000-0000-000000000000'), most;
  get diagnostics added = row_count;
  return added;
end
$function$;

CREATE OR REPLACE PROCEDURE public.add_partition(IN parent regclass, IN partition text, IN bounds text) LANGUAGE plpgsql AS $procedure$
begin
  execute format('create table %I (like %s including defaults including constraints including indexes)', partition, parent);
  execute format('call protect_tenant_table(%L, ''select'')', partition);
  execute format('revoke all on %I from financial_automation_service', partition);
  if exists (select from pg_trigger where tgrelid = parent and tgfoid = 'refuse_change'::regproc) then
    execute format('create trigger %I before update or delete or truncate on %I for each statement execute function refuse_change()',
      partition || '_append_only', partition);
  end if;
  execute format('alter table %s attach partition %I %s', parent, partition, bounds);
end
$procedure$;

CREATE OR REPLACE PROCEDURE public.add_wip(IN changes wip_change[]) LANGUAGE sql
BEGIN ATOMIC
 UPDATE job j SET wip_amount = limited((j.wip_amount + c.outstanding)), billed_work_amount = limited((j.billed_work_amount + c.billed)), write_off_amount = limited((j.write_off_amount + c.written_off)), write_up_amount = limited((j.write_up_amount + c.written_up)), version = (j.version + 1), updated_at = GREATEST(j.updated_at, tenant_now())
    FROM ( SELECT unnest.tenant_id,
             unnest.job_id,
             sum(unnest.outstanding) AS outstanding,
             sum(unnest.billed) AS billed,
             sum(unnest.written_off) AS written_off,
             sum(unnest.written_up) AS written_up
            FROM unnest(add_wip.changes) unnest(tenant_id, job_id, client_id, currency, outstanding, billed, written_off, written_up)
           GROUP BY unnest.tenant_id, unnest.job_id
          HAVING ((sum(unnest.outstanding) <> (0)::numeric) OR (sum(unnest.billed) <> (0)::numeric) OR (sum(unnest.written_off) <> (0)::numeric) OR (sum(unnest.written_up) <> (0)::numeric))) c
   WHERE ((j.tenant_id = c.tenant_id) AND (j.id = c.job_id));
 UPDATE client k SET unbilled_wip = limited((k.unbilled_wip + c.outstanding)), version = (k.version + 1), updated_at = GREATEST(k.updated_at, tenant_now())
    FROM ( SELECT unnest.tenant_id,
             unnest.client_id,
             unnest.currency,
             sum(unnest.outstanding) AS outstanding
            FROM unnest(add_wip.changes) unnest(tenant_id, job_id, client_id, currency, outstanding, billed, written_off, written_up)
           GROUP BY unnest.tenant_id, unnest.client_id, unnest.currency
          HAVING (sum(unnest.outstanding) <> (0)::numeric)) c
   WHERE ((k.tenant_id = c.tenant_id) AND (k.id = c.client_id) AND (k.currency = c.currency));
END;

CREATE OR REPLACE PROCEDURE public.admit_owner(IN tenant_table regclass) LANGUAGE plpgsql AS $procedure$
begin
  execute format('create policy %I on %s to %I using (true) with check (true)', tenant_table || '_owner', tenant_table, current_user);
end
$procedure$;

CREATE OR REPLACE FUNCTION public.announce_jobs() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  perform pg_notify('background_job', case when due_at > now() then '' else name end)
  from (select distinct name, due_at from added) job;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.are_priced(lines jsonb, prices_include_tax boolean, tax_rounding text, places integer) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  with line as materialized (
    select l.*, l.amount + case when prices_include_tax then l.tax_amount else 0 end as price
    from jsonb_to_recordset(lines) l ("position" integer, quantity numeric, unit_amount numeric, amount numeric, taxable boolean,
      tax_rate_percent numeric, tax_amount numeric, taxes jsonb)),
  tax as materialized (
    select l."position", l.amount, l.price, l.tax_rate_percent as all_percent, t.name, t."ratePercent" as rate, t.category, t."regionId" as region,
      t.amount as tax, case when prices_include_tax then included_part(l.price, t."ratePercent", l.tax_rate_percent) else tax_part(l.amount, t."ratePercent") end as exact
    from line l cross join lateral jsonb_to_recordset(l.taxes) t (name text, "ratePercent" numeric, category text, "regionId" uuid, amount numeric)
    where l.taxable)
  select coalesce(not exists (
      select from line l left join (select "position", sum(rate) as rate, sum(tax) as tax from tax group by 1) t using ("position")
      where line_amount(quantity, unit_amount, places) <> price or taxable <> (t.tax is not null) or tax_amount <> coalesce(t.tax, 0)
        or tax_rate_percent <> coalesce(t.rate, tax_rate_percent))
    and (tax_rounding = 'STATED' or not exists (select from tax where abs(tax - exact) >= power(10::numeric, -places))
    and case
      when tax_rounding = 'DOCUMENT' then not exists (
        select from (select name, rate, category, region, sum(tax) as tax, sum(amount) as amount, included_part(sum(price), rate, all_percent) as part
          from tax group by name, rate, category, region, all_percent) t
        group by name, rate, category, region
        having sum(tax) <> case when prices_include_tax then round(sum(part), places) else line_tax(sum(amount), true, rate, places) end)
      when prices_include_tax then not exists (
        select from line where taxable and tax_amount <> round(included_part(price, tax_rate_percent, tax_rate_percent), places))
      else not exists (select from tax where tax <> line_tax(amount, true, rate, places)) end), true)
$function$;

CREATE OR REPLACE FUNCTION public.assign_event_positions(max_events integer, OUT assigned integer, OUT partitions integer) RETURNS record LANGUAGE plpgsql SET enable_seqscan TO 'off' SET enable_bitmapscan TO 'off' SET enable_hashjoin TO 'off' SET enable_mergejoin TO 'off' AS $function$
declare
  bound integer := current_setting('app.tenant_id')::integer;
  last bigint;
begin
  select position into last from event_feed where tenant_id = bound for update;
  if not found then
    insert into event_feed (tenant_id) values (bound) on conflict do nothing;
    select position into last from event_feed where tenant_id = bound for update;
  end if;
  with recorded as (
    -- By the places of the rows: nobody else removes them while the feed is locked. A list, because a join could compare all rows.
    delete from event_waiting where tenant_id = bound and ctid = any (array(
      select ctid from event_waiting where tenant_id = bound order by recorded_at, sequence, event_id limit max_events))
    returning recorded_at, sequence, event_id, entity_type, entity_id, operation
  ), positioned as (
    insert into event_position (tenant_id, position, event_id, entity_type, entity_id, operation, recorded_at)
    select bound, last + row_number() over (order by recorded_at, sequence, event_id), event_id, entity_type, entity_id, operation,
      recorded_at
    from recorded
  ), subscribed as (
    -- In the order of their keys, as in every transaction that locks partitions.
    select tenant_id, subscription_id, greatest(date_trunc('milliseconds', clock_timestamp()), paused_until) as next
    from delivery_partition
    where tenant_id = bound and subscription_id in (
      select subscription.id from event_subscription subscription
      join (select distinct entity_type, operation from recorded) kind
        on kind.entity_type = any (array[subscription.entity_type] || subscription.more_entity_types) and kind.operation = any (subscription.operations)
      where subscription.tenant_id = bound and subscription.active)
    order by subscription_id for update
  ), due as (
    update delivery_partition set due_at = least(due_at, subscribed.next) from subscribed
    where delivery_partition.tenant_id = bound and delivery_partition.subscription_id = subscribed.subscription_id
    returning leased_until is null or leased_until < now() as is_free
  )
  select (select count(*) from recorded), (select count(*) from due where is_free) into assigned, partitions;
  if assigned > 0 then
    update event_feed set position = last + assigned where tenant_id = bound;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION public.check_balance_of_invoice(tenant integer, invoice uuid) RETURNS void LANGUAGE plpgsql AS $function$
begin
  if (select outstanding(i.status, i.amount_due) from invoice i where i.tenant_id = tenant and i.id = invoice)
    is distinct from (select coalesce(sum(e.amount), 0) from ledger_entry e
      where e.tenant_id = tenant and e.invoice_id = invoice and e.account = 'RECEIVABLE') then
    raise exception 'the entries of invoice % do not add up to its amount due', invoice
      using errcode = 'check_violation', constraint = 'ledger_entry_invoice_agrees', table = 'ledger_entry';
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION public.check_balance_of_payment(tenant integer, payment uuid) RETURNS void LANGUAGE plpgsql AS $function$
begin
  if (select held(p.status, p.unapplied_amount) from payment p where p.tenant_id = tenant and p.id = payment)
    is distinct from (select coalesce(sum(e.amount), 0) from ledger_entry e
      where e.tenant_id = tenant and e.payment_id = payment and e.account = 'CREDIT') then
    raise exception 'the entries of payment % do not add up to its unapplied amount', payment
      using errcode = 'check_violation', constraint = 'ledger_entry_payment_agrees', table = 'ledger_entry';
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION public.check_balance_of_work(tenant integer, work uuid) RETURNS void LANGUAGE plpgsql AS $function$
begin
  if (select w.outstanding_amount from wip_entry w where w.tenant_id = tenant and w.id = work)
    is distinct from (select coalesce(sum(e.amount), 0) from ledger_entry e
      where e.tenant_id = tenant and e.wip_entry_id = work) then
    raise exception 'the entries of work % do not add up to its outstanding amount', work
      using errcode = 'check_violation', constraint = 'ledger_entry_wip_entry_agrees', table = 'ledger_entry';
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION public.check_credited_total() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  if (select coalesce(sum(-note.total), 0) from invoice note
      where note.tenant_id = new.tenant_id and note.credited_invoice_id = new.credited_invoice_id and note.status <> 'VOIDED')
    > (select total from invoice where tenant_id = new.tenant_id and id = new.credited_invoice_id) then
    raise exception 'the credit notes of % exceed its total', new.credited_invoice_id
      using errcode = 'check_violation', constraint = 'invoice_credited_total_range', table = 'invoice';
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.check_draft_invoice() RETURNS trigger LANGUAGE plpgsql AS $function$
declare
  draft draft_invoice;
  lines record;
  held record;
begin
  select * into draft from draft_invoice d where d.tenant_id = new.tenant_id and d.id = new.id;
  select coalesce(sum(subtotal_of(line_type, amount)), 0) as subtotal, coalesce(sum(discount_of(line_type, amount)), 0) as discount_total,
      coalesce(sum(interest_of(line_type, amount)), 0) as interest_total, coalesce(sum(tax_amount), 0) as tax_total,
      are_priced(jsonb_agg(priced_line(l.position, l.quantity, l.unit_amount, l.amount, l.taxable, l.tax_rate_percent, l.tax_amount, l.taxes)), draft.prices_include_tax, draft.tax_rounding, minor_units(draft.currency)) as are_priced
    into lines from draft_invoice_line l where l.tenant_id = draft.tenant_id and l.draft_invoice_id = draft.id;
  if not lines.are_priced then
    raise exception 'a line of draft % has a wrong amount', draft.id
      using errcode = 'check_violation', constraint = 'draft_invoice_line_amount_agrees', table = 'draft_invoice_line';
  end if;
  if (draft.subtotal, draft.discount_total, draft.interest_total, draft.tax_total)
    is distinct from (lines.subtotal, lines.discount_total, lines.interest_total, lines.tax_total) then
    raise exception 'the totals of draft % are not those of its lines', draft.id
      using errcode = 'check_violation', constraint = 'draft_invoice_total_agrees', table = 'draft_invoice';
  end if;
  if draft.status in ('DRAFT', 'IN_REVIEW', 'REJECTED') then
    select count(*) as named, count(distinct w.id) filter (
        where w.status = 'IN_DRAFT' and w.draft_invoice_id = draft.id and w.client_id = draft.client_id
          and w.currency = draft.currency) as reserved
      into held
      from draft_invoice_line l
      join draft_invoice_line_wip lw on lw.tenant_id = l.tenant_id and lw.line_id = l.id
      join wip_entry w on w.tenant_id = lw.tenant_id and w.id = lw.wip_entry_id
      where l.tenant_id = draft.tenant_id and l.draft_invoice_id = draft.id;
    if held.named <> held.reserved then
      raise exception 'draft % names work in progress that it does not hold', draft.id
        using errcode = 'check_violation', constraint = 'draft_invoice_lines_held', table = 'draft_invoice';
    end if;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.check_hours_of_day() RETURNS trigger LANGUAGE plpgsql AS $function$
declare
  exceeded record;
begin
  select day.staff_id, day.work_date into exceeded
  from (select distinct tenant_id, staff_id, work_date from new_rows) day
  where (select sum(e.hours) from time_entry e
    where e.tenant_id = day.tenant_id and e.staff_id = day.staff_id and e.work_date = day.work_date
      and e.active and e.status <> 'REJECTED'
      and (e.reverses_system_ref is null or exists (select from time_entry reversed
        where reversed.tenant_id = e.tenant_id and reversed.system_ref = e.reverses_system_ref
          and reversed.work_date = e.work_date))) > 24
  limit 1;
  if found then
    raise exception 'more than 24 hours on %', exceeded.work_date
      using errcode = 'check_violation', constraint = 'time_entry_hours_day', table = 'time_entry';
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.check_identified_payment() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  if exists (select from ledger_entry e
    where e.tenant_id = new.tenant_id and e.payment_id = new.id and e.account = 'CREDIT' and e.client_id is null
    having sum(e.amount) <> 0) then
    raise exception 'payment % has a client, but its money has none', new.id
      using errcode = 'check_violation', constraint = 'ledger_entry_payment_identified', table = 'ledger_entry';
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.check_invoice() RETURNS trigger LANGUAGE plpgsql AS $function$
declare
  bill invoice;
  lines record;
  covered record;
begin
  select * into bill from invoice i where i.tenant_id = new.tenant_id and i.id = new.id;
  select coalesce(sum(paid_by(p.status, p.method, a.amount)), 0) as paid, coalesce(sum(credited_by(p.status, p.method, a.amount)), 0) as credited,
      coalesce(sum(pending_by(p.status, a.amount)), 0) as pending
    into covered
    from payment_allocation a join payment p on p.tenant_id = a.tenant_id and p.id = a.payment_id
    where a.tenant_id = bill.tenant_id and a.invoice_id = bill.id;
  if (bill.amount_paid, bill.amount_credited, bill.amount_pending)
    is distinct from (covered.paid, covered.credited, covered.pending) then
    raise exception 'what covers invoice % is not what is allocated to it', bill.id
      using errcode = 'check_violation', constraint = 'invoice_allocations_agree', table = 'invoice';
  end if;
  if tg_op = 'INSERT' then
    select coalesce(sum(subtotal_of(line_type, amount)), 0) as subtotal, coalesce(sum(discount_of(line_type, amount)), 0) as discount_total,
        coalesce(sum(interest_of(line_type, amount)), 0) as interest_total, coalesce(sum(tax_amount), 0) as tax_total,
        are_priced(jsonb_agg(priced_line(l.position, l.quantity, l.unit_amount, l.amount, l.taxable, l.tax_rate_percent, l.tax_amount, l.taxes)), bill.prices_include_tax, case when bill.tax_as_stated then 'STATED' else bill.tax_rounding end, minor_units(bill.currency)) as are_priced
      into lines from invoice_line l where l.tenant_id = bill.tenant_id and l.invoice_id = bill.id;
    if not lines.are_priced then
      raise exception 'a line of invoice % has a wrong amount', bill.id
        using errcode = 'check_violation', constraint = 'invoice_line_amount_agrees', table = 'invoice_line';
    end if;
    if (bill.subtotal, bill.discount_total, bill.interest_total, bill.tax_total)
      is distinct from (lines.subtotal, lines.discount_total, lines.interest_total, lines.tax_total) then
      raise exception 'the totals of invoice % are not those of its lines', bill.id
        using errcode = 'check_violation', constraint = 'invoice_total_agrees', table = 'invoice';
    end if;
    if bill.draft_invoice_id is not null and not exists (
      select 1 from draft_invoice d
      where d.tenant_id = bill.tenant_id and d.id = bill.draft_invoice_id and d.total = bill.total and d.invoice_id = bill.id)
    then
      raise exception 'invoice % and its draft disagree', bill.id
        using errcode = 'check_violation', constraint = 'invoice_draft_invoice_id_agrees', table = 'invoice';
    end if;
    if (select coalesce(sum(r.billed), 0) from wip_relief r where r.tenant_id = bill.tenant_id and r.invoice_id = bill.id)
      is distinct from (select coalesce(sum(l.amount), 0) from invoice_line l
        where l.tenant_id = bill.tenant_id and l.invoice_id = bill.id and exists (
          select 1 from invoice_line_wip lw where lw.tenant_id = l.tenant_id and lw.line_id = l.id)) then
      raise exception 'invoice % bills another amount of work in progress than its lines', bill.id
        using errcode = 'check_violation', constraint = 'invoice_relief_agrees', table = 'invoice';
    end if;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.check_ledger_of_entry() RETURNS trigger LANGUAGE plpgsql AS $function$
declare
  compared text := new.payment_id || ' ' || statement_timestamp();
begin
  case new.account
    when 'RECEIVABLE' then perform check_balance_of_invoice(new.tenant_id, new.invoice_id);
    when 'CREDIT' then
      if current_setting('app.compared_payment', true) is distinct from compared then
        perform check_balance_of_payment(new.tenant_id, new.payment_id);
        perform set_config('app.compared_payment', compared, true);
      end if;
    else perform check_balance_of_work(new.tenant_id, new.wip_entry_id);
  end case;
  -- Both halves of an allocation have one amount and one day. With OFFSET, they are found among the few entries of the invoice, and not among
  -- the thousands that a payment can have.
  if new.kind in ('ALLOCATION', 'DEALLOCATION') and (
    select sum(e.amount) filter (where e.account = 'RECEIVABLE') is distinct from sum(e.amount) filter (where e.account = 'CREDIT')
    from (select * from ledger_entry where tenant_id = new.tenant_id and invoice_id = new.invoice_id offset 0) e
    where e.payment_id = new.payment_id and e.kind = new.kind
      and e.business_date = new.business_date and e.recorded_at = new.recorded_at) then
    raise exception 'half an allocation of payment % is missing', new.payment_id
      using errcode = 'check_violation', constraint = 'ledger_entry_halves_agree', table = 'ledger_entry';
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.check_ledger_of_invoice() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  perform check_balance_of_invoice(new.tenant_id, new.id);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.check_ledger_of_payment() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  perform check_balance_of_payment(new.tenant_id, new.id);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.check_ledger_of_work() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  perform check_balance_of_work(new.tenant_id, new.id);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.check_one_primary() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  if exists (
    select from contact_client l where l.tenant_id = new.tenant_id and l.contact_id = new.contact_id and l.active and l.is_primary
    offset 1) then
    raise exception 'contact % has two main clients', new.contact_id
      using errcode = 'check_violation', constraint = 'contact_client_one_primary', table = 'contact_client';
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.check_open_period() RETURNS trigger LANGUAGE plpgsql AS $function$
declare
  closed record;
begin
  perform pg_advisory_xact_lock_shared(72304, (select e.tenant_id from new_rows e limit 1));
  select e.id, e.business_date, o.books_closed_through into closed
    from new_rows e
    left join client k on k.tenant_id = e.tenant_id and k.id = e.client_id
    left join payment p on p.tenant_id = e.tenant_id and p.id = e.payment_id and e.client_id is null
    join org o on o.tenant_id = e.tenant_id and o.id = coalesce(k.org_id, p.org_id)
    where e.business_date <= o.books_closed_through
    limit 1;
  if found then
    raise exception 'the books are closed through %, and entry % is of %', closed.books_closed_through, closed.id, closed.business_date
      using errcode = 'check_violation', constraint = 'ledger_entry_period_open', table = 'ledger_entry';
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.check_payment() RETURNS trigger LANGUAGE plpgsql AS $function$
declare
  paid payment;
  allocated numeric;
begin
  select * into paid from payment p where p.tenant_id = new.tenant_id and p.id = new.id;
  select coalesce(sum(amount), 0) into allocated
    from payment_allocation a where a.tenant_id = paid.tenant_id and a.payment_id = paid.id;
  if paid.unapplied_amount <> unapplied(paid.status, paid.amount, paid.refunded_amount, allocated)
    or not (allocated = 0 or counts(paid.status) or paid.status = 'PENDING') then
    raise exception 'payment % does not add up', paid.id
      using errcode = 'check_violation', constraint = 'payment_amount_agrees', table = 'payment';
  end if;
  if paid.client_id is null and allocated > 0 then
    raise exception 'payment % of an unknown payer is allocated', paid.id
      using errcode = 'check_violation', constraint = 'payment_allocations_client', table = 'payment';
  end if;
  -- Invoices whose amounts do not agree with their allocations.
  if exists (
    select 1
    from payment_allocation mine
    join invoice i on i.tenant_id = mine.tenant_id and i.id = mine.invoice_id
    join payment_allocation a on a.tenant_id = i.tenant_id and a.invoice_id = i.id
    join payment p on p.tenant_id = a.tenant_id and p.id = a.payment_id
    where mine.tenant_id = paid.tenant_id and mine.payment_id = paid.id
    group by i.id, i.amount_paid, i.amount_credited, i.amount_pending, i.currency
    having i.amount_paid <> sum(paid_by(p.status, p.method, a.amount))
      or i.amount_credited <> sum(credited_by(p.status, p.method, a.amount))
      or i.amount_pending <> sum(pending_by(p.status, a.amount))
      or i.currency <> paid.currency) then
    raise exception 'an invoice of payment % does not agree with what is allocated to it', paid.id
      using errcode = 'check_violation', constraint = 'payment_allocations_agree', table = 'payment';
  end if;
  if exists (
    select 1
    from payment_allocation a
    join invoice i on i.tenant_id = a.tenant_id and i.id = a.invoice_id
    join client billed on billed.tenant_id = i.tenant_id and billed.id = i.client_id
    join client payer on payer.tenant_id = a.tenant_id and payer.id = paid.client_id
    where a.tenant_id = paid.tenant_id and a.payment_id = paid.id and a.allocated_at = paid.updated_at
      and billed.id <> payer.id and billed.client_group_id is distinct from payer.client_group_id) then
    raise exception 'payment % goes to an invoice of another client', paid.id
      using errcode = 'check_violation', constraint = 'payment_allocations_client', table = 'payment';
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.counts(payment_status text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (payment_status = ANY (ARRAY['COMPLETED'::text, 'PARTIALLY_REFUNDED'::text, 'REFUNDED'::text]));

CREATE OR REPLACE FUNCTION public.credited_by(payment_status text, method text, amount numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (payment_status = ANY (ARRAY['COMPLETED'::text, 'PARTIALLY_REFUNDED'::text, 'REFUNDED'::text])) THEN CASE WHEN (method = 'CREDIT'::text) THEN amount ELSE (0)::numeric END ELSE (0)::numeric END;

CREATE OR REPLACE FUNCTION public.discount_of(line_type text, amount numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (line_type = 'DISCOUNT'::text) THEN ((0)::numeric - amount) ELSE (0)::numeric END;

CREATE OR REPLACE FUNCTION public.document_total(subtotal numeric, discount_total numeric, tax_total numeric, interest_total numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (((subtotal + tax_total) + interest_total) - discount_total);

CREATE OR REPLACE FUNCTION public.due(invoice_status text, document_type text, total numeric, paid numeric, credited numeric, written_off numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (invoice_status = 'VOIDED'::text) THEN (0)::numeric ELSE CASE WHEN (document_type = 'CREDIT_NOTE'::text) THEN (0)::numeric ELSE (((total - paid) - credited) - written_off) END END;

CREATE OR REPLACE FUNCTION public.first_id_at(instant timestamp with time zone) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  select (lpad(to_hex(floor(extract(epoch from instant) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$function$;

CREATE OR REPLACE FUNCTION public.first_partition_begins(parent regclass) RETURNS uuid LANGUAGE sql STABLE AS $function$
  select case when bool_and(bounds like 'FOR VALUES FROM (''%') then min(substring(bounds from 'FROM \(''([0-9a-f-]{36})''\)') collate "C")::uuid end
  from (select pg_get_expr(relpartbound, oid) as bounds from pg_class join pg_inherits on inhrelid = oid where inhparent = parent) partition
  where bounds <> 'DEFAULT'
$function$;

CREATE OR REPLACE FUNCTION public.fold_day_sums(tenant integer) RETURNS void LANGUAGE plpgsql AS $function$
begin
  with folded as (
    delete from ledger_day d using (
      select business_date, account, currency, due_date, work_date from ledger_day where tenant_id = tenant
      group by 1, 2, 3, 4, 5 having count(*) > 1) several
    where d.tenant_id = tenant and d.account = several.account and d.business_date = several.business_date
      and (d.currency, d.due_date, d.work_date) is not distinct from (several.currency, several.due_date, several.work_date)
    returning d.*)
  insert into ledger_day (tenant_id, business_date, account, currency, due_date, work_date, amount, entries)
  select tenant_id, business_date, account, currency, due_date, work_date, sum(amount), sum(entries)
  from folded group by 1, 2, 3, 4, 5, 6;
  with folded as (
    delete from journal_sum d using (
      select business_date, org_id, office_id, purpose, kind, currency, payment_method, service_line_id, tax_name from journal_sum
      where tenant_id = tenant group by 1, 2, 3, 4, 5, 6, 7, 8, 9 having count(*) > 1) several
    where d.tenant_id = tenant and d.business_date = several.business_date and d.org_id = several.org_id and d.purpose = several.purpose
      and d.kind = several.kind and d.currency = several.currency
      and (d.office_id, d.payment_method, d.service_line_id, d.tax_name)
        is not distinct from (several.office_id, several.payment_method, several.service_line_id, several.tax_name)
    returning d.*)
  insert into journal_sum (tenant_id, business_date, org_id, office_id, purpose, kind, currency, payment_method, service_line_id, tax_name,
    amount, debit, credit, entries)
  select tenant_id, business_date, org_id, office_id, purpose, kind, currency, payment_method, service_line_id, tax_name,
    sum(amount), sum(debit), sum(credit), sum(entries)
  from folded group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 having sum(entries) <> 0;
end
$function$;

CREATE OR REPLACE FUNCTION public.held(payment_status text, unapplied_amount numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (payment_status = ANY (ARRAY['COMPLETED'::text, 'PARTIALLY_REFUNDED'::text, 'REFUNDED'::text, 'RETURNED'::text])) THEN unapplied_amount ELSE (0)::numeric END;

CREATE OR REPLACE FUNCTION public.included_part(amount numeric, rate_percent numeric, all_percent numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (((amount * rate_percent) * 1.00000000000000000000) / ((100)::numeric + all_percent));

CREATE OR REPLACE FUNCTION public.instant_of_id(id uuid) RETURNS timestamp with time zone LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  select to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
$function$;

CREATE OR REPLACE FUNCTION public.interest_of(line_type text, amount numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (line_type = 'INTEREST'::text) THEN amount ELSE (0)::numeric END;

CREATE OR REPLACE FUNCTION public.is_billing(status text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (NOT (status = ANY (ARRAY['PENDING'::text, 'VOIDED'::text])));

CREATE OR REPLACE FUNCTION public.journal_of_empty_invoices() RETURNS SETOF journal_entry LANGUAGE plpgsql STABLE ROWS 10 SET plan_cache_mode TO 'force_generic_plan' AS $function$
begin
  return query select j.* from journal_entry j
    where j.posting_id = any (array(select i.id from invoice i where i.total = 0 and i.posted_at is not null));
end
$function$;

CREATE OR REPLACE FUNCTION public.journal_row_id(posting uuid, number integer) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (("left"((posting)::text, 29) || lpad(to_hex(((((('x'::text || "right"((posting)::text, 7)))::bit(28))::bigint + ((number)::bigint * 165115451)) % (268435456)::bigint)), 7, '0'::text)))::uuid;

CREATE OR REPLACE FUNCTION public.keep_page_marks() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  perform pg_advisory_xact_lock_shared(72305, (select n.tenant_id from new_rows n limit 1));
  delete from page_mark m using (select n.tenant_id, n.id from new_rows n order by n.id limit 1) first
    where m.tenant_id = first.tenant_id and m.table_name = tg_table_name and m.id > first.id;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.keep_payment_link_token() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'public', 'pg_temp' AS $function$
begin
  if current_setting('app.copies_rows', true) = 'on' then
    insert into payment_link_token as known values (new.token_hash, new.tenant_id, new.id)
    on conflict (token_hash) do update set tenant = excluded.tenant, quick_payment_link_id = excluded.quick_payment_link_id
      where not exists (select from tenant where tenant.id = known.tenant and tenant.active);
  else
    insert into payment_link_token values (new.token_hash, new.tenant_id, new.id);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE PROCEDURE public.lift_protection(VARIADIC tenant_tables regclass[]) LANGUAGE plpgsql AS $procedure$
declare
  tenant_table regclass;
begin
  foreach tenant_table in array tenant_tables loop
    execute format('alter table %s no force row level security', tenant_table);
  end loop;
end
$procedure$;

CREATE OR REPLACE FUNCTION public.limited(amount numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN LEAST(GREATEST(amount, '-10000000000000'::numeric), '10000000000000'::numeric);

CREATE OR REPLACE FUNCTION public.line_amount(quantity numeric, unit_amount numeric, places integer) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN round((quantity * unit_amount), places);

CREATE OR REPLACE FUNCTION public.line_tax(amount numeric, taxable boolean, rate_percent numeric, places integer) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN ((taxable)::text = 'true'::text) THEN round(((amount * rate_percent) / (100)::numeric), places) ELSE (0)::numeric END;

CREATE OR REPLACE FUNCTION public.lock_clock_lease(run_id uuid) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'public', 'pg_temp' AS $function$
begin
  perform from clock_lease lease where lease.run_id = lock_clock_lease.run_id for share;
  return found;
end
$function$;
grant execute to financial_automation_service

CREATE OR REPLACE FUNCTION public.lock_periods() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  perform pg_advisory_xact_lock(72304, new.tenant_id);
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION public.minor_units(currency text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (currency = ANY (ARRAY['BIF'::text, 'CLP'::text, 'DJF'::text, 'GNF'::text, 'ISK'::text, 'JPY'::text, 'KMF'::text, 'KRW'::text, 'PYG'::text, 'RWF'::text, 'UGX'::text, 'UYI'::text, 'VND'::text, 'VUV'::text, 'XAF'::text, 'XAG'::text, 'XAU'::text, 'XBA'::text, 'XBB'::text, 'XBC'::text, 'XBD'::text, 'XDR'::text, 'XOF'::text, 'XPD'::text, 'XPF'::text, 'XPT'::text, 'XSU'::text, 'XTS'::text, 'XUA'::text, 'XXX'::text])) THEN 0 ELSE 2 END;

CREATE OR REPLACE FUNCTION public.move_ledger_sums() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  insert into ledger_month as kept (tenant_id, account, client_id, currency, business_date, amount, entries, first_work_date)
  select tenant_id, account, client_id, currency, date_trunc('month', business_date::timestamp)::date, sum(amount), sum(entries), min(work_date)
  from (
    select tenant_id, account, client_id, currency, business_date, amount, 1 as entries, work_date from new_rows
    union all
    select tenant_id, account, client_id, currency, business_date, -amount, -1, work_date from old_rows) moved
  group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (tenant_id, account, client_id, currency, business_date)
    do update set amount = kept.amount + excluded.amount, entries = kept.entries + excluded.entries,
      first_work_date = case when kept.first_work_date is not null then least(kept.first_work_date, excluded.first_work_date) end;
  delete from ledger_month m using (select distinct tenant_id, client_id from old_rows) moved
  where m.tenant_id = moved.tenant_id and m.client_id = moved.client_id and m.entries = 0;
  -- All entries of a client move at once.
  update ledger_work w set client_id = moved.new_id
  from (
    select distinct o.tenant_id, o.client_id as old_id, n.client_id as new_id from old_rows o
    join new_rows n on n.tenant_id = o.tenant_id and n.id = o.id where o.account = 'WIP') moved
  where w.tenant_id = moved.tenant_id and w.client_id = moved.old_id;
  delete from ledger_work_month m using (select distinct tenant_id, client_id from old_rows) moved
  where m.tenant_id = moved.tenant_id and m.client_id = moved.client_id;
  insert into ledger_work_month as kept
    (tenant_id, client_id, job_id, currency, business_date, amount, entries, first_work_date, last_work_date,
      first_business_date, last_business_date)
  select tenant_id, client_id, job_id, currency, date_trunc('month', business_date::timestamp)::date, sum(amount), count(*),
    min(work_date), max(work_date), min(business_date), max(business_date)
  from new_rows where account = 'WIP' group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (tenant_id, client_id, job_id, currency, business_date)
    do update set amount = kept.amount + excluded.amount, entries = kept.entries + excluded.entries,
      first_work_date = least(kept.first_work_date, excluded.first_work_date),
      last_work_date = greatest(kept.last_work_date, excluded.last_work_date),
      first_business_date = case when kept.first_business_date is not null then least(kept.first_business_date, excluded.first_business_date) end,
      last_business_date = case when kept.last_business_date is not null then greatest(kept.last_business_date, excluded.last_business_date) end;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.move_sums_of_client() RETURNS trigger LANGUAGE plpgsql AS $function$
declare
  target client;
  postings uuid[];
  of_nobody uuid[];
begin
  select * into target from client c where c.tenant_id = new.tenant_id and c.id = coalesce(new.merged_into_id, new.id);
  if (old.org_id, old.office_id) is not distinct from (target.org_id, target.office_id) then
    return null;
  end if;
  postings := array(
    select e.id from ledger_entry e where e.tenant_id = new.tenant_id and e.client_id = new.id
    union
    select other.id from ledger_entry e
    join ledger_entry other on other.tenant_id = e.tenant_id and other.invoice_id = e.invoice_id and other.account = 'CREDIT'
    where e.tenant_id = new.tenant_id and e.client_id = new.id and e.account = 'RECEIVABLE' and e.kind in ('ALLOCATION', 'DEALLOCATION'));
  of_nobody := array(
    select e.id from payment p
    join ledger_entry e on e.tenant_id = p.tenant_id and e.payment_id = p.id and e.kind = 'IDENTIFICATION' and e.client_id is null
    where p.tenant_id = new.tenant_id and p.client_id = new.id);
  insert into journal_sum (tenant_id, business_date, org_id, office_id, purpose, kind, currency, payment_method, service_line_id, tax_name,
    amount, debit, credit, entries)
  select j.tenant_id, j.business_date,
    case when j.posting_id <> all (of_nobody) and j.purpose not in ('RECEIVABLE', 'REVENUE', 'TAX', 'WRITE_OFF') then side.org_id else j.org_id end,
    side.office_id, j.purpose, j.kind, j.currency, j.payment_method, j.service_line_id, j.tax_name,
    sum(side.sign * j.amount), sum(side.sign * j.debit), sum(side.sign * j.credit), sum(side.sign)
  from journal_entry j
  cross join (values (old.org_id, old.office_id, -1), (target.org_id, target.office_id, 1)) side (org_id, office_id, sign)
  where j.tenant_id = new.tenant_id and j.posting_id = any (postings || of_nobody) and j.client_id = new.id
  group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.move_sums_of_job() RETURNS trigger LANGUAGE plpgsql AS $function$
declare
  postings uuid[] := array(
    select e.id from ledger_entry e where e.tenant_id = new.tenant_id and e.job_id = new.id
    union
    select e.id from invoice i join ledger_entry e on e.tenant_id = i.tenant_id and e.invoice_id = i.id
    where i.tenant_id = new.tenant_id and i.job_ids @> array[new.id] and e.kind in ('INVOICE', 'CREDIT_NOTE', 'VOID', 'NOTE_VOID'));
begin
  insert into journal_sum (tenant_id, business_date, org_id, office_id, purpose, kind, currency, payment_method, service_line_id, tax_name,
    amount, debit, credit, entries)
  select j.tenant_id, j.business_date, j.org_id, j.office_id, j.purpose, j.kind, j.currency, j.payment_method, side.service_line_id, j.tax_name,
    sum(side.sign * j.amount), sum(side.sign * j.debit), sum(side.sign * j.credit), sum(side.sign)
  from journal_entry j
  cross join (values (old.service_line_id, -1), (new.service_line_id, 1)) side (service_line_id, sign)
  where j.tenant_id = new.tenant_id and j.posting_id = any (postings) and j.job_id = new.id
  group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.note_due_attempts() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  insert into clock_due (tenant_id, task, due_at)
  select distinct tenant_id, 'follow-payment-attempts', next_check_at from changed
  where next_check_at is not null and not exists (select from clock_due due
    where due.tenant_id = changed.tenant_id and due.task = 'follow-payment-attempts' and due.due_at = changed.next_check_at);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.note_due_day() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  insert into clock_due (tenant_id, task, due_at) values (new.id, 'day', date_trunc('milliseconds', now()));
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.note_due_invoices() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  insert into clock_due (tenant_id, task, due_at)
  select distinct tenant_id, 'mark-overdue', date_trunc('milliseconds', tenant_now()) from changed
  where status in ('POSTED', 'PARTIALLY_PAID') and overdue_at is null and document_type = 'INVOICE'
    and due_date <= (tenant_now() at time zone 'UTC')::date + 1;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.note_due_letters() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  insert into clock_due (tenant_id, task, due_at)
  select distinct tenant_id, 'expire-letters', expires_at from changed
  where status = 'SENT' and expires_at is not null and not exists (select from clock_due due
    where due.tenant_id = changed.tenant_id and due.task = 'expire-letters' and due.due_at = changed.expires_at);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.note_due_links() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  insert into clock_due (tenant_id, task, due_at)
  select distinct tenant_id, 'expire-links', expires_at from changed
  where status = 'ACTIVE' and expires_at is not null and not exists (select from clock_due due
    where due.tenant_id = changed.tenant_id and due.task = 'expire-links' and due.due_at = changed.expires_at);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.note_events() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  insert into event_waiting (tenant_id, recorded_at, sequence, event_id, entity_type, entity_id, operation)
  select tenant_id, recorded_at, sequence, id, entity_type, entity_id, operation from recorded;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.note_moved_row(moving integer, changed_table text, changed_keys jsonb[]) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'public', 'pg_temp' AS $function$
declare
  move tenant_move;
begin
  select * into move from tenant_move where tenant = moving;
  if move.phase in ('LEFT', 'REMOVED') or (move.phase = 'STOPPED' and move.stopped_until > clock_timestamp()) then
    return false;
  end if;
  perform pg_advisory_xact_lock_shared(72307, moving);
  -- It may have been stopped before the lock was held.
  select * into move from tenant_move where tenant = moving;
  if move.phase in ('LEFT', 'REMOVED') or (move.phase = 'STOPPED' and move.stopped_until > clock_timestamp()) then
    return false;
  end if;
  if move.phase in ('LEAVING', 'STOPPED') then
    insert into moved_row (tenant, table_name, key) select moving, changed_table, key from unnest(changed_keys) key;
  end if;
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION public.open_credit(tenant integer, day date) RETURNS TABLE(tenant_id integer, account text, business_date date, client_id uuid, currency text, amount numeric) LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT p.tenant_id,
     ('CREDIT'::text COLLATE "C") AS text,
     open_credit.day AS day,
     p.client_id,
     p.currency,
     held(p.status, p.unapplied_amount) AS held
    FROM payment p
   WHERE ((p.tenant_id = open_credit.tenant) AND (p.unapplied_amount > (0)::numeric) AND (p.payment_date <= open_credit.day))
 UNION ALL
  SELECT p.tenant_id,
     ('CREDIT'::text COLLATE "C") AS text,
     open_credit.day AS day,
     p.client_id,
     p.currency,
     p.unapplied_amount
    FROM payment p
   WHERE ((p.tenant_id = open_credit.tenant) AND (p.status = 'RETURNED'::text) AND (p.unapplied_amount < (0)::numeric) AND (p.payment_date <= open_credit.day))
 UNION ALL
  SELECT e.tenant_id,
     ('CREDIT'::text COLLATE "C") AS text,
     open_credit.day AS day,
     e.client_id,
     e.currency,
     (- e.amount)
    FROM ledger_entry e
   WHERE ((e.tenant_id = open_credit.tenant) AND (e.account = 'CREDIT'::text) AND (e.account <> 'WIP'::text) AND (e.document_date <= open_credit.day) AND (e.business_date > open_credit.day) AND (e.business_date <= (open_credit.day + 100)))
 UNION ALL
  SELECT e.tenant_id,
     ('CREDIT'::text COLLATE "C") AS text,
     open_credit.day AS day,
     e.client_id,
     e.currency,
     (- e.amount)
    FROM ledger_entry e
   WHERE ((e.tenant_id = open_credit.tenant) AND (e.account = 'CREDIT'::text) AND ((e.business_date - e.document_date) > 100) AND (e.document_date <= open_credit.day) AND (e.business_date > (open_credit.day + 100)));
END;

CREATE OR REPLACE FUNCTION public.open_receivables(tenant integer, day date) RETURNS TABLE(tenant_id integer, account text, business_date date, due_date date, client_id uuid, currency text, amount numeric) LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT i.tenant_id,
     ('RECEIVABLE'::text COLLATE "C") AS text,
     open_receivables.day AS day,
     i.due_date,
     i.client_id,
     i.currency,
     i.amount_due
    FROM invoice i
   WHERE ((i.tenant_id = open_receivables.tenant) AND (i.status = ANY (ARRAY['POSTED'::text, 'PARTIALLY_PAID'::text])) AND (i.invoice_date <= open_receivables.day))
 UNION ALL
  SELECT e.tenant_id,
     ('RECEIVABLE'::text COLLATE "C") AS text,
     open_receivables.day AS day,
     e.due_date,
     e.client_id,
     e.currency,
     (- e.amount)
    FROM ledger_entry e
   WHERE ((e.tenant_id = open_receivables.tenant) AND (e.account = 'RECEIVABLE'::text) AND (e.account <> 'WIP'::text) AND (e.document_date <= open_receivables.day) AND (e.business_date > open_receivables.day) AND (e.business_date <= (open_receivables.day + 100)))
 UNION ALL
  SELECT e.tenant_id,
     ('RECEIVABLE'::text COLLATE "C") AS text,
     open_receivables.day AS day,
     e.due_date,
     e.client_id,
     e.currency,
     (- e.amount)
    FROM ledger_entry e
   WHERE ((e.tenant_id = open_receivables.tenant) AND (e.account = 'RECEIVABLE'::text) AND ((e.business_date - e.document_date) > 100) AND (e.document_date <= open_receivables.day) AND (e.business_date > (open_receivables.day + 100)));
END;

CREATE OR REPLACE FUNCTION public.open_work(tenant integer, day date) RETURNS TABLE(tenant_id integer, account text, business_date date, work_date date, client_id uuid, job_id uuid, currency text, amount numeric) LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT w.tenant_id,
     ('WIP'::text COLLATE "C") AS text,
     open_work.day AS day,
     w.work_date,
     w.client_id,
     w.job_id,
     w.currency,
     w.outstanding_amount
    FROM wip_entry w
   WHERE ((w.tenant_id = open_work.tenant) AND (w.status = ANY (ARRAY['OPEN'::text, 'PARTIALLY_BILLED'::text, 'IN_DRAFT'::text])) AND (w.work_date <= open_work.day))
 UNION ALL
  SELECT s.tenant_id,
     ('WIP'::text COLLATE "C") AS text,
     open_work.day AS day,
     s.work_date,
     s.client_id,
     s.job_id,
     s.currency,
     (- s.amount)
    FROM ledger_work s
   WHERE ((s.tenant_id = open_work.tenant) AND (s.business_date > s.work_date) AND (s.work_date <= open_work.day) AND (s.business_date > open_work.day) AND (s.business_date <= (open_work.day + 100)))
 UNION ALL
  SELECT s.tenant_id,
     ('WIP'::text COLLATE "C") AS text,
     open_work.day AS day,
     s.work_date,
     s.client_id,
     s.job_id,
     s.currency,
     (- s.amount)
    FROM ledger_work s
   WHERE ((s.tenant_id = open_work.tenant) AND ((s.business_date - s.work_date) > 100) AND (s.work_date <= open_work.day) AND (s.business_date > (open_work.day + 100)));
END;

CREATE OR REPLACE FUNCTION public.outstanding(invoice_status text, amount_due numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (invoice_status = 'PENDING'::text) THEN (0)::numeric ELSE amount_due END;

CREATE OR REPLACE FUNCTION public.page_marked_tables() RETURNS SETOF text LANGUAGE sql STABLE
BEGIN ATOMIC
 SELECT DISTINCT (c.relname)::text AS relname
    FROM (pg_trigger t
      JOIN pg_class c ON ((c.oid = t.tgrelid)))
   WHERE (t.tgfoid = ('keep_page_marks'::regproc)::oid);
END;

CREATE OR REPLACE FUNCTION public.paid_by(payment_status text, method text, amount numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (payment_status = ANY (ARRAY['COMPLETED'::text, 'PARTIALLY_REFUNDED'::text, 'REFUNDED'::text])) THEN CASE WHEN (method = 'CREDIT'::text) THEN (0)::numeric ELSE amount END ELSE (0)::numeric END;

CREATE OR REPLACE FUNCTION public.partitions_of(parent regclass, OUT partition text, OUT ends_at timestamp with time zone) RETURNS SETOF record LANGUAGE sql STABLE AS $function$
  select relname::text, instant_of_id(substring(pg_get_expr(relpartbound, oid) from 'TO \(''([0-9a-f-]{36})''\)')::uuid)
  from pg_class join pg_inherits on inhrelid = oid
  where inhparent = parent and pg_get_expr(relpartbound, oid) <> 'DEFAULT'
$function$;

CREATE OR REPLACE FUNCTION public.pending_by(payment_status text, amount numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (payment_status = 'PENDING'::text) THEN amount ELSE (0)::numeric END;

CREATE OR REPLACE FUNCTION public.place_tenant() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  if current_setting('app.moves_tenant', true) = 'on' then
    insert into tenant_place (name, cell) values (new.name, 0) on conflict (name) do nothing;
  else
    insert into tenant_place (name, cell) values (new.name, 0);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.present_database() RETURNS text LANGUAGE sql STABLE AS $function$
  select format('%s/%s/%s', (select system_identifier from pg_control_system()),
    (select oid from pg_database where datname = current_database()), (select timeline_id from pg_control_checkpoint()))
$function$;

CREATE OR REPLACE FUNCTION public.priced_line("position" integer, quantity numeric, unit_amount numeric, amount numeric, taxable boolean, tax_rate_percent numeric, tax_amount numeric, taxes jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN jsonb_build_object('position', "position", 'quantity', quantity, 'unit_amount', unit_amount, 'amount', amount, 'taxable', taxable, 'tax_rate_percent', tax_rate_percent, 'tax_amount', tax_amount, 'taxes', taxes);

CREATE OR REPLACE PROCEDURE public.protect_entity_table(IN entity_table regclass) LANGUAGE plpgsql AS $procedure$
begin
  call protect_tenant_table(entity_table, 'select, insert, update');
  execute format('create index %I on %s (tenant_id, updated_at, id)', entity_table || '_updated_at_index', entity_table);
end
$procedure$;

CREATE OR REPLACE PROCEDURE public.protect_tenant_table(IN tenant_table regclass, IN privileges text) LANGUAGE plpgsql AS $procedure$
begin
  execute format('alter table %s enable row level security', tenant_table);
  execute format('alter table %s force row level security', tenant_table);
  execute format(
    'create policy tenant_isolation on %s
       using (tenant_id = current_setting(''app.tenant_id'')::integer)
       with check (tenant_id = current_setting(''app.tenant_id'')::integer)',
    tenant_table);
  execute format('grant %s on %s to financial_automation_service', privileges, tenant_table);
end
$procedure$;

CREATE OR REPLACE FUNCTION public.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  if current_setting('app.moves_tenant', true) = 'on' and current_user <> 'financial_automation_service'
    and tg_table_name <> 'operator_log' then
    if tg_op = 'DELETE' then
      return old;
    end if;
    return new;
  end if;
  raise exception 'rows of % are never changed or removed', tg_table_name using errcode = 'insufficient_privilege';
end
$function$;

CREATE OR REPLACE FUNCTION public.refuse_change_but_merge() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  if tg_op = 'UPDATE' and to_jsonb(new) - 'client_id' = to_jsonb(old) - 'client_id'
    and new.client_id = (select k.merged_into_id from client k where k.tenant_id = old.tenant_id and k.id = old.client_id) then
    return new;
  end if;
  if current_setting('app.moves_tenant', true) = 'on' and current_user <> 'financial_automation_service' then
    if tg_op = 'DELETE' then
      return old;
    end if;
    return new;
  end if;
  raise exception 'rows of % are never changed or removed', tg_table_name using errcode = 'insufficient_privilege';
end
$function$;

CREATE OR REPLACE FUNCTION public.refuse_merged_client() RETURNS trigger LANGUAGE plpgsql AS $function$
declare
  referred uuid;
  merged_into uuid;
begin
  if tg_argv[0] = 'client_id' then
    referred := new.client_id;
  else
    referred := (to_jsonb(new) ->> tg_argv[0])::uuid;
  end if;
  select k.merged_into_id into merged_into from client k where k.tenant_id = new.tenant_id and k.id = referred for key share;
  if merged_into is not null then
    raise exception 'the client % was merged into %', referred, merged_into using errcode = 'serialization_failure';
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.renew_active_since() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  new.active_since = tenant_clock_timestamp();
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION public.report_taxes() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  insert into invoice_line_tax
    select t.* from new_rows l cross join lateral taxes_of_line(l.tenant_id, l.invoice_id, l.id, l.amount, l.tax_rate_percent, l.taxes) t;
  return null;
end
$function$;

CREATE OR REPLACE PROCEDURE public.restore_protection(VARIADIC tenant_tables regclass[]) LANGUAGE plpgsql AS $procedure$
declare
  tenant_table regclass;
begin
  foreach tenant_table in array tenant_tables loop
    execute format('alter table %s force row level security', tenant_table);
  end loop;
end
$procedure$;

CREATE OR REPLACE FUNCTION public.search_text(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (regexp_replace((NORMALIZE(translate(replace(replace(replace((lower((upper((value COLLATE fa_case)) COLLATE fa_case)) COLLATE "C"), 'ß'::text, 'ss'::text), 'æ'::text, 'ae'::text), 'œ'::text, 'oe'::text), 'øłđħŧı'::text, 'oldhti'::text), NFKD) COLLATE "C"), '[̀-֑ͯ-ׇً-ٰٟ᪰-᫿᷀-᷿⃐-⃿︠-︯]'::text, ''::text, 'g'::text) COLLATE "C");

CREATE OR REPLACE FUNCTION public.set_document_date() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  if new.account = 'RECEIVABLE' then
    select i.invoice_date into new.document_date from invoice i where i.tenant_id = new.tenant_id and i.id = new.invoice_id;
  else
    select p.payment_date into new.document_date from payment p where p.tenant_id = new.tenant_id and p.id = new.payment_id;
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION public.start_delivery_partition() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  insert into delivery_partition (tenant_id, subscription_id, position)
  values (new.tenant_id, new.id, coalesce((select position from event_feed where tenant_id = new.tenant_id), 0))
  on conflict (tenant_id, subscription_id) do update
    set position = excluded.position, due_at = null, leased_by = null, leased_until = null, consecutive_failures = 0,
      failing_since = null, paused_until = null;
  delete from delivery_retry where tenant_id = new.tenant_id and subscription_id = new.id;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.stored_instant(written text) RETURNS timestamp with time zone LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN (written)::timestamp with time zone;

CREATE OR REPLACE FUNCTION public.subtotal_of(line_type text, amount numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (line_type = ANY (ARRAY['DISCOUNT'::text, 'INTEREST'::text])) THEN (0)::numeric ELSE amount END;

CREATE OR REPLACE FUNCTION public.subtract_billing() RETURNS trigger LANGUAGE plpgsql AS $function$
declare
  changes billing_change[];
begin
  select array_agg((tenant_id, job_id, -billed, -fee, -fee_without_work)::billing_change) into changes
  from invoice_billing where tenant_id = new.tenant_id and invoice_id = new.id;
  call add_billing(changes);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.sum_billing() RETURNS trigger LANGUAGE plpgsql AS $function$
declare
  changes billing_change[];
begin
  select array_agg((b.tenant_id, b.job_id, b.billed, b.fee, b.fee_without_work)::billing_change) into changes
  from new_rows b join invoice i on i.tenant_id = b.tenant_id and i.id = b.invoice_id where is_billing(i.status);
  if changes is not null then
    call add_billing(changes);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.sum_hours() RETURNS trigger LANGUAGE plpgsql AS $function$
declare
  changes hours_change[];
begin
  if tg_op = 'INSERT' then
    select array_agg((tenant_id, job_id, task_id, hours)::hours_change) into changes
    from new_rows where active and status = 'APPROVED';
  else
    select array_agg(change) into changes from (
      select (tenant_id, job_id, task_id, hours)::hours_change as change from new_rows where active and status = 'APPROVED'
      union all
      select (tenant_id, job_id, task_id, -hours)::hours_change from old_rows where active and status = 'APPROVED') all_rows;
  end if;
  if changes is not null then
    call add_hours(changes);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.sum_invoices() RETURNS trigger LANGUAGE plpgsql AS $function$
declare
  changes balance_change[];
begin
  if tg_op = 'INSERT' then
    select array_agg((tenant_id, client_id, currency, outstanding(status, amount_due), 0)::balance_change)
    into changes from new_rows;
  else
    select array_agg(change) into changes from (
      select (tenant_id, client_id, currency, outstanding(status, amount_due), 0)::balance_change as change from new_rows
      union all
      select (tenant_id, client_id, currency, -outstanding(status, amount_due), 0)::balance_change from old_rows) all_rows;
  end if;
  call add_balances(changes);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.sum_ledger() RETURNS trigger LANGUAGE plpgsql AS $function$
begin
  insert into ledger_month as kept (tenant_id, account, client_id, currency, business_date, amount, entries, first_work_date)
  select tenant_id, account, client_id, currency, date_trunc('month', business_date::timestamp)::date, sum(amount), count(*), min(work_date)
  from new_rows where client_id is not null group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (tenant_id, account, client_id, currency, business_date)
    do update set amount = kept.amount + excluded.amount, entries = kept.entries + excluded.entries,
      first_work_date = case when kept.first_work_date is not null then least(kept.first_work_date, excluded.first_work_date) end;
  insert into ledger_work (tenant_id, client_id, business_date, work_date, job_id, currency, amount, entries)
  select tenant_id, client_id, business_date, work_date, job_id, currency, sum(amount), count(*)
  from new_rows where account = 'WIP' group by 1, 2, 3, 4, 5, 6;
  insert into ledger_work_month as kept
    (tenant_id, client_id, job_id, currency, business_date, amount, entries, first_work_date, last_work_date,
      first_business_date, last_business_date)
  select tenant_id, client_id, job_id, currency, date_trunc('month', business_date::timestamp)::date, sum(amount), count(*),
    min(work_date), max(work_date), min(business_date), max(business_date)
  from new_rows where account = 'WIP' group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (tenant_id, client_id, job_id, currency, business_date)
    do update set amount = kept.amount + excluded.amount, entries = kept.entries + excluded.entries,
      first_work_date = least(kept.first_work_date, excluded.first_work_date),
      last_work_date = greatest(kept.last_work_date, excluded.last_work_date),
      first_business_date = case when kept.first_business_date is not null then least(kept.first_business_date, excluded.first_business_date) end,
      last_business_date = case when kept.last_business_date is not null then greatest(kept.last_business_date, excluded.last_business_date) end;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.sum_ledger_by_day() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode TO 'force_generic_plan' AS $function$
declare
  tenant integer := (select tenant_id from new_rows limit 1);
  postings uuid[] := array(select id from new_rows);
begin
  insert into ledger_day (tenant_id, business_date, account, currency, due_date, work_date, amount, entries)
  select tenant_id, business_date, account, currency, due_date, work_date, sum(amount), count(*)
  from new_rows group by 1, 2, 3, 4, 5, 6;
  insert into journal_sum (tenant_id, business_date, org_id, office_id, purpose, kind, currency, payment_method, service_line_id, tax_name,
    amount, debit, credit, entries)
  select j.tenant_id, j.business_date, j.org_id, j.office_id, j.purpose, j.kind, j.currency, j.payment_method, j.service_line_id, j.tax_name,
    sum(j.amount), sum(j.debit), sum(j.credit), count(*)
  from journal_entry j where j.tenant_id = tenant and j.posting_id = any (postings)
  group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.sum_payments() RETURNS trigger LANGUAGE plpgsql AS $function$
declare
  changes balance_change[];
begin
  if tg_op = 'INSERT' then
    select array_agg((tenant_id, client_id, currency, 0, held(status, unapplied_amount))::balance_change)
    into changes from new_rows;
  else
    select array_agg(change) into changes from (
      select (tenant_id, client_id, currency, 0, held(status, unapplied_amount))::balance_change as change from new_rows
      union all
      select (tenant_id, client_id, currency, 0, -held(status, unapplied_amount))::balance_change from old_rows) all_rows;
  end if;
  call add_balances(changes);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.sum_wip() RETURNS trigger LANGUAGE plpgsql AS $function$
declare
  changes wip_change[];
begin
  if tg_op = 'INSERT' then
    select array_agg((tenant_id, job_id, client_id, currency, outstanding_amount, billed_amount, write_off_amount,
        write_up_amount)::wip_change)
    into changes from new_rows;
  else
    select array_agg(change) into changes from (
      select (tenant_id, job_id, client_id, currency, outstanding_amount, billed_amount, write_off_amount,
        write_up_amount)::wip_change as change
      from new_rows
      union all
      select (tenant_id, job_id, client_id, currency, -outstanding_amount, -billed_amount, -write_off_amount,
        -write_up_amount)::wip_change
      from old_rows) all_rows;
  end if;
  call add_wip(changes);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.tax_part(amount numeric, rate_percent numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ((amount * rate_percent) / (100)::numeric);

CREATE OR REPLACE FUNCTION public.taxes_of_line(tenant integer, invoice uuid, line uuid, line_amount numeric, line_rate numeric, taxes jsonb) RETURNS SETOF invoice_line_tax LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  select tenant, case when t.ordinal > 1 then (left(line::text, 24) || left(md5(line::text || t.ordinal), 12))::uuid else line end,
    invoice, line, coalesce(t.ordinal, 1)::integer - 1, t.tax ->> 'name', t.tax ->> 'category', coalesce((t.tax ->> 'ratePercent')::numeric, line_rate),
    (t.tax ->> 'regionId')::uuid, case when t.ordinal > 1 then 0 else line_amount end, case when t.tax is null then 0 else line_amount end,
    coalesce((t.tax ->> 'amount')::numeric, 0)
  from (select) one left join jsonb_array_elements(taxes) with ordinality t (tax, ordinal) on true
$function$;

CREATE OR REPLACE FUNCTION public.tenant_clock_offset(tenant_id integer) RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER
RETURN (SELECT tenant.clock_offset FROM tenant WHERE ((tenant.id = tenant_clock_offset.tenant_id) AND tenant.is_sandbox));

CREATE OR REPLACE FUNCTION public.tenant_clock_timestamp() RETURNS timestamp with time zone LANGUAGE sql PARALLEL SAFE
RETURN (clock_timestamp() + ((COALESCE((NULLIF(current_setting('app.clock_offset'::text, true), ''::text))::bigint, (0)::bigint))::double precision * '00:00:00.001'::interval));

CREATE OR REPLACE FUNCTION public.tenant_day(instant timestamp with time zone) RETURNS date LANGUAGE sql STABLE PARALLEL SAFE
RETURN ((instant AT TIME ZONE current_setting('app.time_zone'::text)))::date;

CREATE OR REPLACE FUNCTION public.tenant_is_empty() RETURNS trigger LANGUAGE plpgsql AS $function$
declare
  tenant_table regclass;
  has_rows boolean;
begin
  perform set_config('app.tenant_id', old.id::text, true);
  for tenant_table in
    select c.oid from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  loop
    execute format('select exists (select from %s where tenant_id = $1)', tenant_table) into has_rows using old.id;
    if has_rows then
      raise exception 'the tenant % has rows in %', old.id, tenant_table
        using errcode = 'foreign_key_violation', table = tenant_table::text, constraint = 'tenant_is_empty';
    end if;
  end loop;
  return old;
end
$function$;

CREATE OR REPLACE FUNCTION public.tenant_move_phase(tenant_id integer) RETURNS text LANGUAGE sql STABLE SECURITY DEFINER
RETURN (SELECT tenant_move.phase FROM tenant_move WHERE (tenant_move.tenant = tenant_move_phase.tenant_id));

CREATE OR REPLACE FUNCTION public.tenant_now() RETURNS timestamp with time zone LANGUAGE sql STABLE PARALLEL SAFE
RETURN (now() + ((COALESCE((NULLIF(current_setting('app.clock_offset'::text, true), ''::text))::bigint, (0)::bigint))::double precision * '00:00:00.001'::interval));

CREATE OR REPLACE FUNCTION public.tenant_time_zone(tenant_id integer) RETURNS text LANGUAGE sql STABLE SECURITY DEFINER
RETURN (SELECT tenant.time_zone FROM tenant WHERE (tenant.id = tenant_time_zone.tenant_id));

CREATE OR REPLACE FUNCTION public.tenants_with_new_events() RETURNS SETOF integer LANGUAGE sql AS $function$
  with recursive found as (
    (select tenant_id from event_waiting order by tenant_id limit 1)
    union all
    select (select tenant_id from event_waiting where tenant_id > found.tenant_id order by tenant_id limit 1)
    from found where found.tenant_id is not null
  )
  select tenant_id from found where tenant_id is not null
$function$;
-- for its owner alone

CREATE OR REPLACE FUNCTION public.today() RETURNS date LANGUAGE sql STABLE PARALLEL SAFE
RETURN tenant_day(tenant_now());

CREATE OR REPLACE FUNCTION public.unapplied(payment_status text, amount numeric, refunded numeric, allocated numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (payment_status = ANY (ARRAY['COMPLETED'::text, 'PARTIALLY_REFUNDED'::text, 'REFUNDED'::text, 'PENDING'::text])) THEN ((amount - refunded) - allocated) ELSE CASE WHEN (payment_status = 'RETURNED'::text) THEN ((0)::numeric - refunded) ELSE (0)::numeric END END;

CREATE OR REPLACE FUNCTION public.watch_moved_row() RETURNS trigger LANGUAGE plpgsql AS $function$
declare
  keys jsonb[];
begin
  if current_setting('app.moves_tenant', true) is distinct from 'on' then
    if tg_op <> 'INSERT' then
      keys := array[(select coalesce(jsonb_object_agg(name, to_jsonb(old) -> name), '{}') from unnest(tg_argv[2:]) name)];
    end if;
    if tg_op <> 'DELETE' then
      keys := array_append(keys, (select coalesce(jsonb_object_agg(name, to_jsonb(new) -> name), '{}') from unnest(tg_argv[2:]) name));
    end if;
    if not note_moved_row(tg_argv[0]::integer, tg_argv[1], keys) then
      if tg_argv[1] = 'tenant' or current_setting('app.tenant_id', true) = tg_argv[0] then
        raise exception 'the tenant % moves to another database', tg_argv[0] using errcode = 'MV001';
      end if;
      -- Statements for the jobs and deliveries of all tenants go on with the others.
      return null;
    end if;
  end if;
  if tg_op = 'DELETE' then
    return old;
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION public.work_amount(hours numeric, billing_rate numeric, places integer) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN round((hours * billing_rate), places);

CREATE OR REPLACE FUNCTION public.write_day_sums(tenant integer) RETURNS void LANGUAGE plpgsql AS $function$
begin
  with removed as (delete from ledger_day where tenant_id = tenant)
  insert into ledger_day (tenant_id, business_date, account, currency, due_date, work_date, amount, entries)
  select tenant_id, business_date, account, currency, due_date, work_date, sum(amount), count(*)
  from ledger_entry where tenant_id = tenant group by 1, 2, 3, 4, 5, 6;
  with removed as (delete from journal_sum where tenant_id = tenant)
  insert into journal_sum (tenant_id, business_date, org_id, office_id, purpose, kind, currency, payment_method, service_line_id, tax_name,
    amount, debit, credit, entries)
  select tenant_id, business_date, org_id, office_id, purpose, kind, currency, payment_method, service_line_id, tax_name,
    amount, debit, credit, entries
  from journal_sum_source where tenant_id = tenant;
end
$function$;
