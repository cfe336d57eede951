-- without transaction
-- locks: share update exclusive on invoice, share update exclusive on org

alter table org validate constraint org_settle_within_range;
alter table invoice validate constraint invoice_amount_due_agrees;
