/**
 * Makes a union of what has another form for each type of row. In the sources such a schema says what all types have in common,
 * with `attributes` left open; in the bundle it is one of `ClientUpsert`, `JobUpsert` and so on, discriminated by `type`, so that a
 * misspelt field does not compile. What callers send is validated item by item: first by what all types have in common
 * (`x-items-open`), then as the type requires.
 */
import type { Oas3Decorator } from '@redocly/openapi-core';
import { isObject, isReference, type JsonObject, nameIn, objectOf, reference } from './contract.ts';
import { rowExtensions } from './extension-table.ts';

export const byType: Oas3Decorator = () => ({
  Root: {
    leave(root, { report, location }) {
      const document: unknown = root;
      if (!isObject(document)) return;
      splitByType(document, (message) => report({ message, location: location.child(['components', 'schemas']) }));
    },
  },
});

/** The value of `x-by-type` in a schema. */
interface ByType {
  /** The extensions of the types that there is a member for. */
  readonly types: readonly string[];
  /** Only types that have this operation. */
  readonly operation?: string;
  /** How the names of members end. */
  readonly suffix: string;
  /** Whether `attributes` are as callers write them or as they read them; left out where there are none. */
  readonly attributes?: 'written' | 'read';
  /** Whether a record of a custom type is a member. */
  readonly custom?: true;
  /** Whether the type can be null, in the result of an item that named none. */
  readonly unnamed?: true;
}

/** Adds a schema to the bundle, and refers to it. */
type Add = (name: string, schema: JsonObject) => JsonObject;

const openAttributes = reference('RecordAttributes');

export function splitByType(document: JsonObject, complain: (message: string) => void): void {
  const schemas = objectOf(objectOf(document.components).schemas);
  const add: Add = (name, schema) => {
    if (schemas[name] !== undefined)
      complain(`Rename ${name}: the bundle uses this name for a member of a union by type.`);
    schemas[name] = schema;
    return reference(name);
  };
  const standard = typesWith(schemas, rowExtensions);
  if (standard.length === 0) return;
  for (const type of standard) {
    add(`${type}Attributes`, attributesOf(type, schemas));
    const fields = schemas[`${type}Fields`];
    if (isObject(fields) && isWritten(schemas[type])) schemas[`${type}Fields`] = asAttributes(fields, schemas);
  }
  if (isObject(schemas.CustomTypeName)) schemas.CustomTypeName = { ...schemas.CustomTypeName, not: { enum: standard } };
  for (const [name, schema] of Object.entries(schemas)) {
    const { 'x-by-type': by, 'x-entity': _, ...common } = objectOf(schema);
    if (isByType(by)) schemas[name] = union(name, by, common, schemas, add);
  }
}

function isByType(value: unknown): value is ByType {
  return isObject(value) && Array.isArray(value.types);
}

/** Whether callers write rows of the type as records, codes or entries. */
function isWritten(schema: unknown): boolean {
  const operations = rowExtensions.flatMap((extension) => objectOf(objectOf(schema)[extension]).operations ?? []);
  return operations.includes('UPSERT');
}

function typesWith(schemas: JsonObject, extensions: readonly string[], operation?: string): string[] {
  return Object.keys(schemas).filter((name) =>
    extensions.some((extension) => {
      const { operations } = objectOf(objectOf(schemas[name])[extension]);
      return Array.isArray(operations) && (operation === undefined || operations.includes(operation));
    }),
  );
}

/** The fields of a row that not every row has. */
function attributesOf(type: string, schemas: JsonObject): JsonObject {
  const { properties, required, additionalProperties } = objectOf(schemas[type]);
  // A row of its own may have a field of the name that the record gives its type by.
  const { type: _, attributes: __, ...base } = objectOf(objectOf(schemas.CustomRecordRow).properties);
  const isOwn = (name: unknown) => !(String(name) in base);
  return {
    type: 'object',
    description: `Attributes of a \`${type}\` in responses.`,
    required: [required].flat().filter(isOwn),
    properties: Object.fromEntries(Object.entries(objectOf(properties)).filter(([name]) => isOwn(name))),
    additionalProperties,
  };
}

/** The fields that callers can write, as in `attributes`: references can use a key of the row, and nothing is required. */
function asAttributes(fields: JsonObject, schemas: JsonObject): JsonObject {
  const given = Object.entries(objectOf(fields.properties));
  const properties = given.map(([name, property]) => {
    const { $ref, ...beside } = objectOf(property);
    const isOne = beside['x-references'] !== undefined && $ref !== undefined;
    return [name, isOne ? { anyOf: [{ $ref }, reference('RowReference')], ...beside } : property];
  });
  const needed = given.flatMap(([name, property]) => (isNeededOnCreate(property, schemas) ? [`\`${name}\``] : []));
  const description = `${`${fields.description}`.trim()} A new record requires ${needed.join(', ')}.`;
  return { ...fields, ...(needed.length > 0 && { description }), properties: Object.fromEntries(properties) };
}

