import { contract, type Schema } from '../../contract/contract.ts';
import { fieldsOf } from '../../contract/fields.ts';
import { entityOf, fromAllEntities } from '../../entity/registry.ts';
import { definitionsOf } from './field-definitions.ts';
import { baseFields, type RecordType } from './record-type.ts';

/** Extensions of the contract that mark the types that an interface writes row by row. */
export type TypeExtension = 'x-record' | 'x-code-type' | 'x-entry-type';

/** URLs of the descriptions of the fields of a type. */
export const schemaUrls: Readonly<Record<TypeExtension, string>> = {
  'x-record': '/api/v1/records/schema/',
  'x-code-type': '/api/v1/codes/schema/',
  'x-entry-type': '/api/v1/entries/schema/',
};

const found = fromAllEntities(() => new Map<TypeExtension, ReadonlyMap<string, RecordType>>());

/** Returns the types of the contract with this extension, by name, without those whose entity is not implemented yet. */
export function typesWith(extension: TypeExtension): ReadonlyMap<string, RecordType> {
  return found().getOrInsertComputed(extension, () => {
    const types = Object.entries(contract.components.schemas)
      .map(([name, schema]) => typeOf(extension, name, schema))
      .filter((type) => type !== undefined);
    return new Map(types.map((type) => [type.name, type]));
  });
}

/** Returns the type of the contract with this extension and name. */
export function typeNamed(extension: TypeExtension, name: string): RecordType {
  const type = typesWith(extension).get(name);
  if (type === undefined) throw new Error(`The contract has no type ${name} with ${extension}.`);
  return type;
}

function typeOf(extension: TypeExtension, name: string, schema: Schema): RecordType | undefined {
  const rows = schema[extension];
  const entity = entityOf(name);
  if (rows === undefined || entity === undefined || !entity.writable) return undefined;
  const fields = fieldsOf(name).filter((field) => !baseFields.has(field.name));
  return {
    name,
    displayName: inWords(name),
    description: schema.description?.trim() ?? null,
    isCustom: false,
    active: true,
    operations: rows.operations,
    readRoles: rows.readRoles,
    writeRoles: rows.writeRoles,
    importsOnly: rows.importsOnly,
    schemaUrl: `${schemaUrls[extension]}${name}`,
    recordsUrl: rows.recordsUrl,
    entity,
    fields: () => definitionsOf(fields),
    attributesOf: (row) => Object.fromEntries(Object.entries(row).filter(([key]) => !baseFields.has(key))),
  };
}

/** Converts a type name to words: `ClientGroup` to "Client group". */
function inWords(name: string): string {
  return name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
