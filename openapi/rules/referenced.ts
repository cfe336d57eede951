/**
 * Some schemas of the bundle are for tools alone: the union of all events, the roles, what callers write on rows. `x-schemas` lists
 * those that nothing refers to, so that no tool reports them as unused.
 */
import type { Oas3Decorator } from '@redocly/openapi-core';
import { isObject, isReference, type JsonObject, nameIn, objectOf, reference } from './contract.ts';

export const referenced: Oas3Decorator = () => ({
  Root: {
    leave(root) {
      const document: unknown = root;
      if (isObject(document)) listSchemas(document);
    },
  },
});

export function listSchemas(document: JsonObject): void {
  const found = new Set<string>();
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const item of node) visit(item);
    if (!isObject(node)) return;
    if (isReference(node)) found.add(nameIn(node.$ref));
    for (const part of Object.values(node)) visit(part);
  };
  visit(document);
  const others = Object.keys(objectOf(objectOf(document.components).schemas)).filter((name) => !found.has(name));
  if (others.length > 0) document['x-schemas'] = Object.fromEntries(others.map((name) => [name, reference(name)]));
}
