import { type RawBuilder, sql } from 'kysely';
import { columnOf } from '../contract/fields.ts';
import type { Transaction } from '../platform/store/store.ts';
import { compareLocks } from './lock-order.ts';
import type { AnyEntity } from './model.ts';
import type { AnyRow, AnyStoredRow } from './row.ts';
import { readRows, selection } from './select.ts';
import { withDecimals } from './values.ts';

/**
 * How rows are locked until the transaction ends: `share` prevents changes and can be held by several transactions;
 * `update` is for rows to change. Neither prevents new references to the rows.
 */
export type Lock = 'none' | 'share' | 'update';

const strength: Readonly<Record<Lock, number>> = { none: 0, share: 1, update: 2 };

/** The rows of an entity with this value in a field, such as its ID or a key. */
export interface RowQuery {
  readonly entity: AnyEntity;
  readonly field: string;
  readonly value: string;
  readonly lock: Lock;
}

/** Values that are not rows of an entity, such as the rates of a day, loaded for many keys at once. */
export interface Lookup<Value> {
  readonly name: string;
  load(transaction: Transaction, tenantId: number, keys: readonly string[]): Promise<ReadonlyMap<string, Value>>;
}

/** A row as it is stored, and in the form for rules. */
export interface LoadedRow {
  readonly stored: AnyStoredRow;
  readonly row: AnyRow;
}

/** The loaded rows of one entity. */
interface LoadedTable {
  readonly entity: AnyEntity;
  readonly rows: Map<string, LoadedRow>;
  /** The IDs that a query found, by field and value. */
  readonly found: Map<string, Map<string, readonly string[]>>;
  readonly locks: Map<string, Lock>;
}

/** Another transaction holds a lock that is required out of order: all locks must be acquired again, in order. */
export class LockOrderViolation extends Error {
  override readonly name = 'LockOrderViolation';
}

/**
 * The rows that a plan has read so far. Plans are synchronous: missing rows are requested and loaded with one query per
 * kind of request, and the plan runs again.
 *
 * Rows are locked in one order, so that concurrent transactions wait for each other without deadlocks. A lock out of
 * order is only acquired if it is free. Rows that were read before they were locked are read again, because they may have
 * changed.
 */
export class LoadedRows {
  readonly #transaction: Transaction;
  readonly #tenantId: number;
  readonly #tables = new Map<string, LoadedTable>();
  readonly #lookups = new Map<Lookup<unknown>, Map<string, unknown>>();
  #requestedRows: RowQuery[] = [];
  #requestedKeys = new Map<Lookup<unknown>, Set<string>>();
  /** Every lock that this attempt required, so that all of them can be acquired again in order. */
  #locking: RowQuery[] = [];
  /** The last locked entity in the lock order, now and at the start of the attempt. */
  #lastLocked: AnyEntity | undefined;
  #lastLockedBefore: AnyEntity | undefined;

  constructor(transaction: Transaction, tenantId: number) {
    this.#transaction = transaction;
    this.#tenantId = tenantId;
  }

  /** Returns the IDs that a query finds. If it is not loaded or locked yet, requests it and returns undefined. */
  find(query: RowQuery): readonly string[] | undefined {
    const { entity, field, value, lock } = query;
    const table = this.#tables.get(entity.key);
    const ids = table?.found.get(field)?.get(value);
    if (table === undefined || ids === undefined) {
      this.#requestedRows.push(query);
      return undefined;
    }
    const unlocked = ids.filter((id) => strength[table.locks.get(id) ?? 'none'] < strength[lock]);
    if (unlocked.length === 0) return ids;
    for (const id of unlocked) this.#requestedRows.push({ entity, field: 'id', value: id, lock });
    return undefined;
  }

