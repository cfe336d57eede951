import { type Schema, schemaOf } from '../../src/contract/contract.ts';
import { resolved } from '../../src/contract/fields.ts';

/** A value of a request that the contract limits. */
export interface Place {
  /** JSON Pointer; the first item of a list stands for all. */
  readonly pointer: string;
  readonly schema: PlainSchema;
}

/** Values at the bounds of a schema, and the closest ones beyond them. */
export interface Extremes {
  readonly at: readonly unknown[];
  readonly over: readonly unknown[];
}

/** A schema without references and alternatives. */
export interface PlainSchema extends Schema {
  /** All of them apply: that of a reference, too, beside which another one is. */
  readonly patterns: readonly string[];
}

/** Resolves references, and of alternatives takes the one that is not null. */
export function plain(schema: Schema): PlainSchema {
  const outer = resolved(schema);
  const patterns = patternsOf(schema);
  const { anyOf, oneOf, ...others } = outer;
  const main = [...(anyOf ?? []), ...(oneOf ?? [])].find((one) => {
    const { type, properties } = resolved(one);
    return type !== 'null' && (type !== undefined || properties !== undefined);
  });
  if (main === undefined || outer.properties !== undefined) return { ...outer, patterns };
  const inner = plain(main);
  return { ...inner, ...others, patterns: [...inner.patterns, ...patterns] };
}

function patternsOf({ $ref, pattern }: Schema): string[] {
  return [...(pattern === undefined ? [] : [pattern]), ...($ref === undefined ? [] : patternsOf(schemaOf($ref)))];
}

/** Whether a text matches all patterns, and is not too long. */
export function isAccepted({ patterns, maxLength = Number.POSITIVE_INFINITY }: PlainSchema, text: string): boolean {
  return text.length <= maxLength && patterns.every((pattern) => new RegExp(pattern).test(text));
}

export function hasType({ type }: Schema, name: string): boolean {
  return [type ?? []].flat().includes(name);
}

/** Returns the limited values of a schema, at any depth. */
export function placesIn(schema: Schema, pointer = '', depth = 0): Place[] {
  const own = plain(schema);
  if (depth > 4) return [];
  const inside = Object.entries(own.properties ?? {}).flatMap(([name, member]) =>
    placesIn(member, `${pointer}/${name}`, depth + 1),
  );
  const items = own.items === undefined ? [] : placesIn(own.items, `${pointer}/0`, depth + 1);
  const { at, over } = extremesOf(own, 0);
  const isList = own.items !== undefined && own.maxItems !== undefined;
  return [...(isList || at.length + over.length > 0 ? [{ pointer, schema: own }] : []), ...inside, ...items];
}

/** @param count makes texts unique */
export function extremesOf(schema: PlainSchema, count: number): Extremes {
  if (schema.enum !== undefined) return { at: [], over: [] };
  if (schema.format === 'decimal') return decimals(schema);
  if (hasType(schema, 'integer')) return integers(schema);
  return hasType(schema, 'string') ? texts(schema, count) : { at: [], over: [] };
}

/** The contract limits decimals by a pattern: the extremes are found by probes of any number of digits. */
export function decimalsAccepted(schema: PlainSchema): readonly string[] {
  const { 'x-scale': scale = 0 } = schema;
  const part = '9'.repeat(scale);
  const wholes = [...Array.from({ length: 20 }, (_, index) => '9'.repeat(index + 1)), '100', '1', '0'];
  const texts = wholes.flatMap((whole) =>
    scale === 0 ? [whole] : [`${whole}.${part}`, `${whole}.${'0'.repeat(scale)}`],
  );
  return [...texts, ...texts.map((text) => `-${text}`)].filter((text) => isAccepted(schema, text));
}

function decimals(schema: PlainSchema): Extremes {
  const sorted = decimalsAccepted(schema).toSorted((one, other) => Number(one) - Number(other));
  const [least, most] = [sorted[0], sorted.at(-1)];
  if (least === undefined || most === undefined) return { at: [], over: [] };
  const places = most.includes('.') ? `.${'0'.repeat(most.length - most.indexOf('.') - 1)}` : '';
  const beyond = `${Number(most) > 100 || !most.startsWith('100') ? `1${'0'.repeat(most.split('.')[0]?.length ?? 0)}` : '101'}${places}`;
  return { at: [...new Set([most, least])], over: [beyond, `-${beyond}`] };
}

function integers({ minimum, maximum }: Schema): Extremes {
  const bounds = [minimum, maximum].filter((bound) => bound !== undefined);
  const over = [...(minimum === undefined ? [] : [minimum - 1]), ...(maximum === undefined ? [] : [maximum + 1])];
  return { at: [...new Set(bounds)], over };
}

/** The longest text without a format has characters that take four bytes, or two units of UTF-16. */
function texts(schema: PlainSchema, count: number): Extremes {
  const { maxLength, patterns, format } = schema;
  if (maxLength === undefined) return { at: [], over: [] };
  const number = String(count);
  const fill = (character: string, length: number) =>
    `${character.repeat(Math.max(length - number.length, 0))}${number}`;
  if (format === 'email') {
    const domain = `@${'d'.repeat(60)}.${'e'.repeat(60)}.${'f'.repeat(60)}.example`;
    const at = (length: number) => fill('a', length - domain.length) + domain;
    return { at: [at(maxLength)], over: [at(maxLength + 1)] };
  }
  if (format === 'uri') {
    const at = (length: number) => `https://example.com/${fill('a', length - 20)}`;
    return { at: [at(maxLength)], over: [at(maxLength + 1)] };
  }
  if (patterns.length === 0)
    return format === undefined
      ? { at: [fill('😀', maxLength)], over: [fill('😀', maxLength + 1)] }
      : { at: [], over: [] };
  const at = ['A', 'a']
    .map((character) => character + fill(character, maxLength - 1))
    .find((text) => isAccepted(schema, text));
  return at === undefined ? { at: [], over: [] } : { at: [at], over: [`${at}0`] };
}

/** The schema of the attributes of a type that callers write. */
export function attributesOf(type: string): Schema {
  return schemaOf(`${type}Fields`);
}
