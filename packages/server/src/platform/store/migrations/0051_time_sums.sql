-- Responses include the sums of jobs, tasks and clients, so a change of a sum is a new version of the row: its entity tag changes, and
-- searches by `updatedAt` find it. It causes no event of its own.
create or replace procedure add_hours(changes hours_change[]) language sql
begin atomic
  update task t set actual_hours = t.actual_hours + c.hours, version = t.version + 1,
    updated_at = greatest(t.updated_at, now())
  from (select tenant_id, task_id, sum(hours) as hours from unnest(changes) group by 1, 2 having sum(hours) <> 0) c
  where t.tenant_id = c.tenant_id and t.id = c.task_id;
  update job j set actual_hours = j.actual_hours + c.hours, version = j.version + 1,
    updated_at = greatest(j.updated_at, now())
  from (select tenant_id, job_id, sum(hours) as hours from unnest(changes) group by 1, 2 having sum(hours) <> 0) c
  where j.tenant_id = c.tenant_id and j.id = c.job_id;
end;

create or replace procedure add_wip(changes wip_change[]) language sql
begin atomic
  update job j set wip_amount = j.wip_amount + c.outstanding, billed_amount = j.billed_amount + c.billed,
    write_off_amount = j.write_off_amount + c.written_off, version = j.version + 1,
    updated_at = greatest(j.updated_at, now())
  from (select tenant_id, job_id, sum(outstanding) as outstanding, sum(billed) as billed, sum(written_off) as written_off
    from unnest(changes) group by 1, 2
    having sum(outstanding) <> 0 or sum(billed) <> 0 or sum(written_off) <> 0) c
  where j.tenant_id = c.tenant_id and j.id = c.job_id;
  update client k set unbilled_wip = k.unbilled_wip + c.outstanding, version = k.version + 1,
    updated_at = greatest(k.updated_at, now())
  from (select tenant_id, client_id, currency, sum(outstanding) as outstanding from unnest(changes) group by 1, 2, 3
    having sum(outstanding) <> 0) c
  where k.tenant_id = c.tenant_id and k.id = c.client_id and k.currency = c.currency;
end;

-- A sum beyond the decimals of the contract is rejected when it is calculated.
alter table job add constraint job_actual_hours_range check (abs(actual_hours) < 1e7);
alter table job add constraint job_wip_amount_range check (abs(wip_amount) < 1e13);
alter table job add constraint job_billed_amount_range check (abs(billed_amount) < 1e13);
alter table job add constraint job_write_off_amount_range check (abs(write_off_amount) < 1e13);
alter table task add constraint task_actual_hours_range check (abs(actual_hours) < 1e7);
alter table client add constraint client_unbilled_wip_range check (abs(unbilled_wip) < 1e13);
alter table wip_entry add constraint wip_entry_amount_range check (wip_type not in ('EXPENSE', 'FIXED_FEE') or amount >= 0);

-- The hours of a day, as before, but a reversal of another day's entry does not reduce the hours of its own day.
create or replace function check_hours_of_day() returns trigger language plpgsql as $$
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

create index time_entry_reverses_system_ref_index on time_entry (tenant_id, reverses_system_ref)
  where reverses_system_ref is not null;
