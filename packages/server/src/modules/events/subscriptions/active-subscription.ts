import { sql } from 'kysely';
import { Rejection } from '../../../contract/rejection.ts';
import type { Session } from '../../../platform/store/store.ts';

/** Which events an active subscription receives. */
export interface ActiveSubscription {
  readonly id: string;
  readonly entityType: string;
  readonly entityTypes: readonly string[];
  readonly deliveryUrl: string;
  readonly operations: readonly string[];
  readonly filterExpression: string | null;
  readonly createdByApiUserId: string;
  /** RFC 3339 */
  readonly createdAt: string;
}

/**
 * Returns a subscription, which stays active until the transaction ends.
 *
 * @throws Rejection `NOT_FOUND`, `INVALID_STATE`
 */
export async function activeSubscription(
  transaction: Session,
  tenantId: number,
  id: string,
): Promise<ActiveSubscription> {
  const row = await transaction.first<ActiveSubscription & { readonly active: boolean }>(sql`
    select id, active, entity_type as "entityType", array[entity_type] || more_entity_types as "entityTypes", delivery_url as "deliveryUrl", operations, filter_expression as "filterExpression",
      created_by_api_user_id as "createdByApiUserId", created_at as "createdAt"
    from event_subscription where tenant_id = ${tenantId} and id = ${id} for share`);
  if (row === undefined) throw new Rejection('NOT_FOUND', 'Your tenant has no EventSubscription with this ID.');
  if (!row.active) throw new Rejection('INVALID_STATE', 'The subscription is inactive. Reactivate it first.');
  return row;
}
