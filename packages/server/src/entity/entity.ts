import { type RawBuilder, sql } from 'kysely';
import { columnOf, type Field, fieldsOf, holdsField, membersOf } from '../contract/fields.ts';
import { type Embed, embedded, jsonObject, type Owned, ownedRows } from './embed.ts';
import type { Plan } from './plan.ts';
import { entityNamed, register } from './registry.ts';
import type { AnyInput, AnyRow, EntityType, StoredRow } from './row.ts';
import type { AnyRules, Rules } from './rules.ts';
import { type Machine, machineOf } from './state-machine.ts';

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
}

/** The one row that the field `by` of this entity refers to. */
export function one(type: EntityType, by: string): Relation {
  return { to: () => entityNamed(type), by, many: false, activeOnly: false };
}

/** The rows whose field `by` refers to this one. */
export function many<Type extends EntityType>(
  type: Type,
  by: keyof StoredRow<Type> & string,
  { activeOnly = false }: { readonly activeOnly?: boolean } = {},
): Relation {
  return { to: () => entityNamed(type), by, many: true, activeOnly };
}

/**
 * The rows of a table that belongs to entities but is not one, such as the allocations of a payment.
 *
 * @param by the field that refers to this entity.
 * @param only restricts the related rows.
 */
export function manyIn(table: string, by: string, only?: (row: string) => RawBuilder<boolean>): Relation {
  const rows: Searchable = {
    table,
    relations: {},
    relatedField: () => undefined,
    within(row, tenantId) {
      const ofTenant = sql<boolean>`${sql.ref(`${row}.tenant_id`)} = ${tenantId}`;
      return only === undefined ? ofTenant : sql<boolean>`${ofTenant} and ${only(row)}`;
    },
    value: (row, field) => sql.ref(`${row}.${columnOf(field)}`),
  };
  return { to: () => rows, by, many: true, activeOnly: false };
}

/** A field of a related row. Searches filter by it as if it were a field of this row. */
export interface RelatedField {
  readonly relation: Relation;
  readonly field: string;
}

/** The field of the row that the field `by` of this entity refers to. */
export function fieldOfOne<Type extends EntityType>(
  type: Type,
  by: string,
  field: keyof StoredRow<Type> & string,
): RelatedField {
  return { relation: one(type, by), field };
}

/** A value that is calculated in reads: an SQL expression over the row with the alias. */
export type Computed = (row: string) => RawBuilder<unknown>;

/** Reads the attributes that a caller sends for a row: validates them, and converts references to IDs. */
export type ReadAttributes = (plan: Plan, attributes: AnyInput, previous: AnyRow | undefined) => AnyInput;

type PerField<Type extends EntityType, Value> = { readonly [Name in keyof StoredRow<Type>]?: Value };

export interface EntityDefinition<Type extends EntityType> {
  readonly table: string;
  readonly computed?: PerField<Type, Computed>;
  /** Other tables that the database aggregates in rows of this one: a change there is a new version here. */
  readonly sumsUp?: readonly string[];
  readonly embeds?: PerField<Type, Embed>;
  readonly owned?: PerField<Type, Owned>;
  /** Objects stored with a column for each member, such as an address. */
  readonly spread?: readonly (keyof StoredRow<Type> & string)[];
  /** Fields that searches can filter by but responses do not include. */
  readonly searched?: Readonly<Record<string, RelatedField>>;
  readonly relations?: Readonly<Record<string, Relation>>;
  readonly rules?: Rules<Type>;
  /** False if rows are read-only, such as projects, which are another view of jobs. */
  readonly writable?: boolean;
}

/** A record type defined by a tenant: its rows share a table and a schema with those of other types. */
interface CustomDefinition {
  readonly name: string;
  /** Restricts the rows of the table to this type. */
  readonly only: (row: string) => RawBuilder<boolean>;
  readonly read?: ReadAttributes;
}

/**
 * An entity without its type: where it is stored and which rules apply to its rows. All reads and writes are derived from
 * this.
 */
export interface AnyEntity {
  /** The name of the type in records, events and references. */
  readonly type: string;
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
  readonly rules: AnyRules;
  readonly read: ReadAttributes | undefined;
  readonly writable: boolean;
  /** Whether a tenant defined the type. */
  readonly isCustom: boolean;
  /** Whether rows have fields that some readers must not see. */
  readonly isRestricted: boolean;
  /** SQL condition that a row of the table belongs to this entity and the tenant. */
  within(row: string, tenantId: number): RawBuilder<boolean>;
  /** Fields whose values are unique within a tenant. */
  readonly uniqueFields: readonly Field[];
  /** Other tables that the database aggregates in these rows. */
  readonly sumsUp: readonly string[];
  /** What responses include besides the row's own columns: nothing, declared embeds, or any calculated values. */
  readonly showsBesides: 'nothing' | 'embeds' | 'anything';
  /** Whether a field has a column of its own. */
  isStored(field: Field): boolean;
  /** SQL of a field of the row with the alias. */
  value(row: string, field: string): RawBuilder<unknown>;
}

