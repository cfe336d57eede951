import { sql } from 'kysely';
import { keptSince, type RepeatedEvent, rotateSecret, sendAgain } from '../modules/events/index.ts';
import { recordOperatorAct } from '../platform/store/operator-log.ts';
import type { Transaction } from '../platform/store/store.ts';
import { checkInstant, type Operator } from './operator.ts';
import { tenantNamed } from './tenants.ts';

/**
 * The events to send again: that of one attempt, or all that failed since an instant and have not been delivered since.
 */
export interface ReplayRequest {
  readonly tenant: string;
  /** The ID of an attempt, as the deliveries list shows it. */
  readonly delivery?: string | undefined;
  /** RFC 3339 */
  readonly since?: string | undefined;
  /** Only those of this subscription. */
  readonly subscription?: string | undefined;
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Sends events again, each to its subscription, with a new count of attempts.
 *
 * @returns the number of events.
 * @throws Error with a sentence if nothing can be sent again.
 */
export async function replayDeliveries(operator: Operator, request: ReplayRequest): Promise<{ events: number }> {
  const { store } = operator.service;
  const { delivery, since, subscription } = request;
  if ((delivery === undefined) === (since === undefined)) throw new Error('Use either --delivery or --since.');
  for (const id of [delivery, subscription])
    if (id !== undefined && !uuid.test(id)) throw new Error(`"${id}" is not the ID of a delivery or a subscription.`);
  if (since !== undefined) checkInstant(since);
  const tenant = await tenantNamed(operator, request.tenant);
  const events = await store.write(tenant.id, (transaction) =>
    replay(transaction, tenant.id, { delivery, since, subscription }),
  );
  if (events === 0)
    throw new Error(
      'There is nothing to send again: the delivery does not exist, or its event or subscription has ended.',
    );
  await recordOperatorAct(store.owner, {
    operation: 'deliveries replay',
    subject: tenant.name,
    details: { ...request, events },
  });
  return { events };
}

/** Replaces the secret that signs events of a tenant. Both secrets sign during the specified hours. */
export async function rotateWebhookSecret(
  operator: Operator,
  { tenant: name, hours }: { readonly tenant: string; readonly hours: number },
): Promise<null> {
  const { store, vault } = operator.service;
  const tenant = await tenantNamed(operator, name);
  await store.write(tenant.id, (transaction) => rotateSecret(transaction, vault, tenant.id, hours * 60));
  await recordOperatorAct(store.owner, {
    operation: 'webhook rotate-secret',
    subject: tenant.name,
    details: { hours },
  });
  return null;
}

type Selection = Omit<ReplayRequest, 'tenant'>;

async function replay(transaction: Transaction, tenantId: number, selection: Selection): Promise<number> {
  const { delivery, since, subscription } = selection;
  const chosen =
    delivery === undefined
      ? sql`attempted_at >= ${since} group by subscription_id, event_id having not bool_or(outcome = 'SUCCESS')`
      : sql`id = ${delivery} group by subscription_id, event_id`;
  const ofSubscription = subscription === undefined ? sql`` : sql`subscription_id = ${subscription} and`;
  const replayed = await transaction.all<RepeatedEvent>(sql`
    select attempt.subscription_id as subscription, event.event_id as event, event.entity_id as entity, event.position
    from (select subscription_id, event_id from delivery_attempt where tenant_id = ${tenantId} and attempted_at >= ${keptSince}
      and ${ofSubscription} ${chosen}) attempt
    join event_subscription subscription
      on subscription.tenant_id = ${tenantId} and subscription.id = attempt.subscription_id and subscription.active
    join event_position event on event.tenant_id = ${tenantId} and event.event_id = attempt.event_id`);
  await sendAgain(transaction, tenantId, replayed);
  return replayed.length;
}
