-- A contact has one main client. Of several, the one that was linked last stays.
-- without transaction
-- locks: access exclusive on contact_client

call lift_protection('contact_client');
-- in batches
update contact_client set is_primary = false, version = version + 1, updated_at = greatest(updated_at, now()) where id in (
  select l.id from contact_client l where l.active and l.is_primary and exists (
    select from contact_client o where o.tenant_id = l.tenant_id and o.contact_id = l.contact_id and o.active and o.is_primary
      and (o.linked_at, o.id) > (l.linked_at, l.id))
  limit 2000);
call restore_protection('contact_client');
