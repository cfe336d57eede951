-- Validates the constraints that call the functions of the rules.
-- without transaction
-- locks: share update exclusive on draft_invoice, share update exclusive on invoice, share update exclusive on time_entry, share update exclusive on wip_entry

alter table draft_invoice validate constraint draft_invoice_total_agrees;
alter table invoice validate constraint invoice_total_agrees;
alter table time_entry validate constraint time_entry_amount_agrees;
alter table wip_entry validate constraint wip_entry_amount_agrees;
