create table client_group (
  like entity_columns including defaults including indexes,
  name text collate "C" not null,
  description text collate "C",
  owner_id uuid,
  manager_id uuid,
  primary_client_id uuid,
  constraint client_group_name_unique unique (tenant_id, name)
);
call add_references('client_group', 'owner_id: staff', 'manager_id: staff');

-- A client's balances are sums over its invoices, work in progress and payments, updated by whoever writes those.
create table client (
  like entity_columns including defaults including indexes,
  name text collate "C" not null,
  legal_name text collate "C",
  client_ref text collate "C" not null,
  pms_ref text collate "C" not null,
  status text collate "C" not null default 'PROSPECT',
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
  payment_terms_days integer not null default 30,
  currency text collate "C" not null,
  onboarded_at timestamptz(3),
  client_contact_info_id uuid,
  billing_address_id uuid,
  preferred_contact_id uuid,
  billing_contact_id uuid,
  secondary_contact_id uuid,
  outstanding_balance numeric(16,2) not null default 0,
  unbilled_wip numeric(16,2) not null default 0,
  unapplied_credit numeric(16,2) not null default 0,
  vat_id text collate "C",
  tax_exempt_reason text collate "C",
  tax_code_id uuid,
  document_language text collate "C" not null default 'en',
  -- Instead of that of the org.
  reminder_schedule jsonb,
  reminders_off boolean not null default false,
  electronic_address jsonb,
  merged_into_id uuid,
  constraint client_status_enum check (status in ('PROSPECT', 'ACTIVE', 'INACTIVE', 'ARCHIVED')),
  constraint client_entity_type_enum check (
    entity_type in ('INDIVIDUAL', 'SOLE_PROPRIETOR', 'PARTNERSHIP', 'LLC', 'C_CORP', 'S_CORP', 'TRUST', 'ESTATE',
      'NONPROFIT', 'GOVERNMENT', 'OTHER')),
  constraint client_pms_ref_same check (pms_ref = client_ref),
  constraint client_parent_client_id_other check (parent_client_id <> id),
  constraint client_merged_into_id_other check (merged_into_id <> id),
  constraint client_merged_into_id_inactive check (merged_into_id is null or not active),
  constraint client_tax_id_last4_agrees check ((tax_id_last4 is null) = (tax_id_encrypted is null)),
  constraint client_tax_id_last4_length check (char_length(tax_id_last4) <= 4),
  constraint client_fiscal_year_end_month_range check (fiscal_year_end_month between 1 and 12),
  constraint client_fiscal_year_end_day_range check (
    fiscal_year_end_day between 1 and
      case when fiscal_year_end_month = 2 then 29 when fiscal_year_end_month in (4, 6, 9, 11) then 30 else 31 end),
  constraint client_payment_terms_days_range check (payment_terms_days between 0 and 120),
  constraint client_outstanding_balance_range check (outstanding_balance >= 0),
  constraint client_document_language_enum check (document_language in ('en', 'de', 'fr', 'es')),
  constraint client_client_ref_unique unique (tenant_id, client_ref),
  constraint client_pms_ref_unique unique (tenant_id, pms_ref),
  constraint client_outstanding_balance_bound check (outstanding_balance < 1e13),
  constraint client_unbilled_wip_bound check (abs(unbilled_wip) < 1e13),
  constraint client_unapplied_credit_bound check (abs(unapplied_credit) < 1e13),
  constraint client_status_settled check (status <> 'ARCHIVED' or (outstanding_balance = 0 and unbilled_wip = 0 and unapplied_credit = 0))
);
call add_references('client', 'client_type_id', 'tax_region_id', 'tax_code_id', 'client_group_id', 'client_business_entity_id',
  'industry_id', 'office_id', 'department_id', 'service_line_id', 'org_id', 'parent_client_id: client deferred',
  'merged_into_id: client deferred', 'partner_id: staff', 'manager_id: staff', 'biller_id: staff');
