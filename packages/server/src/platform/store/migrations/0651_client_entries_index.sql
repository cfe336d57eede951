-- Figures of the entries of some clients, from their index alone.
-- without transaction
-- locks: share update exclusive on ledger_entry

drop index concurrently if exists ledger_entry_of_client_index;
create index concurrently ledger_entry_of_client_index on ledger_entry (tenant_id, client_id, business_date, id)
  include (account, job_id, currency, due_date, work_date, amount);
drop index concurrently if exists ledger_entry_client_id_index;
