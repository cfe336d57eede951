import type { LoadedRow } from './loaded-rows.ts';
import type { AnyEntity } from './model.ts';
import type { AnyRow } from './row.ts';

/** A row that a plan creates or changes. */
export interface PendingRow {
  readonly entity: AnyEntity;
  readonly id: string;
  /** The row as it was loaded; undefined for a new one. */
  readonly loaded: LoadedRow | undefined;
  /** The row after the change. */
  readonly row: AnyRow;
  readonly privateColumns: Columns;
  /** Whether the row gets a new version although none of its own columns changes, because an embedded value does. */
  readonly isTouched: boolean;
  /** Whether a record of another system's history changes the row. */
  readonly isImport: boolean;
  /** Where the values are in the request, for a constraint that they violate. */
  readonly pointer: string;
}

type Columns = Readonly<Record<string, unknown>>;

/** A row of a table that is not an entity, such as a period of rates. */
export interface PlainRow {
  /** The entity whose constraints explain a rejection. */
  readonly entity: AnyEntity;
  readonly table: string;
  /** The columns that identify the row within the tenant. */
  readonly key: Columns;
  /** The other columns; undefined if the row is deleted. */
  readonly columns: Columns | undefined;
  /** Whether a stored row with the key is deleted first. */
  readonly replaces: boolean;
  readonly pointer: string;
}

interface PendingTable {
  readonly rows: Map<string, PendingRow>;
  /** The IDs of rows by the value of a field, for the fields that are looked up. */
  readonly indexes: Map<string, Map<string, Set<string>>>;
}

/**
 * The changes of a plan, in memory. They can be undone back to a mark, so that an item of a bulk request can fail alone.
 */
export class PendingRows {
  readonly #tables = new Map<string, PendingTable>();
  readonly #newIds = new Set<string>();
  readonly #plain = new Map<string, PlainRow>();
  readonly #undo: (() => void)[] = [];

  mark(): number {
    return this.#undo.length;
  }

  undoTo(mark: number): void {
    while (this.#undo.length > mark) this.#undo.pop()?.();
  }

  get(entity: AnyEntity, id: string): PendingRow | undefined {
    return this.#tables.get(entity.key)?.rows.get(id);
  }

  /** All changes, in the order of the first change of their rows. */
  *all(): Iterable<PendingRow> {
    for (const { rows } of this.#tables.values()) yield* rows.values();
  }

  put(change: PendingRow): void {
    const { entity, id } = change;
    const table = this.#table(entity);
    const earlier = table.rows.get(id);
    reindex(table, earlier, change);
    table.rows.set(id, change);
    this.#undo.push(() => {
      reindex(table, change, earlier);
      if (earlier === undefined) table.rows.delete(id);
      else table.rows.set(id, earlier);
    });
  }

  /** Registers the ID of a row that is about to be created. */
  addNewId(id: string): void {
    this.#newIds.add(id);
  }

  /** Whether the plan creates the row with this ID, so that no stored row can refer to it. */
  isNew(id: string): boolean {
    return this.#newIds.has(id);
  }

  /** All plain rows that are inserted or deleted. */
  plainRows(): Iterable<PlainRow> {
    return this.#plain.values();
  }

  plainRow(table: string, key: PlainRow['key']): PlainRow | undefined {
    return this.#plain.get(keyOf({ table, key }));
  }

  insertPlain(row: Omit<PlainRow, 'replaces'>): void {
    const earlier = this.#plain.get(keyOf(row));
    this.#putPlain({ ...row, replaces: earlier?.replaces ?? false });
  }

  deletePlain(row: Omit<PlainRow, 'replaces' | 'columns'>): void {
    this.#putPlain({ ...row, columns: undefined, replaces: true });
  }

  #putPlain(row: PlainRow): void {
    const key = keyOf(row);
    const earlier = this.#plain.get(key);
    this.#plain.set(key, row);
    this.#undo.push(() => {
      if (earlier === undefined) this.#plain.delete(key);
      else this.#plain.set(key, earlier);
    });
  }

  /** The IDs of pending rows that have this value in the field. */
  withValue(entity: AnyEntity, field: string, value: string): ReadonlySet<string> {
    const { rows, indexes } = this.#table(entity);
    const index = indexes.getOrInsertComputed(field, () => {
      const created = new Map<string, Set<string>>();
      for (const { id, row } of rows.values()) add(created, row[field], id);
      return created;
    });
    return index.get(value) ?? none;
  }

  #table({ key }: AnyEntity): PendingTable {
    return this.#tables.getOrInsertComputed(key, () => ({ rows: new Map(), indexes: new Map() }));
  }
}

const none: ReadonlySet<string> = new Set();

function reindex({ indexes }: PendingTable, before: PendingRow | undefined, after: PendingRow | undefined): void {
  for (const [field, index] of indexes) {
    if (before !== undefined) index.get(String(before.row[field]))?.delete(before.id);
    if (after !== undefined) add(index, after.row[field], after.id);
  }
}

function add(index: Map<string, Set<string>>, value: unknown, id: string): void {
  index.getOrInsertComputed(String(value), () => new Set()).add(id);
}

function keyOf({ table, key }: Pick<PlainRow, 'table' | 'key'>): string {
  return JSON.stringify([table, key]);
}
