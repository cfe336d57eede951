create type balance_change as (tenant_id integer, client_id uuid, currency text, outstanding numeric, unapplied numeric);

create type billing_change as (tenant_id integer, job_id uuid, billed numeric, fee numeric, fee_without_work numeric);

-- What a draft and the invoice that it becomes have in common.
create table document_columns (
  client_id uuid not null,
  job_ids uuid[] not null default '{}',
  billing_contact_id uuid,
  due_date date not null,
  subtotal numeric(16,2) not null default 0,
  discount_total numeric(16,2) not null default 0,
  tax_total numeric(16,2) not null default 0,
  interest_total numeric(16,2) not null default 0,
  total numeric(16,2) not null default 0,
  currency text collate "C" not null,
  credited_invoice_id uuid,
  -- The purchase order and the memo of an invoice are written on its draft.
  purchase_order text collate "C",
  memo text collate "C",
  prices_include_tax boolean not null default false,
  tax_rounding text collate "C" not null default 'LINE',
  tax_exempt_reason text collate "C",
  service_period_start date,
  service_period_end date,
  order_reference text collate "C",
  buyer_reference text collate "C",
  early_payment jsonb,
  constraint document_columns_service_period_order check (service_period_end >= service_period_start),
  constraint document_columns_tax_rounding_enum check (tax_rounding in ('LINE', 'DOCUMENT')),
  constraint document_columns_total_agrees check (total = document_total(subtotal, discount_total, tax_total, interest_total))
);

create table draft_invoice (
  like entity_columns including defaults including indexes,
  like document_columns including defaults including constraints,
  draft_number text collate "C" not null,
  status text collate "C" not null default 'DRAFT',
  bill_through_date date not null,
  proposed_invoice_date date not null,
  standard_amount numeric(16,2) not null default 0,
  adjustment_amount numeric(16,2) not null default 0,
  prepared_by_id uuid,
  reviewer_id uuid,
  approved_by_id uuid,
  submitted_at timestamptz(3),
  approved_at timestamptz(3),
  rejected_at timestamptz(3),
  invoice_id uuid,
  rejection_reason text collate "C",
  note text collate "C",
  -- Whoever created a draft cannot approve it.
  created_by_api_user_id uuid,
  constraint draft_invoice_status_enum check (status in ('DRAFT', 'IN_REVIEW', 'APPROVED', 'REJECTED', 'POSTED', 'DELETED')),
  constraint draft_invoice_due_date_order check (due_date >= proposed_invoice_date),
  constraint draft_invoice_discount_total_range check (discount_total >= 0),
  constraint draft_invoice_interest_total_range check (interest_total >= 0),
  constraint draft_invoice_rejection_reason_agrees check ((status = 'REJECTED') = (rejection_reason is not null)),
  constraint draft_invoice_invoice_id_agrees check ((status = 'POSTED') = (invoice_id is not null)),
  constraint draft_invoice_active_agrees check (active = (status <> 'DELETED')),
  constraint draft_invoice_draft_number_unique unique (tenant_id, draft_number),
  constraint draft_invoice_credited_invoice_id_agrees check (credited_invoice_id is null or total < 0 or status in ('DRAFT', 'REJECTED', 'DELETED'))
);
call add_references('draft_invoice', 'client_id', 'billing_contact_id: contact', 'prepared_by_id: staff', 'reviewer_id: staff',
  'approved_by_id: staff');
create index draft_invoice_client_id_index on draft_invoice (tenant_id, client_id, status);
call index_orders('draft_invoice', 'status', 'proposed_invoice_date', 'total');
call refuse_merged('draft_invoice', 'client_id');
call add_references('wip_entry', 'draft_invoice_id deferred');

