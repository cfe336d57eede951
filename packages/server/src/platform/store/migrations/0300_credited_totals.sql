-- locks: share row exclusive on invoice

-- The credit notes of an invoice together are at most its total. Whoever posts a note locks the invoice, so no two are checked at once.
create function check_credited_total() returns trigger language plpgsql as $$
begin
  if (select coalesce(sum(-note.total), 0) from invoice note
      where note.tenant_id = new.tenant_id and note.credited_invoice_id = new.credited_invoice_id and note.status <> 'VOIDED')
    > (select total from invoice where tenant_id = new.tenant_id and id = new.credited_invoice_id) then
    raise exception 'the credit notes of % exceed its total', new.credited_invoice_id
      using errcode = 'check_violation', constraint = 'invoice_credited_total_range', table = 'invoice';
  end if;
  return null;
end
$$;
create constraint trigger invoice_credited_total after insert or update on invoice
  deferrable initially deferred for each row
  when (new.credited_invoice_id is not null and new.status <> 'VOIDED'
    and current_setting('app.copies_rows', true) is distinct from 'on')
  execute function check_credited_total();
