-- without transaction
-- locks: share update exclusive on org, share update exclusive on time_entry

alter table org validate constraint org_time_step_range;
alter table time_entry validate constraint time_entry_ended_at_order;
