-- Validates the reference to credit notes over discounts for early payment.
-- without transaction
-- locks: access exclusive on invoice

call lift_protection('invoice');

alter table invoice validate constraint invoice_early_payment_note_id_reference;

call restore_protection('invoice');