/** Whether a new row has no value of the field unless the caller gives one. */
function isNeededOnCreate(property: unknown, schemas: JsonObject): boolean {
  if (objectOf(property)['x-on-create'] !== undefined) return false;
  const target = isReference(property) ? objectOf(schemas[nameIn(property.$ref)]) : objectOf(property);
  const branches = [target, ...(Array.isArray(target.anyOf) ? target.anyOf : [])];
  return !branches.some((branch) => [objectOf(branch).type].flat().includes('null'));
}

function union(name: string, by: ByType, common: JsonObject, schemas: JsonObject, add: Add): JsonObject {
  const types = typesWith(schemas, by.types, by.operation);
  const description = `${common.description}${rolesByType(types, by, schemas)}`;
  const isPerType = by.attributes !== undefined;
  const isImport = (type: string) =>
    by.operation === 'UPSERT' && objectOf(objectOf(schemas[type])['x-record']).importsOnly === true;
  const members = isPerType
    ? types.map((type): [string, JsonObject] => [
        type,
        add(`${type}${by.suffix}`, member(common, by, type, isImport(type))),
      ])
    : [];
  const mapping = Object.fromEntries(members.map(([type, { $ref }]) => [type, $ref]));
  const standard = isPerType
    ? { oneOf: members.map(([, one]) => one), discriminator: { propertyName: 'type', mapping } }
    : withType(common, { type: 'string', enum: types, description: 'Name of the standard record type.' });
  // The result of an item has the type that its caller sent.
  const open = by.operation === undefined ? {} : { 'x-items-open': common };
  if (by.custom !== true) return { description, ...open, ...standard };
  const custom = withType(
    common,
    by.unnamed === true ? orNull(reference('CustomTypeName')) : reference('CustomTypeName'),
  );
  // Records of standard types get a key of their own; those of custom types do not.
  const hasKey = objectOf(common.properties).systemRef !== undefined;
  const required = [...new Set([common.required, hasKey ? 'systemRef' : []].flat())];
  const customName = `CustomRecord${by.suffix}`;
  return {
    description,
    ...open,
    oneOf: [
      add(`Standard${name}`, { ...standard, description: `${common.description} For standard types.` }),
      // Events show records of custom types, too, and so the sources have that schema themselves.
      schemas[customName] === undefined
        ? add(customName, { ...custom, required, description: `${common.description} For custom types.` })
        : reference(customName),
    ],
  };
}

function orNull(name: JsonObject): JsonObject {
  return { anyOf: [name, { type: 'null' }], description: 'Name of the custom type; null if the item names no type.' };
}

/** The roles that types require in addition to those of the operation, as a table in Markdown. Codes and entries have none of their own. */
function rolesByType(types: readonly string[], by: ByType, schemas: JsonObject): string {
  const key = by.operation === undefined ? 'readRoles' : 'writeRoles';
  const byRole = Map.groupBy(
    types.filter((type) => objectOf(schemas[type])['x-record'] !== undefined),
    (type) =>
      [objectOf(objectOf(schemas[type])['x-record'])[key]]
        .flat()
        .map((role) => `\`${role}\``)
        .join(' or '),
  );
  if (byRole.size === 0) return '';
  const rows = [...byRole].map(([role, of]) => `| ${role} | ${of.map((type) => `\`${type}\``).join(', ')} |`);
  const custom = by.custom === true ? ' Custom types require no other role.' : '';
  return [
    ` In addition to the role of the operation, each record requires the role of its type.${custom}`,
    '',
    '| role | types |',
    '|---|---|',
    ...rows.sort(),
    '',
  ].join('\n');
}

function member(common: JsonObject, { attributes }: ByType, type: string, isImport: boolean): JsonObject {
  const name = attributes === 'written' ? `${type}Fields` : `${type}Attributes`;
  const typed = withType(common, { type: 'string', const: type, description: 'Name of the type.' });
  const properties = objectOf(typed.properties);
  return {
    ...typed,
    description: `${common.description} The type is \`${type}\`.${isImport ? ' Only imports write it.' : ''}`,
    ...(isImport && { required: [common.required ?? [], 'source'].flat() }),
    properties: { ...properties, attributes: replaced(properties.attributes, name) },
  };
}

function withType(common: JsonObject, type: JsonObject): JsonObject {
  return { ...common, properties: { ...objectOf(common.properties), type } };
}

/** A schema with a reference to another one in place of that to any attributes. */
function replaced(schema: unknown, name: string): unknown {
  if (Array.isArray(schema)) return schema.map((item) => replaced(item, name));
  if (!isObject(schema)) return schema;
  if (isReference(schema) && schema.$ref === openAttributes.$ref) return { ...schema, ...reference(name) };
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, replaced(value, name)]));
}
