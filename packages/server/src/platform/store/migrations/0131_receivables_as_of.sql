-- What is owed and held as of a day, by client and due date, without reading the entries of work, which are by far the most.
create index ledger_entry_account_index on ledger_entry (tenant_id, account, business_date) include (client_id, due_date, amount)
  where account <> 'WIP';
