import { isDeepStrictEqual } from 'node:util';
import { type JsonObject, unescapeSegment } from '../json.ts';
import { candidatesOf } from './candidates.ts';
import { type Break, type Candidate, foundAt, type Site } from './site.ts';
import type { Breach } from './validators.ts';
import type { Values } from './values.ts';
import { View } from './view.ts';

/** Values that violate one constraint each, for every constraint that applies or could apply to the value. */
export function breaksOf(values: Values, schema: JsonObject, value: unknown, limit?: number): Break[] {
  const confirmed = (candidate: Candidate, site: Site): Break | undefined => {
    const breachesOf = (part: unknown) => values.validators.breaches(schema, site.spot.write(part), 'request');
    const found = confirmedPart(candidate, breachesOf);
    return found && site.found(candidate, found.part);
  };
  return foundAt(values, [schema, value], 'break', candidatesOf, confirmed, limit);
}

const composites = new Set(['oneOf', 'anyOf', 'not', 'if', 'contains', 'unevaluatedProperties', 'unevaluatedItems']);

/** The first of a few items, which are generated on demand. */
function* few(parts: Iterable<unknown>, most: number): Generator<unknown> {
  let left = most;
  for (const part of parts) {
    if (left === 0) return;
    left -= 1;
    yield part;
  }
}

/** The first part that violates the candidate's keyword, preferably nothing else. */
function confirmedPart(
  candidate: Candidate,
  breachesOf: (part: unknown) => Breach[],
): { readonly part: unknown } | undefined {
  let second: { part: unknown } | undefined;
  for (const part of few(candidate.parts, 24)) {
    const breaches = breachesOf(part);
    if (breaches.length === 0 || !breaches.every((breach) => isExplained(breach, candidate.pointer, breaches)))
      continue;
    const names = breaches.filter(({ pointer }) => isAt(pointer, candidate.pointer)).map(({ keyword }) => keyword);
    if (candidate.isComposite !== true && !names.includes(candidate.keyword)) continue;
    if (names.every((name) => name === candidate.keyword || composites.has(name))) return { part };
    second ??= { part };
  }
  return second;
}

/** The validator does not escape property names in pointers. */
function isAt(pointer: string, expected: string): boolean {
  return pointer === expected || pointer === expected.replace(/[^/]*$/, unescapeSegment);
}

function isExplained(breach: Breach, pointer: string, breaches: readonly Breach[]): boolean {
  const isWithin = (inner: string, outer: string) => inner === outer || inner.startsWith(`${outer}/`);
  // The validator reports unevaluated properties at the parent of their branch.
  const isAbove = (outer: string) => outer === '' || isWithin(pointer, outer);
  if (isAt(breach.pointer, pointer) || isWithin(breach.pointer, pointer)) return true;
  if (composites.has(breach.keyword) && isAbove(breach.pointer)) return true;
  // Errors of branches that do not apply.
  return breaches.some(
    (other) => composites.has(other.keyword) && isAbove(other.pointer) && isWithin(breach.pointer, other.pointer),
  );
}

export interface Bound extends Break {
  /** The same value with an ordinary value in this place; undefined if there is none. */
  readonly neighbour: unknown;
  /** The chosen `enum` value or branch number; undefined for other keywords. */
  readonly chosen: unknown;
}

/** Valid boundary values for every constraint that applies or could apply to the value. */
export function boundsOf(values: Values, schema: JsonObject, value: unknown): Bound[] {
  const { document } = values;
  const accepts = (whole: unknown) => values.accepts(schema, whole);
  const others = new Map<string, unknown>();
  const accepted = (candidate: Candidate, site: Site): Bound | undefined => {
    const { spot, shape } = site;
    const { source, chosen } = candidate;
    for (const part of few(candidate.parts, 8)) {
      if (!accepts(spot.write(part))) continue;
      const own = source === undefined ? [] : [source];
      if ([...shape.sources, ...own].some((one) => View.of(document, one).states('conditional', true)))
        return undefined;
      const isSame = isDeepStrictEqual(part, spot.value);
      const key = `${spot.pointer} ${JSON.stringify(spot.value)}`;
      if (isSame && !others.has(key)) others.set(key, otherThan(site, accepts));
      const found = site.found(candidate, part);
      // A property without keywords has the nearest place.
      const nearest = () => shape.sources.map((one) => document.placeOf(one)).find((one) => one !== undefined);
      return { ...found, place: found.place ?? nearest(), neighbour: isSame ? others.get(key) : spot.whole, chosen };
    }
    return undefined;
  };
  return foundAt(values, [schema, value], 'bound', candidatesOf, accepted);
}

/** The value with another value at the spot. */
function otherThan(site: Site, accepts: (whole: unknown) => boolean): unknown {
  const { spot } = site;
  const parts = [0, 1, 2].map((seed) => site.generate(spot.schemas, 'some', seed));
  return parts
    .filter((part) => !isDeepStrictEqual(part, spot.value))
    .map(spot.write)
    .find(accepts);
}
