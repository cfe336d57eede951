-- Draft invoices and their history, invoices, payments, and the links that payments come through.

create table draft_invoice (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  draft_number text collate "C" not null,
  client_id uuid not null,
  job_ids uuid[] not null default '{}',
  billing_contact_id uuid,
  status text collate "C" not null default 'DRAFT',
  bill_through_date date not null,
  proposed_invoice_date date not null,
  due_date date not null,
  standard_amount numeric(16, 2) not null default 0,
  adjustment_amount numeric(16, 2) not null default 0,
  subtotal numeric(16, 2) not null default 0,
  discount_total numeric(16, 2) not null default 0,
  tax_total numeric(16, 2) not null default 0,
  interest_total numeric(16, 2) not null default 0,
  total numeric(16, 2) not null default 0,
  currency text collate "C" not null,
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
  primary key (tenant_id, id),
  constraint draft_invoice_system_ref_unique unique (tenant_id, system_ref),
  constraint draft_invoice_draft_number_unique unique (tenant_id, draft_number),
  constraint draft_invoice_client_id_reference foreign key (tenant_id, client_id) references client (tenant_id, id),
  constraint draft_invoice_billing_contact_id_reference
    foreign key (tenant_id, billing_contact_id) references contact (tenant_id, id),
  constraint draft_invoice_prepared_by_id_reference foreign key (tenant_id, prepared_by_id) references staff (tenant_id, id),
  constraint draft_invoice_reviewer_id_reference foreign key (tenant_id, reviewer_id) references staff (tenant_id, id),
  constraint draft_invoice_approved_by_id_reference foreign key (tenant_id, approved_by_id) references staff (tenant_id, id),
  constraint draft_invoice_status_enum
    check (status in ('DRAFT', 'IN_REVIEW', 'APPROVED', 'REJECTED', 'POSTED', 'DELETED')),
  constraint draft_invoice_due_date_order check (due_date >= proposed_invoice_date),
  constraint draft_invoice_discount_total_range check (discount_total >= 0),
  constraint draft_invoice_interest_total_range check (interest_total >= 0),
  constraint draft_invoice_total_agrees check (total = subtotal - discount_total + tax_total + interest_total),
  constraint draft_invoice_total_range check (total >= 0 or status in ('DRAFT', 'DELETED')),
  constraint draft_invoice_rejection_reason_agrees check ((status = 'REJECTED') = (rejection_reason is not null)),
  constraint draft_invoice_invoice_id_agrees check ((status = 'POSTED') = (invoice_id is not null)),
  constraint draft_invoice_active_agrees check (active = (status <> 'DELETED'))
);
call protect_entity_table('draft_invoice');
create index draft_invoice_client_id_index on draft_invoice (tenant_id, client_id, status);

create table draft_invoice_line (
  tenant_id integer not null,
  draft_invoice_id uuid not null,
  position integer not null,
  id uuid not null,
  line_type text collate "C" not null,
  job_id uuid,
  description text collate "C" not null,
  quantity numeric not null,
  unit_amount numeric not null,
  amount numeric(16, 2) not null,
  taxable boolean not null,
  tax_rate_percent numeric not null,
  tax_amount numeric(16, 2) not null,
  primary key (tenant_id, id),
  constraint draft_invoice_line_draft_invoice_id_reference
    foreign key (tenant_id, draft_invoice_id) references draft_invoice (tenant_id, id),
  constraint draft_invoice_line_job_id_reference foreign key (tenant_id, job_id) references job (tenant_id, id),
  constraint draft_invoice_line_line_type_enum
    check (line_type in ('TIME', 'EXPENSE', 'FIXED_FEE', 'PROGRESS', 'DISCOUNT', 'INTEREST', 'OTHER')),
  constraint draft_invoice_line_quantity_range check (abs(quantity) < 1e11 and scale(quantity) <= 4),
  constraint draft_invoice_line_unit_amount_range check (abs(unit_amount) < 1e11 and scale(unit_amount) <= 4),
  constraint draft_invoice_line_tax_rate_percent_range
    check (tax_rate_percent between 0 and 100 and scale(tax_rate_percent) <= 4),
  constraint draft_invoice_line_amount_agrees check (amount = round(quantity * unit_amount, 2)),
  constraint draft_invoice_line_tax_amount_agrees
    check (tax_amount = case when taxable then round(amount * tax_rate_percent / 100, 2) else 0 end)
);
call protect_tenant_table('draft_invoice_line', 'select, insert, delete');
create index draft_invoice_line_draft_invoice_id_index on draft_invoice_line (tenant_id, draft_invoice_id, position);

