import { invalid } from '../../../contract/problem.ts';
import type { Handler } from '../../../entity/context.ts';
import { writtenRow } from '../../../query/entity-tag.ts';
import { checkCount, checkDeliveryUrl, checkEvents, checkReader, passRecorded } from './check-subscription.ts';
import { eventSubscription } from './event-subscription.ts';
import { checkFilter } from './payment-filter.ts';

/** Subscribes to events. */
export const createEventSubscription: Handler<'createEventSubscription'> = async (context, { body }) => {
  const { entityType: only, entityTypes: several, operations, ...fields } = body;
  if ((only === undefined) === (several === undefined))
    throw invalid('/entityType', 'REQUIRED', 'Send either entityType or entityTypes.');
  const entityTypes = several ?? [only ?? ''];
  const [entityType = ''] = entityTypes;
  const createdByApiUserId = context.caller.apiUserId;
  const filterExpression = body.filterExpression ?? null;
  await checkEvents(context, { entityTypes, operations });
  checkFilter(entityType, filterExpression);
  checkReader(context, { entityTypes, filterExpression, createdByApiUserId });
  await checkDeliveryUrl(context, body.deliveryUrl);
  await passRecorded(context);
  return context.write(async (unit) => {
    await checkCount(unit);
    const system = { entityType, entityTypes, operations, createdByApiUserId };
    const { row } = await unit.plan((plan) => plan.create(eventSubscription, fields, { system }));
    const written = await writtenRow(unit, context, eventSubscription, row.id);
    const headers = { Location: `/api/v1/event-subscriptions/${row.id}`, ETag: written.tag };
    return { status: 201, headers, body: written.row };
  });
};
