-- The sums of the entries from before the triggers.
-- without transaction
-- locks: none

do $$
declare
  one integer;
begin
  for one in select id from tenant loop
    -- Row-level security shows the owner of the tables the rows of this tenant, too.
    perform set_config('app.tenant_id', one::text, true);
    perform write_day_sums(one);
  end loop;
end
$$;
