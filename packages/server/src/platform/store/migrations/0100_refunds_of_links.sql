-- Money that was captured although its link could no longer be paid. It is a payment like any other, does not use the link, and
-- is refunded: next to it, the link can have the payment that uses it.
alter table payment_attempt add column to_refund boolean not null default false;
alter table payment_attempt drop constraint payment_attempt_status_enum;
alter table payment_attempt add constraint payment_attempt_status_enum
  check (status in ('OPEN', 'DECLINED', 'PENDING', 'COMPLETED', 'FAILED', 'RETURNED', 'REFUNDED')) not valid;
alter table payment_attempt add constraint payment_attempt_to_refund_agrees
  check (not to_refund or status not in ('OPEN', 'DECLINED')) not valid;
drop index payment_attempt_quick_payment_link_id_unique;
create unique index payment_attempt_quick_payment_link_id_unique on payment_attempt (tenant_id, quick_payment_link_id)
  where status <> 'DECLINED' and not to_refund;

-- That a link is used once follows from its own `payment_id`.
alter table payment drop constraint payment_quick_payment_link_id_unique;
create index payment_quick_payment_link_id_index on payment (tenant_id, quick_payment_link_id)
  where quick_payment_link_id is not null;

-- A card is authorized first. `captured_at` was only set for payments that are returned.
alter table sandbox_payment add column refunded_at timestamptz(3);
