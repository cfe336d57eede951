-- The ledger: a row for each movement of what clients owe on invoices (RECEIVABLE), of what the firm holds for them (CREDIT), and of
-- work that is not billed yet (WIP). Rows never change, so that figures as of a day can be added up later.
create table ledger_entry (
  tenant_id integer not null,
  id uuid not null,
  account text collate "C" not null,
  kind text collate "C" not null,
  amount numeric(16,2) not null,
  currency text collate "C" not null,
  -- The day for which it counts, and the time at which it was recorded.
  business_date date not null,
  recorded_at timestamptz(3) not null,
  client_id uuid not null,
  job_id uuid,
  -- What it belongs to has no foreign keys: the sums of an entry's rows are compared with these rows, which are never removed.
  invoice_id uuid,
  payment_id uuid,
  wip_entry_id uuid,
  staff_id uuid,
  due_date date,
  reverses_id uuid,
  reason text collate "C",
  recorded_by_api_user_id uuid,
  work_date date,
  constraint ledger_entry_account_enum check (account in ('RECEIVABLE', 'CREDIT', 'WIP')),
  constraint ledger_entry_kind_enum check (kind in (
    'INVOICE', 'ALLOCATION', 'DEALLOCATION', 'WRITE_OFF', 'RECOVERY', 'VOID', 'PAYMENT', 'CREDIT_NOTE', 'REFUND', 'RETURN',
    'PAYMENT_VOID', 'NOTE_VOID', 'WORK', 'WORK_REVERSED', 'WRITE_UP', 'WRITE_DOWN', 'BILLED', 'UNBILLED')),
  constraint ledger_entry_kind_agrees check (
    case account
      when 'RECEIVABLE' then invoice_id is not null and due_date is not null
        and kind in ('INVOICE', 'ALLOCATION', 'DEALLOCATION', 'WRITE_OFF', 'RECOVERY', 'VOID')
        and (kind in ('ALLOCATION', 'DEALLOCATION')) = (payment_id is not null)
      when 'CREDIT' then payment_id is not null
        and kind in ('PAYMENT', 'CREDIT_NOTE', 'ALLOCATION', 'DEALLOCATION', 'REFUND', 'RETURN', 'PAYMENT_VOID', 'NOTE_VOID')
        and (kind not in ('ALLOCATION', 'DEALLOCATION') or invoice_id is not null)
      when 'WIP' then wip_entry_id is not null and job_id is not null
        and kind in ('WORK', 'WORK_REVERSED', 'WRITE_UP', 'WRITE_DOWN', 'BILLED', 'UNBILLED', 'WRITE_OFF', 'RECOVERY')
      else false
    end),
  constraint ledger_entry_amount_agrees check (
    amount <> 0 and case
      when account = 'WIP' then true
      when kind in ('INVOICE', 'PAYMENT', 'CREDIT_NOTE', 'DEALLOCATION', 'RECOVERY') then amount > 0
      else amount < 0
    end),
  primary key (tenant_id, id),
  constraint ledger_entry_client_id_reference foreign key (tenant_id, client_id) references client (tenant_id, id),
  constraint ledger_entry_work_date_agrees check ((account = 'WIP') = (work_date is not null))
);
call protect_tenant_table('ledger_entry', 'select, insert');
create index ledger_entry_invoice_id_index on ledger_entry (tenant_id, invoice_id, account) include (amount) where (invoice_id is not null);
create index ledger_entry_payment_id_index on ledger_entry (tenant_id, payment_id, account) include (amount) where (payment_id is not null);
create index ledger_entry_wip_entry_id_index on ledger_entry (tenant_id, wip_entry_id) include (amount) where (wip_entry_id is not null);
create index ledger_entry_client_id_index on ledger_entry (tenant_id, client_id, business_date, id);
create index ledger_entry_job_id_index on ledger_entry (tenant_id, job_id) where (job_id is not null);
create index ledger_entry_business_date_index on ledger_entry (tenant_id, business_date, id);
create index ledger_entry_recorded_at_index on ledger_entry (tenant_id, recorded_at, id);
-- What is owed and held as of a day, by client and due date, without reading the entries of work, which are by far the most.
create index ledger_entry_account_index on ledger_entry (tenant_id, account, business_date) include (client_id, due_date, amount) where (account <> 'WIP');

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

