import type { JsonObject } from '../../../json.ts';
import { documentedJoin, requiresExactMatch } from '../../../run/wording.ts';
import { keyOfName, withoutContainer, wordsOf } from '../../../run/words.ts';
import { inRange, rangeOf } from './bounds.ts';
import { both, elements, inferred, middleOut, usable } from './candidates.ts';
import { folded, isDay, isEqual, isInstant, isScalar, mentions } from './compare.ts';
import { and, type Condition, or } from './condition.ts';
import type { FullList, Listing } from './listing.ts';
import { distinct, type Match, matchOf, type Property, valueIn } from './properties.ts';
import type { Slot } from './slot.ts';

/** The conditions that a slot can express, inferred from its name: an existing value, an unused value, or a range. */
export function conditionsOf(listing: Listing, list: FullList, slot: Slot): Condition[] {
  const { vocabulary } = listing;
  if (vocabulary.filters === false || slot.vocabulary.filter === false) return [];
  const declared = slot.vocabulary.filter ?? vocabulary.filters[slot.name] ?? vocabulary.filters[slot.path[0] ?? ''];
  if (declared === false) return [];
  const words = declared === undefined ? withoutContainer(slot.words) : declared.split('.');
  if (declared !== undefined) return byMatch(listing, list, slot, matchByName(list, declared));
  const exact = matchOf(list.properties, words);
  const range = exact === undefined ? rangeOf(list, words, slot.description) : undefined;
  if (range !== undefined) return inRange(listing, list, slot, range);
  const part = exact === undefined ? partOf(list, words) : undefined;
  if (part !== undefined) return containing(listing, list, slot, part);
  return byMatch(
    listing,
    list,
    slot,
    exact ?? referenceOf(list, words) ?? documentedMember(list, words, slot.description),
  );
}

function matchByName({ properties }: FullList, name: string): Match | undefined {
  const property = properties.find((one) => one.name === name);
  return property === undefined ? undefined : { property, isExact: true };
}

/**
 * Matches `country` with the `address` in a row if the description mentions the address, and rows have no other
 * country.
 */
function documentedMember({ properties }: FullList, words: readonly string[], description: string): Match | undefined {
  const alike = properties.filter(({ path }) => keyOfName(path.at(-1) ?? '') === words.join(''));
  const [only] = alike;
  if (only === undefined || alike.length > 1 || only.path.length !== 2) return undefined;
  const container = wordsOf(only.path[0] ?? '').join(' ');
  return wordsOf(description).join(' ').includes(container) ? { property: only, isExact: false } : undefined;
}

/** `client` may mean `clientId`, or the ID of the embedded `client`. */
function referenceOf({ properties }: FullList, words: readonly string[]): Match | undefined {
  const match = matchOf(properties, [...words, 'id']);
  return match === undefined ? undefined : { ...match, isExact: false };
}

function byMatch(listing: Listing, list: FullList, slot: Slot, match: Match | undefined): Condition[] {
  if (match === undefined) return [];
  const { property, isExact } = match;
  const isList = slot.shape.types.has('array');
  if (slot.shape.types.has('object')) return [];
  const one = (value: unknown): Condition => ({
    slot,
    settings: [[slot, isList ? [value] : value]],
    label: `${property.name} = ${JSON.stringify(value)}`,
    holds: (row) => isOf(slot, row, property, value),
  });
  const values = usable(listing, slot, middleOut(elements(list, property)), isList);
  const present = values.map(one);
  const pairs = isList ? several(listing, list, slot, property, values) : [];
  const absent = usable(listing, slot, unusedValues(listing, list, slot, property), isList).map(one);
  const alike = isList || !requiresExactMatch(slot.description) ? [] : nearly(listing, list, slot, property, values);
  const all = [...present.slice(0, isList ? 1 : 2), ...absent.slice(0, 1)];
  const sure = isExact ? all : inferred(all);
  // Other pairs of values confirm the meaning of a pair.
  return [...sure.slice(0, 1), ...both(pairs), ...alike, ...sure.slice(1)];
}

const maxPairs = 60;

/** Two values at once: matches rows with either, or with both if documented. */
function several(
  listing: Listing,
  list: FullList,
  slot: Slot,
  property: Property,
  values: readonly unknown[],
): Condition[] {
  const joined = documentedJoin(slot.description);
  const pairs = values
    .flatMap((first) => values.filter((second) => second !== first).map((second) => [first, second]))
    .slice(0, maxPairs)
    .filter((pair) => listing.reader.callOf([[slot, pair]]) !== undefined)
    .map((pair): Condition => {
      const each = (row: JsonObject) => pair.map((value) => isOf(slot, row, property, value));
      return {
        slot,
        settings: [[slot, pair]],
        label: `${property.name} ${joined === 'all' ? 'all' : 'one'} of ${JSON.stringify(pair)}`,
        holds: (row) => {
          const isMany = Array.isArray(valueIn(row, property));
          if (joined === 'all' && isMany) return and(each(row));
          // For a list in the row, some filters match any value and others all. For a single value, `all` may also mean
          // any.
          const isOpen = joined === 'all' || (joined === undefined && isMany);
          return isOpen && or(each(row)) !== false ? undefined : or(each(row));
        },
      };
    });
  // Prefers pairs where some rows have only the first value and others only the second.
  const worth = ({ settings }: Condition) => {
    const [[, pair] = []] = settings;
    const [first, second] = Array.isArray(pair) ? pair : [];
    const has = (row: JsonObject, value: unknown) => isOf(slot, row, property, value) === true;
    const isOne = list.rows.some((row) => has(row, second) && !has(row, first));
    const isOther = list.rows.some((row) => has(row, first) && !has(row, second));
    return Number(isOne) + Number(isOther);
  };
  return pairs.sort((left, right) => worth(right) - worth(left)).slice(0, 2);
}

