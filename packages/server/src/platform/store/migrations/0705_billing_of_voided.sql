-- An invoice that is imported as voided never bills its jobs: it is not billing when its billing is stored.
-- locks: none

create or replace function sum_billing() returns trigger language plpgsql as $$
declare
  changes billing_change[];
begin
  select array_agg((b.tenant_id, b.job_id, b.billed, b.fee, b.fee_without_work)::billing_change) into changes
  from new_rows b join invoice i on i.tenant_id = b.tenant_id and i.id = b.invoice_id where is_billing(i.status);
  if changes is not null then
    call add_billing(changes);
  end if;
  return null;
end
$$;
