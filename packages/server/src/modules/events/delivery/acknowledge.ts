import { sql } from 'kysely';
import { newId } from '../../../platform/store/new-id.ts';
import type { Transaction } from '../../../platform/store/store.ts';
import type { Message } from './message.ts';
import type { DeliveryAttempt } from './sender.ts';

/** An attempt that ended. */
export interface AttemptRecord {
  readonly attempt: DeliveryAttempt;
  readonly event: Message['event'];
  readonly deliveryUrl: string;
  /** From 1. */
  readonly number: number;
  /** Milliseconds until the next attempt; undefined where there is none. */
  readonly retryIn: number | undefined;
}

/** An event that is sent later. */
export interface Retry {
  readonly eventId: string;
  readonly entityId: string;
  readonly position: number;
  /** Attempts that have failed. */
  readonly attempts: number;
  /** Milliseconds; undefined where it waits for an earlier event of its row. */
  readonly dueIn: number | undefined;
}

/** What a partition has done. */
export interface DeliveryProgress {
  readonly subscriptionId: string;
  /** They have the same entity type and delivery URL. */
  readonly attempts: readonly AttemptRecord[];
  readonly retries: readonly Retry[];
  /** Retries that are over: delivered, given up, or of a subscription that has ended. `attempts` is the number of those that had failed before. */
  readonly done: readonly { readonly eventId: string; readonly entityId: string; readonly attempts: number }[];
  /** Every event up to here was delivered, is among the retries, or was given up. Undefined where it has not moved. */
  readonly position: number | undefined;
  readonly failures: number;
  /** RFC 3339; null without failures. */
  readonly failingSince: string | null;
  /** Nothing is sent for so many milliseconds. */
  readonly pause: number;
  /**
   * Whether this process keeps the partition. Otherwise it is due again at once where it has more to do; where it is done, with its next
   * retry or event; and where its subscription ends, never.
   */
  readonly release: 'keep' | 'more' | 'done' | 'end';
}

/**
 * Writes what partitions of a tenant have done.
 *
 * @param holder the process that did it.
 * @returns for each partition, whether the process still has its lease. Otherwise only the attempts are written, and another process repeats
 *   them.
 */
export async function acknowledge(
  transaction: Transaction,
  tenantId: number,
  holder: string,
  progress: readonly DeliveryProgress[],
): Promise<boolean[]> {
  const ids = progress.map(({ subscriptionId }) => subscriptionId);
  const rows = await transaction.all<{ id: string }>(sql`
    select subscription_id as id from delivery_partition
    where tenant_id = ${tenantId} and subscription_id = any(${ids}) and leased_by = ${holder}
    order by subscription_id for update`);
  const leased = new Set(rows.map(({ id }) => id));
  const own = progress.filter(({ subscriptionId }) => leased.has(subscriptionId));
  await insertAttempts(transaction, tenantId, progress);
  await updateRetries(transaction, tenantId, own);
  await updatePartitions(transaction, tenantId, own);
  return progress.map(({ subscriptionId }) => leased.has(subscriptionId));
}

async function insertAttempts(
  transaction: Transaction,
  tenantId: number,
  progress: readonly DeliveryProgress[],
): Promise<void> {
  // A list for each column, and what all attempts of a partition have in common only once: most of the cost is reading the text.
  const partitions = progress.filter(({ attempts }) => attempts.length > 0);
  const rows = partitions.flatMap(({ attempts }) => attempts);
  if (rows.length === 0) return;
  const numbers = partitions.flatMap(({ attempts }, index) => attempts.map(() => index + 1));
  const common = (read: (first: AttemptRecord) => string) =>
    partitions.flatMap(({ attempts: [first] }) => (first === undefined ? [] : [read(first)]));
  const texts = (read: (attempt: DeliveryAttempt) => string | null) => {
    const values = rows.map(({ attempt }) => read(attempt));
    return values.every((value) => value === null) ? [] : values;
  };
  await transaction.all(sql`
    insert into delivery_attempt (tenant_id, id, subscription_id, event_id, entity_type, operation, entity_id, attempt,
      delivery_url, http_status_code, outcome, duration_ms, response_snippet, error_message, attempted_at, next_retry_at)
    select ${tenantId}::integer, id, (${partitions.map(({ subscriptionId }) => subscriptionId)}::uuid[])[partition], event_id,
      (${common(({ event }) => event.entityType)}::text[])[partition], operation, entity_id, attempt,
      (${common(({ deliveryUrl }) => deliveryUrl)}::text[])[partition], http_status_code, outcome, duration_ms,
      response_snippet, error_message, to_timestamp(attempted_at / 1000),
      case when retry_in is not null then tenant_now() + retry_in * interval '1 millisecond' end
    from unnest(
      ${listOf(numbers, (number) => number)}::integer[],
      ${listOf(rows, () => newId())}::uuid[],
      ${listOf(rows, ({ event }) => event.id)}::uuid[],
      ${listOf(rows, ({ event }) => event.operation)}::text[],
      ${listOf(rows, ({ event }) => event.entityId)}::uuid[],
      ${listOf(rows, ({ number }) => number)}::smallint[],
      ${listOf(rows, ({ attempt }) => attempt.httpStatusCode)}::smallint[],
      ${listOf(rows, ({ attempt }) => attempt.outcome)}::text[],
      ${listOf(rows, ({ attempt }) => attempt.duration)}::integer[],
      ${texts(({ responseSnippet }) => responseSnippet)}::text[],
      ${texts(({ errorMessage }) => errorMessage)}::text[],
      ${listOf(rows, ({ attempt }) => attempt.attemptedAt)}::double precision[],
      ${listOf(rows, ({ retryIn }) => retryIn ?? null)}::double precision[]
    ) as attempt (partition, id, event_id, operation, entity_id, attempt, http_status_code, outcome, duration_ms,
      response_snippet, error_message, attempted_at, retry_in)`);
}

