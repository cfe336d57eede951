import type { Handler } from '../../../entity/context.ts';
import { lockVersion } from '../../../entity/lock-version.ts';
import { versionToMatch, writtenRow } from '../../../query/entity-tag.ts';
import { checkDeliveryUrl, checkEmbedded, checkReader } from './check-subscription.ts';
import { eventSubscription } from './event-subscription.ts';
import { checkFilter } from './payment-filter.ts';

/** Updates a subscription; fields that are left out keep their values. */
export const updateEventSubscription: Handler<'updateEventSubscription'> = async (context, { path, body }) => {
  if (body.deliveryUrl !== undefined) await checkDeliveryUrl(context, body.deliveryUrl);
  return context.write(async (unit) => {
    const version = await versionToMatch(unit, context, eventSubscription, path.id);
    await unit.plan((plan) => {
      const row = lockVersion(plan, eventSubscription, path.id, version);
      // Otherwise a caller could redirect events that only others may receive.
      if (body.deliveryUrl !== undefined || body.filterExpression !== undefined) {
        const filterExpression = body.filterExpression === undefined ? row.filterExpression : body.filterExpression;
        checkFilter(row.entityType, filterExpression);
        checkReader(context, { ...row, filterExpression });
        if (body.deliveryUrl !== undefined) checkEmbedded(context, row);
      }
      plan.update(eventSubscription, path.id, body);
    });
    const { row, tag } = await writtenRow(unit, context, eventSubscription, path.id);
    return { status: 200, headers: { ETag: tag }, body: row };
  });
};
