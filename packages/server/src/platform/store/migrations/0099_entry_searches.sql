-- Searches of time and expense entries: each column by which few rows are found, and each order, as 0093 has them for other tables.
do $$
declare
  searched text;
begin
  foreach searched in array array['time_entry', 'expense_entry']
  loop
    execute format('create index %I on %I (tenant_id, created_at, id)', searched || '_created_at_index', searched);
    execute format('create index %I on %I (tenant_id, active, id)', searched || '_active_index', searched);
    execute format('create index %I on %I (tenant_id, active desc, id)', searched || '_active_desc_index', searched);
    execute format('create index %I on %I (tenant_id, status, id)', searched || '_status_index', searched);
    execute format('create index %I on %I (tenant_id, approved_by_id) where approved_by_id is not null',
      searched || '_approved_by_id_index', searched);
    execute format('create index %I on %I (tenant_id, approved_at, id) where approved_at is not null',
      searched || '_approved_at_index', searched);
    execute format('create index %I on %I (tenant_id, id) where rejection_reason is not null',
      searched || '_rejection_reason_index', searched);
  end loop;
end
$$;

create index time_entry_work_date_index on time_entry (tenant_id, work_date, id);
create index time_entry_amount_index on time_entry (tenant_id, amount, id);
create index time_entry_notes_index on time_entry using gin (tenant_id, description gin_trgm_ops,
  (lower(description collate fa_case) collate "C") gin_trgm_ops, internal_note gin_trgm_ops,
  (lower(internal_note collate fa_case) collate "C") gin_trgm_ops);

create index expense_entry_expense_date_index on expense_entry (tenant_id, expense_date, id);
create index expense_entry_billable_amount_index on expense_entry (tenant_id, billable_amount, id);
create index expense_entry_receipt_file_id_index on expense_entry (tenant_id, receipt_file_id) where receipt_file_id is not null;
create index expense_entry_notes_index on expense_entry using gin (tenant_id, description gin_trgm_ops,
  (lower(description collate fa_case) collate "C") gin_trgm_ops);
