-- Job templates with their tasks, and who works on which job and task.

create table job_template (
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
  description text collate "C",
  service_line_id uuid,
  billing_type text collate "C" not null,
  default_fee numeric(16, 2),
  budget_hours numeric(10, 2),
  duration_days integer,
  recurrence text collate "C",
  published_at timestamptz(3),
  primary key (tenant_id, id),
  constraint job_template_system_ref_unique unique (tenant_id, system_ref),
  constraint job_template_name_unique unique (tenant_id, name),
  constraint job_template_service_line_id_reference
    foreign key (tenant_id, service_line_id) references service_line (tenant_id, id),
  constraint job_template_billing_type_enum check (
    billing_type in ('TIME_AND_MATERIALS', 'FIXED_FEE', 'RECURRING', 'NON_BILLABLE')),
  constraint job_template_recurrence_enum check (recurrence in ('NONE', 'MONTHLY', 'QUARTERLY', 'ANNUAL')),
  constraint job_template_default_fee_range check (default_fee >= 0),
  constraint job_template_budget_hours_range check (budget_hours >= 0),
  constraint job_template_duration_days_range check (duration_days between 0 and 3650)
);
call protect_entity_table('job_template');

create table job_template_task (
  tenant_id integer not null,
  job_template_id uuid not null,
  position integer not null,
  name text collate "C" not null,
  task_type_id uuid not null,
  offset_days integer not null,
  budget_hours numeric(10, 2),
  default_staff_type_id uuid,
  primary key (tenant_id, job_template_id, position),
  constraint job_template_task_job_template_id_reference
    foreign key (tenant_id, job_template_id) references job_template (tenant_id, id),
  constraint job_template_task_task_type_id_reference
    foreign key (tenant_id, task_type_id) references task_type (tenant_id, id),
  constraint job_template_task_default_staff_type_id_reference
    foreign key (tenant_id, default_staff_type_id) references staff_type (tenant_id, id),
  constraint job_template_task_offset_days_range check (offset_days between 0 and 3650),
  constraint job_template_task_budget_hours_range check (budget_hours >= 0)
);
call protect_tenant_table('job_template_task', 'select, insert, delete');

call lift_protection('job', 'job_template');
alter table job add constraint job_job_template_id_reference
  foreign key (tenant_id, job_template_id) references job_template (tenant_id, id);
call restore_protection('job', 'job_template');

-- An assignment that ended remains, and a new one is another row: at most one active one has the same person, job and role.
create table staff_job_assignment (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  staff_id uuid not null,
  job_id uuid not null,
  role text collate "C" not null,
  allocated_hours numeric(10, 2),
  billing_rate_override numeric,
  start_date date,
  end_date date,
  deactivated_at timestamptz(3),
  primary key (tenant_id, id),
  constraint staff_job_assignment_system_ref_unique unique (tenant_id, system_ref),
  constraint staff_job_assignment_staff_id_reference foreign key (tenant_id, staff_id) references staff (tenant_id, id),
  constraint staff_job_assignment_job_id_reference foreign key (tenant_id, job_id) references job (tenant_id, id),
  constraint staff_job_assignment_role_enum check (
    role in ('PARTNER', 'MANAGER', 'IN_CHARGE', 'REVIEWER', 'PREPARER', 'OTHER')),
  constraint staff_job_assignment_allocated_hours_range check (allocated_hours >= 0),
  constraint staff_job_assignment_billing_rate_override_range check (
    billing_rate_override >= 0 and billing_rate_override < 1e11 and scale(billing_rate_override) <= 4),
  constraint staff_job_assignment_end_date_order check (end_date >= start_date),
  constraint staff_job_assignment_deactivated_at_agrees check (active = (deactivated_at is null))
);
call protect_entity_table('staff_job_assignment');
create unique index staff_job_assignment_role_unique on staff_job_assignment (tenant_id, job_id, staff_id, role) where active;
create index staff_job_assignment_job_id_index on staff_job_assignment (tenant_id, job_id);
create index staff_job_assignment_staff_id_index on staff_job_assignment (tenant_id, staff_id);

create table staff_task_assignment (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  staff_id uuid not null,
  task_id uuid not null,
  allocated_hours numeric(10, 2),
  deactivated_at timestamptz(3),
  primary key (tenant_id, id),
  constraint staff_task_assignment_system_ref_unique unique (tenant_id, system_ref),
  constraint staff_task_assignment_staff_id_reference foreign key (tenant_id, staff_id) references staff (tenant_id, id),
  constraint staff_task_assignment_task_id_reference foreign key (tenant_id, task_id) references task (tenant_id, id),
  constraint staff_task_assignment_allocated_hours_range check (allocated_hours >= 0),
  constraint staff_task_assignment_deactivated_at_agrees check (active = (deactivated_at is null))
);
call protect_entity_table('staff_task_assignment');
create unique index staff_task_assignment_task_id_unique on staff_task_assignment (tenant_id, task_id, staff_id) where active;
create index staff_task_assignment_staff_id_index on staff_task_assignment (tenant_id, staff_id);
