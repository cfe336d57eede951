-- Several taxes of a line, and the rows of a tax report. `is_priced`, `tax_of` and `included_tax` have no use from now on.
-- locks: access exclusive on draft_invoice_line, access exclusive on invoice_line, share row exclusive on draft_invoice_line, share row exclusive on invoice, share row exclusive on invoice_line, share row exclusive on tax_region

alter table draft_invoice_line add column taxes jsonb not null default '[]';
alter table invoice_line add column taxes jsonb not null default '[]';

-- As scripts/rule-functions.ts writes it.
create function included_part(amount numeric, rate_percent numeric, all_percent numeric) returns numeric language sql immutable parallel safe
  return amount * rate_percent * 1.00000000000000000000 / (100 + all_percent);

-- What the short form of one tax says.
create function one_tax(name text, region_id uuid, rate_percent numeric, amount numeric) returns jsonb language sql immutable parallel safe
  return jsonb_build_array(jsonb_build_object('name', name, 'ratePercent', rate_percent::text, 'category', null, 'regionId', region_id,
    'amount', amount::text));

-- The version before writes the short form.
create function fill_taxes() returns trigger language plpgsql as $$
begin
  new.taxes := one_tax('Tax', null, new.tax_rate_percent, new.tax_amount);
  return new;
end
$$;
create trigger draft_invoice_line_taxes
  before insert on draft_invoice_line for each row
  when (new.taxable and new.taxes = '[]' and current_setting('app.copies_rows', true) is distinct from 'on')
  execute function fill_taxes();
create trigger invoice_line_taxes
  before insert on invoice_line for each row
  when (new.taxable and new.taxes = '[]' and current_setting('app.copies_rows', true) is distinct from 'on')
  execute function fill_taxes();

-- A row for each tax of a line, and one for a line without tax. The first has the ID of the line, and its amount.
create table invoice_line_tax (
  tenant_id integer not null,
  id uuid not null,
  invoice_id uuid not null,
  line_id uuid not null,
  position integer not null,
  name text collate "C",
  category text collate "C",
  rate_percent numeric not null,
  region_id uuid,
  amount numeric(16, 2) not null,
  taxable_amount numeric(16, 2) not null,
  tax_amount numeric(16, 2) not null,
  primary key (tenant_id, id),
  constraint invoice_line_tax_invoice_id_reference foreign key (tenant_id, invoice_id) references invoice (tenant_id, id),
  constraint invoice_line_tax_line_id_reference foreign key (tenant_id, line_id) references invoice_line (tenant_id, id),
  constraint invoice_line_tax_region_id_reference foreign key (tenant_id, region_id) references tax_region (tenant_id, id) deferrable initially deferred,
  constraint invoice_line_tax_category_enum check (category in ('S', 'Z', 'E', 'AE', 'K', 'G', 'O')),
  constraint invoice_line_tax_amount_agrees check (name is not null or (taxable_amount = 0 and tax_amount = 0))
);
call protect_tenant_table('invoice_line_tax', 'select, insert');
create index invoice_line_tax_invoice_id_index on invoice_line_tax (tenant_id, invoice_id, id);
create index invoice_line_tax_line_id_index on invoice_line_tax (tenant_id, line_id, position);

create function taxes_of_line(tenant integer, invoice uuid, line uuid, line_amount numeric, line_rate numeric, taxes jsonb)
returns setof invoice_line_tax language sql immutable parallel safe as $$
  select tenant, case when t.ordinal > 1 then (left(line::text, 24) || left(md5(line::text || t.ordinal), 12))::uuid else line end,
    invoice, line, coalesce(t.ordinal, 1)::integer - 1, t.tax ->> 'name', t.tax ->> 'category', coalesce((t.tax ->> 'ratePercent')::numeric, line_rate),
    (t.tax ->> 'regionId')::uuid, case when t.ordinal > 1 then 0 else line_amount end, case when t.tax is null then 0 else line_amount end,
    coalesce((t.tax ->> 'amount')::numeric, 0)
  from (select) one left join jsonb_array_elements(taxes) with ordinality t (tax, ordinal) on true
$$;

create function report_taxes() returns trigger language plpgsql as $$
begin
  insert into invoice_line_tax
    select t.* from new_rows l cross join lateral taxes_of_line(l.tenant_id, l.invoice_id, l.id, l.amount, l.tax_rate_percent, l.taxes) t;
  return null;
end
$$;
create trigger invoice_line_reported
  after insert on invoice_line referencing new table as new_rows for each statement
  when (current_setting('app.copies_rows', true) is distinct from 'on')
  execute function report_taxes();

