-- Task types and tasks.

create table task_type (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  display_name text collate "C" not null,
  code text collate "C" not null,
  is_billable boolean not null,
  billing_method text collate "C" not null,
  default_rate numeric,
  default_work_code text collate "C",
  invoice_description text collate "C",
  service_line_id uuid,
  primary key (tenant_id, id),
  constraint task_type_system_ref_unique unique (tenant_id, system_ref),
  constraint task_type_display_name_unique unique (tenant_id, display_name),
  constraint task_type_code_unique unique (tenant_id, code),
  constraint task_type_service_line_id_reference
    foreign key (tenant_id, service_line_id) references service_line (tenant_id, id),
  constraint task_type_billing_method_enum check (billing_method in ('HOURLY', 'FIXED', 'NON_BILLABLE')),
  constraint task_type_default_rate_range
    check (default_rate >= 0 and default_rate < 1e11 and scale(default_rate) <= 4)
);
call protect_entity_table('task_type');

create table task (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  name text collate "C" not null,
  job_id uuid not null,
  task_type_id uuid not null,
  assignee_id uuid,
  status text collate "C" not null default 'NOT_STARTED',
  priority text collate "C" not null default 'NORMAL',
  start_date date,
  due_date date,
  completed_at timestamptz(3),
  budget_hours numeric(10, 2),
  -- The sum of the task's approved time entries, updated by whoever writes those.
  actual_hours numeric(10, 2) not null default 0,
  sequence integer not null,
  is_billable boolean not null,
  description text collate "C",
  primary key (tenant_id, id),
  constraint task_system_ref_unique unique (tenant_id, system_ref),
  constraint task_job_id_reference foreign key (tenant_id, job_id) references job (tenant_id, id),
  constraint task_task_type_id_reference foreign key (tenant_id, task_type_id) references task_type (tenant_id, id),
  constraint task_assignee_id_reference foreign key (tenant_id, assignee_id) references staff (tenant_id, id),
  constraint task_status_enum check (
    status in ('NOT_STARTED', 'IN_PROGRESS', 'WAITING', 'IN_REVIEW', 'COMPLETED', 'CANCELLED')),
  constraint task_priority_enum check (priority in ('LOW', 'NORMAL', 'HIGH')),
  constraint task_budget_hours_range check (budget_hours >= 0),
  constraint task_sequence_range check (sequence between 0 and 1000000)
);
call protect_entity_table('task');
create index task_job_id_index on task (tenant_id, job_id, sequence);
create index task_assignee_id_index on task (tenant_id, assignee_id, status);
create index task_due_date_index on task (tenant_id, due_date, id);
