-- A sum that exceeds its bound is rejected by the constraint that names it. A narrower column rejected a sum of many rows before the
-- constraint could, with an error that names nothing.
alter table client alter column outstanding_balance type numeric(30, 2), alter column unbilled_wip type numeric(30, 2),
  alter column unapplied_credit type numeric(30, 2);
-- Responses do not contain the sum of what was written up.
alter table job drop constraint job_write_up_amount_range;
alter table job alter column actual_hours type numeric(30, 2), alter column wip_amount type numeric(30, 2),
  alter column billed_amount type numeric(30, 2), alter column write_off_amount type numeric(30, 2),
  alter column write_up_amount type numeric(30, 2);
alter table task alter column actual_hours type numeric(30, 2);
