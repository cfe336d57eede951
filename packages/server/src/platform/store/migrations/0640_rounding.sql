-- Small rests that are settled are rounding in the journal, with an account of their own.
-- locks: access exclusive on gl_mapping, access exclusive on ledger_entry

alter table ledger_entry add column is_rounding boolean not null default false;
alter table gl_mapping drop constraint gl_mapping_purpose_enum;
alter table gl_mapping add constraint gl_mapping_purpose_enum check (purpose in
  ('RECEIVABLE', 'CREDIT', 'SUSPENSE', 'WIP', 'REVENUE', 'TAX', 'PAYMENT', 'WRITE_OFF', 'ROUNDING', 'WIP_CHANGE')) not valid;

create or replace view journal_entry with (security_invoker = true) as
select e.tenant_id, journal_row_id(e.id, r.number) as id, e.id as posting_id, e.kind, r.purpose,
  coalesce(narrow.account_code, case when r.purpose = 'REVENUE' then s.revenue_account_code end, wide.account_code) as account_code,
  case when narrow.id is not null then narrow.account_name
    when r.purpose <> 'REVENUE' or s.revenue_account_code is null then wide.account_name end as account_name,
  r.amount, greatest(r.amount, 0.00) as debit, greatest(-r.amount, 0.00) as credit, e.currency, e.business_date, e.recorded_at,
  o.org_id, r.client_id, c.office_id, r.job_id, j.service_line_id, e.invoice_id, r.invoice_line_id, e.payment_id, e.wip_entry_id,
  r.payment_method, r.tax_name, r.tax_category, r.tax_region_id, r.tax_rate_percent, e.reverses_id, e.reason
from (
  select tenant_id, id, account, kind, amount, currency, business_date, recorded_at, client_id, job_id, invoice_id, payment_id,
    wip_entry_id, reverses_id, reason, is_rounding
  from ledger_entry
  union all
  -- An invoice of 0.00 moves no balance, but can have revenue and tax. It is paid when it is posted, so it is never voided.
  select tenant_id, id, 'RECEIVABLE'::text collate "C", 'INVOICE'::text collate "C", 0.00::numeric(16, 2), currency, invoice_date, posted_at,
    client_id, null::uuid, id, null::uuid, null::uuid, null::uuid, null::text collate "C", false
  from invoice where total = 0 and posted_at is not null
) e
cross join lateral (
  -- The movement itself. What the firm holds for a client is a liability.
  select 0 as number, case when e.account = 'CREDIT' and e.client_id is null then 'SUSPENSE' collate "C" else e.account end as purpose,
    case e.account when 'CREDIT' then -e.amount else e.amount end as amount, e.client_id, e.job_id,
    null::uuid as invoice_line_id, null::text collate "C" as payment_method, null::text collate "C" as tax_name, null::text collate "C" as tax_category,
    null::uuid as tax_region_id, null::numeric as tax_rate_percent
  where e.amount <> 0 and not (e.account = 'RECEIVABLE' and e.kind in ('ALLOCATION', 'DEALLOCATION'))
    and not (e.kind = 'IDENTIFICATION' and e.client_id is not null)
  union all
  select 1, 'CREDIT', e.amount, p.client_id, null, null, null, null, null, null, null
  from payment p where p.tenant_id = e.tenant_id and p.id = e.payment_id and e.kind = 'IDENTIFICATION' and e.client_id is null
  union all
  select 1, 'RECEIVABLE', e.amount, i.client_id, null, null, null, null, null, null, null
  from invoice i where i.tenant_id = e.tenant_id and i.id = e.invoice_id
    and e.account = 'CREDIT' and e.kind in ('ALLOCATION', 'DEALLOCATION')
  union all
  select 1, case when e.account = 'WIP' then 'WIP_CHANGE' when e.is_rounding then 'ROUNDING' else 'WRITE_OFF' end, -e.amount, e.client_id, e.job_id, null, null, null, null, null, null
  where e.account = 'WIP' or e.kind in ('WRITE_OFF', 'RECOVERY')
  union all
  select 1, 'PAYMENT', e.amount, e.client_id, null, null, p.method, null, null, null, null
  from payment p where p.tenant_id = e.tenant_id and p.id = e.payment_id
    and e.account = 'CREDIT' and e.kind in ('PAYMENT', 'REFUND', 'RETURN', 'PAYMENT_VOID')
  union all
  select 8 * (l.position + 1) + part.number, part.purpose, part.amount * case when e.kind in ('VOID', 'NOTE_VOID') then 1 else -1 end, e.client_id,
    l.job_id, t.id, null, part.tax_name, part.tax_category, part.tax_region_id, part.tax_rate_percent
  from invoice_line_tax t
  join invoice_line l on l.tenant_id = t.tenant_id and l.id = t.line_id
  join invoice i on i.tenant_id = t.tenant_id and i.id = t.invoice_id
  cross join lateral (values
    (0, 'REVENUE'::text collate "C", t.amount, null::text collate "C", null::text collate "C", null::uuid, null::numeric),
    (1 + t.position, 'TAX', t.tax_amount, t.name, t.category, coalesce(t.region_id, i.tax_region_id), t.rate_percent)
  ) part (number, purpose, amount, tax_name, tax_category, tax_region_id, tax_rate_percent)
  where t.tenant_id = e.tenant_id and t.invoice_id = e.invoice_id and part.amount <> 0
    and e.kind in ('INVOICE', 'CREDIT_NOTE', 'VOID', 'NOTE_VOID')
) r
left join client c on c.tenant_id = e.tenant_id and c.id = r.client_id
left join invoice d on d.tenant_id = e.tenant_id and d.id = e.invoice_id
left join payment paid on paid.tenant_id = e.tenant_id and paid.id = e.payment_id and e.client_id is null
left join job j on j.tenant_id = e.tenant_id and j.id = r.job_id
left join service_line s on s.tenant_id = j.tenant_id and s.id = j.service_line_id
-- A client can move to another org; its documents cannot.
cross join lateral (
  select case when e.client_id is null then paid.org_id
    when r.purpose in ('RECEIVABLE', 'REVENUE', 'TAX', 'WRITE_OFF', 'ROUNDING') then coalesce(d.org_id, c.org_id) else c.org_id end as org_id
) o
left join gl_mapping narrow on narrow.tenant_id = e.tenant_id and narrow.active and narrow.org_id = o.org_id and narrow.purpose = r.purpose
  and narrow.subject = case r.purpose when 'REVENUE' then j.service_line_id::text when 'TAX' then r.tax_name
    when 'PAYMENT' then r.payment_method else e.kind end
left join gl_mapping wide on wide.tenant_id = e.tenant_id and wide.active and wide.org_id = o.org_id and wide.purpose = r.purpose
  and wide.subject = '';
