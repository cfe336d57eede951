-- What documents and electronic invoices name: addresses, bank accounts, references, service periods and units.
-- locks: access exclusive on client, access exclusive on draft_invoice, access exclusive on draft_invoice_line, access exclusive on invoice, access exclusive on invoice_line, access exclusive on org

alter table org add column electronic_address jsonb, add column bank_accounts jsonb not null default '[]';
alter table client add column electronic_address jsonb;
alter table draft_invoice add column service_period_start date, add column service_period_end date,
  add column order_reference text collate "C", add column buyer_reference text collate "C";
alter table draft_invoice add constraint draft_invoice_service_period_order check (service_period_end >= service_period_start) not valid;
alter table invoice add column service_period_start date, add column service_period_end date,
  add column order_reference text collate "C", add column buyer_reference text collate "C";
alter table invoice add constraint invoice_service_period_order check (service_period_end >= service_period_start) not valid;
alter table draft_invoice_line add column unit_code text collate "C" not null default 'C62';
alter table draft_invoice_line add constraint draft_invoice_line_unit_code_enum
  check (unit_code in ('C62', 'HUR', 'MIN', 'DAY', 'WEE', 'MON', 'QAN', 'ANN', 'LS', 'H87', 'E48', 'KMT', 'SMI', 'ZP', 'P1', 'KGM', 'LTR', 'MTR', 'MTK', 'KWH')) not valid;
alter table invoice_line add column unit_code text collate "C" not null default 'C62';
alter table invoice_line add constraint invoice_line_unit_code_enum
  check (unit_code in ('C62', 'HUR', 'MIN', 'DAY', 'WEE', 'MON', 'QAN', 'ANN', 'LS', 'H87', 'E48', 'KMT', 'SMI', 'ZP', 'P1', 'KGM', 'LTR', 'MTR', 'MTK', 'KWH')) not valid;