create table draft_invoice_line_wip (
  tenant_id integer not null,
  line_id uuid not null,
  position integer not null,
  wip_entry_id uuid not null,
  primary key (tenant_id, line_id, position),
  constraint draft_invoice_line_wip_line_id_reference
    foreign key (tenant_id, line_id) references draft_invoice_line (tenant_id, id) on delete cascade,
  constraint draft_invoice_line_wip_wip_entry_id_reference
    foreign key (tenant_id, wip_entry_id) references wip_entry (tenant_id, id)
);
call protect_tenant_table('draft_invoice_line_wip', 'select, insert, delete');

-- A row for each revision of a draft, which never changes.
create table draft_invoice_history (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
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
  total numeric(16, 2) not null,
  draft_invoice jsonb not null,
  primary key (tenant_id, id),
  constraint draft_invoice_history_system_ref_unique unique (tenant_id, system_ref),
  constraint draft_invoice_history_revision_unique unique (tenant_id, draft_invoice_id, revision),
  constraint draft_invoice_history_draft_invoice_id_reference
    foreign key (tenant_id, draft_invoice_id) references draft_invoice (tenant_id, id) deferrable initially deferred,
  constraint draft_invoice_history_changed_by_id_reference
    foreign key (tenant_id, changed_by_id) references staff (tenant_id, id),
  constraint draft_invoice_history_client_id_reference foreign key (tenant_id, client_id) references client (tenant_id, id),
  constraint draft_invoice_history_action_enum
    check (action in ('CREATED', 'EDITED', 'SUBMITTED', 'APPROVED', 'REJECTED', 'POSTED', 'DELETED')),
  constraint draft_invoice_history_from_status_enum
    check (from_status in ('DRAFT', 'IN_REVIEW', 'APPROVED', 'REJECTED', 'POSTED', 'DELETED')),
  constraint draft_invoice_history_to_status_enum
    check (to_status in ('DRAFT', 'IN_REVIEW', 'APPROVED', 'REJECTED', 'POSTED', 'DELETED'))
);
call protect_tenant_table('draft_invoice_history', 'select, insert');
create trigger draft_invoice_history_immutable before update or delete on draft_invoice_history
  for each row execute function refuse_change();
create index draft_invoice_history_updated_at_index on draft_invoice_history (tenant_id, updated_at, id);
create index draft_invoice_history_changed_at_index on draft_invoice_history (tenant_id, changed_at, id);
create index draft_invoice_history_client_id_index on draft_invoice_history (tenant_id, client_id, changed_at, id);
create index draft_invoice_history_to_status_index on draft_invoice_history (tenant_id, to_status, id);
create index draft_invoice_history_invoice_id_index on draft_invoice_history (tenant_id, invoice_id)
  where invoice_id is not null;
create index draft_invoice_history_job_ids_index on draft_invoice_history using gin (tenant_id, job_ids);

