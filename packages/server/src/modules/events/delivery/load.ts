import { hasRole } from '@financial-automation/spec/roles';
import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Vault } from '../../../platform/auth/vault.ts';
import type { Session } from '../../../platform/store/store.ts';
import { rolesToRead } from '../catalog/catalog.ts';
import { validSecrets } from '../signatures/webhook-secret.ts';
import { allLinks, isFiltered, ownPaymentLinks, rolesForFilter } from '../subscriptions/payment-filter.ts';
import { contentColumns, Message, messageText, Secrets, type StoredEvent, selectEvents } from './message.ts';

/** Which partition wants events, and at most how many. */
export interface PartitionRequest {
  readonly subscriptionId: string;
  readonly most: number;
  /** The last position that is sent already; undefined where it is that of the partition. */
  readonly after: number | undefined;
}

/** An event that is due for a subscription. */
export interface DueEvent {
  readonly id: string;
  readonly entityId: string;
  readonly position: number;
  /** Attempts that have failed. */
  readonly attempts: number;
  readonly isRetry: boolean;
  /** An earlier event of the same row waits for its retry. */
  readonly isBehind: boolean;
  /** Undefined where the event is no longer kept. */
  readonly message: Message | undefined;
}

/** What a partition has to send. */
export interface Work {
  /** Undefined where the subscription is inactive. */
  readonly subscription: (Subscriber & { readonly deliveryUrl: string }) | undefined;
  readonly secrets: Secrets;
  /** Retries first, then new events in their order. */
  readonly due: readonly DueEvent[];
  /** Where the new events end. Every earlier one is among them, or does not concern the subscription. */
  readonly position: number | undefined;
  /** There may be more. */
  readonly hasMore: boolean;
  /** How far the clock of the tenant is ahead of the real one, in milliseconds. */
  readonly clockOffset: number;
  /** `performance.now()` */
  readonly readAt: number;
}

/** No more events wait for their retry than this. Then new ones wait in the feed, where they cost nothing. */
const maxRetries = 10_000;

interface SubscriptionRow extends Omit<Subscriber, 'roles'> {
  readonly id: string;
  readonly active: boolean;
  readonly deliveryUrl: string;
  readonly roles: readonly string[] | null;
}

/** An event that is due, or the end of those of a request: without an event, with the last position of the tenant. */
interface DueRow extends Omit<DueEvent, 'message'> {
  /** The number of the request, from 0. */
  readonly request: number;
  /** Undefined where the contents of events are read apart; null where the event is no longer kept. */
  readonly data?: string | null;
}

/**
 * Events in the form in which they are sent, of all tenants: several subscriptions often receive the same ones. They are kept for two
 * seconds only, because the erasure of a person changes events that wait for their next attempt.
 */
export class Messages {
  readonly #kept = new LRUCache<string, Message>({
    maxSize: 8_000_000,
    ttl: 2_000,
    sizeCalculation: ({ body }) => body.length + 500,
  });

  async read(
    session: Session,
    tenant: { readonly id: number; readonly name: string },
    eventIds: readonly string[],
  ): Promise<Map<string, Message>> {
    const keyOf = (id: string) => `${tenant.id}/${id}`;
    const found = new Map<string, Message>();
    const missing: string[] = [];
    for (const id of eventIds) {
      const message = this.#kept.get(keyOf(id));
      if (message === undefined) missing.push(id);
      else found.set(id, message);
    }
    if (missing.length === 0) return found;
    for (const row of await session.all<StoredEvent>(sql`${selectEvents(tenant.id, sql`id = any(${missing})`)}`)) {
      const message = new Message(messageText(tenant.name, row), row, true);
      this.#kept.set(keyOf(row.id), message);
      found.set(row.id, message);
    }
    return found;
  }
}

/**
 * Reads what partitions of a tenant have to send, in the order of the requests.
 *
 * @param messages undefined where only one partition of the tenant is delivered: keeping events that nobody else receives makes garbage
 *   collections longer.
 */
