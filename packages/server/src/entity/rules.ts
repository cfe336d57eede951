import type { Row } from '../query/read.ts';
import type { Attributes } from './attributes.ts';
import type { Entity } from './entity.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import type { ViolationCode } from './violation.ts';

/** A row on its way into the database. */
export interface Draft {
  readonly entity: Entity;
  readonly id: string;
  /** The row as it is stored; undefined for a new one. */
  readonly previous: Row | undefined;
  /** The row as it will be, field by field; rules fill in and correct. */
  readonly values: Record<string, unknown>;
  /** Columns that no answer shows. */
  readonly hidden: Record<string, unknown>;
  /** What the caller gave, references as ids. */
  readonly given: Attributes;
}

/**
 * What holds for an entity, whatever door a change comes through. Each part throws a `Violation` for what it refuses.
 */
export interface Rules {
  /** Completes and checks a row before it is stored. */
  readonly complete?: (unit: UnitOfWork, draft: Draft) => Promise<void> | void;
  /** Rows of other entities whose answers show this one: they change with it. */
  readonly shownIn?: (draft: Draft) => readonly { readonly entity: Entity; readonly id: string }[];
  /** What a violated constraint of the database means to the caller, where its name does not tell. */
  readonly constraints?: Readonly<
    Record<string, { readonly code: ViolationCode; readonly field: string; readonly detail: string }>
  >;
  /** Refuses to deactivate a row that others still need, or sets what goes with it. */
  readonly beforeRemoval?: (unit: UnitOfWork, draft: Draft, row: Row) => Promise<void> | void;
  /** What a stored change means for other entities; it goes through their writers. `row.active` is the new state. */
  readonly follow?: (unit: UnitOfWork, draft: Draft, active: boolean) => Promise<void>;
}
