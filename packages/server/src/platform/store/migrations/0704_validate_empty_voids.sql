-- Every row that the former constraint allowed has this one, too.
-- locks: share update exclusive on ledger_entry
-- without transaction

alter table ledger_entry validate constraint ledger_entry_amount_agrees;
