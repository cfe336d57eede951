import { sql } from 'kysely';
import type { Context } from '../../../entity/context.ts';
import { mayReceive } from '../delivery/load.ts';
import type { StoredEvent } from '../delivery/message.ts';
import { messageText, selectEvents, visibleText } from '../delivery/message.ts';
import { allPayments, isFiltered } from '../subscriptions/payment-filter.ts';

/** Whether the roles of a caller include those that a subscription to all events of a type requires. */
function mayReceiveAll({ caller }: Context, entityType: string): boolean {
  const filterExpression = isFiltered(entityType) ? allPayments : null;
  return mayReceive({
    entityType,
    entityTypes: [entityType],
    filterExpression,
    createdByApiUserId: caller.apiUserId,
    roles: caller.roles,
  });
}

/**
 * The events of one row that are kept, the newest first.
 *
 * @returns undefined if the roles of the caller do not include those that a subscription to all of them requires.
 */
export async function eventsOfRow(
  context: Context,
  entityType: string,
  entityId: string,
  limit: number,
): Promise<StoredEvent[] | undefined> {
  if (!mayReceiveAll(context, entityType)) return undefined;
  return context.read((session) =>
    session.all<StoredEvent>(sql`
      ${selectEvents(context.tenant.id, sql`entity_type = ${entityType} and entity_id = ${entityId}`)}
      order by sequence desc limit ${limit}`),
  );
}

/** The body of an event as subscribers with the roles of the caller receive it; undefined if it is not kept, or not for these roles. */
export async function eventBody(context: Context, id: string): Promise<string | undefined> {
  const { caller, tenant } = context;
  const event = await context.read((session) =>
    session.first<StoredEvent>(selectEvents(tenant.id, sql`event.id = ${id}`)),
  );
  if (event === undefined || !mayReceiveAll(context, event.entityType)) return undefined;
  return visibleText(messageText(tenant.name, event), event.entityType, caller.roles);
}
