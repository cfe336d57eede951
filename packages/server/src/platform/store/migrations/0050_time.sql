-- Codes, time and expense entries, and the work in progress (WIP) that approved entries become.

create table work_code (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  code text collate "C" not null,
  name text collate "C" not null,
  description text collate "C",
  is_billable boolean not null,
  category text collate "C",
  service_line_id uuid,
  task_type_id uuid,
  default_rate numeric,
  primary key (tenant_id, id),
  constraint work_code_system_ref_unique unique (tenant_id, system_ref),
  constraint work_code_code_unique unique (tenant_id, code),
  constraint work_code_service_line_id_reference
    foreign key (tenant_id, service_line_id) references service_line (tenant_id, id),
  constraint work_code_task_type_id_reference foreign key (tenant_id, task_type_id) references task_type (tenant_id, id),
  constraint work_code_default_rate_range
    check (default_rate >= 0 and default_rate < 1e11 and scale(default_rate) <= 4)
);
call protect_entity_table('work_code');

create table expense_code (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  code text collate "C" not null,
  name text collate "C" not null,
  description text collate "C",
  is_billable boolean not null,
  category text collate "C",
  service_line_id uuid,
  task_type_id uuid,
  default_rate numeric,
  primary key (tenant_id, id),
  constraint expense_code_system_ref_unique unique (tenant_id, system_ref),
  constraint expense_code_code_unique unique (tenant_id, code),
  constraint expense_code_service_line_id_reference
    foreign key (tenant_id, service_line_id) references service_line (tenant_id, id),
  constraint expense_code_task_type_id_reference
    foreign key (tenant_id, task_type_id) references task_type (tenant_id, id),
  constraint expense_code_default_rate_range
    check (default_rate >= 0 and default_rate < 1e11 and scale(default_rate) <= 4)
);
call protect_entity_table('expense_code');

create table non_work_code (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  code text collate "C" not null,
  name text collate "C" not null,
  description text collate "C",
  is_billable boolean not null default false,
  category text collate "C",
  service_line_id uuid,
  task_type_id uuid,
  default_rate numeric,
  primary key (tenant_id, id),
  constraint non_work_code_system_ref_unique unique (tenant_id, system_ref),
  constraint non_work_code_code_unique unique (tenant_id, code),
  constraint non_work_code_service_line_id_reference
    foreign key (tenant_id, service_line_id) references service_line (tenant_id, id),
  constraint non_work_code_task_type_id_reference
    foreign key (tenant_id, task_type_id) references task_type (tenant_id, id),
  constraint non_work_code_is_billable_range check (not is_billable),
  constraint non_work_code_default_rate_range
    check (default_rate >= 0 and default_rate < 1e11 and scale(default_rate) <= 4)
);
call protect_entity_table('non_work_code');

