/** The number of rows to insert. */
export interface WorkSize {
  readonly staff: number;
  readonly clients: number;
  readonly jobs: number;
  readonly assignments: number;
  readonly tasks: number;
}

/**
 * Statements of a superuser that insert three years of work of a firm, with a realistic distribution: half of the jobs
 * are closed, a tenth of the clients have most of them. The rows are the same each time. References are not checked, and
 * row-level security does not apply to the owner afterwards: only the plans of queries matter.
 */
export function workStatements(tenantId: number, size: WorkSize): string[] {
  const { staff, clients, jobs, assignments, tasks } = size;
  return [
    // Checking half a million references would take longer than the rest.
    `do $$ declare one record; begin
      for one in select conrelid::regclass as owner, conname from pg_constraint
        where contype = 'f' and conrelid in ('job'::regclass, 'staff_job_assignment'::regclass, 'task'::regclass)
      loop execute format('alter table %s drop constraint %I', one.owner, one.conname); end loop; end $$`,
    `do $$ declare tenant_table text; begin
      for tenant_table in select relname from pg_class where relforcerowsecurity
      loop execute format('alter table %I no force row level security', tenant_table); end loop; end $$`,
    'select setseed(0.5)',
    `
      create temporary table seed as
      select * from (values ('staff', ${staff}::int), ('client', ${clients}), ('job', ${jobs})) s (kind, count),
        lateral (select n, uuidv7() as id from generate_series(1, count) n order by n) rows`,
    'create index on seed (kind, n)',
    'analyze seed',
    `
      insert into org (tenant_id, id, system_ref, name, legal_name, code, currency, country, time_zone, fiscal_year_start_month)
      values (${tenantId}, uuidv7(), 'work', 'Work', 'Work', 'WORK', 'USD', 'US', 'America/New_York', 1)`,
    `
      insert into staff_type (tenant_id, id, system_ref, name, code, rank, is_billable)
      select ${tenantId}, uuidv7(), 'work-' || n, 'Type ' || n, 'T' || n, n, true from generate_series(1, 12) n`,
    `
      insert into department (tenant_id, id, system_ref, name, code)
      select ${tenantId}, uuidv7(), 'work-' || n, 'Department ' || n, 'D' || n from generate_series(1, 14) n`,
    `
      insert into office (tenant_id, id, system_ref, name, code, org_id, time_zone)
      select ${tenantId}, uuidv7(), 'work-' || n, 'Office ' || n, 'O' || n, org.id, 'America/New_York'
      from generate_series(1, 9) n, org where org.tenant_id = ${tenantId}`,
    `
      insert into staff (tenant_id, id, system_ref, staff_ref, first_name, last_name, display_name, email, staff_type_id,
        department_id, office_id, is_billable, hire_date, status, updated_at)
      select ${tenantId}, s.id, s.id::text, 'S-' || n, 'Ada', 'Person ' || md5(n::text), 'Ada Person ' || md5(n::text),
        'p' || n || '@example.com', (array(select id from staff_type order by id))[1 + n % 12],
        (array(select id from department order by id))[1 + n % 14], (array(select id from office order by id))[1 + n % 9],
        n % 8 <> 0, date '2010-01-01' + n * 13 % 5800, case when n % 8 = 3 then 'TERMINATED' else 'ACTIVE' end,
        timestamptz '2024-01-01' + n * interval '1 hour'
      from seed s where kind = 'staff'`,
    `
      insert into client (tenant_id, id, system_ref, client_ref, pms_ref, name, status, org_id, currency)
      select ${tenantId}, s.id, s.id::text, 'C-' || n, 'C-' || n, 'Client ' || md5(n::text),
        case when n % 50 < 41 then 'ACTIVE' when n % 50 < 44 then 'PROSPECT' else 'INACTIVE' end, org.id, 'USD'
      from seed s, org where kind = 'client' and org.tenant_id = ${tenantId}`,
    `
      insert into job (tenant_id, id, system_ref, name, status, client_id, job_ref, pms_ref, partner_id, manager_id, department_id,
        office_id, fiscal_year, start_date, due_date, deadline_date, completed_at, billing_type, budget_hours, budget_amount,
        currency, priority, actual_hours, wip_amount, billed_amount, updated_at)
      select ${tenantId}, id, id::text, 'Return ' || md5(n::text), status, client_id, 'J-' || n, 'J-' || n, partner_id, manager_id,
        department_id, office_id, extract(year from start)::int, start, start + 30,
        case when n % 3 = 0 then start + 45 end,
        case when status in ('COMPLETED', 'CLOSED') then start + interval '25 days' end, 'TIME_AND_MATERIALS',
        10 + n % 90, (10 + n % 90) * 208, 'USD', case when n % 10 = 0 then 'HIGH' else 'NORMAL' end, n % 97,
        case when status in ('IN_PROGRESS', 'IN_REVIEW', 'COMPLETED') and n % 2 = 0 then n % 5000 else 0 end, n % 9000,
        timestamptz '2024-01-01' + n * interval '40 minutes'
      from (
        select s.id, s.n,
          (array['PLANNED','PLANNED','READY','IN_PROGRESS','IN_PROGRESS','ON_HOLD','IN_REVIEW','COMPLETED','COMPLETED',
            'CANCELLED'] || array_fill('CLOSED'::text, array[10]))[1 + s.n * 7 % 20] as status,
          c.id as client_id, p.id as partner_id, m.id as manager_id, d.id as department_id, o.id as office_id,
          date '2024-01-01' + (random() * 1000)::int as start
        from seed s
        join seed c on c.kind = 'client' and c.n = 1 + (case when s.n % 3 < 2 then s.n % greatest(${clients} / 10, 1) else s.n % ${clients} end)
        join seed p on p.kind = 'staff' and p.n = 1 + s.n % 30
        join seed m on m.kind = 'staff' and m.n = 31 + s.n % 45
        join (select id, row_number() over (order by id) as n from department) d on d.n = 1 + s.n % 14
        join (select id, row_number() over (order by id) as n from office) o on o.n = 1 + s.n % 9
        where s.kind = 'job') work`,
    `
      insert into staff_job_assignment (tenant_id, id, system_ref, staff_id, job_id, role, active, deactivated_at)
      select ${tenantId}, id, id::text, staff_id, job_id, role, not ended, case when ended then now() end
      from (
        select uuidv7() as id, s.id as staff_id, j.id as job_id, g.n % 20 = 0 as ended,
          (array['PARTNER','MANAGER','PREPARER','REVIEWER','OTHER'])[1 + g.n / ${jobs} % 5] as role
        from generate_series(0, ${assignments - 1}) g (n)
        join seed j on j.kind = 'job' and j.n = 1 + g.n % ${jobs}
        join seed s on s.kind = 'staff' and s.n = 1 + (g.n * 31 + g.n / ${jobs}) % ${staff}) made`,
    `
      insert into task_type (tenant_id, id, system_ref, display_name, code, is_billable, billing_method)
      values (${tenantId}, uuidv7(), 'work', 'Work', 'WORK', true, 'HOURLY')`,
    `
      insert into task (tenant_id, id, system_ref, name, job_id, task_type_id, assignee_id, status, due_date, sequence, is_billable, updated_at)
      select ${tenantId}, id, id::text, 'Task ' || n, job_id, type_id, staff_id,
        (array['NOT_STARTED','IN_PROGRESS','COMPLETED','COMPLETED','COMPLETED','CANCELLED'])[1 + n % 6],
        date '2024-01-01' + n * 11 % 1050, n % 6, true, timestamptz '2024-01-01' + n * interval '6 minutes'
      from (
        select uuidv7() as id, g.n, j.id as job_id, s.id as staff_id, t.id as type_id
        from generate_series(0, ${tasks - 1}) g (n)
        join seed j on j.kind = 'job' and j.n = 1 + g.n % ${jobs}
        join seed s on s.kind = 'staff' and s.n = 1 + g.n % ${staff}
        cross join (select id from task_type where system_ref = 'work') t) made`,
  ];
}
