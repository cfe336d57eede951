-- Earlier lines of time are in hours.
-- without transaction
-- locks: access exclusive on draft_invoice, access exclusive on draft_invoice_line, access exclusive on invoice, access exclusive on invoice_line

call lift_protection('draft_invoice', 'draft_invoice_line', 'invoice', 'invoice_line');

-- in batches
update draft_invoice_line set unit_code = 'HUR'
where (tenant_id, id) in (select tenant_id, id from draft_invoice_line where line_type = 'TIME' and unit_code = 'C62' limit 5000);

-- in batches
update invoice_line set unit_code = 'HUR'
where (tenant_id, id) in (select tenant_id, id from invoice_line where line_type = 'TIME' and unit_code = 'C62' limit 5000);

call restore_protection('draft_invoice', 'draft_invoice_line', 'invoice', 'invoice_line');

alter table draft_invoice validate constraint draft_invoice_service_period_order;
alter table invoice validate constraint invoice_service_period_order;
alter table draft_invoice_line validate constraint draft_invoice_line_unit_code_enum;
alter table invoice_line validate constraint invoice_line_unit_code_enum;
