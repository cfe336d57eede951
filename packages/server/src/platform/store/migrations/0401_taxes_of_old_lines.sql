-- The short form of earlier lines becomes a tax, named after the region of the document.
-- without transaction
-- locks: access exclusive on client, access exclusive on draft_invoice, access exclusive on draft_invoice_line, access exclusive on invoice, access exclusive on invoice_line, access exclusive on invoice_line_tax, access exclusive on tax_region

call lift_protection('client', 'draft_invoice', 'draft_invoice_line', 'invoice', 'invoice_line', 'invoice_line_tax', 'tax_region');

-- in batches
update draft_invoice_line l set taxes = one_tax(coalesce(r.name, 'Tax'), r.id, l.tax_rate_percent, l.tax_amount)
from draft_invoice d
join client c on c.tenant_id = d.tenant_id and c.id = d.client_id
left join tax_region r on r.tenant_id = c.tenant_id and r.id = c.tax_region_id
where d.tenant_id = l.tenant_id and d.id = l.draft_invoice_id
  and (l.tenant_id, l.id) in (select tenant_id, id from draft_invoice_line where taxable and taxes = '[]' limit 5000);

-- in batches
update invoice_line l set taxes = one_tax(coalesce(r.name, 'Tax'), r.id, l.tax_rate_percent, l.tax_amount)
from invoice i
left join tax_region r on r.tenant_id = i.tenant_id and r.id = i.tax_region_id
where i.tenant_id = l.tenant_id and i.id = l.invoice_id
  and (l.tenant_id, l.id) in (select tenant_id, id from invoice_line where taxable and taxes = '[]' limit 5000);

-- in batches
insert into invoice_line_tax
select t.* from (
  select * from invoice_line l
  where not exists (select from invoice_line_tax t where t.tenant_id = l.tenant_id and t.id = l.id) limit 5000) l
cross join lateral taxes_of_line(l.tenant_id, l.invoice_id, l.id, l.amount, l.tax_rate_percent, l.taxes) t;

call restore_protection('client', 'draft_invoice', 'draft_invoice_line', 'invoice', 'invoice_line', 'invoice_line_tax', 'tax_region');
