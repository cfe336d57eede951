-- What an hour of a staff member is billed at, by period: the billing rate and the average rate are one row, so neither
-- exists without the other. Periods of one person never overlap. A period without an end lasts until another one starts.
create extension if not exists btree_gist;

create table staff_rate (
  tenant_id integer not null,
  staff_id uuid not null,
  effective_from_date date not null,
  effective_to_date date,
  billing_rate numeric not null,
  average_rate numeric not null,
  currency text collate "C" not null,
  rate_card_id uuid,
  rate_card_name text collate "C",
  primary key (tenant_id, staff_id, effective_from_date),
  constraint staff_rate_staff_id_reference foreign key (tenant_id, staff_id) references staff (tenant_id, id),
  constraint staff_rate_effective_to_date_order check (effective_to_date >= effective_from_date),
  constraint staff_rate_billing_rate_range
    check (billing_rate >= 0 and billing_rate < 1e11 and scale(billing_rate) <= 4),
  constraint staff_rate_average_rate_range
    check (average_rate >= 0 and average_rate < 1e11 and scale(average_rate) <= 4),
  constraint staff_rate_period_unique
    exclude using gist (tenant_id with =, staff_id with =, daterange(effective_from_date, effective_to_date, '[]') with &&)
);
call protect_tenant_table('staff_rate', 'select, insert, update, delete');
