import { sql } from 'kysely';
import type { Context } from '../../../entity/context.ts';
import { mayReceive } from '../delivery/load.ts';
import type { StoredEvent } from '../delivery/message.ts';
import { selectEvents } from '../delivery/message.ts';
import { allPayments, isFiltered } from '../subscriptions/payment-filter.ts';

/**
 * The events of one row that are kept, the newest first.
 *
 * @returns undefined if the roles of the caller do not include those that a subscription to all of them requires.
 */
export async function eventsOfRow(
  { caller, tenant, read }: Context,
  entityType: string,
  entityId: string,
  limit: number,
): Promise<StoredEvent[] | undefined> {
  const filterExpression = isFiltered(entityType) ? allPayments : null;
  const subscriber = { entityType, filterExpression, createdByApiUserId: caller.apiUserId, roles: caller.roles };
  if (!mayReceive(subscriber)) return undefined;
  return read((session) =>
    session.all<StoredEvent>(sql`
      ${selectEvents(tenant.id, sql`entity_type = ${entityType} and entity_id = ${entityId}`)}
      order by sequence desc limit ${limit}`),
  );
}