create table invoice (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  invoice_number text collate "C" not null,
  pms_ref text collate "C",
  client_id uuid not null,
  -- The legal entity that numbers the invoice.
  org_id uuid not null,
  job_ids uuid[] not null default '{}',
  engagement_id uuid,
  draft_invoice_id uuid,
  status text collate "C" not null default 'POSTED',
  invoice_date date not null,
  due_date date not null,
  posted_at timestamptz(3),
  paid_at timestamptz(3),
  voided_at timestamptz(3),
  overdue_at timestamptz(3),
  void_reason text collate "C",
  write_off_reason text collate "C",
  subtotal numeric(16, 2) not null default 0,
  discount_total numeric(16, 2) not null default 0,
  tax_total numeric(16, 2) not null default 0,
  interest_total numeric(16, 2) not null default 0,
  total numeric(16, 2) not null default 0,
  amount_paid numeric(16, 2) not null default 0,
  amount_credited numeric(16, 2) not null default 0,
  amount_written_off numeric(16, 2) not null default 0,
  amount_pending numeric(16, 2) not null default 0,
  amount_due numeric(16, 2) not null generated always as (
    case when status = 'VOIDED' then 0 else total - amount_paid - amount_credited - amount_written_off end) stored,
  currency text collate "C" not null,
  tax_region_id uuid,
  billing_contact_id uuid,
  line1 text collate "C",
  line2 text collate "C",
  city text collate "C",
  state text collate "C",
  postal_code text collate "C",
  country text collate "C",
  purchase_order text collate "C",
  memo text collate "C",
  pdf_file_id uuid,
  sent_at timestamptz(3),
  primary key (tenant_id, id),
  constraint invoice_system_ref_unique unique (tenant_id, system_ref),
  constraint invoice_invoice_number_unique unique (tenant_id, invoice_number),
  constraint invoice_pms_ref_unique unique (tenant_id, pms_ref),
  constraint invoice_draft_invoice_id_unique unique (tenant_id, draft_invoice_id),
  constraint invoice_client_id_reference foreign key (tenant_id, client_id) references client (tenant_id, id),
  constraint invoice_org_id_reference foreign key (tenant_id, org_id) references org (tenant_id, id),
  constraint invoice_draft_invoice_id_reference
    foreign key (tenant_id, draft_invoice_id) references draft_invoice (tenant_id, id),
  constraint invoice_tax_region_id_reference foreign key (tenant_id, tax_region_id) references tax_region (tenant_id, id),
  constraint invoice_billing_contact_id_reference
    foreign key (tenant_id, billing_contact_id) references contact (tenant_id, id),
  constraint invoice_status_enum
    check (status in ('PENDING', 'POSTED', 'PARTIALLY_PAID', 'PAID', 'VOIDED', 'WRITTEN_OFF')),
  constraint invoice_due_date_order check (due_date >= invoice_date),
  constraint invoice_total_agrees check (total = subtotal - discount_total + tax_total + interest_total),
  constraint invoice_total_range check (total >= 0),
  constraint invoice_amount_paid_range check (amount_paid >= 0),
  constraint invoice_amount_credited_range check (amount_credited >= 0),
  constraint invoice_amount_written_off_range check (amount_written_off >= 0),
  constraint invoice_amount_due_range check (amount_due >= 0),
  constraint invoice_amount_pending_range check (amount_pending between 0 and amount_due),
  constraint invoice_amount_due_agrees check (
    case status
      when 'PENDING' then amount_paid = 0 and amount_credited = 0 and amount_pending = 0 and amount_written_off = 0
      when 'POSTED' then amount_paid = 0 and amount_credited = 0 and amount_written_off = 0 and amount_due > 0
      when 'PARTIALLY_PAID' then amount_paid + amount_credited > 0 and amount_written_off = 0 and amount_due > 0
      when 'PAID' then amount_due = 0 and amount_written_off = 0
      when 'VOIDED' then amount_paid = 0 and amount_credited = 0 and amount_pending = 0 and amount_written_off = 0
      else amount_due = 0
    end),
  constraint invoice_posted_at_agrees check ((status = 'PENDING') = (posted_at is null)),
  constraint invoice_paid_at_agrees check ((status = 'PAID') = (paid_at is not null)),
  constraint invoice_voided_at_agrees
    check ((status = 'VOIDED') = (voided_at is not null) and (status = 'VOIDED') = (void_reason is not null)),
  constraint invoice_write_off_reason_agrees check ((status = 'WRITTEN_OFF') = (write_off_reason is not null))
);
call protect_entity_table('invoice');
create index invoice_client_id_index on invoice (tenant_id, client_id, id);
create index invoice_open_index on invoice (tenant_id, client_id, due_date, id) include (currency, amount_due)
  where status in ('POSTED', 'PARTIALLY_PAID');
create index invoice_overdue_index on invoice (tenant_id, due_date, id)
  where status in ('POSTED', 'PARTIALLY_PAID');
