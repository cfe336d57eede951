import type { JsonObject } from '../../../json.ts';
import { inRange, rangeOf } from './bounds.ts';
import { elements, inferred, middleOut, usable } from './candidates.ts';
import { folded, isDay, isEqual, isInstant, isScalar, mentions } from './compare.ts';
import type { Condition } from './condition.ts';
import type { FullList, Listing } from './listing.ts';
import { distinct, type Match, matchOf, type Property, valueIn } from './properties.ts';
import type { Slot } from './slot.ts';
import { withoutContainer } from './words.ts';

/** The conditions that a slot can be asked for, by its name alone: a value that rows have, one that none has, a range. */
export function conditionsOf(listing: Listing, list: FullList, slot: Slot): Condition[] {
  const { said } = listing;
  if (said.filters === false || slot.said.filter === false) return [];
  const given = slot.said.filter ?? said.filters[slot.name] ?? said.filters[slot.path[0] ?? ''];
  if (given === false) return [];
  const words = given === undefined ? withoutContainer(slot.words) : given.split('.');
  if (given !== undefined) return byMatch(listing, list, slot, matchGiven(list, given));
  const exact = matchOf(list.properties, words);
  const range = exact === undefined ? rangeOf(list, words) : undefined;
  if (range !== undefined) return inRange(listing, list, slot, range);
  const part = exact === undefined ? partOf(list, words) : undefined;
  if (part !== undefined) return containing(listing, list, slot, part);
  return byMatch(listing, list, slot, exact ?? referenceOf(list, words));
}

function matchGiven({ properties }: FullList, name: string): Match | undefined {
  const property = properties.find((one) => one.name === name);
  return property === undefined ? undefined : { property, isExact: true };
}

/** `client` may mean `clientId`, or the id of the `client` in a row. */
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
  const [first, second] = values;
  const several: Condition[] =
    isList &&
    first !== undefined &&
    second !== undefined &&
    listing.reader.callOf([[slot, [first, second]]]) !== undefined
      ? [
          {
            slot,
            settings: [[slot, [first, second]]],
            label: `${property.name} one of ${JSON.stringify([first, second])}`,
            holds: (row) => {
              const either = [isOf(slot, row, property, first), isOf(slot, row, property, second)];
              // Of a list in the row, some filters want any of the values, others want all.
              if (Array.isArray(valueIn(row, property)))
                return either.every((one) => one === false) ? false : undefined;
              return either.includes(true) ? true : either.every((one) => one === false) ? false : undefined;
            },
          },
        ]
      : [];
  const absent = usable(listing, slot, strangers(listing, list, slot, property), isList).map(one);
  const all = [...present.slice(0, 2), ...several, ...absent.slice(0, 1)];
  return isExact ? all : inferred(all);
}

/** Values that no row of the list has. */
export function strangers(
  { session, operation }: Pick<Listing, 'session' | 'operation'>,
  list: FullList,
  slot: Pick<Slot, 'shape' | 'name'>,
  property: Property,
): unknown[] {
  const known = elements(list, property).map(folded);
  const seed = Math.abs(session.seedFor(`${operation.id} ${slot.name} nobody`));
  const hex = seed.toString(16).padStart(12, '0').slice(-12);
  const items = slot.shape.enum ?? property.enum;
  const made = items ?? [
    `0199a1c2-0c01-7c01-8a4f-${hex}`,
    `nobody${hex}`,
    `${(seed % 800_000) + 100_007}`,
    (seed % 800_000) + 100_007,
    `nobody${hex}@example.com`,
  ];
  return made.filter((value) => isScalar(value) && typeof value !== 'boolean' && !known.includes(folded(value)));
}

/** Whether a row has a value, as a filter by equality would see it. */
function isOf(slot: Slot, row: JsonObject, property: Property, wanted: unknown): boolean | undefined {
  const value = valueIn(row, property);
  if (value === undefined) return undefined;
  if (Array.isArray(value)) {
    const scalars = value.filter(isScalar);
    return scalars.length < value.length ? undefined : either(scalars.map((item) => isEqual(item, wanted)));
  }
  const isSame = value === null ? false : isEqual(value, wanted);
  if (isSame !== false || typeof wanted !== 'string') return isSame;
  const isClosed = slot.shape.enum !== undefined || property.enum !== undefined || isDay(wanted) || isInstant(wanted);
  // A free text may be looked for in part, or elsewhere in the row as well.
  return !isClosed && mentions(row, wanted) ? undefined : false;
}

function either(results: readonly (boolean | undefined)[]): boolean | undefined {
  if (results.includes(true)) return true;
  return results.includes(undefined) ? undefined : false;
}

/** `nameContains` and the like. */
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
    .map((wanted) => ({
      slot,
      settings: [[slot, wanted]],
      label: `${property.name} ${kind} ${JSON.stringify(wanted)}`,
      holds: (row) => {
        const value = valueIn(row, property);
        if (typeof value !== 'string') return value === null ? false : undefined;
        const [left, right] = [folded(value), folded(wanted)];
        const isPart =
          kind === 'starts' ? left.startsWith(right) : kind === 'ends' ? left.endsWith(right) : left.includes(right);
        if (!isPart) return false;
        // Whether case matters is the server's to say.
        return value.includes(String(wanted)) ? true : undefined;
      },
    }));
}
