-- How a line relieves its work, and whether it may bill more than the fee of its job.
alter table draft_invoice_line add column relief text collate "C", add column exceeds_fee boolean not null default false;
alter table invoice_line add column relief text collate "C", add column exceeds_fee boolean not null default false;
call lift_protection('draft_invoice_line', 'invoice_line');
update draft_invoice_line set relief = case when line_type in ('FIXED_FEE', 'PROGRESS') then 'PART' else 'FULL' end;
update invoice_line set relief = case when line_type in ('FIXED_FEE', 'PROGRESS') then 'PART' else 'FULL' end;
call restore_protection('draft_invoice_line', 'invoice_line');
alter table draft_invoice_line alter column relief set not null,
  add constraint draft_invoice_line_relief_enum check (relief in ('FULL', 'PART'));
alter table invoice_line alter column relief set not null,
  add constraint invoice_line_relief_enum check (relief in ('FULL', 'PART'));

-- What a job was billed is the sum of lines, less discounts. What was billed for its work remains part of its realization.
alter table job
  add column billed_work_amount numeric(16, 2) not null default 0,
  add column billed_fee_amount numeric(16, 2) not null default 0,
  add column fee_without_work_amount numeric(16, 2) not null default 0,
  add constraint job_fee_remaining_bound check (fee_amount is null or abs(fee_amount - billed_fee_amount) < 1e13);

-- What each invoice bills each job. A line without a job bills the jobs of its work. A discount without a job is spread over all
-- lines in proportion to their amounts; the last one takes the remaining cents.
create view billing_of_lines with (security_invoker) as
  select tenant_id, invoice_id, job_id, sum(amount + discount) as billed,
    coalesce(sum(amount) filter (where is_fee), 0) as fee,
    coalesce(sum(amount) filter (where is_fee and not has_work), 0) as fee_without_work
  from (
    select *, case
        when line_type = 'DISCOUNT' then 0
        when is_last then common - sum(share) over document + share
        else share
      end as discount
    from (
      select *, case when line_type = 'DISCOUNT' or total = 0 then 0 else round(common * amount / total, 2) end as share,
        total <> 0 and row_number() over (
          partition by tenant_id, invoice_id, line_type = 'DISCOUNT' order by position desc, job_id desc) = 1 as is_last
      from (
        select *, coalesce(sum(amount) filter (where line_type <> 'DISCOUNT') over document, 0) as total,
          coalesce(sum(amount) filter (where line_type = 'DISCOUNT' and job_id is null) over document, 0) as common
        from (
          select l.tenant_id, l.invoice_id, l.position, l.line_type, l.line_type in ('FIXED_FEE', 'PROGRESS') as is_fee,
            w.job_id is not null as has_work, coalesce(l.job_id, w.job_id) as job_id,
            case when l.job_id is null and w.job_id is not null then w.billed else l.amount end as amount
          from invoice_line l
          left join lateral (
            select coalesce(l.job_id, e.job_id) as job_id, sum(r.billed) as billed
            from invoice_line_wip k
            join wip_relief r on r.tenant_id = k.tenant_id and r.invoice_id = l.invoice_id and r.wip_entry_id = k.wip_entry_id
            join wip_entry e on e.tenant_id = k.tenant_id and e.id = k.wip_entry_id
            where k.tenant_id = l.tenant_id and k.line_id = l.id
            group by 1) w on true) unit
        window document as (partition by tenant_id, invoice_id)) summed) shared
    window document as (partition by tenant_id, invoice_id, line_type = 'DISCOUNT')) spread
  where job_id is not null
  group by 1, 2, 3;
grant select on billing_of_lines to financial_automation_service;

-- Work no longer adds to what was billed: lines do.
create or replace procedure add_wip(changes wip_change[]) language sql
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

create function is_billing(status text) returns boolean language sql immutable parallel safe
return status not in ('PENDING', 'VOIDED');

