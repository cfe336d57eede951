-- A statement that changes the tenant itself is about no other: it fails while the writes of the tenant are stopped, instead of changing
-- nothing.
-- locks: none

create or replace function watch_moved_row() returns trigger language plpgsql as $$
declare
  keys jsonb[];
begin
  if current_setting('app.moves_tenant', true) is distinct from 'on' then
    if tg_op <> 'INSERT' then
      keys := array[(select coalesce(jsonb_object_agg(name, to_jsonb(old) -> name), '{}') from unnest(tg_argv[2:]) name)];
    end if;
    if tg_op <> 'DELETE' then
      keys := array_append(keys, (select coalesce(jsonb_object_agg(name, to_jsonb(new) -> name), '{}') from unnest(tg_argv[2:]) name));
    end if;
    if not note_moved_row(tg_argv[0]::integer, tg_argv[1], keys) then
      if tg_argv[1] = 'tenant' or current_setting('app.tenant_id', true) = tg_argv[0] then
        raise exception 'the tenant % moves to another database', tg_argv[0] using errcode = 'MV001';
      end if;
      -- Statements for the jobs and deliveries of all tenants go on with the others.
      return null;
    end if;
  end if;
  if tg_op = 'DELETE' then
    return old;
  end if;
  return new;
end
$$;
