-- The tables of the hosted payment page: the link of each token, each attempt to pay, and the payments of the sandbox processor.

-- The tenant of each token of a link. A request for the page names no tenant, so this table belongs to none, and only the owner of the
-- tables reads it. Row-level security protects everything else of the link.
create table payment_link_token (
  token_hash bytea primary key,
  tenant integer not null,
  quick_payment_link_id uuid not null
);

create function keep_payment_link_token() returns trigger language plpgsql security definer as $$
begin
  insert into payment_link_token values (new.token_hash, new.tenant_id, new.id);
  return null;
end
$$;
do $$
begin
  execute format('alter function keep_payment_link_token() set search_path = pg_catalog, %I, pg_temp', current_schema());
end
$$;
create trigger quick_payment_link_token after insert on quick_payment_link
  for each row execute function keep_payment_link_token();

call lift_protection('quick_payment_link');
insert into payment_link_token select token_hash, tenant_id, id from quick_payment_link;
call restore_protection('quick_payment_link');

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
  amount numeric(16, 2) not null,
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
  created_at timestamptz(3) not null default now(),
  -- How often the processor was polled since the last change, and when it is polled next.
  checks integer not null default 0,
  next_check_at timestamptz(3),
  -- When it was last polled in between, for a payer who waits.
  checked_at timestamptz(3),
  primary key (tenant_id, id),
  constraint payment_attempt_quick_payment_link_id_reference
    foreign key (tenant_id, quick_payment_link_id) references quick_payment_link (tenant_id, id),
  constraint payment_attempt_payment_id_reference foreign key (tenant_id, payment_id) references payment (tenant_id, id),
  constraint payment_attempt_status_enum
    check (status in ('OPEN', 'DECLINED', 'PENDING', 'COMPLETED', 'FAILED', 'RETURNED')),
  constraint payment_attempt_method_enum check (method in ('CARD', 'ACH')),
  constraint payment_attempt_amount_range check (amount > 0),
  constraint payment_attempt_payment_id_agrees check ((status in ('OPEN', 'DECLINED')) = (payment_id is null))
);
call protect_tenant_table('payment_attempt', 'select, insert, update');
-- A link has one attempt that is open or was successful, however many were declined.
create unique index payment_attempt_quick_payment_link_id_unique on payment_attempt (tenant_id, quick_payment_link_id)
  where status <> 'DECLINED';
create index payment_attempt_link_index on payment_attempt (tenant_id, quick_payment_link_id, id);
create index payment_attempt_next_check_at_index on payment_attempt (tenant_id, next_check_at)
  where next_check_at is not null;

-- The payments of the sandbox processor. It acts as an external processor: it has no tenant, and its writes are separate transactions.
create table sandbox_payment (
  key uuid primary key,
  reference text collate "C" not null,
  -- What happens to the payment, by the test number that was used.
  scenario text collate "C" not null,
  amount numeric(16, 2) not null,
  fee numeric(16, 2) not null,
  card_brand text collate "C",
  last4 text collate "C",
  submitted_at timestamptz(3) not null,
  challenge_approved boolean,
  -- When the service first read that a payment that will be returned was completed.
  captured_at timestamptz(3),
  constraint sandbox_payment_reference_unique unique (reference)
);
