-- The import of a tenant writes all rows of a tenant as they are, those that triggers derive from others included. Meanwhile, the setting
-- `app.copies_rows` is on for its transaction, and triggers that derive or check rows do nothing; the import checks all rows at the end.
-- A condition of the trigger, because the ordinary owner cannot set `session_replication_role`, which would also turn off references,
-- because disabling a trigger locks the table for all tenants, and because a condition that is false queues nothing until the commit.
-- locks: access exclusive on draft_invoice, access exclusive on invoice, access exclusive on ledger_entry, access exclusive on payment, access exclusive on wip_entry, share row exclusive on draft_invoice, share row exclusive on engagement, share row exclusive on event_subscription, share row exclusive on expense_entry, share row exclusive on invoice, share row exclusive on invoice_billing, share row exclusive on ledger_entry, share row exclusive on org, share row exclusive on outbox_event, share row exclusive on payment, share row exclusive on payment_attempt, share row exclusive on quick_payment_link, share row exclusive on tenant, share row exclusive on time_entry, share row exclusive on wip_entry

do $$
declare
  one record;
begin
  for one in
    select format('%I', t.tgname) as name, t.tgrelid::regclass as tab, t.tgconstraint <> 0 as is_constraint, case
        when pg_get_triggerdef(t.oid) like '% WHEN (%' then
          regexp_replace(pg_get_triggerdef(t.oid), ' WHEN \((.*)\) EXECUTE FUNCTION ',
            ' WHEN ((\1) and current_setting(''app.copies_rows'', true) is distinct from ''on'') EXECUTE FUNCTION ')
        else replace(pg_get_triggerdef(t.oid), ' EXECUTE FUNCTION ',
          ' WHEN (current_setting(''app.copies_rows'', true) is distinct from ''on'') EXECUTE FUNCTION ')
      end as definition
    from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_proc f on f.oid = t.tgfoid
    where c.relnamespace = current_schema()::regnamespace and not t.tgisinternal
      -- Rows that must not change do not change in a copy either, tokens of links are found without their tenant, and workers wait for jobs.
      and f.proname not in ('refuse_change', 'keep_payment_link_token', 'announce_jobs')
    order by c.relname, t.tgname
  loop
    if one.is_constraint then
      execute format('drop trigger %s on %s', one.name, one.tab);
      execute one.definition;
    else
      execute regexp_replace(one.definition, '^CREATE TRIGGER', 'CREATE OR REPLACE TRIGGER');
    end if;
  end loop;
end
$$;

-- A credit note and its draft can be copied before the invoice that they credit. In all other transactions, it is checked at once, as before.
alter table invoice alter constraint invoice_credited_invoice_id_reference deferrable initially immediate;
alter table draft_invoice alter constraint draft_invoice_credited_invoice_id_reference deferrable initially immediate;

-- A copy in the database of its original has the tokens of the same links. They lead to the tenant that had them first, unless it is closed.
create or replace function keep_payment_link_token() returns trigger language plpgsql security definer as $$
begin
  if current_setting('app.copies_rows', true) = 'on' then
    insert into payment_link_token as known values (new.token_hash, new.tenant_id, new.id)
    on conflict (token_hash) do update set tenant = excluded.tenant, quick_payment_link_id = excluded.quick_payment_link_id
      where not exists (select from tenant where tenant.id = known.tenant and tenant.active);
  else
    insert into payment_link_token values (new.token_hash, new.tenant_id, new.id);
  end if;
  return null;
end
$$;
do $$
begin
  execute format('alter function keep_payment_link_token() set search_path = pg_catalog, %I, pg_temp', current_schema());
end
$$;

-- Imports that have not ended: the content of files is stored before the transaction of the rows commits. What an interrupted one has
-- left behind is found by this, and the number of the tenant is not given twice.
create table tenant_import (
  tenant integer primary key,
  name text collate "C" not null,
  started_at timestamptz(3) not null default now(),
  constraint tenant_import_name_unique unique (name)
);
