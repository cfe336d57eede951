-- Reminders of overdue invoices.
-- locks: access exclusive on client, access exclusive on invoice, access exclusive on org

alter table org add column reminder_schedule jsonb not null default '[]';
alter table client add column reminder_schedule jsonb;
alter table client add column reminders_off boolean not null default false;
alter table invoice add column is_disputed boolean not null default false;
alter table invoice add column reminded_after_days integer;
