import type { JsonObject } from '../../../json.ts';
import { withoutContainer } from '../../../run/names.ts';
import { View } from '../../../schema/view.ts';
import type { FullList, Listing, Settings } from './listing.ts';
import type { Slot } from './slots.ts';
import {
  and,
  compare,
  distinct,
  folded,
  instantOf,
  isBlank,
  isDay,
  isEqual,
  isInstant,
  isScalar,
  type Match,
  matchBeginning,
  matchOf,
  mentions,
  numberOf,
  or,
  type Property,
  parts,
  type Truth,
  valueIn,
} from './values.ts';

/** A filter value, and the rows that match it. */
export interface Condition {
  readonly slot: Slot;
  readonly settings: Settings;
  readonly label: string;
  holds(row: JsonObject): Truth;
  /** The same filter with another value. If its meaning is inferred, both must fail before anything is reported. */
  readonly second?: Condition | undefined;
}

/** Counts the rows that definitely match, and those that definitely do not. */
export function reach(list: FullList, { holds }: Condition): { yes: number; no: number } {
  const results = list.rows.map(holds);
  return { yes: results.filter((one) => one === true).length, no: results.filter((one) => one === false).length };
}

/** What a filter compares, and how. `from` and `to` can leave open whether they include their bound. */
interface Meaning extends Match {
  readonly operator: 'is' | 'exists' | 'any' | 'all' | 'from' | 'to' | keyof typeof parts;
  readonly includes?: boolean | 'no moments' | undefined;
  /** Whether the contract declares it, so that days are days in UTC. */
  readonly isDeclared?: boolean;
}

const bounds: readonly (readonly [operator: 'from' | 'to', includes: Meaning['includes'], words: string])[] = [
  ['from', true, 'min minimum from since least gte ge'],
  ['from', false, 'gt'],
  ['from', undefined, 'after start above over newer begin low lower'],
  // A period often excludes its end: `from` one midnight `to` the next.
  ['to', 'no moments', 'max maximum to until till most'],
  ['to', true, 'lte le'],
  ['to', false, 'lt'],
  ['to', undefined, 'before end below under older high upper'],
];

const symbols: Readonly<Record<string, Pick<Meaning, 'operator' | 'includes'>>> = {
  '': { operator: 'is' },
  exists: { operator: 'exists' },
  any: { operator: 'any' },
  all: { operator: 'all' },
  '>=': { operator: 'from', includes: true },
  '>': { operator: 'from', includes: false },
  '<=': { operator: 'to', includes: true },
  '<': { operator: 'to', includes: false },
  contains: { operator: 'contains' },
  starts: { operator: 'starts' },
  ends: { operator: 'ends' },
};

/** What a filter means: as declared, or inferred from its name: `status`, `minPrice`, `createdAfter`, `nameContains`. */
function meaningOf({ declared }: Listing, { properties }: FullList, slot: Slot): Meaning | undefined {
  const filters = declared.filters as Readonly<Record<string, unknown>> | false | undefined;
  if (filters === false) return undefined;
  const stated = slot.declared.filter ?? filters?.[slot.name] ?? filters?.[slot.path[0] ?? ''];
  if (stated === false) return undefined;
  if (typeof stated === 'string') {
    const [name, symbol = ''] = stated.split(' ');
    const property = properties.find((one) => one.name === name);
    return property && { property, isExact: true, isDeclared: true, ...(symbols[symbol] ?? { operator: 'is' }) };
  }
  const words = withoutContainer(slot.words);
  const exact = matchOf(properties, words);
  if (exact !== undefined) return { ...exact, operator: 'is' };
  for (const [word, rest] of [
    [words[0], words.slice(1)],
    [words.at(-1), words.slice(0, -1)],
  ] as const) {
    const [operator, includes] = bounds.find(([, , of]) => of.split(' ').includes(word ?? '')) ?? [];
    const match = operator === undefined || rest.length === 0 ? undefined : matchBeginning(properties, rest);
    if (match !== undefined && operator !== undefined) return { ...match, operator, includes };
  }
  const [, start = '', contains, starts] =
    /^(.+) (?:(contains|like|includes|has)|(startswith|starts with|prefix)|endswith|ends with|suffix)$/.exec(
      words.join(' '),
    ) ?? [];
  const part = matchOf(properties, start.split(' '));
  if (part !== undefined) return { ...part, operator: contains ? 'contains' : starts ? 'starts' : 'ends' };
  // `client` may mean `clientId`, or the ID of the embedded `client`.
  const reference = matchOf(properties, [...words, 'id']);
  return reference && { ...reference, isExact: false, operator: 'is' };
}

