/**
 * Lets callers choose what they read of rows, in the bundle: each operation that returns rows of a type takes `fields`, the names of
 * properties, and `with`, the rows that it refers to and whose names it includes. Both are derived from the row, so that a new property or
 * reference can be chosen, and a misspelt one does not compile.
 */
import type { Oas3Decorator } from '@redocly/openapi-core';
import { isObject, type JsonObject, nameIn, objectOf, reference } from './contract.ts';

export const choices: Oas3Decorator = () => ({
  Root: {
    leave(root, { report, location }) {
      const document: unknown = root;
      if (!isObject(document)) return;
      addChoices(document, (message) => report({ message, location: location.child(['components', 'schemas']) }));
    },
  },
});

/** Properties that name a row, the best one first. */
const labels = ['displayName', 'name', 'invoiceNumber', 'paymentNumber', 'draftNumber', 'title'];
const maxRelated = 5;

export function addChoices(document: JsonObject, complain: (message: string) => void): void {
  const schemas = objectOf(objectOf(document.components).schemas);
  const add = (name: string, schema: JsonObject): JsonObject => {
    if (schemas[name] !== undefined) complain(`Rename ${name}: the bundle uses this name for a choice of callers.`);
    schemas[name] = schema;
    return reference(name);
  };
  const shared = objectOf(objectOf(document.components).parameters);
  const chosen = new Map<string, { readonly fields: JsonObject; readonly with?: JsonObject }>();
  const choiceOf = (row: string) => {
    const known = chosen.get(row);
    if (known !== undefined) return known;
    const related = relatedOf(schemas, row);
    const choice = {
      fields: fieldsOf(schemas, row, add),
      ...(related.size > 0 && { with: withOf(schemas, row, related, add) }),
    };
    chosen.set(row, choice);
    return choice;
  };
  for (const item of Object.values(objectOf(document.paths)).map(objectOf)) {
    for (const [method, operation] of Object.entries(item)) {
      if (!isObject(operation)) continue;
      const row = rowOf(operation, schemas);
      if (row === undefined) continue;
      const media = objectOf(objectOf(objectOf(operation.requestBody).content)['application/json']);
      if (method === 'get') {
        const { parameters } = operation;
        const own = Object.entries(choiceOf(row)).map(([name, choice]) => {
          const component = `${row}${name === 'with' ? 'Related' : 'Chosen'}`;
          shared[component] ??= parameterOf(name, choice);
          return { $ref: `#/components/parameters/${component}` };
        });
        operation.parameters = [...[parameters ?? []].flat(), ...own];
        if (choiceOf(row).with !== undefined)
          makeTagOptional(operation, objectOf(objectOf(document.components).headers));
      } else if (objectOf(operation['x-contract-check']).effect === 'read' && isObject(media.schema)) {
        const name = nameIn(String(media.schema.$ref));
        const { properties, ...request } = objectOf(schemas[name]);
        const own = { ...request, properties: { ...objectOf(properties), ...choiceOf(row) } };
        // Lists of all types have the same request in the sources.
        if (name.startsWith(row)) schemas[name] = own;
        else media.schema = add(name.replace(/^(Offset|Number)/, row), own);
      }
    }
  }
}

/** Lets a read leave out the tag: with `with`, it would change without a new version. */
function makeTagOptional({ responses }: JsonObject, shared: JsonObject): void {
  const headers = objectOf(objectOf(objectOf(responses)['200']).headers);
  if (headers.ETag === undefined) return;
  const { description, ...tag } = objectOf(shared.ETag);
  shared.ReadETag ??= {
    ...tag,
    description: `${description}\nA read with \`with\` has none, because the names of other rows change without a new version of this one.\n`,
    required: false,
  };
  headers.ETag = { $ref: '#/components/headers/ReadETag' };
}

/** The type of the rows that an operation returns: one, or a page of them. */
function rowOf({ responses }: JsonObject, schemas: JsonObject): string | undefined {
  const media = objectOf(objectOf(objectOf(objectOf(responses)['200']).content)['application/json']);
  const name = nameIn(String(objectOf(media.schema).$ref));
  const items = objectOf(objectOf(objectOf(objectOf(schemas[name]).properties).data).items);
  return [name, nameIn(String(items.$ref))].find((one) => objectOf(schemas[one])['x-entity'] === true);
}

function fieldsOf(schemas: JsonObject, row: string, add: (name: string, schema: JsonObject) => JsonObject): JsonObject {
  const names = Object.keys(objectOf(objectOf(schemas[row]).properties));
  const field = add(`${row}Field`, { type: 'string', enum: names, description: `Name of a property of \`${row}\`.` });
  return {
    type: 'array',
    minItems: 1,
    maxItems: 100,
    uniqueItems: true,
    items: field,
    description:
      'Properties to return of each row, in addition to `id`. The others are missing in the response, also those that its schema requires.',
    'x-contract-check': { partial: true },
    examples: [names.slice(8, 10)],
  };
}

/** What a row refers to: the name of the relation, the property with the ID, and the type. */
type Related = ReadonlyMap<string, { readonly by: string; readonly type: string; readonly label: string }>;

function relatedOf(schemas: JsonObject, row: string): Related {
  const found = new Map<string, { by: string; type: string; label: string }>();
  for (const [by, property] of Object.entries(objectOf(objectOf(schemas[row]).properties))) {
    const type = objectOf(property)['x-references'];
    if (typeof type !== 'string' || !by.endsWith('Id')) continue;
    const target = objectOf(schemas[type]);
    const label = labels.find((name) => objectOf(target.properties)[name] !== undefined);
    if (label !== undefined && isObject(target['x-record'])) found.set(by.slice(0, -2), { by, type, label });
  }
  return found;
}

function withOf(
  schemas: JsonObject,
  row: string,
  related: Related,
  add: (name: string, schema: JsonObject) => JsonObject,
): JsonObject {
  const needed = [...related].map(([name, { type }]) => {
    const { readRoles } = objectOf(objectOf(schemas[type])['x-record']);
    return `\`${name}\` requires ${[readRoles]
      .flat()
      .map((role) => `\`${role}\``)
      .join(' or ')}`;
  });
  const relation = add(`${row}Relation`, {
    type: 'string',
    enum: [...related.keys()],
    description: `Row that a \`${row}\` refers to: ${needed.join(', ')}.`,
    'x-related': Object.fromEntries(related),
  });
  const { properties, ...schema } = objectOf(schemas[row]);
  const rows = [...related.keys()].map((name) => [name, { anyOf: [reference('RelatedRow'), { type: 'null' }] }]);
  const names = {
    type: 'object',
    description:
      'Names of rows that this one refers to, by the names that `with` of the request lists. Events and writes have none.',
    'x-chosen': true,
    properties: Object.fromEntries(rows),
    additionalProperties: false,
  };
  schemas[row] = { ...schema, properties: { ...objectOf(properties), with: names } };
  return {
    type: 'array',
    minItems: 1,
    maxItems: maxRelated,
    uniqueItems: true,
    items: relation,
    description: 'Rows that each row refers to, whose names the response includes in its `with`.',
    examples: [[...related.keys()].slice(0, 1)],
  };
}

function parameterOf(name: string, choice: JsonObject): JsonObject {
  const { description, examples, ...schema } = choice;
  return { name, in: 'query', description, style: 'form', explode: true, schema, example: [examples].flat()[0] };
}
