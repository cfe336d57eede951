/**
 * Writes two documents in the same form before they are compared: several forms say the same, and Redocly compares the
 * form.
 *
 * - `{ "type": ["string", "null"] }`, and `anyOf` or `oneOf` of a schema and null, if one document has the one form and
 *   the other document the other form;
 * - a schema that is `true` or `false`;
 * - `items` that are anything, and a pattern that every text matches.
 */
import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject } from '../../openapi/rules/contract.ts';
import { type Bundle, valueAt } from './document.ts';

/** Changes both documents. */
export function align(released: Bundle, present: Bundle): void {
  for (const document of [released, present]) normalize(document);
  alignNodes({ document: released, node: released }, { document: present, node: present });
}

const maps = new Set(['properties', 'patternProperties', 'dependentSchemas']);
const lists = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const data = new Set(['example', 'examples', 'default', 'const', 'enum', 'value']);
const matchesAll = new Set(['', '^', '.*']);

function normalize(node: unknown): void {
  if (Array.isArray(node)) node.forEach(normalize);
  if (!isObject(node)) return;
  if (typeof node.pattern === 'string' && matchesAll.has(node.pattern)) delete node.pattern;
  if (isDeepStrictEqual(written(node.items), {})) delete node.items;
  for (const [key, value] of Object.entries(node)) {
    if (data.has(key)) continue;
    if (maps.has(key) && isObject(value)) {
      for (const [name, schema] of Object.entries(value)) {
        value[name] = written(schema);
        normalize(value[name]);
      }
    } else {
      if (lists.has(key) && Array.isArray(value)) node[key] = value.map(written);
      normalize(node[key]);
    }
  }
}

function written(schema: unknown): unknown {
  if (schema === true) return {};
  return schema === false ? { not: {} } : schema;
}

interface Side {
  readonly document: Bundle;
  readonly node: unknown;
}

function alignNodes(one: Side, other: Side): void {
  if (isDeepStrictEqual(one.node, other.node)) return;
  if (Array.isArray(one.node) && Array.isArray(other.node)) {
    const { node } = other;
    for (const [index, item] of one.node.entries()) {
      alignNodes({ ...one, node: item }, { ...other, node: node[index] });
    }
  }
  if (!isObject(one.node) || !isObject(other.node)) return;
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    if (isObject(from.node) && !isUnionWithNull(to.node)) unwrapNull(from.node, from.document);
  }
  for (const [key, value] of Object.entries(one.node)) {
    alignNodes({ ...one, node: value }, { ...other, node: other.node[key] });
  }
}

function branchesOf(node: JsonObject): readonly unknown[] | undefined {
  return [node.anyOf, node.oneOf].find((branches) => Array.isArray(branches));
}

const isNull = (branch: unknown) => isObject(branch) && branch.type === 'null';

function isUnionWithNull(node: unknown): boolean {
  return isObject(node) && branchesOf(node)?.some(isNull) === true;
}

/** Rewrites a union of a schema that has a type, and null, as that schema with one more type. */
function unwrapNull(node: JsonObject, document: Bundle): void {
  const branches = branchesOf(node);
  const [branch, ...more] = (branches ?? []).filter((one) => !isNull(one));
  if (branches?.length !== 2 || more.length > 0 || !isObject(branch)) return;
  const schema = typeof branch.$ref === 'string' ? valueAt(document, branch.$ref) : branch;
  if (!isObject(schema) || schema.type === undefined || 'const' in schema) return;
  const { anyOf: _any, oneOf: _one, ...own } = node;
  const values = Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {};
  const whole = { ...schema, ...values, type: [schema.type, 'null'].flat(), ...own };
  for (const key of Object.keys(node)) delete node[key];
  Object.assign(node, structuredClone(whole));
}
