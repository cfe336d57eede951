import { sql } from 'kysely';
import { type Computed, defineEntity } from '../../../entity/entity.ts';

/** Which events are sent to a receiver. */
export const eventSubscription = defineEntity('EventSubscription', {
  table: 'event_subscription',
  computed: {
    entityTypes: (row) => sql`array[${sql.ref(`${row}.entity_type`)}] || ${sql.ref(`${row}.more_entity_types`)}`,
    lastDeliveryAt: ofPartition('last_delivery_at'),
    consecutiveFailures: ofPartition('consecutive_failures'),
  },
  rules: {
    complete({ values, previous, privateColumns }) {
      if (previous === undefined) privateColumns.more_entity_types = values.entityTypes?.slice(1) ?? [];
    },
    beforeRemoval({ values }, plan) {
      values.deactivatedAt = plan.now;
    },
  },
});

/** Deliveries change these without a new version of the subscription, so they are kept with its partition. */
function ofPartition(column: string): Computed {
  return (row) => sql`(select ${sql.ref(`partition.${column}`)} from delivery_partition partition
    where partition.tenant_id = ${sql.ref(`${row}.tenant_id`)} and partition.subscription_id = ${sql.ref(`${row}.id`)})`;
}
