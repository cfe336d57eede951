-- What is owed and held as of a day from indexes alone: what is open now, what has happened since, and what is settled late. One of them also has
-- balances as they were known at a time.
-- without transaction
-- locks: share update exclusive on invoice, share update exclusive on ledger_entry

drop index concurrently if exists invoice_unpaid_index;
create index concurrently invoice_unpaid_index on invoice (tenant_id, client_id, due_date, id)
  include (currency, amount_due, invoice_date) where status in ('POSTED', 'PARTIALLY_PAID');
drop index concurrently if exists invoice_open_index;
drop index concurrently if exists ledger_entry_document_index;
create index concurrently ledger_entry_document_index on ledger_entry (tenant_id, account, business_date)
  include (client_id, currency, due_date, amount, document_date, recorded_at) where account <> 'WIP';
drop index concurrently if exists ledger_entry_late_index;
create index concurrently ledger_entry_late_index on ledger_entry (tenant_id, account, business_date)
  include (client_id, currency, due_date, amount, document_date) where business_date - document_date > 100;
drop index concurrently if exists ledger_entry_balance_index;
