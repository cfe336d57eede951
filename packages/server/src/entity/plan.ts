import { hasRole } from '@financial-automation/spec/roles';
import type { Caller, Tenant } from '../auth/caller.ts';
import type { Vault } from '../auth/vault.ts';
import type { AnyEntity, Entity } from './entity.ts';
import type { LoadedRows, Lookup } from './loaded-rows.ts';
import type { NewKeys, ReferenceNumber } from './new-keys.ts';
import type { PendingRows, PlainRow } from './pending-rows.ts';
import { NotLoaded, notLoaded, PlannedRows } from './planned-rows.ts';
import type { AnyInput, AnyRow, EntityType, Row, RowInput } from './row.ts';
import { type AnyWritten, RowWriter } from './row-writer.ts';
import { Violation } from './violation.ts';

export type { AnyWritten } from './row-writer.ts';

/** The caller and operation of a change. */
export interface Origin {
  readonly tenant: Tenant;
  /** Undefined for changes by the clock, a job or the operator. */
  readonly caller: Caller | undefined;
  readonly operation: string;
  readonly requestId: string;
  /** Of the call; undefined where it named no trace, or there is none. */
  readonly traceparent?: string | undefined;
  readonly vault: Vault;
}

/** The result of a write. */
export interface Written<Type extends EntityType> {
  readonly status: AnyWritten['status'];
  /** The row after the change. Fields that are calculated from other rows have their previous values. */
  readonly row: Row<Type>;
}

export interface CreateOptions<Type extends EntityType> {
  /** The ID of the row if it is predefined, as in demo data; it must be unused. */
  readonly id?: string | undefined;
  /** The caller's key of the row; without one, the row's id is its key. */
  readonly systemRef?: string | undefined;
  /** Fields that the service sets; they may include fields that callers cannot write. */
  readonly system?: RowInput<Type>;
}

export interface UpdateOptions<Type extends EntityType> {
  readonly system?: RowInput<Type>;
  /** Name of the internal event in the state machine that changes the state of the row. */
  readonly event?: string;
}

/** The same writes for entities that are only known at run time, such as those of records. */
export interface UntypedPlan {
  find(entity: AnyEntity, field: string, value: string): AnyRow | undefined;
  findForUpdate(entity: AnyEntity, field: string, value: string): AnyRow | undefined;
  create(entity: AnyEntity, input: AnyInput, options: { readonly systemRef?: string | undefined }): AnyWritten;
  update(entity: AnyEntity, id: string, input: AnyInput, options: { readonly system?: AnyInput }): AnyWritten;
  remove(entity: AnyEntity, id: string): AnyWritten;
}

/**
 * The changes of a transaction, planned in memory: reads see the changes planned so far, and everything is written at the
 * end. A plan is synchronous. If it reads a row that is not loaded, it stops; all requested rows are loaded with one
 * query per kind, and the plan runs again from the start. So its code reads row by row, and the database is queried for
 * sets.
 */
export class Plan {
  readonly origin: Origin;
  /** The timestamp of all changes in this transaction. */
  readonly now: string;
  readonly #loaded: LoadedRows;
  readonly #pending: PendingRows;
  readonly #keys: NewKeys;
  readonly #rows: PlannedRows;
  readonly #writer: RowWriter;
  #pointer = '';

  constructor(origin: Origin, now: string, loaded: LoadedRows, pending: PendingRows, keys: NewKeys) {
    this.origin = origin;
    this.now = now;
    this.#loaded = loaded;
    this.#pending = pending;
    this.#keys = keys;
    this.#rows = new PlannedRows(loaded, pending);
    this.#writer = new RowWriter(this, this.#rows, keys);
  }

  get tenant(): Tenant {
    return this.origin.tenant;
  }

  /** The business day in the tenant's time zone. */
  get today(): string {
    return this.dayOf(this.now);
  }

  /** The business day of an instant, in the tenant's time zone. */
  dayOf(instant: string): string {
    return Temporal.Instant.from(instant).toZonedDateTimeISO(this.tenant.timeZone).toPlainDate().toString();
  }

  /** Whether the caller has at least one of the roles. The service itself has all. */
  holds(roles: readonly string[]): boolean {
    const { caller } = this.origin;
    return caller === undefined || hasRole(caller.roles, roles);
  }