create view billed_line with (security_invoker = true) as
select t.tenant_id, t.id, t.invoice_id, t.line_id, i.created_at, i.updated_at, i.version, i.invoice_number as document_number, i.document_type, i.status,
  i.invoice_date, i.org_id, i.client_id, c.office_id, coalesce(t.region_id, i.tax_region_id) as tax_region_id, i.currency, l.line_type,
  l.job_id, j.service_line_id, l.description, l.quantity, l.unit_amount, t.amount, t.name is not null as taxable, t.taxable_amount,
  t.name as tax_name, t.category as tax_category, t.rate_percent as tax_rate_percent, t.tax_amount,
  -- The void of a document over nothing has no entries.
  case when i.status = 'VOIDED' then coalesce((
    select max(v.business_date) from ledger_entry v
    where v.tenant_id = i.tenant_id and v.invoice_id = i.id and v.kind in ('VOID', 'NOTE_VOID')), tenant_day(i.voided_at)) end as voided_date
from invoice_line_tax t
join invoice i on i.tenant_id = t.tenant_id and i.id = t.invoice_id
join invoice_line l on l.tenant_id = t.tenant_id and l.id = t.line_id
left join client c on c.tenant_id = i.tenant_id and c.id = i.client_id
left join job j on j.tenant_id = l.tenant_id and j.id = l.job_id;
grant select on billed_line to financial_automation_service;

create function priced_line("position" integer, quantity numeric, unit_amount numeric, amount numeric, taxable boolean, tax_rate_percent numeric,
  tax_amount numeric, taxes jsonb) returns jsonb language sql immutable parallel safe
  return jsonb_build_object('position', "position", 'quantity', quantity, 'unit_amount', unit_amount, 'amount', amount, 'taxable', taxable,
    'tax_rate_percent', tax_rate_percent, 'tax_amount', tax_amount,
    'taxes', case when taxable and taxes = '[]' then one_tax('Tax', null, tax_rate_percent, tax_amount) else taxes end);

-- Whether the amounts of lines are those of their prices and taxes: each tax is within a unit of the exact one, and what is rounded
-- together is exact: the tax of a line, the taxes in a price, or a tax over the document.
create function are_priced(lines jsonb, prices_include_tax boolean, tax_rounding text, places integer) returns boolean language sql immutable parallel safe as $$
  with line as materialized (
    select l.*, l.amount + case when prices_include_tax then l.tax_amount else 0 end as price
    from jsonb_to_recordset(lines) l ("position" integer, quantity numeric, unit_amount numeric, amount numeric, taxable boolean,
      tax_rate_percent numeric, tax_amount numeric, taxes jsonb)),
  tax as materialized (
    select l."position", l.amount, l.price, l.tax_rate_percent as all_percent, t.name, t."ratePercent" as rate, t.category, t."regionId" as region,
      t.amount as tax, case when prices_include_tax then included_part(l.price, t."ratePercent", l.tax_rate_percent) else l.amount * t."ratePercent" / 100 end as exact
    from line l cross join lateral jsonb_to_recordset(l.taxes) t (name text, "ratePercent" numeric, category text, "regionId" uuid, amount numeric)
    where l.taxable)
  select coalesce(not exists (
      select from line l left join (select "position", sum(rate) as rate, sum(tax) as tax from tax group by 1) t using ("position")
      where line_amount(quantity, unit_amount, places) <> price or taxable <> (t.tax is not null) or tax_amount <> coalesce(t.tax, 0)
        or tax_rate_percent <> coalesce(t.rate, tax_rate_percent))
    and not exists (select from tax where abs(tax - exact) >= power(10::numeric, -places))
    and case
      when tax_rounding = 'DOCUMENT' then not exists (
        select from (select name, rate, category, region, sum(tax) as tax, sum(amount) as amount, included_part(sum(price), rate, all_percent) as part
          from tax group by name, rate, category, region, all_percent) t
        group by name, rate, category, region
        having sum(tax) <> case when prices_include_tax then round(sum(part), places) else line_tax(sum(amount), true, rate, places) end)
      when prices_include_tax then not exists (
        select from line where taxable and tax_amount <> round(included_part(price, tax_rate_percent, tax_rate_percent), places))
      else not exists (select from tax where tax <> line_tax(amount, true, rate, places)) end, true)
$$;

create or replace function check_draft_invoice() returns trigger language plpgsql as $$
declare
  draft draft_invoice;
  lines record;
  held record;
