import type { Input } from '../../../contract/handler.ts';
import { invalid } from '../../../contract/problem.ts';
import { Rejection } from '../../../contract/rejection.ts';
import type { Context } from '../../../entity/context.ts';
import { findEventType, rolesToRead } from '../catalog/catalog.ts';
import type { ActiveSubscription } from './active-subscription.ts';
import { checkPayments, isFiltered } from './payment-filter.ts';

type Scope = Pick<Input<'createEventSubscription'>['body'], 'entityType' | 'operations'>;

/**
 * Checks that the tenant's catalog enables the events.
 *
 * @throws Rejection `VALIDATION_ERROR` that points at the type or the operation.
 */
export async function checkEvents(context: Context, { entityType, operations }: Scope): Promise<void> {
  const { tenant } = context;
  const type = await context.read((session) => findEventType(session, tenant.id, entityType));
  const enabled = (type?.entries(tenant.settings) ?? []).filter((entry) => entry.enabled);
  const see = 'See GET /api/v1/event-subscriptions/catalog.';
  if (enabled.length === 0) throw notEnabled('/entityType', `There are no events of the type ${entityType}. ${see}`);
  for (const [index, operation] of operations.entries()) {
    if (enabled.some((entry) => entry.operation === operation)) continue;
    throw notEnabled(`/operations/${index}`, `${entityType} has no ${operation} event. ${see}`);
  }
}

function notEnabled(pointer: string, detail: string): Rejection {
  return invalid(pointer, 'EVENT_NOT_ENABLED', detail);
}

/**
 * Checks that the caller may read what a subscription sends. Required of whoever changes where it is sent, or has it sent again.
 *
 * @throws Rejection `FORBIDDEN`; `FILTER_NOT_ALLOWED` for payments.
 */
export function checkReader(
  context: Context,
  subscription: Pick<ActiveSubscription, 'entityType' | 'filterExpression' | 'createdByApiUserId'>,
): void {
  const { entityType } = subscription;
  if (isFiltered(entityType) && checkPayments(context, subscription)) return;
  const roles = rolesToRead(entityType);
  if (context.holds(roles)) return;
  throw new Rejection('FORBIDDEN', `Receiving events of ${entityType} requires the ${roles.join(' or ')} role.`);
}

/**
 * Checks that events may be sent to a URL. It asks DNS, so it comes before the transaction.
 *
 * @throws Rejection `VALIDATION_ERROR` that points at `/deliveryUrl`.
 */
export async function checkDeliveryUrl({ service, tenant }: Context, deliveryUrl: string): Promise<void> {
  const fault = await service.deliveryAddresses.faultOf(deliveryUrl, tenant.settings.deliveryPorts);
  if (fault !== undefined) throw invalid('/deliveryUrl', fault.code, fault.detail);
}
