/**
 * Gives a schema of the bundle another name than its type: generators make a class or a type of each schema, and some names
 * exist already, such as `File` in browsers. The type keeps its name in records, references and events; `x-type` has it.
 */
import type { Oas3Decorator } from '@redocly/openapi-core';
import { isObject, type JsonObject, objectOf, reference } from './contract.ts';

export const renamed: Oas3Decorator = () => ({
  Root: {
    leave(root) {
      const document: unknown = root;
      if (isObject(document)) rename(document);
    },
  },
});

export function rename(document: JsonObject): void {
  const components = objectOf(document.components);
  const names = new Map<string, string>();
  const schemas = Object.entries(objectOf(components.schemas)).map(([type, schema]): [string, unknown] => {
    const { 'x-schema-name': name, ...others } = objectOf(schema);
    if (typeof name !== 'string') return [type, schema];
    names.set(reference(type).$ref, reference(name).$ref);
    return [name, { ...others, 'x-type': type }];
  });
  components.schemas = Object.fromEntries(schemas);
  replaceReferences(document, names, new Set());
}

/** References are also the values of a discriminator's mapping. The bundle can contain one object in several places. */
function replaceReferences(node: unknown, names: ReadonlyMap<string, string>, seen: Set<object>): void {
  if (typeof node !== 'object' || node === null || seen.has(node)) return;
  seen.add(node);
  for (const [key, value] of Object.entries(node)) {
    const name = typeof value === 'string' ? names.get(value) : undefined;
    if (name === undefined) replaceReferences(value, names, seen);
    else Reflect.set(node, key, name);
  }
}
