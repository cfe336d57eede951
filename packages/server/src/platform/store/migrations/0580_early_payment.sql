-- Discounts for early payment, and the credit notes over those that were taken.
-- locks: access exclusive on draft_invoice, access exclusive on invoice, share row exclusive on invoice

alter table draft_invoice add column early_payment jsonb;
alter table invoice add column early_payment jsonb, add column early_payment_note_id uuid;
alter table invoice add constraint invoice_early_payment_note_id_reference
  foreign key (tenant_id, early_payment_note_id) references invoice (tenant_id, id) deferrable initially deferred not valid;
