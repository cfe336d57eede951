-- Rests of invoices that are settled, and the amounts up to which orgs settle them.
-- locks: access exclusive on invoice, access exclusive on org

alter table org add column settle_within numeric(16, 2) not null default 0;
alter table org add constraint org_settle_within_range check (settle_within >= 0) not valid;
alter table invoice drop constraint invoice_amount_due_agrees;
alter table invoice add constraint invoice_amount_due_agrees check (
  case
    when document_type = 'CREDIT_NOTE' then status in ('POSTED', 'VOIDED') and amount_paid = 0 and amount_credited = 0
      and amount_pending = 0 and amount_written_off = 0
    else case status
      when 'PENDING' then amount_paid = 0 and amount_credited = 0 and amount_pending = 0 and amount_written_off = 0
      when 'POSTED' then amount_paid = 0 and amount_credited = 0 and amount_due > 0
      when 'PARTIALLY_PAID' then amount_paid + amount_credited > 0 and amount_due > 0
      when 'PAID' then amount_due = 0
      when 'VOIDED' then amount_paid = 0 and amount_credited = 0 and amount_pending = 0 and amount_written_off = 0
      else amount_due = 0
    end
  end) not valid;
