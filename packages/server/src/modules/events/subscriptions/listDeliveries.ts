import type { components } from '@financial-automation/spec';
import { sql } from 'kysely';
import { schemaOf } from '../../../contract/contract.ts';
import { propertiesOf } from '../../../contract/fields.ts';
import { Rejection } from '../../../contract/rejection.ts';
import type { Handler } from '../../../entity/context.ts';
import { pageScope } from '../../../query/handlers.ts';
import { pageFrom, startOfPage } from '../../../query/page.ts';
import { removeBeyond, withinPageBytes } from '../../../query/page-bytes.ts';
import { keptSince } from '../delivery/retention.ts';

type DeliveryAttempt = components['schemas']['DeliveryAttempt'];

const limited = withinPageBytes({
  names: Object.keys(propertiesOf(schemaOf('DeliveryAttempt'))),
  sized: ['deliveryUrl', 'responseSnippet', 'errorMessage'],
  key: 'id',
});

/** The attempts to deliver events to a subscription, the newest first. */
export const listDeliveries: Handler<'listDeliveries'> = (context, { path, query }) =>
  context.read(async (session) => {
    const tenantId = context.tenant.id;
    const { includeTotal = false, httpStatusCode, from, to } = query;
    const scope = pageScope(context, [path.id, httpStatusCode, from, to]);
    const start = startOfPage(scope, query);
    const subscription = await session.first<{ active: boolean; activeSince: string }>(
      sql`select active, active_since as "activeSince" from event_subscription where tenant_id = ${tenantId} and id = ${path.id}`,
    );
    if (subscription === undefined)
      throw new Rejection('NOT_FOUND', 'Your tenant has no EventSubscription with this ID.');
    const conditions = [sql`tenant_id = ${tenantId} and subscription_id = ${path.id} and attempted_at >= ${keptSince}`];
    if (httpStatusCode !== undefined) conditions.push(sql`http_status_code = ${httpStatusCode}`);
    if (from !== undefined) conditions.push(sql`attempted_at >= ${from}`);
    if (to !== undefined) conditions.push(sql`attempted_at < ${to}`);
    const matching = sql.join(conditions, sql` and `);
    const next = start.after === undefined ? sql`true` : sql`(attempted_at, id) < (${sql.join([...start.after])})`;
    // What waited for its next attempt is not sent after the subscription was deactivated.
    const isWaiting = sql`${subscription.active} and attempted_at >= ${subscription.activeSince}`;
    const rows = await session.all(
      limited<DeliveryAttempt>(sql`
      select id, subscription_id as "subscriptionId", event_id as "eventId", entity_type as "entityType", operation,
        entity_id as "entityId", attempt, delivery_url as "deliveryUrl", http_status_code as "httpStatusCode", outcome,
        duration_ms as "durationMs", response_snippet as "responseSnippet", error_message as "errorMessage",
        attempted_at as "attemptedAt", case when ${isWaiting} then next_retry_at end as "nextRetryAt"
      from delivery_attempt where ${matching} and ${next}
      order by attempted_at desc, id desc limit ${start.pageSize + 1} offset ${start.skipped}`),
    );
    const isCut = removeBeyond(rows, 'id');
    const body = pageFrom(scope, query, start, rows, ({ attemptedAt, id }) => [attemptedAt, id], isCut);
    if (!includeTotal) return { status: 200, body };
    const counted = await session.first<{ total: number }>(sql`
      select count(*) as total from delivery_attempt where ${matching}`);
    return { status: 200, body: { ...body, total: counted?.total ?? 0 } };
  });
