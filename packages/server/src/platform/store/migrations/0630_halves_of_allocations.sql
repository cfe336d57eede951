-- Checks the two halves of an allocation for each of them, instead of all allocations of a payment for each entry of it.
-- locks: none

create or replace function check_balance_of_payment(tenant integer, payment uuid) returns void language plpgsql as $$
begin
  if (select held(p.status, p.unapplied_amount) from payment p where p.tenant_id = tenant and p.id = payment)
    is distinct from (select coalesce(sum(e.amount), 0) from ledger_entry e
      where e.tenant_id = tenant and e.payment_id = payment and e.account = 'CREDIT') then
    raise exception 'the entries of payment % do not add up to its unapplied amount', payment
      using errcode = 'check_violation', constraint = 'ledger_entry_payment_agrees', table = 'ledger_entry';
  end if;
end
$$;

create or replace function check_ledger_of_entry() returns trigger language plpgsql as $$
begin
  case new.account
    when 'RECEIVABLE' then perform check_balance_of_invoice(new.tenant_id, new.invoice_id);
    when 'CREDIT' then perform check_balance_of_payment(new.tenant_id, new.payment_id);
    else perform check_balance_of_work(new.tenant_id, new.wip_entry_id);
  end case;
  -- Both halves of an allocation have one amount and one day.
  if new.kind in ('ALLOCATION', 'DEALLOCATION') and (
    select sum(e.amount) filter (where e.account = 'RECEIVABLE') is distinct from sum(e.amount) filter (where e.account = 'CREDIT')
    from ledger_entry e
    where e.tenant_id = new.tenant_id and e.invoice_id = new.invoice_id and e.payment_id = new.payment_id and e.kind = new.kind
      and e.business_date = new.business_date and e.recorded_at = new.recorded_at) then
    raise exception 'half an allocation of payment % is missing', new.payment_id
      using errcode = 'check_violation', constraint = 'ledger_entry_halves_agree', table = 'ledger_entry';
  end if;
  return null;
end
$$;
