-- What is owed and held as of a day, as it was known at a time, from one index.
-- without transaction
-- locks: share update exclusive on ledger_entry

drop index concurrently if exists ledger_entry_balance_index;
create index concurrently ledger_entry_balance_index on ledger_entry (tenant_id, account, business_date)
  include (client_id, currency, due_date, amount, recorded_at) where account <> 'WIP';
drop index concurrently if exists ledger_entry_account_index;
