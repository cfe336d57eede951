import type { JsonObject } from '../json.ts';

/**
 * Converts an object of an OpenAPI 3.0 file to 3.1 in place: `nullable` and boolean exclusive bounds of schemas. All
 * later code handles one dialect.
 */
export function modernize(node: JsonObject): void {
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
