import { sql } from 'kysely';
import type { Vault } from '../auth/vault.ts';
import type { Caller, Tenant } from '../context.ts';
import { findByIds, type Row } from '../query/read.ts';
import { recordAudit } from '../store/audit.ts';
import { recordEvents } from '../store/outbox.ts';
import type { Transaction } from '../store/store.ts';
import type { Entity } from './entity.ts';

export type ChangeKind = 'CREATE' | 'UPDATE' | 'DELETE';

interface TrackedChange {
  readonly entity: Entity;
  readonly id: string;
  readonly kind: ChangeKind;
  /** The row before the transaction; undefined for a new one. */
  readonly before: Row | undefined;
}

/** Who does what, for the audit. */
export interface Origin {
  readonly tenant: Tenant;
  /** Undefined where the clock or the operator acts. */
  readonly caller: Caller | undefined;
  readonly operation: string;
  readonly requestId: string;
  readonly vault: Vault;
}

/**
 * One transaction of changes to entities. It remembers each row that is changed, and before the commit writes one audit row
 * and one event for each: a writer cannot forget them, and a row that is changed twice is announced once.
 */
export class UnitOfWork {
  readonly transaction: Transaction;
  readonly origin: Origin;
  /** The one instant at which everything in this transaction happens. */
  readonly now: string;
  #changes = new Map<string, TrackedChange>();
  /** References that were found to exist and to be active, by type, so that a bulk call asks once for each. */
  readonly #references = new Map<string, Map<string, string>>();

  constructor(transaction: Transaction, origin: Origin) {
    this.transaction = transaction;
    this.origin = origin;
    this.now = new Date().toISOString();
  }

  get tenantId(): number {
    return this.origin.tenant.id;
  }

  /** To be called by the writer of an entity for every row that it changes. */
  track(entity: Entity, id: string, kind: ChangeKind, before: Row | undefined): void {
    this.#references.delete(entity.type);
    const key = `${entity.type}/${id}`;
    const earlier = this.#changes.get(key);
    if (earlier === undefined) this.#changes.set(key, { entity, id, kind, before });
    else this.#changes.set(key, { ...earlier, kind: earlier.kind === 'CREATE' && kind === 'UPDATE' ? 'CREATE' : kind });
  }

  /** Whether this transaction has changed the row already. */
  hasChanged(entity: Entity, id: string): boolean {
    return this.#changes.has(`${entity.type}/${id}`);
  }

  /** Runs the work on one item of a bulk call. What it throws undoes its changes, and only these. */
  async item<T>(work: () => Promise<T>): Promise<T> {
    const before = new Map(this.#changes);
    try {
      return await this.transaction.savepoint(work);
    } catch (error) {
      this.#changes = before;
      this.#references.clear();
      throw error;
    }
  }

  /** The id of an active row that was referred to in this transaction already, if it was. */
  knownReference(type: string, key: string, value: string): string | undefined {
    return this.#references.get(type)?.get(`${key}/${value}`);
  }

  /** Remembers a reference until a row of the type changes. */
  keepReference(type: string, key: string, value: string, id: string): void {
    const known = this.#references.get(type) ?? new Map<string, string>();
    this.#references.set(type, known.set(`${key}/${value}`, id));
  }

  /** Writes audit and outbox. The server calls it before the commit. */
  async announce(): Promise<void> {
    const byEntity = Map.groupBy(this.#changes.values(), (change) => change.entity);
    for (const [entity, changes] of byEntity) {
      const ids = changes.map((change) => change.id);
      const rows = new Map((await findByIds(this.transaction, this.tenantId, entity, ids)).map((row) => [row.id, row]));
      await this.#write(
        changes.flatMap((change) => {
          const after = rows.get(change.id);
          return after === undefined ? [] : [{ ...change, after }];
        }),
      );
    }
    this.#changes.clear();
  }

  async #write(changes: readonly (TrackedChange & { readonly after: Row })[]): Promise<void> {
    const { tenant, caller, operation, requestId } = this.origin;
    await recordAudit(
      this.transaction,
      changes.map(({ entity, id, before, after }) => ({
        tenantId: tenant.id,
        apiUserId: caller?.apiUserId ?? null,
        actor: caller?.apiUserName ?? 'system',
        operation,
        requestId,
        entityType: entity.type,
        entityId: id,
        before: before ?? null,
        after,
        occurredAt: this.now,
      })),
    );
    await recordEvents(
      this.transaction,
      changes.map(({ entity, id, kind, before, after }) => ({
        tenantId: tenant.id,
        entityType: entity.type,
        entityId: id,
        operation: kind,
        // A row's version rises with every change, so it orders the row's events.
        sequence: after.version,
        data: after,
        changedFields: changedFields(before, after),
        requestId,
        occurredAt: this.now,
      })),
    );
  }

  /**
   * A reference that people read and nobody has yet, made of the tenant's next number. Numbers may have gaps, and a caller
   * may have taken one by hand, which is passed over.
   */
  async freeReference(table: string, column: string, format: (number: number) => string): Promise<string> {
    for (;;) {
      const counted = await this.transaction.first<{ value: number }>(sql`
        insert into tenant_counter (tenant_id, name, value) values (${this.tenantId}, ${`${table}.${column}`}, 1)
        on conflict (tenant_id, name) do update set value = tenant_counter.value + 1
        returning value`);
      if (counted === undefined) throw new Error(`The counter of ${table}.${column} gave no number.`);
      const reference = format(counted.value);
      const taken = await this.transaction.first(sql`
        select 1 from ${sql.table(table)} where tenant_id = ${this.tenantId} and ${sql.ref(column)} = ${reference}`);
      if (taken === undefined) return reference;
    }
  }
}

const bookkeeping = new Set(['version', 'updatedAt']);

/** The fields that differ, but for those that differ with every change; null for a new row. */
function changedFields(before: Row | undefined, after: Row): string[] | null {
  if (before === undefined) return null;
  return Object.keys(after).filter((name) => !bookkeeping.has(name) && !sameValue(before[name], after[name]));
}

/** Whether two values of a field are the same: JSON values, compared by content. The database orders keys in its own way. */
export function sameValue(left: unknown, right: unknown): boolean {
  return left === right || JSON.stringify(left, withSortedKeys) === JSON.stringify(right, withSortedKeys);
}

function withSortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)));
}
