import type { RawBuilder } from 'kysely';
import type { Field } from '../contract/fields.ts';
import type { EntityType } from './row.ts';
import type { Machine } from './state-machine.ts';

/**
 * An entity without its type: where it is stored, and what its rows have. All reads and writes are derived from this, and from
 * its rules (`rulesOf`).
 */
export interface AnyEntity {
  /** The name of the type in records, events and references. */
  readonly type: string;
  /** The contract's schema of its rows. */
  readonly schema: EntityType;
  /** Identifies the rows: entities with the same key are views of the same rows. */
  readonly key: string;
  readonly table: string;
  /** The fields that responses include. */
  readonly shown: readonly Field[];
  /** The fields stored in the row itself: in a column, or in a column for each member. */
  readonly ownFields: readonly Field[];
  /** The fields that a change of the row can change: its own fields, and owned rows. */
  readonly keptFields: readonly Field[];
  readonly fields: ReadonlyMap<string, Field>;
  readonly relations: Readonly<Record<string, Relation>>;
  /** Returns the field of a related row that searches filter by under this name, if any. */
  relatedField(name: string): RelatedField | undefined;
  readonly embeds: ReadonlyMap<Field, Embed>;
  readonly owned: ReadonlyMap<Field, Owned>;
  readonly spread: ReadonlySet<Field>;
  readonly machine: Machine | undefined;
  readonly writable: boolean;
  /** Whether a tenant defined the type. */
  readonly isCustom: boolean;
  /**
   * The roles of which one is required to read rows. Empty for rows that belong to the row that relates to them; undefined if the
   * contract names none, and then nothing can relate to them.
   */
  readonly readRoles: readonly string[] | undefined;
  /** Whether rows have fields that some readers must not see. */
  readonly isRestricted: boolean;
  /** By a field and its value, the roles of which one is required to see rows with that value. */
  readonly rowRoles: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  /** Whether changes are recorded in the audit log and as events. */
  readonly isAudited: boolean;
  /** Whether rows are only inserted: the database rejects any change but the one of a merge. */
  readonly isAppendOnly: boolean;
  /** Whether rows include objects as an earlier release stored them. They are read by the contract of today. */
  readonly hasSnapshots: boolean;
  /** SQL condition that a row of the table belongs to this entity and the tenant. */
  within(row: string, tenantId: number): RawBuilder<boolean>;
  /** Fields whose values are unique within a tenant. */
  readonly uniqueFields: readonly Field[];
  /** Other tables that the database aggregates in these rows. */
  readonly sumsUp: readonly string[];
  /** Sums of the rows that the database keeps, those with the fewest first. */
  readonly sums: readonly SumTable[];
  readonly balances: Balances | undefined;
  /** What responses include in addition to the row's own columns: nothing, declared embeds, or any calculated values. */
  readonly showsBesides: 'nothing' | 'embeds' | 'anything';
  /** Returns the field that rows are in the order of if they are sorted by this one; undefined if the value is the same in all rows. */
  sortedBy(name: string): string | undefined;
  /** By a field without an index, SQL of a condition that rows with a value meet and an index finds. */
  readonly near?: Readonly<Record<string, Near>> | undefined;
  /** Whether a field has a column of its own. */
  isStored(field: Field): boolean;
  /** SQL of a field of the row with the alias. */
  value(row: string, field: string): RawBuilder<unknown>;
}

type Near = (row: string, tenantId: number, value: string) => RawBuilder<boolean>;

/**
 * A table with sums of rows, and their number (`entries`), of each month or day. Its columns have the names of those of the rows. For a month,
 * the one of the day has its first day.
 */
export interface SumTable {
  readonly table: string;
  readonly per: 'MONTH' | 'DAY';
  /** The fields whose values have sums of their own. */
  readonly by: readonly string[];
  /** Rows without a value in this one of them are not in the sums. They are few, and are read themselves. */
  readonly requires?: string;
  /** The sums are those of the rows with this value in the field, and have no column of it. */
  readonly only?: { readonly field: string; readonly value: string };
  readonly day: string;
  readonly amounts: readonly string[];
  /** The fields whose least and greatest values are those of the rows: sums of days of which no row is ever taken back. */
  readonly extremes?: readonly string[];
  /** The day, and fields that are never after it, of which months have the least or the greatest value. */
  readonly extremeColumns?: Readonly<Record<string, ExtremeColumns>>;
  /** Sums by day, with these fields, from which the days that are no whole months are read. */
  readonly days?: SumTable;
  /** A field by whose values the rows of a few are read sooner from other sums. */
  readonly notBy?: string;
}