create index invoice_falling_due_index on invoice (tenant_id, due_date)
  where overdue_at is null and status in ('POSTED', 'PARTIALLY_PAID');
create index invoice_status_index on invoice (tenant_id, status, id);
create index invoice_invoice_date_index on invoice (tenant_id, invoice_date, id);
create index invoice_due_date_index on invoice (tenant_id, due_date, id);
create index invoice_posted_at_index on invoice (tenant_id, posted_at, id);
create index invoice_paid_at_index on invoice (tenant_id, paid_at, id);
create index invoice_overdue_at_index on invoice (tenant_id, overdue_at, id);
create index invoice_total_index on invoice (tenant_id, total, id);
create index invoice_amount_due_index on invoice (tenant_id, amount_due, id);
create index invoice_job_ids_index on invoice using gin (tenant_id, job_ids);

create table invoice_line (
  tenant_id integer not null,
  invoice_id uuid not null,
  position integer not null,
  id uuid not null,
  line_type text collate "C" not null,
  job_id uuid,
  description text collate "C" not null,
  quantity numeric not null,
  unit_amount numeric not null,
  amount numeric(16, 2) not null,
  taxable boolean not null,
  tax_rate_percent numeric not null,
  tax_amount numeric(16, 2) not null,
  primary key (tenant_id, id),
  constraint invoice_line_invoice_id_reference foreign key (tenant_id, invoice_id) references invoice (tenant_id, id),
  constraint invoice_line_job_id_reference foreign key (tenant_id, job_id) references job (tenant_id, id),
  constraint invoice_line_line_type_enum
    check (line_type in ('TIME', 'EXPENSE', 'FIXED_FEE', 'PROGRESS', 'DISCOUNT', 'INTEREST', 'OTHER')),
  constraint invoice_line_quantity_range check (abs(quantity) < 1e11 and scale(quantity) <= 4),
  constraint invoice_line_unit_amount_range check (abs(unit_amount) < 1e11 and scale(unit_amount) <= 4),
  constraint invoice_line_tax_rate_percent_range
    check (tax_rate_percent between 0 and 100 and scale(tax_rate_percent) <= 4),
  constraint invoice_line_amount_agrees check (amount = round(quantity * unit_amount, 2)),
  constraint invoice_line_tax_amount_agrees
    check (tax_amount = case when taxable then round(amount * tax_rate_percent / 100, 2) else 0 end)
);
-- Lines are written with their invoice and never change.
call protect_tenant_table('invoice_line', 'select, insert');
create index invoice_line_invoice_id_index on invoice_line (tenant_id, invoice_id, position);

create table invoice_line_wip (
  tenant_id integer not null,
  line_id uuid not null,
  position integer not null,
  wip_entry_id uuid not null,
  primary key (tenant_id, line_id, position),
  constraint invoice_line_wip_line_id_reference foreign key (tenant_id, line_id) references invoice_line (tenant_id, id),
  constraint invoice_line_wip_wip_entry_id_reference
    foreign key (tenant_id, wip_entry_id) references wip_entry (tenant_id, id)
);
call protect_tenant_table('invoice_line_wip', 'select, insert');

-- The amount that an invoice bills of each row of work in progress. Voiding the invoice restores exactly this amount.
create table wip_relief (
  tenant_id integer not null,
  invoice_id uuid not null,
  wip_entry_id uuid not null,
  billed numeric(16, 2) not null,
  write_up numeric(16, 2) not null,
  write_off numeric(16, 2) not null,
  primary key (tenant_id, invoice_id, wip_entry_id),
  constraint wip_relief_invoice_id_reference foreign key (tenant_id, invoice_id) references invoice (tenant_id, id),
  constraint wip_relief_wip_entry_id_reference foreign key (tenant_id, wip_entry_id) references wip_entry (tenant_id, id)
);
call protect_tenant_table('wip_relief', 'select, insert');
create index wip_relief_wip_entry_id_index on wip_relief (tenant_id, wip_entry_id);

call lift_protection('draft_invoice', 'draft_invoice_history', 'invoice', 'wip_entry');
alter table draft_invoice add constraint draft_invoice_invoice_id_reference
  foreign key (tenant_id, invoice_id) references invoice (tenant_id, id) deferrable initially deferred;
