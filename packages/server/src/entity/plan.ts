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

/** Who changes rows, and in which call. */
export interface Origin {
  readonly tenant: Tenant;
  /** Undefined where the clock, a job or the operator acts. */
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
  /** The row as it will be. Fields that are computed from other rows are as they were. */
  readonly row: Row<Type>;
}

export interface CreateOptions<Type extends EntityType> {
  /** The id of the row where it is known before, as that of demo data is; no row may have it yet. */
  readonly id?: string | undefined;
  /** The caller's key of the row; without one, the row's id is its key. */
  readonly systemRef?: string | undefined;
  /** Fields that the service sets; callers cannot write all of them. */
  readonly system?: RowInput<Type>;
}

export interface UpdateOptions<Type extends EntityType> {
  readonly system?: RowInput<Type>;
  /** What happened in the service and moves the row to another state, by its name in the state machine. */
  readonly event?: string;
}

/** The same writes for entities that are only known at run time, as those of records are. */
export interface UntypedPlan {
  find(entity: AnyEntity, field: string, value: string): AnyRow | undefined;
  findForUpdate(entity: AnyEntity, field: string, value: string): AnyRow | undefined;
  create(entity: AnyEntity, input: AnyInput, options: { readonly systemRef?: string | undefined }): AnyWritten;
  update(entity: AnyEntity, id: string, input: AnyInput, options: { readonly system?: AnyInput }): AnyWritten;
  remove(entity: AnyEntity, id: string): AnyWritten;
}

/**
 * The changes of a transaction, planned in memory: reads see the changes planned so far, and nothing is written until all of
 * it is planned. A plan is synchronous. Where it reads what is not loaded, it stops; everything that was asked for is then
 * loaded with one query for each kind, and the plan runs again from the start. So its code reads row by row, and the database
 * is asked for sets.
 */
export class Plan {
  readonly origin: Origin;
  /** The instant at which everything in this transaction happens. */
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

  /** Whether the caller has one of the roles. The service itself has all. */
  holds(roles: readonly string[]): boolean {
    const { caller } = this.origin;
    return caller === undefined || hasRole(caller.roles, roles);
  }

  /** @throws Violation `FORBIDDEN` where the caller has none of the roles. */
  requires(roles: readonly string[], what: string, pointer?: string): void {
    if (this.holds(roles)) return;
    throw new Violation('FORBIDDEN', `${what} requires the ${roles.join(' or ')} role.`, pointer);
  }

  /** Where in the request the work is at. */
  get pointer(): string {
    return this.#pointer;
  }

  /** Does work on a part of the request: pointers of violations start there. */
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

  /** Does reads that do not depend on each other. What all of them lack is requested at once, before the plan stops. */
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

  /** The row with the id, active or not, or undefined. */
  get<Type extends EntityType>(entity: Entity<Type>, id: string): Row<Type> | undefined {
    return typed(this.#rows.one({ entity, field: 'id', value: id, lock: 'none' }));
  }

  /**
   * The same, kept as it is until the transaction ends, for rules that depend on it: nobody closes a job, say, while time is
   * recorded on it. Others can do the same at the same time.
   */
  getForShare<Type extends EntityType>(entity: Entity<Type>, id: string): Row<Type> | undefined {
    return typed(this.#rows.one({ entity, field: 'id', value: id, lock: 'share' }));
  }

  /** The same, locked until the transaction ends, for rows that are about to change. */
  getForUpdate<Type extends EntityType>(entity: Entity<Type>, id: string): Row<Type> | undefined {
    return typed(this.#rows.one({ entity, field: 'id', value: id, lock: 'update' }));
  }

  /** The rows with these ids, by id, locked until the transaction ends. All of them are loaded at once. */
  getManyForUpdate<Type extends EntityType>(
    entity: Entity<Type>,
    ids: Iterable<string>,
  ): ReadonlyMap<string, Row<Type>> {
    const found = [...ids].map((id) => this.#rows.peek({ entity, field: 'id', value: id, lock: 'update' }));
    if (found.some(({ isLoaded }) => !isLoaded)) throw notLoaded;
    return new Map(found.flatMap(({ row }) => (row === undefined ? [] : [[row.id, typed<Type>(row)] as const])));
  }

  /** The row with this value in a unique field, active or not, or undefined. */
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

  /** The rows with this value in a field, active or not, by ascending id. */
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

  /** The rows with this value in a field that this plan creates. */
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

  /** A value that is loaded for many keys at once. Plans do not change it. */
  lookup<Value>(lookup: Lookup<Value>, key: string): Value | undefined {
    const found = this.#loaded.lookup(lookup, key);
    if (found === undefined) throw notLoaded;
    return found.value;
  }

  /** Whether this plan creates the row with the id, so that nothing that is stored refers to it. */
  isNew(id: string): boolean {
    return this.#pending.isNew(id);
  }

  /** The next reference that people read and no row has yet, such as `C-00042`. Numbers may have gaps. */
  nextReference(reference: ReferenceNumber): string {
    return this.#keys.reference(reference);
  }

  /**
   * Creates a row.
   *
   * @throws Violation where it breaks the entity's rules, repeats what must be unique, or refers to a row that does not exist.
   */
  create<Type extends EntityType>(
    entity: Entity<Type>,
    input: RowInput<Type>,
    { id, systemRef, system = {} }: CreateOptions<Type> = {},
  ): Written<Type> {
    return written(this.#writer.create(entity, input, { id, systemRef, system }));
  }

  /**
   * Changes a row; fields that are left out keep their values.
   *
   * @throws Violation as `create` does, and where the state machine has no such transition.
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
   * Deactivates a row. It stays readable.
   *
   * @throws Violation `INVALID_STATE` where others still need it.
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

  /** Inserts a row of a table that is not an entity. A constraint that it violates is explained by the entity. */
  insertPlain(
    row: Pick<PlainRow, 'entity' | 'table' | 'key'> & { readonly columns: Readonly<Record<string, unknown>> },
  ): void {
    this.#pending.insertPlain({ ...row, pointer: this.#pointer });
  }

  deletePlain(row: Pick<PlainRow, 'entity' | 'table' | 'key'>): void {
    this.#pending.deletePlain({ ...row, pointer: this.#pointer });
  }

  /** The columns of a plain row that is inserted; null where it is deleted, and undefined where the plan does not change it. */
  plainRow(table: string, key: PlainRow['key']): PlainRow['columns'] | null {
    const row = this.#pending.plainRow(table, key);
    return row === undefined ? undefined : (row.columns ?? null);
  }

  /**
   * Checks that a reference is to an active row. Where the row is not loaded, the check is made when the plan runs again.
   *
   * @throws Violation `REFERENCE_NOT_FOUND`
   */
  checkActive(target: AnyEntity, id: string, pointer: string): void {
    this.#writer.checkActive(target, id, pointer);
  }

  /** The same for a type of the contract, whether it has a table yet or not. */
  checkReference(type: string, id: string, pointer: string): void {
    this.#writer.checkReference(type, id, pointer);
  }
}

/** The compiler knows rows by their entity; the machinery that works on all entities does not. */
function typed<Type extends EntityType>(row: AnyRow): Row<Type>;
function typed<Type extends EntityType>(row: AnyRow | undefined): Row<Type> | undefined;
function typed(row: unknown) {
  return row;
}

function written<Type extends EntityType>({ status, row }: AnyWritten): Written<Type> {
  return { status, row: typed<Type>(row) };
}
