import type { Caller, Tenant } from '../platform/auth/caller.ts';
import type { Vault } from '../platform/auth/vault.ts';
import type { Lookup } from './loaded-rows.ts';
import type { AnyEntity, Entity } from './model.ts';
import type { ReferenceNumber } from './new-keys.ts';
import type { PlainRow } from './pending-rows.ts';
import type { AnyInput, AnyRow, EntityType, Row, RowInput } from './row.ts';

/** The caller and operation of a change. */
export interface Origin {
  readonly tenant: Tenant;
  /** Undefined for changes by the clock, a job or the operator. */
  readonly caller: Caller | undefined;
  readonly operation: string;
  /** The operation whose transitions between states a job can make for a caller; undefined where it is `operation`. */
  readonly movesAs?: string | undefined;
  readonly requestId: string;
  /** Of the call; undefined where it named no trace, or there is none. */
  readonly traceparent?: string | undefined;
  readonly vault: Vault;
}

/** The result of a write. */
export interface AnyWritten {
  readonly status: 'CREATED' | 'UPDATED' | 'UNCHANGED' | 'DELETED';
  readonly row: AnyRow;
}

/** The result of a write of a known entity. */
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
}

/** What a plan does for one event of the contract's state machines: rows change their states by it while it runs. */
export interface Command<Args extends readonly unknown[], Result = unknown> {
  (plan: Plan, ...args: Args): Result;
  /** Undefined for what a transition by a caller does if no row changes its state by it. */
  readonly event?: string;
}

/** The same writes for entities that are only known at run time, such as those of records. */
export interface UntypedPlan {
  find(entity: AnyEntity, field: string, value: string): AnyRow | undefined;
  findForUpdate(entity: AnyEntity, field: string, value: string): AnyRow | undefined;
  allForUpdate(entity: AnyEntity, field: string, value: string): readonly AnyRow[];
  create(
    entity: AnyEntity,
    input: AnyInput,
    options: { readonly systemRef?: string | undefined; readonly system?: AnyInput },
  ): AnyWritten;
  update(entity: AnyEntity, id: string, input: AnyInput, options: { readonly system?: AnyInput }): AnyWritten;
  /** Sets instants of a row to those that it has in the system that it comes from. */
  setInstants(entity: AnyEntity, id: string, instants: AnyInput): AnyWritten;
  /** Changes references of a row to those of the row that the earlier one was merged into. */
  refer(entity: AnyEntity, id: string, references: AnyInput): void;
  remove(entity: AnyEntity, id: string): AnyWritten;
  /** Returns a row as it was before this transaction; undefined if the transaction creates it. */
  original(entity: AnyEntity, id: string): AnyRow | undefined;
}

/**
 * The changes of a transaction, planned in memory: reads see the changes planned so far, and everything is written at the
 * end. A plan is synchronous. If it reads a row that is not loaded, it stops; all requested rows are loaded with one
 * query per kind, and the plan runs again from the start. So its code reads row by row, and the database is queried for
 * sets.
 */
