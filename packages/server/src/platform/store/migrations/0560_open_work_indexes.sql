-- Indexes of the entries that relieve work of earlier days.
-- without transaction
-- locks: share update exclusive on ledger_entry

drop index concurrently if exists ledger_entry_relief_index;
create index concurrently ledger_entry_relief_index on ledger_entry (tenant_id, business_date) include (work_date, client_id, job_id, currency, amount)
  where business_date > work_date;

drop index concurrently if exists ledger_entry_late_relief_index;
create index concurrently ledger_entry_late_relief_index on ledger_entry (tenant_id, business_date) include (work_date, client_id, job_id, currency, amount)
  where business_date - work_date > 100;
