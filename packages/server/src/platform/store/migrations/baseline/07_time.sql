create type hours_change as (tenant_id integer, job_id uuid, task_id uuid, hours numeric);

create type wip_change as (tenant_id integer, job_id uuid, client_id uuid, currency text, outstanding numeric, billed numeric, written_off numeric, written_up numeric);

-- What codes of work, of other time and of expenses have in common.
create table code_columns (
  code text collate "C" not null,
  name text collate "C" not null,
  description text collate "C",
  is_billable boolean not null,
  category text collate "C",
  service_line_id uuid,
  task_type_id uuid,
  default_rate numeric,
  constraint code_columns_default_rate_range check (default_rate >= 0 and default_rate < 1e11 and scale(default_rate) <= 4)
);

create table work_code (
  like entity_columns including defaults including indexes,
  like code_columns including defaults including constraints,
  constraint work_code_code_unique unique (tenant_id, code)
);
call add_references('work_code', 'service_line_id', 'task_type_id');

create table non_work_code (
  like entity_columns including defaults including indexes,
  like code_columns including defaults including constraints,
  constraint non_work_code_is_billable_range check (not is_billable),
  constraint non_work_code_code_unique unique (tenant_id, code)
);
alter table non_work_code alter is_billable set default false;
call add_references('non_work_code', 'service_line_id', 'task_type_id');

create table expense_code (
  like entity_columns including defaults including indexes,
  like code_columns including defaults including constraints,
  constraint expense_code_code_unique unique (tenant_id, code)
);
call add_references('expense_code', 'service_line_id', 'task_type_id');

-- What entries that are approved have in common.
create table approval_columns (
  status text collate "C" not null default 'DRAFT',
  rejection_reason text collate "C",
  approved_by_id uuid,
  approved_at timestamptz(3),
  -- Whoever created an entry cannot approve it.
  created_by_api_user_id uuid,
  constraint approval_columns_status_enum check (status in ('DRAFT', 'SUBMITTED', 'APPROVED', 'REJECTED')),
  constraint approval_columns_rejection_reason_agrees check ((status = 'REJECTED') = (rejection_reason is not null)),
  constraint approval_columns_approved_at_agrees check ((status = 'APPROVED') = (approved_at is not null))
);

create table time_entry (
  like entity_columns including defaults including indexes,
  like approval_columns including defaults including constraints,
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
  billing_rate numeric not null default 0,
  amount numeric(16,2) not null default 0,
  started_at timestamptz(3),
  ended_at timestamptz(3),
  constraint time_entry_hours_range check (case when reverses_system_ref is null then hours > 0 and hours <= 24 else hours < 0 and hours >= -24 end),
  constraint time_entry_job_id_agrees check (job_id is not null or not is_billable),
  constraint time_entry_billing_rate_range check (billing_rate >= 0 and billing_rate < 1e11 and scale(billing_rate) <= 4),
  constraint time_entry_reverses_system_ref_reference foreign key (tenant_id, reverses_system_ref) references time_entry (tenant_id, system_ref) deferrable initially deferred,
  constraint time_entry_amount_agrees check (amount in (work_amount(hours, billing_rate, 2), work_amount(hours, billing_rate, 0))),
  constraint time_entry_ended_at_order check (
    (started_at is null) = (ended_at is null) and (ended_at > started_at) is not false)
);
call add_references('time_entry', 'staff_id', 'job_id', 'task_id', 'approved_by_id: staff');
create index time_entry_staff_id_index on time_entry (tenant_id, staff_id, work_date);
create index time_entry_job_id_index on time_entry (tenant_id, job_id, status);
call index_columns('time_entry', 'task_id', 'code');
create index time_entry_reverses_system_ref_index on time_entry (tenant_id, reverses_system_ref) where (reverses_system_ref is not null);
call index_orders('time_entry', 'created_at', 'active', 'active desc', 'status', 'work_date', 'amount');
create index time_entry_approved_by_id_index on time_entry (tenant_id, approved_by_id) where (approved_by_id is not null);
create index time_entry_approved_at_index on time_entry (tenant_id, approved_at, id) where (approved_at is not null);
create index time_entry_rejection_reason_index on time_entry (tenant_id, id) where (rejection_reason is not null);
create index time_entry_notes_index on time_entry using gin (tenant_id, description gin_trgm_ops, lower((description collate fa_case)) collate "C" gin_trgm_ops, internal_note gin_trgm_ops, lower((internal_note collate fa_case)) collate "C" gin_trgm_ops);
create index time_entry_search_index on time_entry using gin (tenant_id, search_text(description) gin_trgm_ops, search_text(internal_note) gin_trgm_ops);

