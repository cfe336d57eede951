import { Rejection } from '../contract/rejection.ts';
import { checkAncestors } from './ancestors.ts';
import { rowsThatEmbed } from './embedders.ts';
import { checkImmutable } from './immutable-fields.ts';
import { invalidField } from './invalid-field.ts';
import type { AnyEntity } from './model.ts';
import type { NewKeys } from './new-keys.ts';
import type { AnyWritten, Plan } from './plan.ts';
import type { PlannedRows } from './planned-rows.ts';
import { entityOf } from './registry.ts';
import type { AnyInput, AnyRow } from './row.ts';
import { checkBounds } from './row-bounds.ts';
import { isChanged } from './row-changes.ts';
import {
  checkComplete,
  checkImportsOnly,
  checkInstants,
  checkOfChange,
  checkOnlyFor,
  checkProvided,
  checkReferences,
  checkUnique,
  checkWriteRoles,
} from './row-checks.ts';
import { emptyRow, readInput, shownAmong } from './row-input.ts';
import { type AnyPendingChange, rulesOf } from './rules.ts';
import {
  callerMover,
  checkCondition,
  checkImported,
  checkInitialState,
  findTransition,
  isImported,
  type Mover,
} from './state-machine.ts';

type By = AnyPendingChange['by'];

/** Options of a new row, in addition to its input. */
interface NewRow {
  readonly id?: string | undefined;
  readonly systemRef: string | undefined;
  readonly system: AnyInput;
}

/** The steps of creating, changing or removing a row in a plan, the same for every entity. */
export class RowWriter {
  readonly #plan: Plan;
  readonly #rows: PlannedRows;
  readonly #keys: NewKeys;

  constructor(plan: Plan, rows: PlannedRows, keys: NewKeys) {
    this.#plan = plan;
    this.#rows = rows;
    this.#keys = keys;
  }