/** Texts of rows with changed case or without the last character; no row has them. */
function nearly(
  listing: Listing,
  list: FullList,
  slot: Slot,
  property: Property,
  values: readonly unknown[],
): Condition[] {
  const known = new Set(elements(list, property));
  const texts = values
    .filter((value) => typeof value === 'string' && /^[A-Za-z]{3}/.test(value))
    .slice(0, 6)
    .map(String);
  const created = [
    texts.map((text) => (text === text.toUpperCase() ? text.toLowerCase() : text.toUpperCase())),
    texts.map((text) => text.slice(0, -1)),
  ].map((list) =>
    usable(
      listing,
      slot,
      list.filter((text) => !known.has(text)),
      false,
    ).slice(0, 2),
  );
  const exactly = (expected: unknown): Condition => ({
    slot,
    settings: [[slot, expected]],
    label: `${property.name} exactly ${JSON.stringify(expected)}`,
    holds: (row) => (typeof valueIn(row, property) === 'string' ? valueIn(row, property) === expected : undefined),
  });
  return created.flatMap((expected) => both(expected.map(exactly)));
}

/** Values that no row has. */
export function unusedValues(
  { session, operation }: Pick<Listing, 'session' | 'operation'>,
  list: FullList,
  slot: Pick<Slot, 'shape' | 'name'>,
  property: Property,
): unknown[] {
  const known = elements(list, property).map(folded);
  const seed = Math.abs(session.seedFor(`${operation.id} ${slot.name} nobody`));
  const hex = seed.toString(16).padStart(12, '0').slice(-12);
  const items = slot.shape.enum ?? property.enum;
  const created = items ?? [
    `0199a1c2-0c01-7c01-8a4f-${hex}`,
    `unused${hex}`,
    `${(seed % 800_000) + 100_007}`,
    (seed % 800_000) + 100_007,
    `unused${hex}@example.com`,
  ];
  return created.filter((value) => isScalar(value) && typeof value !== 'boolean' && !known.includes(folded(value)));
}

/** Whether a row has a value according to a filter by equality. */
function isOf(slot: Slot, row: JsonObject, property: Property, expected: unknown): boolean | undefined {
  const value = valueIn(row, property);
  if (value === undefined) return undefined;
  if (Array.isArray(value)) {
    const scalars = value.filter(isScalar);
    return scalars.length < value.length ? undefined : or(scalars.map((item) => isEqual(item, expected)));
  }
  const isSame = value === null ? false : isEqual(value, expected);
  if (isSame !== false || typeof expected !== 'string') return isSame;
  const isClosed =
    slot.shape.enum !== undefined || property.enum !== undefined || isDay(expected) || isInstant(expected);
  // A filter by free text may match parts, or search other properties as well.
  return !isClosed && mentions(row, expected) ? undefined : false;
}

/** Parses `nameContains` and the like. */
function partOf(
  list: FullList,
  name: readonly string[],
): { property: Property; kind: 'contains' | 'starts' | 'ends' } | undefined {
  const text = name.join(' ');
  const found = /^(.+) (contains|like|includes|has|startswith|starts with|prefix|endswith|ends with|suffix)$/.exec(
    text,
  );
  if (found?.[1] === undefined || found[2] === undefined) return undefined;
  const match = matchOf(list.properties, found[1].split(' '));
  if (match === undefined) return undefined;
  const kind = /^(?:start|prefix)/.test(found[2]) ? 'starts' : /^(?:end|suffix)/.test(found[2]) ? 'ends' : 'contains';
  return { property: match.property, kind };
}

function containing(
  listing: Listing,
  list: FullList,
  slot: Slot,
  { property, kind }: { property: Property; kind: 'contains' | 'starts' | 'ends' },
): Condition[] {
  const texts = middleOut(distinct(list.rows, property)).filter(
    (value) => typeof value === 'string' && value.length > 5,
  );
  const parts = texts.map((value) => {
    const text = String(value);
    return kind === 'starts' ? text.slice(0, 5) : kind === 'ends' ? text.slice(-5) : text.slice(1, 6);
  });
  const plain = parts.filter((part) => /^[A-Za-z\d][A-Za-z\d -]*[A-Za-z\d]$/.test(part));
  return usable(listing, slot, plain, false)
    .slice(0, 2)
    .map((expected) => ({
      slot,
      settings: [[slot, expected]],
      label: `${property.name} ${kind} ${JSON.stringify(expected)}`,
      holds: (row) => {
        const value = valueIn(row, property);
        if (typeof value !== 'string') return value === null ? false : undefined;
        const [left, right] = [folded(value), folded(expected)];
        const isPart =
          kind === 'starts' ? left.startsWith(right) : kind === 'ends' ? left.endsWith(right) : left.includes(right);
        if (!isPart) return false;
        // Case sensitivity is not specified.
        return value.includes(String(expected)) ? true : undefined;
      },
    }));
}
