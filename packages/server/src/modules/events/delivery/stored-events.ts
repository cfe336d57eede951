import { type RawBuilder, sql } from 'kysely';

/** What the filters of payments depend on; null for events of other types. */
export const filteredColumns = sql`
  case when event.entity_type = 'Payment' then event.data->>'source' end as source,
  case when event.entity_type = 'Payment' then (
    select created_by_api_user_id from quick_payment_link link
    where link.tenant_id = event.tenant_id and link.id = (event.data->>'quickPaymentLinkId')::uuid
  ) end as "linkCreator"`;

/** The columns of a {@link StoredEvent} without its IDs, of `recorded_event` as `event`. */
export const contentColumns = sql`
  event.entity_type as "entityType", event.operation, event.occurred_at as "occurredAt", event.recorded_at as "recordedAt", event.sequence,
  event.data::text as data, event.changed_fields as "changedFields", event.traceparent, ${filteredColumns}`;

const storedColumns = sql`event.id, event.entity_id as "entityId", ${contentColumns}`;

/** Selects events as {@link StoredEvent}, as `event`. */
export function selectEvents(tenantId: number, condition: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`select ${storedColumns} from recorded_event event where event.tenant_id = ${tenantId} and ${condition}`;
}

/** Selects the first events that match a condition on `event_position` as {@link StoredEvent}, in their order, with their positions. */
export function selectPositioned(tenantId: number, condition: RawBuilder<unknown>, most: number): RawBuilder<unknown> {
  return sql`
    select positioned.position, ${storedColumns}
    from (select position, event_id from event_position where tenant_id = ${tenantId} and ${condition}
      order by position limit ${most}) positioned
    join recorded_event event on event.tenant_id = ${tenantId} and event.id = positioned.event_id
    order by positioned.position`;
}
