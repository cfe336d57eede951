-- The firm itself and the lists that classify its clients.

create table org (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  name text collate "C" not null,
  legal_name text collate "C" not null,
  code text collate "C" not null,
  currency text collate "C" not null,
  country text collate "C" not null,
  time_zone text collate "C" not null,
  fiscal_year_start_month integer not null,
  primary key (tenant_id, id),
  constraint org_system_ref_unique unique (tenant_id, system_ref),
  constraint org_name_unique unique (tenant_id, name),
  constraint org_code_unique unique (tenant_id, code),
  constraint org_fiscal_year_start_month_range check (fiscal_year_start_month between 1 and 12)
);
call protect_entity_table('org');

create table office (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
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
  primary key (tenant_id, id),
  constraint office_system_ref_unique unique (tenant_id, system_ref),
  constraint office_name_unique unique (tenant_id, name),
  constraint office_code_unique unique (tenant_id, code),
  constraint office_org_id_reference foreign key (tenant_id, org_id) references org (tenant_id, id)
);
call protect_entity_table('office');

-- The head of a department is a staff member: the reference is added with the staff table.
create table department (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  name text collate "C" not null,
  code text collate "C" not null,
  head_id uuid,
  office_id uuid,
  parent_id uuid,
  primary key (tenant_id, id),
  constraint department_system_ref_unique unique (tenant_id, system_ref),
  constraint department_name_unique unique (tenant_id, name),
  constraint department_code_unique unique (tenant_id, code),
  constraint department_office_id_reference foreign key (tenant_id, office_id) references office (tenant_id, id),
  constraint department_parent_id_reference foreign key (tenant_id, parent_id) references department (tenant_id, id),
  constraint department_parent_id_other check (parent_id <> id)
);
call protect_entity_table('department');

create table service_line (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  name text collate "C" not null,
  code text collate "C" not null,
  department_id uuid,
  revenue_account_code text collate "C",
  primary key (tenant_id, id),
  constraint service_line_system_ref_unique unique (tenant_id, system_ref),
  constraint service_line_name_unique unique (tenant_id, name),
  constraint service_line_code_unique unique (tenant_id, code),
  constraint service_line_department_id_reference
    foreign key (tenant_id, department_id) references department (tenant_id, id)
);
call protect_entity_table('service_line');

create table industry (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  name text collate "C" not null,
  code text collate "C",
  parent_id uuid,
  primary key (tenant_id, id),
  constraint industry_system_ref_unique unique (tenant_id, system_ref),
  constraint industry_name_unique unique (tenant_id, name),
  constraint industry_code_pattern check (code ~ '^[0-9]{2,6}$'),
  constraint industry_parent_id_reference foreign key (tenant_id, parent_id) references industry (tenant_id, id),
  constraint industry_parent_id_other check (parent_id <> id)
);
call protect_entity_table('industry');

create table client_type (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  name text collate "C" not null,
  code text collate "C" not null,
  description text collate "C",
  default_payment_terms_days integer,
  display_order integer not null default 0,
  primary key (tenant_id, id),
  constraint client_type_system_ref_unique unique (tenant_id, system_ref),
  constraint client_type_name_unique unique (tenant_id, name),
  constraint client_type_code_unique unique (tenant_id, code),
  constraint client_type_default_payment_terms_days_range check (default_payment_terms_days between 0 and 120)
);
call protect_entity_table('client_type');

create table client_business_entity (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  name text collate "C" not null,
  code text collate "C" not null,
  description text collate "C",
  tax_form text collate "C",
  primary key (tenant_id, id),
  constraint client_business_entity_system_ref_unique unique (tenant_id, system_ref),
  constraint client_business_entity_name_unique unique (tenant_id, name),
  constraint client_business_entity_code_unique unique (tenant_id, code),
  constraint client_business_entity_tax_form_enum check (
    tax_form in ('FORM_1040', 'FORM_1065', 'FORM_1120', 'FORM_1120S', 'FORM_990', 'FORM_1041', 'OTHER'))
);
call protect_entity_table('client_business_entity');

-- Rates and percentages keep the decimal places that they are written with: a column type of a fixed scale would silently
-- round the fifth place, which the check rejects.
create table tax_region (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  name text collate "C" not null,
  code text collate "C" not null,
  country text collate "C" not null,
  state text collate "C",
  rate_percent numeric not null,
  applies_to_services boolean not null,
  primary key (tenant_id, id),
  constraint tax_region_system_ref_unique unique (tenant_id, system_ref),
  constraint tax_region_name_unique unique (tenant_id, name),
  constraint tax_region_code_unique unique (tenant_id, code),
  constraint tax_region_rate_percent_range check (rate_percent between 0 and 100 and scale(rate_percent) <= 4)
);
call protect_entity_table('tax_region');
