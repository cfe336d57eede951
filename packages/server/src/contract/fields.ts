import { contract, type Schema, schemaOf } from './contract.ts';

export type FieldKind = 'uuid' | 'text' | 'decimal' | 'integer' | 'boolean' | 'date' | 'instant' | 'list' | 'object';

/** A property of an entity, with everything that the contract says of it, its references followed. */
export interface Field {
  readonly name: string;
  /** The column that holds it, where it is stored. */
  readonly column: string;
  readonly kind: FieldKind;
  readonly nullable: boolean;
  /** Set by the service: rejected in a write. */
  readonly readOnly: boolean;
  /** Accepted in a write, never returned. */
  readonly writeOnly: boolean;
  readonly unique: boolean;
  /** The type that the id, or each id of the list, refers to. */
  readonly references: string | undefined;
  /** Whether a new row needs it from the caller. */
  readonly requiredOnCreate: boolean;
  /** The value of a new row where the caller provides none, if the contract names one. */
  readonly initial: unknown;
  /** Decimal places of a decimal that always has the same number of them, such as money; else undefined. */
  readonly places: number | undefined;
  /** Roles of which a caller needs one to see the value. Empty where everybody who reads the row does. */
  readonly readRoles: readonly string[];
  /** Roles of which a caller needs one to write the value, beyond those of the operation. */
  readonly writeRoles: readonly string[];
  /** As the entity is read; of a field that is never returned, as it is written. */
  readonly schema: Schema;
  /** As callers write it; undefined for a field that only the service sets. */
  readonly written: Schema | undefined;
}

const cache = new Map<string, readonly Field[]>();

/** The properties of an entity type of the contract, in its order. What callers may write on a type `X` is `XFields`. */
export function fieldsOf(type: string): readonly Field[] {
  let fields = cache.get(type);
  if (fields === undefined) {
    fields = fieldsBetween(schemaOf(type), contract.components.schemas[`${type}Fields`]);
    cache.set(type, fields);
  }
  return fields;
}

const members = new WeakMap<Field, readonly Field[]>();

/** The properties of an object, or of the objects in a list; none for other values. */
export function membersOf(field: Field): readonly Field[] {
  const { kind, schema, written } = field;
  if (kind !== 'object' && kind !== 'list') return [];
  let found = members.get(field);
  if (found === undefined) {
    found = kind === 'list' ? fieldsBetween(schema.items ?? {}, written?.items) : fieldsBetween(schema, written);
    members.set(field, found);
  }
  return found;
}

/** Whether a field, or a member of it at any depth, fulfils a condition. */
export function holdsField(field: Field, condition: (field: Field) => boolean, seen = new Set<Field>()): boolean {
  if (condition(field)) return true;
  // Schemas can be recursive.
  if (seen.has(field)) return false;
  seen.add(field);
  return membersOf(field).some((member) => holdsField(member, condition, seen));
}

/** The properties of a value that is read by one schema and written by another. */
export function fieldsBetween(read: Schema, write: Schema | undefined): readonly Field[] {
  const readable = propertiesOf(read);
  const writable = write === undefined ? {} : propertiesOf(write);
  const names = Object.keys(readable);
  const written = Object.keys(writable);
  for (const [index, name] of written.entries()) {
    // What is never returned has the place that it has among its neighbors in a write.
    if (readable[name] === undefined) names.splice(names.indexOf(written[index - 1] ?? '') + 1, 0, name);
  }
  return names.map((name) => fieldOf(name, readable[name], writable[name]));
}

/** The properties of a schema, its reference followed. */
export function propertiesOf(schema: Schema): Readonly<Record<string, Schema>> {
  return resolved(schema).properties ?? {};
}

/** `clientRef` is stored in `client_ref`. */
export function columnOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A schema with its reference followed; what stands beside the reference wins. */
export function resolved(schema: Schema): Schema {
  const { $ref, ...beside } = schema;
  return $ref === undefined ? schema : { ...resolved(schemaOf($ref)), ...beside };
}

/** A property with all that its references say of it, as it is read and as it is written. */
export function fieldOf(name: string, read: Schema | undefined, write: Schema | undefined): Field {
  const schema = described(read ?? write ?? {});
  const types = [schema.type ?? []].flat();
  const nullable = types.includes('null') || (schema.anyOf ?? []).some((branch) => resolved(branch).type === 'null');
  const written = write === undefined ? undefined : described(write);
  const onCreate = (written ?? schema)['x-on-create'];
  const readOnly = written === undefined;
  return {
    name,
    column: columnOf(name),
    kind: kindOf(schema, types),
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
    schema,
    written,
  };
}

/** A pattern that "0" does not match asks for all decimal places. */
function fixedPlaces({ 'x-scale': scale, pattern }: Schema): number | undefined {
  return scale === undefined || pattern === undefined || new RegExp(pattern).test('0') ? undefined : scale;
}

/** A schema with its reference followed; of alternatives, with what the one says that is not null. */
function described(given: Schema): Schema {
  const outer = resolved(given);
  const main = (outer.anyOf ?? []).map(resolved).find((branch) => branch.type !== 'null');
  return main === undefined ? outer : { ...main, ...outer };
}

function kindOf(schema: Schema, types: readonly string[]): FieldKind {
  if (types.includes('array')) return 'list';
  if (types.includes('integer')) return 'integer';
  if (types.includes('boolean')) return 'boolean';
  if (types.includes('string')) {
    if (schema.format === 'uuid') return 'uuid';
    if (schema.format === 'decimal') return 'decimal';
    if (schema.format === 'date') return 'date';
    if (schema.format === 'date-time') return 'instant';
    return 'text';
  }
  return 'object';
}
