import type { Handler } from '../../../entity/context.ts';
import { lockVersion } from '../../../entity/lock-version.ts';
import { versionToMatch, writtenRow } from '../../../query/entity-tag.ts';
import { eventSubscription } from './event-subscription.ts';

/** Ends all deliveries of a subscription. */
export const deactivateEventSubscription: Handler<'deactivateEventSubscription'> = (context, { path }) =>
  context.write(async (unit) => {
    const version = await versionToMatch(unit, context, eventSubscription, path.id);
    await unit.plan((plan) => {
      const row = lockVersion(plan, eventSubscription, path.id, version);
      if (row.active) plan.remove(eventSubscription, path.id);
    });
    const { row, tag } = await writtenRow(unit, context, eventSubscription, path.id);
    return { status: 200, headers: { ETag: tag }, body: row };
  });
