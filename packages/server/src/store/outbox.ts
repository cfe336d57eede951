import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from './session.ts';

/** A change that subscribers are told of. */
export interface OutboxEvent {
  readonly tenantId: number;
  readonly entityType: string;
  readonly entityId: string;
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  /**
   * The version of the row after the change. It rises under the lock of the row, so it orders the events of an entity
   * without a counter of its own; two events of one version are refused.
   */
  readonly sequence: number;
  /** The row as its by-id operation shows it. */
  readonly data: unknown;
  /** Null where everything is new. */
  readonly changedFields: readonly string[] | null;
  readonly requestId: string | null;
  /** RFC 3339 */
  readonly occurredAt: string;
}

/** Leaves the events for the dispatcher, in the transaction of the change: a change that fails announces nothing. */
export async function recordEvents(transaction: Transaction, events: readonly OutboxEvent[]): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map((event) => ({ id: uuidv7(), ...event }));
  // One parameter for all rows: the statement's text does not depend on their number, so it is prepared once.
  await transaction.all(sql`
    insert into outbox_event (tenant_id, id, entity_type, entity_id, operation, sequence, occurred_at, data,
      changed_fields, request_id)
    select "tenantId", id, "entityType", "entityId", operation, sequence, "occurredAt", data, "changedFields", "requestId"
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as event (
      "tenantId" integer, id uuid, "entityType" text, "entityId" uuid, operation text, sequence bigint,
      "occurredAt" timestamptz, data jsonb, "changedFields" text[], "requestId" text)`);
}
