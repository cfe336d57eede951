-- Prices that include tax, and tax that is rounded over a document.
-- locks: access exclusive on draft_invoice, access exclusive on invoice, access exclusive on org

alter table org add column tax_rounding text collate "C" not null default 'LINE';
alter table org add constraint org_tax_rounding_enum check (tax_rounding in ('LINE', 'DOCUMENT')) not valid;
alter table draft_invoice add column prices_include_tax boolean not null default false;
alter table draft_invoice add column tax_rounding text collate "C" not null default 'LINE';
alter table draft_invoice add constraint draft_invoice_tax_rounding_enum check (tax_rounding in ('LINE', 'DOCUMENT')) not valid;
alter table invoice add column prices_include_tax boolean not null default false;
alter table invoice add column tax_rounding text collate "C" not null default 'LINE';
alter table invoice add constraint invoice_tax_rounding_enum check (tax_rounding in ('LINE', 'DOCUMENT')) not valid;

-- As scripts/rule-functions.ts writes it.
create or replace function included_tax(amount numeric, taxable boolean, rate_percent numeric, places integer) returns numeric language sql immutable parallel safe
  return case when taxable::text in ('true') then round(amount * rate_percent * 1.00000000000000000000 / (100 + rate_percent), places) else 0 end;

-- The tax of lines of one rate: on their amounts, or in their prices, which are their amounts and tax.
create function tax_of(amount numeric, tax_amount numeric, taxable boolean, rate_percent numeric, prices_include_tax boolean, places integer)
returns numeric language sql immutable parallel safe
  return case when prices_include_tax then included_tax(amount + tax_amount, taxable, rate_percent, places)
    else line_tax(amount, taxable, rate_percent, places) end;

create function is_priced(quantity numeric, unit_amount numeric, amount numeric, taxable boolean, rate_percent numeric, tax_amount numeric,
  prices_include_tax boolean, tax_rounding text, places integer) returns boolean language sql immutable parallel safe
  return line_amount(quantity, unit_amount, places) = amount + case when prices_include_tax then tax_amount else 0 end
    and (taxable or tax_amount = 0)
    and (tax_rounding = 'DOCUMENT' or tax_amount = tax_of(amount, tax_amount, taxable, rate_percent, prices_include_tax, places));

create or replace function check_draft_invoice() returns trigger language plpgsql as $$
declare
  draft draft_invoice;
  lines record;
  held record;
begin
  select * into draft from draft_invoice d where d.tenant_id = new.tenant_id and d.id = new.id;
  select coalesce(sum(subtotal_of(line_type, amount)), 0) as subtotal, coalesce(sum(discount_of(line_type, amount)), 0) as discount_total,
      coalesce(sum(interest_of(line_type, amount)), 0) as interest_total, coalesce(sum(tax_amount), 0) as tax_total,
      coalesce(bool_and(is_priced(quantity, unit_amount, amount, taxable, tax_rate_percent, tax_amount, draft.prices_include_tax,
        draft.tax_rounding, minor_units(draft.currency))), true) as are_priced
    into lines from draft_invoice_line l where l.tenant_id = draft.tenant_id and l.draft_invoice_id = draft.id;
  if not lines.are_priced or draft.tax_rounding = 'DOCUMENT' and exists (
      select from draft_invoice_line l where l.tenant_id = draft.tenant_id and l.draft_invoice_id = draft.id
      group by taxable, tax_rate_percent
      having sum(tax_amount) <> tax_of(sum(amount), sum(tax_amount), taxable, tax_rate_percent, draft.prices_include_tax, minor_units(draft.currency))) then
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
        coalesce(bool_and(is_priced(quantity, unit_amount, amount, taxable, tax_rate_percent, tax_amount, bill.prices_include_tax,
        bill.tax_rounding, minor_units(bill.currency))), true) as are_priced
      into lines from invoice_line l where l.tenant_id = bill.tenant_id and l.invoice_id = bill.id;
    if not lines.are_priced or bill.tax_rounding = 'DOCUMENT' and exists (
      select from invoice_line l where l.tenant_id = bill.tenant_id and l.invoice_id = bill.id
      group by taxable, tax_rate_percent
      having sum(tax_amount) <> tax_of(sum(amount), sum(tax_amount), taxable, tax_rate_percent, bill.prices_include_tax, minor_units(bill.currency))) then
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
