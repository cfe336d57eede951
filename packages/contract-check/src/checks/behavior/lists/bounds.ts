import type { JsonObject } from '../../../json.ts';
import { documentedBound, mentionsUtc } from '../../../run/wording.ts';
import { memberOf, partsOf } from '../resources/schema.ts';
import { both, middleOut, usable } from './candidates.ts';
import { compare, instantOf, isBlank, isDay, isInstant, numberOf } from './compare.ts';
import type { Condition } from './condition.ts';
import type { FullList, Listing } from './listing.ts';
import { distinct, type Match, matchBeginning, type Property, valueIn } from './properties.ts';
import type { Slot } from './slot.ts';

/** Filters by range: `minPrice`, `createdAfter`, `price[gte]`. */

interface Bound {
  readonly side: 'least' | 'most';
  /**
   * Whether the name implies that the bound is included. Some names imply it for numbers and days, but not for
   * timestamps.
   */
  readonly includes: 'always' | 'never' | 'no moments' | undefined;
}

export interface Range extends Bound {
  readonly match: Match;
}

const bounds: Readonly<Record<string, Bound>> = {
  ...words('least', 'always', ['min', 'minimum', 'from', 'since', 'least', 'gte', 'ge']),
  ...words('least', 'never', ['gt']),
  ...words('least', undefined, ['after', 'start', 'above', 'over', 'newer', 'begin', 'low', 'lower']),
  // A period often excludes its end: `from` one midnight `to` the next.
  ...words('most', 'no moments', ['max', 'maximum', 'to', 'until', 'till', 'most']),
  ...words('most', 'always', ['lte', 'le']),
  ...words('most', 'never', ['lt']),
  ...words('most', undefined, ['before', 'end', 'below', 'under', 'older', 'high', 'upper']),
};

function words(side: Bound['side'], includes: Bound['includes'], list: readonly string[]) {
  return Object.fromEntries(list.map((word) => [word, { side, includes }]));
}

/**
 * The property and the side that a range filter applies to: `minPrice`, `price_max`, `createdAfter`, `price[gte]`,
 * `since`.
 */
export function rangeOf(list: FullList, name: readonly string[], description: string): Range | undefined {
  const [first = '', ...rest] = name;
  const last = name.at(-1) ?? '';
  const forms = [
    { bound: bounds[first], words: rest },
    { bound: bounds[last], words: name.slice(0, -1) },
  ];
  for (const form of forms) {
    if (form.bound === undefined || form.words.length === 0) continue;
    const match = matchBeginning(list.properties, form.words) ?? documentedMatch(list, form.words, description);
    if (match !== undefined) return { match, ...form.bound };
  }
  return undefined;
}

/**
 * Matches `minSeats` with `seatCount` and `bornBefore` with `birthDate` if the description mentions only that property.
 */
function documentedMatch({ properties }: FullList, words: readonly string[], description: string): Match | undefined {
  const isNamed = ({ path, words: own }: Property) =>
    path.length === 1 && own.length > 1 && new RegExp(`(?<![\\w-])${path[0]}(?![\\w-])`).test(description);
  const [only, ...others] = properties.filter(isNamed);
  return only === undefined || others.length > 0 || words.length === 0 ? undefined : { property: only, isExact: false };
}

const maxTried = 12;

/** Bounds between rows, and bounds equal to a row's value if it is documented whether they are included. */
export function inRange(listing: Listing, list: FullList, slot: Slot, range: Range): Condition[] {
  const { property, isExact } = range.match;
  const values = distinct(list.rows, property).filter(
    (value) => numberOf(value) !== undefined || instantOf(value) !== undefined,
  );
  if (values.length < 2 || slot.shape.types.has('array') || slot.shape.types.has('object')) return [];
  const sorted = middleOut([...values].sort((left, right) => compare(left, right) ?? 0));
  const isPlain = isSurelyShown(listing, property, values);
  const tells = (condition: Condition, value: boolean) => list.rows.some((row) => condition.holds(row) === value);
  const between = usable(listing, slot, sorted.map(laterThatDay), false)
    .slice(0, maxTried)
    .map((bound) => conditionOf(slot, range, bound, undefined, isPlain))
    .filter((one) => tells(one, false))
    .slice(0, 2);
  const exactly = usable(listing, slot, sorted, false)
    .slice(0, maxTried)
    .flatMap((bound) => {
      const includes = includesBound(slot, range, bound);
      return includes === undefined ? [] : [{ bound, one: conditionOf(slot, range, bound, includes, isPlain) }];
    })
    .filter(({ bound, one }) => list.rows.some((row) => decides(one, row, property, bound)))
    .sort((left, right) => Number(tells(right.one, false)) - Number(tells(left.one, false)))
    .map(({ one }) => one)
    .slice(0, 2);
  const sure = isExact ? between : both(between);
  return [...sure.slice(0, 1), ...both(exactly), ...sure.slice(1)];
}