-- What their lines have in common.
create table line_columns (
  tenant_id integer not null,
  position integer not null,
  id uuid not null,
  line_type text collate "C" not null,
  job_id uuid,
  description text collate "C" not null,
  quantity numeric not null,
  unit_amount numeric not null,
  amount numeric(16,2) not null,
  taxable boolean not null,
  tax_rate_percent numeric not null,
  tax_amount numeric(16,2) not null,
  -- How a line relieves its work, and whether it may bill more than the fee of its job.
  relief text collate "C" not null,
  exceeds_fee boolean not null default false,
  taxes jsonb not null default '[]',
  tax_code_id uuid,
  unit_code text collate "C" not null default 'C62',
  constraint line_columns_line_type_enum check (line_type in ('TIME', 'EXPENSE', 'FIXED_FEE', 'PROGRESS', 'DISCOUNT', 'INTEREST', 'OTHER')),
  constraint line_columns_unit_code_enum check (
    unit_code in ('C62', 'HUR', 'MIN', 'DAY', 'WEE', 'MON', 'QAN', 'ANN', 'LS', 'H87', 'E48',
      'KMT', 'SMI', 'ZP', 'P1', 'KGM', 'LTR', 'MTR', 'MTK', 'KWH')),
  constraint line_columns_quantity_range check (abs(quantity) < 1e11 and scale(quantity) <= 4),
  constraint line_columns_unit_amount_range check (abs(unit_amount) < 1e11 and scale(unit_amount) <= 4),
  constraint line_columns_tax_rate_percent_range check (tax_rate_percent between 0 and 100 and scale(tax_rate_percent) <= 4),
  primary key (tenant_id, id),
  constraint line_columns_relief_enum check (relief in ('FULL', 'PART'))
);

create table draft_invoice_line (
  like line_columns including defaults including constraints including indexes,
  draft_invoice_id uuid not null
);
call add_references('draft_invoice_line', 'draft_invoice_id', 'job_id', 'tax_code_id');
call protect_tenant_table('draft_invoice_line', 'select, insert, delete');
create index draft_invoice_line_draft_invoice_id_index on draft_invoice_line (tenant_id, draft_invoice_id, "position");

create table draft_invoice_line_wip (
  tenant_id integer not null,
  line_id uuid not null,
  position integer not null,
  wip_entry_id uuid not null,
  primary key (tenant_id, line_id, "position"),
  constraint draft_invoice_line_wip_line_id_reference foreign key (tenant_id, line_id) references draft_invoice_line (tenant_id, id) on delete cascade
);
call add_references('draft_invoice_line_wip', 'wip_entry_id');
call protect_tenant_table('draft_invoice_line_wip', 'select, insert, delete');

-- A row for each revision of a draft, which never changes.
create table draft_invoice_history (
  like entity_columns including defaults including indexes,
  draft_invoice_id uuid not null,
  revision integer not null,
  action text collate "C" not null,
  from_status text collate "C",
  to_status text collate "C" not null,
  changed_by_id uuid,
  changed_by_api_user_id uuid,
  changed_at timestamptz(3) not null,
  changes jsonb not null,
  client_id uuid not null,
  job_ids uuid[] not null,
  invoice_id uuid,
  total numeric(16,2) not null,
  draft_invoice jsonb not null,
  constraint draft_invoice_history_action_enum check (action in ('CREATED', 'EDITED', 'SUBMITTED', 'APPROVED', 'REJECTED', 'POSTED', 'DELETED')),
  constraint draft_invoice_history_from_status_enum check (from_status in ('DRAFT', 'IN_REVIEW', 'APPROVED', 'REJECTED', 'POSTED', 'DELETED')),
  constraint draft_invoice_history_to_status_enum check (to_status in ('DRAFT', 'IN_REVIEW', 'APPROVED', 'REJECTED', 'POSTED', 'DELETED')),
  constraint draft_invoice_history_revision_unique unique (tenant_id, draft_invoice_id, revision)
);
call add_references('draft_invoice_history', 'draft_invoice_id deferred', 'changed_by_id: staff', 'client_id');
call protect_tenant_table('draft_invoice_history', 'select, insert');
grant update (client_id) on draft_invoice_history to financial_automation_service;
call index_orders('draft_invoice_history', 'updated_at', 'changed_at', 'to_status', 'total', 'revision', 'created_at', 'active',
  'active desc', 'revision desc');
create index draft_invoice_history_client_id_index on draft_invoice_history (tenant_id, client_id, changed_at, id);
create index draft_invoice_history_invoice_id_index on draft_invoice_history (tenant_id, invoice_id) where (invoice_id is not null);
create index draft_invoice_history_job_ids_index on draft_invoice_history using gin (tenant_id, job_ids);
create index draft_invoice_history_approved_at_index on draft_invoice_history (tenant_id, stored_instant((draft_invoice ->> 'approvedAt')), id);

