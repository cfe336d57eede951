/** Keywords of schemas that say the same, written in one form: that of OpenAPI 3.1. */
import { isObject, type JsonObject } from '../../../openapi/rules/contract.ts';
import type { Bundle } from './document.ts';

const maps = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'],
  ...['schemas', 'headers', 'content', 'responses', 'paths', 'webhooks'],
]);
const data = new Set(['default', 'const', 'enum', 'mapping']);

/** Writes the schemas of a document in the form of 3.1, without examples, on which nobody depends. Changes the document. */
export function toLatestForm(document: Bundle): void {
  const isBefore31 = String(document.openapi).startsWith('3.0');
  document.openapi = '3.1.0';
  visit(document, (node) => {
    delete node.example;
    delete node.examples;
    if (isBefore31) toVersion31(node);
  });
}

/** Writes keywords that say the same in one form. Changes the document. */
export function normalizeSchemas(document: Bundle): void {
  visit(document, removeDefaults);
}

function visit(node: unknown, change: (schema: JsonObject) => void): void {
  if (Array.isArray(node)) for (const item of node) visit(item, change);
  if (!isObject(node)) return;
  change(node);
  for (const [key, value] of Object.entries(node)) {
    if (data.has(key)) continue;
    if (maps.has(key) && isObject(value)) for (const schema of Object.values(value)) visit(schema, change);
    else visit(value, change);
  }
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
  for (const [exclusive, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
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
  if ('const' in schema && !('enum' in schema) && !('in' in schema)) {
    schema.enum = [schema.const];
    delete schema.const;
  }
  if (Array.isArray(schema.type) && schema.type.length === 1) schema.type = schema.type[0];
  if (isWithin(widthOf[String(schema.format)], schema)) delete schema.format;
  for (const key of ['minLength', 'minItems', 'minProperties']) if (schema[key] === 0) delete schema[key];
  for (const key of ['uniqueItems', 'deprecated', 'readOnly', 'writeOnly'])
    if (schema[key] === false) delete schema[key];
  if (Array.isArray(schema.required) && schema.required.length === 0) delete schema.required;
  for (const key of ['additionalProperties', 'unevaluatedProperties'])
    if (schema[key] === true || isEmpty(schema[key])) delete schema[key];
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
