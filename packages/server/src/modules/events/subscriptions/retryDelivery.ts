import { sql } from 'kysely';
import { Rejection } from '../../../contract/rejection.ts';
import type { Handler } from '../../../entity/context.ts';
import { partitionsDue } from '../../../platform/store/trace.ts';
import { deliveriesOf, type RepeatedEvent, sendAgain } from '../delivery/acknowledge.ts';
import { keptSince } from '../delivery/retention.ts';
import { activeSubscription } from './active-subscription.ts';
import { checkReader } from './check-subscription.ts';

/** Sends the event of an attempt again. */
export const retryDelivery: Handler<'retryDelivery'> = async (context, { path: { id, deliveryId } }) => {
  const tenantId = context.tenant.id;
  const result = await context.write(async ({ transaction }) => {
    checkReader(context, await activeSubscription(transaction, tenantId, id));
    const [event] = await transaction.all<RepeatedEvent>(sql`
      select ${id}::uuid as subscription, event.event_id as event, event.entity_id as entity, event.position
      from delivery_attempt attempt
      join event_position event on event.tenant_id = ${tenantId} and event.event_id = attempt.event_id
      where attempt.tenant_id = ${tenantId} and attempt.id = ${deliveryId} and attempt.subscription_id = ${id}
        and attempt.attempted_at >= ${keptSince}`);
    if (event === undefined)
      throw new Rejection(
        'NOT_FOUND',
        'The subscription has no delivery with this ID, or its event is no longer kept.',
      );
    await sendAgain(transaction, tenantId, [event]);
    return { status: 202 as const, headers: deliveriesOf(id), body: { events: 1 } };
  });
  context.service.store.cellOf(context.tenant.id).notify(partitionsDue, '');
  return result;
};