create table time_entry (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  staff_id uuid not null,
  job_id uuid,
  task_id uuid,
  code text collate "C",
  work_date date not null,
  hours numeric(10, 2) not null,
  is_billable boolean not null,
  description text collate "C",
  internal_note text collate "C",
  status text collate "C" not null default 'DRAFT',
  rejection_reason text collate "C",
  reverses_system_ref text collate "C",
  billing_rate numeric not null default 0,
  amount numeric(16, 2) not null default 0,
  approved_by_id uuid,
  approved_at timestamptz(3),
  -- Whoever created an entry cannot approve it.
  created_by_api_user_id uuid,
  primary key (tenant_id, id),
  constraint time_entry_system_ref_unique unique (tenant_id, system_ref),
  constraint time_entry_staff_id_reference foreign key (tenant_id, staff_id) references staff (tenant_id, id),
  constraint time_entry_job_id_reference foreign key (tenant_id, job_id) references job (tenant_id, id),
  constraint time_entry_task_id_reference foreign key (tenant_id, task_id) references task (tenant_id, id),
  constraint time_entry_approved_by_id_reference foreign key (tenant_id, approved_by_id) references staff (tenant_id, id),
  constraint time_entry_reverses_system_ref_reference
    foreign key (tenant_id, reverses_system_ref) references time_entry (tenant_id, system_ref) deferrable initially deferred,
  constraint time_entry_status_enum check (status in ('DRAFT', 'SUBMITTED', 'APPROVED', 'REJECTED')),
  constraint time_entry_hours_range
    check (case when reverses_system_ref is null then hours > 0 and hours <= 24 else hours < 0 and hours >= -24 end),
  constraint time_entry_job_id_agrees check (job_id is not null or not is_billable),
  constraint time_entry_rejection_reason_agrees check ((status = 'REJECTED') = (rejection_reason is not null)),
  constraint time_entry_approved_at_agrees check ((status = 'APPROVED') = (approved_at is not null)),
  constraint time_entry_billing_rate_range
    check (billing_rate >= 0 and billing_rate < 1e11 and scale(billing_rate) <= 4),
  constraint time_entry_amount_agrees check (amount = round(hours * billing_rate, 2))
);
call protect_entity_table('time_entry');
create index time_entry_staff_id_index on time_entry (tenant_id, staff_id, work_date);
create index time_entry_job_id_index on time_entry (tenant_id, job_id, status);
create index time_entry_task_id_index on time_entry (tenant_id, task_id);
create index time_entry_code_index on time_entry (tenant_id, code);

create table expense_entry (
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
  code text collate "C" not null,
  expense_date date not null,
  cost numeric(16, 2) not null,
  billable_amount numeric(16, 2) not null,
  markup_percent numeric,
  description text collate "C" not null,
  receipt_file_id uuid,
  status text collate "C" not null default 'DRAFT',
  rejection_reason text collate "C",
  approved_by_id uuid,
  approved_at timestamptz(3),
  created_by_api_user_id uuid,
  primary key (tenant_id, id),
  constraint expense_entry_system_ref_unique unique (tenant_id, system_ref),
  constraint expense_entry_staff_id_reference foreign key (tenant_id, staff_id) references staff (tenant_id, id),
  constraint expense_entry_job_id_reference foreign key (tenant_id, job_id) references job (tenant_id, id),
  constraint expense_entry_approved_by_id_reference
    foreign key (tenant_id, approved_by_id) references staff (tenant_id, id),
  constraint expense_entry_status_enum check (status in ('DRAFT', 'SUBMITTED', 'APPROVED', 'REJECTED')),
  constraint expense_entry_cost_range check (cost >= 0),
  constraint expense_entry_billable_amount_range check (billable_amount >= 0),
  constraint expense_entry_markup_percent_range check (markup_percent >= 0 and scale(markup_percent) <= 4),
  constraint expense_entry_rejection_reason_agrees check ((status = 'REJECTED') = (rejection_reason is not null)),
  constraint expense_entry_approved_at_agrees check ((status = 'APPROVED') = (approved_at is not null))
);
call protect_entity_table('expense_entry');
create index expense_entry_job_id_index on expense_entry (tenant_id, job_id, status);
create index expense_entry_staff_id_index on expense_entry (tenant_id, staff_id, expense_date);
create index expense_entry_code_index on expense_entry (tenant_id, code);

