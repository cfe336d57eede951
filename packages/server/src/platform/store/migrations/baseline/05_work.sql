create table job_template (
  like entity_columns including defaults including indexes,
  name text collate "C" not null,
  code text collate "C",
  description text collate "C",
  service_line_id uuid,
  billing_type text collate "C" not null,
  default_fee numeric(16,2),
  budget_hours numeric(10,2),
  duration_days integer,
  recurrence text collate "C",
  published_at timestamptz(3),
  constraint job_template_billing_type_enum check (
    billing_type in ('TIME_AND_MATERIALS', 'FIXED_FEE', 'RECURRING', 'NON_BILLABLE')),
  constraint job_template_recurrence_enum check (recurrence in ('NONE', 'MONTHLY', 'QUARTERLY', 'ANNUAL')),
  constraint job_template_default_fee_range check (default_fee >= 0),
  constraint job_template_budget_hours_range check (budget_hours >= 0),
  constraint job_template_duration_days_range check (duration_days between 0 and 3650),
  constraint job_template_name_unique unique (tenant_id, name)
);
call add_references('job_template', 'service_line_id');

create table task_type (
  like entity_columns including defaults including indexes,
  display_name text collate "C" not null,
  code text collate "C" not null,
  is_billable boolean not null,
  billing_method text collate "C" not null,
  default_rate numeric,
  default_work_code text collate "C",
  invoice_description text collate "C",
  service_line_id uuid,
  constraint task_type_billing_method_enum check (billing_method in ('HOURLY', 'FIXED', 'NON_BILLABLE')),
  constraint task_type_default_rate_range check (default_rate >= 0 and default_rate < 1e11 and scale(default_rate) <= 4),
  constraint task_type_display_name_unique unique (tenant_id, display_name),
  constraint task_type_code_unique unique (tenant_id, code)
);
call add_references('task_type', 'service_line_id');

create table job_template_task (
  tenant_id integer not null,
  job_template_id uuid not null,
  position integer not null,
  name text collate "C" not null,
  task_type_id uuid not null,
  offset_days integer not null,
  budget_hours numeric(10,2) not null,
  default_staff_type_id uuid not null,
  constraint job_template_task_offset_days_range check (offset_days between 0 and 3650),
  constraint job_template_task_budget_hours_range check (budget_hours >= 0),
  primary key (tenant_id, job_template_id, "position")
);
call add_references('job_template_task', 'job_template_id', 'task_type_id', 'default_staff_type_id: staff_type');
call protect_tenant_table('job_template_task', 'select, insert, delete');

