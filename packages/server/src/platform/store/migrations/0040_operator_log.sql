-- Commands of operators that belong to no tenant: signing keys, new tenants. Requests have no rights on it.
create table operator_log (
  id uuid primary key,
  occurred_at timestamptz(3) not null default now(),
  operation text collate "C" not null,
  subject text collate "C" not null,
  details jsonb
);
create trigger operator_log_append_only before update or delete or truncate on operator_log
  for each statement execute function refuse_change();

-- Retiring a signing key ends the API keys that it signed, so the log says which.
alter table api_key add column signing_kid text collate "C";
