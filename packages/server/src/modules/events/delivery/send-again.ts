import { sql } from 'kysely';
import type { Transaction } from '../../../platform/store/store.ts';

/** An event to send to a subscription once more. */
export interface RepeatedEvent {
  readonly subscription: string;
  readonly event: string;
  readonly entity: string;
  readonly position: number;
}

/** Makes events due for their subscriptions, with a new count of attempts. Those of one row are sent in their order. */
export async function sendAgain(
  transaction: Transaction,
  tenantId: number,
  events: readonly RepeatedEvent[],
): Promise<void> {
  if (events.length === 0) return;
  const rows = JSON.stringify(events);
  // Partitions first, which is the lock order of all transactions.
  await transaction.all(sql`
    update delivery_partition partition set due_at = tenant_now(), paused_until = null
    from (select subscription_id from delivery_partition where tenant_id = ${tenantId}
      and subscription_id = any(${[...new Set(events.map((one) => one.subscription))]}) order by subscription_id for update) chosen
    where partition.tenant_id = ${tenantId} and partition.subscription_id = chosen.subscription_id`);
  await transaction.all(sql`
    insert into delivery_retry (tenant_id, subscription_id, event_id, entity_id, position, attempts, due_at)
    select ${tenantId}, subscription, event, entity, position, 0, 'infinity'
    from jsonb_to_recordset(${rows}::jsonb) as repeated (subscription uuid, event uuid, entity uuid, position bigint)
    on conflict (tenant_id, subscription_id, event_id) do nothing`);
  // The first event of each row is sent next; the others wait for it.
  await transaction.all(sql`
    update delivery_retry retry set due_at = tenant_now()
    from (select distinct subscription, entity
      from jsonb_to_recordset(${rows}::jsonb) as repeated (subscription uuid, entity uuid)) repeated
    where retry.tenant_id = ${tenantId} and retry.subscription_id = repeated.subscription
      and retry.entity_id = repeated.entity
      and not exists (select from delivery_retry earlier
        where earlier.tenant_id = ${tenantId} and earlier.subscription_id = retry.subscription_id
          and earlier.entity_id = retry.entity_id and earlier.position < retry.position)`);
}

/** The header that leads to what becomes of the events. */
export function deliveriesOf(subscriptionId: string): { readonly Location: string } {
  return { Location: `/api/v1/event-subscriptions/${subscriptionId}/deliveries` };
}
