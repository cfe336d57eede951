-- Triggers and constraints call the functions of the rules. The lines of a document are compared with its currency, so with the document.
-- locks: access exclusive on draft_invoice, access exclusive on draft_invoice_line, access exclusive on invoice, access exclusive on invoice_line, access exclusive on time_entry, access exclusive on wip_entry

create or replace function check_draft_invoice() returns trigger language plpgsql as $$
declare
  draft draft_invoice;
  lines record;
  held record;
begin
  select * into draft from draft_invoice d where d.tenant_id = new.tenant_id and d.id = new.id;
  select coalesce(sum(subtotal_of(line_type, amount)), 0) as subtotal, coalesce(sum(discount_of(line_type, amount)), 0) as discount_total,
      coalesce(sum(interest_of(line_type, amount)), 0) as interest_total, coalesce(sum(tax_amount), 0) as tax_total,
      coalesce(bool_and(amount = line_amount(quantity, unit_amount, minor_units(draft.currency))
        and tax_amount = line_tax(amount, taxable, tax_rate_percent, minor_units(draft.currency))), true) as are_priced
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
        coalesce(bool_and(amount = line_amount(quantity, unit_amount, minor_units(bill.currency))
          and tax_amount = line_tax(amount, taxable, tax_rate_percent, minor_units(bill.currency))), true) as are_priced
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

create or replace function check_payment() returns trigger language plpgsql as $$
declare
  paid payment;
  allocated numeric;
begin
  select * into paid from payment p where p.tenant_id = new.tenant_id and p.id = new.id;
  select coalesce(sum(amount), 0) into allocated
    from payment_allocation a where a.tenant_id = paid.tenant_id and a.payment_id = paid.id;
  if paid.unapplied_amount <> unapplied(paid.status, paid.amount, paid.refunded_amount, allocated)
    or not (allocated = 0 or counts(paid.status) or paid.status = 'PENDING') then
    raise exception 'payment % does not add up', paid.id
      using errcode = 'check_violation', constraint = 'payment_amount_agrees', table = 'payment';
  end if;
  -- Invoices whose amounts do not agree with their allocations.
  if exists (
    select 1
    from payment_allocation mine
    join invoice i on i.tenant_id = mine.tenant_id and i.id = mine.invoice_id
    join payment_allocation a on a.tenant_id = i.tenant_id and a.invoice_id = i.id
    join payment p on p.tenant_id = a.tenant_id and p.id = a.payment_id
    where mine.tenant_id = paid.tenant_id and mine.payment_id = paid.id
    group by i.id, i.amount_paid, i.amount_credited, i.amount_pending, i.currency
    having i.amount_paid <> sum(paid_by(p.status, p.method, a.amount))
      or i.amount_credited <> sum(credited_by(p.status, p.method, a.amount))
      or i.amount_pending <> sum(pending_by(p.status, a.amount))
      or i.currency <> paid.currency) then
    raise exception 'an invoice of payment % does not agree with what is allocated to it', paid.id
      using errcode = 'check_violation', constraint = 'payment_allocations_agree', table = 'payment';
  end if;
  if exists (
    select 1
    from payment_allocation a
    join invoice i on i.tenant_id = a.tenant_id and i.id = a.invoice_id
    join client billed on billed.tenant_id = i.tenant_id and billed.id = i.client_id
    join client payer on payer.tenant_id = a.tenant_id and payer.id = paid.client_id
    where a.tenant_id = paid.tenant_id and a.payment_id = paid.id and a.allocated_at = paid.updated_at
      and billed.id <> payer.id and billed.client_group_id is distinct from payer.client_group_id) then
    raise exception 'payment % goes to an invoice of another client', paid.id
      using errcode = 'check_violation', constraint = 'payment_allocations_client', table = 'payment';
  end if;
  return null;
end
$$;

alter table draft_invoice_line drop constraint draft_invoice_line_amount_agrees;
alter table draft_invoice_line drop constraint draft_invoice_line_tax_amount_agrees;
alter table invoice_line drop constraint invoice_line_amount_agrees;
alter table invoice_line drop constraint invoice_line_tax_amount_agrees;
alter table draft_invoice drop constraint draft_invoice_total_agrees;
alter table draft_invoice add constraint draft_invoice_total_agrees
  check (total = document_total(subtotal, discount_total, tax_total, interest_total)) not valid;
alter table invoice drop constraint invoice_total_agrees;
alter table invoice add constraint invoice_total_agrees
  check (total = document_total(subtotal, discount_total, tax_total, interest_total)) not valid;
alter table time_entry drop constraint time_entry_amount_agrees;
alter table time_entry add constraint time_entry_amount_agrees
  check (amount in (work_amount(hours, billing_rate, 2), work_amount(hours, billing_rate, 0))) not valid;
alter table wip_entry drop constraint wip_entry_amount_agrees;
alter table wip_entry add constraint wip_entry_amount_agrees
  check (amount in (work_amount(hours, billing_rate, 2), work_amount(hours, billing_rate, minor_units(currency)))) not valid;
