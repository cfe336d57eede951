-- Amounts have the minor units of their currency: the decimals of ISO 4217, at most two. A test compares these with the list that the
-- service uses.
create function minor_units(currency text) returns integer language sql immutable parallel safe
  return case when currency in (
    'BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX', 'UYI', 'VND', 'VUV', 'XAF', 'XAG',
    'XAU', 'XBA', 'XBB', 'XBC', 'XBD', 'XDR', 'XOF', 'XPD', 'XPF', 'XPT', 'XSU', 'XTS', 'XUA', 'XXX')
  then 0 else 2 end;
grant execute on function minor_units(text) to financial_automation_service;

-- Amounts from before are rounded to two places in any currency.
alter table wip_entry drop constraint wip_entry_amount_agrees;
alter table wip_entry add constraint wip_entry_amount_agrees
  check (amount in (round(hours * billing_rate, 2), round(hours * billing_rate, minor_units(currency))));

-- A time entry does not have the currency of its job.
alter table time_entry drop constraint time_entry_amount_agrees;
alter table time_entry add constraint time_entry_amount_agrees
  check (amount in (round(hours * billing_rate, 2), round(hours * billing_rate)));

-- Nor does a line have that of its document. The service rounds to two places or to none.
alter table draft_invoice_line drop constraint draft_invoice_line_amount_agrees;
alter table draft_invoice_line add constraint draft_invoice_line_amount_agrees
  check (amount in (round(quantity * unit_amount, 2), round(quantity * unit_amount)));
alter table draft_invoice_line drop constraint draft_invoice_line_tax_amount_agrees;
alter table draft_invoice_line add constraint draft_invoice_line_tax_amount_agrees check (
  case when taxable then tax_amount in (round(amount * tax_rate_percent / 100, 2), round(amount * tax_rate_percent / 100))
    else tax_amount = 0 end);
alter table invoice_line drop constraint invoice_line_amount_agrees;
alter table invoice_line add constraint invoice_line_amount_agrees
  check (amount in (round(quantity * unit_amount, 2), round(quantity * unit_amount)));
alter table invoice_line drop constraint invoice_line_tax_amount_agrees;
alter table invoice_line add constraint invoice_line_tax_amount_agrees check (
  case when taxable then tax_amount in (round(amount * tax_rate_percent / 100, 2), round(amount * tax_rate_percent / 100))
    else tax_amount = 0 end);

-- As before, with shares of discounts in minor units.
create or replace view billing_of_lines with (security_invoker) as
  select tenant_id, invoice_id, job_id, sum(amount + discount) as billed,
    coalesce(sum(amount) filter (where is_fee), 0) as fee,
    coalesce(sum(amount) filter (where is_fee and not has_work), 0) as fee_without_work
  from (
    select *, case
        when line_type = 'DISCOUNT' then 0
        when is_last then common - sum(share) over document + share
        else share
      end as discount
    from (
      select *, case when line_type = 'DISCOUNT' or total = 0 then 0 else round(common * amount / total, minor_units(currency)) end as share,
        total <> 0 and row_number() over (
          partition by tenant_id, invoice_id, line_type = 'DISCOUNT' order by position desc, job_id desc) = 1 as is_last
      from (
        select *, coalesce(sum(amount) filter (where line_type <> 'DISCOUNT') over document, 0) as total,
          coalesce(sum(amount) filter (where line_type = 'DISCOUNT' and job_id is null) over document, 0) as common
        from (
          select l.tenant_id, l.invoice_id, i.currency, l.position, l.line_type, l.line_type in ('FIXED_FEE', 'PROGRESS') as is_fee,
            w.job_id is not null as has_work, coalesce(l.job_id, w.job_id) as job_id,
            case when l.job_id is null and w.job_id is not null then w.billed else l.amount end as amount
          from invoice_line l
          join invoice i on i.tenant_id = l.tenant_id and i.id = l.invoice_id
          left join lateral (
            select coalesce(l.job_id, e.job_id) as job_id, sum(r.billed) as billed
            from invoice_line_wip k
            join wip_relief r on r.tenant_id = k.tenant_id and r.invoice_id = l.invoice_id and r.wip_entry_id = k.wip_entry_id
            join wip_entry e on e.tenant_id = k.tenant_id and e.id = k.wip_entry_id
            where k.tenant_id = l.tenant_id and k.line_id = l.id
            group by 1) w on true) unit
        window document as (partition by tenant_id, invoice_id)) summed) shared
    window document as (partition by tenant_id, invoice_id, line_type = 'DISCOUNT')) spread
  where job_id is not null
  group by 1, 2, 3;
