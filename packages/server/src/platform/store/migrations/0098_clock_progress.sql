-- Where an interrupted run of a daily task continues on the same day, as JSON of the task; null after a run that succeeded.
alter table clock_day add column place jsonb;

-- The jobs that the clock bills, which it reads in batches.
create index job_billing_schedule_index on job (tenant_id, billing_schedule, id) where billing_schedule is not null;
