import { hasRole } from '@financial-automation/spec/roles';
import { Rejection } from '../contract/rejection.ts';
import type { Tenant } from '../platform/auth/caller.ts';
import type { TrackedRow } from './audit-and-events.ts';
import type { LoadedRows, Lookup, RowQuery } from './loaded-rows.ts';
import type { AnyEntity, Entity } from './model.ts';
import type { NewKeys, ReferenceNumber } from './new-keys.ts';
import type { PendingRows, PlainRow } from './pending-rows.ts';
import type { AnyWritten, Origin, Plan, UntypedPlan, Written } from './plan.ts';
import { NotLoaded, notLoaded, PlannedRows } from './planned-rows.ts';
import { entityNamed } from './registry.ts';
import type { AnyRow, EntityType, Row } from './row.ts';
import { RowWriter } from './row-writer.ts';
import { withDecimals } from './values.ts';

type Scope = Pick<Plan, 'pointer' | 'event' | 'isImport'>;

/** A run of a plan. Runs of the same plan share the rows that they load, and the keys that they assign. */
export class PlanRun implements Plan {
  readonly origin: Origin;
  readonly now: string;
  readonly #keys: NewKeys;
  readonly #rows: PlannedRows;
  readonly #writer: RowWriter;
  readonly #trackedRow: (id: string) => TrackedRow | undefined;
  #scope: Scope = { pointer: '', event: undefined, isImport: false };

  /** @param trackedRow returns a row that the transaction has changed before this plan. */
  constructor(
    { origin, now, trackedRow }: { origin: Origin; now: string; trackedRow: (id: string) => TrackedRow | undefined },
    loaded: LoadedRows,
    pending: PendingRows,
    keys: NewKeys,
  ) {
    this.origin = origin;
    this.now = now;
    this.#trackedRow = trackedRow;
    this.#keys = keys;
    this.#rows = new PlannedRows(loaded, pending);
    this.#writer = new RowWriter(this, this.#rows, keys);
  }

  get tenant(): Tenant {
    return this.origin.tenant;
  }

  get today(): string {
    return this.dayOf(this.now);
  }

  dayOf(instant: string): string {
    return Temporal.Instant.from(instant).toZonedDateTimeISO(this.tenant.timeZone).toPlainDate().toString();
  }

  holds(roles: readonly string[]): boolean {
    const { caller } = this.origin;
    return caller === undefined || hasRole(caller.roles, roles);
  }

  requires(roles: readonly string[], action: string, pointer?: string): void {
    if (this.holds(roles)) return;
    throw new Rejection('FORBIDDEN', `${action} requires the ${roles.join(' or ')} role.`, pointer);
  }

  get event(): string | undefined {
    return this.#scope.event;
  }

  get isImport(): boolean {
    return this.#scope.isImport;
  }

  get pointer(): string {
    return this.#scope.pointer;
  }

  during: Plan['during'] = (event, steps) => this.#within({ event }, steps);
  importing: Plan['importing'] = (steps) => this.#within({ isImport: true }, steps);

