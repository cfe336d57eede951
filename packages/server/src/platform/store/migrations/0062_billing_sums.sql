-- Responses include the balances of a client from invoices and payments, as they do its work in progress: a change of one is a new
-- version of the client.
create or replace procedure add_balances(changes balance_change[]) language sql
begin atomic
  update client k set outstanding_balance = k.outstanding_balance + c.outstanding,
    unapplied_credit = k.unapplied_credit + c.unapplied, version = k.version + 1,
    updated_at = greatest(k.updated_at, now())
  from (select tenant_id, client_id, currency, sum(outstanding) as outstanding, sum(unapplied) as unapplied
    from unnest(changes) group by 1, 2, 3 having sum(outstanding) <> 0 or sum(unapplied) <> 0) c
  where k.tenant_id = c.tenant_id and k.id = c.client_id and k.currency = c.currency;
end;

-- The value of billed work at standard rates is the amount billed, plus the amount written off, minus the amount written up.
call lift_protection('job', 'wip_entry');
alter table job add column write_up_amount numeric(16, 2) not null default 0;
update job j set write_up_amount = w.written_up
from (select tenant_id, job_id, sum(write_up_amount) as written_up from wip_entry group by 1, 2) w
where j.tenant_id = w.tenant_id and j.id = w.job_id and w.written_up <> 0;
call restore_protection('job', 'wip_entry');
alter table job add constraint job_write_up_amount_range check (abs(write_up_amount) < 1e13);

drop trigger wip_entry_sum_inserted on wip_entry;
drop trigger wip_entry_sum_updated on wip_entry;
drop function sum_wip();
drop procedure add_wip(wip_change[]);
alter type wip_change add attribute written_up numeric;

create procedure add_wip(changes wip_change[]) language sql
begin atomic
  update job j set wip_amount = j.wip_amount + c.outstanding, billed_amount = j.billed_amount + c.billed,
    write_off_amount = j.write_off_amount + c.written_off, write_up_amount = j.write_up_amount + c.written_up,
    version = j.version + 1, updated_at = greatest(j.updated_at, now())
  from (select tenant_id, job_id, sum(outstanding) as outstanding, sum(billed) as billed, sum(written_off) as written_off,
      sum(written_up) as written_up
    from unnest(changes) group by 1, 2
    having sum(outstanding) <> 0 or sum(billed) <> 0 or sum(written_off) <> 0 or sum(written_up) <> 0) c
  where j.tenant_id = c.tenant_id and j.id = c.job_id;
  update client k set unbilled_wip = k.unbilled_wip + c.outstanding, version = k.version + 1,
    updated_at = greatest(k.updated_at, now())
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
create trigger wip_entry_sum_inserted after insert on wip_entry
  referencing new table as new_rows for each statement execute function sum_wip();
create trigger wip_entry_sum_updated after update on wip_entry
  referencing old table as old_rows new table as new_rows for each statement execute function sum_wip();

-- All work of a client, billed or not; the index of open work has only a tenth of it.
create index wip_entry_client_id_index on wip_entry (tenant_id, client_id, work_date, id);