alter table draft_invoice_history add constraint draft_invoice_history_invoice_id_reference
  foreign key (tenant_id, invoice_id) references invoice (tenant_id, id) deferrable initially deferred;
alter table wip_entry add constraint wip_entry_draft_invoice_id_reference
  foreign key (tenant_id, draft_invoice_id) references draft_invoice (tenant_id, id) deferrable initially deferred;
alter table wip_entry add constraint wip_entry_invoice_id_reference
  foreign key (tenant_id, invoice_id) references invoice (tenant_id, id) deferrable initially deferred;
call restore_protection('draft_invoice', 'draft_invoice_history', 'invoice', 'wip_entry');

create table quick_payment_link (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  url text collate "C" not null,
  -- The page finds its link by this.
  token_hash bytea not null,
  client_id uuid not null,
  amount numeric(16, 2),
  currency text collate "C" not null,
  note text collate "C",
  status text collate "C" not null default 'ACTIVE',
  expires_at timestamptz(3) not null,
  created_by_api_user_id uuid not null,
  payment_id uuid,
  used_at timestamptz(3),
  primary key (tenant_id, id),
  constraint quick_payment_link_system_ref_unique unique (tenant_id, system_ref),
  constraint quick_payment_link_token_hash_unique unique (tenant_id, token_hash),
  constraint quick_payment_link_client_id_reference foreign key (tenant_id, client_id) references client (tenant_id, id),
  constraint quick_payment_link_status_enum
    check (status in ('ACTIVE', 'PROCESSING', 'USED', 'EXPIRED', 'INVALIDATED', 'CANCELLED')),
  constraint quick_payment_link_amount_range check (amount > 0),
  constraint quick_payment_link_payment_id_agrees
    check ((status = 'USED') = (payment_id is not null) and (status = 'USED') = (used_at is not null)),
  constraint quick_payment_link_active_agrees check (active = (status <> 'CANCELLED'))
);
call protect_entity_table('quick_payment_link');
create index quick_payment_link_client_id_index on quick_payment_link (tenant_id, client_id, id);
create index quick_payment_link_expires_at_index on quick_payment_link (tenant_id, expires_at) where status = 'ACTIVE';

create table quick_payment_link_invoice (
  tenant_id integer not null,
  quick_payment_link_id uuid not null,
  position integer not null,
  invoice_id uuid not null,
  amount_due_at_creation numeric(16, 2) not null,
  primary key (tenant_id, quick_payment_link_id, position),
  constraint quick_payment_link_invoice_link_reference
    foreign key (tenant_id, quick_payment_link_id) references quick_payment_link (tenant_id, id),
  constraint quick_payment_link_invoice_invoice_id_reference
    foreign key (tenant_id, invoice_id) references invoice (tenant_id, id)
);
call protect_tenant_table('quick_payment_link_invoice', 'select, insert');
create index quick_payment_link_invoice_invoice_id_index on quick_payment_link_invoice (tenant_id, invoice_id);

