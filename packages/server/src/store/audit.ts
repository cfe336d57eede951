import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from './session.ts';

/** Who did what to one row. */
export interface AuditEntry {
  readonly tenantId: number;
  /** Nothing where the clock or an operator acted. */
  readonly apiUserId: string | null;
  /** The name of who acted, for people. */
  readonly actor: string;
  readonly operation: string;
  readonly requestId: string | null;
  readonly entityType: string;
  readonly entityId: string;
  /** The row as the API shows it; null where there was none yet, or none is left. */
  readonly before: unknown;
  readonly after: unknown;
  /** RFC 3339 */
  readonly occurredAt: string;
}

/** Writes the entries to the append-only log, in the transaction of the change that they tell of. */
export async function recordAudit(transaction: Transaction, entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map((entry) => ({ id: uuidv7(), ...entry }));
  // One parameter for all rows: the statement's text does not depend on their number, so it is prepared once.
  await transaction.all(sql`
    insert into audit_log (tenant_id, id, occurred_at, api_user_id, actor, operation, request_id, entity_type, entity_id,
      before, after)
    select "tenantId", id, "occurredAt", "apiUserId", actor, operation, "requestId", "entityType", "entityId",
      nullif(before, 'null'), nullif(after, 'null')
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as entry (
      "tenantId" integer, id uuid, "occurredAt" timestamptz, "apiUserId" uuid, actor text, operation text,
      "requestId" text, "entityType" text, "entityId" uuid, before jsonb, after jsonb)`);
}