create table invoice (
  like entity_columns including defaults including indexes,
  like document_columns including defaults including constraints,
  invoice_number text collate "C" not null,
  pms_ref text collate "C",
  -- The legal entity that numbers the invoice.
  org_id uuid not null,
  engagement_id uuid,
  draft_invoice_id uuid,
  status text collate "C" not null default 'POSTED',
  invoice_date date not null,
  posted_at timestamptz(3),
  paid_at timestamptz(3),
  voided_at timestamptz(3),
  overdue_at timestamptz(3),
  void_reason text collate "C",
  write_off_reason text collate "C",
  amount_paid numeric(16,2) not null default 0,
  amount_credited numeric(16,2) not null default 0,
  amount_written_off numeric(16,2) not null default 0,
  amount_pending numeric(16,2) not null default 0,
  tax_region_id uuid,
  line1 text collate "C",
  line2 text collate "C",
  city text collate "C",
  state text collate "C",
  postal_code text collate "C",
  country text collate "C",
  pdf_file_id uuid,
  sent_at timestamptz(3),
  paid_date date,
  document_type text collate "C" not null default 'INVOICE',
  amount_due numeric(16,2) not null generated always as (case when ((status = 'VOIDED') or (document_type = 'CREDIT_NOTE')) then 0 else (((total - amount_paid) - amount_credited) - amount_written_off) end) stored,
  -- What the PDF of an invoice shows, besides its lines, which never change. A document that shows it already is not written again.
  document jsonb,
  -- When the last try to write the PDF failed.
  pdf_failed_at timestamptz(3),
  -- The tax is that of an import.
  tax_as_stated boolean not null default false,
  is_disputed boolean not null default false,
  reminded_after_days integer,
  -- The credit note over the discount that was taken.
  early_payment_note_id uuid,
  constraint invoice_status_enum check (status in ('PENDING', 'POSTED', 'PARTIALLY_PAID', 'PAID', 'VOIDED', 'WRITTEN_OFF')),
  constraint invoice_due_date_order check (due_date >= invoice_date),
  constraint invoice_amount_paid_range check (amount_paid >= 0),
  constraint invoice_amount_credited_range check (amount_credited >= 0),
  constraint invoice_amount_written_off_range check (amount_written_off >= 0),
  constraint invoice_posted_at_agrees check ((status = 'PENDING') = (posted_at is null)),
  constraint invoice_paid_at_agrees check ((status = 'PAID') = (paid_at is not null)),
  constraint invoice_voided_at_agrees check ((status = 'VOIDED') = (voided_at is not null) and (status = 'VOIDED') = (void_reason is not null)),
  constraint invoice_pms_ref_unique unique (tenant_id, pms_ref),
  constraint invoice_draft_invoice_id_unique unique (tenant_id, draft_invoice_id),
  constraint invoice_write_off_reason_agrees check ((status = 'WRITTEN_OFF' or amount_written_off > 0) = (write_off_reason is not null)),
  constraint invoice_paid_date_agrees check ((status = 'PAID') = (paid_date is not null)),
  constraint invoice_document_type_enum check (document_type in ('INVOICE', 'CREDIT_NOTE')),
  constraint invoice_credited_invoice_id_reference foreign key (tenant_id, credited_invoice_id) references invoice (tenant_id, id) deferrable,
  constraint invoice_credited_invoice_id_agrees check (credited_invoice_id is null or document_type = 'CREDIT_NOTE'),
  constraint invoice_total_agrees_with_type check ((document_type = 'CREDIT_NOTE') = (total < 0)),
  constraint invoice_amount_due_range check (amount_due >= 0),
  constraint invoice_amount_pending_range check (amount_pending between 0 and amount_due),
  constraint invoice_amount_due_agrees check (
  case
    when document_type = 'CREDIT_NOTE' then status in ('POSTED', 'VOIDED') and amount_paid = 0 and amount_credited = 0
      and amount_pending = 0 and amount_written_off = 0
    else case status
      when 'PENDING' then amount_paid = 0 and amount_credited = 0 and amount_pending = 0 and amount_written_off = 0
      when 'POSTED' then amount_paid = 0 and amount_credited = 0 and amount_due > 0
      when 'PARTIALLY_PAID' then amount_paid + amount_credited > 0 and amount_due > 0
      when 'PAID' then amount_due = 0
      when 'VOIDED' then amount_paid = 0 and amount_credited = 0 and amount_pending = 0 and amount_written_off = 0
      else amount_due = 0
    end
  end)
);
call add_references('invoice', 'client_id', 'org_id', 'draft_invoice_id', 'early_payment_note_id: invoice deferred', 'tax_region_id',
  'billing_contact_id: contact', 'engagement_id');
