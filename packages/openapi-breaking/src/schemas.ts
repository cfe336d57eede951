/** Keywords of schemas that say the same, written in one form: that of OpenAPI 3.1. */
import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject, objectOf } from '../../../openapi/rules/contract.ts';
import { type Bundle, resolved } from './document.ts';

const maps = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'],
  ...['schemas', 'parameters', 'headers', 'content', 'responses', 'requestBodies', 'callbacks', 'links'],
  ...['paths', 'webhooks', 'pathItems'],
]);
const lists = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const data = new Set(['default', 'const', 'enum', 'mapping', 'x-example', 'x-examples']);
const annotations = /^(title|description|summary|deprecated|default|readOnly|writeOnly|x-.*)$/;
const matchesAll = new Set(['', '^', '.*']);

/** Writes the schemas of a document in the form of 3.1, without examples, on which nobody depends. Changes the document. */
export function toLatestForm(document: Bundle): void {
  const isBefore31 = String(document.openapi).startsWith('3.0');
  document.openapi = '3.1.0';
  visit(document, (node) => {
    delete node.example;
    delete node.examples;
    if (isBefore31) toVersion31(node);
    if (node.itemSchema !== undefined && node.schema === undefined)
      node.schema = { type: 'array', items: node.itemSchema };
    delete node.itemSchema;
  });
}

/** Writes an `allOf` of one reference, with nothing beside it that restricts it, as that reference. Changes the document. */
export function unwrapReferences(document: Bundle): void {
  visit(document, (schema) => {
    const { allOf, ...own } = schema;
    const [part, ...others] = Array.isArray(allOf) ? allOf : [];
    if (others.length > 0 || !isDeepStrictEqual(Object.keys(objectOf(part)), ['$ref'])) return;
    if (!Object.keys(own).every((key) => annotations.test(key))) return;
    delete schema.allOf;
    schema.$ref = part.$ref;
  });
}

/** Writes keywords that say the same in one form. Changes the document. */
export function normalizeSchemas(document: Bundle): void {
  visit(document, (schema) => {
    removeDefaults(schema);
    simplifyUnion(schema, document);
  });
}

/** Calls a function with each object of a document and the keys that lead to it, except for objects whose keys are names. */
export function visit(
  node: unknown,
  change: (schema: JsonObject, keys: readonly string[]) => void,
  keys: readonly string[] = [],
): void {
  if (Array.isArray(node)) for (const [index, item] of node.entries()) visit(item, change, [...keys, `${index}`]);
  if (!isObject(node)) return;
  change(node, keys);
  for (const [key, value] of Object.entries(node)) {
    if (data.has(key)) continue;
    if (maps.has(key) && isObject(value)) {
      for (const [name, schema] of Object.entries(value)) {
        value[name] = written(schema);
        visit(value[name], change, [...keys, key, name]);
      }
    } else {
      if (lists.has(key) && Array.isArray(value)) node[key] = value.map(written);
      visit(node[key], change, [...keys, key]);
    }
  }
}

function written(schema: unknown): unknown {
  if (schema === true) return {};
  return schema === false ? { not: {} } : schema;
}

function toVersion31(schema: JsonObject): void {
  if (schema.nullable === true) {
    if (typeof schema.type === 'string') schema.type = [schema.type, 'null'];
    else if (schema.type === undefined && ['allOf', 'oneOf', 'anyOf', '$ref'].some((key) => key in schema))
      allowNull(schema);
    // 3.0 says that null must be in the enum too; hardly a document does it.
    if (Array.isArray(schema.enum) && !schema.enum.includes(null)) schema.enum = [...schema.enum, null];
  }
  if (typeof schema.nullable === 'boolean') delete schema.nullable;
  for (const [exclusive, bound] of bounds) {
    if (typeof schema[exclusive] !== 'boolean') continue;
    if (schema[exclusive] === true && schema[bound] !== undefined) {
      schema[exclusive] = schema[bound];
      delete schema[bound];
    } else delete schema[exclusive];
  }
}

