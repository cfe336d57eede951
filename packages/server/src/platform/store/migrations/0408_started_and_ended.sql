-- When work began and ended, and the steps of recorded hours of orgs.
-- locks: access exclusive on org, access exclusive on time_entry

alter table org add column time_step numeric(10, 2);
alter table org add constraint org_time_step_range check (time_step in (0.01, 0.10, 0.25)) not valid;
alter table time_entry add column started_at timestamptz(3), add column ended_at timestamptz(3);
alter table time_entry add constraint time_entry_ended_at_order check (
  (started_at is null) = (ended_at is null) and (ended_at > started_at) is not false) not valid;
