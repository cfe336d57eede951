-- Copies the positions that events had before 0210, from the last to the first: triggers add those that are assigned meanwhile behind
-- them, so the first one that is copied says how far this has come. The locks keep the program before from removing an event whose
-- position is being copied.
-- locks: none
-- without transaction

-- in batches
insert into event_position (tenant_id, position, event_id, entity_type, entity_id, operation, recorded_at)
select event.tenant_id, event.position, event.id, event.entity_type, event.entity_id, event.operation, event.recorded_at
from tenant
cross join lateral (
  select coalesce(min(position), 9223372036854775807) as first from event_position where tenant_id = tenant.id
) copied
cross join lateral (
  select * from outbox_event
  where tenant_id = tenant.id and position < copied.first
  order by position desc limit 5000 for key share
) event
limit 5000;
