create table quick_payment_link (
  like entity_columns including defaults including indexes,
  url text collate "C" not null,
  -- The page finds its link by this.
  token_hash bytea not null,
  client_id uuid not null,
  amount numeric(16,2),
  currency text collate "C" not null,
  note text collate "C",
  status text collate "C" not null default 'ACTIVE',
  expires_at timestamptz(3) not null,
  created_by_api_user_id uuid not null,
  payment_id uuid,
  used_at timestamptz(3),
  constraint quick_payment_link_status_enum check (status in ('ACTIVE', 'PROCESSING', 'USED', 'EXPIRED', 'INVALIDATED', 'CANCELLED')),
  constraint quick_payment_link_amount_range check (amount > 0),
  constraint quick_payment_link_payment_id_agrees check ((status = 'USED') = (payment_id is not null) and (status = 'USED') = (used_at is not null)),
  constraint quick_payment_link_active_agrees check (active = (status <> 'CANCELLED')),
  constraint quick_payment_link_token_hash_unique unique (tenant_id, token_hash)
);
call add_references('quick_payment_link', 'client_id');
create index quick_payment_link_client_id_index on quick_payment_link (tenant_id, client_id, id);
create index quick_payment_link_expires_at_index on quick_payment_link (tenant_id, expires_at) where (status = 'ACTIVE');
create index quick_payment_link_status_index on quick_payment_link (tenant_id, status, id);
call refuse_merged('quick_payment_link', 'client_id');

create table quick_payment_link_invoice (
  tenant_id integer not null,
  quick_payment_link_id uuid not null,
  position integer not null,
  invoice_id uuid not null,
  amount_due_at_creation numeric(16,2) not null,
  primary key (tenant_id, quick_payment_link_id, "position"),
  constraint quick_payment_link_invoice_link_reference foreign key (tenant_id, quick_payment_link_id) references quick_payment_link (tenant_id, id)
);
call add_references('quick_payment_link_invoice', 'invoice_id');
call protect_tenant_table('quick_payment_link_invoice', 'select, insert');
call index_columns('quick_payment_link_invoice', 'invoice_id');

-- The tenant of each token of a link. A request for the page names no tenant, so this table belongs to none, and only the owner of the
-- tables reads it. Row-level security protects everything else of the link.
create table payment_link_token (
  token_hash bytea not null,
  tenant integer not null,
  quick_payment_link_id uuid not null,
  primary key (token_hash)
);

