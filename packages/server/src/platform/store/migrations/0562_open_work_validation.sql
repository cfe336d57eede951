-- Validates that no entry of work is before the work.
-- without transaction
-- locks: share update exclusive on ledger_entry

alter table ledger_entry validate constraint ledger_entry_work_date_order;