call index_orders('client', 'name', 'status', 'outstanding_balance', 'unbilled_wip', 'onboarded_at', 'created_at', 'active', 'active desc',
  'email', 'onboarded_at desc nulls last');
create index client_client_group_id_index on client (tenant_id, client_group_id) where (client_group_id is not null);
create index client_names_index on client using gin (tenant_id, name gin_trgm_ops, legal_name gin_trgm_ops, lower((name collate fa_case)) collate "C" gin_trgm_ops, lower((legal_name collate fa_case)) collate "C" gin_trgm_ops);
-- People search clients and jobs by a part of their number, also from contacts and from clients.
create index client_refs_index on client using gin (tenant_id, client_ref gin_trgm_ops, lower((client_ref collate fa_case)) collate "C" gin_trgm_ops);
-- A part of a number or an address.
create index client_contact_refs_index on client using gin (tenant_id, pms_ref gin_trgm_ops, lower((pms_ref collate fa_case)) collate "C" gin_trgm_ops, email gin_trgm_ops, lower((email collate fa_case)) collate "C" gin_trgm_ops);
create index client_parent_client_id_index on client (tenant_id, parent_client_id) where parent_client_id is not null;
create index client_phone_index on client using gin (tenant_id, phone gin_trgm_ops, (lower(phone collate fa_case) collate "C") gin_trgm_ops);
create index client_vat_id_index on client (tenant_id, vat_id, id) where (vat_id is not null);
create index client_search_index on client using gin (tenant_id, search_text(name) gin_trgm_ops, search_text(legal_name) gin_trgm_ops);
create index client_merged_into_id_index on client (tenant_id, merged_into_id) where merged_into_id is not null;

call add_references('client_group', 'primary_client_id: client deferred');

create table contact (
  like entity_columns including defaults including indexes,
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
  portal_enabled boolean not null default false,
  email_opt_out boolean not null default false,
  primary_contact_info_id uuid,
  constraint contact_preferred_channel_enum check (preferred_channel in ('EMAIL', 'PHONE', 'SMS', 'PORTAL')),
  constraint contact_pms_ref_unique unique (tenant_id, pms_ref)
);
call index_orders('contact', 'last_name', 'first_name', 'email', 'created_at', 'active', 'active desc', 'last_name desc nulls last',
  'first_name desc nulls last', 'email desc nulls last');
create index contact_names_index on contact using gin (tenant_id, display_name gin_trgm_ops, last_name gin_trgm_ops, first_name gin_trgm_ops, lower((display_name collate fa_case)) collate "C" gin_trgm_ops, lower((last_name collate fa_case)) collate "C" gin_trgm_ops, lower((first_name collate fa_case)) collate "C" gin_trgm_ops);
create index contact_refs_index on contact using gin (tenant_id, pms_ref gin_trgm_ops, lower((pms_ref collate fa_case)) collate "C" gin_trgm_ops, email gin_trgm_ops, lower((email collate fa_case)) collate "C" gin_trgm_ops, phone gin_trgm_ops, lower((phone collate fa_case)) collate "C" gin_trgm_ops, mobile gin_trgm_ops, lower((mobile collate fa_case)) collate "C" gin_trgm_ops);
create index contact_search_index on contact using gin (tenant_id, search_text(display_name) gin_trgm_ops, search_text(last_name) gin_trgm_ops, search_text(first_name) gin_trgm_ops);

call add_references('client', 'preferred_contact_id: contact', 'billing_contact_id: contact', 'secondary_contact_id: contact');

-- The owner is a client, a contact or an office. The generated columns split `owner_id` by kind of owner, so that the
-- database can have a foreign key for each.
create table contact_info (
  like entity_columns including defaults including indexes,
  owner_type text collate "C" not null,
  owner_id uuid not null,
  owner_client_id uuid generated always as (case owner_type when 'CLIENT' then owner_id else null::uuid end) stored,
  owner_contact_id uuid generated always as (case owner_type when 'CONTACT' then owner_id else null::uuid end) stored,
  owner_office_id uuid generated always as (case owner_type when 'OFFICE' then owner_id else null::uuid end) stored,
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
  constraint contact_info_owner_type_enum check (owner_type in ('CLIENT', 'CONTACT', 'OFFICE')),
  constraint contact_info_kind_enum check (kind in ('PRIMARY', 'BILLING', 'MAILING', 'HOME', 'OTHER'))
);
call add_references('contact_info', 'owner_client_id: client deferred', 'owner_contact_id: contact deferred',
  'owner_office_id: office deferred');
