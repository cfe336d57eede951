-- Sums of the journal that are planned in a fraction of the time.
-- locks: none

-- The journal of invoices of 0.00 as a function: as a part of the view, all of the journal was planned for each read of its sums, which
-- took ten times as long as the read itself. The plan of a function is kept by the connection.
create function journal_of_empty_invoices() returns setof journal_entry
language plpgsql stable rows 10 set plan_cache_mode = force_generic_plan as $$
begin
  return query select j.* from journal_entry j
    where j.posting_id = any (array(select i.id from invoice i where i.total = 0 and i.posted_at is not null));
end
$$;

create or replace view journal_day with (security_invoker = true) as
select s.tenant_id, s.kind, s.purpose,
  coalesce(narrow.account_code, case when s.purpose = 'REVENUE' then l.revenue_account_code end, wide.account_code) as account_code,
  case when narrow.id is not null then narrow.account_name
    when s.purpose <> 'REVENUE' or l.revenue_account_code is null then wide.account_name end as account_name,
  s.amount, s.debit, s.credit, s.currency, s.business_date, s.org_id, s.office_id, s.service_line_id, s.payment_method, s.tax_name, s.entries
from (
  select tenant_id, business_date, org_id, office_id, purpose, kind, currency, payment_method, service_line_id, tax_name, amount, debit, credit, entries
  from journal_sum
  union all
  select j.tenant_id, j.business_date, j.org_id, j.office_id, j.purpose, j.kind, j.currency, j.payment_method, j.service_line_id, j.tax_name, j.amount,
    j.debit, j.credit, 1
  from journal_of_empty_invoices() j
) s
left join service_line l on l.tenant_id = s.tenant_id and l.id = s.service_line_id
left join gl_mapping narrow on narrow.tenant_id = s.tenant_id and narrow.active and narrow.org_id = s.org_id and narrow.purpose = s.purpose
  and narrow.subject = case s.purpose when 'REVENUE' then s.service_line_id::text when 'TAX' then s.tax_name
    when 'PAYMENT' then s.payment_method else s.kind end
left join gl_mapping wide on wide.tenant_id = s.tenant_id and wide.active and wide.org_id = s.org_id and wide.purpose = s.purpose
  and wide.subject = '';
