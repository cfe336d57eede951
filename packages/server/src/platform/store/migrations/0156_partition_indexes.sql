-- Which subscriptions have something to send is found by an index, not by reading all of them every second. Those that fail have an index
-- of their own, because processes lease few of them, and must not read past them to find the others.
-- locks: none
-- without transaction

drop index concurrently if exists delivery_partition_working_index;
create index concurrently delivery_partition_working_index on delivery_partition (due_at)
  where leased_until is null and due_at is not null and consecutive_failures = 0;
drop index concurrently if exists delivery_partition_failing_index;
create index concurrently delivery_partition_failing_index on delivery_partition (due_at)
  where leased_until is null and due_at is not null and consecutive_failures > 0;
drop index concurrently if exists delivery_partition_leased_until_index;
create index concurrently delivery_partition_leased_until_index on delivery_partition (leased_until) where leased_until is not null;