/** Whether a condition is decidable for a row whose value equals the bound. */
function decides(condition: Condition, row: JsonObject, property: Property, bound: unknown): boolean {
  const value = valueIn(row, property);
  if (isBlank(value) || condition.holds(row) === undefined) return false;
  return isDay(bound) ? String(value).slice(0, 10) === bound : compare(value, bound) === 0;
}

/** A timestamp later than the row's on the same day, which reveals a server that truncates to days. */
function laterThatDay(value: unknown): unknown {
  const time = hasZone(value) ? instantOf(value) : undefined;
  if (time === undefined) return value;
  const later = new Date(time + 2 * 3600 * 1000).toISOString();
  const isSameDay = later.slice(0, 10) === new Date(time).toISOString().slice(0, 10);
  return isSameDay ? (String(value).includes('.') ? later : later.replace(/\.\d+/, '')) : value;
}

function includesBound({ description }: Slot, { side, includes }: Range, bound: unknown): boolean | undefined {
  const documented = documentedBound(description, side);
  if (documented === 'contradictory') return undefined;
  const named =
    includes === undefined || (includes === 'no moments' && instantOf(bound) !== undefined && !isDay(bound))
      ? undefined
      : includes !== 'never';
  if (documented === undefined) return named;
  return named === undefined || named === documented.includes || documented.isExplicit
    ? documented.includes
    : undefined;
}

function conditionOf(
  slot: Slot,
  { match: { property }, side, includes: named }: Range,
  bound: unknown,
  includes: boolean | undefined,
  isPlain: (value: unknown) => boolean,
): Condition {
  // `to` a day leaves open whether it includes timestamps of that day, unless documented.
  const isDocumented = named === 'always' || typeof documentedBound(slot.description, side) === 'object';
  return {
    slot,
    settings: [[slot, bound]],
    label: `${property.name} ${side === 'least' ? 'from' : 'up to'} ${JSON.stringify(bound)}${includes === undefined ? '' : includes ? ' inclusive' : ' exclusive'}`,
    holds: (row) => {
      const value = valueIn(row, property);
      if (isBlank(value)) return undefined;
      if (includes !== undefined && isDocumented && isInstant(value) && isDay(bound))
        return onDay(value, bound, side, includes, mentionsUtc(slot.description));
      const result = compare(value, bound);
      if (result === undefined) return undefined;
      if (result === 0) return isPlain(value) ? includes : undefined;
      return side === 'least' ? result > 0 : result < 0;
    },
  };
}

const hour = 3600 * 1000;

/** Compares a timestamp with a day: in the documented time zone, or in every time zone. */
function onDay(
  value: unknown,
  bound: unknown,
  side: Bound['side'],
  includes: boolean,
  isUtc: boolean,
): boolean | undefined {
  const time = hasZone(value) ? instantOf(value) : undefined;
  const start = instantOf(bound);
  if (time === undefined || start === undefined) return undefined;
  const slack = isUtc ? 0 : 14 * hour;
  const end = start + 24 * hour;
  const isAfter = time >= end + slack;
  const isBefore = time < start - slack;
  const isWithin = time >= start + slack && time < end - slack;
  if (isAfter || isBefore) return side === 'least' ? isAfter : isBefore;
  if (isWithin) return includes;
  if (!includes) return undefined;
  // The row is late enough on this day in every time zone.
  return (side === 'least' ? time >= start + slack && time < end : time < end - slack && time >= start)
    ? true
    : undefined;
}

function hasZone(value: unknown): boolean {
  return typeof value === 'string' && isInstant(value) && /(?:Z|[+-]\d\d:?\d\d)$/.test(value);
}

/** Whether responses show values in full precision: numbers may be rounded, and timestamps truncated. */
export function isSurelyShown(
  { document, rowSchema }: Listing,
  { path }: Property,
  values: readonly unknown[],
): (value: unknown) => boolean {
  let schemas = rowSchema === undefined ? [] : [rowSchema];
  for (const name of path) schemas = memberOf(document, schemas, name);
  const parts = schemas.flatMap((schema) => partsOf(document, schema));
  const isStepped = parts.some(({ type, multipleOf }) => [type].flat().includes('integer') || multipleOf !== undefined);
  // Whole minutes indicate that a person entered the time, not a clock.
  const isSet = values.filter(isWholeMinute).length * 2 >= values.length;
  return (value) => {
    if (typeof value === 'number') return isStepped;
    return isInstant(value) ? isSet && isWholeMinute(value) : true;
  };
}

function isWholeMinute(value: unknown): boolean {
  return hasZone(value) && /:\d\d:00(?:\.0+)?(?:Z|[+-]\d\d:?\d\d)$/.test(String(value));
}
