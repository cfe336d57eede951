import { type RawBuilder, sql } from 'kysely';
import { readRolesOf, schemaOf } from '../contract/contract.ts';
import { columnOf, type Field, fieldsOf, holdsField, membersOf } from '../contract/fields.ts';
import { embedded, jsonObject, ownedRows } from './embed.ts';
import type {
  AnyEntity,
  Balances,
  Embed,
  Entity,
  Owned,
  RelatedField,
  Relation,
  Searchable,
  SumTable,
} from './model.ts';
import { allEntities, anyEntityNamed, register } from './registry.ts';
import type { EntityType, StoredRow } from './row.ts';
import { type ReadAttributes, type Rules, setRules } from './rules.ts';
import { machineOf } from './state-machine.ts';

export type { AnyEntity, Entity, RelatedField, Relation, Searchable } from './model.ts';

/** The one row that the field `by` of this entity refers to. */
export function one(type: EntityType, by: string): Relation {
  return { to: () => anyEntityNamed(type), by, many: false, activeOnly: false };
}

/** The row that a relation of the row in the field `by` leads to. */
export function through(type: EntityType, by: string, onward: string): Relation {
  return { ...one(type, by), onward };
}

/** The rows whose field `by` refers to this one. */
export function many<Type extends EntityType>(
  type: Type,
  by: keyof StoredRow<Type> & string,
  { activeOnly = false }: { readonly activeOnly?: boolean } = {},
): Relation {
  return { to: () => anyEntityNamed(type), by, many: true, activeOnly };
}

/**
 * The rows of a table that belongs to entities but is not one, such as the allocations of a payment.
 *
 * @param by the field that refers to this entity.
 * @param only restricts the related rows.
 * @param computed values of the rows that are not columns.
 */
