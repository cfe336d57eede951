import { isMet } from '@financial-automation/spec/state-machine';
import { contract, type Schema, schemaOf } from './contract.ts';

export type FieldKind = 'uuid' | 'text' | 'decimal' | 'integer' | 'boolean' | 'date' | 'instant' | 'list' | 'object';

/** A property of an entity with its keywords in the contract, references resolved. */
export interface Field {
  readonly name: string;
  /** The column of the field, if it is stored. */
  readonly column: string;
  readonly kind: FieldKind;
  readonly nullable: boolean;
  /** Set by the service: rejected in a write. */
  readonly readOnly: boolean;
  /** Accepted in a write, never returned. */
  readonly writeOnly: boolean;
  readonly unique: boolean;
  /** The type that the ID, or each ID of the list, refers to. */
  readonly references: string | undefined;
  /** Whether callers must provide it for a new row. */
  readonly requiredOnCreate: boolean;
  /** The default in a new row, if the contract declares one. */
  readonly initial: unknown;
  /** Number of decimal places, if it is fixed, as for money; otherwise undefined. */
  readonly places: number | undefined;
  /** Roles that can read the value. Empty if everyone who reads the row can. */
  readonly readRoles: readonly string[];
  /** Roles that can write the value, in addition to those of the operation. Empty if no further role is required. */
  readonly writeRoles: readonly string[];
  /** By another field, the values with which this one can have a value; otherwise it is null. */
  readonly onlyFor: Readonly<Record<string, readonly string[]>>;
  /** Whether callers cannot change the value after creation. */
  readonly immutable: Schema['x-immutable'];
  /** The schema of the value in responses; of a field that is never returned, in requests. */
  readonly schema: Schema;
  /** The schema of the value in requests; undefined for a field that only the service sets. */
  readonly written: Schema | undefined;
}

const cache = new Map<string, readonly Field[]>();

/**
 * Returns the properties of an entity type of the contract, in its order. Callers write the properties of `XFields` for a
 * type `X`.
 */
export function fieldsOf(type: string): readonly Field[] {
  return cache.getOrInsertComputed(type, () =>
    fieldsBetween(schemaOf(type), contract.components.schemas[`${type}Fields`]),
  );
}

const members = new WeakMap<Field, readonly Field[]>();

/** Returns the properties of an object, or of the objects in a list; empty for other values. */
export function membersOf(field: Field): readonly Field[] {
  if (field.kind !== 'object' && field.kind !== 'list') return [];
  return members.getOrInsertComputed(field, ({ kind, schema, written }) =>
    kind === 'list' ? fieldsBetween(schema.items ?? {}, written?.items) : fieldsBetween(schema, written),
  );
}

/** Whether a field, or a member of it at any depth, meets a condition. */
export function holdsField(field: Field, condition: (field: Field) => boolean, seen = new Set<Field>()): boolean {
  if (condition(field)) return true;
  // Schemas can be recursive.
  if (seen.has(field)) return false;
  seen.add(field);
  return membersOf(field).some((member) => holdsField(member, condition, seen));
}

/** Returns the properties of a value that is read with one schema and written with another. */
export function fieldsBetween(read: Schema, write: Schema | undefined): readonly Field[] {
  // What a caller chooses to read beside the row is no part of it.
  const readable = Object.fromEntries(Object.entries(propertiesOf(read)).filter(([, field]) => !field['x-chosen']));
  const writable = write === undefined ? {} : propertiesOf(write);
  const names = Object.keys(readable);
  const written = Object.keys(writable);
  for (const [index, name] of written.entries()) {
    // A field that is never returned is placed next to its neighbors in the schema for requests.
    if (readable[name] === undefined) names.splice(names.indexOf(written[index - 1] ?? '') + 1, 0, name);
  }
  return names.map((name) => fieldOf(name, readable[name], writable[name]));
}

/** Whether a row keeps the value of a field as it is, as far as the values of the row tell. */
export function isFixedIn(row: Readonly<Record<string, unknown>>, immutable: Schema['x-immutable']): boolean {
  if (typeof immutable !== 'object') return immutable === true;
  return 'unless' in immutable && !isMet({ is: immutable.unless }, row);
}

/** Returns the properties of a schema, with its reference resolved. */
export function propertiesOf(schema: Schema): Readonly<Record<string, Schema>> {
  return resolved(schema).properties ?? {};
}

/** Returns the column of a field: `clientRef` is stored in `client_ref`. */
export function columnOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Resolves the reference of a schema; keywords next to the reference take precedence. */
export function resolved(schema: Schema): Schema {
  const { $ref, ...beside } = schema;
  return $ref === undefined ? schema : { ...resolved(schemaOf($ref)), ...beside };
}

/** Returns a property with the keywords of its references, from the schemas for responses and requests. */
export function fieldOf(name: string, read: Schema | undefined, write: Schema | undefined): Field {
  const schema = withoutNull(read ?? write ?? {});
  const nullable = isOf(read ?? write ?? {}, 'null');
  const written = write === undefined ? undefined : withoutNull(write);
  const onCreate = (written ?? schema)['x-on-create'];
  const readOnly = written === undefined;
  return {
    name,
    column: columnOf(name),
    kind: kindOf(schema),
    nullable,
    readOnly,
    writeOnly: read === undefined,
    unique: schema['x-unique'] ?? false,
    references: schema['x-references'],
    requiredOnCreate: !nullable && !readOnly && onCreate === undefined,
    initial: onCreate?.value,
    places: fixedPlaces(schema),
    readRoles: schema['x-read-roles'] ?? [],
    writeRoles: (written ?? schema)['x-write-roles'] ?? [],
    onlyFor: schema['x-only-for'] ?? {},
    immutable: written?.['x-immutable'],
    schema,
    written,
  };
}

/** A pattern that does not match "0" requires all decimal places. */
function fixedPlaces({ 'x-scale': scale, pattern }: Schema): number | undefined {
  return scale === undefined || pattern === undefined || new RegExp(pattern).test('0') ? undefined : scale;
}

/** Resolves the reference of a schema; of alternatives, uses the first one that is not null. */
function withoutNull(schema: Schema): Schema {
  const { anyOf, oneOf, ...outer } = resolved(schema);
  const main = (anyOf ?? oneOf ?? []).map(resolved).find(({ type }) => type !== 'null');
  return { ...main, ...outer };
}

/** Whether a value can be of one of these types of JSON, also by an alternative. */
export function isOf(schema: Schema, ...types: readonly string[]): boolean {
  const whole = resolved(schema);
  return [whole, ...(whole.anyOf ?? []).map(resolved)].some(({ type = [] }) =>
    [type].flat().some((one) => types.includes(one)),
  );
}

function kindOf(schema: Schema): FieldKind {
  if (isOf(schema, 'array')) return 'list';
  if (isOf(schema, 'integer')) return 'integer';
  if (isOf(schema, 'boolean')) return 'boolean';
  if (isOf(schema, 'string')) {
    if (schema.format === 'uuid') return 'uuid';
    if (schema.format === 'decimal') return 'decimal';
    if (schema.format === 'date') return 'date';
    if (schema.format === 'date-time') return 'instant';
    return 'text';
  }
  return 'object';
}
