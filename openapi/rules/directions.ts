/**
 * Separates what callers write from what they read, in the bundle. Requests are stricter: an object that is both written and read gets a
 * second schema for requests, `AddressInput` beside `Address`, and a text that must not be empty must not be blank in a request either.
 * What a caller must not send together (`not` in `x-own-check`) is not said of what is stored.
 * Objects of responses and events are open, because properties can be added to them in any release; those of requests are closed.
 */
import type { Oas3Decorator } from '@redocly/openapi-core';
import { isObject, isReference, type JsonObject, nameIn, objectOf, reference } from './contract.ts';
import { isWriteModel, mapped } from './flat.ts';
import { reachable } from './reachable.ts';

export const directions: Oas3Decorator = () => ({
  Root: {
    leave(root, { report, location }) {
      const document: unknown = root;
      if (!isObject(document)) return;
      separate(document, (message) => report({ message, location: location.child(['components', 'schemas']) }));
    },
  },
});

/** A text with a character that is not a space. */
const notBlank = '\\S';

export function separate(document: JsonObject, complain: (message: string) => void): void {
  const schemas = objectOf(objectOf(document.components).schemas);
  const writeModels = Object.keys(schemas).filter((name) => isWriteModel(name, schemas));
  const requests = requestsOf(document);
  const bodies = requests.map(({ requestBody }) => requestBody);
  const written = reachable(bodies, schemas, writeModels);
  const read = reachable(holdersOfResponses(document), schemas);
  const shared = [...written].filter((name) => read.has(name));
  // Those with a closed object within them: a text or an enum is the same in both.
  const split = new Set(shared.filter((name) => [...reachable(schemas[name], schemas, [name])].some(isClosed)));
  for (const name of split) {
    if (schemas[`${name}Input`] !== undefined)
      complain(`Rename ${name}Input: the bundle uses this name for ${name} in requests.`);
  }
  const forRequests = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(forRequests);
    if (!isObject(node)) return node;
    const part = isReference(node) && split.has(nameIn(node.$ref)) ? withReference(node) : node;
    const copy = Object.fromEntries(
      Object.entries(part).map(([key, value]) => [key, data.has(key) ? value : forRequests(value)]),
    );
    return mustNotBeBlank(copy) ? { ...copy, type: typeOf(copy), pattern: notBlank } : copy;
  };

  const own = [...written].filter((name) => !read.has(name));
  const copies = [...split].map((name): [string, unknown] => [`${name}Input`, forRequests(schemas[name])]);
  for (const name of own) schemas[name] = forRequests(schemas[name]);
  Object.assign(schemas, Object.fromEntries(copies));
  for (const operation of requests) operation.requestBody = forRequests(operation.requestBody);
  for (const name of read) schemas[name] = mapped(schemas[name], [], opened);
  for (const holder of holdersOfResponses(document)) {
    for (const [key, value] of Object.entries(holder)) holder[key] = mapped(value, [], opened);
  }

  function isClosed(name: string): boolean {
    return objectOf(schemas[name]).additionalProperties === false;
  }

  /** The keywords of a schema, with those of its reference. */
  function keywordsOf(schema: JsonObject): JsonObject {
    return isReference(schema) ? { ...objectOf(schemas[nameIn(schema.$ref)]), ...schema } : schema;
  }

  function typeOf(schema: JsonObject): unknown {
    return keywordsOf(schema).type;
  }

  function mustNotBeBlank(schema: JsonObject): boolean {
    const { type, minLength, pattern, format, enum: values } = keywordsOf(schema);
    const isText = [type].flat().includes('string') && Number(minLength) >= 1;
    return isText && [pattern, format, values, schema.const].every((keyword) => keyword === undefined);
  }
}

/** Keywords whose values are data. */
const data = new Set(['example', 'examples', 'default', 'const', 'enum']);

function withReference(node: { $ref: string } & JsonObject): JsonObject {
  return { ...node, ...reference(`${nameIn(node.$ref)}Input`) };
}

function operationsIn(items: unknown): JsonObject[] {
  return Object.values(objectOf(items)).flatMap((item) => Object.values(objectOf(item)).filter(isObject));
}

/** The operations that have a body. */
function requestsOf(document: JsonObject): JsonObject[] {
  return operationsIn(document.paths).filter(({ requestBody }) => requestBody !== undefined);
}

/** What callers read: responses, and the requests that they receive. */
function holdersOfResponses(document: JsonObject): JsonObject[] {
  const { responses } = objectOf(document.components);
  const ofOperations = operationsIn(document.paths).map((operation) => operation.responses);
  return [responses, ...ofOperations, document.webhooks].map(objectOf);
}

/** A schema without the keywords that reject other properties, and combinations of properties that a caller must not send. */
function opened({ additionalProperties, ...schema }: JsonObject): JsonObject {
  const { not: _not, 'x-own-check': own, ...others } = schema;
  const kept = Array.isArray(own) && own.includes('not') ? others : schema;
  return additionalProperties === undefined || additionalProperties === false
    ? kept
    : { ...kept, additionalProperties };
}