export interface Plan {
  readonly origin: Origin;
  /** The timestamp of all changes in this transaction. */
  readonly now: string;
  readonly tenant: Tenant;
  /** The business day in the tenant's time zone. */
  readonly today: string;
  /** The business day of an instant, in the tenant's time zone. */
  dayOf(instant: string): string;
  /** Whether the caller has at least one of the roles. The service itself has all. */
  holds(roles: readonly string[]): boolean;
  /** @throws Rejection `FORBIDDEN` if the caller has none of the roles. */
  requires(roles: readonly string[], action: string, pointer?: string): void;
  /** The event of the command that runs now. */
  readonly event: string | undefined;
  /** Runs the steps of a command. Commands can run others. */
  during<Result>(event: string, steps: () => Result): Result;
  /** Whether the rows are the history of another system. */
  readonly isImport: boolean;
  /** Runs the steps of an import. */
  importing<Result>(steps: () => Result): Result;
  /** JSON Pointer to the part of the request that is being processed. */
  readonly pointer: string;
  /** Runs work on a part of the request: pointers of rejections are relative to it. */
  at<Result>(pointer: string, work: () => Result): Result;
  /** Runs reads that do not depend on each other. All missing rows are requested together before the plan stops. */
  together(...reads: readonly (() => unknown)[]): void;
  /**
   * Runs a step for each item of a list, and returns the results. All missing rows are requested together before the plan
   * stops, so that a long list needs no more runs than a short one.
   */
  each<Item, Result>(items: readonly Item[], step: (item: Item, index: number) => Result): Result[];
  /** Returns the row with the ID, active or not, or undefined. */
  get<Type extends EntityType>(entity: Entity<Type>, id: string): Row<Type> | undefined;
  /**
   * The same, protected from changes until the transaction ends, for rules that depend on it: no other transaction can
   * close a job, for example, while time is recorded on it. Several transactions can hold this lock.
   */
  getForShare<Type extends EntityType>(entity: Entity<Type>, id: string): Row<Type> | undefined;
  /** The same, locked for a change until the transaction ends. */
  getForUpdate<Type extends EntityType>(entity: Entity<Type>, id: string): Row<Type> | undefined;
  /** The rows with these IDs, by ID, locked until the transaction ends. All of them are loaded at once. */
  getManyForUpdate<Type extends EntityType>(
    entity: Entity<Type>,
    ids: Iterable<string>,
  ): ReadonlyMap<string, Row<Type>>;
  /** Returns the row with this value in a unique field, active or not, or undefined. */
  find<Type extends EntityType>(
    entity: Entity<Type>,
    field: keyof Row<Type> & string,
    value: string,
  ): Row<Type> | undefined;
  findForUpdate<Type extends EntityType>(
    entity: Entity<Type>,
    field: keyof Row<Type> & string,
    value: string,
  ): Row<Type> | undefined;
  /** Returns the rows with this value in a field, active or not, by ascending ID. */
  all<Type extends EntityType>(
    entity: Entity<Type>,
    field: keyof Row<Type> & string,
    value: string,
  ): readonly Row<Type>[];
  allForUpdate<Type extends EntityType>(
    entity: Entity<Type>,
    field: keyof Row<Type> & string,
    value: string,
  ): readonly Row<Type>[];
  /** Returns the rows with this value in a field that this plan creates. */
  created<Type extends EntityType>(
    entity: Entity<Type>,
    field: keyof Row<Type> & string,
    value: string,
  ): readonly Row<Type>[];
  /** Returns a value that is loaded for many keys at once. Plans do not change it. */
  lookup<Value>(lookup: Lookup<Value>, key: string): Value | undefined;
  /** Whether this plan creates the row with the ID, so that no stored row refers to it. */
  isNew(id: string): boolean;
  /** Returns an unused ID, the same in each run of the plan. */
  newId(): string;
  /** Returns the next unused reference for people, such as `C-00042`. Numbers may have gaps. */
  nextReference(reference: ReferenceNumber): string;
  /**
   * Creates a row that a caller writes.
   *
   * @throws Rejection if it violates the entity's rules, duplicates a unique value, or refers to a row that does not
   * exist.
   */
  create<Type extends EntityType>(
    entity: Entity<Type>,
    input: RowInput<Type>,
    options?: CreateOptions<Type>,
  ): Written<Type>;
  /** Creates a row of the service, with all of its fields. */
  insert<Type extends EntityType>(
    entity: Entity<Type>,
    values: RowInput<Type>,
    options?: Pick<CreateOptions<Type>, 'id' | 'systemRef'>,
  ): Written<Type>;
  /**
   * Updates a row as a caller writes it; omitted fields keep their values.
   *
   * @throws Rejection like `create`, and if the state machine does not allow the transition.
   */
  update<Type extends EntityType>(
    entity: Entity<Type>,
    id: string,
    input: RowInput<Type>,
    options?: UpdateOptions<Type>,
  ): Written<Type>;
  /** Sets fields in the name of the service. A state changes by the event of the command that runs, or of the entity's own command. */
  set<Type extends EntityType>(entity: Entity<Type>, id: string, values: RowInput<Type>): Written<Type>;
  /** Gives a row a new version, because a value that it embeds or is calculated from has changed. */
  touch(entity: AnyEntity, id: string): void;
  /**
   * Deactivates a row. It remains readable.
   *
   * @throws Rejection `INVALID_STATE` if other rows require it.
   */
  remove<Type extends EntityType>(entity: Entity<Type>, id: string): Written<Type>;
  readonly untyped: UntypedPlan;
  /** Inserts a row of a table that is not an entity. The entity explains constraints that it violates. */
  insertPlain(
    row: Pick<PlainRow, 'entity' | 'table' | 'key'> & { readonly columns: Readonly<Record<string, unknown>> },
  ): void;
  deletePlain(row: Pick<PlainRow, 'entity' | 'table' | 'key'>): void;
  /** The columns of a plain row that is inserted; null if it is deleted, and undefined if the plan does not change it. */
  plainRow(table: string, key: PlainRow['key']): PlainRow['columns'] | null;
  /**
   * Checks that a reference is to an active row. If the row is not loaded, the check runs when the plan runs again.
   *
   * @throws Rejection `REFERENCE_NOT_FOUND`
   */
  checkActive(target: AnyEntity, id: string, pointer: string): void;
  /** The same for a type of the contract, which a later module may define. Returns the row. */
  checkReference<Type extends EntityType>(type: Type, id: string, pointer: string): Row<Type> | undefined;
}