  create(entity: AnyEntity, by: By, input: AnyInput, { id = this.#keys.id(), systemRef, system }: NewRow): AnyWritten {
    this.#rows.pending.addNewId(id);
    const provided = readInput(entity, input);
    this.#checkProvided(entity, by, provided, undefined);
    const { now, origin } = this.#plan;
    const caller = origin.caller?.apiUserName ?? 'system';
    const values: AnyRow = {
      ...emptyRow(entity),
      ...readInput(entity, system),
      ...shownAmong(entity, provided),
      id,
      systemRef: systemRef ?? id,
      sysRefs: system.sysRefs ?? (systemRef === undefined ? [] : [{ system: caller, ref: systemRef }]),
      active: true,
      createdAt: now,
      updatedAt: now,
      version: 1,
    };
    const change = pendingChange({ entity, id, previous: undefined, values, by, input: provided });
    this.#checkReferences(change);
    // Before the rules, which rely on it.
    checkProvided(entity, values);
    if (by === 'caller' && !this.#isImported(change)) checkOfChange(entity, provided);
    rulesOf(entity).complete?.(change, this.#plan);
    checkComplete(entity, values);
    checkAncestors(change, this.#plan);
    checkOnlyFor(entity, values);
    checkBounds(entity, values, undefined, provided);
    this.#checkUnique(change);
    this.#checkInitialState(change);
    this.#write(change);
    return { status: 'CREATED', row: values };
  }

  update(entity: AnyEntity, id: string, by: By, input: AnyInput, system: AnyInput): AnyWritten {
    const previous = this.#rows.locked(entity, id);
    const provided = readInput(entity, input);
    this.#checkProvided(entity, by, provided, previous);
    const values: AnyRow = { ...previous, ...readInput(entity, system), ...shownAmong(entity, provided) };
    const change = pendingChange({ entity, id, previous, values, by, input: provided });
    this.#checkReferences(change);
    rulesOf(entity).complete?.(change, this.#plan);
    // After the rules, which complete what is sent again without all of its parts.
    if (by === 'caller') checkImmutable(change, this.#plan);
    checkAncestors(change, this.#plan);
    checkOnlyFor(entity, values);
    checkBounds(entity, values, previous, provided);
    this.#checkUnique(change);
    this.#checkTransition(change);
    const isOnPrivate = Object.keys(change.privateColumns).length > 0;
    if (!change.isTouched && !isOnPrivate && !isChanged(entity, previous, values))
      return { status: 'UNCHANGED', row: previous };
    this.#write(change);
    return { status: 'UPDATED', row: values };
  }

  remove(entity: AnyEntity, id: string): AnyWritten {
    const previous = this.#rows.locked(entity, id);
    if (!previous.active) return { status: 'UNCHANGED', row: previous };
    const values: AnyRow = { ...previous, active: false };
    const change = pendingChange({ entity, id, previous, values, by: 'caller', input: {} });
    rulesOf(entity).beforeRemoval?.(change, this.#plan);
    this.#checkTransition(change);
    this.#write(change);
    return { status: 'DELETED', row: values };
  }

  /**
   * Sets instants of a row that comes from another system. No rule depends on them.
   *
   * @throws Rejection with a pointer to an instant that the row does not have.
   */
  setInstants(entity: AnyEntity, id: string, instants: AnyInput): AnyWritten {
    const previous = this.#rows.locked(entity, id);
    const values: AnyRow = { ...previous, ...readInput(entity, instants) };
    const names = Object.keys(instants);
    checkInstants(entity, values, this.#rows.loaded.row(entity, id)?.row, names, this.#plan);
    const unset = names.find((name) => previous[name] === null && !rulesOf(entity).isInstantPossible?.(previous, name));
    if (unset !== undefined)
      throw new Rejection('INVALID_STATE', `The ${entity.type} has no ${unset} in its state.`, `/${unset}`);
    if (!isChanged(entity, previous, values)) return { status: 'UNCHANGED', row: previous };
    this.#put(pendingChange({ entity, id, previous, values, by: 'service', input: {} }));
    return { status: 'UPDATED', row: values };
  }

  /** Follows a merge: the row refers to what is the same thing as before, so no rule depends on it. */
  refer(entity: AnyEntity, id: string, references: AnyInput): void {
    const previous = this.#rows.locked(entity, id);
    const values: AnyRow = { ...previous, ...references };
    this.#put(pendingChange({ entity, id, previous, values, by: 'service', input: {} }));
  }

  /** @throws Rejection `REFERENCE_NOT_FOUND`, also for a type of the contract that has no table yet. */
  checkReference(type: string, id: string, pointer: string): void {
    const target = entityOf(type);
    if (target === undefined) throw new Rejection('REFERENCE_NOT_FOUND', `No ${type} with this ID exists.`, pointer);
    this.checkActive(target, id, pointer);
  }

  /** @throws Rejection `REFERENCE_NOT_FOUND` */
  checkActive(target: AnyEntity, id: string, pointer: string): void {
    const { row, isLoaded } = this.#rows.peek({ entity: target, field: 'id', value: id, lock: 'none' });
    if (!isLoaded || row?.active === true) return;
    const detail =
      row === undefined
        ? `No ${target.type} with this ID exists.`
        : typeof row.mergedIntoId === 'string'
          ? `The ${target.type} was merged into ${row.mergedIntoId}. Refer to that one.`
          : `The ${target.type} is inactive and cannot be used in new references.`;
    throw new Rejection('REFERENCE_NOT_FOUND', detail, pointer);
  }

  #write(change: AnyPendingChange): void {
    this.#put(change);
    rulesOf(change.entity).afterWrite?.(change, this.#plan);
    this.#commandOf(change)?.(this.#plan, change);
  }

  /** What a change of the state does. Within a command, the service only writes: the command lists all steps. */
  #commandOf({ entity, by, previous, values }: AnyPendingChange) {
    const { machine } = entity;
    if (machine === undefined || (by === 'service' && (previous === undefined || this.#plan.event !== undefined)))
      return;
    const state = String(values[machine.field]);
    return state === previous?.[machine.field] ? undefined : rulesOf(entity).commands?.[state];
  }

  #put({ entity, id, previous, values, privateColumns, isTouched }: AnyPendingChange): void {
    const earlier = this.#rows.pending.get(entity, id);
    this.#rows.pending.put({
      entity,
      id,
      loaded: this.#rows.loaded.row(entity, id),
      row: values,
      privateColumns: { ...earlier?.privateColumns, ...privateColumns },
      isTouched: isTouched || earlier?.isTouched === true,
      isImport: this.#plan.isImport || earlier?.isImport === true,
      pointer: earlier?.pointer ?? this.#plan.pointer,
    });
    const findAll = (other: AnyEntity, field: string, value: string) =>
      this.#rows.all({ entity: other, field, value, lock: 'none' });
    for (const embedder of rowsThatEmbed({ entity, previous, row: values }, findAll))
      this.touch(embedder.entity, embedder.id);
  }

  /** Nothing of the plan depends on the row, so the plan goes on without it: the rows of all touches are loaded together. */
  touch(entity: AnyEntity, id: string): void {
    if (!this.#rows.peek({ entity, field: 'id', value: id, lock: 'update' }).isLoaded) return;
    const row = this.#rows.locked(entity, id);
    this.#put({
      ...pendingChange({ entity, id, previous: row, values: row, by: 'service', input: {} }),
      isTouched: true,
    });
  }

  #checkProvided(entity: AnyEntity, by: By, provided: AnyInput, previous: AnyRow | undefined): void {
    if (by === 'caller' && !this.#plan.isImport) checkImportsOnly(entity, provided, previous);
    checkWriteRoles(entity, provided, previous, (roles, action, pointer) =>
      this.#plan.requires(roles, action, pointer),
    );
  }

  #checkReferences({ entity, input, previous }: AnyPendingChange): void {
    checkReferences(entity, input, previous, (type, id, pointer) => this.checkReference(type, id, pointer));
  }

  #checkUnique({ entity, values, previous }: AnyPendingChange): void {
    checkUnique(entity, values, previous, (field, value) => {
      if (this.#keys.isNewReference(value)) return undefined;
      return this.#rows.peek({ entity, field, value, lock: 'none' }).row?.id;
    });
  }

  #checkInitialState(change: AnyPendingChange): void {
    const { machine } = change.entity;
    if (machine !== undefined && !this.#isImported(change)) checkInitialState(machine, change.values[machine.field]);
  }

  /** Whether an import writes a row in this state without the transitions that lead there. */
  #isImported({ entity: { machine }, values }: AnyPendingChange): boolean {
    return machine !== undefined && this.#plan.isImport && isImported(machine, values[machine.field]);
  }

  #checkTransition(change: AnyPendingChange): void {
    const { machine } = change.entity;
    if (machine === undefined || change.previous === undefined) return;
    const [from, to] = [String(change.previous[machine.field]), String(change.values[machine.field])];
    if (from === to) return;
    if (change.by === 'caller' && this.#isImported(change)) {
      checkImported(machine, from, to);
      return;
    }
    const { conditions = [], requires = [] } = findTransition(machine, from, to, this.#moverOf(change));
    for (const name of conditions) {
      if (checkCondition(machine, name, change.previous, to)) continue;
      const check = rulesOf(change.entity).conditions?.[name];
      if (check === undefined) throw new Error(`${machine.type} has no rule for the condition ${name}.`);
      check(change, this.#plan);
    }
    for (const name of requires)
      if ((change.input[name] ?? change.values[name] ?? null) === null)
        throw invalidField(name, `${name} is required to change the ${machine.field} to ${to}.`);
  }

  #moverOf(change: AnyPendingChange): Mover {
    if (change.by === 'caller') return callerMover(this.#plan);
    const event = this.#plan.event ?? this.#commandOf(change)?.event;
    if (event === undefined)
      throw new Error(`Only a command changes the state of the ${change.entity.type} ${change.id}.`);
    return { event };
  }
}

function pendingChange(
  change: Pick<AnyPendingChange, 'entity' | 'id' | 'previous' | 'values' | 'by' | 'input'>,
): AnyPendingChange {
  return { ...change, privateColumns: {}, isTouched: false };
}
