import { isObject, type JsonObject } from '../json.ts';

/**
 * Converts the schemas of an OpenAPI 3.0 file to 3.1 in place: `nullable`, boolean exclusive bounds and `example`. All
 * later code handles one dialect.
 */
export function modernize(file: JsonObject): void {
  walk(file);
}

function walk(node: unknown): void {
  if (Array.isArray(node)) for (const item of node) walk(item);
  if (!isObject(node)) return;
  for (const child of Object.values(node)) walk(child);
  if (node.nullable === true) allowNull(node);
  exclusive(node, 'exclusiveMinimum', 'minimum');
  exclusive(node, 'exclusiveMaximum', 'maximum');
}

function allowNull(schema: JsonObject): void {
  delete schema.nullable;
  // In 3.0, `nullable` requires a sibling `type`.
  if (typeof schema.type === 'string') schema.type = [schema.type, 'null'];
  if (Array.isArray(schema.enum) && !schema.enum.includes(null)) schema.enum.push(null);
}

function exclusive(schema: JsonObject, flag: string, bound: string): void {
  if (typeof schema[flag] !== 'boolean') return;
  const isExclusive = schema[flag];
  delete schema[flag];
  if (!isExclusive || typeof schema[bound] !== 'number') return;
  schema[flag] = schema[bound];
  delete schema[bound];
}
