-- Standard numbers include the code of orgs other than the first, so no two orgs share one before callers write their own.
-- locks: access exclusive on invoice

alter table invoice drop constraint invoice_invoice_number_unique;