export function manyIn(
  table: string,
  by: string,
  only?: (row: string) => RawBuilder<boolean>,
  computed: Readonly<Record<string, Computed>> = {},
): Relation {
  const rows: Searchable = {
    table,
    // The contract restricts no column of these rows (`restricted-searches`).
    fields: new Map(),
    readRoles: [],
    relations: {},
    relatedField: () => undefined,
    within(row, tenantId) {
      const ofTenant = sql<boolean>`${sql.ref(`${row}.tenant_id`)} = ${tenantId}`;
      return only === undefined ? ofTenant : sql<boolean>`${ofTenant} and ${only(row)}`;
    },
    value: (row, field) => computed[field]?.(row) ?? sql.ref(`${row}.${columnOf(field)}`),
  };
  return { to: () => rows, by, many: true, activeOnly: false };
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

type PerField<Type extends EntityType, Value> = { readonly [Name in keyof StoredRow<Type>]?: Value };

export interface EntityDefinition<Type extends EntityType> {
  readonly table: string;
  readonly computed?: PerField<Type, Computed>;
  /** By a calculated field, the field whose order is the same and has an index; null if the value is the same in all rows. */
  readonly sortedBy?: PerField<Type, (keyof StoredRow<Type> & string) | null>;
  readonly near?: AnyEntity['near'];
  /** Other tables that the database aggregates in rows of this one: a change there is a new version here. */
  readonly sumsUp?: readonly string[];
  /** Sums of the rows that the database keeps, those with the fewest first. */
  readonly sums?: readonly SumTable[];
  readonly balances?: Balances;
  readonly embeds?: PerField<Type, Embed>;
  readonly owned?: PerField<Type, Owned>;
  /** Objects stored with a column for each member, such as an address. */
  readonly spread?: readonly (keyof StoredRow<Type> & string)[];
  /** Fields that searches can filter by but responses do not include. */
  readonly searched?: Readonly<Record<string, RelatedField>>;
  readonly relations?: Readonly<Record<string, Relation>>;
  readonly rules?: Rules<Type>;
  /** False if callers cannot write rows, such as projects, which are another view of jobs. */
  readonly writable?: boolean;
  /** False if rows are themselves the record of changes, such as entries of the ledger. */
  readonly audited?: boolean;
  /** True if rows are only inserted. */
  readonly appendOnly?: boolean;
  /** True if rows include objects that an earlier release can have stored, and that no migration changes. */
  readonly snapshots?: boolean;
}

/** A record type defined by a tenant: its rows share a table and a schema with those of other types. */
interface CustomDefinition {
  readonly name: string;
  /** Restricts the rows of the table to this type. */
  readonly only: (row: string) => RawBuilder<boolean>;
  readonly read?: ReadAttributes;
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
  const { table, relations = {}, sumsUp = [], writable = true, audited = true } = definition;
  const { appendOnly = false, snapshots = false } = definition;
  const computed = byField<Computed>(definition.computed, find);
  const embeds = byField<Embed>(definition.embeds, find);
  const owned = byField<Owned>(definition.owned, find);
  const spread = new Set((definition.spread ?? []).map(find));
  const sortedBy = new Map(Object.entries(definition.sortedBy ?? {}));
  const related = new Map(Object.entries(definition.searched ?? {}));
  for (const [{ name }, { shape, to, by, field }] of embeds) {
    if (shape === 'value' && field !== undefined) {
      related.set(name, { relation: { to, by, many: false, activeOnly: false }, field });
    }
  }
  const notStored = new Set([...computed.keys(), ...embeds.keys(), ...owned.keys(), ...spread]);
  const isStored = (field: Field) => !field.writeOnly && !notStored.has(field);
  const ownFields = shown.filter((field) => isStored(field) || spread.has(field));
  const entity: Entity<Type> = {
    schema,
    type,
    key: custom === undefined ? type : `${table}/${type}`,
    table,
    shown,
    ownFields,
    keptFields: shown.filter((field) => ownFields.includes(field) || owned.has(field)),
    fields,
    relations: { sysRefs: refsOf(type, table), ...relations },
    relatedField: (name) => related.get(name),
    embeds,
    owned,
    spread,
    machine: machineOf(type, shown),
    writable,
    isCustom: custom !== undefined,
    readRoles: readRolesOf(schema),
    isRestricted: shown.some((field) => holdsField(field, ({ readRoles }) => readRoles.length > 0)),
    rowRoles: schemaOf(schema)['x-row-roles'] ?? {},
    isAudited: audited,
    isAppendOnly: appendOnly,
    hasSnapshots: snapshots,
    within(row, tenantId) {
      const ofTenant = sql<boolean>`${sql.ref(`${row}.tenant_id`)} = ${tenantId}`;
      return custom === undefined ? ofTenant : sql<boolean>`${ofTenant} and ${custom.only(row)}`;
    },
    sumsUp,
    sums: definition.sums ?? [],
    balances: definition.balances,
    uniqueFields: shown.filter((field) => field.unique && isStored(field)),
    showsBesides: computed.size + owned.size > 0 ? 'anything' : embeds.size > 0 ? 'embeds' : 'nothing',
    sortedBy: (name) => (sortedBy.has(name) ? (sortedBy.get(name) ?? undefined) : name),
    near: definition.near,
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
  setRules(entity, { ...definition.rules, ...(custom?.read && { read: custom.read }) });
  return entity;
}

/** The keys of rows in other systems. Types can share a table: projects are jobs. */
function refsOf(type: string, table: string): Relation {
  const types = () =>
    sql.join([...new Set([type, ...[...allEntities()].flatMap((one) => (one.table === table ? [one.type] : []))])]);
  return manyIn('entity_ref', 'entityId', (row) => sql<boolean>`${sql.ref(`${row}.entity_type`)} in (${types()})`);
}

function byField<Value>(
  named: Readonly<Record<string, Value | undefined>> | undefined,
  find: (name: string) => Field,
): ReadonlyMap<Field, Value> {
  const found = new Map<Field, Value>();
  for (const [name, value] of Object.entries(named ?? {})) if (value !== undefined) found.set(find(name), value);
  return found;
}
