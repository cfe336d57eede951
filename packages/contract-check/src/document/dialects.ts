import { upgrade } from '@scalar/openapi-upgrader';
import { at, isObject, type JsonObject, parentOf } from '../json.ts';

/** Older dialects of OpenAPI, and habits of authors, are converted when a file is read: all later code handles OpenAPI 3.1. */

/**
 * Converts an object of an OpenAPI 3.0 file in place: `nullable` and boolean exclusive bounds of schemas.
 *
 * @returns an object that was added within it, if any.
 */
export function modernize(node: JsonObject): JsonObject | undefined {
  exclusive(node, 'exclusiveMaximum', 'maximum');
  exclusive(node, 'exclusiveMinimum', 'minimum');
  return node.nullable === true ? allowNull(node) : undefined;
}

function allowNull(schema: JsonObject): JsonObject | undefined {
  delete schema.nullable;
  if (typeof schema.type === 'string') schema.type = [schema.type, 'null'];
  if (Array.isArray(schema.enum) && !schema.enum.includes(null)) schema.enum.push(null);
  // In 3.0, `nullable` requires a sibling `type`. Authors and generators omit it beside references.
  if (schema.type !== undefined || !['allOf', 'oneOf', 'anyOf'].some((key) => key in schema)) return undefined;
  const inner = { ...schema };
  for (const key of Object.keys(schema)) delete schema[key];
  schema.anyOf = [inner, { type: 'null' }];
  return inner;
}

function exclusive(schema: JsonObject, flag: string, bound: string): void {
  if (typeof schema[flag] !== 'boolean') return;
  const isExclusive = schema[flag];
  delete schema[flag];
  if (!isExclusive || typeof schema[bound] !== 'number') return;
  schema[flag] = schema[bound];
  delete schema[bound];
}

/** Adds the members of YAML merge keys, which YAML 1.2 reads as properties. Own members take precedence. */
export function mergeKeys(node: JsonObject): void {
  const merged = node['<<'];
  const sources = [merged].flat().filter(isObject);
  if (merged === undefined || sources.length === 0) return;
  delete node['<<'];
  for (const source of sources)
    for (const [key, value] of Object.entries(source)) if (!(key in node)) node[key] = value;
}

/** Words of a literal in a union. */
const ofLiteral = new Set(['const', 'description', 'enum', 'title', 'type']);

/** Writes a union of literals, as TypeBox and Zod describe a choice of words, as an enum. */
export function mergeLiterals(node: JsonObject): void {
  for (const key of ['anyOf', 'oneOf']) {
    const branches = Array.isArray(node[key]) ? node[key].filter(isObject) : [];
    const literals = branches.map((one) => ('const' in one ? [one.const] : one.type === 'null' ? [null] : one.enum));
    const isEach = branches.every((one) => Object.keys(one).every((name) => ofLiteral.has(name)));
    const isChoice = literals.flat().filter((value) => typeof value === 'string').length > 1;
    if (!isChoice || !isEach || !literals.every(Array.isArray) || 'enum' in node) continue;
    delete node[key];
    node.enum = literals.flat();
  }
}

export function upgraded(document: JsonObject): JsonObject {
  const converted: unknown = upgrade(structuredClone(document), '3.1');
  return isObject(converted) ? converted : {};
}

/** Where the source of a part of an upgraded document is: at the nearest part that both have. */
export function sourceOf(pointer: string, document: JsonObject): string {
  let own = pointer.replace(/^#\/components\/schemas/, '#/definitions');
  while (own !== '#' && at(document, own.slice(1)) === undefined) own = parentOf(own);
  return own;
}
