-- Reads all attempts, while they are read and written.
-- locks: none
-- without transaction

alter table delivery_attempt validate constraint delivery_attempt_first_range;
