-- The day of the work of each entry of the account WIP, so that the age of the work that was not billed on a day is a sum of entries.
call lift_protection('ledger_entry', 'wip_entry');
alter table ledger_entry add column work_date date;
alter table ledger_entry disable trigger ledger_entry_immutable;
-- What was corrected before has the day of the row: its entries of other days added up to nothing.
update ledger_entry e set work_date = w.work_date from wip_entry w
  where w.tenant_id = e.tenant_id and w.id = e.wip_entry_id and e.account = 'WIP';
alter table ledger_entry enable trigger ledger_entry_immutable;
alter table ledger_entry add constraint ledger_entry_work_date_agrees check ((account = 'WIP') = (work_date is not null));
call restore_protection('ledger_entry', 'wip_entry');

-- A project shows its standard amount, which no decimal of the contract must exceed.
alter table job add constraint job_standard_amount_bound
  check (abs(billed_work_amount + write_off_amount - write_up_amount + fee_without_work_amount) < 1e13) not valid;

-- As before, with the days of work.
create or replace procedure enter_books(
  tenant integer, invoices uuid[] default null, payments uuid[] default null, works uuid[] default null)
language plpgsql set plan_cache_mode = force_custom_plan as $$
declare
  zone text := tenant_time_zone(tenant);
begin
  insert into ledger_entry (tenant_id, id, account, kind, amount, currency, business_date, recorded_at, client_id, invoice_id, due_date,
    reason)
  select tenant, entry_id(recorded_at, i.id::text || kind), 'RECEIVABLE', kind, amount, i.currency, business_date, recorded_at,
    i.client_id, i.id, i.due_date, part.reason
  from invoice i cross join lateral (values
    ('INVOICE', i.total, i.invoice_date, i.posted_at, null),
    ('WRITE_OFF', -i.amount_written_off, greatest(i.invoice_date, (i.updated_at at time zone zone)::date), i.updated_at,
      i.write_off_reason),
    ('VOID', case when i.status = 'VOIDED' then -i.total else 0 end,
      greatest(i.invoice_date, (i.voided_at at time zone zone)::date), i.voided_at, i.void_reason)
  ) part (kind, amount, business_date, recorded_at, reason)
  where i.tenant_id = tenant and (invoices is null or i.id = any(invoices)) and i.document_type = 'INVOICE' and i.status <> 'PENDING' and amount <> 0 and not exists (
    select 1 from ledger_entry e where e.tenant_id = i.tenant_id and e.invoice_id = i.id and e.account = 'RECEIVABLE');

  insert into ledger_entry (tenant_id, id, account, kind, amount, currency, business_date, recorded_at, client_id, payment_id, invoice_id)
  select tenant, entry_id(recorded_at, p.id::text || kind), 'CREDIT', kind, part.amount, p.currency, business_date, recorded_at,
    p.client_id, p.id, p.credit_note_id
  from payment p cross join lateral (values
    (case when p.credit_note_id is null then 'PAYMENT' else 'CREDIT_NOTE' end, p.amount, p.payment_date, p.settled_at),
    ('REFUND', -p.refunded_amount, greatest(p.payment_date, (p.refunded_at at time zone zone)::date), p.refunded_at),
    ('RETURN', case when p.status = 'RETURNED' then -p.amount else 0 end,
      greatest(p.payment_date, (p.returned_at at time zone zone)::date), p.returned_at),
    (case when p.credit_note_id is null then 'PAYMENT_VOID' else 'NOTE_VOID' end, case when p.status = 'VOIDED' then p.refunded_amount - p.amount else 0 end,
      greatest(p.payment_date, (p.updated_at at time zone zone)::date), p.updated_at)
  ) part (kind, amount, business_date, recorded_at)
  where p.tenant_id = tenant and (payments is null or p.id = any(payments)) and p.settled_at is not null and part.amount <> 0 and not exists (
    select 1 from ledger_entry e where e.tenant_id = p.tenant_id and e.payment_id = p.id and e.account = 'CREDIT');

  insert into ledger_entry (tenant_id, id, account, kind, amount, currency, business_date, recorded_at, client_id, invoice_id, payment_id,
    due_date)
  select tenant, entry_id(coalesce(a.allocated_at, p.settled_at), p.id::text || i.id::text || half.account), half.account, 'ALLOCATION', -a.amount,
    p.currency, greatest(p.payment_date, i.invoice_date), coalesce(a.allocated_at, p.settled_at), half.client_id, i.id, p.id, half.due_date
  from payment_allocation a
  join payment p on p.tenant_id = a.tenant_id and p.id = a.payment_id
  join invoice i on i.tenant_id = a.tenant_id and i.id = a.invoice_id
  cross join lateral (values
    ('RECEIVABLE', i.client_id, i.due_date),
    ('CREDIT', p.client_id, null::date)
  ) half (account, client_id, due_date)
  where a.tenant_id = tenant and (payments is null or a.payment_id = any(payments)) and counts(p.status) and not exists (
    select 1 from ledger_entry e where e.tenant_id = p.tenant_id and e.payment_id = p.id and e.invoice_id = i.id);

  insert into ledger_entry (tenant_id, id, account, kind, amount, currency, business_date, recorded_at, client_id, job_id, wip_entry_id,
    staff_id, work_date)
  select tenant, entry_id(recorded_at, w.id::text || kind), 'WIP', kind, part.amount, w.currency, business_date, recorded_at, w.client_id,
    w.job_id, w.id, w.staff_id, w.work_date
  from wip_entry w cross join lateral (values
    ('WORK', w.amount, w.work_date, w.posted_at),
    ('WORK_REVERSED', case when w.status = 'REVERSED' then -w.amount else 0 end,
      greatest(w.work_date, (w.updated_at at time zone zone)::date), w.updated_at)
  ) part (kind, amount, business_date, recorded_at)
  where w.tenant_id = tenant and (works is null or w.id = any(works)) and part.amount <> 0 and not exists (
    select 1 from ledger_entry e where e.tenant_id = w.tenant_id and e.wip_entry_id = w.id);

  insert into ledger_entry (tenant_id, id, account, kind, amount, currency, business_date, recorded_at, client_id, job_id, invoice_id,
    wip_entry_id, staff_id, work_date)
  select tenant, entry_id(part.recorded_at, i.id::text || w.id::text || part.kind || part.recorded_at::text), 'WIP', part.kind, part.amount, w.currency,
    greatest(part.business_date, w.work_date), part.recorded_at, w.client_id, w.job_id, i.id, w.id, w.staff_id, w.work_date
  from wip_relief r
  join invoice i on i.tenant_id = r.tenant_id and i.id = r.invoice_id
  join wip_entry w on w.tenant_id = r.tenant_id and w.id = r.wip_entry_id
  cross join lateral (values
    ('BILLED', -r.billed, i.invoice_date, i.posted_at),
    ('WRITE_UP', r.write_up, i.invoice_date, i.posted_at),
    ('WRITE_DOWN', -r.write_off, i.invoice_date, i.posted_at),
    ('UNBILLED', case when i.status = 'VOIDED' then r.billed else 0 end, (i.voided_at at time zone zone)::date, i.voided_at),
    ('WRITE_UP', case when i.status = 'VOIDED' then -r.write_up else 0 end, (i.voided_at at time zone zone)::date, i.voided_at),
    ('WRITE_DOWN', case when i.status = 'VOIDED' then r.write_off else 0 end, (i.voided_at at time zone zone)::date, i.voided_at)
  ) part (kind, amount, business_date, recorded_at)
  where r.tenant_id = tenant and (invoices is null or r.invoice_id = any(invoices)) and part.amount <> 0 and not exists (
    select 1 from ledger_entry e where e.tenant_id = i.tenant_id and e.invoice_id = i.id and e.wip_entry_id = w.id);

  -- What was written off by itself: the difference of the row's balance to its other entries.
  insert into ledger_entry (tenant_id, id, account, kind, amount, currency, business_date, recorded_at, client_id, job_id, wip_entry_id,
    staff_id, work_date, reason)
  select tenant, entry_id(w.updated_at, w.id::text || 'WRITE_OFF'), 'WIP', 'WRITE_OFF', w.outstanding_amount - entered.amount, w.currency,
    greatest(w.work_date, (w.updated_at at time zone zone)::date), w.updated_at, w.client_id, w.job_id, w.id, w.staff_id,
    w.work_date, w.write_off_reason
  from wip_entry w
  join (select e.wip_entry_id, sum(e.amount) as amount from ledger_entry e
    where e.tenant_id = tenant and e.account = 'WIP' and (works is null or e.wip_entry_id = any(works)) group by 1) entered on entered.wip_entry_id = w.id
  where w.tenant_id = tenant and (works is null or w.id = any(works)) and w.write_off_amount <> 0 and w.outstanding_amount <> entered.amount;
end
$$;
