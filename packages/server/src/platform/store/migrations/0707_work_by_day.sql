-- Figures of work as of a day read the days after the last whole month from its sums. Without an index, that read all sums of a tenant.
-- locks: share update exclusive on ledger_work
-- without transaction

drop index concurrently if exists ledger_work_day_index;
create index concurrently ledger_work_day_index on ledger_work (tenant_id, business_date);
