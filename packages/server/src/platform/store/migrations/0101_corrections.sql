-- A fact of a bank is recorded whatever became of its invoice or client, and every mistake can be corrected.

-- Why a row of the books was changed, and for which day it counts, where a caller said so.
create table book_change (
  tenant_id integer not null,
  -- The invoice, the payment or the work in progress.
  changed_row uuid not null,
  recorded_at timestamptz(3) not null,
  change_date date,
  change_reason text collate "C",
  api_user_id uuid,
  primary key (tenant_id, changed_row, recorded_at)
);
call protect_tenant_table('book_change', 'select, insert');
create trigger book_change_immutable before update or delete on book_change
  for each row execute function refuse_change();

call lift_protection('client', 'invoice', 'payment');

-- When a payment of a written-off invoice comes back, its part is due again, and what was written off remains so.
alter table invoice drop constraint invoice_amount_due_agrees;
alter table invoice add constraint invoice_amount_due_agrees check (
  case status
    when 'PENDING' then amount_paid = 0 and amount_credited = 0 and amount_pending = 0 and amount_written_off = 0
    when 'POSTED' then amount_paid = 0 and amount_credited = 0 and amount_due > 0
    when 'PARTIALLY_PAID' then amount_paid + amount_credited > 0 and amount_due > 0
    when 'PAID' then amount_due = 0 and amount_written_off = 0
    when 'VOIDED' then amount_paid = 0 and amount_credited = 0 and amount_pending = 0 and amount_written_off = 0
    else amount_due = 0
  end);
alter table invoice drop constraint invoice_write_off_reason_agrees;
alter table invoice add constraint invoice_write_off_reason_agrees
  check ((status = 'WRITTEN_OFF' or amount_written_off > 0) = (write_off_reason is not null));

-- A refunded payment that is returned has left the firm twice.
alter table payment drop constraint payment_unapplied_amount_range;
alter table payment add constraint payment_unapplied_amount_range check (
  case status when 'RETURNED' then unapplied_amount = -refunded_amount else unapplied_amount >= 0 end);
alter table payment drop constraint payment_refunded_amount_agrees;
alter table payment add constraint payment_refunded_amount_agrees check (
  case status
    when 'REFUNDED' then refunded_amount = amount
    when 'PARTIALLY_REFUNDED' then refunded_amount > 0 and refunded_amount < amount
    when 'VOIDED' then refunded_amount < amount
    when 'RETURNED' then true
    else refunded_amount = 0
  end);

create or replace function check_payment() returns trigger language plpgsql as $$
declare
  paid payment;
  allocated numeric;
begin
  select * into paid from payment p where p.tenant_id = new.tenant_id and p.id = new.id;
  select coalesce(sum(amount), 0) into allocated
    from payment_allocation a where a.tenant_id = paid.tenant_id and a.payment_id = paid.id;
  if not (case
    when counts(paid.status) then paid.amount = allocated + paid.unapplied_amount + paid.refunded_amount
    when paid.status = 'PENDING' then paid.amount = allocated + paid.unapplied_amount
    when paid.status = 'RETURNED' then allocated = 0 and paid.unapplied_amount = -paid.refunded_amount
    else allocated = 0 and paid.unapplied_amount = 0
  end) then
    raise exception 'payment % does not add up', paid.id
      using errcode = 'check_violation', constraint = 'payment_amount_agrees', table = 'payment';
  end if;
  -- Invoices whose amounts do not agree with their allocations.
  if exists (
    select 1
    from payment_allocation mine
    join invoice i on i.tenant_id = mine.tenant_id and i.id = mine.invoice_id
    join payment_allocation a on a.tenant_id = i.tenant_id and a.invoice_id = i.id
    join payment p on p.tenant_id = a.tenant_id and p.id = a.payment_id
    where mine.tenant_id = paid.tenant_id and mine.payment_id = paid.id
    group by i.id, i.amount_paid, i.amount_credited, i.amount_pending, i.currency
    having i.amount_paid <> coalesce(sum(a.amount) filter (where counts(p.status) and p.method <> 'CREDIT'), 0)
      or i.amount_credited <> coalesce(sum(a.amount) filter (where counts(p.status) and p.method = 'CREDIT'), 0)
      or i.amount_pending <> coalesce(sum(a.amount) filter (where p.status = 'PENDING'), 0)
      or i.currency <> paid.currency) then
    raise exception 'an invoice of payment % does not agree with what is allocated to it', paid.id
      using errcode = 'check_violation', constraint = 'payment_allocations_agree', table = 'payment';
  end if;
  if exists (
    select 1
    from payment_allocation a
    join invoice i on i.tenant_id = a.tenant_id and i.id = a.invoice_id
    join client billed on billed.tenant_id = i.tenant_id and billed.id = i.client_id
    join client payer on payer.tenant_id = a.tenant_id and payer.id = paid.client_id
    where a.tenant_id = paid.tenant_id and a.payment_id = paid.id and a.allocated_at = paid.updated_at
      and billed.id <> payer.id and billed.client_group_id is distinct from payer.client_group_id) then
    raise exception 'payment % goes to an invoice of another client', paid.id
      using errcode = 'check_violation', constraint = 'payment_allocations_client', table = 'payment';
  end if;
  return null;
end
$$;

-- What a firm holds for a client, or has lost on a payment of the client.
create function held(payment_status text, unapplied_amount numeric) returns numeric language sql immutable parallel safe
  return case when counts(payment_status) or payment_status = 'RETURNED' then unapplied_amount else 0 end;

create or replace function sum_payments() returns trigger language plpgsql as $$
declare
  changes balance_change[];
begin
  if tg_op = 'INSERT' then
    select array_agg((tenant_id, client_id, currency, 0, held(status, unapplied_amount))::balance_change)
    into changes from new_rows;
  else
    select array_agg(change) into changes from (
      select (tenant_id, client_id, currency, 0, held(status, unapplied_amount))::balance_change as change from new_rows
      union all
      select (tenant_id, client_id, currency, 0, -held(status, unapplied_amount))::balance_change from old_rows) all_rows;
  end if;
  call add_balances(changes);
  return null;
end
$$;

-- A client is settled only without unapplied credit.
update client set status = 'INACTIVE', version = version + 1, updated_at = greatest(updated_at, now())
  where status = 'ARCHIVED' and unapplied_credit <> 0;
alter table client drop constraint client_unapplied_credit_range;
alter table client drop constraint client_unapplied_credit_bound;
alter table client add constraint client_unapplied_credit_bound check (abs(unapplied_credit) < 1e13) not valid;
alter table client drop constraint client_status_settled;
alter table client add constraint client_status_settled
  check (status <> 'ARCHIVED' or (outstanding_balance = 0 and unbilled_wip = 0 and unapplied_credit = 0));
call restore_protection('client', 'invoice', 'payment');