call index_orders('invoice', 'client_id', 'status', 'invoice_date', 'due_date', 'posted_at', 'paid_at', 'overdue_at', 'total',
  'created_at', 'active', 'active desc', 'amount_paid', 'posted_at desc nulls last', 'paid_at desc nulls last', 'paid_date',
  'paid_date desc nulls last', 'amount_due', 'document_type');
create index invoice_overdue_index on invoice (tenant_id, due_date, id) where (status in ('POSTED', 'PARTIALLY_PAID'));
create index invoice_job_ids_index on invoice using gin (tenant_id, job_ids);
create index invoice_refs_index on invoice using gin (tenant_id, invoice_number gin_trgm_ops, lower((invoice_number collate fa_case)) collate "C" gin_trgm_ops, pms_ref gin_trgm_ops, lower((pms_ref collate fa_case)) collate "C" gin_trgm_ops);
-- What is owed as of a day, from its index alone.
create index invoice_unpaid_index on invoice (tenant_id, client_id, due_date, id)
  include (currency, amount_due, invoice_date) where (status in ('POSTED', 'PARTIALLY_PAID'));
-- The page of an engagement shows its invoices.
create index invoice_engagement_id_index on invoice (tenant_id, engagement_id) where (engagement_id is not null);
create index invoice_credited_invoice_id_index on invoice (tenant_id, credited_invoice_id) where (credited_invoice_id is not null);
create index invoice_falling_due_index on invoice (tenant_id, due_date) where ((overdue_at is null) and (status in ('POSTED', 'PARTIALLY_PAID')) and (document_type = 'INVOICE'));
-- Other systems of two orgs may have used the same numbers.
create unique index invoice_invoice_number_org_unique on invoice (tenant_id, invoice_number, org_id);
-- The journal finds the invoices of 0.00, which have no entry of the ledger.
create index invoice_without_amount_index on invoice (tenant_id, id) where total = 0 and posted_at is not null;
call refuse_merged('invoice', 'client_id');
call add_references('wip_entry', 'invoice_id deferred');
call add_references('draft_invoice', 'invoice_id deferred');
alter table draft_invoice add constraint draft_invoice_credited_invoice_id_reference foreign key (tenant_id, credited_invoice_id) references invoice (tenant_id, id) deferrable;
call add_references('draft_invoice_history', 'invoice_id deferred');

create table invoice_line (
  like line_columns including defaults including constraints including indexes,
  invoice_id uuid not null
);
call add_references('invoice_line', 'invoice_id', 'job_id', 'tax_code_id');
call protect_tenant_table('invoice_line', 'select, insert');
create index invoice_line_invoice_id_index on invoice_line (tenant_id, invoice_id, "position");
-- Billed lines by a part of their text.
create index invoice_line_search_index on invoice_line using gin (tenant_id, search_text(description) gin_trgm_ops);

-- A row for each tax of a line, and one for a line without tax. The first has the ID of the line, and its amount.
create table invoice_line_tax (
  tenant_id integer not null,
  id uuid not null,
  invoice_id uuid not null,
  line_id uuid not null,
  position integer not null,
  name text collate "C",
  category text collate "C",
  rate_percent numeric not null,
  region_id uuid,
  amount numeric(16, 2) not null,
  taxable_amount numeric(16, 2) not null,
  tax_amount numeric(16, 2) not null,
  primary key (tenant_id, id),
  constraint invoice_line_tax_category_enum check (category in ('S', 'Z', 'E', 'AE', 'K', 'G', 'O')),
  constraint invoice_line_tax_amount_agrees check (name is not null or (taxable_amount = 0 and tax_amount = 0))
);
call add_references('invoice_line_tax', 'invoice_id', 'line_id: invoice_line', 'region_id: tax_region deferred');
call protect_tenant_table('invoice_line_tax', 'select, insert');
create index invoice_line_tax_invoice_id_index on invoice_line_tax (tenant_id, invoice_id, id);
create index invoice_line_tax_line_id_index on invoice_line_tax (tenant_id, line_id, position);

create table invoice_line_wip (
  tenant_id integer not null,
  line_id uuid not null,
  position integer not null,
  wip_entry_id uuid not null,
  primary key (tenant_id, line_id, "position")
);
call add_references('invoice_line_wip', 'line_id: invoice_line', 'wip_entry_id');
call protect_tenant_table('invoice_line_wip', 'select, insert');

