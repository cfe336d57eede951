-- Sums of work have replaced indexes of the entries that relieve it, and columns in the one of the entries of a client.
-- without transaction
-- locks: share update exclusive on ledger_entry

drop index concurrently if exists ledger_entry_client_index;
create index concurrently ledger_entry_client_index on ledger_entry (tenant_id, client_id, business_date, id)
  include (account, currency, due_date, amount);
drop index concurrently if exists ledger_entry_of_client_index;
drop index concurrently if exists ledger_entry_relief_index;
drop index concurrently if exists ledger_entry_late_relief_index;
