import type { AnyEntity, Entity } from './entity.ts';
import type { Plan } from './plan.ts';
import type { AnyInput, AnyRow, AnyStoredRow, EntityType, Mutable, ProvidedFields, Row, StoredRow } from './row.ts';
import type { ViolationCode } from './violation.ts';

/** A row that is about to be created or changed. Rules complete and correct `values`. */
export interface PendingChange<Type extends EntityType> {
  readonly entity: Entity<Type>;
  readonly id: string;
  /** The row before the change; undefined for a new one. */
  readonly previous: Row<Type> | undefined;
  /** The row after the change. In a new row, required fields that rules fill in may still be undefined. */
  readonly values: Mutable<Row<Type>>;
  /** Columns that no response shows. */
  readonly privateColumns: Record<string, unknown>;
  /** The fields that were provided, references as ids. */
  readonly input: ProvidedFields<Type>;
  /** Set where the change is one of the row although none of its columns has another value. */
  isTouched: boolean;
}

/** A pending change of any entity, for code that works on all of them. */
export interface AnyPendingChange {
  readonly entity: AnyEntity;
  readonly id: string;
  readonly previous: AnyRow | undefined;
  readonly values: AnyRow;
  readonly privateColumns: Record<string, unknown>;
  readonly input: AnyInput;
  isTouched: boolean;
}

/** What a violated constraint of the database means to the caller. */
export interface ConstraintMeaning {
  readonly code: ViolationCode;
  readonly field: string;
  readonly detail: string;
}

/**
 * The rules of one entity, whichever operation a change comes through. They are synchronous functions of the change and of
 * what the plan reads, and throw a `Violation` for what they reject.
 */
export interface Rules<Type extends EntityType> {
  /** Completes and checks a row before it is stored. */
  complete?(change: PendingChange<Type>, plan: Plan): void;
  /** Rejects the deactivation of a row that others still need, or sets what goes with it. */
  beforeRemoval?(change: PendingChange<Type>, plan: Plan): void;
  /** Side effects on rows of other entities. */
  afterWrite?(change: PendingChange<Type>, plan: Plan): void;
  /** Whether subscribers hear of a change of the row, as it is then. Of every one, where the entity does not say. */
  isAnnounced?(row: StoredRow<Type>): boolean;
  /** The conditions that the entity's state machine names in the contract. Each throws a `Violation` where it does not hold. */
  readonly conditions?: Readonly<Record<string, (change: PendingChange<Type>, plan: Plan) => void>>;
  /** Constraints whose name alone does not explain a violation. */
  readonly constraints?: Readonly<Record<string, ConstraintMeaning>>;
}

export interface AnyRules {
  complete?(change: AnyPendingChange, plan: Plan): void;
  beforeRemoval?(change: AnyPendingChange, plan: Plan): void;
  afterWrite?(change: AnyPendingChange, plan: Plan): void;
  isAnnounced?(row: AnyStoredRow): boolean;
  readonly conditions?: Readonly<Record<string, (change: never, plan: Plan) => void>>;
  readonly constraints?: Readonly<Record<string, ConstraintMeaning>>;
}
