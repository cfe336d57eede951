import { type RawBuilder, sql } from 'kysely';
import { type Field, fieldsOf } from '../contract/fields.ts';
import type { Row } from '../query/read.ts';
import type { Attributes } from './attributes.ts';
import type { Rules } from './rules.ts';
import type { UnitOfWork } from './unit-of-work.ts';

/** How the rows of another entity hang on a row. The other one is named late, because entities refer to each other. */
export type Relation =
  | { readonly to: () => Entity; readonly by: string; readonly many: false }
  | { readonly to: () => Entity; readonly by: string; readonly many: true };

/** The one row that the field `by` of this entity names. */
export function one(to: () => Entity, by: string): Relation {
  return { to, by, many: false };
}

/** The rows whose field `by` names this one. */
export function many(to: () => Entity, by: string): Relation {
  return { to, by, many: true };
}

/** A value that is not stored with the row: SQL over the row, which goes by the given alias. */
export type Computed = (row: string) => RawBuilder<unknown>;

/**
 * Turns what a caller writes on a row into values of its fields, checked and with references as ids. `previous` is the row
 * as it is stored; undefined for a new one.
 */
export type ReadAttributes = (
  unit: UnitOfWork,
  attributes: Attributes,
  previous: Row | undefined,
) => Promise<Record<string, unknown>>;

export interface EntityDefinition {
  /** The name of the type in the contract; its fields are read there. */
  readonly type: string;
  readonly table: string;
  /** The schema of the contract that its fields are read from, where the contract does not know the type by name. */
  readonly schema?: string;
  /** Which rows of the table are of this type, where several types share the table. */
  readonly only?: (row: string) => RawBuilder<boolean>;
  /** How attributes are read, where the contract does not say what a caller may write. */
  readonly read?: ReadAttributes;
  /** False while other entities only refer to it and its writer is still to come. */
  readonly writable?: boolean;
  readonly computed?: Readonly<Record<string, Computed>>;
  /** What searches filter by and no answer shows. */
  readonly searched?: Readonly<Record<string, Computed>>;
  readonly relations?: Readonly<Record<string, Relation>>;
  readonly rules?: Rules;
}

/** An entity: where it is stored, what hangs on it, and what holds for it. All reading and writing follows from this. */
export interface Entity {
  readonly type: string;
  readonly table: string;
  /** What an answer shows. */
  readonly shown: readonly Field[];
  readonly fields: ReadonlyMap<string, Field>;
  readonly relations: Readonly<Record<string, Relation>>;
  readonly rules: Rules;
  readonly read: ReadAttributes | undefined;
  /** Whether rows can be made and changed through `write.ts`. */
  readonly writable: boolean;
  /** The condition that the row of the table is one of this entity's, of the tenant. */
  within(row: string, tenantId: number): RawBuilder<boolean>;
  /** Whether a field has a column of its own. */
  isStored(field: Field): boolean;
  /** SQL of a field of the row that goes by the alias. */
  value(row: string, field: string): RawBuilder<unknown>;
}

const registry = new Map<string, Entity>();

/** An entity of the contract. From now on others can refer to it by its type. */
export function defineEntity(definition: EntityDefinition): Entity {
  const entity = makeEntity(definition);
  registry.set(entity.type, entity);
  return entity;
}

/** An entity that nobody finds by its type: a type that one tenant has defined. */
export function makeEntity(definition: EntityDefinition): Entity {
  const all = fieldsOf(definition.schema ?? definition.type);
  const fields = new Map(all.map((field) => [field.name, field]));
  const { computed = {}, searched = {}, relations = {}, rules = {}, only } = definition;
  for (const name of Object.keys(computed)) {
    if (!fields.has(name)) throw new Error(`${definition.type} has no field ${name} in the contract.`);
  }
  return {
    type: definition.type,
    table: definition.table,
    shown: all.filter((field) => !field.writeOnly),
    fields,
    relations,
    rules,
    read: definition.read,
    writable: definition.writable ?? true,
    within(row, tenantId) {
      const ofTenant = sql<boolean>`${sql.ref(`${row}.tenant_id`)} = ${tenantId}`;
      return only === undefined ? ofTenant : sql<boolean>`${ofTenant} and ${only(row)}`;
    },
    isStored: (field) => !field.writeOnly && computed[field.name] === undefined,
    value(row, name) {
      const compute = computed[name] ?? searched[name];
      if (compute !== undefined) return compute(row);
      const field = fields.get(name);
      if (field === undefined) throw new Error(`${definition.type} has no field ${name} in the contract.`);
      return sql.ref(`${row}.${field.column}`);
    },
  };
}

/** The entity of a type of the contract, or undefined where it has no table (yet). */
export function entityOf(type: string): Entity | undefined {
  return registry.get(type);
}

export function allEntities(): Iterable<Entity> {
  return registry.values();
}