  at: Plan['at'] = (pointer, work) =>
    this.#within({ pointer: `${this.pointer}${pointer}` }, () => {
      try {
        return work();
      } catch (error) {
        throw error instanceof Rejection ? error.under(pointer) : error;
      }
    });

  #within<Result>(change: Partial<Scope>, work: () => Result): Result {
    const outer = this.#scope;
    this.#scope = { ...outer, ...change };
    try {
      return work();
    } finally {
      this.#scope = outer;
    }
  }

  together(...reads: readonly (() => unknown)[]): void {
    this.each(reads, (read) => read());
  }

  each<Item, Result>(items: readonly Item[], step: (item: Item, index: number) => Result): Result[] {
    const results: Result[] = [];
    for (const [index, item] of items.entries()) {
      try {
        results.push(step(item, index));
      } catch (error) {
        if (!(error instanceof NotLoaded)) throw error;
      }
    }
    if (results.length < items.length) throw notLoaded;
    return results;
  }

  #one<Type extends EntityType>(entity: Entity<Type>, query: Omit<RowQuery, 'entity'>): Row<Type> | undefined {
    const row = this.#rows.one({ entity, ...query });
    return row === undefined ? undefined : typed(entity, row);
  }

  #all<Type extends EntityType>(entity: Entity<Type>, query: Omit<RowQuery, 'entity'>): readonly Row<Type>[] {
    return this.#rows.all({ entity, ...query }).map((row) => typed(entity, row));
  }

  get: Plan['get'] = (entity, id) => this.#one(entity, { field: 'id', value: id, lock: 'none' });
  getForShare: Plan['getForShare'] = (entity, id) => this.#one(entity, { field: 'id', value: id, lock: 'share' });
  getForUpdate: Plan['getForUpdate'] = (entity, id) => this.#one(entity, { field: 'id', value: id, lock: 'update' });
  find: Plan['find'] = (entity, field, value) => this.#one(entity, { field, value, lock: 'none' });
  findForUpdate: Plan['findForUpdate'] = (entity, field, value) => this.#one(entity, { field, value, lock: 'update' });
  all: Plan['all'] = (entity, field, value) => this.#all(entity, { field, value, lock: 'none' });
  allForUpdate: Plan['allForUpdate'] = (entity, field, value) => this.#all(entity, { field, value, lock: 'update' });

  getManyForUpdate: Plan['getManyForUpdate'] = (entity, ids) => {
    const found = [...ids].map((id) => this.#rows.peek({ entity, field: 'id', value: id, lock: 'update' }));
    if (found.some(({ isLoaded }) => !isLoaded)) throw notLoaded;
    return new Map(found.flatMap(({ row }) => (row === undefined ? [] : [[row.id, typed(entity, row)] as const])));
  };

  created: Plan['created'] = (entity, field, value) => {
    const ids = [...this.#rows.pending.withValue(entity, field, value)].filter((id) => this.#rows.pending.isNew(id));
    return ids.flatMap((id) => {
      const row = this.#rows.pending.get(entity, id)?.row;
      return row === undefined ? [] : [typed(entity, row)];
    });
  };

  lookup<Value>(lookup: Lookup<Value>, key: string): Value | undefined {
    const found = this.#rows.loaded.lookup(lookup, key);
    if (found === undefined) throw notLoaded;
    return found.value;
  }

  isNew(id: string): boolean {
    return this.#rows.pending.isNew(id);
  }

  newId(): string {
    return this.#keys.id();
  }

  nextReference(reference: ReferenceNumber): string {
    return this.#keys.reference(reference);
  }

  create: Plan['create'] = (entity, input, { id, systemRef, system = {} } = {}) =>
    written(entity, this.#writer.create(entity, 'caller', input, { id, systemRef, system }));
  insert: Plan['insert'] = (entity, system, { id, systemRef } = {}) =>
    written(entity, this.#writer.create(entity, 'service', {}, { id, systemRef, system }));
  update: Plan['update'] = (entity, id, input, { system = {} } = {}) =>
    written(entity, this.#writer.update(entity, id, 'caller', input, system));
  set: Plan['set'] = (entity, id, values) => written(entity, this.#writer.update(entity, id, 'service', {}, values));
  remove: Plan['remove'] = (entity, id) => written(entity, this.#writer.remove(entity, id));
  touch: Plan['touch'] = (entity, id) => this.#writer.touch(entity, id);

  readonly untyped: UntypedPlan = {
    find: (entity, field, value) => this.#rows.one({ entity, field, value, lock: 'none' }),
    findForUpdate: (entity, field, value) => this.#rows.one({ entity, field, value, lock: 'update' }),
    allForUpdate: (entity, field, value) => this.#rows.all({ entity, field, value, lock: 'update' }),
    create: (entity, input, { systemRef, system = {} }) =>
      this.#writer.create(entity, 'caller', input, { systemRef, system }),
    update: (entity, id, input, { system = {} }) => this.#writer.update(entity, id, 'caller', input, system),
    setInstants: (entity, id, instants) => this.#writer.setInstants(entity, id, instants),
    refer: (entity, id, references) => this.#writer.refer(entity, id, references),
    remove: (entity, id) => this.#writer.remove(entity, id),
    original: (entity, id) => {
      const tracked = this.#trackedRow(id);
      if (tracked !== undefined) return tracked.before && withDecimals(entity.shown, tracked.before);
      return (this.#rows.pending.get(entity, id) ?? { loaded: this.#rows.loaded.row(entity, id) }).loaded?.row;
    },
  };

  insertPlain: Plan['insertPlain'] = (row) => this.#rows.pending.insertPlain({ ...row, pointer: this.pointer });
  deletePlain: Plan['deletePlain'] = (row) => this.#rows.pending.deletePlain({ ...row, pointer: this.pointer });

  plainRow(table: string, key: PlainRow['key']): PlainRow['columns'] | null {
    const row = this.#rows.pending.plainRow(table, key);
    return row === undefined ? undefined : (row.columns ?? null);
  }

  checkActive(target: AnyEntity, id: string, pointer: string): void {
    this.#writer.checkActive(target, id, pointer);
  }

  checkReference<Type extends EntityType>(type: Type, id: string, pointer: string): Row<Type> | undefined {
    this.#writer.checkReference(type, id, pointer);
    return this.get(entityNamed(type), id);
  }
}

/** The type of a row follows from its entity; rows of all entities are held together, where it is not known. */
function typed<Type extends EntityType>(_entity: Entity<Type>, row: AnyRow): Row<Type> {
  return row as AnyRow & Row<Type>;
}

function written<Type extends EntityType>(entity: Entity<Type>, { status, row }: AnyWritten): Written<Type> {
  return { status, row: typed(entity, row) };
}