  /** The locked rows in which the database sums up one of these tables. Whoever changes a sum has locked its row before. */
  lockedSums(
    tables: ReadonlySet<string>,
  ): { readonly entity: AnyEntity; readonly id: string; readonly before: AnyStoredRow }[] {
    return [...this.#tables.values()].flatMap(({ entity, rows, locks }) =>
      entity.isAudited && entity.sumsUp.some((table) => tables.has(table))
        ? [...rows].flatMap(([id, { stored }]) => (locks.get(id) === 'update' ? [{ entity, id, before: stored }] : []))
        : [],
    );
  }

  row(entity: AnyEntity, id: string): LoadedRow | undefined {
    return this.#tables.get(entity.key)?.rows.get(id);
  }

  /** Returns a looked-up value. If it is not loaded yet, requests it and returns undefined. */
  lookup<Value>(lookup: Lookup<Value>, key: string): { readonly value: Value | undefined } | undefined {
    const known = this.#lookups.get(lookup);
    if (known?.has(key)) return { value: known.get(key) as Value | undefined };
    this.#requestKey(lookup, key);
    return undefined;
  }

  get hasRequests(): boolean {
    return this.#requestedRows.length > 0 || this.#requestedKeys.size > 0;
  }

  /** Loads what was requested. @throws LockOrderViolation; after it, roll back and call `lockAgain`. */
  async loadRequested(): Promise<void> {
    const queries = this.#requestedRows;
    this.#requestedRows = [];
    const locking = queries.filter(({ lock }) => lock !== 'none');
    const known = locking.length === 0 ? [] : this.#unprotected();
    this.#locking.push(...locking);
    const isLocked = await this.#lock(locking, 'in order');
    await this.#read([...queries, ...(isLocked ? this.#dropAll(known) : [])]);
    await this.#lookUp();
  }

  /**
   * Reads again what queries for rows with a key did not find: another transaction may have created such a row after the
   * query, before a later query found it by another key. @returns whether one exists now; then the plan must run again.
   */
  async findsAbsentKeys(): Promise<boolean> {
    const absent = [...this.#tables.values()].flatMap(({ entity, found }) =>
      [...found].flatMap(([field, byValue]) =>
        isKeyOf(entity, field)
          ? [...byValue].flatMap(([value, ids]) =>
              ids.length === 0 ? [{ entity, field, value, lock: 'none' } as const] : [],
            )
          : [],
      ),
    );
    for (const { entity, field, value } of absent) this.#table(entity).found.get(field)?.delete(value);
    await this.#read(absent);
    return absent.some(({ entity, field, value }) => this.#table(entity).found.get(field)?.get(value)?.length !== 0);
  }

  /** Starts an attempt, after a savepoint to roll back to. */
  startAttempt(): void {
    this.#locking = [];
    this.#lastLockedBefore = this.#lastLocked;
  }

  /** Resets the locks after a rollback to the start of the attempt. */
  forgetAttempt(): void {
    this.forget();
    this.#lastLocked = this.#lastLockedBefore;
  }

  /** Acquires every lock that the attempt required, in order. */
  async lockAgain(): Promise<void> {
    await this.#lock(this.#locking, 'in any order');
    await this.#read(this.#locking);
  }

  /** Discards all rows, because they may have changed. */
  forget(): void {
    this.#tables.clear();
    this.#lookups.clear();
    this.#requestedRows = [];
    this.#requestedKeys = new Map();
  }

  /** Locks the rows of queries, entity by entity. @returns whether there were any to lock. */
  async #lock(queries: readonly RowQuery[], wait: 'in order' | 'in any order'): Promise<boolean> {
    const byEntity = Map.groupBy(queries, ({ entity }) => entity.key);
    const groups = [...byEntity.values()].map((group) => ({ entity: entityOf(group), group }));
    let isLocked = false;
    for (const { entity, group } of groups.toSorted((one, other) => compareLocks(one.entity, other.entity))) {
      const last = this.#lastLocked;
      const isInOrder = last === undefined || compareLocks(entity, last) > 0;
      const found =
        isInOrder || wait === 'in any order'
          ? await this.#lockRows(entity, group)
          : await this.#lockFreeRows(entity, group);
      isLocked ||= found;
      if (found && isInOrder) this.#lastLocked = entity;
    }
    return isLocked;
  }

