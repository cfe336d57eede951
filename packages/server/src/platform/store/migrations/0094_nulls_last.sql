-- Orders have nulls last in both directions. An index in ascending order, read backwards, has them first, so each column that can be
-- null has an index of its own for the descending order. Due dates have theirs since 0015.
drop index job_deadline_date_desc_index;
drop index job_completed_at_desc_index;
drop index job_budget_amount_desc_index;
drop index invoice_paid_at_desc_index;
drop index contact_email_desc_index;
drop index engagement_start_date_desc_index;
drop index engagement_end_date_desc_index;
drop index engagement_sent_at_desc_index;
drop index engagement_executed_at_desc_index;
drop index engagement_expires_at_desc_index;

create index job_start_date_nulls_last_index on job (tenant_id, start_date desc nulls last, id);
create index job_deadline_date_nulls_last_index on job (tenant_id, deadline_date desc nulls last, id);
create index job_completed_at_nulls_last_index on job (tenant_id, completed_at desc nulls last, id);
create index job_budget_hours_nulls_last_index on job (tenant_id, budget_hours desc nulls last, id);
create index job_budget_amount_nulls_last_index on job (tenant_id, budget_amount desc nulls last, id);
create index invoice_posted_at_nulls_last_index on invoice (tenant_id, posted_at desc nulls last, id);
create index invoice_paid_at_nulls_last_index on invoice (tenant_id, paid_at desc nulls last, id);
create index client_onboarded_at_nulls_last_index on client (tenant_id, onboarded_at desc nulls last, id);
create index contact_last_name_nulls_last_index on contact (tenant_id, last_name desc nulls last, id);
create index contact_first_name_nulls_last_index on contact (tenant_id, first_name desc nulls last, id);
create index contact_email_nulls_last_index on contact (tenant_id, email desc nulls last, id);
create index engagement_start_date_nulls_last_index on engagement (tenant_id, start_date desc nulls last, id);
create index engagement_end_date_nulls_last_index on engagement (tenant_id, end_date desc nulls last, id);
create index engagement_sent_at_nulls_last_index on engagement (tenant_id, sent_at desc nulls last, id);
create index engagement_executed_at_nulls_last_index on engagement (tenant_id, executed_at desc nulls last, id);
create index engagement_expires_at_nulls_last_index on engagement (tenant_id, expires_at desc nulls last, id);