-- The same as it was when the invoice was posted. It adds to the sums of jobs, until the invoice is voided.
create table invoice_billing (
  tenant_id integer not null,
  invoice_id uuid not null,
  job_id uuid not null,
  billed numeric(16,2) not null,
  fee numeric(16,2) not null,
  fee_without_work numeric(16,2) not null,
  primary key (tenant_id, invoice_id, job_id)
);
call add_references('invoice_billing', 'invoice_id', 'job_id');
call protect_tenant_table('invoice_billing', 'select, insert');
call index_columns('invoice_billing', 'job_id');

-- The amount that an invoice bills of each row of work in progress. Voiding the invoice restores exactly this amount.
create table wip_relief (
  tenant_id integer not null,
  invoice_id uuid not null,
  wip_entry_id uuid not null,
  billed numeric(16,2) not null,
  write_up numeric(16,2) not null,
  write_off numeric(16,2) not null,
  primary key (tenant_id, invoice_id, wip_entry_id)
);
call add_references('wip_relief', 'invoice_id', 'wip_entry_id');
call protect_tenant_table('wip_relief', 'select, insert');
call index_columns('wip_relief', 'wip_entry_id');

create function priced_line("position" integer, quantity numeric, unit_amount numeric, amount numeric, taxable boolean, tax_rate_percent numeric,
  tax_amount numeric, taxes jsonb) returns jsonb language sql immutable parallel safe
  return jsonb_build_object('position', "position", 'quantity', quantity, 'unit_amount', unit_amount, 'amount', amount, 'taxable', taxable,
    'tax_rate_percent', tax_rate_percent, 'tax_amount', tax_amount,
    'taxes', taxes);

-- Whether the amounts of lines are those of their prices and taxes: each tax is within a unit of the exact one, and what is rounded
-- together is exact: the tax of a line, the taxes in a price, or a tax over the document.
-- The tax that an import states is that of its lines, and nothing else of it is calculated.
create function are_priced(lines jsonb, prices_include_tax boolean, tax_rounding text, places integer) returns boolean language sql immutable parallel safe as $$
  with line as materialized (
    select l.*, l.amount + case when prices_include_tax then l.tax_amount else 0 end as price
    from jsonb_to_recordset(lines) l ("position" integer, quantity numeric, unit_amount numeric, amount numeric, taxable boolean,
      tax_rate_percent numeric, tax_amount numeric, taxes jsonb)),
  tax as materialized (
    select l."position", l.amount, l.price, l.tax_rate_percent as all_percent, t.name, t."ratePercent" as rate, t.category, t."regionId" as region,
      t.amount as tax, case when prices_include_tax then included_part(l.price, t."ratePercent", l.tax_rate_percent) else tax_part(l.amount, t."ratePercent") end as exact
    from line l cross join lateral jsonb_to_recordset(l.taxes) t (name text, "ratePercent" numeric, category text, "regionId" uuid, amount numeric)
    where l.taxable)
  select coalesce(not exists (
      select from line l left join (select "position", sum(rate) as rate, sum(tax) as tax from tax group by 1) t using ("position")
      where line_amount(quantity, unit_amount, places) <> price or taxable <> (t.tax is not null) or tax_amount <> coalesce(t.tax, 0)
        or tax_rate_percent <> coalesce(t.rate, tax_rate_percent))
    and (tax_rounding = 'STATED' or not exists (select from tax where abs(tax - exact) >= power(10::numeric, -places))
    and case
      when tax_rounding = 'DOCUMENT' then not exists (
        select from (select name, rate, category, region, sum(tax) as tax, sum(amount) as amount, included_part(sum(price), rate, all_percent) as part
          from tax group by name, rate, category, region, all_percent) t
        group by name, rate, category, region
        having sum(tax) <> case when prices_include_tax then round(sum(part), places) else line_tax(sum(amount), true, rate, places) end)
      when prices_include_tax then not exists (
        select from line where taxable and tax_amount <> round(included_part(price, tax_rate_percent, tax_rate_percent), places))
      else not exists (select from tax where tax <> line_tax(amount, true, rate, places)) end), true)
$$;

create function taxes_of_line(tenant integer, invoice uuid, line uuid, line_amount numeric, line_rate numeric, taxes jsonb)
returns setof invoice_line_tax language sql immutable parallel safe as $$
  select tenant, case when t.ordinal > 1 then (left(line::text, 24) || left(md5(line::text || t.ordinal), 12))::uuid else line end,
    invoice, line, coalesce(t.ordinal, 1)::integer - 1, t.tax ->> 'name', t.tax ->> 'category', coalesce((t.tax ->> 'ratePercent')::numeric, line_rate),
    (t.tax ->> 'regionId')::uuid, case when t.ordinal > 1 then 0 else line_amount end, case when t.tax is null then 0 else line_amount end,
    coalesce((t.tax ->> 'amount')::numeric, 0)
  from (select) one left join jsonb_array_elements(taxes) with ordinality t (tax, ordinal) on true
