-- The rules of money, as scripts/rule-functions.ts writes them.

create function counts(payment_status text) returns boolean language sql immutable parallel safe
  return payment_status in ('COMPLETED', 'PARTIALLY_REFUNDED', 'REFUNDED');

create function is_billing(status text) returns boolean language sql immutable parallel safe
  return not (status in ('PENDING', 'VOIDED'));

create function paid_by(payment_status text, method text, amount numeric) returns numeric language sql immutable parallel safe
  return case when payment_status in ('COMPLETED', 'PARTIALLY_REFUNDED', 'REFUNDED') then case when method in ('CREDIT') then 0 else amount end else 0 end;

create function credited_by(payment_status text, method text, amount numeric) returns numeric language sql immutable parallel safe
  return case when payment_status in ('COMPLETED', 'PARTIALLY_REFUNDED', 'REFUNDED') then case when method in ('CREDIT') then amount else 0 end else 0 end;

create function pending_by(payment_status text, amount numeric) returns numeric language sql immutable parallel safe
  return case when payment_status in ('PENDING') then amount else 0 end;

create function unapplied(payment_status text, amount numeric, refunded numeric, allocated numeric) returns numeric language sql immutable parallel safe
  return case when payment_status in ('COMPLETED', 'PARTIALLY_REFUNDED', 'REFUNDED', 'PENDING') then (amount - refunded - allocated) else case when payment_status in ('RETURNED') then (0 - refunded) else 0 end end;

create function held(payment_status text, unapplied_amount numeric) returns numeric language sql immutable parallel safe
  return case when payment_status in ('COMPLETED', 'PARTIALLY_REFUNDED', 'REFUNDED', 'RETURNED') then unapplied_amount else 0 end;

create function due(invoice_status text, document_type text, total numeric, paid numeric, credited numeric, written_off numeric) returns numeric language sql immutable parallel safe
  return case when invoice_status in ('VOIDED') then 0 else case when document_type in ('CREDIT_NOTE') then 0 else (total - paid - credited - written_off) end end;

create function outstanding(invoice_status text, amount_due numeric) returns numeric language sql immutable parallel safe
  return case when invoice_status in ('PENDING') then 0 else amount_due end;

create function line_amount(quantity numeric, unit_amount numeric, places integer) returns numeric language sql immutable parallel safe
  return round(quantity * unit_amount, places);

create function line_tax(amount numeric, taxable boolean, rate_percent numeric, places integer) returns numeric language sql immutable parallel safe
  return case when taxable::text in ('true') then round(amount * rate_percent / 100, places) else 0 end;

create function work_amount(hours numeric, billing_rate numeric, places integer) returns numeric language sql immutable parallel safe
  return round(hours * billing_rate, places);

create function subtotal_of(line_type text, amount numeric) returns numeric language sql immutable parallel safe
  return case when line_type in ('DISCOUNT', 'INTEREST') then 0 else amount end;

create function discount_of(line_type text, amount numeric) returns numeric language sql immutable parallel safe
  return case when line_type in ('DISCOUNT') then (0 - amount) else 0 end;

create function interest_of(line_type text, amount numeric) returns numeric language sql immutable parallel safe
  return case when line_type in ('INTEREST') then amount else 0 end;

create function document_total(subtotal numeric, discount_total numeric, tax_total numeric, interest_total numeric) returns numeric language sql immutable parallel safe
  return ((subtotal + tax_total + interest_total) - discount_total);

create function tax_part(amount numeric, rate_percent numeric) returns numeric language sql immutable parallel safe
  return amount * rate_percent / 100;

create function included_part(amount numeric, rate_percent numeric, all_percent numeric) returns numeric language sql immutable parallel safe
  return amount * rate_percent * 1.00000000000000000000 / (100 + all_percent);
