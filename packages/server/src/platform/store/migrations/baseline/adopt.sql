-- A database that has every migration from before the baseline becomes one that was created by it: removes what no version uses.
-- locks: access exclusive on draft_invoice_line, access exclusive on invoice_line

drop function is_priced(numeric, numeric, numeric, boolean, numeric, numeric, boolean, text, integer);
drop function tax_of(numeric, numeric, boolean, numeric, boolean, integer);
drop function included_tax(numeric, boolean, numeric, integer);
drop trigger draft_invoice_line_taxes on draft_invoice_line;
drop trigger invoice_line_taxes on invoice_line;
drop function fill_taxes();
create or replace function priced_line("position" integer, quantity numeric, unit_amount numeric, amount numeric, taxable boolean, tax_rate_percent numeric,
  tax_amount numeric, taxes jsonb) returns jsonb language sql immutable parallel safe
  return jsonb_build_object('position', "position", 'quantity', quantity, 'unit_amount', unit_amount, 'amount', amount, 'taxable', taxable,
    'tax_rate_percent', tax_rate_percent, 'tax_amount', tax_amount, 'taxes', taxes);
drop function one_tax(text, uuid, numeric, numeric);
