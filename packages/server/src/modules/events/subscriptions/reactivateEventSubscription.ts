import type { Handler } from '../../../entity/context.ts';
import { lockVersion } from '../../../entity/lock-version.ts';
import { versionToMatch, writtenRow } from '../../../query/entity-tag.ts';
import { checkCount, checkReader, passRecorded } from './check-subscription.ts';
import { eventSubscription } from './event-subscription.ts';
import { checkFilter } from './payment-filter.ts';

/** Resumes deliveries with the next event. */
export const reactivateEventSubscription: Handler<'reactivateEventSubscription'> = async (context, { path }) => {
  await passRecorded(context);
  return context.write(async (unit) => {
    const version = await versionToMatch(unit, context, eventSubscription, path.id);
    const isActive = await unit.plan((plan) => lockVersion(plan, eventSubscription, path.id, version).active);
    if (!isActive) await checkCount(unit);
    await unit.plan((plan) => {
      const row = lockVersion(plan, eventSubscription, path.id, version);
      if (row.active) return;
      checkFilter(row.entityType, row.filterExpression);
      checkReader(context, row);
      plan.set(eventSubscription, path.id, { active: true, deactivatedAt: null });
    });
    const { row, tag } = await writtenRow(unit, context, eventSubscription, path.id);
    return { status: 200, headers: { ETag: tag }, body: row };
  });
};