/** The conditions that a slot can express: existing values, unused values, pairs, bounds, and parts of texts. */
export function conditionsOf(listing: Listing, list: FullList, slot: Slot): Condition[] {
  const meaning = meaningOf(listing, list, slot);
  if (meaning === undefined || slot.shape.types.has('object')) return [];
  const { operator, property } = meaning;
  const filter = { listing, list, slot, meaning };
  if (operator === 'from' || operator === 'to') return inRange(filter);
  if (operator === 'exists')
    return [true, false].map((value) => ({
      ...{ slot, settings: [[slot, value]], label: `${value ? 'a' : 'no'} ${property.name}` },
      holds: (row) => !isBlank(valueIn(row, property)) === value,
    }));
  return operator in parts ? containing(filter) : equal(filter);
}

/** A slot that filters, with the list to compare with. */
interface Filter {
  readonly listing: Listing;
  readonly list: FullList;
  readonly slot: Slot;
  readonly meaning: Meaning;
}

/** Requires a second failing condition for a meaning that is only inferred. */
function inferred(conditions: readonly Condition[]): Condition[] {
  return conditions.flatMap((condition, index) => {
    const second = conditions.find((_other, at) => at !== index);
    return second === undefined ? [] : [{ ...condition, second }];
  });
}

/** Two conditions of which both must fail. The second is requested only if the first fails. */
function both(conditions: readonly Condition[]): Condition[] {
  return inferred(conditions.slice(0, 2)).slice(0, 1);
}

/** The values of a property, with lists flattened. */
function elements(list: FullList, property: Property): unknown[] {
  return [...new Set(distinct(list.rows, property).flat())].filter(isScalar);
}

/** Starts in the middle of the list: errors at its ends are harder to notice. */
function middleOut(values: readonly unknown[]): unknown[] {
  const middle = Math.floor(values.length / 2);
  return [...values.slice(middle), ...values.slice(0, middle)];
}

/** Values converted to a type that the slot accepts. */
function usable({ listing, slot }: Filter, values: readonly unknown[]): unknown[] {
  const isList = slot.shape.types.has('array');
  const isAllowed = (form: unknown) => listing.callOf([[slot, isList ? [form] : form]]) !== undefined;
  return values
    .flatMap((value) => [value, ...otherForms(value)].filter(isAllowed).slice(0, 1))
    .filter((value) => value !== '');
}

function otherForms(value: unknown): unknown[] {
  const number = typeof value === 'string' ? numberOf(value) : undefined;
  if (number !== undefined) return [number];
  if (isInstant(value)) return [String(value).slice(0, 10)];
  if (isDay(value)) return [`${value}T00:00:00Z`];
  return typeof value === 'number' || typeof value === 'boolean' ? [String(value)] : [];
}

function equal(filter: Filter): Condition[] {
  const { listing, list, slot, meaning } = filter;
  const { property, isExact } = meaning;
  const isList = slot.shape.types.has('array');
  const one = (value: unknown): Condition => ({
    ...{ slot, settings: [[slot, isList ? [value] : value]], label: `${property.name} = ${JSON.stringify(value)}` },
    holds: (row) => isOf(slot, row, property, value),
  });
  const values = usable(filter, middleOut(elements(list, property)));
  const absent = usable(filter, unusedValues(listing, list, slot, property));
  const pairs = isList ? several(filter, values) : [];
  const all = [...values.slice(0, isList ? 1 : 2), ...absent.slice(0, 1)].map(one);
  const sure = isExact ? all : inferred(all);
  // Other pairs of values confirm the meaning of a pair.
  return [...sure.slice(0, 1), ...both(pairs), ...sure.slice(1)];
}

const maxPairs = 60;

