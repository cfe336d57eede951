-- The next job of the next tenant: workers take jobs of all tenants in turn.
-- without transaction
-- locks: share update exclusive on background_job

drop index concurrently if exists background_job_turn_index;
create index concurrently background_job_turn_index on background_job (name, tenant_id, due_at, id) where (status = 'WAITING');