create table payment (
  like entity_columns including defaults including indexes,
  payment_number text collate "C" not null,
  pms_ref text collate "C",
  -- Unknown until the payer is identified. Until then, the money is that of the org.
  client_id uuid,
  org_id uuid,
  payer_contact_id uuid,
  payer_name text collate "C",
  payer_email text collate "C",
  payment_date date not null,
  amount numeric(16,2) not null,
  currency text collate "C" not null,
  method text collate "C" not null,
  status text collate "C" not null default 'COMPLETED',
  source text collate "C" not null,
  quick_payment_link_id uuid,
  processor text collate "C",
  processor_ref text collate "C",
  card_brand text collate "C",
  last4 text collate "C",
  surcharge_amount numeric(16,2) not null default 0,
  fee_amount numeric(16,2) not null default 0,
  unapplied_amount numeric(16,2) not null default 0,
  refunded_amount numeric(16,2) not null default 0,
  failure_code text collate "C",
  failure_message text collate "C",
  settled_at timestamptz(3),
  returned_at timestamptz(3),
  refunded_at timestamptz(3),
  note text collate "C",
  check_number text collate "C",
  batch_ref text collate "C",
  net_amount numeric(16,2) not null generated always as (case method when 'CREDIT' then 0 else ((amount + surcharge_amount) - fee_amount) end) stored,
  credit_note_id uuid,
  constraint payment_method_enum check (method in ('ACH', 'CARD', 'CHECK', 'WIRE', 'CASH', 'CREDIT', 'OTHER')),
  constraint payment_status_enum check (
    status in ('PENDING', 'COMPLETED', 'FAILED', 'RETURNED', 'PARTIALLY_REFUNDED', 'REFUNDED', 'VOIDED')),
  constraint payment_quick_payment_link_id_agrees check ((source = 'QUICK_PAYMENT_LINK') = (quick_payment_link_id is not null)),
  constraint payment_amount_range check (amount > 0),
  constraint payment_surcharge_amount_range check (surcharge_amount >= 0),
  constraint payment_fee_amount_range check (fee_amount between 0 and amount + surcharge_amount),
  constraint payment_refunded_amount_range check (refunded_amount between 0 and amount),
  constraint payment_last4_pattern check (last4 ~ '^[0-9]{4}$'),
  constraint payment_payment_number_unique unique (tenant_id, payment_number),
  constraint payment_pms_ref_unique unique (tenant_id, pms_ref),
  constraint payment_processor_ref_unique unique (tenant_id, processor_ref),
  constraint payment_client_id_agrees check (
    client_id is not null or (org_id is not null and method <> 'CREDIT' and quick_payment_link_id is null)),
  constraint payment_unapplied_amount_range check (
  case status when 'RETURNED' then unapplied_amount = -refunded_amount else unapplied_amount >= 0 end),
  constraint payment_refunded_amount_agrees check (
  case status
    when 'REFUNDED' then refunded_amount = amount
    when 'PARTIALLY_REFUNDED' then refunded_amount > 0 and refunded_amount < amount
    when 'VOIDED' then refunded_amount < amount
    when 'RETURNED' then true
    else refunded_amount = 0
  end),
  constraint payment_net_amount_bound check (net_amount < 1e13),
  constraint payment_credit_note_id_unique unique (tenant_id, credit_note_id),
  constraint payment_source_enum check (source in ('QUICK_PAYMENT_LINK', 'PORTAL', 'MANUAL', 'AUTOPAY', 'IMPORT', 'CREDIT_NOTE')),
  constraint payment_credit_note_id_agrees check (
  (source = 'CREDIT_NOTE') = (credit_note_id is not null)
  and (source <> 'CREDIT_NOTE' or (method = 'CREDIT' and status in ('COMPLETED', 'VOIDED') and refunded_amount = 0)))
);
call add_references('payment', 'org_id', 'client_id', 'payer_contact_id: contact', 'quick_payment_link_id', 'credit_note_id: invoice');
call index_orders('payment', 'client_id', 'payment_date', 'amount', 'status', 'settled_at', 'created_at', 'active', 'active desc');
create index payment_org_id_index on payment (tenant_id, org_id, id) where (org_id is not null);
create index payment_unapplied_index on payment (tenant_id, client_id) where (unapplied_amount > 0);
create index payment_refs_index on payment using gin (tenant_id, payment_number gin_trgm_ops, lower((payment_number collate fa_case)) collate "C" gin_trgm_ops, pms_ref gin_trgm_ops, lower((pms_ref collate fa_case)) collate "C" gin_trgm_ops, processor_ref gin_trgm_ops, lower((processor_ref collate fa_case)) collate "C" gin_trgm_ops);
create index payment_quick_payment_link_id_index on payment (tenant_id, quick_payment_link_id) where (quick_payment_link_id is not null);
create index payment_batches_index on payment using gin (tenant_id, check_number gin_trgm_ops, (lower(check_number collate fa_case) collate "C") gin_trgm_ops, batch_ref gin_trgm_ops, (lower(batch_ref collate fa_case) collate "C") gin_trgm_ops);
call refuse_merged('payment', 'client_id');
call add_references('quick_payment_link', 'payment_id deferred');

-- The invoices that a payment is allocated to: as planned while it is pending, and as applied once it counts.
create table payment_allocation (
  tenant_id integer not null,
  payment_id uuid not null,
  position integer not null,
  invoice_id uuid not null,
  amount numeric(16,2) not null,
  allocated_at timestamptz(3),
  constraint payment_allocation_amount_range check (amount > 0),
  primary key (tenant_id, payment_id, "position"),
  constraint payment_allocation_invoice_id_unique unique (tenant_id, payment_id, invoice_id)
);
call add_references('payment_allocation', 'payment_id', 'invoice_id');
call protect_tenant_table('payment_allocation', 'select, insert, delete');
call index_columns('payment_allocation', 'invoice_id');

-- One attempt to pay a link. It is stored together with the link's change to PROCESSING, before the call of the processor, so that
-- it can be completed or released whatever happens to this process. Its id is the processor's idempotency key.
create table payment_attempt (
  tenant_id integer not null,
  id uuid not null,
  quick_payment_link_id uuid not null,
  status text collate "C" not null default 'OPEN',
  processor text collate "C" not null,
  -- The processor's key, once it is known.
  reference text collate "C",
  method text collate "C" not null,
  amount numeric(16,2) not null,
  currency text collate "C" not null,
  payer_name text collate "C" not null,
  payer_email text collate "C",
  description text collate "C" not null,
  -- The browser that pays: only it can see the receipt and continue with a challenge.
  session_hash bytea not null,
  -- The URL at which the payer must continue, such as a challenge of the bank.
  action_url text collate "C",
  failure_code text collate "C",
  failure_message text collate "C",
  payment_id uuid,
  created_at timestamptz(3) not null default tenant_now(),
  -- How often the processor was polled since the last change, and when it is polled next.
  checks integer not null default 0,
  next_check_at timestamptz(3),
  -- When it was last polled in between, for a payer who waits.
  checked_at timestamptz(3),
  -- Money that was captured although its link could no longer be paid. It is a payment like any other, does not use the link, and
  -- is refunded: next to it, the link can have the payment that uses it.
  to_refund boolean not null default false,
  constraint payment_attempt_method_enum check (method in ('CARD', 'ACH')),
  constraint payment_attempt_amount_range check (amount > 0),
  constraint payment_attempt_payment_id_agrees check ((status in ('OPEN', 'DECLINED')) = (payment_id is null)),
  primary key (tenant_id, id),
  constraint payment_attempt_status_enum check (status in ('OPEN', 'DECLINED', 'PENDING', 'COMPLETED', 'FAILED', 'RETURNED', 'REFUNDED')),
  constraint payment_attempt_to_refund_agrees check (not to_refund or status not in ('OPEN', 'DECLINED'))
);
call add_references('payment_attempt', 'quick_payment_link_id', 'payment_id');
call protect_tenant_table('payment_attempt', 'select, insert, update');
create index payment_attempt_link_index on payment_attempt (tenant_id, quick_payment_link_id, id);
create index payment_attempt_next_check_at_index on payment_attempt (tenant_id, next_check_at) where (next_check_at is not null);
-- A link has one attempt that is open or was successful, however many were declined.
create unique index payment_attempt_quick_payment_link_id_unique on payment_attempt (tenant_id, quick_payment_link_id) where ((status <> 'DECLINED') and (NOT to_refund));

