/**
 * Adds an example to each property that callers write, in the bundle: the value that it has in the examples of whole requests and
 * responses. So tools that show one property at a time show the same rows, and no value is written twice.
 */
import type { Oas3Decorator } from '@redocly/openapi-core';
import { isObject, isReference, type JsonObject, nameIn, objectOf } from './contract.ts';

export const exampled: Oas3Decorator = () => ({
  Root: {
    leave(root, { report, location }) {
      const document: unknown = root;
      if (!isObject(document)) return;
      addExamples(document, (schema, property) =>
        report({
          message: `Add a value of ${schema}.${property} to an example of a request or response, or \`examples\` to the property.`,
          location: location.child(['components', 'schemas', schema, 'properties', property]),
        }),
      );
    },
  },
});

/** The values that properties have in examples, by the schema of the property. */
type Values = Map<unknown, unknown>;

export function addExamples(document: JsonObject, complain: (schema: string, property: string) => void): void {
  const schemas = objectOf(objectOf(document.components).schemas);
  const values: Values = new Map();
  for (const { schema, value } of wholeExamples(document)) collect(schema, value, schemas, values);
  for (const name of writtenSchemas(document, schemas)) {
    for (const [key, property] of Object.entries(objectOf(objectOf(schemas[name]).properties))) {
      if (!isObject(property) || isConstant(property, schemas) || hasExample(property, schemas)) continue;
      const shown = sameProperties(name, key, schemas).map((one) => values.get(one));
      const value = shown.find((one) => one !== undefined);
      if (value !== undefined) property.examples = [value];
      else complain(name, key);
    }
  }
}

/** The named examples of all bodies, each with its schema. */
function wholeExamples(document: JsonObject): { schema: unknown; value: unknown }[] {
  const examples = objectOf(objectOf(document.components).examples);
  const responses = objectOf(objectOf(document.components).responses);
  const resolved = (part: unknown, among: JsonObject) =>
    isReference(part) ? objectOf(among[part.$ref.split('/').at(-1) ?? '']) : objectOf(part);
  const operations = ['paths', 'webhooks'].flatMap((root) =>
    Object.values(objectOf(document[root])).flatMap((item) => Object.values(objectOf(item)).filter(isObject)),
  );
  const bodies = operations.flatMap(({ requestBody, responses: own }) => [
    objectOf(requestBody),
    ...Object.values(objectOf(own)).map((response) => resolved(response, responses)),
  ]);
  return bodies.flatMap(({ content }) =>
    Object.values(objectOf(content)).flatMap((media) =>
      Object.values(objectOf(objectOf(media).examples)).map((example) => ({
        schema: objectOf(media).schema,
        value: resolved(example, examples).value,
      })),
    ),
  );
}

/** Notes the value of each property, the first one that is not null. */
function collect(schema: unknown, value: unknown, schemas: JsonObject, values: Values): void {
  if (!isObject(schema)) return;
  if (isReference(schema)) collect(schemas[nameIn(schema.$ref)], value, schemas, values);
  for (const branch of branchesFor(schema, value, schemas)) collect(branch, value, schemas, values);
  if (Array.isArray(value)) for (const item of value) collect(schema.items, item, schemas, values);
  if (!isObject(value)) return;
  for (const [key, property] of Object.entries(objectOf(schema.properties))) {
    const part = value[key];
    if (part === undefined || part === null) continue;
    if (!values.has(property) && !isEmpty(part)) values.set(property, part);
    collect(property, part, schemas, values);
  }
}

/** Of a union with a discriminator the one that the value names, otherwise all: values of other branches have other properties. */
function branchesFor(schema: JsonObject, value: unknown, schemas: JsonObject): unknown[] {
  const { propertyName, mapping } = objectOf(schema.discriminator);
  if (typeof propertyName !== 'string') return [schema.oneOf, schema.anyOf].flat();
  const target = objectOf(mapping)[String(objectOf(value)[propertyName])];
  return typeof target === 'string' ? [schemas[nameIn(target)]] : [];
}

function isEmpty(value: unknown): boolean {
  return value === '' || (Array.isArray(value) && value.length === 0);
}

/** The names of the schemas that requests lead to, but for conditions and sort keys, and of the write models. */
function writtenSchemas(document: JsonObject, schemas: JsonObject): Set<string> {
  const found = new Set<string>();
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const item of node) visit(item);
    if (!isObject(node)) return;
    if (isReference(node)) {
      const name = nameIn(node.$ref);
      if (!found.has(name) && !/(Where|OrderBy|Filter)$/.test(name)) {
        found.add(name);
        visit(schemas[name]);
      }
    }
    for (const [key, part] of Object.entries(node)) if (key !== 'not' && key !== 'examples') visit(part);
  };
  for (const item of Object.values(objectOf(document.paths)))
    for (const operation of Object.values(objectOf(item))) visit(objectOf(operation).requestBody);
  return found;
}

/** Whether the values of a property are listed, or are parts that have examples of their own. */
function isConstant(property: JsonObject, schemas: JsonObject): boolean {
  const target: JsonObject = isReference(property)
    ? { ...objectOf(schemas[nameIn(property.$ref)]), ...property }
    : property;
  if ('const' in target || 'enum' in target) return true;
  const branches = [target.anyOf, target.oneOf].flat().filter(isObject);
  if (branches.length > 0) return branches.every((branch) => isConstant(branch, schemas));
  const types = [target.type].flat();
  if (types.includes('array')) return isObject(target.items) && isConstant(target.items, schemas);
  return types.every((type) => type === undefined || type === 'boolean' || type === 'object' || type === 'null');
}

function hasExample(property: JsonObject, schemas: JsonObject): boolean {
  return (
    property.examples !== undefined || (isReference(property) && 'examples' in objectOf(schemas[nameIn(property.$ref)]))
  );
}

/** The property itself, then those of its name in schemas that describe the same row. */
function sameProperties(name: string, key: string, schemas: JsonObject): unknown[] {
  const type = name.replace(/(Fields|Input|Entry|Details|(Create|Update|Onboard)Request)$/, '');
  const names = [name, `${type}Fields`, type, `${type}Attributes`, `Indexed${type}`, `${type}CreateRequest`];
  return names.flatMap((one) => objectOf(objectOf(schemas[one]).properties)[key] ?? []);
}