$$;

create function report_taxes() returns trigger language plpgsql as $$
begin
  insert into invoice_line_tax
    select t.* from new_rows l cross join lateral taxes_of_line(l.tenant_id, l.invoice_id, l.id, l.amount, l.tax_rate_percent, l.taxes) t;
  return null;
end
$$;
-- The sums of documents and payments must agree with their lines and allocations when a transaction commits. Whoever writes
-- them calculates these sums; the database rejects wrong ones.
create function check_draft_invoice() returns trigger language plpgsql as $$
declare
  draft draft_invoice;
  lines record;
  held record;
begin
  select * into draft from draft_invoice d where d.tenant_id = new.tenant_id and d.id = new.id;
  select coalesce(sum(subtotal_of(line_type, amount)), 0) as subtotal, coalesce(sum(discount_of(line_type, amount)), 0) as discount_total,
      coalesce(sum(interest_of(line_type, amount)), 0) as interest_total, coalesce(sum(tax_amount), 0) as tax_total,
      are_priced(jsonb_agg(priced_line(l.position, l.quantity, l.unit_amount, l.amount, l.taxable, l.tax_rate_percent, l.tax_amount, l.taxes)), draft.prices_include_tax, draft.tax_rounding, minor_units(draft.currency)) as are_priced
    into lines from draft_invoice_line l where l.tenant_id = draft.tenant_id and l.draft_invoice_id = draft.id;
  if not lines.are_priced then
    raise exception 'a line of draft % has a wrong amount', draft.id
      using errcode = 'check_violation', constraint = 'draft_invoice_line_amount_agrees', table = 'draft_invoice_line';
  end if;
  if (draft.subtotal, draft.discount_total, draft.interest_total, draft.tax_total)
    is distinct from (lines.subtotal, lines.discount_total, lines.interest_total, lines.tax_total) then
    raise exception 'the totals of draft % are not those of its lines', draft.id
      using errcode = 'check_violation', constraint = 'draft_invoice_total_agrees', table = 'draft_invoice';
  end if;
  if draft.status in ('DRAFT', 'IN_REVIEW', 'REJECTED') then
    select count(*) as named, count(distinct w.id) filter (
        where w.status = 'IN_DRAFT' and w.draft_invoice_id = draft.id and w.client_id = draft.client_id
          and w.currency = draft.currency) as reserved
      into held
      from draft_invoice_line l
      join draft_invoice_line_wip lw on lw.tenant_id = l.tenant_id and lw.line_id = l.id
      join wip_entry w on w.tenant_id = lw.tenant_id and w.id = lw.wip_entry_id
      where l.tenant_id = draft.tenant_id and l.draft_invoice_id = draft.id;
    if held.named <> held.reserved then
      raise exception 'draft % names work in progress that it does not hold', draft.id
        using errcode = 'check_violation', constraint = 'draft_invoice_lines_held', table = 'draft_invoice';
    end if;
  end if;
  return null;
end
$$;

create function check_invoice() returns trigger language plpgsql as $$
declare
  bill invoice;
  lines record;
  covered record;
