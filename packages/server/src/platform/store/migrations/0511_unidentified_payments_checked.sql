-- without transaction
-- locks: access exclusive on org, access exclusive on payment, share update exclusive on gl_mapping, share update exclusive on ledger_entry

call lift_protection('payment', 'org');
alter table payment validate constraint payment_org_id_reference;
call restore_protection('payment', 'org');
alter table payment validate constraint payment_client_id_agrees;
alter table ledger_entry validate constraint ledger_entry_kind_enum;
alter table ledger_entry validate constraint ledger_entry_kind_agrees;
alter table ledger_entry validate constraint ledger_entry_amount_agrees;
alter table gl_mapping validate constraint gl_mapping_purpose_enum;
alter table gl_mapping validate constraint gl_mapping_kind_enum;
alter table gl_mapping validate constraint gl_mapping_purpose_agrees;

drop index concurrently if exists ledger_entry_unidentified_index;
create index concurrently ledger_entry_unidentified_index on ledger_entry (tenant_id, business_date, id) where (client_id is null);
drop index concurrently if exists payment_org_id_index;
create index concurrently payment_org_id_index on payment (tenant_id, org_id, id) where (org_id is not null);
