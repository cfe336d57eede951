-- What is open of work, from its index alone: half the time of figures of work as of a day.
-- without transaction
-- locks: share update exclusive on wip_entry

drop index concurrently if exists wip_entry_unbilled_index;
create index concurrently wip_entry_unbilled_index on wip_entry (tenant_id, client_id, work_date, id)
  include (job_id, currency, outstanding_amount) where status in ('OPEN', 'PARTIALLY_BILLED', 'IN_DRAFT');
drop index concurrently if exists wip_entry_open_index;
