/**
 * Makes the bundle flat, whatever the sources are composed of: each object has its own properties, `required` and
 * `additionalProperties`. A schema that only served composition is omitted, and so are `$defs`: in the sources they refer to
 * schemas that nothing else refers to.
 */
import type { Oas3Decorator } from '@redocly/openapi-core';
import { isObject, isReference, type JsonObject, nameIn, objectOf } from './contract.ts';
import { rowExtensions } from './extension-table.ts';
import { merged } from './merge.ts';
import { reachable } from './reachable.ts';

export const flat: Oas3Decorator = () => {
  let declared: string[] = [];
  return {
    Root: {
      enter(root) {
        declared = Object.keys(root.components?.schemas ?? {});
      },
      leave(root, { report, location }) {
        const document: unknown = root;
        if (!isObject(document)) return;
        flatten(document, declared, (place, message) => report({ message, location: location.child(place) }));
      },
    },
  };
};

type Complain = (place: string[], message: string) => void;

/**
 * Flattens a bundle, whose references all lead to its own components.
 *
 * @param declared names of schemas that the contract itself lists among its components, and that stay.
 */
export function flatten(document: JsonObject, declared: readonly string[], complain: Complain): void {
  const composed = schemasOf(document);
  const before = reachableIn(document, composed);
  const resolve = (reference: string): JsonObject => {
    const schema = composed[nameIn(reference)];
    if (!isObject(schema)) throw new Error(`There is no ${reference}.`);
    return schema;
  };
  /** The references of the schemas around the current one that are merged. */
  const around: { readonly place: readonly string[]; readonly references: readonly unknown[] }[] = [];
  for (const [key, value] of Object.entries(document)) {
    document[key] = mapped(value, [key], ({ $defs: _, ...schema }, place) => {
      if (isReference(schema) && schema.pattern !== undefined && schema.type === undefined) {
        // Strict validators want the type beside the keyword that applies to it.
        const { $ref, ...own } = schema;
        return { $ref, type: resolve($ref).type, ...own };
      }
      if (!Array.isArray(schema.allOf)) return schema;
      while (around.at(-1)?.place.some((one, index) => one !== place[index]) === true) around.pop();
      const references = schema.allOf.map((part) => objectOf(part).$ref).filter((one) => one !== undefined);
      try {
        if (references.some((one) => around.some((outer) => outer.references.includes(one))))
          throw new Error('It contains itself.');
        around.push({ place, references });
        return inOrder(merged(schema, resolve));
      } catch (error) {
        complain(place, `${place.join('/')} cannot be flattened. ${error instanceof Error ? error.message : error}`);
        return schema;
      }
    });
  }
  const schemas = schemasOf(document);
  const writeModels = Object.keys(schemas).filter((name) => isWriteModel(name, schemas));
  // In the sources they are parts of others and therefore open.
  for (const name of writeModels) schemas[name] = { ...objectOf(schemas[name]), additionalProperties: false };
  const types = Object.keys(schemas).filter((name) => rowExtensions.some((key) => objectOf(schemas[name])[key]));
  const after = reachableIn(document, schemas, [...declared, ...types, ...writeModels]);
  for (const name of before) if (!after.has(name)) delete schemas[name];
}

/** What callers may write on an entity `X` is `XFields`. Tools that write rows need it, whether an operation names it or not. */
export function isWriteModel(name: string, schemas: JsonObject): boolean {
  const entity = schemas[name.replace(/Fields$/, '')];
  return name.endsWith('Fields') && isObject(entity) && entity['x-entity'] === true;
}

function schemasOf(document: JsonObject): JsonObject {
  return objectOf(objectOf(document.components).schemas);
}

/** What operations, webhooks and the rest of the document lead to. */
function reachableIn(document: JsonObject, schemas: JsonObject, start: readonly string[] = []): Set<string> {
  const { schemas: _schemas, ...components } = objectOf(document.components);
  return reachable({ ...document, components }, schemas, start);
}

/** Keywords whose values are data. */
const data = new Set(['example', 'examples', 'default', 'const', 'enum', 'value', 'x-example']);

/** A copy of the tree in which each object is what `change` makes of it, the outer ones first. */
export function mapped(
  node: unknown,
  place: string[],
  change: (schema: JsonObject, place: string[]) => JsonObject,
): unknown {
  if (Array.isArray(node)) return node.map((item, index) => mapped(item, [...place, String(index)], change));
  if (!isObject(node)) return node;
  const areNames = place.at(-1) === 'properties';
  const entries = Object.entries(areNames ? node : change(node, place));
  return Object.fromEntries(
    entries.map(([key, value]) => [key, data.has(key) && !areNames ? value : mapped(value, [...place, key], change)]),
  );
}

/** The order of keywords for readers of the bundle: the type first, and last that other properties are rejected. */
function inOrder({ type, title, description, additionalProperties, ...others }: JsonObject): JsonObject {
  const ordered = { type, title, description, ...others, additionalProperties };
  return Object.fromEntries(Object.entries(ordered).filter(([, value]) => value !== undefined));
}
