-- Tax codes, exemptions, and the tax that an import states.
-- locks: access exclusive on client, access exclusive on draft_invoice, access exclusive on draft_invoice_line, access exclusive on invoice, access exclusive on invoice_line, access exclusive on tax_region, share row exclusive on client, share row exclusive on draft_invoice_line, share row exclusive on invoice_line

create table tax_code (
  tenant_id integer not null,
  id uuid not null,
  system_ref text collate "C" not null,
  sys_refs jsonb not null default '[]',
  metadata jsonb not null default '{}',
  active boolean not null default true,
  created_at timestamptz(3) not null default tenant_now(),
  updated_at timestamptz(3) not null default tenant_now(),
  version integer not null default 1,
  name text collate "C" not null,
  code text collate "C" not null,
  taxes jsonb not null,
  primary key (tenant_id, id),
  constraint tax_code_system_ref_unique unique (tenant_id, system_ref),
  constraint tax_code_name_unique unique (tenant_id, name),
  constraint tax_code_code_unique unique (tenant_id, code)
);
call protect_entity_table('tax_code');
create index tax_code_metadata_index on tax_code using gin (tenant_id, metadata jsonb_path_ops) where metadata <> '{}';

alter table tax_region add column tax_exempt_reason text collate "C";
alter table client add column tax_exempt_reason text collate "C", add column tax_code_id uuid;
alter table client add constraint client_tax_code_id_reference foreign key (tenant_id, tax_code_id) references tax_code (tenant_id, id) not valid;
alter table draft_invoice add column tax_exempt_reason text collate "C";
alter table draft_invoice_line add column tax_code_id uuid;
alter table draft_invoice_line add constraint draft_invoice_line_tax_code_id_reference foreign key (tenant_id, tax_code_id) references tax_code (tenant_id, id) not valid;
alter table invoice add column tax_exempt_reason text collate "C", add column tax_as_stated boolean not null default false;
alter table invoice_line add column tax_code_id uuid;
alter table invoice_line add constraint invoice_line_tax_code_id_reference foreign key (tenant_id, tax_code_id) references tax_code (tenant_id, id) not valid;

-- The tax that an import states is that of its lines, and nothing else of it is calculated.
create or replace function are_priced(lines jsonb, prices_include_tax boolean, tax_rounding text, places integer) returns boolean language sql immutable parallel safe as $$
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
        are_priced(jsonb_agg(priced_line(l.position, l.quantity, l.unit_amount, l.amount, l.taxable, l.tax_rate_percent, l.tax_amount, l.taxes)), bill.prices_include_tax, case when bill.tax_as_stated then 'STATED' else bill.tax_rounding end, minor_units(bill.currency)) as are_priced
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
