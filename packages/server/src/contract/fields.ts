import { type Schema, schemaOf } from './contract.ts';

export type FieldKind = 'uuid' | 'text' | 'decimal' | 'integer' | 'boolean' | 'date' | 'instant' | 'list' | 'object';

/** A property of an entity, with everything that the contract says of it gathered from references and `allOf`. */
export interface Field {
  readonly name: string;
  /** The column that holds it, where it is stored. */
  readonly column: string;
  readonly kind: FieldKind;
  readonly nullable: boolean;
  /** Computed by the service: refused in a write. */
  readonly readOnly: boolean;
  /** Taken in a write, never answered. */
  readonly writeOnly: boolean;
  readonly unique: boolean;
  /** The type that the id, or each id of the list, refers to. */
  readonly references: string | undefined;
  /** Whether a new row needs it from the caller. */
  readonly requiredOnCreate: boolean;
  /** What a new row gets where the caller gives nothing, if the contract names a value. */
  readonly initial: unknown;
  readonly schema: Schema;
}

const cache = new Map<string, readonly Field[]>();

/** The properties of an entity type of the contract, in the order in which they stand there. */
export function fieldsOf(type: string): readonly Field[] {
  let fields = cache.get(type);
  if (fields === undefined) {
    fields = Object.entries(propertiesOf(schemaOf(type))).map(([name, schema]) => fieldOf(name, schema));
    cache.set(type, fields);
  }
  return fields;
}

/** The properties of a schema and of all that it is made of by `$ref` and `allOf`. */
export function propertiesOf(schema: Schema): Readonly<Record<string, Schema>> {
  const own = schema.$ref === undefined ? {} : propertiesOf(schemaOf(schema.$ref));
  const parts = (schema.allOf ?? []).map(propertiesOf);
  return Object.assign({}, own, ...parts, schema.properties);
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

/** A property with all that its references say of it. */
export function fieldOf(name: string, given: Schema): Field {
  const outer = resolved(given);
  const branches = (outer.anyOf ?? []).map(resolved);
  const main = branches.find((branch) => branch.type !== 'null');
  const schema = main === undefined ? outer : { ...main, ...outer };
  const types = [schema.type ?? []].flat();
  const nullable = types.includes('null') || branches.some((branch) => branch.type === 'null');
  const readOnly = schema.readOnly ?? false;
  const onCreate = schema['x-on-create'];
  return {
    name,
    column: columnOf(name),
    kind: kindOf(schema, types),
    nullable,
    readOnly,
    writeOnly: schema.writeOnly ?? false,
    unique: schema['x-unique'] ?? false,
    references: schema['x-references'],
    requiredOnCreate: !nullable && !readOnly && onCreate === undefined,
    initial: onCreate?.value,
    schema,
  };
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
