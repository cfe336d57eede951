import type { components, SchemasOfTypes } from '@financial-automation/spec';
import type { Decimal } from '../platform/decimal.ts';

type Schemas = components['schemas'] & SchemasOfTypes;

/** The fields that every entity has. */
interface BaseFields {
  id: string;
  systemRef: string;
  sysRefs: unknown[];
  active: boolean;
  createdAt: string;
  updatedAt: string;
  version: number;
}

/** The names of the contract's entities: the schemas that have the base fields. */
export type EntityType = { [Type in keyof Schemas]: Schemas[Type] extends BaseFields ? Type : never }[keyof Schemas];

/** A row as the database and the API return it: JSON of the contract, decimals as text. */
export type StoredRow<Type extends EntityType> = Schemas[Type];

/** A row as rules and commands see it: the same fields, with money, hours, rates and percentages as `Decimal`. */
export type Row<Type extends EntityType> = WithDecimals<StoredRow<Type>>;

/** Fields of a row as provided by a caller or a rule. Decimals may be text; undefined values are omitted. */
export type RowInput<Type extends EntityType> = {
  readonly [Name in keyof StoredRow<Type>]?: InputValue<StoredRow<Type>[Name]> | undefined;
} & { readonly [Name in WriteOnlyNames<Type>]?: WriteOnlyFields<Type>[Name] | undefined };

/** Replaces every decimal string by `Decimal`, at any depth. */
export type WithDecimals<Value> = Value extends string
  ? '_format' extends keyof Value
    ? Decimal
    : Value
  : Value extends readonly (infer Element)[]
    ? readonly WithDecimals<Element>[]
    : Value extends object
      ? { readonly [Name in keyof Value]: WithDecimals<Value[Name]> }
      : Value;

/** A row with writable fields. */
export type Mutable<Value> = { -readonly [Name in keyof Value]: Value[Name] };

type InputValue<Value> = Value extends string
  ? '_format' extends keyof Value
    ? Decimal | string
    : Value
  : Value extends readonly (infer Element)[]
    ? readonly InputValue<Element>[]
    : Value extends object
      ? { readonly [Name in keyof Value]?: InputValue<Value[Name]> | undefined }
      : Value;

/** Provided fields as rules see them: references as IDs, decimals as `Decimal`. Members of objects may be missing. */
export type ProvidedFields<Type extends EntityType> = {
  readonly [Name in keyof Row<Type>]?: PartialMembers<Row<Type>[Name]> | undefined;
} & { readonly [Name in WriteOnlyNames<Type>]?: WriteOnlyFields<Type>[Name] | undefined };

type PartialMembers<Value> = Value extends Decimal | string | readonly unknown[]
  ? Value
  : Value extends object
    ? { readonly [Name in keyof Value]?: Value[Name] | undefined }
    : Value;

/** Fields that callers can write but responses do not include, such as a client's full tax ID. */
type WriteOnlyFields<Type extends EntityType> = `${Type}Fields` extends keyof Schemas
  ? Schemas[`${Type}Fields`]
  : Record<never, never>;
type WriteOnlyNames<Type extends EntityType> = Exclude<keyof WriteOnlyFields<Type>, keyof StoredRow<Type>>;

/** The fields of every row; for code that works on all entities. */
export interface AnyStoredRow {
  readonly id: string;
  readonly systemRef: string;
  readonly active: boolean;
  readonly updatedAt: string;
  readonly version: number;
  readonly [name: string]: unknown;
}

/** The same for rules, which may change it. */
export interface AnyRow {
  id: string;
  systemRef: string;
  active: boolean;
  version: number;
  [name: string]: unknown;
}

export type AnyInput = Readonly<Record<string, unknown>>;
