import { type RawBuilder, sql } from 'kysely';
import { fieldsOf, membersOf } from '../../../contract/fields.ts';
import { defineEntity, one, type Relation, type Searchable } from '../../../entity/entity.ts';
import type { Lookup } from '../../../entity/loaded-rows.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row, StoredRow } from '../../../entity/row.ts';
import { asJson, sameValue } from '../../../entity/values.ts';

type Draft = Row<'DraftInvoice'>;
type History = StoredRow<'DraftInvoiceHistory'>;

/** SQL of the fields of the draft in a revision, for filters. */
const snapshotValues: Readonly<Record<string, (row: string) => RawBuilder<unknown>>> = {
  id: (row) => sql.ref(`${row}.draft_invoice_id`),
  systemRef: (row) => sql`(select d.system_ref from draft_invoice d
    where d.tenant_id = ${sql.ref(`${row}.tenant_id`)} and d.id = ${sql.ref(`${row}.draft_invoice_id`)})`,
  active: (row) => sql`(${sql.ref(`${row}.to_status`)} <> 'DELETED')`,
  status: (row) => sql.ref(`${row}.to_status`),
  approvedAt: (row) => sql`stored_instant(${sql.ref(`${row}.draft_invoice`)} ->> 'approvedAt')`,
  total: (row) => sql.ref(`${row}.total`),
};

/** A search filters by what a response includes: the draft as it was after the revision. */
const snapshot: Searchable = {
  table: 'draft_invoice_history',
  fields: new Map(),
  readRoles: [],
  relations: {},
  relatedField: () => undefined,
  within: (row, tenantId) => sql<boolean>`${sql.ref(`${row}.tenant_id`)} = ${tenantId}`,
  value(row, field) {
    const sqlOf = snapshotValues[field];
    if (sqlOf === undefined) throw new Error(`The snapshot of a draft has no ${field} to search by.`);
    return sqlOf(row);
  },
};
const ofSnapshot: Relation = { to: () => snapshot, by: 'id', many: false, activeOnly: false };

/** The revisions of a draft. Rows never change. */
export const draftInvoiceHistory = defineEntity('DraftInvoiceHistory', {
  table: 'draft_invoice_history',
  relations: { draftInvoice: ofSnapshot, client: one('Client', 'clientId') },
  appendOnly: true,
  snapshots: true,
});

/** The number of the last revision of each draft. */
const lastRevision: Lookup<number> = {
  name: 'last revision',
  async load(transaction, tenantId, ids) {
    const rows = await transaction.all<{ id: string; revision: number }>(sql`
      select draft_invoice_id as id, max(revision) as revision from draft_invoice_history
      where tenant_id = ${tenantId} and draft_invoice_id = any(${ids}) group by 1`);
    return new Map(rows.map(({ id, revision }) => [id, revision]));
  },
};

const actionOf: Readonly<Record<string, History['action']>> = {
  IN_REVIEW: 'SUBMITTED',
  APPROVED: 'APPROVED',
  REJECTED: 'REJECTED',
  POSTED: 'POSTED',
  DELETED: 'DELETED',
};

/** Adds a revision for a change of a draft. */
export function recordRevision(plan: Plan, draft: Draft, previous: Draft | undefined): void {
  const stored = plan.isNew(draft.id) ? 0 : (plan.lookup(lastRevision, draft.id) ?? 0);
  const revision = stored + plan.created(draftInvoiceHistory, 'draftInvoiceId', draft.id).length + 1;
  const moved = previous === undefined ? 'CREATED' : previous.status === draft.status ? 'EDITED' : undefined;
  const { caller } = plan.origin;
  const { id, clientId, jobIds, invoiceId, total, status } = draft;
  plan.insert(draftInvoiceHistory, {
    draftInvoiceId: id,
    revision,
    action: moved ?? actionOf[status] ?? 'EDITED',
    fromStatus: previous?.status ?? null,
    toStatus: status,
    changedById: caller?.staffId ?? null,
    changedByApiUserId: caller?.apiUserId ?? null,
    changedAt: plan.now,
    changes: previous === undefined ? {} : changesBetween(previous, draft),
    clientId,
    jobIds: [...jobIds],
    invoiceId,
    total,
    draftInvoice: snapshotOf(draft),
  });
}

const snapshotFields = fieldsOf('DraftInvoiceHistory').flatMap((field) =>
  field.name === 'draftInvoice' ? membersOf(field) : [],
);

function snapshotOf(draft: Draft): Row<'DraftInvoiceHistory'>['draftInvoice'] {
  const values = new Map<string, unknown>(Object.entries(draft));
  // The fields of a snapshot are fields of the draft.
  return Object.fromEntries(
    snapshotFields.map(({ name }) => [name, values.get(name)]),
  ) as Row<'DraftInvoiceHistory'>['draftInvoice'];
}

const bookkeeping: ReadonlySet<string> = new Set(['version', 'updatedAt']);

/** Returns the fields that differ, in the format of responses. */
function changesBetween(previous: Draft, draft: Draft): History['changes'] {
  const [before, after] = [new Map(Object.entries(previous)), new Map(Object.entries(draft))];
  const changes: Record<string, { old: unknown; new: unknown }> = {};
  for (const field of fieldsOf('DraftInvoice')) {
    // Hundreds of lines that did not change are the same list.
    if (before.get(field.name) === after.get(field.name)) continue;
    const [old, now] = [asJson(field, before.get(field.name)), asJson(field, after.get(field.name))];
    if (!bookkeeping.has(field.name) && !sameValue(old, now)) changes[field.name] = { old, new: now };
  }
  // The fields of a draft are text, flags and lists, which the schema of a change allows.
  return changes as History['changes'];
}
