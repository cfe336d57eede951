import { type RawBuilder, sql } from 'kysely';

/** What the filters of payments depend on; null for events of other types. */
export const filteredColumns = sql`
  case when entity_type = 'Payment' then data->>'source' end as source,
  case when entity_type = 'Payment' then (
    select created_by_api_user_id from quick_payment_link link
    where link.tenant_id = event.tenant_id and link.id = (event.data->>'quickPaymentLinkId')::uuid
  ) end as "linkCreator"`;

/** Selects events as {@link StoredEvent}, with their positions, as `event`. */
export function selectEvents(tenantId: number, condition: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select id, entity_type as "entityType", operation, entity_id as "entityId", occurred_at as "occurredAt",
      recorded_at as "recordedAt", sequence, data::text as data, changed_fields as "changedFields", traceparent,
      position, ${filteredColumns}
    from outbox_event event where tenant_id = ${tenantId} and ${condition}`;
}
