-- What repeated rules of the service, and was used only for rows of versions that were never released.
-- locks: none
-- contracts: v1.0.0

drop procedure enter_billing(integer, uuid[]);
drop procedure enter_books(integer, uuid[], uuid[], uuid[]);
drop view billing_of_lines;
drop function entry_id(timestamptz, text);
