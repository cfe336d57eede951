import type { components } from '@financial-automation/spec';
import { sql } from 'kysely';
import { numberOf } from '../../../contract/contract.ts';
import { Rejection } from '../../../contract/rejection.ts';
import type { Handler } from '../../../service/context.ts';
import { keptSince } from '../delivery/retention.ts';

type DeliveryAttempt = components['schemas']['DeliveryAttempt'];

const standardPageSize = numberOf('NumberListRequest', 'pageSize', 'default');

/** The attempts to deliver events to a subscription, the newest first. */
export const listDeliveries: Handler<'listDeliveries'> = (context, { path, query }) =>
  context.read(async (session) => {
    const tenantId = context.tenant.id;
    const { page = 0, pageSize = standardPageSize, includeTotal = false, httpStatusCode, from, to } = query;
    const subscription = await session.first(
      sql`select 1 from event_subscription where tenant_id = ${tenantId} and id = ${path.id}`,
    );
    if (subscription === undefined)
      throw new Rejection('NOT_FOUND', 'Your tenant has no EventSubscription with this ID.');
    const conditions = [sql`tenant_id = ${tenantId} and subscription_id = ${path.id} and attempted_at >= ${keptSince}`];
    if (httpStatusCode !== undefined) conditions.push(sql`http_status_code = ${httpStatusCode}`);
    if (from !== undefined) conditions.push(sql`attempted_at >= ${from}`);
    if (to !== undefined) conditions.push(sql`attempted_at < ${to}`);
    const matching = sql.join(conditions, sql` and `);
    const data = await session.all<DeliveryAttempt>(sql`
      select id, subscription_id as "subscriptionId", event_id as "eventId", entity_type as "entityType", operation,
        entity_id as "entityId", attempt, delivery_url as "deliveryUrl", http_status_code as "httpStatusCode", outcome,
        duration_ms as "durationMs", response_snippet as "responseSnippet", error_message as "errorMessage",
        attempted_at as "attemptedAt", next_retry_at as "nextRetryAt"
      from delivery_attempt where ${matching}
      order by attempted_at desc, id desc limit ${pageSize + 1} offset ${page * pageSize}`);
    const hasMore = data.length > pageSize;
    if (hasMore) data.length = pageSize;
    const body = { data, page, pageSize, hasMore, nextCursor: null };
    if (!includeTotal) return { status: 200, body };
    const counted = await session.first<{ total: number }>(sql`
      select count(*) as total from delivery_attempt where ${matching}`);
    return { status: 200, body: { ...body, total: counted?.total ?? 0 } };
  });