-- The same as it was when the invoice was posted. It adds to the sums of jobs, until the invoice is voided.
create table invoice_billing (
  tenant_id integer not null,
  invoice_id uuid not null,
  job_id uuid not null,
  billed numeric(16, 2) not null,
  fee numeric(16, 2) not null,
  fee_without_work numeric(16, 2) not null,
  primary key (tenant_id, invoice_id, job_id),
  constraint invoice_billing_invoice_id_reference foreign key (tenant_id, invoice_id) references invoice (tenant_id, id),
  constraint invoice_billing_job_id_reference foreign key (tenant_id, job_id) references job (tenant_id, id)
);
call protect_tenant_table('invoice_billing', 'select, insert');
create index invoice_billing_job_id_index on invoice_billing (tenant_id, job_id);

-- For invoices that are stored without, as those before this migration.
create procedure enter_billing(tenant integer) language sql
begin atomic
  insert into invoice_billing
  select b.* from billing_of_lines b join invoice i on i.tenant_id = b.tenant_id and i.id = b.invoice_id
  where b.tenant_id = tenant and is_billing(i.status) and not exists (
    select from invoice_billing k
    where k.tenant_id = b.tenant_id and k.invoice_id = b.invoice_id and k.job_id = b.job_id);
end;

call lift_protection('job', 'invoice', 'invoice_line', 'invoice_line_wip', 'wip_relief', 'wip_entry', 'invoice_billing');
do $$
declare
  one record;
begin
  for one in select id from tenant loop
    call enter_billing(one.id);
  end loop;
end
$$;
update job j set billed_work_amount = j.billed_amount, billed_amount = coalesce(b.billed, 0),
  billed_fee_amount = coalesce(b.fee, 0), fee_without_work_amount = coalesce(b.fee_without_work, 0)
from job k left join (
  select tenant_id, job_id, sum(billed) as billed, sum(fee) as fee, sum(fee_without_work) as fee_without_work
  from invoice_billing group by 1, 2) b on b.tenant_id = k.tenant_id and b.job_id = k.id
where j.tenant_id = k.tenant_id and j.id = k.id;
call restore_protection('job', 'invoice', 'invoice_line', 'invoice_line_wip', 'wip_relief', 'wip_entry', 'invoice_billing');

create type billing_change as (tenant_id integer, job_id uuid, billed numeric, fee numeric, fee_without_work numeric);
create procedure add_billing(changes billing_change[]) language sql
begin atomic
  update job j set billed_amount = limited(j.billed_amount + c.billed),
    billed_fee_amount = limited(j.billed_fee_amount + c.fee),
    fee_without_work_amount = limited(j.fee_without_work_amount + c.fee_without_work), version = j.version + 1,
    updated_at = greatest(j.updated_at, tenant_now())
  from (select tenant_id, job_id, sum(billed) as billed, sum(fee) as fee, sum(fee_without_work) as fee_without_work
    from unnest(changes) group by 1, 2) c
  where j.tenant_id = c.tenant_id and j.id = c.job_id;
end;

create function sum_billing() returns trigger language plpgsql as $$
declare
  changes billing_change[];
begin
  select array_agg((tenant_id, job_id, billed, fee, fee_without_work)::billing_change) into changes from new_rows;
  call add_billing(changes);
  return null;
end
$$;
create trigger invoice_billing_sum_inserted after insert on invoice_billing
  referencing new table as new_rows for each statement execute function sum_billing();

create function subtract_billing() returns trigger language plpgsql as $$
declare
  changes billing_change[];
begin
  select array_agg((tenant_id, job_id, -billed, -fee, -fee_without_work)::billing_change) into changes
  from invoice_billing where tenant_id = new.tenant_id and invoice_id = new.id;
  call add_billing(changes);
  return null;
end
$$;
create trigger invoice_billing_voided after update on invoice
  for each row when (is_billing(old.status) and not is_billing(new.status)) execute function subtract_billing();
