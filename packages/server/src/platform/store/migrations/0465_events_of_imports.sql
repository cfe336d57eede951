-- Whether an event reports the history of another system.
-- locks: access exclusive on recorded_event

alter table recorded_event add column is_import boolean not null default false;
