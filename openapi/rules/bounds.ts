/**
 * Without bounds a single call can carry what no column, page or memory holds, and generated tests cannot know the
 * edges. And a float cannot hold money: numbers that are not whole are decimal strings here.
 */
import type { Place } from './contract.ts';
import { eachSchema, typesOf } from './schemas.ts';

/** They take any JSON: a payload to sign, and the default of a field whose type is data. The body limit bounds them. */
const anyJson = new Set(['TestPayload', 'defaultValue']);

export const bounds = eachSchema((schema, report) => {
  const types = typesOf(schema);
  const has = (...keywords: string[]) => keywords.some((keyword) => schema.get(keyword) !== undefined);
  const isNamed = schema.name !== undefined && has('allOf');
  const isShaped =
    isNamed || has('properties', 'items') || (isValue(schema) && !has('allOf', 'anyOf', 'oneOf', 'const'));
  if (types.length === 0 && isShaped) {
    report(schema, 'Say the `type` of the value: without one it takes anything of any size.');
  }
  if (schema.text('format') === 'decimal' && !has('pattern')) {
    report(schema, 'Give the decimal string a `pattern`: `format` alone is not checked everywhere.');
  }
  if (has('enum', 'const')) return;
  if (types.includes('string') && !has('maxLength') && !endsByItself(schema.get('pattern')?.value)) {
    report(schema, 'Give the string a `maxLength`, or a `pattern` that bounds it.');
  }
  if (types.includes('array') && !has('maxItems')) report(schema, 'Give the array a `maxItems`.');
  const isAnyArray = types.length > 1 && types.includes('object');
  if (types.includes('array') && !has('items', 'prefixItems') && !isAnyArray)
    report(schema, 'Say the `items` of the array.');
  if (types.includes('integer') && !has('minimum', 'exclusiveMinimum')) report(schema, 'Give the integer a `minimum`.');
  if (types.includes('integer') && !has('maximum', 'exclusiveMaximum')) report(schema, 'Give the integer a `maximum`.');
  if (types.includes('number')) report(schema, 'Use a decimal string or an integer: a float is not exact.');
});

/**
 * Whether a pattern holds a text to a length by itself: from start to end, and nothing in it repeats without a limit. A
 * `maxLength` beside it would only be tested a second time, for every id of every row.
 */
function endsByItself(pattern: unknown): boolean {
  if (typeof pattern !== 'string' || !/^\^.*\$$/.test(pattern)) return false;
  const withoutClasses = pattern.replaceAll(/\\./g, '').replaceAll(/\[[^\]]*\]/g, '');
  return !/[*+]|\{\d+,\}/.test(withoutClasses);
}

/** Properties, elements, bodies and named schemas are values; members of `allOf` and the like only add to one. */
function isValue(schema: Place): boolean {
  const { pointer } = schema.location;
  if (/\/(allOf|anyOf|oneOf)\//.test(pointer) || anyJson.has(schema.name ?? pointer.split('/').at(-1) ?? ''))
    return false;
  return schema.name !== undefined || /\/(properties\/[^/]+|items|additionalProperties|schema)$/.test(pointer);
}