create table payment (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  payment_number text collate "C" not null,
  pms_ref text collate "C",
  client_id uuid not null,
  payer_contact_id uuid,
  payer_name text collate "C",
  payer_email text collate "C",
  payment_date date not null,
  amount numeric(16, 2) not null,
  currency text collate "C" not null,
  method text collate "C" not null,
  status text collate "C" not null default 'COMPLETED',
  source text collate "C" not null,
  quick_payment_link_id uuid,
  processor text collate "C",
  processor_ref text collate "C",
  card_brand text collate "C",
  last4 text collate "C",
  surcharge_amount numeric(16, 2) not null default 0,
  fee_amount numeric(16, 2) not null default 0,
  net_amount numeric(16, 2) not null generated always as (amount + surcharge_amount - fee_amount) stored,
  unapplied_amount numeric(16, 2) not null default 0,
  refunded_amount numeric(16, 2) not null default 0,
  failure_code text collate "C",
  failure_message text collate "C",
  settled_at timestamptz(3),
  returned_at timestamptz(3),
  refunded_at timestamptz(3),
  note text collate "C",
  check_number text collate "C",
  batch_ref text collate "C",
  primary key (tenant_id, id),
  constraint payment_system_ref_unique unique (tenant_id, system_ref),
  constraint payment_payment_number_unique unique (tenant_id, payment_number),
  constraint payment_pms_ref_unique unique (tenant_id, pms_ref),
  constraint payment_processor_ref_unique unique (tenant_id, processor_ref),
  -- A link is paid at most once.
  constraint payment_quick_payment_link_id_unique unique (tenant_id, quick_payment_link_id),
  constraint payment_client_id_reference foreign key (tenant_id, client_id) references client (tenant_id, id),
  constraint payment_payer_contact_id_reference
    foreign key (tenant_id, payer_contact_id) references contact (tenant_id, id),
  constraint payment_quick_payment_link_id_reference
    foreign key (tenant_id, quick_payment_link_id) references quick_payment_link (tenant_id, id),
  constraint payment_method_enum check (method in ('ACH', 'CARD', 'CHECK', 'WIRE', 'CASH', 'CREDIT', 'OTHER')),
  constraint payment_status_enum check (
    status in ('PENDING', 'COMPLETED', 'FAILED', 'RETURNED', 'PARTIALLY_REFUNDED', 'REFUNDED', 'VOIDED')),
  constraint payment_source_enum check (source in ('QUICK_PAYMENT_LINK', 'PORTAL', 'MANUAL', 'AUTOPAY', 'IMPORT')),
  constraint payment_quick_payment_link_id_agrees
    check ((source = 'QUICK_PAYMENT_LINK') = (quick_payment_link_id is not null)),
  constraint payment_amount_range check (amount > 0),
  constraint payment_surcharge_amount_range check (surcharge_amount >= 0),
  constraint payment_fee_amount_range check (fee_amount between 0 and amount + surcharge_amount),
  constraint payment_unapplied_amount_range check (unapplied_amount >= 0),
  constraint payment_refunded_amount_range check (refunded_amount between 0 and amount),
  constraint payment_last4_pattern check (last4 ~ '^[0-9]{4}$'),
  constraint payment_refunded_amount_agrees check (
    case status
      when 'REFUNDED' then refunded_amount = amount
      when 'PARTIALLY_REFUNDED' then refunded_amount > 0 and refunded_amount < amount
      else refunded_amount = 0
    end)
);
call protect_entity_table('payment');
create index payment_client_id_index on payment (tenant_id, client_id, id);
create index payment_payment_date_index on payment (tenant_id, payment_date, id);
create index payment_amount_index on payment (tenant_id, amount, id);
create index payment_status_index on payment (tenant_id, status, id);
create index payment_settled_at_index on payment (tenant_id, settled_at, id);
create index payment_unapplied_index on payment (tenant_id, client_id) where unapplied_amount > 0;

call lift_protection('quick_payment_link', 'payment');
alter table quick_payment_link add constraint quick_payment_link_payment_id_reference
  foreign key (tenant_id, payment_id) references payment (tenant_id, id) deferrable initially deferred;
call restore_protection('quick_payment_link', 'payment');

-- The invoices that a payment is allocated to: as planned while it is pending, and as applied once it counts.
create table payment_allocation (
  tenant_id integer not null,
  payment_id uuid not null,
  position integer not null,
  invoice_id uuid not null,
  amount numeric(16, 2) not null,
  allocated_at timestamptz(3),
  primary key (tenant_id, payment_id, position),
  constraint payment_allocation_invoice_id_unique unique (tenant_id, payment_id, invoice_id),
  constraint payment_allocation_payment_id_reference foreign key (tenant_id, payment_id) references payment (tenant_id, id),
  constraint payment_allocation_invoice_id_reference foreign key (tenant_id, invoice_id) references invoice (tenant_id, id),
  constraint payment_allocation_amount_range check (amount > 0)
);
call protect_tenant_table('payment_allocation', 'select, insert, delete');
create index payment_allocation_invoice_id_index on payment_allocation (tenant_id, invoice_id);

create function counts(payment_status text) returns boolean language sql immutable parallel safe
  return payment_status in ('COMPLETED', 'PARTIALLY_REFUNDED', 'REFUNDED');