create table wip_entry (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  wip_type text collate "C" not null,
  client_id uuid not null,
  job_id uuid not null,
  staff_id uuid,
  task_id uuid,
  code text collate "C",
  engagement_id uuid,
  work_date date not null,
  hours numeric(10, 2),
  billing_rate numeric,
  amount numeric(16, 2) not null,
  write_off_amount numeric(16, 2) not null default 0,
  write_off_reason text collate "C",
  time_entry_id uuid,
  expense_entry_id uuid,
  status text collate "C" not null default 'OPEN',
  currency text collate "C" not null,
  billed_amount numeric(16, 2) not null default 0,
  write_up_amount numeric(16, 2) not null default 0,
  outstanding_amount numeric(16, 2) not null generated always as (
    case when status = 'REVERSED' then 0 else amount + write_up_amount - write_off_amount - billed_amount end) stored,
  draft_invoice_id uuid,
  invoice_id uuid,
  posted_at timestamptz(3) not null,
  billed_at timestamptz(3),
  primary key (tenant_id, id),
  constraint wip_entry_system_ref_unique unique (tenant_id, system_ref),
  constraint wip_entry_client_id_reference foreign key (tenant_id, client_id) references client (tenant_id, id),
  constraint wip_entry_job_id_reference foreign key (tenant_id, job_id) references job (tenant_id, id),
  constraint wip_entry_staff_id_reference foreign key (tenant_id, staff_id) references staff (tenant_id, id),
  constraint wip_entry_task_id_reference foreign key (tenant_id, task_id) references task (tenant_id, id),
  constraint wip_entry_time_entry_id_reference
    foreign key (tenant_id, time_entry_id) references time_entry (tenant_id, id),
  constraint wip_entry_expense_entry_id_reference
    foreign key (tenant_id, expense_entry_id) references expense_entry (tenant_id, id),
  constraint wip_entry_wip_type_enum check (wip_type in ('TIME', 'EXPENSE', 'FIXED_FEE', 'PROGRESS', 'ADJUSTMENT')),
  constraint wip_entry_status_enum
    check (status in ('OPEN', 'IN_DRAFT', 'PARTIALLY_BILLED', 'BILLED', 'WRITTEN_OFF', 'REVERSED')),
  constraint wip_entry_billing_rate_range
    check (billing_rate >= 0 and billing_rate < 1e11 and scale(billing_rate) <= 4),
  constraint wip_entry_amount_agrees check (amount = round(hours * billing_rate, 2)),
  constraint wip_entry_time_entry_id_agrees check ((wip_type = 'TIME') = (time_entry_id is not null)),
  constraint wip_entry_expense_entry_id_agrees check ((wip_type = 'EXPENSE') = (expense_entry_id is not null)),
  -- The amounts billed, written up and written off add up to the amount, and the state of a row depends on the remaining amount.
  constraint wip_entry_outstanding_amount_agrees check (
    case status
      when 'BILLED' then amount + write_up_amount - write_off_amount = billed_amount and invoice_id is not null
      when 'WRITTEN_OFF' then amount + write_up_amount - write_off_amount = billed_amount
      when 'OPEN' then billed_amount = 0 and write_up_amount = 0 and write_off_amount = 0
      when 'IN_DRAFT' then draft_invoice_id is not null
      else true
    end),
  constraint wip_entry_write_off_reason_agrees check (status <> 'WRITTEN_OFF' or write_off_reason is not null)
);
call protect_entity_table('wip_entry');
create unique index wip_entry_time_entry_id_unique on wip_entry (tenant_id, time_entry_id) where status <> 'REVERSED';
create unique index wip_entry_expense_entry_id_unique on wip_entry (tenant_id, expense_entry_id) where status <> 'REVERSED';
create index wip_entry_job_id_index on wip_entry (tenant_id, job_id, status);
create index wip_entry_open_index on wip_entry (tenant_id, client_id, work_date, id)
  where status in ('OPEN', 'PARTIALLY_BILLED', 'IN_DRAFT');
create index wip_entry_work_date_index on wip_entry (tenant_id, work_date, id);
create index wip_entry_draft_invoice_id_index on wip_entry (tenant_id, draft_invoice_id);
create index wip_entry_invoice_id_index on wip_entry (tenant_id, invoice_id);

-- A staff member's day has at most 24 hours. The rows of the staff members are locked before their entries are written, so
-- two transactions never add up the same day at the same time.
create function check_hours_of_day() returns trigger language plpgsql as $$
declare
  exceeded record;
