import type { LoadedRows, RowQuery } from './loaded-rows.ts';
import type { AnyEntity } from './model.ts';
import type { PendingRows } from './pending-rows.ts';
import type { AnyRow } from './row.ts';

/** The plan requires rows that are not loaded yet. They were requested; the plan runs again once they are loaded. */
export class NotLoaded extends Error {
  override readonly name = 'NotLoaded';
}

/** A single instance: plans stop often, and creating a stack trace would cost more than the rest. */
export const notLoaded = new NotLoaded('The plan requires rows that are not loaded yet.');

/** Rows as a plan sees them: the stored rows with the changes planned so far. */
export class PlannedRows {
  readonly loaded: LoadedRows;
  readonly pending: PendingRows;

  constructor(loaded: LoadedRows, pending: PendingRows) {
    this.loaded = loaded;
    this.pending = pending;
  }

  /**
   * Returns the row that a query by ID or key finds, or undefined. A key of a row that was merged into another one leads to that one.
   *
   * @throws NotLoaded
   */
  one(query: RowQuery): AnyRow | undefined {
    const row = this.all(query)[0];
    const mergedIntoId = row?.mergedIntoId;
    if (query.field === 'id' || typeof mergedIntoId !== 'string') return row;
    return this.one({ ...query, field: 'id', value: mergedIntoId });
  }

  /** Returns the rows that a query finds, by ascending ID. @throws NotLoaded */
  all(query: RowQuery): readonly AnyRow[] {
    const { entity, field, value } = query;
    const pending = field === 'id' ? this.pending.get(entity, value) : undefined;
    if (pending !== undefined) return [pending.row];
    // No stored row refers to a row that this plan creates.
    const found = this.pending.isNew(value) ? [] : this.loaded.find(query);
    if (found === undefined) throw notLoaded;
    const changed = field === 'id' ? none : this.pending.withValue(entity, field, value);
    if (changed.size === 0 && found.length === 0) return [];
    const unchanged = found.filter((id) => this.pending.get(entity, id) === undefined);
    return [...unchanged, ...changed].sort().map((id) => this.#current(entity, id));
  }

  /** Returns a row for a check. If it is not loaded, it is requested, and the plan continues, to request more rows. */
  peek(query: RowQuery): { readonly row: AnyRow | undefined; readonly isLoaded: boolean } {
    try {
      return { row: this.one(query), isLoaded: true };
    } catch (error) {
      if (error instanceof NotLoaded) return { row: undefined, isLoaded: false };
      throw error;
    }
  }

  /** Returns a row to change. @throws NotLoaded */
  locked(entity: AnyEntity, id: string): AnyRow {
    const row = this.one({ entity, field: 'id', value: id, lock: 'update' });
    if (row === undefined) throw new Error(`${entity.type} ${id} not found.`);
    return row;
  }

  #current(entity: AnyEntity, id: string): AnyRow {
    const row = this.pending.get(entity, id)?.row ?? this.loaded.row(entity, id)?.row;
    if (row === undefined) throw new Error(`${entity.type} ${id} was found but is not loaded.`);
    return row;
  }
}

const none: ReadonlySet<string> = new Set();
