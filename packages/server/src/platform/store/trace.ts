import { sql } from 'kysely';
import { newId } from './new-id.ts';
import type { Transaction } from './session.ts';

/** The channel that receives the ID of a tenant after the commit of a transaction that recorded events. */
export const eventsRecorded = 'events_recorded';

/** The channel that receives a notification when subscriptions have something to send. */
export const partitionsDue = 'partitions_due';

/** The caller and request of a change. */
export interface TraceOrigin {
  readonly tenantId: number;
  /** Null for changes by the clock, a job or an operator. */
  readonly apiUserId: string | null;
  /** Display name of the actor. */
  readonly actor: string;
  readonly operation: string;
  readonly requestId: string | null;
  /** The trace that the call belongs to (W3C Trace Context), which deliveries of its events pass on. */
  readonly traceparent?: string | undefined;
  /** RFC 3339; the time of changes without one of their own. */
  readonly occurredAt: string;
}

/** The change of one row in a transaction. */
export interface TracedChange {
  readonly entityType: string;
  readonly entityId: string;
  readonly kind: 'CREATE' | 'UPDATE' | 'DELETE';
  /** RFC 3339; later than that of the transaction where the row's last change is later. */
  readonly occurredAt?: string;
  /** The row in the format of the API; null if it did not exist. */
  readonly before: object | null;
  /**
   * The row after the change. Its version is incremented under the lock of the row, so it orders the events of a row; two
   * events of one version are rejected. A change without an event requires no version.
   */
  readonly after: { readonly version?: number; readonly [field: string]: unknown };
  /** The event for subscribers; null if the change has none. */
  readonly event: {
    /** The row in events, if it differs from `after`. */
    readonly data?: object;
    /** Whether it reports the history of another system. */
    readonly isImport?: boolean;
    /** Null for a new row. */
    readonly changedFields: readonly string[] | null;
  } | null;
}

/** Writes the changes to the append-only audit log, and the events, in the transaction of the changes. */
export async function recordChanges(
  transaction: Transaction,
  { tenantId, apiUserId, actor, operation, requestId, traceparent, occurredAt }: TraceOrigin,
  changes: readonly TracedChange[],
): Promise<void> {
  if (changes.length === 0) return;
  const rows = changes.map(({ event, ...change }) => ({
    id: newId(),
    ...change,
    ...(event === null ? {} : { eventId: newId(), ...event }),
  }));
  // Events get their positions in the order of `recorded_at`, so it must not go back for a row, even if the clock does.
  // One statement for both tables, because most of its cost is reading the rows for both. One parameter for all rows: the
  // text does not depend on their number, so the statement is prepared once.
  await transaction.all(sql`
    with change as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as change (
        id uuid, "entityType" text, "entityId" uuid, kind text, "occurredAt" timestamptz, before jsonb, after jsonb,
        "eventId" uuid, data jsonb, "changedFields" text[], "isImport" boolean)
    ), audited as (
      insert into audit_log (tenant_id, id, occurred_at, api_user_id, actor, operation, request_id, entity_type, entity_id,
        before, after)
      select ${tenantId}::integer, id, coalesce("occurredAt", ${occurredAt}::timestamptz), ${apiUserId}::uuid,
        ${actor}::text, ${operation}::text, ${requestId}::text, "entityType", "entityId", nullif(before, 'null'), after
      from change
    )
    insert into recorded_event (tenant_id, id, entity_type, entity_id, operation, sequence, occurred_at, recorded_at, data,
      changed_fields, is_import, request_id, traceparent)
    select ${tenantId}::integer, "eventId", "entityType", "entityId", kind, (after -> 'version')::bigint,
      coalesce("occurredAt", ${occurredAt}::timestamptz), greatest(tenant_clock_timestamp(), (
        select recorded_at from recorded_event event where event.tenant_id = ${tenantId}
          and event.entity_type = "entityType" and event.entity_id = "entityId" order by event.sequence desc limit 1)),
      coalesce(data, after), "changedFields", coalesce("isImport", false), ${requestId}::text, ${traceparent ?? null}::text
    from change where "eventId" is not null`);
}
