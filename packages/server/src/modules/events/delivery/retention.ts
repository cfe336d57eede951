import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { defineClockTask, type Tick } from '../../../background/clock.ts';
import { millisecondsOf } from '../../../contract/durations.ts';

/** How long events and the attempts to deliver them are kept, in days. */
export const keptDays = millisecondsOf('event') / 86_400_000;

/** The time of the tenant since which they are kept. Older rows can still exist for a while. */
export const keptSince = sql`tenant_now() - interval '1 day' * ${sql.lit(keptDays)}`;

/** How many rows one transaction removes, and the pause after it, in milliseconds: others come between. */
const batchSize = 1_000;
const pauseBetween = 20;

/** Removes events and deliveries that are older than they are kept. Nothing is sent again after a fraction of that time. */
export const removeOldEvents = defineClockTask({
  name: 'remove-old-events',
  every: 'day',
  async run(tick) {
    // The oldest are found by the keys of the tables: positions rise with time, as do IDs. The age is a condition on these few rows alone:
    // each statement would read all old rows otherwise. No event is removed before one with a lower position, so the first position tells
    // from where the feed is complete.
    const isWaiting = tick.tenant.isSandbox ? waitsForDelivery : sql`false`;
    const removeEvents = sql`
      with old as materialized (
        select position, event_id from (
          select position, event_id, bool_and(recorded_at < ${keptSince} and not ${isWaiting}) over (order by position) as is_old
          from event_position event where tenant_id = ${tick.tenant.id}
          order by position limit ${batchSize}) oldest
        where is_old
      ), positions as (
        delete from event_position where tenant_id = ${tick.tenant.id} and position in (select position from old)
      )
      delete from recorded_event where tenant_id = ${tick.tenant.id} and id in (select event_id from old) returning 1`;
    // Attempts are dropped with their month. What is imported after that is in the default partition.
    const hasNoMonth = sql`tenant_id = ${tick.tenant.id} and id < (select first_partition_begins('delivery_attempt'))`;
    const removeAttempts = sql`
      delete from delivery_attempt where ${hasNoMonth} and id in (
        select id from delivery_attempt where ${hasNoMonth} and attempted_at < ${keptSince} limit ${batchSize}) returning 1`;
    await removeInBatches(tick, removeEvents);
    await removeInBatches(tick, removeAttempts);
  },
});

/**
 * Whether a subscription has not received an `event` yet. In a sandbox whose clock is advanced, events can be too old before there was
 * time to deliver them.
 */
const waitsForDelivery = sql`exists (
  select from event_subscription subscription
  join delivery_partition partition on partition.tenant_id = subscription.tenant_id and partition.subscription_id = subscription.id
  where subscription.tenant_id = event.tenant_id and subscription.active
    and event.entity_type = any (array[subscription.entity_type] || subscription.more_entity_types) and event.operation = any (subscription.operations)
    and (partition.position < event.position or exists (select from delivery_retry retry
      where retry.tenant_id = event.tenant_id and retry.subscription_id = subscription.id and retry.event_id = event.event_id)))`;

async function removeInBatches(tick: Tick, remove: ReturnType<typeof sql>): Promise<void> {
  for (;;) {
    // The task is not done for today, so it goes on in the next minute.
    tick.signal.throwIfAborted();
    const removed = await tick.write(({ transaction }) => transaction.all(remove));
    if (removed.length < batchSize) return;
    await pause(pauseBetween, undefined, { signal: tick.signal });
  }
}
