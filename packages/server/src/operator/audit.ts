import { sql } from 'kysely';
import { recordOperatorAct } from '../platform/store/operator-log.ts';
import { checkInstant, type Operator } from './operator.ts';
import { tenantNamed } from './tenants.ts';

/** A part of the audit log of a tenant, by when its rows were written. */
export interface AuditRequest {
  readonly tenant: string;
  /** RFC 3339, inclusive; null from the oldest. */
  readonly from: string | null;
  /** RFC 3339, exclusive; null to the newest. */
  readonly to: string | null;
  /** ID of the last row of the page before; null for the first page. */
  readonly after: string | null;
}

export interface AuditPage {
  /** A row each, as JSON. */
  readonly lines: readonly string[];
  /** ID of the last row; null on the last page. */
  readonly next: string | null;
}

/** Rows that one statement reads. */
const pageSize = 500;

/**
 * Reads one page of the audit log of a tenant, in the order in which rows were written. The first page is noted in the log of the
 * operator.
 *
 * @throws Error with a sentence if the tenant does not exist or an instant is invalid.
 */
export async function exportAudit(operator: Operator, request: AuditRequest): Promise<AuditPage> {
  const { from, to, after } = request;
  for (const text of [from, to]) if (text !== null) checkInstant(text);
  // An empty file would look like an export of a time in which nothing happened.
  if (from !== null && to !== null && Temporal.Instant.compare(from, to) >= 0)
    throw new Error('--from must be before --to.');
  const { store } = operator.service;
  const tenant = await tenantNamed(operator, request.tenant);
  if (after === null) {
    await recordOperatorAct(store.owner, { operation: 'audit export', subject: tenant.name, details: { from, to } });
  }
  const rows = await store.read(tenant.id, (session) =>
    session.all<{ id: string; line: string }>(sql`
      select id, json_build_object('id', id, 'occurredAt', occurred_at, 'apiUserId', api_user_id, 'actor', actor,
        'operation', operation, 'requestId', request_id, 'entityType', entity_type, 'entityId', entity_id,
        'before', before, 'after', after)::text as line
      from audit_log where tenant_id = ${tenant.id}
        ${from === null ? sql`` : sql`and id >= first_id_at(${from})`} ${to === null ? sql`` : sql`and id < first_id_at(${to})`}
        ${after === null ? sql`` : sql`and id > ${after}`}
      order by id limit ${pageSize}`),
  );
  return { lines: rows.map(({ line }) => line), next: rows.length < pageSize ? null : (rows.at(-1)?.id ?? null) };
}
