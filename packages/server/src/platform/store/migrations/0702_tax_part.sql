-- The tax on an amount is calculated by the rule also where it is compared with what was rounded.
-- locks: none

create function tax_part(amount numeric, rate_percent numeric) returns numeric language sql immutable parallel safe
  return amount * rate_percent / 100;

create or replace function are_priced(lines jsonb, prices_include_tax boolean, tax_rounding text, places integer) returns boolean language sql immutable parallel safe as $$
  with line as materialized (
    select l.*, l.amount + case when prices_include_tax then l.tax_amount else 0 end as price
    from jsonb_to_recordset(lines) l ("position" integer, quantity numeric, unit_amount numeric, amount numeric, taxable boolean,
      tax_rate_percent numeric, tax_amount numeric, taxes jsonb)),
  tax as materialized (
    select l."position", l.amount, l.price, l.tax_rate_percent as all_percent, t.name, t."ratePercent" as rate, t.category, t."regionId" as region,
      t.amount as tax, case when prices_include_tax then included_part(l.price, t."ratePercent", l.tax_rate_percent) else tax_part(l.amount, t."ratePercent") end as exact
    from line l cross join lateral jsonb_to_recordset(l.taxes) t (name text, "ratePercent" numeric, category text, "regionId" uuid, amount numeric)
    where l.taxable)
  select coalesce(not exists (
      select from line l left join (select "position", sum(rate) as rate, sum(tax) as tax from tax group by 1) t using ("position")
      where line_amount(quantity, unit_amount, places) <> price or taxable <> (t.tax is not null) or tax_amount <> coalesce(t.tax, 0)
        or tax_rate_percent <> coalesce(t.rate, tax_rate_percent))
    and (tax_rounding = 'STATED' or not exists (select from tax where abs(tax - exact) >= power(10::numeric, -places))
    and case
      when tax_rounding = 'DOCUMENT' then not exists (
        select from (select name, rate, category, region, sum(tax) as tax, sum(amount) as amount, included_part(sum(price), rate, all_percent) as part
          from tax group by name, rate, category, region, all_percent) t
        group by name, rate, category, region
        having sum(tax) <> case when prices_include_tax then round(sum(part), places) else line_tax(sum(amount), true, rate, places) end)
      when prices_include_tax then not exists (
        select from line where taxable and tax_amount <> round(included_part(price, tax_rate_percent, tax_rate_percent), places))
      else not exists (select from tax where tax <> line_tax(amount, true, rate, places)) end), true)
$$;
