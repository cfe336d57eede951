-- Reads all rows of the audit log, while they are read and written.
-- locks: none
-- without transaction

alter table audit_log validate constraint audit_log_first_range;
