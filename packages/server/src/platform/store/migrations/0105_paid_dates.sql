-- The day on which an invoice was paid in full, by the dates of its payments.
call lift_protection('invoice', 'ledger_entry');
alter table invoice add column paid_date date;
alter table invoice disable trigger user;
update invoice i set paid_date = coalesce((select max(e.business_date) from ledger_entry e
  where e.tenant_id = i.tenant_id and e.invoice_id = i.id and e.account = 'RECEIVABLE'), i.invoice_date)
where i.status = 'PAID';
alter table invoice enable trigger user;
call restore_protection('invoice', 'ledger_entry');
alter table invoice add constraint invoice_paid_date_agrees check ((status = 'PAID') = (paid_date is not null));
create index invoice_paid_date_index on invoice (tenant_id, paid_date, id);
create index invoice_paid_date_nulls_last_index on invoice (tenant_id, paid_date desc nulls last, id);