/** A list of the database with values that need no quotes: numbers, UUIDs and codes. */
function listOf<Row>(rows: readonly Row[], read: (row: Row) => string | number | null): string {
  return `{${rows.map((row) => read(row) ?? 'null').join(',')}}`;
}

async function updateRetries(
  transaction: Transaction,
  tenantId: number,
  progress: readonly DeliveryProgress[],
): Promise<void> {
  const done = progress.flatMap(({ subscriptionId, done }) =>
    done.map(({ eventId, entityId, attempts }) => ({
      subscription_id: subscriptionId,
      event_id: eventId,
      entity_id: entityId,
      attempts,
    })),
  );
  const retries = progress.flatMap(({ subscriptionId, retries }) =>
    retries.map(({ eventId, entityId, position, attempts, dueIn }) => ({
      subscription_id: subscriptionId,
      event_id: eventId,
      entity_id: entityId,
      position,
      attempts,
      due_in: dueIn ?? null,
    })),
  );
  // Somebody may have asked to send an event again during its attempt: it is due then, with no attempts.
  if (done.length > 0) {
    await transaction.all(sql`
      delete from delivery_retry retry
      using jsonb_to_recordset(${JSON.stringify(done)}::jsonb) as done (subscription_id uuid, event_id uuid, attempts smallint)
      where retry.tenant_id = ${tenantId} and retry.subscription_id = done.subscription_id
        and retry.event_id = done.event_id and (retry.attempts > 0 or done.attempts = 0)`);
  }
  if (retries.length > 0) {
    await transaction.all(sql`
      insert into delivery_retry (tenant_id, subscription_id, event_id, entity_id, position, attempts, due_at)
      select ${tenantId}, subscription_id, event_id, entity_id, position, attempts,
        coalesce(tenant_now() + due_in * interval '1 millisecond', 'infinity')
      from jsonb_to_recordset(${JSON.stringify(retries)}::jsonb) as retry (subscription_id uuid, event_id uuid,
        entity_id uuid, position bigint, attempts smallint, due_in double precision)
      on conflict (tenant_id, subscription_id, event_id) do update
        set attempts = excluded.attempts, due_at = excluded.due_at
        where delivery_retry.attempts > 0 or excluded.attempts <= 1`);
  }
  if (done.length === 0 && retries.length === 0) return;
  const touched = JSON.stringify(
    [...done, ...retries].map(({ subscription_id, entity_id }) => ({ subscription_id, entity_id })),
  );
  // What waited for an earlier event of its row, which is over now, is next.
  await transaction.all(sql`
    update delivery_retry waiting set due_at = tenant_now()
    from (select distinct subscription_id, entity_id
      from jsonb_to_recordset(${touched}::jsonb) as touched (subscription_id uuid, entity_id uuid)) touched
    where waiting.tenant_id = ${tenantId} and waiting.subscription_id = touched.subscription_id
      and waiting.entity_id = touched.entity_id and waiting.due_at = 'infinity'
      and not exists (select from delivery_retry earlier
        where earlier.tenant_id = ${tenantId} and earlier.subscription_id = waiting.subscription_id
          and earlier.entity_id = waiting.entity_id and earlier.position < waiting.position)`);
}