-- The payments of the sandbox processor. It acts as an external processor: it has no tenant, and its writes are separate transactions.
create table sandbox_payment (
  key uuid not null,
  reference text collate "C" not null,
  -- What happens to the payment, by the test number that was used.
  scenario text collate "C" not null,
  amount numeric(16,2) not null,
  fee numeric(16,2) not null,
  card_brand text collate "C",
  last4 text collate "C",
  submitted_at timestamptz(3) not null,
  challenge_approved boolean,
  -- When the service first read that a payment that will be returned was completed.
  captured_at timestamptz(3),
  -- A card is authorized first. `captured_at` was only set for payments that are returned.
  refunded_at timestamptz(3),
  primary key (key),
  constraint sandbox_payment_reference_unique unique (reference)
);

create function check_payment() returns trigger language plpgsql as $$
declare
  paid payment;
  allocated numeric;
begin
  select * into paid from payment p where p.tenant_id = new.tenant_id and p.id = new.id;
  select coalesce(sum(amount), 0) into allocated
    from payment_allocation a where a.tenant_id = paid.tenant_id and a.payment_id = paid.id;
  if paid.unapplied_amount <> unapplied(paid.status, paid.amount, paid.refunded_amount, allocated)
    or not (allocated = 0 or counts(paid.status) or paid.status = 'PENDING') then
    raise exception 'payment % does not add up', paid.id
      using errcode = 'check_violation', constraint = 'payment_amount_agrees', table = 'payment';
  end if;
  if paid.client_id is null and allocated > 0 then
    raise exception 'payment % of an unknown payer is allocated', paid.id
      using errcode = 'check_violation', constraint = 'payment_allocations_client', table = 'payment';
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
    having i.amount_paid <> sum(paid_by(p.status, p.method, a.amount))
      or i.amount_credited <> sum(credited_by(p.status, p.method, a.amount))
      or i.amount_pending <> sum(pending_by(p.status, a.amount))
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

create function sum_payments() returns trigger language plpgsql as $$
declare
  changes balance_change[];
begin
  if tg_op = 'INSERT' then
    select array_agg((tenant_id, client_id, currency, 0, held(status, unapplied_amount))::balance_change)
    into changes from new_rows;
  else
    select array_agg(change) into changes from (
      select (tenant_id, client_id, currency, 0, held(status, unapplied_amount))::balance_change as change from new_rows
      union all
      select (tenant_id, client_id, currency, 0, -held(status, unapplied_amount))::balance_change from old_rows) all_rows;
  end if;
  call add_balances(changes);
  return null;
end
$$;

-- A copy in the database of its original has the tokens of the same links. They lead to the tenant that had them first, unless it is closed.
create function keep_payment_link_token() returns trigger language plpgsql security definer as $$
begin
  if current_setting('app.copies_rows', true) = 'on' then
    insert into payment_link_token as known values (new.token_hash, new.tenant_id, new.id)
    on conflict (token_hash) do update set tenant = excluded.tenant, quick_payment_link_id = excluded.quick_payment_link_id
      where not exists (select from tenant where tenant.id = known.tenant and tenant.active);
  else
    insert into payment_link_token values (new.token_hash, new.tenant_id, new.id);
  end if;
  return null;
end
$$;
do $$
begin
  execute format('alter function keep_payment_link_token() set search_path = pg_catalog, %I, pg_temp', current_schema());
end
$$;

call add_trigger('payment_sum_inserted', 'after insert on payment referencing new table as new_rows for each statement', 'sum_payments()');
call add_trigger('payment_sum_updated', 'after update on payment referencing old table as old_rows new table as new_rows for each statement',
  'sum_payments()');

create trigger quick_payment_link_token
  after insert on quick_payment_link for each row
  execute function keep_payment_link_token();

call check_at_commit('payment_agrees', 'after insert or update on payment', 'check_payment()');