create unique index contact_info_owner_id_kind_unique on contact_info (tenant_id, owner_id, kind) where active;
call index_columns('contact_info', 'owner_id');
create index contact_info_reached_index on contact_info using gin (tenant_id, email gin_trgm_ops, (lower(email collate fa_case) collate "C") gin_trgm_ops, phone gin_trgm_ops, (lower(phone collate fa_case) collate "C") gin_trgm_ops, mobile gin_trgm_ops, (lower(mobile collate fa_case) collate "C") gin_trgm_ops);

call add_references('client', 'client_contact_info_id: contact_info deferred', 'billing_address_id: contact_info deferred');
call add_references('contact', 'primary_contact_info_id: contact_info deferred');

-- Relinking reopens the row of the pair, so the pair is unique among all rows, not among active ones only.
create table contact_client (
  like entity_columns including defaults including indexes,
  contact_id uuid not null,
  client_id uuid not null,
  roles text[] not null,
  is_primary boolean not null default false,
  receives_invoices boolean not null default false,
  can_sign boolean not null default false,
  linked_at timestamptz(3) not null default tenant_now(),
  unlinked_at timestamptz(3),
  constraint contact_client_roles_enum check (roles <@ array['PREFERRED', 'BILLING', 'SECONDARY', 'SIGNER', 'OTHER']),
  constraint contact_client_roles_present check (cardinality(roles) > 0),
  constraint contact_client_unlinked_at_agrees check (active = (unlinked_at is null)),
  constraint contact_client_contact_id_client_id_unique unique (tenant_id, contact_id, client_id)
);
call add_references('contact_client', 'contact_id', 'client_id');
call index_columns('contact_client', 'client_id');
create unique index contact_client_client_id_preferred_unique on contact_client (tenant_id, client_id) where (active and (roles @> ARRAY['PREFERRED']));
create unique index contact_client_client_id_billing_unique on contact_client (tenant_id, client_id) where (active and (roles @> ARRAY['BILLING']));
create unique index contact_client_client_id_secondary_unique on contact_client (tenant_id, client_id) where (active and (roles @> ARRAY['SECONDARY']));

-- Compared when the transaction ends, because a new main client replaces the other one within it.
create function check_one_primary() returns trigger language plpgsql as $$
begin
  if exists (
    select from contact_client l where l.tenant_id = new.tenant_id and l.contact_id = new.contact_id and l.active and l.is_primary
    offset 1) then
    raise exception 'contact % has two main clients', new.contact_id
      using errcode = 'check_violation', constraint = 'contact_client_one_primary', table = 'contact_client';
  end if;
  return null;
end
$$;

call check_at_commit('contact_client_one_primary', 'after insert or update of is_primary, active on contact_client', 'check_one_primary()',
  'new.active and new.is_primary');

-- A transaction that has read the client before the merge: it runs again, and finds the one that has the rows now. The lock waits for a merge
-- that has not ended.
create function refuse_merged_client() returns trigger language plpgsql as $$
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
$$;

call refuse_merged('client_group', 'primary_client_id', 'new.primary_client_id is not null');
call refuse_merged('client', 'parent_client_id', 'new.parent_client_id is not null');
call refuse_merged('client', 'merged_into_id', 'new.merged_into_id is not null');
call refuse_merged('contact_client', 'client_id');
call add_trigger('contact_info_owner_id_present', 'after insert or update of owner_id on contact_info for each row',
  'refuse_merged_client(''owner_client_id'')', 'new.owner_type = ''CLIENT''');