create table expense_entry (
  like entity_columns including defaults including indexes,
  like approval_columns including defaults including constraints,
  staff_id uuid not null,
  job_id uuid not null,
  code text collate "C" not null,
  expense_date date not null,
  cost numeric(16,2) not null,
  billable_amount numeric(16,2) not null,
  markup_percent numeric,
  description text collate "C" not null,
  receipt_file_id uuid,
  constraint expense_entry_cost_range check (cost >= 0),
  constraint expense_entry_billable_amount_range check (billable_amount >= 0),
  constraint expense_entry_markup_percent_range check (markup_percent >= 0 and scale(markup_percent) <= 4)
);
call add_references('expense_entry', 'staff_id', 'job_id', 'approved_by_id: staff');
create index expense_entry_job_id_index on expense_entry (tenant_id, job_id, status);
create index expense_entry_staff_id_index on expense_entry (tenant_id, staff_id, expense_date);
call index_columns('expense_entry', 'code');
call index_orders('expense_entry', 'created_at', 'active', 'active desc', 'status', 'expense_date', 'billable_amount');
create index expense_entry_approved_by_id_index on expense_entry (tenant_id, approved_by_id) where (approved_by_id is not null);
create index expense_entry_approved_at_index on expense_entry (tenant_id, approved_at, id) where (approved_at is not null);
create index expense_entry_rejection_reason_index on expense_entry (tenant_id, id) where (rejection_reason is not null);
create index expense_entry_receipt_file_id_index on expense_entry (tenant_id, receipt_file_id) where (receipt_file_id is not null);
create index expense_entry_notes_index on expense_entry using gin (tenant_id, description gin_trgm_ops, lower((description collate fa_case)) collate "C" gin_trgm_ops);
create index expense_entry_search_index on expense_entry using gin (tenant_id, search_text(description) gin_trgm_ops);

create table wip_entry (
  like entity_columns including defaults including indexes,
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
  write_off_amount numeric(16,2) not null default 0,
  write_off_reason text collate "C",
  time_entry_id uuid,
  expense_entry_id uuid,
  status text collate "C" not null default 'OPEN',
  currency text collate "C" not null,
  billed_amount numeric(16,2) not null default 0,
  write_up_amount numeric(16,2) not null default 0,
  outstanding_amount numeric(16,2) not null generated always as (case when (status = 'REVERSED') then 0 else (((amount + write_up_amount) - write_off_amount) - billed_amount) end) stored,
  draft_invoice_id uuid,
  invoice_id uuid,
  posted_at timestamptz(3) not null,
  billed_at timestamptz(3),
  constraint wip_entry_wip_type_enum check (wip_type in ('TIME', 'EXPENSE', 'FIXED_FEE', 'PROGRESS', 'ADJUSTMENT')),
  constraint wip_entry_status_enum check (status in ('OPEN', 'IN_DRAFT', 'PARTIALLY_BILLED', 'BILLED', 'WRITTEN_OFF', 'REVERSED')),
  constraint wip_entry_billing_rate_range check (billing_rate >= 0 and billing_rate < 1e11 and scale(billing_rate) <= 4),
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
  constraint wip_entry_write_off_reason_agrees check (status <> 'WRITTEN_OFF' or write_off_reason is not null),
  constraint wip_entry_amount_range check (wip_type not in ('EXPENSE', 'FIXED_FEE') or amount >= 0),
  constraint wip_entry_outstanding_amount_bound check (abs(outstanding_amount) < 1e13),
  constraint wip_entry_amount_agrees check (amount in (work_amount(hours, billing_rate, 2), work_amount(hours, billing_rate, minor_units(currency))))
);
call add_references('wip_entry', 'client_id', 'job_id', 'staff_id', 'task_id', 'time_entry_id', 'expense_entry_id', 'engagement_id');
create unique index wip_entry_time_entry_id_unique on wip_entry (tenant_id, time_entry_id) where (status <> 'REVERSED');
create unique index wip_entry_expense_entry_id_unique on wip_entry (tenant_id, expense_entry_id) where (status <> 'REVERSED');
create index wip_entry_job_id_index on wip_entry (tenant_id, job_id, status);
-- What is open of work, from its index alone.
create index wip_entry_unbilled_index on wip_entry (tenant_id, client_id, work_date, id)
  include (job_id, currency, outstanding_amount) where (status in ('OPEN', 'PARTIALLY_BILLED', 'IN_DRAFT'));