async function updatePartitions(
  transaction: Transaction,
  tenantId: number,
  progress: readonly DeliveryProgress[],
): Promise<void> {
  const partitions = progress.map((partition) => ({
    subscription_id: partition.subscriptionId,
    position: partition.position ?? null,
    failures: partition.failures,
    failing_since: partition.failingSince,
    pause: partition.pause,
    tried_at: partition.attempts.reduce((latest, { attempt }) => Math.max(latest, attempt.attemptedAt), 0) / 1000,
    release: partition.release,
  }));
  if (partitions.length === 0) return;
  await transaction.all(sql`
    update delivery_partition partition set
      position = greatest(partition.position, progress.position),
      consecutive_failures = progress.failures,
      failing_since = progress.failing_since,
      last_delivery_at = case when progress.tried_at > 0
        then greatest(partition.last_delivery_at, to_timestamp(progress.tried_at)) else partition.last_delivery_at end,
      paused_until = case when progress.pause > 0 then tenant_now() + progress.pause * interval '1 millisecond' end,
      due_at = case when progress.release = 'keep' then partition.due_at
        when progress.release = 'end' or next.at is null then null
        when progress.pause > 0 then greatest(next.at, tenant_now() + progress.pause * interval '1 millisecond')
        else next.at end,
      leased_by = case when progress.release = 'keep' then partition.leased_by end,
      leased_until = case when progress.release = 'keep' then partition.leased_until end
    from jsonb_to_recordset(${JSON.stringify(partitions)}::jsonb) as progress (subscription_id uuid, position bigint,
      failures integer, failing_since timestamptz, pause double precision, tried_at double precision, release text)
    cross join lateral (
      select case when progress.release = 'more' then tenant_now() else least(
        (select due_at from delivery_partition same
         where same.tenant_id = ${tenantId} and same.subscription_id = progress.subscription_id),
        (select due_at from delivery_retry retry
         where retry.tenant_id = ${tenantId} and retry.subscription_id = progress.subscription_id and due_at < 'infinity'
         order by due_at limit 1)) end as at) next
    where partition.tenant_id = ${tenantId} and partition.subscription_id = progress.subscription_id`);
}

/** An event to send to a subscription once more. */
export interface RepeatedEvent {
  readonly subscription: string;
  readonly event: string;
  readonly entity: string;
  readonly position: number;
}

/** Makes events due for their subscriptions, with a new count of attempts. Those of one row are sent in their order. */
export async function sendAgain(
  transaction: Transaction,
  tenantId: number,
  events: readonly RepeatedEvent[],
): Promise<void> {
  if (events.length === 0) return;
  const rows = JSON.stringify(events);
  // Partitions first, which is the lock order of all transactions.
  await transaction.all(sql`
    update delivery_partition partition set due_at = tenant_now(), paused_until = null
    from (select subscription_id from delivery_partition where tenant_id = ${tenantId}
      and subscription_id = any(${[...new Set(events.map((one) => one.subscription))]}) order by subscription_id for update) chosen
    where partition.tenant_id = ${tenantId} and partition.subscription_id = chosen.subscription_id`);
  await transaction.all(sql`
    insert into delivery_retry (tenant_id, subscription_id, event_id, entity_id, position, attempts, due_at)
    select ${tenantId}, subscription, event, entity, position, 0, 'infinity'
    from jsonb_to_recordset(${rows}::jsonb) as repeated (subscription uuid, event uuid, entity uuid, position bigint)
    on conflict (tenant_id, subscription_id, event_id) do update set attempts = 0`);
  // The first event of each row is sent next; the others wait for it.
  await transaction.all(sql`
    update delivery_retry retry set due_at = tenant_now()
    from (select distinct subscription, entity
      from jsonb_to_recordset(${rows}::jsonb) as repeated (subscription uuid, entity uuid)) repeated
    where retry.tenant_id = ${tenantId} and retry.subscription_id = repeated.subscription
      and retry.entity_id = repeated.entity
      and not exists (select from delivery_retry earlier
        where earlier.tenant_id = ${tenantId} and earlier.subscription_id = retry.subscription_id
          and earlier.entity_id = retry.entity_id and earlier.position < retry.position)`);
}

/** The header that leads to what becomes of the events. */
export function deliveriesOf(subscriptionId: string): { readonly Location: string } {
  return { Location: `/api/v1/event-subscriptions/${subscriptionId}/deliveries` };
}
