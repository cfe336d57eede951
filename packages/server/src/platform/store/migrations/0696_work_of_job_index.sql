-- How many entries the work of some jobs has, and its oldest day, without the sums of all clients.
-- without transaction
-- locks: share update exclusive on ledger_work

drop index concurrently if exists ledger_work_job_index;
create index concurrently ledger_work_job_index on ledger_work (tenant_id, job_id, business_date)
  include (work_date, client_id, currency, amount, entries);
