-- The void of an invoice whose lines add up to zero moves no balance, but the journal takes back its revenue and tax by it.
-- locks: access exclusive on ledger_entry

alter table ledger_entry drop constraint ledger_entry_amount_agrees;
alter table ledger_entry add constraint ledger_entry_amount_agrees check (
  case
    -- From nobody to a client. After a refund and a return, less than nothing is held.
    when account = 'WIP' or kind = 'IDENTIFICATION' then amount <> 0
    when kind in ('INVOICE', 'PAYMENT', 'CREDIT_NOTE', 'DEALLOCATION', 'RECOVERY') then amount > 0
    when kind = 'VOID' then amount <= 0
    else amount < 0
  end) not valid;
