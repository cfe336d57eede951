import { sql } from 'kysely';
import { schemaOf } from '../../../contract/contract.ts';
import { propertiesOf } from '../../../contract/fields.ts';
import type { Handler } from '../../../entity/context.ts';
import type { Transaction } from '../../../platform/store/store.ts';
import { partitionsDue } from '../../../platform/store/trace.ts';
import { deliveriesOf, type RepeatedEvent, sendAgain } from '../delivery/acknowledge.ts';
import { passesFilter } from '../delivery/load.ts';
import { filteredColumns } from '../delivery/message.ts';
import { type ActiveSubscription, activeSubscription } from './active-subscription.ts';
import { checkReader } from './check-subscription.ts';

/** How many events one call sends at most. */
const maxEvents = propertiesOf(schemaOf('EventRecovery')).events?.maximum ?? 0;

/** Sends all events since an instant again that have not been delivered. */
export const recoverEvents: Handler<'recoverEvents'> = async (context, { path: { id }, body: { since } }) => {
  const tenantId = context.tenant.id;
  const result = await context.write(async ({ transaction }) => {
    const subscription = await activeSubscription(transaction, tenantId, id);
    checkReader(context, subscription);
    const events = await undelivered(transaction, tenantId, subscription, since);
    await sendAgain(transaction, tenantId, events);
    return { status: 202 as const, headers: deliveriesOf(id), body: { events: events.length } };
  });
  context.service.store.cellOf(context.tenant.id).notify(partitionsDue, '');
  return result;
};

/** The oldest events that match the subscription and have no attempt that succeeded. Those that its partition has not reached yet follow anyway. */
async function undelivered(
  transaction: Transaction,
  tenantId: number,
  subscription: ActiveSubscription,
  since: string,
): Promise<RepeatedEvent[]> {
  const { id, entityTypes, operations, createdAt } = subscription;
  const found: RepeatedEvent[] = [];
  for (let after = 0; ; ) {
    const page = await transaction.all<
      RepeatedEvent & { readonly source: string | null; readonly linkCreator: string | null }
    >(sql`
      select ${id}::uuid as subscription, event.id as event, event.entity_id as entity, positioned.position, ${filteredColumns}
      from event_position positioned
      join recorded_event event on event.tenant_id = ${tenantId} and event.id = positioned.event_id
      where positioned.tenant_id = ${tenantId} and positioned.entity_type = any (${entityTypes})
        and positioned.operation = any (${operations}) and positioned.position > ${after} and positioned.position <= (
          select position from delivery_partition where tenant_id = ${tenantId} and subscription_id = ${id})
        and event.occurred_at >= ${since} and event.recorded_at >= ${createdAt}
        and not exists (select from delivery_attempt attempt
          where attempt.tenant_id = ${tenantId} and attempt.subscription_id = ${id} and attempt.attempted_at >= ${since}
            and attempt.event_id = event.id and attempt.outcome = 'SUCCESS')
      order by positioned.position limit ${maxEvents}`);
    for (const { source, linkCreator, ...event } of page) {
      if (passesFilter(subscription, { event: { source, linkCreator } })) found.push(event);
      if (found.length === maxEvents) return found;
    }
    const last = page.at(-1);
    if (last === undefined || page.length < maxEvents) return found;
    after = last.position;
  }
}
