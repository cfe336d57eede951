-- The page of an engagement or a task shows its work and invoices. Without an index, the reads went through all rows of the tenant.
-- locks: share update exclusive on invoice, share update exclusive on wip_entry
-- without transaction

drop index concurrently if exists wip_entry_engagement_id_index;
create index concurrently wip_entry_engagement_id_index on wip_entry (tenant_id, engagement_id) where engagement_id is not null;
drop index concurrently if exists wip_entry_task_id_index;
create index concurrently wip_entry_task_id_index on wip_entry (tenant_id, task_id) where task_id is not null;
drop index concurrently if exists invoice_engagement_id_index;
create index concurrently invoice_engagement_id_index on invoice (tenant_id, engagement_id) where engagement_id is not null;