/** Two values at once: matches rows with either, or with both if declared. */
function several({ listing, list, slot, meaning }: Filter, values: readonly unknown[]): Condition[] {
  const { property, operator } = meaning;
  const has = (row: JsonObject, value: unknown) => isOf(slot, row, property, value);
  const holds = (row: JsonObject, pair: readonly unknown[]): Truth => {
    const each = pair.map((value) => has(row, value));
    const isMany = Array.isArray(valueIn(row, property));
    if (operator === 'all' && isMany) return and(each);
    // For a list in the row, some filters match any value and others all. For a single value, `all` may also mean any.
    const isOpen = operator === 'all' || (operator !== 'any' && isMany);
    return isOpen && or(each) !== false ? undefined : or(each);
  };
  // Prefers pairs where some rows have only the first value and others only the second.
  const only = (one: unknown, other: unknown) =>
    list.rows.some((row) => has(row, one) === true && has(row, other) !== true);
  const worth = ([one, other]: readonly unknown[]) => Number(only(one, other)) + Number(only(other, one));
  return values
    .flatMap((first) => values.filter((second) => second !== first).map((second) => [first, second]))
    .slice(0, maxPairs)
    .filter((pair) => listing.callOf([[slot, pair]]) !== undefined)
    .sort((left, right) => worth(right) - worth(left))
    .slice(0, 2)
    .map((pair) => ({
      ...{ slot, settings: [[slot, pair]], label: `${property.name} of ${JSON.stringify(pair)}` },
      holds: (row) => holds(row, pair),
    }));
}

export function inOtherCase(text: string): string {
  return text === text.toUpperCase() ? text.toLowerCase() : text.toUpperCase();
}

/** Values that no row has. */
export function unusedValues(
  { session, operation }: Listing,
  list: FullList,
  slot: Pick<Slot, 'shape' | 'name'>,
  property: Property,
): unknown[] {
  const known = elements(list, property).map(folded);
  const seed = Math.abs(session.seedFor(`${operation.id} ${slot.name} nobody`));
  const hex = seed.toString(16).padStart(12, '0').slice(-12);
  const number = (seed % 800_000) + 100_007;
  const texts = [`0199a1c2-0c01-7c01-8a4f-${hex}`, `unused${hex}`, `${number}`, number, `unused${hex}@example.com`];
  return (slot.shape.enum ?? property.enum ?? texts).filter(
    (value) => isScalar(value) && typeof value !== 'boolean' && !known.includes(folded(value)),
  );
}

/** Whether a row has a value according to a filter by equality. */
function isOf(slot: Slot, row: JsonObject, property: Property, expected: unknown): Truth {
  const value = valueIn(row, property);
  if (value === undefined) return undefined;
  if (Array.isArray(value)) return value.every(isScalar) ? or(value.map((item) => isEqual(item, expected))) : undefined;
  const isSame = value === null ? false : isEqual(value, expected);
  if (isSame !== false || typeof expected !== 'string') return isSame;
  const isClosed = (slot.shape.enum ?? property.enum) !== undefined || isDay(expected) || isInstant(expected);
  // A filter by free text may match parts, or search other properties as well.
  return !isClosed && mentions(row, expected) ? undefined : false;
}

function containing(filter: Filter): Condition[] {
  const { list, slot, meaning } = filter;
  const { property, operator } = meaning;
  const kind = operator as keyof typeof parts;
  const pieces = middleOut(distinct(list.rows, property))
    .filter((value) => typeof value === 'string' && value.length > 5)
    .map(String)
    .map((text) => (kind === 'starts' ? text.slice(0, 5) : kind === 'ends' ? text.slice(-5) : text.slice(1, 6)))
    .filter((piece) => /^[A-Za-z\d][A-Za-z\d -]*[A-Za-z\d]$/.test(piece));
  const usual = usable(filter, pieces).slice(0, 2);
  return usual.map((expected) => ({
    ...{ slot, settings: [[slot, expected]], label: `${property.name} ${kind} ${JSON.stringify(expected)}` },
    holds: (row) => {
      const value = valueIn(row, property);
      return value === undefined ? undefined : parts[kind](value, expected);
    },
  }));
}

const maxTried = 12;
const hour = 3600 * 1000;

