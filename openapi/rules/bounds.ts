/**
 * Without bounds, a single call can have values that do not fit into a column, a page or memory, and generated tests do not
 * know the limits. A float cannot represent money exactly: numbers with decimal places are decimal strings.
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
    report(schema, 'Declare the `type` of the value: without it, any value of any size is valid.');
  }
  if (schema.text('format') === 'decimal' && !has('pattern')) {
    report(schema, 'Add a `pattern` to the decimal string: not every tool checks `format`.');
  }
  if (has('enum', 'const')) return;
  if (types.includes('string') && !has('maxLength') && !endsByItself(schema.get('pattern')?.value)) {
    report(schema, 'Add a `maxLength` to the string, or a `pattern` that limits its length.');
  }
  if (types.includes('array') && !has('maxItems')) report(schema, 'Add a `maxItems` to the array.');
  const isAnyArray = types.length > 1 && types.includes('object');
  if (types.includes('array') && !has('items', 'prefixItems') && !isAnyArray)
    report(schema, 'Declare the `items` of the array.');
  if (types.includes('integer') && !has('minimum', 'exclusiveMinimum'))
    report(schema, 'Add a `minimum` to the integer.');
  if (types.includes('integer') && !has('maximum', 'exclusiveMaximum'))
    report(schema, 'Add a `maximum` to the integer.');
  if (types.includes('number')) report(schema, 'Use a decimal string or an integer: a float is not exact.');
});

/**
 * Whether a pattern limits the length of a text: it matches from start to end, and nothing in it repeats without a limit. A
 * `maxLength` next to it would be a second check, for every id of every row.
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
