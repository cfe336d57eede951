/**
 * References that lead anywhere in a document, made references to components: the comparison follows only those. What is not used by any
 * operation or webhook is left out, because no caller can notice it.
 */
import { isObject, objectOf } from '../../../openapi/rules/contract.ts';
import { type Bundle, keysOf, operationsOf, pointerTo, resolved, valueAt } from './document.ts';
import { NotComparable } from './load.ts';
import { visit } from './schemas.ts';

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
/** Changes the document. @throws NotComparable if a reference leads nowhere, or to itself */
export function normalizeReferences(document: Bundle): void {
  inlinePathItems(document);
  const components = objectOf(document.components);
  document.components = components;
  const lead = (root: unknown, start: readonly string[]) =>
    visit(
      root,
      (node, keys) => {
        if (typeof node.$ref !== 'string') return;
        const at = pointerTo(...keys);
        if (!node.$ref.startsWith('#'))
          throw new NotComparable(`The reference ${node.$ref} at ${at} leads out of the document.`);
        const target = finalTarget(document, node.$ref, at);
        const path = keysOf(target);
        if (path[0] === 'components' && path.length === 3) return;
        // The name says where it is, so that a message does too.
        const kind = kindAt(keys);
        const name = path.join('.').replaceAll(/[^\w.-]/g, '_');
        const group = objectOf(components[kind]);
        components[kind] = group;
        node.$ref = pointerTo('components', kind, name);
        if (name in group) return;
        group[name] = structuredClone(valueAt(document, target));
        lead(group[name], ['components', kind, name]);
      },
      start,
    );
  lead(document, []);
  completeMappings(document);
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

/** Path items and callbacks. */
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
  for (const { operation } of operationsOf(document)) {
    const callbacks = objectOf(operation.callbacks);
    for (const [name, callback] of Object.entries(callbacks)) {
      const items = Object.entries(resolved(document, callback));
      callbacks[name] = Object.fromEntries(items.map(([to, item]) => [to, structuredClone(resolved(document, item))]));
    }
  }
}

function kindAt(keys: readonly string[]): string {
  const last = keys.at(-1) ?? '';
  const before = keys.at(-2) ?? '';
  if (before === 'components') return last;
  return kinds[last] ?? (before in kinds && before !== 'schema' ? (kinds[before] ?? 'schemas') : 'schemas');
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
    visit(node, ({ $ref, discriminator }) => {
      if (typeof $ref === 'string') use($ref);
      for (const target of Object.values(objectOf(objectOf(discriminator).mapping))) use(String(target));
    });
  }
  for (const [kind, group] of Object.entries(objectOf(components))) {
    if (kind === 'securitySchemes' || !isObject(group)) continue;
    for (const [name, component] of Object.entries(group))
      if (!kept.has(component) && !used.has(pointerTo('components', kind, name))) delete group[name];
  }
}

/** Writes the values of discriminators that are names of components: of branches, and of schemas with the discriminator's in their `allOf`. */
function completeMappings(document: Bundle): void {
  const schemas = Object.entries(objectOf(objectOf(document.components).schemas));
  const pointer = (name: unknown) => pointerTo('components', 'schemas', String(name));
  visit(document, (schema) => {
    if (!isObject(schema.discriminator)) return;
    const mapping = Object.entries(objectOf(schema.discriminator.mapping)).map(
      ([value, target]) => [value, String(target).startsWith('#/') ? target : pointer(target)] as const,
    );
    const heirs = new Set(schemas.flatMap(([name, one]) => (one === schema ? [pointer(name)] : [])));
    // A set also iterates over what is added meanwhile.
    for (const heir of heirs)
      for (const [name, child] of schemas)
        if ([objectOf(child).allOf].flat().some((part) => objectOf(part).$ref === heir)) heirs.add(pointer(name));
    const branches = [schema.oneOf, schema.anyOf].flat().map((branch) => objectOf(branch).$ref);
    const implied = [...branches, ...[...heirs].slice(1)].flatMap((one) =>
      typeof one === 'string' && !mapping.some(([, target]) => target === one) ? [[keysOf(one)[2], one] as const] : [],
    );
    schema.discriminator.mapping = Object.fromEntries([...mapping, ...implied]);
  });
}
