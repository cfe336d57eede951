-- Compared when the transaction ends, because a new main client replaces the other one within it.
-- locks: share row exclusive on contact_client

create function check_one_primary() returns trigger language plpgsql as $$
begin
  if exists (
    select from contact_client l where l.tenant_id = new.tenant_id and l.contact_id = new.contact_id and l.active and l.is_primary
    offset 1) then
    raise exception 'contact % has two main clients', new.contact_id
      using errcode = 'check_violation', constraint = 'contact_client_one_primary', table = 'contact_client';
  end if;
  return null;
end
$$;

create constraint trigger contact_client_one_primary after insert or update of is_primary, active on contact_client
  deferrable initially deferred for each row
  when (new.active and new.is_primary and current_setting('app.copies_rows', true) is distinct from 'on')
  execute function check_one_primary();