function allowNull(schema: JsonObject): void {
  const whole = { ...schema };
  delete whole.nullable;
  for (const key of Object.keys(schema)) delete schema[key];
  schema.anyOf = [whole, { type: 'null' }];
}

/** Keywords with the value that holds without them, and formats that say no more than the bounds. */
function removeDefaults(schema: JsonObject): void {
  const { const: constant, enum: values = [constant] } = schema;
  if ('const' in schema && Array.isArray(values) && values.includes(constant) && !('in' in schema)) {
    schema.enum = [constant];
    delete schema.const;
  }
  if (Array.isArray(schema.type) && schema.type.length === 1) schema.type = schema.type[0];
  if (typeof schema.pattern === 'string' && matchesAll.has(schema.pattern)) delete schema.pattern;
  if (isEmpty(written(schema.items))) delete schema.items;
  for (const [format, keyword, value] of binaries) {
    if (schema.format !== format) continue;
    schema[keyword] ??= value;
    delete schema.format;
  }
  if (isWithin(widthOf[String(schema.format)], schema)) delete schema.format;
  const types = [schema.type].flat();
  const isInteger = types.includes('integer') && !types.includes('number');
  for (const [exclusive, bound, step] of bounds) {
    const limit = schema[exclusive];
    if (!isInteger || typeof limit !== 'number' || !Number.isInteger(limit)) continue;
    const other = Number(schema[bound] ?? limit + step);
    schema[bound] = (step > 0 ? Math.max : Math.min)(other, limit + step);
    delete schema[exclusive];
  }
  for (const key of ['minLength', 'minItems', 'minProperties']) if (schema[key] === 0) delete schema[key];
  for (const key of ['uniqueItems', 'deprecated', 'readOnly', 'writeOnly'])
    if (schema[key] === false) delete schema[key];
  if (Array.isArray(schema.required) && schema.required.length === 0) delete schema.required;
  for (const key of ['additionalProperties', 'unevaluatedProperties'])
    if (schema[key] === true || isEmpty(schema[key])) delete schema[key];
}

const binaries = [
  ['byte', 'contentEncoding', 'base64'],
  ['binary', 'contentMediaType', 'application/octet-stream'],
] as const;
const bounds = [
  ['exclusiveMinimum', 'minimum', 1],
  ['exclusiveMaximum', 'maximum', -1],
] as const;

/** A union of one schema is that schema, and one of types a list of types. If the types exclude each other, `oneOf` says what `anyOf` does. */
function simplifyUnion(schema: JsonObject, document: Bundle): void {
  const { anyOf, oneOf, ...own } = schema;
  const branches: unknown = anyOf ?? oneOf;
  if (!Array.isArray(branches) || !branches.every(isObject) || (anyOf && oneOf) || 'discriminator' in schema) return;
  const says = (one: JsonObject) => Object.keys(one).filter((key) => !annotations.test(key));
  const types = branches.flatMap((one) => resolved(document, one).type ?? [undefined, undefined]);
  const kinds = new Set(types.map((type) => (type === 'integer' ? 'number' : type)));
  const isTypes = own.type === undefined && branches.every((one) => isDeepStrictEqual(says(one), ['type']));
  const isOne = branches.length === 1 && says(own).length === 0;
  if (kinds.size === types.length || isTypes || isOne) delete schema.oneOf;
  else return;
  schema.anyOf = branches;
  if (!isTypes && !isOne) return;
  delete schema.anyOf;
  Object.assign(schema, isTypes ? { type: [...new Set(types)] } : { ...branches[0], ...own });
  if (isOne) simplifyUnion(schema, document);
}

/** The greatest number of a format. The smallest is one less than its negative. */
const widthOf: Readonly<Record<string, number>> = { int32: 2 ** 31 - 1, int64: 2 ** 63 };

function isWithin(width: number | undefined, { minimum, maximum, enum: values }: JsonObject): boolean {
  const numbers = Array.isArray(values) ? values.filter((value) => value !== null) : [minimum, maximum];
  return width !== undefined && numbers.every((value) => typeof value === 'number' && Math.abs(value) <= width);
}

function isEmpty(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}
