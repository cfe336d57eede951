-- The journal finds the invoices of 0.00, which have no entry of the ledger.
-- without transaction
-- locks: share update exclusive on invoice

drop index concurrently if exists invoice_without_amount_index;
create index concurrently invoice_without_amount_index on invoice (tenant_id, id) where total = 0 and posted_at is not null;