create table job (
  like entity_columns including defaults including indexes,
  name text collate "C" not null,
  status text collate "C" not null default 'PLANNED',
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
  completed_at timestamptz(3),
  closed_at timestamptz(3),
  billing_type text collate "C" not null,
  fee_amount numeric(16,2),
  billing_schedule text collate "C",
  budget_hours numeric(10,2),
  budget_amount numeric(16,2),
  currency text collate "C" not null,
  priority text collate "C" not null default 'NORMAL',
  description text collate "C",
  -- Sums over the job's time and work in progress, updated by whoever writes those; searches of projects filter by them.
  actual_hours numeric(10,2) not null default 0,
  wip_amount numeric(16,2) not null default 0,
  billed_amount numeric(16,2) not null default 0,
  write_off_amount numeric(16,2) not null default 0,
  write_up_amount numeric(16,2) not null default 0,
  -- What a job was billed is the sum of lines, less discounts. What was billed for its work remains part of its realization.
  billed_work_amount numeric(16,2) not null default 0,
  billed_fee_amount numeric(16,2) not null default 0,
  fee_without_work_amount numeric(16,2) not null default 0,
  constraint job_status_enum check (
    status in ('PLANNED', 'READY', 'IN_PROGRESS', 'ON_HOLD', 'IN_REVIEW', 'COMPLETED', 'CLOSED', 'CANCELLED')),
  constraint job_billing_type_enum check (
    billing_type in ('TIME_AND_MATERIALS', 'FIXED_FEE', 'RECURRING', 'NON_BILLABLE')),
  constraint job_billing_schedule_enum check (
    billing_schedule in ('ON_COMPLETION', 'MILESTONE', 'MONTHLY', 'QUARTERLY')),
  constraint job_priority_enum check (priority in ('LOW', 'NORMAL', 'HIGH')),
  constraint job_fee_amount_agrees check ((fee_amount is not null) = (billing_type in ('FIXED_FEE', 'RECURRING'))),
  constraint job_fee_amount_range check (fee_amount >= 0),
  constraint job_budget_hours_range check (budget_hours >= 0),
  constraint job_budget_amount_range check (budget_amount >= 0),
  constraint job_period_end_date_order check (period_end_date >= period_start_date),
  constraint job_pms_ref_unique unique (tenant_id, pms_ref),
  constraint job_job_ref_unique unique (tenant_id, job_ref),
  constraint job_due_date_order check (due_date >= start_date),
  constraint job_write_up_amount_range check (abs(write_up_amount) < 1e13),
  constraint job_actual_hours_bound check (abs(actual_hours) < 1e7),
  constraint job_wip_amount_bound check (abs(wip_amount) < 1e13),
  constraint job_billed_amount_bound check (abs(billed_amount) < 1e13),
  constraint job_write_off_amount_bound check (abs(write_off_amount) < 1e13),
  constraint job_fee_remaining_bound check (fee_amount is null or abs(fee_amount - billed_fee_amount) < 1e13),
  -- A project shows its standard amount, which no decimal of the contract must exceed.
  constraint job_standard_amount_bound check (abs(billed_work_amount + write_off_amount - write_up_amount + fee_without_work_amount) < 1e13)
);
call add_references('job', 'client_id', 'service_line_id', 'department_id', 'office_id', 'partner_id: staff', 'manager_id: staff',
  'in_charge_id: staff', 'job_template_id');
create index job_client_id_status_index on job (tenant_id, client_id, status);
create index job_names_index on job using gin (tenant_id, name gin_trgm_ops, lower((name collate fa_case)) collate "C" gin_trgm_ops);
-- Searches of projects and tasks start from an index on the first key that they sort by. Descending orders read it backwards;
-- where they have nulls last, only due dates need an index of their own. Sorting 40,000 jobs takes 0.1 s.
create index job_name_index on job (tenant_id, name, id);
call index_orders('job', 'status', 'start_date', 'due_date', 'due_date desc nulls last', 'deadline_date', 'completed_at', 'budget_hours',
  'budget_amount', 'actual_hours', 'wip_amount', 'billed_amount', 'created_at', 'active', 'active desc', 'status desc',
  'start_date desc nulls last', 'deadline_date desc nulls last', 'completed_at desc nulls last', 'budget_hours desc nulls last',
  'budget_amount desc nulls last');
-- Values that few jobs share. Service lines, departments and offices have too many jobs each for an index to help.
create index job_partner_id_index on job (tenant_id, partner_id, due_date) where (partner_id is not null);
create index job_manager_id_index on job (tenant_id, manager_id, due_date) where (manager_id is not null);
create index job_in_charge_id_index on job (tenant_id, in_charge_id, due_date) where (in_charge_id is not null);
create index job_engagement_id_index on job (tenant_id, engagement_id) where (engagement_id is not null);
create index job_job_template_id_index on job (tenant_id, job_template_id) where (job_template_id is not null);
create index job_refs_index on job using gin (tenant_id, job_ref gin_trgm_ops, lower((job_ref collate fa_case)) collate "C" gin_trgm_ops);
create index job_pms_refs_index on job using gin (tenant_id, pms_ref gin_trgm_ops, lower((pms_ref collate fa_case)) collate "C" gin_trgm_ops);
-- The jobs that the clock bills, which it reads in batches.
create index job_billing_schedule_index on job (tenant_id, billing_schedule, id) where (billing_schedule is not null);
create index job_search_index on job using gin (tenant_id, search_text(name) gin_trgm_ops);
call refuse_merged('job', 'client_id');

