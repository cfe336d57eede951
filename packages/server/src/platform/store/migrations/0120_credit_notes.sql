-- Credit notes: drafts with a negative total are posted as documents of their own, on which nothing is due. The amount is a payment by
-- credit, which is applied like money, and voided with its note.
call lift_protection('draft_invoice', 'invoice', 'payment');

alter table draft_invoice add column credited_invoice_id uuid;
alter table draft_invoice add constraint draft_invoice_credited_invoice_id_reference
  foreign key (tenant_id, credited_invoice_id) references invoice (tenant_id, id);
alter table draft_invoice drop constraint draft_invoice_total_range;
alter table draft_invoice add constraint draft_invoice_credited_invoice_id_agrees
  check (credited_invoice_id is null or total < 0 or status in ('DRAFT', 'REJECTED', 'DELETED'));

-- Existing documents are invoices.
alter table invoice add column document_type text collate "C" not null default 'INVOICE';
alter table invoice add column credited_invoice_id uuid;
alter table invoice add constraint invoice_document_type_enum check (document_type in ('INVOICE', 'CREDIT_NOTE'));
alter table invoice add constraint invoice_credited_invoice_id_reference
  foreign key (tenant_id, credited_invoice_id) references invoice (tenant_id, id);
alter table invoice add constraint invoice_credited_invoice_id_agrees
  check (credited_invoice_id is null or document_type = 'CREDIT_NOTE');

-- Nothing is due on a credit note. PostgreSQL 15 and 16 cannot change the expression of a generated column.
drop trigger invoice_ledger_updated on invoice;
alter table invoice drop constraint invoice_amount_due_range, drop constraint invoice_amount_pending_range,
  drop constraint invoice_amount_due_agrees, drop constraint invoice_total_range;
drop index invoice_open_index, invoice_amount_due_index;
alter table invoice drop column amount_due;
alter table invoice add column amount_due numeric(16, 2) not null generated always as (
  case when status = 'VOIDED' or document_type = 'CREDIT_NOTE' then 0
    else total - amount_paid - amount_credited - amount_written_off end) stored;
alter table invoice add constraint invoice_total_agrees_with_type check ((document_type = 'CREDIT_NOTE') = (total < 0));
alter table invoice add constraint invoice_amount_due_range check (amount_due >= 0);
alter table invoice add constraint invoice_amount_pending_range check (amount_pending between 0 and amount_due);
alter table invoice add constraint invoice_amount_due_agrees check (
  case
    when document_type = 'CREDIT_NOTE' then status in ('POSTED', 'VOIDED') and amount_paid = 0 and amount_credited = 0
      and amount_pending = 0 and amount_written_off = 0
    else case status
      when 'PENDING' then amount_paid = 0 and amount_credited = 0 and amount_pending = 0 and amount_written_off = 0
      when 'POSTED' then amount_paid = 0 and amount_credited = 0 and amount_due > 0
      when 'PARTIALLY_PAID' then amount_paid + amount_credited > 0 and amount_due > 0
      when 'PAID' then amount_due = 0 and amount_written_off = 0
      when 'VOIDED' then amount_paid = 0 and amount_credited = 0 and amount_pending = 0 and amount_written_off = 0
      else amount_due = 0
    end
  end);
create constraint trigger invoice_ledger_updated after update on invoice
  deferrable initially deferred for each row
  when (outstanding(old.status, old.amount_due) is distinct from outstanding(new.status, new.amount_due))
  execute function check_ledger_of_invoice();
create index invoice_open_index on invoice (tenant_id, client_id, due_date, id) include (currency, amount_due)
  where status in ('POSTED', 'PARTIALLY_PAID');
create index invoice_amount_due_index on invoice (tenant_id, amount_due, id);
create index invoice_document_type_index on invoice (tenant_id, document_type, id);
create index invoice_credited_invoice_id_index on invoice (tenant_id, credited_invoice_id) where credited_invoice_id is not null;

-- A credit note is never overdue.
drop index invoice_falling_due_index;
create index invoice_falling_due_index on invoice (tenant_id, due_date)
  where overdue_at is null and status in ('POSTED', 'PARTIALLY_PAID') and document_type = 'INVOICE';

alter table payment add column credit_note_id uuid;
alter table payment add constraint payment_credit_note_id_unique unique (tenant_id, credit_note_id);
alter table payment add constraint payment_credit_note_id_reference
  foreign key (tenant_id, credit_note_id) references invoice (tenant_id, id);
alter table payment drop constraint payment_source_enum;
alter table payment add constraint payment_source_enum
  check (source in ('QUICK_PAYMENT_LINK', 'PORTAL', 'MANUAL', 'AUTOPAY', 'IMPORT', 'CREDIT_NOTE'));
