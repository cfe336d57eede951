-- without transaction
-- locks: access exclusive on client, access exclusive on draft_invoice_line, access exclusive on invoice_line, access exclusive on tax_code

call lift_protection('client', 'draft_invoice_line', 'invoice_line', 'tax_code');
alter table client validate constraint client_tax_code_id_reference;
alter table draft_invoice_line validate constraint draft_invoice_line_tax_code_id_reference;
alter table invoice_line validate constraint invoice_line_tax_code_id_reference;

call restore_protection('client', 'draft_invoice_line', 'invoice_line', 'tax_code');
