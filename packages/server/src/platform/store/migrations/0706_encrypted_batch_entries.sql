-- locks: access exclusive on record_batch_item
-- Records that wait in a batch can have tax IDs, which no table has in readable form. `entry` is that of batches that were requested before.
alter table record_batch_item add column entry_encrypted bytea, alter column entry drop not null;