begin
  select * into bill from invoice i where i.tenant_id = new.tenant_id and i.id = new.id;
  select coalesce(sum(paid_by(p.status, p.method, a.amount)), 0) as paid, coalesce(sum(credited_by(p.status, p.method, a.amount)), 0) as credited,
      coalesce(sum(pending_by(p.status, a.amount)), 0) as pending
    into covered
    from payment_allocation a join payment p on p.tenant_id = a.tenant_id and p.id = a.payment_id
    where a.tenant_id = bill.tenant_id and a.invoice_id = bill.id;
  if (bill.amount_paid, bill.amount_credited, bill.amount_pending)
    is distinct from (covered.paid, covered.credited, covered.pending) then
    raise exception 'what covers invoice % is not what is allocated to it', bill.id
      using errcode = 'check_violation', constraint = 'invoice_allocations_agree', table = 'invoice';
  end if;
  if tg_op = 'INSERT' then
    select coalesce(sum(subtotal_of(line_type, amount)), 0) as subtotal, coalesce(sum(discount_of(line_type, amount)), 0) as discount_total,
        coalesce(sum(interest_of(line_type, amount)), 0) as interest_total, coalesce(sum(tax_amount), 0) as tax_total,
        are_priced(jsonb_agg(priced_line(l.position, l.quantity, l.unit_amount, l.amount, l.taxable, l.tax_rate_percent, l.tax_amount, l.taxes)), bill.prices_include_tax, case when bill.tax_as_stated then 'STATED' else bill.tax_rounding end, minor_units(bill.currency)) as are_priced
      into lines from invoice_line l where l.tenant_id = bill.tenant_id and l.invoice_id = bill.id;
    if not lines.are_priced then
      raise exception 'a line of invoice % has a wrong amount', bill.id
        using errcode = 'check_violation', constraint = 'invoice_line_amount_agrees', table = 'invoice_line';
    end if;
    if (bill.subtotal, bill.discount_total, bill.interest_total, bill.tax_total)
      is distinct from (lines.subtotal, lines.discount_total, lines.interest_total, lines.tax_total) then
      raise exception 'the totals of invoice % are not those of its lines', bill.id
        using errcode = 'check_violation', constraint = 'invoice_total_agrees', table = 'invoice';
    end if;
    if bill.draft_invoice_id is not null and not exists (
      select 1 from draft_invoice d
      where d.tenant_id = bill.tenant_id and d.id = bill.draft_invoice_id and d.total = bill.total and d.invoice_id = bill.id)
    then
      raise exception 'invoice % and its draft disagree', bill.id
        using errcode = 'check_violation', constraint = 'invoice_draft_invoice_id_agrees', table = 'invoice';
    end if;
    if (select coalesce(sum(r.billed), 0) from wip_relief r where r.tenant_id = bill.tenant_id and r.invoice_id = bill.id)
      is distinct from (select coalesce(sum(l.amount), 0) from invoice_line l
        where l.tenant_id = bill.tenant_id and l.invoice_id = bill.id and exists (
          select 1 from invoice_line_wip lw where lw.tenant_id = l.tenant_id and lw.line_id = l.id)) then
      raise exception 'invoice % bills another amount of work in progress than its lines', bill.id
        using errcode = 'check_violation', constraint = 'invoice_relief_agrees', table = 'invoice';
    end if;
  end if;
  return null;
end
$$;

-- The credit notes of an invoice together are at most its total. Whoever posts a note locks the invoice, so no two are checked at once.
create function check_credited_total() returns trigger language plpgsql as $$
begin
  if (select coalesce(sum(-note.total), 0) from invoice note
      where note.tenant_id = new.tenant_id and note.credited_invoice_id = new.credited_invoice_id and note.status <> 'VOIDED')
    > (select total from invoice where tenant_id = new.tenant_id and id = new.credited_invoice_id) then
    raise exception 'the credit notes of % exceed its total', new.credited_invoice_id
      using errcode = 'check_violation', constraint = 'invoice_credited_total_range', table = 'invoice';
  end if;
  return null;
end
$$;

-- Responses include the balances of a client from invoices and payments, as they do its work in progress: a change of one is a new
-- version of the client.
create procedure add_balances(changes balance_change[]) language sql
begin atomic
  update client k set outstanding_balance = limited(k.outstanding_balance + c.outstanding),
    unapplied_credit = limited(k.unapplied_credit + c.unapplied), version = k.version + 1,
    updated_at = greatest(k.updated_at, tenant_now())
  from (select tenant_id, client_id, currency, sum(outstanding) as outstanding, sum(unapplied) as unapplied
    from unnest(changes) group by 1, 2, 3 having sum(outstanding) <> 0 or sum(unapplied) <> 0) c
  where k.tenant_id = c.tenant_id and k.id = c.client_id and k.currency = c.currency;
end;

create function sum_invoices() returns trigger language plpgsql as $$
declare
  changes balance_change[];
begin
  if tg_op = 'INSERT' then
    select array_agg((tenant_id, client_id, currency, outstanding(status, amount_due), 0)::balance_change)
    into changes from new_rows;
  else
    select array_agg(change) into changes from (
      select (tenant_id, client_id, currency, outstanding(status, amount_due), 0)::balance_change as change from new_rows
      union all
      select (tenant_id, client_id, currency, -outstanding(status, amount_due), 0)::balance_change from old_rows) all_rows;
  end if;
  call add_balances(changes);
  return null;
