-- Validates the constraints of totals.
-- without transaction
-- locks: share update exclusive on draft_invoice, share update exclusive on invoice

alter table draft_invoice validate constraint draft_invoice_total_agrees;
alter table invoice validate constraint invoice_total_agrees;
