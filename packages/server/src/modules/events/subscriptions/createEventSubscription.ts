import type { Handler } from '../../../entity/context.ts';
import { writtenRow } from '../../../query/entity-tag.ts';
import { checkDeliveryUrl, checkEvents, checkReader } from './check-subscription.ts';
import { eventSubscription } from './event-subscription.ts';
import { checkFilter } from './payment-filter.ts';

/** Subscribes to events. */
export const createEventSubscription: Handler<'createEventSubscription'> = async (context, { body }) => {
  const { entityType, operations, ...fields } = body;
  const createdByApiUserId = context.caller.apiUserId;
  const filterExpression = body.filterExpression ?? null;
  await checkEvents(context, body);
  checkFilter(entityType, filterExpression);
  checkReader(context, { entityType, filterExpression, createdByApiUserId });
  await checkDeliveryUrl(context, body.deliveryUrl);
  return context.write(async (unit) => {
    const system = { entityType, operations, createdByApiUserId };
    const { row } = await unit.plan((plan) => plan.create(eventSubscription, fields, { system }));
    const written = await writtenRow(unit, context, eventSubscription, row.id);
    const headers = { Location: `/api/v1/event-subscriptions/${row.id}`, ETag: written.tag };
    return { status: 201, headers, body: written.row };
  });
};
