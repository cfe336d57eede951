-- Tenants that leave. A closed one is exported, waits, and is deleted; a name that a tenant had before leads to it.
-- locks: access exclusive on tenant, access exclusive on tenant_place, share row exclusive on tenant

alter table tenant add column closed_at timestamptz(3), add column delete_after timestamptz(3);

alter table tenant_place add column renamed_to text collate "C";

-- What a reference from every table to its tenant would do, without a lock on the row of the tenant and a look-up for each row that is written:
-- those who remove the tenant look in all tables, also in those of later migrations.
create function tenant_is_empty() returns trigger language plpgsql as $$
declare
  tenant_table regclass;
  has_rows boolean;
begin
  perform set_config('app.tenant_id', old.id::text, true);
  for tenant_table in
    select c.oid from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  loop
    execute format('select exists (select from %s where tenant_id = $1)', tenant_table) into has_rows using old.id;
    if has_rows then
      raise exception 'the tenant % has rows in %', old.id, tenant_table
        using errcode = 'foreign_key_violation', table = tenant_table::text, constraint = 'tenant_is_empty';
    end if;
  end loop;
  return old;
end
$$;

create trigger tenant_is_empty before delete on tenant for each row execute function tenant_is_empty();
-- Also for those who leave out the checks of references.
alter table tenant enable always trigger tenant_is_empty;
