-- without transaction
-- locks: share update exclusive on draft_invoice, share update exclusive on invoice, share update exclusive on org

alter table org validate constraint org_tax_rounding_enum;
alter table draft_invoice validate constraint draft_invoice_tax_rounding_enum;
alter table invoice validate constraint invoice_tax_rounding_enum;
