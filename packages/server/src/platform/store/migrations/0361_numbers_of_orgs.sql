-- Numbers of documents are unique in their org: other systems of two orgs may have used the same ones.
-- without transaction
-- locks: share update exclusive on invoice

drop index concurrently if exists invoice_invoice_number_org_unique;
create unique index concurrently invoice_invoice_number_org_unique on invoice (tenant_id, invoice_number, org_id);
