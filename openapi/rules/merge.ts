/**
 * Merges the parts of an `allOf` of objects into one schema with its own properties. Generators of code disagree about
 * composition: `required` beside an `allOf` whose properties are in another part makes fields optional in several of them.
 */
import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject } from './contract.ts';
import { extensionTable } from './extension-table.ts';

/** The schema that a reference within the bundle leads to. */
export type Resolve = (reference: string) => JsonObject;

/** The schema without `allOf`, its properties those of all parts. @throws Error where two parts cannot be said as one. */
export function merged(schema: JsonObject, resolve: Resolve): JsonObject {
  return partsOf(schema, resolve).reduce((whole, part) => combined(whole, part, resolve), {});
}

/** The parts from the innermost to the outermost: what is said later narrows or describes what is said before. */
function partsOf(schema: JsonObject, resolve: Resolve): JsonObject[] {
  const { $ref, allOf, $defs: _, ...own } = schema;
  const target = typeof $ref === 'string' ? partsOf(inherited(resolve($ref)), resolve) : [];
  const parts = Array.isArray(allOf) ? allOf.filter(isObject).flatMap((part) => partsOf(part, resolve)) : [];
  return [...target, ...parts, own];
}

/** A schema without the extensions that are facts of it alone, such as `x-record`. */
function inherited(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => extensionTable[key]?.ofSchemaAlone !== true));
}

type Combine = (before: unknown, after: unknown, resolve: Resolve) => unknown;

const last: Combine = (_, after) => after;
const closed: Combine = (before, after) => {
  if (before !== false && after !== false) throw new Error('Two parts describe further properties.');
  return false;
};

const combinations: Readonly<Record<string, Combine>> = {
  title: last,
  description: last,
  examples: last,
  required: (before, after) => [...new Set([before, after].flat())],
  minProperties: (before, after) => Math.max(Number(before), Number(after)),
  maxProperties: (before, after) => Math.min(Number(before), Number(after)),
  additionalProperties: closed,
  properties: (before, after, resolve) => {
    const properties: JsonObject = isObject(before) ? { ...before } : {};
    for (const [name, property] of Object.entries(isObject(after) ? after : {})) {
      const known = properties[name];
      properties[name] = isObject(known) && isObject(property) ? narrowed(name, known, property, resolve) : property;
    }
    return properties;
  },
};

function combined(whole: JsonObject, part: JsonObject, resolve: Resolve): JsonObject {
  const result = { ...whole };
  for (const [given, after] of Object.entries(part)) {
    const key = given === 'unevaluatedProperties' ? 'additionalProperties' : given;
    const before = result[key];
    const combine = key.startsWith('x-') ? last : combinations[key];
    if (before === undefined || isDeepStrictEqual(before, after)) result[key] = after;
    else if (combine !== undefined) result[key] = combine(before, after, resolve);
    else throw new Error(`Two parts have \`${key}\`, and there is no rule for how to merge them.`);
  }
  return result;
}

const annotations = /^(title|description|examples|default|deprecated|x-.*)$/;
/** Keywords that a constant, or null alone, makes superfluous. */
const bounds =
  /^(enum|examples|format|pattern|minLength|maxLength|minimum|maximum|items|maxItems|minItems|anyOf|properties|required)$/;

/** A property that a later part narrows: to another schema, a constant, some values of an enum, or null. */
function narrowed(name: string, known: JsonObject, property: JsonObject, resolve: Resolve): JsonObject {
  const words = only(known, (key) => annotations.test(key));
  const says = Object.keys(property).filter((key) => !annotations.test(key));
  if (says.every((key) => isDeepStrictEqual(known[key], property[key]))) return { ...known, ...property };
  const isAnyObject = Object.keys(known).every((key) => key === 'type' || annotations.test(key));
  const isSchema = property.$ref !== undefined || property.allOf !== undefined;
  if (isSchema && known.type === 'object' && isAnyObject) return { ...words, ...property };
  const whole = known.$ref === undefined ? known : merged(known, resolve);
  if (property.type === 'null') return { ...only(words, (key) => key !== 'examples'), ...property };
  if ('const' in property) return { ...only(whole, (key) => !bounds.test(key)), ...property };
  const target = typeof property.$ref === 'string' ? resolve(property.$ref) : undefined;
  if (target !== undefined && (saysAll(target, whole) || isComposedOf(target, known))) return { ...words, ...property };
  const { enum: values, ...others } = property;
  const isSubset = values === undefined || (Array.isArray(whole.enum) && isPartOf(values, whole.enum));
  if (!isSubset || !saysAll(whole, others))
    throw new Error(
      `Two parts describe ${name}, and the later one does not narrow the earlier one in a way that can be merged.`,
    );
  return { ...whole, ...property };
}

/** Whether a schema is another one, referred to, and more: what an event shows of a row, for one. */
function isComposedOf(schema: JsonObject, { $ref }: JsonObject): boolean {
  return (
    $ref !== undefined &&
    Array.isArray(schema.allOf) &&
    schema.allOf.some((part) => isObject(part) && part.$ref === $ref)
  );
}

/** Whether a schema has all keywords of another one. */
function saysAll(schema: JsonObject, other: JsonObject): boolean {
  return Object.entries(other).every(([key, value]) => annotations.test(key) || isDeepStrictEqual(schema[key], value));
}

function only(schema: JsonObject, holds: (key: string) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => holds(key)));
}

function isPartOf(values: unknown, all: readonly unknown[]): boolean {
  return Array.isArray(values) && values.every((value) => all.includes(value));
}
