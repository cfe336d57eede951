-- The largest amount that a column of a sum gets. It is beyond the bound of each, so that a constraint rejects it and names the column:
-- a larger amount would exceed the type of the column, with an error that names nothing.
create function limited(amount numeric) returns numeric language sql immutable parallel safe
return least(greatest(amount, -1e13), 1e13);

create or replace procedure add_balances(changes balance_change[]) language sql
begin atomic
  update client k set outstanding_balance = limited(k.outstanding_balance + c.outstanding),
    unapplied_credit = limited(k.unapplied_credit + c.unapplied), version = k.version + 1,
    updated_at = greatest(k.updated_at, now())
  from (select tenant_id, client_id, currency, sum(outstanding) as outstanding, sum(unapplied) as unapplied
    from unnest(changes) group by 1, 2, 3 having sum(outstanding) <> 0 or sum(unapplied) <> 0) c
  where k.tenant_id = c.tenant_id and k.id = c.client_id and k.currency = c.currency;
end;

create or replace procedure add_wip(changes wip_change[]) language sql
begin atomic
  update job j set wip_amount = limited(j.wip_amount + c.outstanding), billed_amount = limited(j.billed_amount + c.billed),
    write_off_amount = limited(j.write_off_amount + c.written_off),
    write_up_amount = limited(j.write_up_amount + c.written_up), version = j.version + 1,
    updated_at = greatest(j.updated_at, now())
  from (select tenant_id, job_id, sum(outstanding) as outstanding, sum(billed) as billed, sum(written_off) as written_off,
      sum(written_up) as written_up
    from unnest(changes) group by 1, 2
    having sum(outstanding) <> 0 or sum(billed) <> 0 or sum(written_off) <> 0 or sum(written_up) <> 0) c
  where j.tenant_id = c.tenant_id and j.id = c.job_id;
  update client k set unbilled_wip = limited(k.unbilled_wip + c.outstanding), version = k.version + 1,
    updated_at = greatest(k.updated_at, now())
  from (select tenant_id, client_id, currency, sum(outstanding) as outstanding from unnest(changes) group by 1, 2, 3
    having sum(outstanding) <> 0) c
  where k.tenant_id = c.tenant_id and k.id = c.client_id and k.currency = c.currency;
end;