/** The columns with the least and the greatest value of a field in a month. So what is older than some days is known without the rows. */
export interface ExtremeColumns {
  readonly MIN: string;
  readonly MAX?: string;
}

/** Functions of the database from which sums as of the end of a day follow. */
export interface Balances {
  readonly day: string;
  readonly amounts: readonly string[];
  /** The field by whose value there is a function. */
  readonly of: string;
  /** A field that has few values, and a table with all of them. */
  readonly few: { readonly field: string; readonly table: string };
  readonly functions: Readonly<Record<string, BalanceFunction>>;
}

/**
 * It takes the tenant and the day, and its rows, which all have that day, add up to the rows until then. They are not those rows: how many there are
 * says nothing, and groups that add up to zero may be missing.
 */
export interface BalanceFunction {
  readonly name: string;
  readonly by: readonly string[];
  /** Fields with an index of the rows by their values, those with fewer rows of a value first. */
  readonly ids: readonly string[];
  /** Whether there are rows without values in these fields. They are few. */
  readonly hasRowsWithoutId?: boolean;
}

/** A target of searches: rows of an entity, or of a table that belongs to entities. */
export type Searchable = Pick<
  AnyEntity,
  'table' | 'fields' | 'readRoles' | 'relations' | 'relatedField' | 'within' | 'value' | 'near'
>;

export interface Entity<Type extends EntityType> extends AnyEntity {
  readonly schema: Type;
}

/**
 * A relation to rows of another entity. Entities can refer to each other in cycles, so the other one is looked up lazily.
 */
export interface Relation {
  readonly to: () => Searchable;
  /** The field that links the two: of the other entity if there are many rows, of this one if there is one. */
  readonly by: string;
  readonly many: boolean;
  /** Only active rows are related. */
  readonly activeOnly: boolean;
  /** A relation of the other entity, if this one leads through it to the rows of a third: the client of the job of an entry. */
  readonly onward?: string;
}

/** A field of a related row. Searches filter by it as if it were a field of this row. */
export interface RelatedField {
  readonly relation: Relation;
  readonly field: string;
  /** The value of a row without a related row, of a flag that is otherwise true there: null if it is omitted. */
  readonly absent?: false;
}

/**
 * Effect of a change of an embedded row on the row that embeds it: `version` changes both, with a new version, ETag and
 * event; `label` is only included in reads and changes neither.
 */
export type OnChange = 'version' | 'label';

/**
 * A field with values of other rows. The contract declares which; each is a field of the other entity or an embed itself.
 */
export interface Embed {
  readonly to: () => AnyEntity;
  /** The field that links the two: of this entity if it embeds one row, of the other one if it embeds many. */
  readonly by: string;
  readonly shape: 'object' | 'list' | 'value' | 'count';
  /** The field of the other entity, for the shape `value`. */
  readonly field?: string;
  /** Only active rows are included or counted. */
  readonly activeOnly: boolean;
  readonly onChange: OnChange;
  readonly embeds: Readonly<Record<string, Embed>>;
}

/** Rows of a separate table that belong to one row and are written with it, in order. */
export interface Owned {
  readonly table: string;
  /** The column that refers to the owner. */
  readonly owner: string;
  /** Members that are lists of references, each stored as a row of a table that belongs to the owned row. */
  readonly links?: Readonly<Record<string, OwnedLink>>;
  /** Members that embed a value of a row that the owned row refers to. */
  readonly embeds?: Readonly<Record<string, Embed>>;
  /** Members that are calculated: SQL expressions over the owned row with the alias. */
  readonly computed?: Readonly<Record<string, (row: string) => RawBuilder<unknown>>>;
}

/**
 * The table of a list of references. Its rows are deleted with the owned row (`on delete cascade`), which has an `id`.
 */
export interface OwnedLink {
  readonly table: string;
  /** The column that refers to the owned row. */
  readonly owner: string;
  /** The column with the reference. */
  readonly column: string;
}
