-- A client that was merged into another one: no row refers to it any more, and the two tables whose rows never change follow it.
-- locks: access exclusive on client, share row exclusive on client, share row exclusive on client_group, share row exclusive on contact_client, share row exclusive on contact_info, share row exclusive on draft_invoice, share row exclusive on draft_invoice_history, share row exclusive on engagement, share row exclusive on file, share row exclusive on invoice, share row exclusive on job, share row exclusive on ledger_entry, share row exclusive on mail, share row exclusive on payment, share row exclusive on quick_payment_link, share row exclusive on wip_entry

alter table client add column merged_into_id uuid;
alter table client add constraint client_merged_into_id_other check (merged_into_id <> id) not valid;
alter table client add constraint client_merged_into_id_inactive check (merged_into_id is null or not active) not valid;
alter table client add constraint client_merged_into_id_reference foreign key (tenant_id, merged_into_id) references client (tenant_id, id)
  deferrable initially deferred not valid;

-- A transaction that has read the client before the merge: it runs again, and finds the one that has the rows now. The lock waits for a merge
-- that has not ended.
create function refuse_merged_client() returns trigger language plpgsql as $$
declare
  referred uuid;
  merged_into uuid;
begin
  if tg_argv[0] = 'client_id' then
    referred := new.client_id;
  else
    referred := (to_jsonb(new) ->> tg_argv[0])::uuid;
  end if;
  select k.merged_into_id into merged_into from client k where k.tenant_id = new.tenant_id and k.id = referred for key share;
  if merged_into is not null then
    raise exception 'the client % was merged into %', referred, merged_into using errcode = 'serialization_failure';
  end if;
  return null;
end
$$;

create trigger client_group_primary_client_id_present after insert or update of primary_client_id on client_group for each row
  when (new.primary_client_id is not null and current_setting('app.copies_rows', true) is distinct from 'on') execute function refuse_merged_client('primary_client_id');
create trigger client_parent_client_id_present after insert or update of parent_client_id on client for each row
  when (new.parent_client_id is not null and current_setting('app.copies_rows', true) is distinct from 'on') execute function refuse_merged_client('parent_client_id');
create trigger client_merged_into_id_present after insert or update of merged_into_id on client for each row
  when (new.merged_into_id is not null and current_setting('app.copies_rows', true) is distinct from 'on') execute function refuse_merged_client('merged_into_id');
create trigger contact_client_client_id_present after insert or update of client_id on contact_client for each row
  when (current_setting('app.copies_rows', true) is distinct from 'on') execute function refuse_merged_client('client_id');
create trigger contact_info_owner_id_present after insert or update of owner_id on contact_info for each row
  when (new.owner_type = 'CLIENT' and current_setting('app.copies_rows', true) is distinct from 'on') execute function refuse_merged_client('owner_client_id');
create trigger draft_invoice_client_id_present after insert or update of client_id on draft_invoice for each row
  when (current_setting('app.copies_rows', true) is distinct from 'on') execute function refuse_merged_client('client_id');
create trigger engagement_client_id_present after insert or update of client_id on engagement for each row
  when (current_setting('app.copies_rows', true) is distinct from 'on') execute function refuse_merged_client('client_id');
create trigger file_client_id_present after insert or update of client_id on file for each row
  when (new.client_id is not null and current_setting('app.copies_rows', true) is distinct from 'on') execute function refuse_merged_client('client_id');
create trigger invoice_client_id_present after insert or update of client_id on invoice for each row
  when (current_setting('app.copies_rows', true) is distinct from 'on') execute function refuse_merged_client('client_id');
create trigger job_client_id_present after insert or update of client_id on job for each row
  when (current_setting('app.copies_rows', true) is distinct from 'on') execute function refuse_merged_client('client_id');
create trigger mail_client_id_present after insert or update of client_id on mail for each row
  when (current_setting('app.copies_rows', true) is distinct from 'on') execute function refuse_merged_client('client_id');
create trigger payment_client_id_present after insert or update of client_id on payment for each row
  when (current_setting('app.copies_rows', true) is distinct from 'on') execute function refuse_merged_client('client_id');
create trigger quick_payment_link_client_id_present after insert or update of client_id on quick_payment_link for each row
  when (current_setting('app.copies_rows', true) is distinct from 'on') execute function refuse_merged_client('client_id');
create trigger wip_entry_client_id_present after insert or update of client_id on wip_entry for each row
  when (current_setting('app.copies_rows', true) is distinct from 'on') execute function refuse_merged_client('client_id');

-- Rows that are only inserted: the one change is that of a merge. A closed period keeps its entries and their days.
create function refuse_change_but_merge() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and to_jsonb(new) - 'client_id' = to_jsonb(old) - 'client_id'
    and new.client_id = (select k.merged_into_id from client k where k.tenant_id = old.tenant_id and k.id = old.client_id) then
    return new;
  end if;
  if current_setting('app.moves_tenant', true) = 'on' and current_user <> 'financial_automation_service' then
    if tg_op = 'DELETE' then
      return old;
    end if;
    return new;
  end if;
  raise exception 'rows of % are never changed or removed', tg_table_name using errcode = 'insufficient_privilege';
end
$$;
create or replace trigger ledger_entry_immutable before delete or update on ledger_entry for each row execute function refuse_change_but_merge();
grant update (client_id) on ledger_entry to financial_automation_service;
create or replace trigger draft_invoice_history_immutable before delete or update on draft_invoice_history for each row execute function refuse_change_but_merge();
grant update (client_id) on draft_invoice_history to financial_automation_service;

-- The sums of the months follow the entries.
create function move_ledger_sums() returns trigger language plpgsql as $$
begin
  insert into ledger_month as kept (tenant_id, account, client_id, currency, business_date, amount, entries)
  select tenant_id, account, client_id, currency, date_trunc('month', business_date::timestamp)::date, sum(amount), sum(entries)
  from (
    select tenant_id, account, client_id, currency, business_date, amount, 1 as entries from new_rows
    union all
    select tenant_id, account, client_id, currency, business_date, -amount, -1 from old_rows) moved
  group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (tenant_id, account, client_id, currency, business_date)
    do update set amount = kept.amount + excluded.amount, entries = kept.entries + excluded.entries;
  delete from ledger_month m using (select distinct tenant_id, client_id from old_rows) moved
  where m.tenant_id = moved.tenant_id and m.client_id = moved.client_id and m.entries = 0;
  return null;
end
$$;
create trigger ledger_entry_moved after update on ledger_entry referencing old table as old_rows new table as new_rows for each statement
  when (current_setting('app.copies_rows', true) is distinct from 'on') execute function move_ledger_sums();
