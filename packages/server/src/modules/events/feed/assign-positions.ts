import { sql } from 'kysely';
import type { Context } from '../../../entity/context.ts';
import { partitionsDue } from '../../../platform/store/trace.ts';

/** How many events get a position at once: more than a page of the feed has. */
const maxAssigned = 1_000;

/**
 * Gives positions to the events that are recorded: what a caller has written is listed at once, also where nothing is delivered, and is
 * before a subscription that is created now.
 *
 * @returns whether there can be more of them.
 */
export async function assignPositions({ service: { store }, tenant }: Context): Promise<boolean> {
  const result = await store.write(tenant.id, (transaction) =>
    transaction.first(
      sql<{ assigned: number; partitions: number }>`select * from assign_event_positions(${maxAssigned})`,
    ),
  );
  if (result !== undefined && result.partitions > 0) store.cellOf(tenant.id).notify(partitionsDue, '');
  return result?.assigned === maxAssigned;
}
