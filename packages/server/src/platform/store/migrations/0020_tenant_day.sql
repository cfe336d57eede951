-- The tenant's calendar in SQL. Each connection has the time zone of its tenant (`app.time_zone`), set together with the
-- tenant. Both functions are inlined into the statement that calls them. Without a tenant they fail, as tenant tables do.
create function tenant_day(instant timestamptz) returns date
  language sql stable parallel safe
  return (instant at time zone current_setting('app.time_zone'))::date;

-- The day of the transaction's start, in the tenant's time zone: the same in every statement of a transaction.
create function today() returns date
  language sql stable parallel safe
  return tenant_day(now());

-- Requests cannot read `tenant`. Binding a connection requires its time zone.
create function tenant_time_zone(tenant_id integer) returns text
  language sql stable security definer
  return (select time_zone from tenant where id = tenant_time_zone.tenant_id);
