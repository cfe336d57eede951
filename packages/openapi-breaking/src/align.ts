/**
 * Writes two documents in the same form before they are compared: several forms say the same, and Redocly compares the
 * form.
 *
 * - `{ "type": ["string", "null"] }`, and `anyOf` or `oneOf` of a schema and null, if one document has the one form and
 *   the other document the other form;
 * - a union of which one branch is the schema of the other document;
 * - a range of statuses, of which a response has one, or that a failure becomes;
 * - a range of media types, such as any, of which a sender uses one, or which a receiver takes instead of one.
 */
import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject, objectOf } from '../../../openapi/rules/contract.ts';
import { type Bundle, operationsOf, resolved } from './document.ts';

/** Changes both documents. */
export function align(released: Bundle, present: Bundle): void {
  alignMediaTypes(released, present);
  alignNodes({ document: released, node: released }, { document: present, node: present });
}

/** Aligns ranges of media types and of statuses with what they include. */
function alignMediaTypes(released: Bundle, present: Bundle): void {
  const after = new Map(
    operationsOf(present).map((place) => [JSON.stringify([place.root, place.path, place.key]), place]),
  );
  for (const { root, path, key, operation } of operationsOf(released)) {
    const now = after.get(JSON.stringify([root, path, key]))?.operation;
    if (now === undefined) continue;
    const isCalled = root === 'paths';
    const [responses, responsesNow] = [objectOf(operation.responses), objectOf(now.responses)];
    if (isCalled) {
      sendOneOfRange(responses, responsesNow);
      takeOneOfRange(responses, responsesNow);
    }
    const [bodyBefore, bodyAfter] = [contentOf(released, operation.requestBody), contentOf(present, now.requestBody)];
    const contents = Object.keys(responses).map((status) => [
      contentOf(released, responses[status]),
      contentOf(present, responsesNow[status]),
    ]);
    for (const [before, since] of isCalled ? [[bodyBefore, bodyAfter]] : contents) takeOneOfRange(before, since);
    for (const [before, since] of isCalled ? contents : [[bodyBefore, bodyAfter]]) sendOneOfRange(before, since);
  }
}

/** A receiver that takes a range takes each type of it. A caller who compares one status of success does not take others. */
function takeOneOfRange(before: JsonObject = {}, after: JsonObject = {}): void {
  for (const type of Object.keys(before)) {
    const range = Object.keys(after).find((one) => isInRange(type, one) && one !== '2XX');
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

/** Of media types or of statuses. */
function isInRange(type: string, range: string): boolean {
  if (range.endsWith('XX')) return type[0] === range[0];
  return range.endsWith('/*') && (range === '*/*' || type.startsWith(range.slice(0, -1)));
}

function contentOf(document: Bundle, holder: unknown): JsonObject {
  return objectOf(resolved(document, holder).content);
}

interface Side {
  readonly document: Bundle;
  readonly node: unknown;
}

function alignNodes(one: Side, other: Side): void {
  if (isDeepStrictEqual(one.node, other.node)) return;
  if (Array.isArray(one.node) && Array.isArray(other.node)) {
    for (const [index, item] of one.node.entries()) {
      // A new parameter can be between others.
      const { in: place, name } = objectOf(item);
      const isSame = (now: unknown) => objectOf(now).in === place && objectOf(now).name === name;
      const node = place === undefined ? other.node[index] : other.node.find(isSame);
      alignNodes({ ...one, node: item }, { ...other, node });
    }
  }
  if (!isObject(one.node) || !isObject(other.node)) return;
  if (!isUnionWithNull(other.node)) unwrapNull(one.node, one.document);
  if (!isUnionWithNull(one.node)) unwrapNull(other.node, other.document);
  for (const key of ['anyOf', 'oneOf'] as const) {
    wrap(one.node, key, other.node[key]);
    wrap(other.node, key, one.node[key]);
  }
  for (const [key, node] of Object.entries(one.node)) alignNodes({ ...one, node }, { ...other, node: other.node[key] });
}

/** Writes a schema as a union of one, if it is a branch of the other document's union. */
function wrap(node: JsonObject, key: string, branches: unknown): void {
  if (!Array.isArray(branches) || !branches.some((branch) => isDeepStrictEqual(branch, node))) return;
  const branch = { ...node };
  for (const key of Object.keys(node)) delete node[key];
  node[key] = [branch];
}

const isNull = (branch: unknown) => isObject(branch) && branch.type === 'null';

function isUnionWithNull(node: unknown): boolean {
  return isObject(node) && Array.isArray(node.anyOf) && node.anyOf.some(isNull);
}

/** Rewrites a union of a schema that has a type, and null, as that schema with one more type. */
function unwrapNull(node: JsonObject, document: Bundle): void {
  const branches = Array.isArray(node.anyOf) ? node.anyOf : undefined;
  const [branch, ...more] = (branches ?? []).filter((one) => !isNull(one));
  if (branches?.length !== 2 || more.length > 0 || !isObject(branch)) return;
  const schema = resolved(document, branch);
  if (schema.type === undefined || 'const' in schema) return;
  const { anyOf: _, ...own } = node;
  const values = Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {};
  const whole = { ...schema, ...values, type: [schema.type, 'null'].flat(), ...own };
  for (const key of Object.keys(node)) delete node[key];
  Object.assign(node, structuredClone(whole));
}