begin
  select * into draft from draft_invoice d where d.tenant_id = new.tenant_id and d.id = new.id;
  select coalesce(sum(subtotal_of(line_type, amount)), 0) as subtotal, coalesce(sum(discount_of(line_type, amount)), 0) as discount_total,
      coalesce(sum(interest_of(line_type, amount)), 0) as interest_total, coalesce(sum(tax_amount), 0) as tax_total,
      are_priced(jsonb_agg(priced_line(l.position, l.quantity, l.unit_amount, l.amount, l.taxable, l.tax_rate_percent, l.tax_amount, l.taxes)), draft.prices_include_tax, draft.tax_rounding, minor_units(draft.currency)) as are_priced
    into lines from draft_invoice_line l where l.tenant_id = draft.tenant_id and l.draft_invoice_id = draft.id;
  if not lines.are_priced then
    raise exception 'a line of draft % has a wrong amount', draft.id
      using errcode = 'check_violation', constraint = 'draft_invoice_line_amount_agrees', table = 'draft_invoice_line';
  end if;
  if (draft.subtotal, draft.discount_total, draft.interest_total, draft.tax_total)
    is distinct from (lines.subtotal, lines.discount_total, lines.interest_total, lines.tax_total) then
    raise exception 'the totals of draft % are not those of its lines', draft.id
      using errcode = 'check_violation', constraint = 'draft_invoice_total_agrees', table = 'draft_invoice';
  end if;
  if draft.status in ('DRAFT', 'IN_REVIEW', 'REJECTED') then
    select count(*) as named, count(distinct w.id) filter (
        where w.status = 'IN_DRAFT' and w.draft_invoice_id = draft.id and w.client_id = draft.client_id
          and w.currency = draft.currency) as reserved
      into held
      from draft_invoice_line l
      join draft_invoice_line_wip lw on lw.tenant_id = l.tenant_id and lw.line_id = l.id
      join wip_entry w on w.tenant_id = lw.tenant_id and w.id = lw.wip_entry_id
      where l.tenant_id = draft.tenant_id and l.draft_invoice_id = draft.id;
    if held.named <> held.reserved then
      raise exception 'draft % names work in progress that it does not hold', draft.id
        using errcode = 'check_violation', constraint = 'draft_invoice_lines_held', table = 'draft_invoice';
    end if;
  end if;
  return null;
end
$$;

create or replace function check_invoice() returns trigger language plpgsql as $$
declare
  bill invoice;
  lines record;
  covered record;
begin
  select * into bill from invoice i where i.tenant_id = new.tenant_id and i.id = new.id;
  select coalesce(sum(paid_by(p.status, p.method, a.amount)), 0) as paid, coalesce(sum(credited_by(p.status, p.method, a.amount)), 0) as credited,
      coalesce(sum(pending_by(p.status, a.amount)), 0) as pending
    into covered
    from payment_allocation a join payment p on p.tenant_id = a.tenant_id and p.id = a.payment_id
    where a.tenant_id = bill.tenant_id and a.invoice_id = bill.id;
  if (bill.amount_paid, bill.amount_credited, bill.amount_pending)
    is distinct from (covered.paid, covered.credited, covered.pending) then
    raise exception 'what covers invoice % is not what is allocated to it', bill.id
      using errcode = 'check_violation', constraint = 'invoice_allocations_agree', table = 'invoice';
  end if;
  if tg_op = 'INSERT' then
    select coalesce(sum(subtotal_of(line_type, amount)), 0) as subtotal, coalesce(sum(discount_of(line_type, amount)), 0) as discount_total,
        coalesce(sum(interest_of(line_type, amount)), 0) as interest_total, coalesce(sum(tax_amount), 0) as tax_total,
        are_priced(jsonb_agg(priced_line(l.position, l.quantity, l.unit_amount, l.amount, l.taxable, l.tax_rate_percent, l.tax_amount, l.taxes)), bill.prices_include_tax, bill.tax_rounding, minor_units(bill.currency)) as are_priced
      into lines from invoice_line l where l.tenant_id = bill.tenant_id and l.invoice_id = bill.id;
    if not lines.are_priced then
      raise exception 'a line of invoice % has a wrong amount', bill.id
        using errcode = 'check_violation', constraint = 'invoice_line_amount_agrees', table = 'invoice_line';
    end if;
    if (bill.subtotal, bill.discount_total, bill.interest_total, bill.tax_total)
      is distinct from (lines.subtotal, lines.discount_total, lines.interest_total, lines.tax_total) then
      raise exception 'the totals of invoice % are not those of its lines', bill.id
        using errcode = 'check_violation', constraint = 'invoice_total_agrees', table = 'invoice';
    end if;
    if bill.draft_invoice_id is not null and not exists (
      select 1 from draft_invoice d
      where d.tenant_id = bill.tenant_id and d.id = bill.draft_invoice_id and d.total = bill.total and d.invoice_id = bill.id)
    then
      raise exception 'invoice % and its draft disagree', bill.id
        using errcode = 'check_violation', constraint = 'invoice_draft_invoice_id_agrees', table = 'invoice';
    end if;
    if (select coalesce(sum(r.billed), 0) from wip_relief r where r.tenant_id = bill.tenant_id and r.invoice_id = bill.id)
      is distinct from (select coalesce(sum(l.amount), 0) from invoice_line l
        where l.tenant_id = bill.tenant_id and l.invoice_id = bill.id and exists (
          select 1 from invoice_line_wip lw where lw.tenant_id = l.tenant_id and lw.line_id = l.id)) then
      raise exception 'invoice % bills another amount of work in progress than its lines', bill.id
        using errcode = 'check_violation', constraint = 'invoice_relief_agrees', table = 'invoice';
    end if;
  end if;
  return null;
end
$$;
