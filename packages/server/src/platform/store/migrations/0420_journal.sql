-- The accounts of a firm's general ledger, and the ledger as double entry.
-- locks: share row exclusive on org, share row exclusive on service_line

create table gl_mapping (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  metadata jsonb not null default '{}',
  active boolean not null default true,
  created_at timestamptz(3) not null default tenant_now(),
  updated_at timestamptz(3) not null default tenant_now(),
  version integer not null default 1,
  org_id uuid not null,
  purpose text collate "C" not null,
  kind text collate "C",
  payment_method text collate "C",
  service_line_id uuid,
  tax_name text collate "C",
  account_code text collate "C" not null,
  account_name text collate "C",
  -- What it is restricted to, in the form in which the journal looks for it; empty if it is the account of the whole purpose.
  subject text collate "C" not null generated always as (
    coalesce(kind, payment_method, service_line_id::text, tax_name, '')) stored,
  constraint gl_mapping_purpose_enum check (
    purpose in ('RECEIVABLE', 'CREDIT', 'WIP', 'REVENUE', 'TAX', 'PAYMENT', 'WRITE_OFF', 'WIP_CHANGE')),
  constraint gl_mapping_kind_enum check (kind in (
    'INVOICE', 'ALLOCATION', 'DEALLOCATION', 'WRITE_OFF', 'RECOVERY', 'VOID', 'PAYMENT', 'CREDIT_NOTE', 'REFUND', 'RETURN',
    'PAYMENT_VOID', 'NOTE_VOID', 'WORK', 'WORK_REVERSED', 'WRITE_UP', 'WRITE_DOWN', 'BILLED', 'UNBILLED')),
  constraint gl_mapping_payment_method_enum check (payment_method in ('ACH', 'CARD', 'CHECK', 'WIRE', 'CASH', 'CREDIT', 'OTHER')),
  constraint gl_mapping_purpose_agrees check (
    (kind is null or purpose in ('RECEIVABLE', 'CREDIT', 'WIP', 'WRITE_OFF', 'WIP_CHANGE'))
    and (payment_method is null or purpose = 'PAYMENT')
    and (service_line_id is null or purpose = 'REVENUE')
    and (tax_name is null or purpose = 'TAX')),
  primary key (tenant_id, id),
  constraint gl_mapping_system_ref_unique unique (tenant_id, system_ref),
  constraint gl_mapping_org_id_reference foreign key (tenant_id, org_id) references org (tenant_id, id),
  constraint gl_mapping_service_line_id_reference foreign key (tenant_id, service_line_id) references service_line (tenant_id, id)
);
call protect_entity_table('gl_mapping');
create index gl_mapping_metadata_index on gl_mapping using gin (tenant_id, metadata jsonb_path_ops) where metadata <> '{}';
create unique index gl_mapping_subject_unique on gl_mapping (tenant_id, org_id, purpose, subject) where (active);

-- The ID of a row of a posting. Its first digits are those of the posting, so both have one order; the row 0 has the ID of the posting.
create function journal_row_id(posting uuid, number integer) returns uuid language sql immutable parallel safe
  return (left(posting::text, 29) || lpad(to_hex(
    (('x' || right(posting::text, 7))::bit(28)::bigint + number::bigint * 165115451) % 268435456), 7, '0'))::uuid;

-- Each entry of the ledger is a posting, but for the half of an allocation that is a receivable, which belongs to the posting of the
-- other half. Amounts are debits if they are positive. The rows of a posting add up to zero.
create view journal_entry with (security_invoker = true) as
select e.tenant_id, journal_row_id(e.id, r.number) as id, e.id as posting_id, e.kind, r.purpose,
  coalesce(narrow.account_code, case when r.purpose = 'REVENUE' then s.revenue_account_code end, wide.account_code) as account_code,
  case when narrow.id is not null then narrow.account_name
    when r.purpose <> 'REVENUE' or s.revenue_account_code is null then wide.account_name end as account_name,
  r.amount, greatest(r.amount, 0.00) as debit, greatest(-r.amount, 0.00) as credit, e.currency, e.business_date, e.recorded_at,
  o.org_id, r.client_id, c.office_id, r.job_id, j.service_line_id, e.invoice_id, r.invoice_line_id, e.payment_id, e.wip_entry_id,
  r.payment_method, r.tax_name, r.tax_category, r.tax_region_id, r.tax_rate_percent, e.reverses_id, e.reason
from (
  select tenant_id, id, account, kind, amount, currency, business_date, recorded_at, client_id, job_id, invoice_id, payment_id,
    wip_entry_id, reverses_id, reason
  from ledger_entry
  union all
  -- An invoice of 0.00 moves no balance, but can have revenue and tax. It is paid when it is posted, so it is never voided.
  select tenant_id, id, 'RECEIVABLE'::text collate "C", 'INVOICE'::text collate "C", 0.00::numeric(16, 2), currency, invoice_date, posted_at,
    client_id, null::uuid, id, null::uuid, null::uuid, null::uuid, null::text collate "C"
  from invoice where total = 0 and posted_at is not null
) e
cross join lateral (
  -- The movement itself. What the firm holds for a client is a liability.
  select 0 as number, e.account as purpose, case e.account when 'CREDIT' then -e.amount else e.amount end as amount, e.client_id, e.job_id,
    null::uuid as invoice_line_id, null::text collate "C" as payment_method, null::text collate "C" as tax_name, null::text collate "C" as tax_category,
    null::uuid as tax_region_id, null::numeric as tax_rate_percent
  where e.amount <> 0 and not (e.account = 'RECEIVABLE' and e.kind in ('ALLOCATION', 'DEALLOCATION'))
  union all
  select 1, 'RECEIVABLE', e.amount, i.client_id, null, null, null, null, null, null, null
  from invoice i where i.tenant_id = e.tenant_id and i.id = e.invoice_id
    and e.account = 'CREDIT' and e.kind in ('ALLOCATION', 'DEALLOCATION')
  union all
  select 1, case e.account when 'WIP' then 'WIP_CHANGE' else 'WRITE_OFF' end, -e.amount, e.client_id, e.job_id, null, null, null, null, null, null
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
left join job j on j.tenant_id = e.tenant_id and j.id = r.job_id
left join service_line s on s.tenant_id = j.tenant_id and s.id = j.service_line_id
-- A client can move to another org; its documents cannot.
cross join lateral (
  select case when r.purpose in ('RECEIVABLE', 'REVENUE', 'TAX', 'WRITE_OFF') then coalesce(d.org_id, c.org_id) else c.org_id end as org_id
) o
left join gl_mapping narrow on narrow.tenant_id = e.tenant_id and narrow.active and narrow.org_id = o.org_id and narrow.purpose = r.purpose
  and narrow.subject = case r.purpose when 'REVENUE' then j.service_line_id::text when 'TAX' then r.tax_name
    when 'PAYMENT' then r.payment_method else e.kind end
left join gl_mapping wide on wide.tenant_id = e.tenant_id and wide.active and wide.org_id = o.org_id and wide.purpose = r.purpose
  and wide.subject = '';
grant select on journal_entry to financial_automation_service;