/** Bounds between rows, and bounds equal to a row's value if it is known whether they are included. */
function inRange(filter: Filter): Condition[] {
  const { listing, list, slot, meaning } = filter;
  const { property, isExact, operator, includes, isDeclared = false } = meaning;
  const values = distinct(list.rows, property).filter((value) => (numberOf(value) ?? instantOf(value)) !== undefined);
  if (values.length < 2 || slot.shape.types.has('array')) return [];
  const sorted = middleOut([...values].sort((left, right) => compare(left, right) ?? 0));
  const isPlain = isSurelyShown(listing, property, values);
  const conditionOf = (bound: unknown, isIn: boolean | undefined): Condition => ({
    slot,
    settings: [[slot, bound]],
    label: `${property.name} ${operator === 'from' ? 'from' : 'up to'} ${JSON.stringify(bound)}${isIn === undefined ? '' : isIn ? ' inclusive' : ' exclusive'}`,
    holds: (row) => {
      const value = valueIn(row, property);
      if (isBlank(value)) return undefined;
      // `to` a day leaves open whether it includes timestamps of that day, unless declared.
      if (isIn !== undefined && (isDeclared || includes === true) && isInstant(value) && isDay(bound))
        return onDay(value, bound, operator === 'from', isIn, isDeclared ? 0 : 14 * hour);
      const result = compare(value, bound);
      if (result === 0) return isPlain(value) ? isIn : undefined;
      return result === undefined ? undefined : operator === 'from' ? result > 0 : result < 0;
    },
  });
  const tells = (condition: Condition) => list.rows.some((row) => condition.holds(row) === false);
  const between = usable(filter, sorted.map(laterThatDay))
    .slice(0, maxTried)
    .map((bound) => conditionOf(bound, undefined))
    .filter(tells)
    .slice(0, 2);
  const exactly = usable(filter, sorted)
    .slice(0, maxTried)
    .flatMap((bound) => {
      const isOpen = includes === 'no moments' && instantOf(bound) !== undefined && !isDay(bound);
      const one = conditionOf(bound, isOpen ? undefined : includes === 'no moments' ? true : includes);
      // Some row must be decided by the bound itself.
      const decides = (row: JsonObject) => {
        const value = valueIn(row, property);
        if (isBlank(value) || one.holds(row) === undefined) return false;
        return isDay(bound) ? String(value).slice(0, 10) === bound : compare(value, bound) === 0;
      };
      return !isOpen && includes !== undefined && list.rows.some(decides) ? [one] : [];
    })
    .sort((left, right) => Number(tells(right)) - Number(tells(left)))
    .slice(0, 2);
  const sure = isExact ? between : both(between);
  return [...sure.slice(0, 1), ...both(exactly), ...sure.slice(1)];
}

/** A timestamp later than the row's on the same day, which reveals a server that truncates to days. */
function laterThatDay(value: unknown): unknown {
  const time = hasZone(value) ? instantOf(value) : undefined;
  if (time === undefined) return value;
  const later = new Date(time + 2 * hour).toISOString();
  const isSameDay = later.slice(0, 10) === new Date(time).toISOString().slice(0, 10);
  return isSameDay ? (String(value).includes('.') ? later : later.replace(/\.\d+/, '')) : value;
}

/** Compares a timestamp with a day, whose start is known up to the slack. */
function onDay(value: unknown, bound: unknown, isFrom: boolean, includes: boolean, slack: number): Truth {
  const time = hasZone(value) ? instantOf(value) : undefined;
  const start = instantOf(bound);
  if (time === undefined || start === undefined) return undefined;
  const end = start + 24 * hour;
  if (time >= end + slack) return isFrom;
  if (time < start - slack) return !isFrom;
  return time >= start + slack && time < end - slack ? includes : undefined;
}

function hasZone(value: unknown): boolean {
  return isInstant(value) && /(?:Z|[+-]\d\d:?\d\d)$/.test(String(value));
}

/** Whether responses show values in full precision: numbers may be rounded, and timestamps truncated. */
export function isSurelyShown(
  { document, rowSchema }: Listing,
  { path }: Property,
  values: readonly unknown[],
): (value: unknown) => boolean {
  const isStepped = path
    .reduce((view, name) => view.member(name), View.of(document, rowSchema))
    .parts.some(({ type, multipleOf }) => [type].flat().includes('integer') || multipleOf !== undefined);
  // Whole minutes indicate that a person entered the time, not a clock.
  const isWholeMinute = (value: unknown) =>
    hasZone(value) && /:\d\d:00(?:\.0+)?(?:Z|[+-]\d\d:?\d\d)$/.test(String(value));
  const isSet = values.filter(isWholeMinute).length * 2 >= values.length;
  return (value) => (typeof value === 'number' ? isStepped : !isInstant(value) || (isSet && isWholeMinute(value)));
}