  /**
   * Locks rows in the order of their IDs, and waits for other transactions. Rows are locked before they are read, unless
   * they only consist of their own columns: a statement that waits for a lock returns the current columns after the wait,
   * but values calculated from other rows as of before it.
   */
  async #lockRows(entity: AnyEntity, queries: readonly RowQuery[]): Promise<boolean> {
    const isPlain = entity.showsBesides === 'nothing';
    const locking = sql`where ${this.#matching(entity, queries)} order by e.id for ${lockingClause(queries)} of e`;
    const rows = isPlain ? await readRows(this.#transaction, sql`${selection(entity)} ${locking}`) : undefined;
    const locked =
      rows ??
      (await this.#transaction.all<{ id: string }>(sql`select e.id from ${sql.table(entity.table)} e ${locking}`));
    this.#markLocked(entity, queries, locked);
    if (rows !== undefined) keep(this.#table(entity), queries.filter(isSettledBy(rows)), rows);
    return locked.length > 0;
  }

  /** Locks rows that no other transaction has locked. @throws LockOrderViolation if one is locked. */
  async #lockFreeRows(entity: AnyEntity, queries: readonly RowQuery[]): Promise<boolean> {
    const matching = this.#matching(entity, queries);
    const rows = await this.#transaction.all<{ id: string; locked: boolean }>(sql`
      with locked as (
        select e.id from ${sql.table(entity.table)} e where ${matching}
        order by e.id for ${lockingClause(queries)} of e skip locked)
      select e.id, locked.id is not null as locked
      from ${sql.table(entity.table)} e left join locked on locked.id = e.id where ${matching}`);
    if (rows.some(({ locked }) => !locked)) throw new LockOrderViolation();
    this.#markLocked(entity, queries, rows);
    return rows.length > 0;
  }

  #markLocked(entity: AnyEntity, queries: readonly RowQuery[], locked: readonly { readonly id: string }[]): void {
    const { rows, found, locks } = this.#table(entity);
    const lock = strongest(queries);
    for (const { id } of locked) {
      // Rows that were read before they were locked may have changed.
      if (!locks.has(id)) {
        rows.delete(id);
        found.get('id')?.delete(id);
      }
      if (locks.get(id) !== 'update') locks.set(id, lock);
    }
  }

  /** Reads the missing rows, with one statement per entity and field. */
  async #read(queries: readonly RowQuery[]): Promise<void> {
    const missing = queries.filter(
      ({ entity, field, value }) => this.#table(entity).found.get(field)?.has(value) !== true,
    );
    for (const group of Map.groupBy(missing, ({ entity, field }) => `${entity.key} ${field}`).values()) {
      const entity = entityOf(group);
      const rows = await readRows(
        this.#transaction,
        sql`${selection(entity)} where ${this.#matching(entity, group)} order by e.id`,
      );
      keep(this.#table(entity), group, rows);
    }
  }

  #matching(entity: AnyEntity, queries: readonly RowQuery[]): RawBuilder<unknown> {
    const conditions = [...Map.groupBy(queries, ({ field }) => field)].map(([field, group]) =>
      valueIn(entity, field, [...new Set(group.map(({ value }) => value))]),
    );
    return sql`${entity.within('e', this.#tenantId)} and (${sql.join(conditions, sql` or `)})`;
  }

  async #lookUp(): Promise<void> {
    const requested = this.#requestedKeys;
    this.#requestedKeys = new Map();
    for (const [lookup, keys] of requested) {
      const loaded = await lookup.load(this.#transaction, this.#tenantId, [...keys]);
      const known = this.#lookups.getOrInsertComputed(lookup, () => new Map());
      for (const key of keys) known.set(key, loaded.get(key));
    }
  }

