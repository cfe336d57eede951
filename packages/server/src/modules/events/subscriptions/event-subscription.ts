import { sql } from 'kysely';
import { type Computed, defineEntity } from '../../../entity/entity.ts';

/** Which events are sent to a receiver. */
export const eventSubscription = defineEntity('EventSubscription', {
  table: 'event_subscription',
  computed: { lastDeliveryAt: ofLane('last_delivery_at'), consecutiveFailures: ofLane('consecutive_failures') },
  rules: {
    beforeRemoval({ values }, plan) {
      values.deactivatedAt = plan.now;
    },
  },
});

/** Deliveries change these without a new version of the subscription, so they are kept with its lane. */
function ofLane(column: string): Computed {
  return (row) => sql`(select ${sql.ref(`lane.${column}`)} from delivery_partition lane
    where lane.tenant_id = ${sql.ref(`${row}.tenant_id`)} and lane.subscription_id = ${sql.ref(`${row}.id`)})`;
}
