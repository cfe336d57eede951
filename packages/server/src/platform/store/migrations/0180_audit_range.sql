-- The audit log becomes a table of months in three steps, without a rewrite: this one says that all rows that it has now, and those of
-- the next weeks, are before an instant; 0181 proves it; and 0182 makes the table the first partition of a new one.
-- locks: access exclusive on audit_log

-- IDs begin with the milliseconds of their creation (UUID version 7), so the IDs of a month are a range.
create function first_id_at(instant timestamptz) returns uuid language sql immutable parallel safe as $$
  select (lpad(to_hex(floor(extract(epoch from instant) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

create function instant_of_id(id uuid) returns timestamptz language sql immutable parallel safe as $$
  select to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
$$;

-- The start of a month that is at least four weeks ahead: the check must not reject rows before 0182 is applied.
do $$
begin
  execute format('alter table audit_log add constraint audit_log_first_range check (id < %L) not valid',
    first_id_at(date_trunc('month', now() at time zone 'UTC' + interval '2 months') at time zone 'UTC'));
end
$$;