alter table payment add constraint payment_credit_note_id_agrees check (
  (source = 'CREDIT_NOTE') = (credit_note_id is not null)
  and (source <> 'CREDIT_NOTE' or (method = 'CREDIT' and status in ('COMPLETED', 'VOIDED') and refunded_amount = 0)));
call restore_protection('draft_invoice', 'invoice', 'payment');

-- An entry of a credit note names it, so it is an entry with a payment and an invoice that has no other half.
create or replace function check_balance_of_payment(tenant integer, payment uuid) returns void language plpgsql as $$
begin
  if (select held(p.status, p.unapplied_amount) from payment p where p.tenant_id = tenant and p.id = payment)
    is distinct from (select coalesce(sum(e.amount), 0) from ledger_entry e
      where e.tenant_id = tenant and e.payment_id = payment and e.account = 'CREDIT') then
    raise exception 'the entries of payment % do not add up to its unapplied amount', payment
      using errcode = 'check_violation', constraint = 'ledger_entry_payment_agrees', table = 'ledger_entry';
  end if;
  -- Both halves of an allocation have one amount and one day.
  if exists (
    select 1 from ledger_entry e
    where e.tenant_id = tenant and e.payment_id = payment and e.kind in ('ALLOCATION', 'DEALLOCATION')
    group by e.invoice_id, e.kind, e.business_date, e.recorded_at
    having sum(e.amount) filter (where e.account = 'RECEIVABLE')
      is distinct from sum(e.amount) filter (where e.account = 'CREDIT')) then
    raise exception 'half an allocation of payment % is missing', payment
      using errcode = 'check_violation', constraint = 'ledger_entry_halves_agree', table = 'ledger_entry';
  end if;
end
$$;

-- As before, also for credit notes.
create or replace procedure enter_books(tenant integer) language plpgsql as $$
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
  where i.tenant_id = tenant and i.document_type = 'INVOICE' and i.status <> 'PENDING' and amount <> 0 and not exists (
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
  where p.tenant_id = tenant and p.settled_at is not null and part.amount <> 0 and not exists (
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
  where a.tenant_id = tenant and counts(p.status) and not exists (
    select 1 from ledger_entry e where e.tenant_id = p.tenant_id and e.payment_id = p.id and e.invoice_id = i.id);

  insert into ledger_entry (tenant_id, id, account, kind, amount, currency, business_date, recorded_at, client_id, job_id, wip_entry_id,
    staff_id)
  select tenant, entry_id(recorded_at, w.id::text || kind), 'WIP', kind, part.amount, w.currency, business_date, recorded_at, w.client_id,
    w.job_id, w.id, w.staff_id
  from wip_entry w cross join lateral (values
    ('WORK', w.amount, w.work_date, w.posted_at),
    ('WORK_REVERSED', case when w.status = 'REVERSED' then -w.amount else 0 end,
      greatest(w.work_date, (w.updated_at at time zone zone)::date), w.updated_at)
  ) part (kind, amount, business_date, recorded_at)
  where w.tenant_id = tenant and part.amount <> 0 and not exists (
    select 1 from ledger_entry e where e.tenant_id = w.tenant_id and e.wip_entry_id = w.id);

  insert into ledger_entry (tenant_id, id, account, kind, amount, currency, business_date, recorded_at, client_id, job_id, invoice_id,
    wip_entry_id, staff_id)
  select tenant, entry_id(part.recorded_at, i.id::text || w.id::text || part.kind || part.recorded_at::text), 'WIP', part.kind, part.amount, w.currency,
    greatest(part.business_date, w.work_date), part.recorded_at, w.client_id, w.job_id, i.id, w.id, w.staff_id
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
  where r.tenant_id = tenant and part.amount <> 0 and not exists (
    select 1 from ledger_entry e where e.tenant_id = i.tenant_id and e.invoice_id = i.id and e.wip_entry_id = w.id);

  -- What was written off by itself: the difference of the row's balance to its other entries.
  insert into ledger_entry (tenant_id, id, account, kind, amount, currency, business_date, recorded_at, client_id, job_id, wip_entry_id,
    staff_id, reason)
  select tenant, entry_id(w.updated_at, w.id::text || 'WRITE_OFF'), 'WIP', 'WRITE_OFF', w.outstanding_amount - entered.amount, w.currency,
    greatest(w.work_date, (w.updated_at at time zone zone)::date), w.updated_at, w.client_id, w.job_id, w.id, w.staff_id, w.write_off_reason
  from wip_entry w
  join (select e.wip_entry_id, sum(e.amount) as amount from ledger_entry e
    where e.tenant_id = tenant and e.account = 'WIP' group by 1) entered on entered.wip_entry_id = w.id
  where w.tenant_id = tenant and w.write_off_amount <> 0 and w.outstanding_amount <> entered.amount;
end
$$;
