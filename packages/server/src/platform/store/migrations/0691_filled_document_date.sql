-- The day of the document of what was entered before 0690.
-- without transaction
-- locks: access exclusive on ledger_entry, access exclusive on ledger_month, access exclusive on ledger_work, access exclusive on invoice, access exclusive on payment

call lift_protection('ledger_entry', 'ledger_month', 'ledger_work', 'invoice', 'payment');
drop index concurrently if exists ledger_entry_undated_index;
create index concurrently ledger_entry_undated_index on ledger_entry (tenant_id, id) where account <> 'WIP' and document_date is null;
-- Entries otherwise never change, and sums follow those that do. These settings hold for the statement; one that finds no entry sums up none.
-- in batches
with settings as materialized (select set_config('app.moves_tenant', 'on', true), set_config('app.copies_rows', 'on', true)),
undated as materialized (
  select tenant_id, id, account, invoice_id, payment_id from ledger_entry where account <> 'WIP' and document_date is null limit 10000),
dated as (
  select u.tenant_id, u.id, coalesce(i.invoice_date, p.payment_date) as document_date
  from settings cross join undated u
  left join invoice i on u.account = 'RECEIVABLE' and i.tenant_id = u.tenant_id and i.id = u.invoice_id
  left join payment p on u.account = 'CREDIT' and p.tenant_id = u.tenant_id and p.id = u.payment_id
  where coalesce(i.invoice_date, p.payment_date) is not null)
update ledger_entry e set document_date = dated.document_date
from dated
where e.tenant_id = dated.tenant_id and e.id = dated.id;
drop index concurrently if exists ledger_entry_undated_index;
alter table ledger_entry drop constraint if exists ledger_entry_document_date_agrees;
alter table ledger_entry add constraint ledger_entry_document_date_agrees
  check ((account = 'WIP') = (document_date is null) and business_date >= document_date) not valid;
alter table ledger_entry validate constraint ledger_entry_document_date_agrees;
call restore_protection('ledger_entry', 'ledger_month', 'ledger_work', 'invoice', 'payment');
