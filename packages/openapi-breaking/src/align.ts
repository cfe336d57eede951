/**
 * Writes two documents in the same form before they are compared: several forms say the same, and Redocly compares the
 * form.
 *
 * - `{ "type": ["string", "null"] }`, and `anyOf` or `oneOf` of a schema and null, if one document has the one form and
 *   the other document the other form;
 * - a schema that is `true` or `false`;
 * - `items` that are anything, and a pattern that every text matches;
 * - a range of media types, such as any, of which a sender uses one, or which a receiver takes instead of one.
 */
import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject, objectOf } from '../../../openapi/rules/contract.ts';
import { type Bundle, operationsOf, valueAt } from './document.ts';

/** Changes both documents. */
export function align(released: Bundle, present: Bundle): void {
  for (const document of [released, present]) normalize(document);
  alignMediaTypes(released, present);
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

function alignMediaTypes(released: Bundle, present: Bundle): void {
  const after = new Map(
    operationsOf(present).map((place) => [JSON.stringify([place.root, place.path, place.key]), place]),
  );
  for (const { root, path, key, operation } of operationsOf(released)) {
    const now = after.get(JSON.stringify([root, path, key]))?.operation;
    if (now === undefined) continue;
    const [bodyBefore, bodyAfter] = [contentOf(released, operation.requestBody), contentOf(present, now.requestBody)];
    const answers = Object.keys(objectOf(operation.responses)).map((status) => [
      contentOf(released, objectOf(operation.responses)[status]),
      contentOf(present, objectOf(now.responses)[status]),
    ]);
    const isCalled = root === 'paths';
    for (const [before, since] of isCalled ? [[bodyBefore, bodyAfter]] : answers) takeOneOfRange(before, since);
    for (const [before, since] of isCalled ? answers : [[bodyBefore, bodyAfter]]) sendOneOfRange(before, since);
  }
}

/** A receiver that takes a range takes each type of it. */
function takeOneOfRange(before: JsonObject = {}, after: JsonObject = {}): void {
  for (const type of Object.keys(before)) {
    const range = Object.keys(after).find((one) => isInRange(type, one));
    if (!(type in after) && range !== undefined) after[type] = after[range];
  }
}

/** A sender that said a range can send any of its types. */
function sendOneOfRange(before: JsonObject = {}, after: JsonObject = {}): void {
  for (const range of Object.keys(before)) {
    if (range in after) continue;
    const types = Object.keys(after).filter((type) => isInRange(type, range));
    for (const type of types) before[type] ??= before[range];
    if (types.length > 0) delete before[range];
  }
}

function isInRange(type: string, range: string): boolean {
  return range.endsWith('/*') && (range === '*/*' || type.startsWith(range.slice(0, -1)));
}

function contentOf(document: Bundle, holder: unknown): JsonObject {
  const target = isObject(holder) && typeof holder.$ref === 'string' ? valueAt(document, holder.$ref) : holder;
  return objectOf(objectOf(target).content);
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
