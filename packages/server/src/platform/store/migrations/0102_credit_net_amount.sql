-- A credit is no money that the firm received.
alter table payment drop column net_amount;
alter table payment add column net_amount numeric(16, 2) not null generated always as (
  case method when 'CREDIT' then 0 else amount + surcharge_amount - fee_amount end) stored;
alter table payment add constraint payment_net_amount_bound check (net_amount < 1e13) not valid;
