-- The entries of a payment with a thousand allocations are not read for each of them: it is compared with them once in a check of all. The checks of one statement, SET CONSTRAINTS or COMMIT, see the same rows.
-- locks: none

create or replace function check_ledger_of_entry() returns trigger language plpgsql as $$
declare
  compared text := new.payment_id || ' ' || statement_timestamp();
begin
  case new.account
    when 'RECEIVABLE' then perform check_balance_of_invoice(new.tenant_id, new.invoice_id);
    when 'CREDIT' then
      if current_setting('app.compared_payment', true) is distinct from compared then
        perform check_balance_of_payment(new.tenant_id, new.payment_id);
        perform set_config('app.compared_payment', compared, true);
      end if;
    else perform check_balance_of_work(new.tenant_id, new.wip_entry_id);
  end case;
  -- Both halves of an allocation have one amount and one day. With OFFSET, they are found among the few entries of the invoice, and not among
  -- the thousands that a payment can have.
  if new.kind in ('ALLOCATION', 'DEALLOCATION') and (
    select sum(e.amount) filter (where e.account = 'RECEIVABLE') is distinct from sum(e.amount) filter (where e.account = 'CREDIT')
    from (select * from ledger_entry where tenant_id = new.tenant_id and invoice_id = new.invoice_id offset 0) e
    where e.payment_id = new.payment_id and e.kind = new.kind
      and e.business_date = new.business_date and e.recorded_at = new.recorded_at) then
    raise exception 'half an allocation of payment % is missing', new.payment_id
      using errcode = 'check_violation', constraint = 'ledger_entry_halves_agree', table = 'ledger_entry';
  end if;
  return null;
end
$$;
