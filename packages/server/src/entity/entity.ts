import { type RawBuilder, sql } from 'kysely';
import { type Field, fieldsOf } from '../contract/fields.ts';
import type { Rules } from './rules.ts';

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

export interface EntityDefinition {
  /** The name of the type in the contract; its fields are read there. */
  readonly type: string;
  readonly table: string;
  readonly computed?: Readonly<Record<string, Computed>>;
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
  /** Whether a field has a column of its own. */
  isStored(field: Field): boolean;
  /** SQL of a field of the row that goes by the alias. */
  value(row: string, field: string): RawBuilder<unknown>;
}

const registry = new Map<string, Entity>();

export function defineEntity(definition: EntityDefinition): Entity {
  const all = fieldsOf(definition.type);
  const fields = new Map(all.map((field) => [field.name, field]));
  const { computed = {}, relations = {}, rules = {} } = definition;
  for (const name of Object.keys(computed)) {
    if (!fields.has(name)) throw new Error(`${definition.type} has no field ${name} in the contract.`);
  }
  const entity: Entity = {
    type: definition.type,
    table: definition.table,
    shown: all.filter((field) => !field.writeOnly),
    fields,
    relations,
    rules,
    isStored: (field) => !field.writeOnly && computed[field.name] === undefined,
    value(row, name) {
      const compute = computed[name];
      if (compute !== undefined) return compute(row);
      const field = fields.get(name);
      if (field === undefined) throw new Error(`${definition.type} has no field ${name} in the contract.`);
      return sql.ref(`${row}.${field.column}`);
    },
  };
  registry.set(entity.type, entity);
  return entity;
}

/** The entity of a type of the contract, or undefined where it has no table (yet). */
export function entityOf(type: string): Entity | undefined {
  return registry.get(type);
}

export function allEntities(): Iterable<Entity> {
  return registry.values();
}
