import { isDeepStrictEqual } from 'node:util';
import type { OpenApiDocument } from '../document/document.ts';
import { type JsonObject, unescapeSegment } from '../json.ts';
import { candidatesOf } from './candidates.ts';
import { extensionsIn } from './parts.ts';
import { type Break, type Candidate, foundAt, placeOf, type Site } from './site.ts';
import type { Breach, Direction, Validators } from './validators.ts';

/** Values that violate one constraint each, for every constraint that applies or could apply to the value. */
export function breaksOf(
  document: OpenApiDocument,
  validators: Validators,
  schema: JsonObject,
  value: unknown,
  direction: Direction = 'request',
  { limit = 2000 }: { readonly limit?: number } = {},
): Break[] {
  const confirmed = (candidate: Candidate, { spot }: Site): Break | undefined => {
    const { keyword, pointer, source, note } = candidate;
    const found = confirmedPart(candidate, (part) => validators.breaches(schema, spot.write(part), direction));
    if (found === undefined) return undefined;
    const { part } = found;
    return { keyword, pointer, place: placeOf(document, source, keyword), value: spot.write(part), note: note(part) };
  };
  return foundAt(document, validators, [schema, value, direction], 'break', candidatesOf, confirmed, limit);
}

const composites = new Set(['oneOf', 'anyOf', 'not', 'if', 'contains', 'unevaluatedProperties', 'unevaluatedItems']);

/** The first part that violates the candidate's keyword, preferably nothing else. */
function confirmedPart(
  candidate: Candidate,
  breachesOf: (part: unknown) => Breach[],
): { readonly part: unknown } | undefined {
  let second: { part: unknown } | undefined;
  let tries = 0;
  for (const part of candidate.parts) {
    tries += 1;
    if (tries > 24) break;
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
export function boundsOf(
  document: OpenApiDocument,
  validators: Validators,
  schema: JsonObject,
  value: unknown,
  direction: Direction = 'request',
): Bound[] {
  const accepts = (whole: unknown) => validators.accepts(schema, whole, direction);
  const others = new Map<string, unknown>();
  const accepted = (candidate: Candidate, site: Site): Bound | undefined => {
    const { spot, shape } = site;
    const { keyword, source, pointer, chosen, note } = candidate;
    let tries = 0;
    for (const part of candidate.parts) {
      tries += 1;
      if (tries > 8) return undefined;
      const whole = spot.write(part);
      if (!accepts(whole)) continue;
      const own = source === undefined ? [] : [source];
      if (extensionsIn(document, [...shape.sources, ...own]).some(({ conditional }) => conditional === true))
        return undefined;
      const key = `${spot.pointer} ${JSON.stringify(spot.value)}`;
      if (isDeepStrictEqual(part, spot.value) && !others.has(key)) others.set(key, otherThan(site, accepts));
      // A property without keywords has the nearest place.
      const nearest = shape.sources.map((one) => document.placeOf(one)).find((one) => one !== undefined);
      const place = candidate.place ?? placeOf(document, source, keyword) ?? nearest;
      const neighbour = isDeepStrictEqual(part, spot.value) ? others.get(key) : spot.whole;
      return { keyword, pointer, place, value: whole, note: note(part), neighbour, chosen };
    }
    return undefined;
  };
  return foundAt(document, validators, [schema, value, direction], 'bound', candidatesOf, accepted);
}

/** The value with another value at the spot. */
function otherThan({ spot, values, direction }: Site, accepts: (whole: unknown) => boolean): unknown {
  const parts = [0, 1, 2].map((seed) => values.generate(spot.schemas, direction, 'some', seed, spot.name));
  return parts
    .filter((part) => !isDeepStrictEqual(part, spot.value))
    .map(spot.write)
    .find(accepts);
}
