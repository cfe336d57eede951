import { contract, type Schema } from '../../contract/contract.ts';
import { fieldsOf } from '../../contract/fields.ts';
import { entityOf } from '../../entity/entity.ts';
import { definitionsOf } from './field-definitions.ts';
import { baseFields, type RecordType } from './record-type.ts';

/** Whether the contract has a record type of this name, available or not. */
export function isStandardType(name: string): boolean {
  return contract.components.schemas[name]?.['x-record'] !== undefined;
}

let available: ReadonlyMap<string, RecordType> | undefined;

/** The record types of the contract whose entity has a writer, by name. */
export function standardTypes(): ReadonlyMap<string, RecordType> {
  available ??= new Map(
    Object.entries(contract.components.schemas)
      .map(([name, schema]) => standardType(name, schema))
      .filter((type) => type !== undefined)
      .map((type) => [type.name, type]),
  );
  return available;
}

function standardType(name: string, schema: Schema): RecordType | undefined {
  const record = schema['x-record'];
  const entity = entityOf(name);
  if (record === undefined || entity === undefined || !entity.writable) return undefined;
  const fields = fieldsOf(name).filter((field) => !baseFields.has(field.name));
  return {
    name,
    displayName: inWords(name),
    description: schema.description?.trim() ?? null,
    isCustom: false,
    active: true,
    operations: record.operations,
    readRoles: record.readRoles,
    writeRoles: record.writeRoles,
    recordsUrl: record.recordsUrl,
    entity,
    fields: () => definitionsOf(fields),
    attributesOf: (row) => Object.fromEntries(Object.entries(row).filter(([key]) => !baseFields.has(key))),
  };
}

/** `ClientGroup` is called "Client group". */
function inWords(name: string): string {
  return name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