begin
  select day.staff_id, day.work_date into exceeded
  from (select distinct tenant_id, staff_id, work_date from new_rows) day
  where (select sum(e.hours) from time_entry e
    where e.tenant_id = day.tenant_id and e.staff_id = day.staff_id and e.work_date = day.work_date
      and e.active and e.status <> 'REJECTED') > 24
  limit 1;
  if found then
    raise exception 'more than 24 hours on %', exceeded.work_date
      using errcode = 'check_violation', constraint = 'time_entry_hours_day', table = 'time_entry';
  end if;
  return null;
end
$$;
create trigger time_entry_hours_inserted after insert on time_entry
  referencing new table as new_rows for each statement execute function check_hours_of_day();
create trigger time_entry_hours_updated after update on time_entry
  referencing new table as new_rows for each statement execute function check_hours_of_day();

-- The database updates the sums of jobs, tasks and clients itself, in the statement that changes the summed rows.
create type hours_change as (tenant_id integer, job_id uuid, task_id uuid, hours numeric);

create procedure add_hours(changes hours_change[]) language sql
begin atomic
  update job j set actual_hours = j.actual_hours + c.hours
  from (select tenant_id, job_id, sum(hours) as hours from unnest(changes) group by 1, 2 having sum(hours) <> 0) c
  where j.tenant_id = c.tenant_id and j.id = c.job_id;
  update task t set actual_hours = t.actual_hours + c.hours
  from (select tenant_id, task_id, sum(hours) as hours from unnest(changes) group by 1, 2 having sum(hours) <> 0) c
  where t.tenant_id = c.tenant_id and t.id = c.task_id;
end;

create function sum_hours() returns trigger language plpgsql as $$
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
$$;
create trigger time_entry_sum_inserted after insert on time_entry
  referencing new table as new_rows for each statement execute function sum_hours();
create trigger time_entry_sum_updated after update on time_entry
  referencing old table as old_rows new table as new_rows for each statement execute function sum_hours();

create type wip_change as (
  tenant_id integer, job_id uuid, client_id uuid, currency text, outstanding numeric, billed numeric, written_off numeric);

-- A client's balances are in the client's currency; work in another currency is not part of them.
create procedure add_wip(changes wip_change[]) language sql
begin atomic
  update job j set wip_amount = j.wip_amount + c.outstanding, billed_amount = j.billed_amount + c.billed,
    write_off_amount = j.write_off_amount + c.written_off
  from (select tenant_id, job_id, sum(outstanding) as outstanding, sum(billed) as billed, sum(written_off) as written_off
    from unnest(changes) group by 1, 2
    having sum(outstanding) <> 0 or sum(billed) <> 0 or sum(written_off) <> 0) c
  where j.tenant_id = c.tenant_id and j.id = c.job_id;
  update client k set unbilled_wip = k.unbilled_wip + c.outstanding
  from (select tenant_id, client_id, currency, sum(outstanding) as outstanding from unnest(changes) group by 1, 2, 3
    having sum(outstanding) <> 0) c
  where k.tenant_id = c.tenant_id and k.id = c.client_id and k.currency = c.currency;
end;

create function sum_wip() returns trigger language plpgsql as $$
declare
  changes wip_change[];
begin
  if tg_op = 'INSERT' then
    select array_agg((tenant_id, job_id, client_id, currency, outstanding_amount, billed_amount, write_off_amount)::wip_change)
    into changes from new_rows;
  else
    select array_agg(change) into changes from (
      select (tenant_id, job_id, client_id, currency, outstanding_amount, billed_amount, write_off_amount)::wip_change as change
      from new_rows
      union all
      select (tenant_id, job_id, client_id, currency, -outstanding_amount, -billed_amount, -write_off_amount)::wip_change
      from old_rows) all_rows;
  end if;
  call add_wip(changes);
  return null;
end
$$;
create trigger wip_entry_sum_inserted after insert on wip_entry
  referencing new table as new_rows for each statement execute function sum_wip();
create trigger wip_entry_sum_updated after update on wip_entry
  referencing old table as old_rows new table as new_rows for each statement execute function sum_wip();