-- The entries of a row add up to its balance when a transaction commits. Whoever changes a balance writes its entries; the
-- database only accepts what agrees.
create function check_balance_of_invoice(tenant integer, invoice uuid) returns void language plpgsql as $$
begin
  if (select outstanding(i.status, i.amount_due) from invoice i where i.tenant_id = tenant and i.id = invoice)
    is distinct from (select coalesce(sum(e.amount), 0) from ledger_entry e
      where e.tenant_id = tenant and e.invoice_id = invoice and e.account = 'RECEIVABLE') then
    raise exception 'the entries of invoice % do not add up to its amount due', invoice
      using errcode = 'check_violation', constraint = 'ledger_entry_invoice_agrees', table = 'ledger_entry';
  end if;
end
$$;

-- An entry of a credit note names it, so it is an entry with a payment and an invoice that has no other half.
create function check_balance_of_payment(tenant integer, payment uuid) returns void language plpgsql as $$
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

create function check_balance_of_work(tenant integer, work uuid) returns void language plpgsql as $$
begin
  if (select w.outstanding_amount from wip_entry w where w.tenant_id = tenant and w.id = work)
    is distinct from (select coalesce(sum(e.amount), 0) from ledger_entry e
      where e.tenant_id = tenant and e.wip_entry_id = work) then
    raise exception 'the entries of work % do not add up to its outstanding amount', work
      using errcode = 'check_violation', constraint = 'ledger_entry_wip_entry_agrees', table = 'ledger_entry';
  end if;
end
$$;

create function check_ledger_of_invoice() returns trigger language plpgsql as $$
begin
  perform check_balance_of_invoice(new.tenant_id, new.id);
  return null;
end
$$;

create function check_ledger_of_payment() returns trigger language plpgsql as $$
begin
  perform check_balance_of_payment(new.tenant_id, new.id);
  return null;
end
$$;

create function check_ledger_of_work() returns trigger language plpgsql as $$
begin
  perform check_balance_of_work(new.tenant_id, new.id);
  return null;
end
$$;

create function check_ledger_of_entry() returns trigger language plpgsql as $$
begin
  case new.account
    when 'RECEIVABLE' then perform check_balance_of_invoice(new.tenant_id, new.invoice_id);
    when 'CREDIT' then perform check_balance_of_payment(new.tenant_id, new.payment_id);
    else perform check_balance_of_work(new.tenant_id, new.wip_entry_id);
  end case;
  return null;
end
$$;

create trigger book_change_immutable
  before delete or update on book_change for each row
  execute function refuse_change();

create trigger ledger_entry_immutable
  before delete or update on ledger_entry for each row
  execute function refuse_change();

create trigger ledger_entry_period_open
  after insert on ledger_entry referencing new table as new_rows for each statement
  when ((current_setting('app.copies_rows', true) is distinct from 'on'))
  execute function check_open_period();

create constraint trigger invoice_ledger_inserted
  after insert on invoice deferrable initially deferred for each row
  when ((current_setting('app.copies_rows', true) is distinct from 'on'))
  execute function check_ledger_of_invoice();

create constraint trigger invoice_ledger_updated
  after update on invoice deferrable initially deferred for each row
  when (((outstanding(old.status, old.amount_due) is distinct from outstanding(new.status, new.amount_due)) and (current_setting('app.copies_rows', true) is distinct from 'on')))
  execute function check_ledger_of_invoice();

-- Created last: the entries above would have been compared at once.
create constraint trigger ledger_entry_agrees
  after insert on ledger_entry deferrable initially deferred for each row
  when ((current_setting('app.copies_rows', true) is distinct from 'on'))
  execute function check_ledger_of_entry();

create constraint trigger payment_ledger_inserted
  after insert on payment deferrable initially deferred for each row
  when ((current_setting('app.copies_rows', true) is distinct from 'on'))
  execute function check_ledger_of_payment();

create constraint trigger payment_ledger_updated
  after update on payment deferrable initially deferred for each row
  when (((held(old.status, old.unapplied_amount) is distinct from held(new.status, new.unapplied_amount)) and (current_setting('app.copies_rows', true) is distinct from 'on')))
  execute function check_ledger_of_payment();

create constraint trigger wip_entry_ledger_inserted
  after insert on wip_entry deferrable initially deferred for each row
  when ((current_setting('app.copies_rows', true) is distinct from 'on'))
  execute function check_ledger_of_work();

create constraint trigger wip_entry_ledger_updated
  after update on wip_entry deferrable initially deferred for each row
  when (((old.outstanding_amount is distinct from new.outstanding_amount) and (current_setting('app.copies_rows', true) is distinct from 'on')))
  execute function check_ledger_of_work();
