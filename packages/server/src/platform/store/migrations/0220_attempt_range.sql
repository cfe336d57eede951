-- Attempts to deliver events become a table of months like the audit log (0180 to 0182): this file says that all rows that the table has
-- now, and those of the next weeks, are before an instant; 0221 proves it; and 0222 makes the table the first partition of a new one.
-- locks: access exclusive on delivery_attempt

-- The start of a month that is at least four weeks ahead: the check must not reject rows before 0222 is applied.
do $$
begin
  execute format('alter table delivery_attempt add constraint delivery_attempt_first_range check (id < %L) not valid',
    first_id_at(date_trunc('month', now() at time zone 'UTC' + interval '2 months') at time zone 'UTC'));
end
$$;