-- The sums of documents and payments must agree with their lines and allocations when a transaction commits. Whoever writes
-- them calculates these sums; the database rejects wrong ones.
create function check_draft_invoice() returns trigger language plpgsql as $$
declare
  draft draft_invoice;
  lines record;
  held record;
begin
  select * into draft from draft_invoice d where d.tenant_id = new.tenant_id and d.id = new.id;
  select coalesce(sum(amount) filter (where line_type not in ('DISCOUNT', 'INTEREST')), 0) as subtotal,
      -coalesce(sum(amount) filter (where line_type = 'DISCOUNT'), 0) as discount_total,
      coalesce(sum(amount) filter (where line_type = 'INTEREST'), 0) as interest_total,
      coalesce(sum(tax_amount), 0) as tax_total
    into lines from draft_invoice_line l where l.tenant_id = draft.tenant_id and l.draft_invoice_id = draft.id;
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
create constraint trigger draft_invoice_agrees after insert or update on draft_invoice
  deferrable initially deferred for each row execute function check_draft_invoice();

create function check_invoice() returns trigger language plpgsql as $$
declare
  bill invoice;
  lines record;
  covered record;
begin
  select * into bill from invoice i where i.tenant_id = new.tenant_id and i.id = new.id;
  select coalesce(sum(p_amount) filter (where counted and method <> 'CREDIT'), 0) as paid,
      coalesce(sum(p_amount) filter (where counted and method = 'CREDIT'), 0) as credited,
      coalesce(sum(p_amount) filter (where status = 'PENDING'), 0) as pending
    into covered
    from (select a.amount as p_amount, counts(p.status) as counted, p.method, p.status
      from payment_allocation a join payment p on p.tenant_id = a.tenant_id and p.id = a.payment_id
      where a.tenant_id = bill.tenant_id and a.invoice_id = bill.id) allocations;
  if (bill.amount_paid, bill.amount_credited, bill.amount_pending)
    is distinct from (covered.paid, covered.credited, covered.pending) then
    raise exception 'what covers invoice % is not what is allocated to it', bill.id
      using errcode = 'check_violation', constraint = 'invoice_allocations_agree', table = 'invoice';
  end if;
  if tg_op = 'INSERT' then
    select coalesce(sum(amount) filter (where line_type not in ('DISCOUNT', 'INTEREST')), 0) as subtotal,
        -coalesce(sum(amount) filter (where line_type = 'DISCOUNT'), 0) as discount_total,
        coalesce(sum(amount) filter (where line_type = 'INTEREST'), 0) as interest_total,
        coalesce(sum(tax_amount), 0) as tax_total
      into lines from invoice_line l where l.tenant_id = bill.tenant_id and l.invoice_id = bill.id;
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
create constraint trigger invoice_agrees_inserted after insert on invoice
  deferrable initially deferred for each row execute function check_invoice();
create constraint trigger invoice_agrees_updated after update on invoice
  deferrable initially deferred for each row
  when (old.amount_paid is distinct from new.amount_paid or old.amount_credited is distinct from new.amount_credited
    or old.amount_pending is distinct from new.amount_pending or old.status is distinct from new.status)
  execute function check_invoice();

create function check_payment() returns trigger language plpgsql as $$
declare
  paid payment;
  allocated numeric;