end
$$;

-- An entry and the closing of its period exclude each other: entries share the lock, and closing needs it alone. Closing waits for
-- entries that are not committed yet, and entries after it see the closed period.
-- Entries of a payment that has no client are of the org that received it.
create function check_open_period() returns trigger language plpgsql as $$
declare
  closed record;
begin
  perform pg_advisory_xact_lock_shared(72304, (select e.tenant_id from new_rows e limit 1));
  select e.id, e.business_date, o.books_closed_through into closed
    from new_rows e
    left join client k on k.tenant_id = e.tenant_id and k.id = e.client_id
    left join payment p on p.tenant_id = e.tenant_id and p.id = e.payment_id and e.client_id is null
    join org o on o.tenant_id = e.tenant_id and o.id = coalesce(k.org_id, p.org_id)
    where e.business_date <= o.books_closed_through
    limit 1;
  if found then
    raise exception 'the books are closed through %, and entry % is of %', closed.books_closed_through, closed.id, closed.business_date
      using errcode = 'check_violation', constraint = 'ledger_entry_period_open', table = 'ledger_entry';
  end if;
  return null;
end
$$;

create function lock_periods() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(72304, new.tenant_id);
  return new;
end
$$;

create procedure add_billing(changes billing_change[]) language sql
begin atomic
  update job j set billed_amount = limited(j.billed_amount + c.billed),
    billed_fee_amount = limited(j.billed_fee_amount + c.fee),
    fee_without_work_amount = limited(j.fee_without_work_amount + c.fee_without_work), version = j.version + 1,
    updated_at = greatest(j.updated_at, tenant_now())
  from (select tenant_id, job_id, sum(billed) as billed, sum(fee) as fee, sum(fee_without_work) as fee_without_work
    from unnest(changes) group by 1, 2) c
  where j.tenant_id = c.tenant_id and j.id = c.job_id;
end;

create function sum_billing() returns trigger language plpgsql as $$
declare
  changes billing_change[];
begin
  select array_agg((b.tenant_id, b.job_id, b.billed, b.fee, b.fee_without_work)::billing_change) into changes
  from new_rows b join invoice i on i.tenant_id = b.tenant_id and i.id = b.invoice_id where is_billing(i.status);
  if changes is not null then
    call add_billing(changes);
  end if;
  return null;
end
$$;

create function subtract_billing() returns trigger language plpgsql as $$
declare
  changes billing_change[];
begin
  select array_agg((tenant_id, job_id, -billed, -fee, -fee_without_work)::billing_change) into changes
  from invoice_billing where tenant_id = new.tenant_id and invoice_id = new.id;
  call add_billing(changes);
  return null;
end
$$;

call add_trigger('invoice_line_reported', 'after insert on invoice_line referencing new table as new_rows for each statement', 'report_taxes()');

create trigger draft_invoice_history_immutable
  before delete or update on draft_invoice_history for each row
  execute function refuse_change_but_merge();

call add_trigger('invoice_sum_inserted', 'after insert on invoice referencing new table as new_rows for each statement', 'sum_invoices()');
call add_trigger('invoice_sum_updated', 'after update on invoice referencing old table as old_rows new table as new_rows for each statement',
  'sum_invoices()');
call add_trigger('org_periods_locked', 'before update of books_closed_through on org for each row', 'lock_periods()',
  'old.books_closed_through is distinct from new.books_closed_through');
call add_trigger('invoice_billing_sum_inserted', 'after insert on invoice_billing referencing new table as new_rows for each statement',
  'sum_billing()');
call add_trigger('invoice_billing_voided', 'after update on invoice for each row', 'subtract_billing()',
  'is_billing(old.status) and not is_billing(new.status)');
call check_at_commit('draft_invoice_agrees', 'after insert or update on draft_invoice', 'check_draft_invoice()');
call check_at_commit('invoice_agrees_inserted', 'after insert on invoice', 'check_invoice()');
call check_at_commit('invoice_agrees_updated', 'after update on invoice', 'check_invoice()',
  '(old.amount_paid is distinct from new.amount_paid) or (old.amount_credited is distinct from new.amount_credited)
    or (old.amount_pending is distinct from new.amount_pending) or (old.status is distinct from new.status)');
call check_at_commit('invoice_credited_total', 'after insert or update on invoice', 'check_credited_total()',
  'new.credited_invoice_id is not null and new.status <> ''VOIDED''');