create table task (
  like entity_columns including defaults including indexes,
  name text collate "C" not null,
  job_id uuid not null,
  task_type_id uuid not null,
  assignee_id uuid,
  status text collate "C" not null default 'NOT_STARTED',
  priority text collate "C" not null default 'NORMAL',
  start_date date,
  due_date date,
  completed_at timestamptz(3),
  budget_hours numeric(10,2),
  -- The sum of the task's approved time entries, updated by whoever writes those.
  actual_hours numeric(10,2) not null default 0,
  sequence integer not null,
  is_billable boolean not null,
  description text collate "C",
  constraint task_status_enum check (
    status in ('NOT_STARTED', 'IN_PROGRESS', 'WAITING', 'IN_REVIEW', 'COMPLETED', 'CANCELLED')),
  constraint task_priority_enum check (priority in ('LOW', 'NORMAL', 'HIGH')),
  constraint task_budget_hours_range check (budget_hours >= 0),
  constraint task_sequence_range check (sequence between 0 and 1000000),
  constraint task_actual_hours_bound check (abs(actual_hours) < 1e7)
);
call add_references('task', 'job_id', 'task_type_id', 'assignee_id: staff');
create index task_job_id_index on task (tenant_id, job_id, sequence);
create index task_assignee_id_index on task (tenant_id, assignee_id, status);
call index_orders('task', 'due_date', 'name', 'status', 'sequence', 'due_date desc nulls last', 'created_at', 'active', 'active desc',
  'status desc', 'sequence desc', 'name desc');
create index task_names_index on task using gin (tenant_id, name gin_trgm_ops, lower((name collate fa_case)) collate "C" gin_trgm_ops);
create index task_not_billable_index on task (tenant_id, id) where (NOT is_billable);
create index task_search_index on task using gin (tenant_id, search_text(name) gin_trgm_ops);

-- An assignment that ended remains, and a new one is another row: at most one active one has the same person, job and role.
create table staff_job_assignment (
  like entity_columns including defaults including indexes,
  staff_id uuid not null,
  job_id uuid not null,
  role text collate "C" not null,
  allocated_hours numeric(10,2),
  billing_rate_override numeric,
  start_date date,
  end_date date,
  deactivated_at timestamptz(3),
  constraint staff_job_assignment_role_enum check (
    role in ('PARTNER', 'MANAGER', 'IN_CHARGE', 'REVIEWER', 'PREPARER', 'OTHER')),
  constraint staff_job_assignment_allocated_hours_range check (allocated_hours >= 0),
  constraint staff_job_assignment_billing_rate_override_range check (
    billing_rate_override >= 0 and billing_rate_override < 1e11 and scale(billing_rate_override) <= 4),
  constraint staff_job_assignment_end_date_order check (end_date >= start_date),
  constraint staff_job_assignment_deactivated_at_agrees check (active = (deactivated_at is null))
);
call add_references('staff_job_assignment', 'staff_id', 'job_id');
create unique index staff_job_assignment_role_unique on staff_job_assignment (tenant_id, job_id, staff_id, role) where active;
call index_columns('staff_job_assignment', 'job_id', 'staff_id');

create table staff_task_assignment (
  like entity_columns including defaults including indexes,
  staff_id uuid not null,
  task_id uuid not null,
  allocated_hours numeric(10,2),
  deactivated_at timestamptz(3),
  constraint staff_task_assignment_allocated_hours_range check (allocated_hours >= 0),
  constraint staff_task_assignment_deactivated_at_agrees check (active = (deactivated_at is null))
);
call add_references('staff_task_assignment', 'staff_id', 'task_id');
create unique index staff_task_assignment_task_id_unique on staff_task_assignment (tenant_id, task_id, staff_id) where active;
call index_columns('staff_task_assignment', 'staff_id');