  /** @throws Violation `FORBIDDEN` if the caller has none of the roles. */
  requires(roles: readonly string[], action: string, pointer?: string): void {
    if (this.holds(roles)) return;
    throw new Violation('FORBIDDEN', `${action} requires the ${roles.join(' or ')} role.`, pointer);
  }

  /** JSON Pointer to the part of the request that is being processed. */
  get pointer(): string {
    return this.#pointer;
  }

  /** Runs work on a part of the request: pointers of violations are relative to it. */
  at<Result>(pointer: string, work: () => Result): Result {
    const outer = this.#pointer;
    this.#pointer = `${outer}${pointer}`;
    try {
      return work();
    } catch (error) {
      throw error instanceof Violation ? error.under(pointer) : error;
    } finally {
      this.#pointer = outer;
    }
  }

  /** Runs reads that do not depend on each other. All missing rows are requested together before the plan stops. */
  together(...reads: readonly (() => unknown)[]): void {
    let isComplete = true;
    for (const read of reads) {
      try {
        read();
      } catch (error) {
        if (!(error instanceof NotLoaded)) throw error;
        isComplete = false;
      }
    }
    if (!isComplete) throw notLoaded;
  }

  /** Returns the row with the ID, active or not, or undefined. */
  get<Type extends EntityType>(entity: Entity<Type>, id: string): Row<Type> | undefined {
    return typed(this.#rows.one({ entity, field: 'id', value: id, lock: 'none' }));
  }

  /**
   * The same, protected from changes until the transaction ends, for rules that depend on it: no other transaction can
   * close a job, for example, while time is recorded on it. Several transactions can hold this lock.
   */
  getForShare<Type extends EntityType>(entity: Entity<Type>, id: string): Row<Type> | undefined {
    return typed(this.#rows.one({ entity, field: 'id', value: id, lock: 'share' }));
  }

  /** The same, locked for a change until the transaction ends. */
  getForUpdate<Type extends EntityType>(entity: Entity<Type>, id: string): Row<Type> | undefined {
    return typed(this.#rows.one({ entity, field: 'id', value: id, lock: 'update' }));
  }

  /** The rows with these IDs, by ID, locked until the transaction ends. All of them are loaded at once. */
  getManyForUpdate<Type extends EntityType>(
    entity: Entity<Type>,
    ids: Iterable<string>,
  ): ReadonlyMap<string, Row<Type>> {
    const found = [...ids].map((id) => this.#rows.peek({ entity, field: 'id', value: id, lock: 'update' }));
    if (found.some(({ isLoaded }) => !isLoaded)) throw notLoaded;
    return new Map(found.flatMap(({ row }) => (row === undefined ? [] : [[row.id, typed<Type>(row)] as const])));
  }

  /** Returns the row with this value in a unique field, active or not, or undefined. */
  find<Type extends EntityType>(
    entity: Entity<Type>,
    field: keyof Row<Type> & string,
    value: string,
  ): Row<Type> | undefined {
    return typed(this.#rows.one({ entity, field, value, lock: 'none' }));
  }

  findForUpdate<Type extends EntityType>(
    entity: Entity<Type>,
    field: keyof Row<Type> & string,
    value: string,
  ): Row<Type> | undefined {
    return typed(this.#rows.one({ entity, field, value, lock: 'update' }));
  }

  /** Returns the rows with this value in a field, active or not, by ascending ID. */
  all<Type extends EntityType>(
    entity: Entity<Type>,
    field: keyof Row<Type> & string,
    value: string,
  ): readonly Row<Type>[] {
    return this.#rows.all({ entity, field, value, lock: 'none' }).map((row) => typed<Type>(row));
  }

  allForUpdate<Type extends EntityType>(
    entity: Entity<Type>,
    field: keyof Row<Type> & string,
    value: string,
  ): readonly Row<Type>[] {
    return this.#rows.all({ entity, field, value, lock: 'update' }).map((row) => typed<Type>(row));
  }

  /** Returns the rows with this value in a field that this plan creates. */
  created<Type extends EntityType>(
    entity: Entity<Type>,
    field: keyof Row<Type> & string,
    value: string,
  ): readonly Row<Type>[] {
    const ids = [...this.#pending.withValue(entity, field, value)].filter((id) => this.#pending.isNew(id));
    return ids.flatMap((id) => {
      const row = this.#pending.get(entity, id)?.row;
      return row === undefined ? [] : [typed<Type>(row)];
    });
  }

  /** Returns a value that is loaded for many keys at once. Plans do not change it. */
  lookup<Value>(lookup: Lookup<Value>, key: string): Value | undefined {
    const found = this.#loaded.lookup(lookup, key);
    if (found === undefined) throw notLoaded;
    return found.value;
  }

  /** Whether this plan creates the row with the ID, so that no stored row refers to it. */
  isNew(id: string): boolean {
    return this.#pending.isNew(id);
  }

  /** Returns the next unused reference for people, such as `C-00042`. Numbers may have gaps. */
  nextReference(reference: ReferenceNumber): string {
    return this.#keys.reference(reference);
  }

  /**
   * Creates a row.
   *
   * @throws Violation if it violates the entity's rules, duplicates a unique value, or refers to a row that does not
   * exist.
   */
  create<Type extends EntityType>(
    entity: Entity<Type>,
    input: RowInput<Type>,
    { id, systemRef, system = {} }: CreateOptions<Type> = {},
  ): Written<Type> {
    return written(this.#writer.create(entity, input, { id, systemRef, system }));
  }

  /**
   * Updates a row; omitted fields keep their values.
   *
   * @throws Violation like `create`, and if the state machine does not allow the transition.
   */
  update<Type extends EntityType>(
    entity: Entity<Type>,
    id: string,
    input: RowInput<Type>,
    { system = {}, event }: UpdateOptions<Type> = {},
  ): Written<Type> {
    return written(this.#writer.update(entity, id, input, system, event));
  }

  /** Sets fields that callers cannot write, for the rules of another entity. */
  setSystemFields<Type extends EntityType>(entity: Entity<Type>, id: string, system: RowInput<Type>): void {
    this.#writer.update(entity, id, {}, system, undefined);
  }

  /**
   * Deactivates a row. It remains readable.
   *
   * @throws Violation `INVALID_STATE` if other rows require it.
   */
  remove<Type extends EntityType>(entity: Entity<Type>, id: string): Written<Type> {
    return written(this.#writer.remove(entity, id));
  }

  readonly untyped: UntypedPlan = {
    find: (entity, field, value) => this.#rows.one({ entity, field, value, lock: 'none' }),
    findForUpdate: (entity, field, value) => this.#rows.one({ entity, field, value, lock: 'update' }),
    create: (entity, input, { systemRef }) => this.#writer.create(entity, input, { systemRef, system: {} }),
    update: (entity, id, input, { system = {} }) => this.#writer.update(entity, id, input, system, undefined),
    remove: (entity, id) => this.#writer.remove(entity, id),
  };

  /** Inserts a row of a table that is not an entity. The entity explains constraints that it violates. */
  insertPlain(
    row: Pick<PlainRow, 'entity' | 'table' | 'key'> & { readonly columns: Readonly<Record<string, unknown>> },
  ): void {
    this.#pending.insertPlain({ ...row, pointer: this.#pointer });
  }

  deletePlain(row: Pick<PlainRow, 'entity' | 'table' | 'key'>): void {
    this.#pending.deletePlain({ ...row, pointer: this.#pointer });
  }

  /** The columns of a plain row that is inserted; null if it is deleted, and undefined if the plan does not change it. */
  plainRow(table: string, key: PlainRow['key']): PlainRow['columns'] | null {
    const row = this.#pending.plainRow(table, key);
    return row === undefined ? undefined : (row.columns ?? null);
  }

  /**
   * Checks that a reference is to an active row. If the row is not loaded, the check runs when the plan runs again.
   *
   * @throws Violation `REFERENCE_NOT_FOUND`
   */
  checkActive(target: AnyEntity, id: string, pointer: string): void {
    this.#writer.checkActive(target, id, pointer);
  }

  /** The same for a type of the contract, which may not have a table yet. */
  checkReference(type: string, id: string, pointer: string): void {
    this.#writer.checkReference(type, id, pointer);
  }
}

/** The type of a row follows from its entity, but code for all entities cannot express it. */
function typed<Type extends EntityType>(row: AnyRow): Row<Type>;
function typed<Type extends EntityType>(row: AnyRow | undefined): Row<Type> | undefined;
function typed(row: unknown) {
  return row;
}

function written<Type extends EntityType>({ status, row }: AnyWritten): Written<Type> {
  return { status, row: typed<Type>(row) };
}
