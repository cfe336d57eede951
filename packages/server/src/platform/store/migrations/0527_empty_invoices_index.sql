-- Invoices of 0.00, whose rows of the journal are read from themselves.
-- without transaction
-- locks: share update exclusive on invoice

drop index concurrently if exists invoice_empty_index;
create index concurrently invoice_empty_index on invoice (tenant_id) where (total = 0 and posted_at is not null);