call index_orders('wip_entry', 'work_date', 'amount', 'outstanding_amount', 'created_at', 'active', 'active desc', 'billed_amount',
  'write_off_amount');
call index_columns('wip_entry', 'draft_invoice_id', 'invoice_id');
-- All work of a client, billed or not; the index of open work has only a tenth of it.
create index wip_entry_client_id_index on wip_entry (tenant_id, client_id, work_date, id);
-- Orders of searches of work in progress and of revisions. Without an index, a page of them sorts a million rows.
create index wip_entry_posted_at_index on wip_entry (tenant_id, posted_at, id);
create index wip_entry_time_entry_id_index on wip_entry (tenant_id, time_entry_id) where (time_entry_id is not null);
-- The pages of an engagement and a task show their work.
create index wip_entry_engagement_id_index on wip_entry (tenant_id, engagement_id) where (engagement_id is not null);
create index wip_entry_task_id_index on wip_entry (tenant_id, task_id) where (task_id is not null);
call refuse_merged('wip_entry', 'client_id');

-- A person has at most 24 hours on a day. A reversal of another day's entry does not reduce the hours of its own day.
create function check_hours_of_day() returns trigger language plpgsql as $$
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
$$;

-- Adds the hours of entries to their jobs and tasks.
create procedure add_hours(changes hours_change[]) language sql
begin atomic
  update task t set actual_hours = t.actual_hours + c.hours, version = t.version + 1,
    updated_at = greatest(t.updated_at, tenant_now())
  from (select tenant_id, task_id, sum(hours) as hours from unnest(changes) group by 1, 2 having sum(hours) <> 0) c
  where t.tenant_id = c.tenant_id and t.id = c.task_id;
  update job j set actual_hours = j.actual_hours + c.hours, version = j.version + 1,
    updated_at = greatest(j.updated_at, tenant_now())
  from (select tenant_id, job_id, sum(hours) as hours from unnest(changes) group by 1, 2 having sum(hours) <> 0) c
  where j.tenant_id = c.tenant_id and j.id = c.job_id;
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

-- Adds work to its jobs and clients. What was billed is added by lines.
create procedure add_wip(changes wip_change[]) language sql
begin atomic
  update job j set wip_amount = limited(j.wip_amount + c.outstanding),
    billed_work_amount = limited(j.billed_work_amount + c.billed),
    write_off_amount = limited(j.write_off_amount + c.written_off),
    write_up_amount = limited(j.write_up_amount + c.written_up), version = j.version + 1,
    updated_at = greatest(j.updated_at, tenant_now())
  from (select tenant_id, job_id, sum(outstanding) as outstanding, sum(billed) as billed, sum(written_off) as written_off,
      sum(written_up) as written_up
    from unnest(changes) group by 1, 2
    having sum(outstanding) <> 0 or sum(billed) <> 0 or sum(written_off) <> 0 or sum(written_up) <> 0) c
  where j.tenant_id = c.tenant_id and j.id = c.job_id;
  update client k set unbilled_wip = limited(k.unbilled_wip + c.outstanding), version = k.version + 1,
    updated_at = greatest(k.updated_at, tenant_now())
  from (select tenant_id, client_id, currency, sum(outstanding) as outstanding from unnest(changes) group by 1, 2, 3
    having sum(outstanding) <> 0) c
  where k.tenant_id = c.tenant_id and k.id = c.client_id and k.currency = c.currency;
end;

create function sum_wip() returns trigger language plpgsql as $$
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
$$;

call add_trigger('time_entry_hours_inserted', 'after insert on time_entry referencing new table as new_rows for each statement',
  'check_hours_of_day()');
call add_trigger('time_entry_hours_updated', 'after update on time_entry referencing new table as new_rows for each statement',
  'check_hours_of_day()');
call add_trigger('time_entry_sum_inserted', 'after insert on time_entry referencing new table as new_rows for each statement', 'sum_hours()');
call add_trigger('time_entry_sum_updated', 'after update on time_entry referencing old table as old_rows new table as new_rows for each statement',
  'sum_hours()');
call add_trigger('wip_entry_sum_inserted', 'after insert on wip_entry referencing new table as new_rows for each statement', 'sum_wip()');
call add_trigger('wip_entry_sum_updated', 'after update on wip_entry referencing old table as old_rows new table as new_rows for each statement',
  'sum_wip()');
