-- What a client owed, and what was held for it, without the entries of its work: statements, and figures that balances do not say.
-- without transaction
-- locks: share update exclusive on ledger_entry

drop index concurrently if exists ledger_entry_client_document_index;
create index concurrently ledger_entry_client_document_index on ledger_entry (tenant_id, client_id, business_date)
  include (account, currency, due_date, amount) where account <> 'WIP';
