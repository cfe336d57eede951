import { sql } from 'kysely';
import type { Input } from '../../../contract/handler.ts';
import { invalid } from '../../../contract/problem.ts';
import { Rejection } from '../../../contract/rejection.ts';
import type { Context } from '../../../entity/context.ts';
import { seesEmbedded } from '../../../entity/field-access.ts';
import { entityOf } from '../../../entity/registry.ts';
import { checkTenantLimit } from '../../../entity/tenant-limit.ts';
import type { UnitOfWork } from '../../../entity/unit-of-work.ts';
import { findEventType, rolesToRead } from '../catalog/catalog.ts';
import { assignPositions } from '../feed/assign-positions.ts';
import type { ActiveSubscription } from './active-subscription.ts';
import { checkPayments, isFiltered } from './payment-filter.ts';

interface Scope {
  readonly entityTypes: readonly string[];
  readonly operations: Input<'createEventSubscription'>['body']['operations'];
}

/**
 * Checks that the tenant's catalog enables the events.
 *
 * @throws Rejection `VALIDATION_ERROR` that points at the type or the operation.
 */
export async function checkEvents(context: Context, { entityTypes, operations }: Scope): Promise<void> {
  const [entityType = ''] = entityTypes;
  if (entityTypes.length === 1) return checkType(context, '/entityType', entityType, operations);
  for (const [index, type] of entityTypes.entries()) {
    if (isFiltered(type))
      throw invalid(
        `/entityTypes/${index}`,
        'EXCLUSIVE',
        `Events of ${type} require a subscription of their own, with a filterExpression.`,
      );
    const enabled = await enabledOperations(context, type);
    if (!operations.some((operation) => enabled.has(operation)))
      throw notEnabled(`/entityTypes/${index}`, `${type} has none of these events. ${see}`);
  }
}

const see = 'See GET /api/v1/event-subscriptions/catalog.';

async function enabledOperations({ tenant, read }: Context, entityType: string): Promise<ReadonlySet<string>> {
  const type = await read((session) => findEventType(session, tenant.id, entityType));
  return new Set(
    (type?.entries(tenant.settings) ?? []).flatMap(({ enabled, operation }) => (enabled ? [operation] : [])),
  );
}

async function checkType(context: Context, pointer: string, entityType: string, operations: Scope['operations']) {
  const enabled = await enabledOperations(context, entityType);
  if (enabled.size === 0) throw notEnabled(pointer, `There are no events of the type ${entityType}. ${see}`);
  for (const [index, operation] of operations.entries())
    if (!enabled.has(operation))
      throw notEnabled(`/operations/${index}`, `${entityType} has no ${operation} event. ${see}`);
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
  subscription: Pick<ActiveSubscription, 'entityTypes' | 'filterExpression' | 'createdByApiUserId'>,
): void {
  for (const entityType of subscription.entityTypes) {
    if (isFiltered(entityType) && checkPayments(context, subscription)) continue;
    const roles = rolesToRead(entityType);
    if (!context.holds(roles))
      throw new Rejection('FORBIDDEN', `Receiving events of ${entityType} requires the ${roles.join(' or ')} role.`);
  }
}

/**
 * Checks that the caller may read the rows of other types that the events of a subscription embed. Those are in the events as far as the
 * API user who subscribed may read them, so this is required of others who change where they are sent.
 *
 * @throws Rejection `FORBIDDEN`
 */
export function checkEmbedded(
  { caller, holds }: Context,
  { entityTypes, createdByApiUserId }: Pick<ActiveSubscription, 'entityTypes' | 'createdByApiUserId'>,
): void {
  if (createdByApiUserId === caller.apiUserId) return;
  for (const entityType of entityTypes) {
    const entity = entityOf(entityType);
    if (entity !== undefined && !seesEmbedded(holds, entity))
      throw new Rejection(
        'FORBIDDEN',
        `Events of ${entityType} embed rows that you may not read, and another API user subscribed to them. Create a subscription of your own.`,
      );
  }
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

/** Checks that the tenant can have one more active subscription. @throws Rejection `LIMIT_REACHED` */
export function checkCount(unit: UnitOfWork): Promise<void> {
  const active = sql`select from event_subscription where tenant_id = ${unit.tenantId} and active`;
  return checkTenantLimit(unit, 'activeEventSubscriptions', 'active event subscriptions', active);
}

/**
 * Has a subscription that begins next go past what is recorded: it begins after the events that have a position. Those of changes that
 * are still in progress get one later, and are sent.
 */
export async function passRecorded(context: Context): Promise<void> {
  if (context.isRehearsal) return;
  while (await assignPositions(context));
}
