import type { ItemErrorCode } from '../contract/rejection.ts';
import type { AnyEntity, Entity } from './model.ts';
import type { Command, Plan } from './plan.ts';
import type { AnyInput, AnyRow, AnyStoredRow, EntityType, Mutable, ProvidedFields, Row, StoredRow } from './row.ts';

/** A row to be created or changed. Rules complete and correct `values`. */
export interface PendingChange<Type extends EntityType> {
  readonly entity: Entity<Type>;
  readonly id: string;
  /** The row before the change; undefined for a new one. */
  readonly previous: Row<Type> | undefined;
  /** The row after the change. In a new row, required fields that rules fill in may still be undefined. */
  readonly values: Mutable<Row<Type>>;
  /** Columns that responses do not include. */
  readonly privateColumns: Record<string, unknown>;
  /** Who changes the row: a caller, whose fields are checked, or the service by one of its commands. */
  readonly by: 'caller' | 'service';
  /** The fields that a caller provides, with references as IDs. */
  readonly input: ProvidedFields<Type>;
  /** Set if the change counts as one of the row although none of its columns changes. */
  isTouched: boolean;
}

/** A pending change of any entity, for code that works on all entities. */
export interface AnyPendingChange {
  readonly entity: AnyEntity;
  readonly id: string;
  readonly previous: AnyRow | undefined;
  readonly values: AnyRow;
  readonly privateColumns: Record<string, unknown>;
  readonly by: 'caller' | 'service';
  readonly input: AnyInput;
  isTouched: boolean;
}

/** Explains a violated constraint of the database to the caller. */
export interface ConstraintMeaning {
  readonly code: ItemErrorCode;
  /** Undefined if it is not about a value of the request. */
  readonly field?: string;
  readonly detail: string;
}

/**
 * The rules of one entity, for all operations. They are synchronous functions of the change and of rows that the plan
 * reads, and throw a `Rejection` to reject it.
 */
export interface Rules<Type extends EntityType> {
  /** Completes and checks a row before it is stored, at every write. */
  complete?(change: PendingChange<Type>, plan: Plan): void;
  /** Rejects the deactivation of a row that others require, or sets dependent fields. */
  beforeRemoval?(change: PendingChange<Type>, plan: Plan): void;
  /** Whether the condition is met once which fields of the row cannot change (`x-immutable` in the contract). */
  isFixed?(row: Row<Type>, plan: Plan): boolean;
  /** Changes rows of other entities, after every write. */
  afterWrite?(change: PendingChange<Type>, plan: Plan): void;
  /** By state, what happens when a row gets into it by a caller, or by the service outside of another command. */
  readonly commands?: Readonly<Record<string, Command<[change: PendingChange<Type>]>>>;
  /** Whether an import can set an instant that the row does not have: its state does not tell whether it happened. */
  isInstantPossible?(row: Row<Type>, name: string): boolean;
  /** Whether changes of the row are sent as events, depending on its new state. Without this function, all are. */
  isAnnounced?(row: StoredRow<Type>): boolean;
  /** The conditions that the entity's state machine names in the contract. Each throws a `Rejection` if it is not met. */
  readonly conditions?: Readonly<Record<string, (change: PendingChange<Type>, plan: Plan) => void>>;
  /** Constraints whose names do not explain a rejection. */
  readonly constraints?: Readonly<Record<string, ConstraintMeaning>>;
}

/** Reads the attributes that a caller sends for a row: validates them, and converts references to IDs. */
export type ReadAttributes = (plan: Plan, attributes: AnyInput, previous: AnyRow | undefined) => AnyInput;

/** A command of any entity. */
interface AnyCommand {
  readonly event?: string;
  run(plan: Plan, change: AnyPendingChange): unknown;
}

/** A condition of the state machine of any entity. */
interface AnyCondition {
  check(change: AnyPendingChange, plan: Plan): void;
}

/** The rules of any entity. */
export interface AnyRules {
  /** Replaces the usual way to read attributes, for types that tenants define. */
  readonly read?: ReadAttributes;
  complete?(change: AnyPendingChange, plan: Plan): void;
  beforeRemoval?(change: AnyPendingChange, plan: Plan): void;
  afterWrite?(change: AnyPendingChange, plan: Plan): void;
  isFixed?(row: AnyRow, plan: Plan): boolean;
  isInstantPossible?(row: AnyRow, name: string): boolean;
  isAnnounced?(row: AnyStoredRow): boolean;
  readonly commands?: Readonly<Record<string, AnyCommand['run'] & Pick<AnyCommand, 'event'>>>;
  readonly conditions?: Readonly<Record<string, AnyCondition['check']>>;
  readonly constraints?: Readonly<Record<string, ConstraintMeaning>>;
}

const rules = new WeakMap<AnyEntity, AnyRules>();

/** Sets the rules of an entity that is being defined. They refer to plans, and plans to entities. */
export function setRules(entity: AnyEntity, its: AnyRules): void {
  rules.set(entity, its);
}

/** Adds the rules of a later module to an entity that it imports: its checks of a row come first, its side effects last. */
export function addRules<Type extends EntityType>(entity: Entity<Type>, more: Omit<Rules<Type>, 'isAnnounced'>): void {
  const [own, added]: [AnyRules, AnyRules] = [rulesOf(entity), more];
  setRules(entity, {
    ...own,
    ...added,
    complete: oneAfterTheOther(added.complete, own.complete),
    beforeRemoval: oneAfterTheOther(own.beforeRemoval, added.beforeRemoval),
    afterWrite: oneAfterTheOther(own.afterWrite, added.afterWrite),
    commands: { ...own.commands, ...added.commands },
    conditions: { ...own.conditions, ...added.conditions },
    constraints: { ...own.constraints, ...added.constraints },
  });
}

type Step = (change: AnyPendingChange, plan: Plan) => void;

function oneAfterTheOther(...steps: readonly (Step | undefined)[]): Step {
  return (change, plan) => {
    for (const step of steps) step?.(change, plan);
  };
}

export function rulesOf(entity: AnyEntity): AnyRules {
  return rules.get(entity) ?? {};
}