  #requestKey(lookup: Lookup<unknown>, key: string): void {
    this.#requestedKeys.getOrInsertComputed(lookup, () => new Set()).add(key);
  }

  /**
   * The queries whose results other transactions may have changed. A locked row remains the result for its ID and its
   * keys.
   */
  #unprotected(): RowQuery[] {
    const queries: RowQuery[] = [];
    for (const { entity, found, locks } of this.#tables.values()) {
      for (const [field, byValue] of found) {
        const isKey = isKeyOf(entity, field);
        for (const [value, ids] of byValue) {
          const isProtected = isKey && ids.length > 0 && ids.every((id) => locks.has(id));
          if (!isProtected) queries.push({ entity, field, value, lock: 'none' });
        }
      }
    }
    return queries;
  }

  /** Discards the results of all queries, and every looked-up value. @returns the queries, to be run again. */
  #dropAll(queries: readonly RowQuery[]): readonly RowQuery[] {
    const dropped = queries.filter(
      ({ entity, field, value }) => field !== 'id' || !this.#table(entity).locks.has(value),
    );
    for (const { entity, field, value } of dropped) {
      const { found, rows, locks } = this.#table(entity);
      for (const id of found.get(field)?.get(value) ?? []) if (!locks.has(id)) rows.delete(id);
      found.get(field)?.delete(value);
    }
    for (const [lookup, values] of this.#lookups) for (const key of values.keys()) this.#requestKey(lookup, key);
    this.#lookups.clear();
    return dropped;
  }

  #table(entity: AnyEntity): LoadedTable {
    return this.#tables.getOrInsertComputed(entity.key, () => ({
      entity,
      rows: new Map(),
      found: new Map(),
      locks: new Map(),
    }));
  }
}

/** Stores the results of queries by one or more fields. */
function keep(table: LoadedTable, queries: readonly RowQuery[], stored: readonly AnyStoredRow[]): void {
  const { entity, rows, found, locks } = table;
  for (const [field, group] of Map.groupBy(queries, (query) => query.field)) {
    const byValue = Map.groupBy(stored, (row) => String(row[field]));
    const ids = found.getOrInsertComputed(field, () => new Map());
    for (const { value } of group)
      ids.set(
        value,
        (byValue.get(value) ?? []).map(({ id }) => id),
      );
  }
  const byId = found.getOrInsertComputed('id', () => new Map());
  for (const row of stored) {
    byId.set(row.id, [row.id]);
    // A locked row does not change, and its embeds are only read once, so that all decisions are based on the same
    // values.
    if (!rows.has(row.id) || !locks.has(row.id))
      rows.set(row.id, { stored: row, row: withDecimals(entity.shown, row) });
  }
}

/**
 * Finds the queries that need no further read. While waiting for a lock, another transaction may have moved a key to
 * another row, and then neither of the two rows is found. Immutable keys are the exception.
 */
function isSettledBy(rows: readonly AnyStoredRow[]): (query: RowQuery) => boolean {
  const values = new Map<string, ReadonlySet<string>>();
  return ({ field, value }) => {
    if (field === 'id' || field === 'systemRef') return true;
    return values.getOrInsertComputed(field, () => new Set(rows.map((row) => String(row[field])))).has(value);
  };
}

function isKeyOf({ uniqueFields }: AnyEntity, field: string): boolean {
  return field === 'id' || field === 'systemRef' || uniqueFields.some(({ name }) => name === field);
}

function entityOf([query]: readonly RowQuery[]): AnyEntity {
  if (query === undefined) throw new Error('No query was passed.');
  return query.entity;
}

function strongest(queries: readonly RowQuery[]): Lock {
  return queries.some(({ lock }) => lock === 'update') ? 'update' : 'share';
}

function lockingClause(queries: readonly RowQuery[]): RawBuilder<unknown> {
  return strongest(queries) === 'update' ? sql`no key update` : sql`share`;
}

function valueIn(entity: AnyEntity, field: string, values: readonly string[]): RawBuilder<unknown> {
  const column = sql.ref(`e.${columnOf(field)}`);
  const kind = entity.fields.get(field)?.kind;
  return kind === 'uuid' || kind === 'text' ? sql`${column} = any(${values})` : sql`${column}::text = any(${values})`;
}