/** A target of searches: rows of an entity, or of a table that belongs to entities. */
export type Searchable = Pick<AnyEntity, 'table' | 'relations' | 'relatedField' | 'within' | 'value'>;

export interface Entity<Type extends EntityType> extends AnyEntity {
  /** The contract's schema of its rows. */
  readonly schema: Type;
}

/** Defines an entity of the contract, and registers it so that other entities can refer to it by its type. */
export function defineEntity<Type extends EntityType>(type: Type, definition: EntityDefinition<Type>): Entity<Type> {
  const entity = createEntity(type, definition);
  register(entity);
  return entity;
}

/** Creates an entity that other entities cannot refer to by type: a record type defined by a tenant. */
export function createEntity<Type extends EntityType>(
  schema: Type,
  definition: EntityDefinition<Type>,
  custom?: CustomDefinition,
): Entity<Type> {
  const type = custom?.name ?? schema;
  const all = fieldsOf(schema);
  const fields = new Map(all.map((field) => [field.name, field]));
  const shown = all.filter((field) => !field.writeOnly);
  const find = (name: string): Field => {
    const field = fields.get(name);
    if (field === undefined) throw new Error(`The contract declares no field ${name} for ${type}.`);
    return field;
  };
  const { table, relations = {}, sumsUp = [], writable = true } = definition;
  const computed = byField<Computed>(definition.computed, find);
  const embeds = byField<Embed>(definition.embeds, find);
  const owned = byField<Owned>(definition.owned, find);
  const spread = new Set((definition.spread ?? []).map(find));
  const related = new Map(Object.entries(definition.searched ?? {}));
  for (const [{ name }, { shape, to, by, field }] of embeds) {
    if (shape === 'value' && field !== undefined) {
      related.set(name, { relation: { to, by, many: false, activeOnly: false }, field });
    }
  }
  const rules: AnyRules = definition.rules ?? {};
  const notStored = new Set([...computed.keys(), ...embeds.keys(), ...owned.keys(), ...spread]);
  const isStored = (field: Field) => !field.writeOnly && !notStored.has(field);
  const ownFields = shown.filter((field) => isStored(field) || spread.has(field));
  return {
    schema,
    type,
    key: custom === undefined ? type : `${table}/${type}`,
    table,
    shown,
    ownFields,
    keptFields: shown.filter((field) => ownFields.includes(field) || owned.has(field)),
    fields,
    relations,
    relatedField: (name) => related.get(name),
    embeds,
    owned,
    spread,
    machine: machineOf(type, shown),
    rules,
    read: custom?.read,
    writable,
    isCustom: custom !== undefined,
    isRestricted: shown.some((field) => holdsField(field, ({ readRoles }) => readRoles.length > 0)),
    within(row, tenantId) {
      const ofTenant = sql<boolean>`${sql.ref(`${row}.tenant_id`)} = ${tenantId}`;
      return custom === undefined ? ofTenant : sql<boolean>`${ofTenant} and ${custom.only(row)}`;
    },
    sumsUp,
    uniqueFields: shown.filter((field) => field.unique && isStored(field)),
    showsBesides: computed.size + owned.size > 0 ? 'anything' : embeds.size > 0 ? 'embeds' : 'nothing',
    isStored,
    value(row, name) {
      const field = find(name);
      const compute = computed.get(field);
      if (compute !== undefined) return compute(row);
      const embed = embeds.get(field);
      if (embed !== undefined) return embedded(embed, field, row);
      const rows = owned.get(field);
      if (rows !== undefined) return ownedRows(rows, field, row);
      if (spread.has(field)) return jsonObject(membersOf(field).map((one) => [one, sql.ref(`${row}.${one.column}`)]));
      return sql.ref(`${row}.${field.column}`);
    },
  };
}

function byField<Value>(
  named: Readonly<Record<string, Value | undefined>> | undefined,
  find: (name: string) => Field,
): ReadonlyMap<Field, Value> {
  const found = new Map<Field, Value>();
  for (const [name, value] of Object.entries(named ?? {})) if (value !== undefined) found.set(find(name), value);
  return found;
}
