-- Searches by each column alone, and in each order, that had no index: on the tables that grow with the work of a firm.
--
-- Every search filters and sorts by `active` and `createdAt`. An index serves an order only as it is, with `id` ascending
-- at the end, so columns with many equal or missing values need an index for the descending order too.
do $$
declare
  searched text;
begin
  foreach searched in array
    array['client', 'contact', 'job', 'task', 'wip_entry', 'invoice', 'payment', 'draft_invoice_history', 'engagement']
  loop
    execute format('create index %I on %I (tenant_id, created_at, id)', searched || '_created_at_index', searched);
    execute format('create index %I on %I (tenant_id, active, id)', searched || '_active_index', searched);
    execute format('create index %I on %I (tenant_id, active desc, id)', searched || '_active_desc_index', searched);
  end loop;
end
$$;

create index task_status_desc_index on task (tenant_id, status desc, id);
create index task_sequence_desc_index on task (tenant_id, sequence desc, id);
create index task_name_desc_index on task (tenant_id, name desc, id);
create index job_status_desc_index on job (tenant_id, status desc, id);
create index job_deadline_date_desc_index on job (tenant_id, deadline_date desc, id);
create index job_completed_at_desc_index on job (tenant_id, completed_at desc, id);
create index job_budget_amount_desc_index on job (tenant_id, budget_amount desc, id);
create index invoice_paid_at_desc_index on invoice (tenant_id, paid_at desc, id);
create index draft_invoice_history_revision_desc_index on draft_invoice_history (tenant_id, revision desc, id);
create index contact_email_desc_index on contact (tenant_id, email desc, id);
create index engagement_start_date_desc_index on engagement (tenant_id, start_date desc, id);
create index engagement_end_date_desc_index on engagement (tenant_id, end_date desc, id);
create index engagement_sent_at_desc_index on engagement (tenant_id, sent_at desc, id);
create index engagement_executed_at_desc_index on engagement (tenant_id, executed_at desc, id);
create index engagement_expires_at_desc_index on engagement (tenant_id, expires_at desc, id);
create index engagement_fiscal_year_desc_index on engagement (tenant_id, fiscal_year desc, id);
create index engagement_status_desc_index on engagement (tenant_id, status desc, id);

create index task_not_billable_index on task (tenant_id, id) where not is_billable;
create index wip_entry_time_entry_id_index on wip_entry (tenant_id, time_entry_id) where time_entry_id is not null;
create index wip_entry_billed_amount_index on wip_entry (tenant_id, billed_amount, id);
create index wip_entry_write_off_amount_index on wip_entry (tenant_id, write_off_amount, id);
create index invoice_amount_paid_index on invoice (tenant_id, amount_paid, id);
create index client_email_index on client (tenant_id, email, id);

-- A part of a number or an address.
create index client_contact_refs_index on client using gin (tenant_id, pms_ref gin_trgm_ops,
  (lower(pms_ref collate fa_case) collate "C") gin_trgm_ops, email gin_trgm_ops,
  (lower(email collate fa_case) collate "C") gin_trgm_ops);
create index contact_refs_index on contact using gin (tenant_id, pms_ref gin_trgm_ops,
  (lower(pms_ref collate fa_case) collate "C") gin_trgm_ops, email gin_trgm_ops,
  (lower(email collate fa_case) collate "C") gin_trgm_ops, phone gin_trgm_ops,
  (lower(phone collate fa_case) collate "C") gin_trgm_ops, mobile gin_trgm_ops,
  (lower(mobile collate fa_case) collate "C") gin_trgm_ops);
create index job_pms_refs_index on job using gin (tenant_id, pms_ref gin_trgm_ops,
  (lower(pms_ref collate fa_case) collate "C") gin_trgm_ops);
create index invoice_refs_index on invoice using gin (tenant_id, invoice_number gin_trgm_ops,
  (lower(invoice_number collate fa_case) collate "C") gin_trgm_ops, pms_ref gin_trgm_ops,
  (lower(pms_ref collate fa_case) collate "C") gin_trgm_ops);
create index payment_refs_index on payment using gin (tenant_id, payment_number gin_trgm_ops,
  (lower(payment_number collate fa_case) collate "C") gin_trgm_ops, pms_ref gin_trgm_ops,
  (lower(pms_ref collate fa_case) collate "C") gin_trgm_ops, processor_ref gin_trgm_ops,
  (lower(processor_ref collate fa_case) collate "C") gin_trgm_ops);
