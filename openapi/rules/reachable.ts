import { isObject, isReference, type JsonObject, nameIn } from './contract.ts';

/** The names of the schemas of a bundle that a part of it leads to, and those to start from. */
export function reachable(node: unknown, schemas: JsonObject, start: readonly string[] = []): Set<string> {
  const found = new Set<string>();
  const next = [...start, ...namesIn(node)];
  for (let name = next.pop(); name !== undefined; name = next.pop()) {
    if (found.has(name) || !isObject(schemas[name])) continue;
    found.add(name);
    next.push(...namesIn(schemas[name]));
  }
  return found;
}

function namesIn(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(namesIn);
  if (!isObject(node)) return [];
  const own = isReference(node) && node.$ref.startsWith('#/components/schemas/') ? [nameIn(node.$ref)] : [];
  return [...own, ...Object.values(node).flatMap(namesIn)];
}
