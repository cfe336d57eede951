import { sql } from 'kysely';
import { newId } from './new-id.ts';
import type { Transaction } from './session.ts';

/** The channel on which the ID of a tenant is notified after the commit of a transaction that recorded events. */
export const eventsRecorded = 'events_recorded';

/** Who changed rows, and in which call. */
export interface TraceOrigin {
  readonly tenantId: number;
  /** Null where the clock, a job or an operator acted. */
  readonly apiUserId: string | null;
  /** The name of who acted, for people. */
  readonly actor: string;
  readonly operation: string;
  readonly requestId: string | null;
  /** The trace that the call belongs to (W3C Trace Context), which deliveries of its events pass on. */
  readonly traceparent?: string | undefined;
  /** RFC 3339 */
  readonly occurredAt: string;
}

/** What a transaction did to one row. */
export interface TracedChange {
  readonly entityType: string;
  readonly entityId: string;
  readonly kind: 'CREATE' | 'UPDATE' | 'DELETE';
  /** The row as the API shows it; null where there was none yet. */
  readonly before: object | null;
  /**
   * The row after the change. Its version rises under the lock of the row, so it orders the events of a row without a counter
   * of its own; two events of one version are rejected. What is not announced needs none.
   */
  readonly after: { readonly version?: number; readonly [field: string]: unknown };
  /** What subscribers are told; null where the change is not announced. */
  readonly event: {
    /** The row as subscribers see it. Left out where they see all of it. */
    readonly data?: object;
    /** Null where everything is new. */
    readonly changedFields: readonly string[] | null;
  } | null;
}

/** Writes the changes to the append-only audit log, and leaves the events for the dispatcher, in the transaction of the changes. */
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
  // One statement for both tables: most of its cost is reading the rows, which both have in common. One parameter for all
  // rows: the text does not depend on their number, so the statement is prepared once.
  await transaction.all(sql`
    with change as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as change (
        id uuid, "entityType" text, "entityId" uuid, kind text, before jsonb, after jsonb,
        "eventId" uuid, data jsonb, "changedFields" text[])
    ), audited as (
      insert into audit_log (tenant_id, id, occurred_at, api_user_id, actor, operation, request_id, entity_type, entity_id,
        before, after)
      select ${tenantId}::integer, id, ${occurredAt}::timestamptz, ${apiUserId}::uuid, ${actor}::text, ${operation}::text,
        ${requestId}::text, "entityType", "entityId", nullif(before, 'null'), after
      from change
    )
    insert into outbox_event (tenant_id, id, entity_type, entity_id, operation, sequence, occurred_at, data, changed_fields,
      request_id, traceparent)
    select ${tenantId}::integer, "eventId", "entityType", "entityId", kind, (after -> 'version')::bigint,
      ${occurredAt}::timestamptz, coalesce(data, after), "changedFields", ${requestId}::text, ${traceparent ?? null}::text
    from change where "eventId" is not null`);
}
