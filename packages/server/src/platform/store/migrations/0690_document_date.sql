-- The day of the invoice or payment of each entry of receivables and credit.
-- locks: access exclusive on ledger_entry, share row exclusive on ledger_entry

-- No entry of a document is of an earlier day, and that day never changes.
alter table ledger_entry add column document_date date;

create function set_document_date() returns trigger language plpgsql as $$
begin
  if new.account = 'RECEIVABLE' then
    select i.invoice_date into new.document_date from invoice i where i.tenant_id = new.tenant_id and i.id = new.invoice_id;
  else
    select p.payment_date into new.document_date from payment p where p.tenant_id = new.tenant_id and p.id = new.payment_id;
  end if;
  return new;
end
$$;

create trigger ledger_entry_document_date
  before insert on ledger_entry for each row
  when (new.account <> 'WIP' and new.document_date is null and current_setting('app.copies_rows', true) is distinct from 'on')
  execute function set_document_date();
