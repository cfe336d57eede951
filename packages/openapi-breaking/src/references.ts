/**
 * References that lead anywhere in a document, made references to components: the comparison follows only those. What is not used by any
 * operation or webhook is left out, because no caller can notice it.
 */
import { isObject, type JsonObject, objectOf } from '../../../openapi/rules/contract.ts';
import { type Bundle, keysOf, pointerTo, valueAt } from './document.ts';
import { NotComparable } from './load.ts';

const kinds: Readonly<Record<string, string>> = {
  schema: 'schemas',
  parameters: 'parameters',
  headers: 'headers',
  responses: 'responses',
  requestBody: 'requestBodies',
  examples: 'examples',
  links: 'links',
  callbacks: 'callbacks',
};
/** Keywords whose values are data, in which `$ref` is a word like any other. */
const data = new Set(['example', 'examples', 'default', 'const', 'enum', 'value', 'x-example', 'x-examples']);

/** Changes the document. @throws NotComparable if a reference leads nowhere, or to itself */
export function normalizeReferences(document: Bundle): void {
  inlinePathItems(document);
  const components = objectOf(document.components);
  document.components = components;
  visitReferences(document, (node, keys) => {
    const pointer = String(node.$ref);
    if (!pointer.startsWith('#'))
      throw new NotComparable(`The reference ${pointer} at ${pointerTo(...keys)} leads out of the document.`);
    const target = finalTarget(document, pointer, pointerTo(...keys));
    const path = keysOf(target);
    if (path[0] === 'components' && path.length === 3) return;
    // The name says where it is, so that a message does too.
    const kind = kindAt(keys);
    const name = path.join('.').replaceAll(/[^\w.-]/g, '_');
    const group = objectOf(components[kind]);
    components[kind] = group;
    group[name] ??= structuredClone(valueAt(document, target));
    node.$ref = pointerTo('components', kind, name);
  });
  removeUnused(document);
}

/** What a reference leads to through others that have nothing beside them. */
function finalTarget(document: Bundle, from: string, at: string): string {
  const seen = new Set<string>();
  for (let pointer = from; ; ) {
    if (seen.has(pointer)) throw new NotComparable(`The reference ${from} at ${at} leads to itself.`);
    seen.add(pointer);
    const value = valueAt(document, pointer);
    if (value === undefined) throw new NotComparable(`The reference ${from} at ${at} leads nowhere.`);
    if (!isObject(value) || typeof value.$ref !== 'string' || Object.keys(value).length > 1) return pointer;
    pointer = value.$ref;
  }
}

function inlinePathItems(document: Bundle): void {
  for (const root of ['paths', 'webhooks'] as const) {
    const items = objectOf(document[root]);
    for (const [path, item] of Object.entries(items)) {
      if (!isObject(item) || typeof item.$ref !== 'string') continue;
      const { $ref, ...own } = item;
      const target = valueAt(document, finalTarget(document, $ref, pointerTo(root, path)));
      items[path] = { ...structuredClone(objectOf(target)), ...own };
    }
  }
}

function kindAt(keys: readonly string[]): string {
  const last = keys.at(-1) ?? '';
  const before = keys.at(-2) ?? '';
  if (before === 'components') return last;
  return kinds[last] ?? (before in kinds && before !== 'schema' ? (kinds[before] ?? 'schemas') : 'schemas');
}

/** Calls a function with each object that is a reference, and the keys that lead to it. */
function visitReferences(root: Bundle, visit: (node: JsonObject, keys: readonly string[]) => void): void {
  const waiting: { node: unknown; keys: readonly string[] }[] = [{ node: root, keys: [] }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, keys } = next;
    if (Array.isArray(node))
      node.forEach((item, index) => void waiting.push({ node: item, keys: [...keys, String(index)] }));
    if (!isObject(node)) continue;
    if (typeof node.$ref === 'string' && !isNamed(keys)) visit(node, keys);
    for (const [key, value] of Object.entries(node)) {
      if (!data.has(key) || isNamed(keys)) waiting.push({ node: value, keys: [...keys, key] });
    }
  }
}

const maps = new Set([
  ...['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'responses', 'headers'],
  ...['schemas', 'parameters', 'callbacks', 'links', 'content', 'paths', 'webhooks', 'pathItems'],
]);

/** Whether the keys of an object are names that the document chooses, and not keywords. */
function isNamed(keys: readonly string[]): boolean {
  return maps.has(keys.at(-1) ?? '') && keys.at(-2) !== 'properties';
}

/** A component with an extension can be used in ways that a reference does not show. */
function removeUnused(document: Bundle): void {
  const { components, ...rest } = document;
  const extended = Object.values(objectOf(components)).flatMap((group) =>
    Object.entries(objectOf(group)).flatMap(([, component]) =>
      Object.keys(objectOf(component)).some((key) => key.startsWith('x-')) ? [component] : [],
    ),
  );
  const kept = new Set<unknown>(extended);
  const used = new Set<string>();
  const waiting: unknown[] = [rest, ...extended];
  const use = (pointer: string) => {
    if (used.has(pointer)) return;
    used.add(pointer);
    waiting.push(valueAt(document, pointer));
  };
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    visitReferences({ node }, ({ $ref }) => use(String($ref)));
    visitMappings(node, use);
  }
  for (const [kind, group] of Object.entries(objectOf(components))) {
    if (kind === 'securitySchemes' || !isObject(group)) continue;
    for (const [name, component] of Object.entries(group))
      if (!kept.has(component) && !used.has(pointerTo('components', kind, name))) delete group[name];
  }
}

/** The schemas that discriminators name. */
function visitMappings(root: unknown, use: (pointer: string) => void): void {
  if (Array.isArray(root)) for (const item of root) visitMappings(item, use);
  if (!isObject(root)) return;
  for (const target of Object.values(objectOf(objectOf(root.discriminator).mapping)))
    use(String(target).startsWith('#/') ? String(target) : pointerTo('components', 'schemas', String(target)));
  for (const [key, value] of Object.entries(root))
    if (key !== 'discriminator' && !data.has(key)) visitMappings(value, use);
}
