import { isEventEnabled } from '../contract/events.ts';
import type { Transaction } from '../platform/store/store.ts';
import { recordChanges, type TracedChange } from '../platform/store/trace.ts';
import { asEvent } from './field-access.ts';
import type { AnyEntity } from './model.ts';
import type { Origin } from './plan.ts';
import type { AnyStoredRow } from './row.ts';
import { rulesOf } from './rules.ts';
import { sameValue } from './values.ts';

/** A row that a transaction has changed. */
export interface TrackedRow {
  readonly entity: AnyEntity;
  readonly id: string;
  /** The row before the transaction; undefined for a new one. */
  readonly before: AnyStoredRow | undefined;
  /** Whether records of another system's history changed it. */
  readonly isImport: boolean;
}

/** Writes one audit row for each change, and one event if the catalog enables it. @returns the number of events. */
export async function writeAuditAndEvents(
  transaction: Transaction,
  { tenant, caller, operation, requestId, traceparent }: Origin,
  now: string,
  tracked: readonly (TrackedRow & { readonly after: AnyStoredRow })[],
): Promise<number> {
  const apiUserId = caller?.apiUserId ?? null;
  const actor = caller?.apiUserName ?? 'system';
  const changes = tracked.map(({ entity, id, before, after, isImport }): TracedChange => {
    const kind = kindOf(before, after);
    const isSent = isEventEnabled(tenant.settings, entity.type, kind) || entity.isCustom;
    const isAnnounced = isSent && rulesOf(entity).isAnnounced?.(after) !== false;
    const data = entity.isRestricted ? { data: asEvent(entity, after) } : {};
    return {
      entityType: entity.type,
      entityId: id,
      kind,
      occurredAt: after.updatedAt,
      before: before ?? null,
      after,
      event: isAnnounced ? { ...data, isImport, changedFields: changedFields(before, after) } : null,
    };
  });
  const origin = { tenantId: tenant.id, apiUserId, actor, operation, requestId, traceparent, occurredAt: now };
  await recordChanges(transaction, origin, changes);
  return changes.filter(({ event }) => event !== null).length;
}

/** The overall change in the transaction: a row that is created and removed in it counts as created and is inactive. */
function kindOf(before: AnyStoredRow | undefined, after: AnyStoredRow): TracedChange['kind'] {
  if (before === undefined) return 'CREATE';
  return before.active && !after.active ? 'DELETE' : 'UPDATE';
}

const bookkeeping = new Set(['version', 'updatedAt']);

/** The fields that differ, except those that every change sets; null for a new row. */
function changedFields(before: AnyStoredRow | undefined, after: AnyStoredRow): string[] | null {
  if (before === undefined) return null;
  return Object.keys(after).filter((name) => !bookkeeping.has(name) && !sameValue(before[name], after[name]));
}
