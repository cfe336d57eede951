-- Staff and their types.

create table staff_type (
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
  rank integer not null,
  is_billable boolean not null,
  default_billing_rate numeric,
  default_average_rate numeric,
  primary key (tenant_id, id),
  constraint staff_type_system_ref_unique unique (tenant_id, system_ref),
  constraint staff_type_name_unique unique (tenant_id, name),
  constraint staff_type_code_unique unique (tenant_id, code),
  constraint staff_type_default_billing_rate_range
    check (default_billing_rate >= 0 and default_billing_rate < 1e11 and scale(default_billing_rate) <= 4),
  constraint staff_type_default_average_rate_range
    check (default_average_rate >= 0 and default_average_rate < 1e11 and scale(default_average_rate) <= 4)
);
call protect_entity_table('staff_type');

create table staff (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
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
  weekly_capacity_hours numeric(10, 2) not null default 40.00,
  target_utilization_percent numeric,
  status text collate "C" not null default 'ACTIVE',
  primary key (tenant_id, id),
  constraint staff_system_ref_unique unique (tenant_id, system_ref),
  constraint staff_staff_ref_unique unique (tenant_id, staff_ref),
  constraint staff_pms_ref_unique unique (tenant_id, pms_ref),
  constraint staff_email_unique unique (tenant_id, email),
  constraint staff_staff_type_id_reference foreign key (tenant_id, staff_type_id) references staff_type (tenant_id, id),
  constraint staff_department_id_reference foreign key (tenant_id, department_id) references department (tenant_id, id),
  constraint staff_office_id_reference foreign key (tenant_id, office_id) references office (tenant_id, id),
  constraint staff_org_id_reference foreign key (tenant_id, org_id) references org (tenant_id, id),
  constraint staff_manager_id_reference foreign key (tenant_id, manager_id) references staff (tenant_id, id),
  constraint staff_manager_id_other check (manager_id <> id),
  constraint staff_termination_date_order check (termination_date >= hire_date),
  constraint staff_weekly_capacity_hours_range check (weekly_capacity_hours between 0 and 168),
  constraint staff_target_utilization_percent_range
    check (target_utilization_percent between 0 and 100 and scale(target_utilization_percent) <= 4),
  constraint staff_status_enum check (status in ('ACTIVE', 'ON_LEAVE', 'TERMINATED'))
);
call protect_entity_table('staff');
create index staff_names_index on staff
  using gin (tenant_id, display_name gin_trgm_ops, last_name gin_trgm_ops, first_name gin_trgm_ops,
    (lower(display_name collate fa_case) collate "C") gin_trgm_ops,
    (lower(last_name collate fa_case) collate "C") gin_trgm_ops,
    (lower(first_name collate fa_case) collate "C") gin_trgm_ops);

-- Department and staff refer to each other: a transaction that writes both defers this one (`set constraints`).
call lift_protection('department', 'staff');
alter table department add constraint department_head_id_reference
  foreign key (tenant_id, head_id) references staff (tenant_id, id) deferrable initially immediate;
call restore_protection('department', 'staff');
