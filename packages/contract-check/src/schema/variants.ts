import { isDeepStrictEqual } from 'node:util';
import type { Place } from '../document/document.ts';
import { extensionOf } from '../document/operation.ts';
import { at, cut, isWithin, type JsonObject, jsonText, remembered, unescapeSegment } from '../json.ts';
import { type Candidate, type Kind, sourceOf } from './candidate.ts';
import { candidatesAt } from './constraints.ts';
import { hostileAt } from './hostile.ts';
import { type Spot, spotsOf } from './spots.ts';
import type { Values } from './values.ts';

/** A valid value with one part changed, to test one constraint. */
export interface Variant {
  readonly keyword: string;
  /** Distinguishes variants of the same keyword, such as a type or a property name. */
  readonly detail: string;
  /** JSON Pointer to the part that it is about, or that is missing. */
  readonly pointer: string;
  readonly place: Place | undefined;
  readonly value: unknown;
  /** One clause: "name has 201 characters, which violates maxLength 200". */
  readonly note: string;
  /** Of a valid variant: the same value with an ordinary part in this place; undefined if there is none. */
  readonly neighbour?: unknown;
}

/** Values that violate one constraint each, for every constraint that applies or could apply to the value. */
export const breaksOf = (values: Values, schema: JsonObject, value: unknown) =>
  variantsOf({ values, schema, kind: 'break' }, value);

/** Valid boundary values for every constraint that applies or could apply to the value. */
export const boundsOf = (values: Values, schema: JsonObject, value: unknown) =>
  variantsOf({ values, schema, kind: 'bound' }, value);

/** Valid values that reveal insufficient input handling. */
export const hostileOf = (values: Values, schema: JsonObject, value: unknown, limit = 500) =>
  variantsOf({ values, schema, kind: 'hostile' }, value, limit);

interface Search {
  readonly values: Values;
  readonly schema: JsonObject;
  readonly kind: Kind;
}

function variantsOf(search: Search, value: unknown, limit = 2000): Variant[] {
  const { values, schema, kind } = search;
  const found: Variant[] = [];
  const done = new Map<JsonObject | undefined, Set<string>>();
  for (const spot of spotsOf(values, schema, value)) {
    const candidates = kind === 'hostile' ? hostileAt(values, spot) : candidatesAt(values, spot);
    for (const candidate of candidates) {
      if (candidate.kind !== kind) continue;
      const { keyword, source = sourceOf(spot.shape, keyword), detail = '', pointer = spot.pointer } = candidate;
      const known = remembered(done, source, () => new Set<string>());
      if (known.size === known.add(`${keyword} ${detail} ${pointer}`).size) continue;
      const complete = { ...candidate, source, detail, pointer };
      const variant = kind === 'break' ? invalid(search, spot, complete) : valid(search, spot, complete);
      if (variant !== undefined) found.push(variant);
      if (found.length >= limit) return found;
    }
  }
  return found;
}

/** The first part that violates the keyword, preferably nothing else, and nothing in another place. */
function invalid(search: Search, spot: Spot, candidate: Complete): Variant | undefined {
  const { keyword, pointer } = candidate;
  let second: Variant | undefined;
  for (const part of Iterator.from(candidate.parts).take(24)) {
    const breaches = search.values.validators.tellingBreaches(search.schema, spot.write(part), 'request');
    if (breaches.length === 0 || !breaches.every((breach) => isWithin(breach.pointer, pointer))) continue;
    const keywords = breaches.filter((breach) => breach.pointer === pointer).map((breach) => breach.keyword);
    if (!indirect.has(keyword) && !keywords.includes(keyword)) continue;
    const variant = variantOf(search, spot, candidate, part);
    if (keywords.every((one) => one === keyword)) return variant;
    second ??= variant;
  }
  return second;
}

function valid(search: Search, spot: Spot, candidate: Complete): Variant | undefined {
  const { values, schema } = search;
  const { shape, schemas, name, write } = spot;
  const accepts = (whole: unknown) => values.accepts(schema, whole);
  const part = Iterator.from(candidate.parts)
    .take(8)
    .find((one) => one !== undefined && accepts(write(one)));
  const sources = candidate.source === undefined ? shape.sources : [...shape.sources, candidate.source];
  if (part === undefined || sources.some((one) => extensionOf(one).conditional === true)) return undefined;
  const variant = variantOf(search, spot, candidate, part);
  // A property without keywords has the nearest place.
  const nearest = () => shape.sources.map((one) => values.document.placeOf(one)).find((one) => one);
  const otherHere = () =>
    [0, 1, 2]
      .map((seed) => values.generate(schemas, 'some', seed, name))
      .filter((one) => !isDeepStrictEqual(one, spot.value))
      .map(write)
      .find(accepts);
  const other = isDeepStrictEqual(part, spot.value) ? otherHere() : spot.whole;
  const neighbour = candidate.neighbour === undefined ? other : write(candidate.neighbour);
  return { ...variant, place: variant.place ?? nearest(), neighbour };
}

function variantOf({ values, kind }: Search, spot: Spot, candidate: Complete, part: unknown): Variant {
  const { keyword, detail, pointer, source, place } = candidate;
  const value = spot.write(part);
  const limit = shortened(source?.[keyword]);
  const why = `${keyword}${limit === 'nothing' || limit.endsWith('…') ? '' : ` ${limit}`}`;
  const own = at(value, pointer);
  const note = `${subjectOf(pointer)} ${described(own, keyword)}, ${
    kind === 'break' ? `which violates ${why}` : own === undefined ? 'and is not required' : `as ${why} allows`
  }`;
  const declared = source && values.document.placeOf(source, source[keyword] === undefined ? undefined : keyword);
  return { keyword, detail, pointer, place: place ?? declared, value, note };
}

type Complete = Candidate & Pick<Variant, 'detail' | 'pointer'>;

/** Keywords whose violation is reported at other keywords, such as those of the nearest branch. */
const indirect = new Set(['oneOf', 'anyOf', 'not', 'discriminator']);

/** Formats a pointer for display: `items[0].name`. */
function subjectOf(pointer: string): string {
  const parts = pointer.split('/').slice(1).map(unescapeSegment);
  const text = parts.map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`)).join('');
  return text === '' ? 'the value' : text.replace(/^\./, '');
}

function described(part: unknown, keyword: string): string {
  if (part === undefined) return keyword === 'required' ? 'is omitted' : 'is missing';
  const count =
    typeof part === 'string' ? [...part].length : typeof part === 'object' && part ? Object.keys(part).length : 0;
  const [, unit] = /^(?:min|max)(Length|Items|Properties)$/.exec(keyword) ?? [];
  if (unit === undefined && (typeof part !== 'string' || count < 60)) return `is ${shortened(part)}`;
  return `has ${count} ${{ Items: 'items', Properties: 'properties' }[unit ?? ''] ?? 'characters'}`;
}

const shortened = (part: unknown) => cut(jsonText(part) ?? 'nothing', 60);