export async function loadWork(
  session: Session,
  tenant: { readonly id: number; readonly name: string },
  requests: readonly PartitionRequest[],
  messages: Messages | undefined,
  vault: Vault,
): Promise<Work[]> {
  // By each event, because a join could read all events instead.
  const content = sql`
    left join lateral (select ${contentColumns} from recorded_event event
      where event.tenant_id = ${tenant.id} and event.id = due.id limit 1) content on true`;
  const partitions = JSON.stringify(
    requests.map(({ subscriptionId: id, most, after = null }, request) => ({ request, id, most, after })),
  );
  const subscriptions = await session.all<SubscriptionRow>(sql`
    select subscription.id, subscription.active, delivery_url as "deliveryUrl", entity_type as "entityType",
      array[entity_type] || more_entity_types as "entityTypes", filter_expression as "filterExpression", created_by_api_user_id as "createdByApiUserId",
      case when api_user.active then api_user.roles end as roles
    from event_subscription subscription
    join api_user on api_user.tenant_id = subscription.tenant_id and api_user.id = created_by_api_user_id
    where subscription.tenant_id = ${tenant.id} and subscription.id = any(${requests.map((one) => one.subscriptionId)})`);
  const due = await session.all<DueRow>(sql`
    with requested as materialized (
      select requested.request, partition.subscription_id, requested.most, array[subscription.entity_type] || subscription.more_entity_types as entity_types, subscription.operations,
        coalesce(requested.after, partition.position) as position,
        coalesce((select position from event_feed where tenant_id = ${tenant.id}), 0) as feed,
        exists (select from delivery_retry retry
          where retry.tenant_id = ${tenant.id} and retry.subscription_id = partition.subscription_id) as has_retries,
        exists (select from delivery_retry retry
          where retry.tenant_id = ${tenant.id} and retry.subscription_id = partition.subscription_id
          order by due_at offset ${maxRetries}) as is_full
      from jsonb_to_recordset(${partitions}::jsonb) as requested (request integer, id uuid, most integer, after bigint)
      join delivery_partition partition on partition.tenant_id = ${tenant.id} and partition.subscription_id = requested.id
      join event_subscription subscription
        on subscription.tenant_id = ${tenant.id} and subscription.id = requested.id and subscription.active
    )
    select requested.request, due.*${messages === undefined ? sql`, content.*` : sql``}
    from requested cross join lateral (
      (select event_id as id, entity_id as "entityId", position, attempts::integer, true as "isRetry",
         false as "isBehind"
       from delivery_retry retry
       where retry.tenant_id = ${tenant.id} and retry.subscription_id = requested.subscription_id and due_at <= tenant_now()
       order by due_at, position limit requested.most)
      union all
      (select event_id, entity_id, position, 0, false,
         requested.has_retries and exists (select from delivery_retry retry where retry.tenant_id = ${tenant.id}
           and retry.subscription_id = requested.subscription_id and retry.entity_id = event.entity_id)
       -- The first of each type, so that the index has them in their order.
       from unnest(requested.entity_types) kind cross join lateral (select * from event_position event
       where event.tenant_id = ${tenant.id} and event.entity_type = kind
         and event.position > requested.position and event.operation = any (requested.operations)
         and not requested.is_full
       order by event.position limit requested.most) event
       order by event.position limit requested.most)
      union all
      -- Tells where the feed ends, also where nothing is due.
      (select null, null, requested.feed, null, null, requested.is_full)
    ) due
    ${messages === undefined ? content : sql``}`);
  const events = due.filter(({ id }) => id !== null);
  const kept = await messages?.read(session, tenant, [...new Set(events.map(({ id }) => id))]);
  const messageOf = (row: DueRow) =>
    hasContent(row) ? new Message(messageText(tenant.name, row), row, false) : kept?.get(row.id);
  const found = events.length === 0 ? [] : await validSecrets(session, vault, tenant.id);
  const secrets = new Secrets(found.map(({ secret }) => secret));
  const byRequest = Map.groupBy(due, ({ request }) => request);
  return requests.map(({ subscriptionId, most }, request) => {
    const row = subscriptions.find(({ id }) => id === subscriptionId);
    const rows = byRequest.get(request) ?? [];
    const roles = new Set(row?.roles);
    const own = rows
      .filter(({ id }) => id !== null)
      .map((row): DueEvent => {
        const { id, entityId, position, attempts, isRetry, isBehind } = row;
        return { id, entityId, position, attempts, isRetry, isBehind, message: messageOf(row)?.visibleTo(roles) };
      });
    const fresh = own.filter(({ isRetry }) => !isRetry).sort((left, right) => left.position - right.position);
    const retries = own.filter(({ isRetry }) => isRetry);
    const end = rows.find(({ id }) => id === null);
    const isCut = fresh.length === most;
    const isFull = end?.isBehind === true;
    const lastOfAll = isFull ? undefined : end?.position;
    return {
      subscription: row?.active === true ? { ...row, roles: row.roles === null ? undefined : roles } : undefined,
      secrets,
      due: [...retries, ...fresh],
      position: isCut ? fresh.at(-1)?.position : lastOfAll,
      hasMore: isCut || retries.length === most,
      clockOffset: session.clockOffset ?? 0,
      readAt: performance.now(),
    };
  });
}

function hasContent(row: DueRow): row is DueRow & StoredEvent {
  return typeof row.data === 'string';
}

/** What decides on the events that a subscription receives. */
export interface Subscriber {
  readonly entityType: string;
  readonly entityTypes: readonly string[];
  readonly filterExpression: string | null;
  readonly createdByApiUserId: string;
  /** The roles that the API user has now; undefined where the user is inactive. */
  readonly roles: ReadonlySet<string> | undefined;
}

/** Whether the API user who subscribed may still receive what the subscription asks for. */
export function mayReceive({ entityType, entityTypes, filterExpression, roles }: Subscriber): boolean {
  if (roles === undefined) return false;
  if (isFiltered(entityType)) {
    if (filterExpression === ownPaymentLinks) return true;
    const required = rolesForFilter(filterExpression);
    if (required !== undefined && !hasRole(roles, required)) return false;
  }
  return entityTypes.every((type) => hasRole(roles, rolesToRead(type)));
}

/**
 * Whether an event passes the filter of a subscription. Filters of other types than payments are not evaluated. A
 * filter of a payment subscription that is none of the three was stored before they were required; it receives
 * everything.
 */
export function passesFilter(
  { entityType, filterExpression, createdByApiUserId }: Omit<Subscriber, 'roles' | 'entityTypes'>,
  { event: { source, linkCreator } }: { readonly event: Pick<Message['event'], 'source' | 'linkCreator'> },
): boolean {
  if (!isFiltered(entityType)) return true;
  if (filterExpression === allLinks) return source === 'QUICK_PAYMENT_LINK';
  if (filterExpression === ownPaymentLinks) return linkCreator === createdByApiUserId;
  return true;
}
