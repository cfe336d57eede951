-- The database calculates these values, so it alone can reject values beyond the decimals of the contract. `_bound` names
-- the bound that the contract states, which the server reports in words.
alter table job drop constraint job_actual_hours_range;
alter table job drop constraint job_wip_amount_range;
alter table job drop constraint job_billed_amount_range;
alter table job drop constraint job_write_off_amount_range;
alter table task drop constraint task_actual_hours_range;
alter table client drop constraint client_unbilled_wip_range;

alter table job add constraint job_actual_hours_bound check (abs(actual_hours) < 1e7) not valid;
alter table job add constraint job_wip_amount_bound check (abs(wip_amount) < 1e13) not valid;
alter table job add constraint job_billed_amount_bound check (abs(billed_amount) < 1e13) not valid;
alter table job add constraint job_write_off_amount_bound check (abs(write_off_amount) < 1e13) not valid;
alter table task add constraint task_actual_hours_bound check (abs(actual_hours) < 1e7) not valid;
alter table client add constraint client_outstanding_balance_bound check (outstanding_balance < 1e13) not valid;
alter table client add constraint client_unapplied_credit_bound check (unapplied_credit < 1e13) not valid;
alter table client add constraint client_unbilled_wip_bound check (abs(unbilled_wip) < 1e13) not valid;
alter table wip_entry add constraint wip_entry_outstanding_amount_bound check (abs(outstanding_amount) < 1e13) not valid;
alter table payment add constraint payment_net_amount_bound check (net_amount < 1e13) not valid;
