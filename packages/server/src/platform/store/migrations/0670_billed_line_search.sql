-- Billed lines by a part of their text.
-- without transaction
-- locks: share update exclusive on invoice_line

drop index concurrently if exists invoice_line_search_index;
create index concurrently invoice_line_search_index on invoice_line using gin (tenant_id, search_text(description) gin_trgm_ops);