begin
  select * into paid from payment p where p.tenant_id = new.tenant_id and p.id = new.id;
  select coalesce(sum(amount), 0) into allocated
    from payment_allocation a where a.tenant_id = paid.tenant_id and a.payment_id = paid.id;
  if not (case
    when counts(paid.status) then paid.amount = allocated + paid.unapplied_amount + paid.refunded_amount
    when paid.status = 'PENDING' then paid.amount = allocated + paid.unapplied_amount
    else allocated = 0 and paid.unapplied_amount = 0
  end) then
    raise exception 'payment % does not add up', paid.id
      using errcode = 'check_violation', constraint = 'payment_amount_agrees', table = 'payment';
  end if;
  -- Invoices whose amounts do not agree with their allocations.
  if exists (
    select 1
    from payment_allocation mine
    join invoice i on i.tenant_id = mine.tenant_id and i.id = mine.invoice_id
    join payment_allocation a on a.tenant_id = i.tenant_id and a.invoice_id = i.id
    join payment p on p.tenant_id = a.tenant_id and p.id = a.payment_id
    where mine.tenant_id = paid.tenant_id and mine.payment_id = paid.id
    group by i.id, i.amount_paid, i.amount_credited, i.amount_pending, i.currency
    having i.amount_paid <> coalesce(sum(a.amount) filter (where counts(p.status) and p.method <> 'CREDIT'), 0)
      or i.amount_credited <> coalesce(sum(a.amount) filter (where counts(p.status) and p.method = 'CREDIT'), 0)
      or i.amount_pending <> coalesce(sum(a.amount) filter (where p.status = 'PENDING'), 0)
      or i.currency <> paid.currency) then
    raise exception 'an invoice of payment % does not agree with what is allocated to it', paid.id
      using errcode = 'check_violation', constraint = 'payment_allocations_agree', table = 'payment';
  end if;
  if exists (
    select 1
    from payment_allocation a
    join invoice i on i.tenant_id = a.tenant_id and i.id = a.invoice_id
    join client billed on billed.tenant_id = i.tenant_id and billed.id = i.client_id
    join client payer on payer.tenant_id = a.tenant_id and payer.id = paid.client_id
    where a.tenant_id = paid.tenant_id and a.payment_id = paid.id and a.allocated_at = paid.updated_at
      and billed.id <> payer.id and billed.client_group_id is distinct from payer.client_group_id) then
    raise exception 'payment % goes to an invoice of another client', paid.id
      using errcode = 'check_violation', constraint = 'payment_allocations_client', table = 'payment';
  end if;
  return null;
end
$$;
create constraint trigger payment_agrees after insert or update on payment
  deferrable initially deferred for each row execute function check_payment();

-- A client's balances are sums over its invoices and payments in its currency, updated in the statement that changes these.
-- The overdue amount changes with the day, so it is calculated when it is read.
call lift_protection('client');
alter table client drop column overdue_balance;
call restore_protection('client');

create type balance_change as (tenant_id integer, client_id uuid, currency text, outstanding numeric, unapplied numeric);

create procedure add_balances(changes balance_change[]) language sql
begin atomic
  update client k set outstanding_balance = k.outstanding_balance + c.outstanding,
    unapplied_credit = k.unapplied_credit + c.unapplied
  from (select tenant_id, client_id, currency, sum(outstanding) as outstanding, sum(unapplied) as unapplied
    from unnest(changes) group by 1, 2, 3 having sum(outstanding) <> 0 or sum(unapplied) <> 0) c
  where k.tenant_id = c.tenant_id and k.id = c.client_id and k.currency = c.currency;
end;

-- Invoices that are posted: one that waits for this is not in the ledger.
create function outstanding(invoice_status text, amount_due numeric) returns numeric language sql immutable parallel safe
  return case when invoice_status = 'PENDING' then 0 else amount_due end;

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
create trigger invoice_sum_inserted after insert on invoice
  referencing new table as new_rows for each statement execute function sum_invoices();
create trigger invoice_sum_updated after update on invoice
  referencing old table as old_rows new table as new_rows for each statement execute function sum_invoices();

create function sum_payments() returns trigger language plpgsql as $$
declare
  changes balance_change[];
begin
  if tg_op = 'INSERT' then
    select array_agg((tenant_id, client_id, currency, 0, unapplied_amount)::balance_change)
    into changes from new_rows where counts(status);
  else
    select array_agg(change) into changes from (
      select (tenant_id, client_id, currency, 0, unapplied_amount)::balance_change as change
      from new_rows where counts(status)
      union all
      select (tenant_id, client_id, currency, 0, -unapplied_amount)::balance_change
      from old_rows where counts(status)) all_rows;
  end if;
  if changes is not null then
    call add_balances(changes);
  end if;
  return null;
end
$$;
create trigger payment_sum_inserted after insert on payment
  referencing new table as new_rows for each statement execute function sum_payments();
create trigger payment_sum_updated after update on payment
  referencing old table as old_rows new table as new_rows for each statement execute function sum_payments();
