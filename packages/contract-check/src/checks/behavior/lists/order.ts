import { type Shape, shapeOf } from '../../../document/shape.ts';
import { asText, isObject, isScalar, type JsonObject } from '../../../json.ts';
import { wordsOf } from '../../../run/names.ts';
import { dice, shuffled } from '../../../schema/numbers.ts';
import { type Difference, type Differences, text } from '../../observe.ts';
import { isSurelyShown } from './conditions.ts';
import {
  type FullList,
  finding,
  type ListCheck,
  type Listing,
  type ListSubject,
  type Page,
  type Settings,
} from './listing.ts';
import { type Direction, directionOf, type Slot } from './slots.ts';
import { compare, distinct, matchBeginning, type Property, valueIn } from './values.ts';

interface OrderKey {
  readonly property: Property;
  /** Undefined if it is not specified: `sort=price` may be either. */
  readonly isDescending: boolean | undefined;
  readonly nulls?: Direction['nulls'];
  /** The value to send, or one item of it. */
  readonly unit?: unknown;
  /** Settings to send in addition, such as the direction. */
  readonly extra?: Settings;
  readonly label: string;
}

interface Ordering {
  readonly keys: readonly OrderKey[];
  /** Maximum number of keys in one request. */
  readonly most: number;
  settings(keys: readonly OrderKey[]): Settings;
}

function orderingOf(listing: Listing, properties: readonly Property[]): Ordering | undefined {
  const { controls, declared, document } = listing;
  const { order: slot, direction } = controls;
  if (slot === undefined || declared.order === false) return undefined;
  const isList = slot.shape.types.has('array');
  const item = isList && slot.shape.items !== undefined ? shapeOf(document, ...slot.shape.items) : slot.shape;
  const isObjects = item.types.has('object') && item.properties.size > 0;
  const units: unknown[] = isObjects ? objectUnits(listing, item) : wordUnits(listing, slot, item);
  const ways = (direction?.shape.enum ?? []).filter((way) => directionOf(way) !== undefined);
  const keys = units.flatMap((unit): OrderKey[] => {
    const { field, isDescending, nulls } = partsOf(unit);
    const property = matchBeginning(properties, wordsOf(field))?.property;
    if (property === undefined) return [];
    const key = (way: Partial<Direction>, ...extra: Settings): OrderKey => {
      const label = [unit, ...extra.map(([, value]) => value)].map(asText).join(' ');
      return { property, isDescending: way.isDescending, nulls: way.nulls, unit, extra, label };
    };
    if (isDescending !== undefined) return [key({ isDescending, nulls })];
    if (units.includes(`-${unit}`)) return [key({ isDescending: false })];
    if (direction === undefined || ways.length === 0) return [key({})];
    return ways.map((way) => key(directionOf(way) ?? {}, [direction, way]));
  });
  if (keys.length === 0) return undefined;
  return {
    keys,
    most: isList ? slot.shape.maxItems : 1,
    settings: (chosen) => [
      [slot, isList ? chosen.map(({ unit }) => unit) : chosen[0]?.unit],
      ...chosen.flatMap(({ extra }) => extra ?? []),
    ],
  };
}

/** Units such as `{ name: 'asc' }` or `{ field: 'name', direction: 'asc' }`. */
function objectUnits({ document }: Listing, item: Shape): JsonObject[] {
  const members = [...item.properties].flatMap(([name, schemas]) =>
    (shapeOf(document, ...schemas).enum ?? []).map((word) => ({ name, word })),
  );
  const ways = members.filter(({ word }) => directionOf(word) !== undefined);
  const fields = members.filter(
    ({ name, word }) =>
      /^(?:field|by|key|column|property|attribute|name)$/i.test(name) && directionOf(word) === undefined,
  );
  const unit = (...parts: typeof members) => Object.fromEntries(parts.map(({ name, word }) => [name, word]));
  if (fields.length === 0) return ways.map((way) => unit(way));
  return fields.flatMap((field) => (ways.length === 0 ? [unit(field)] : ways.map((way) => unit(field, way))));
}

/** Words such as `name`, `-name`, `name:desc` and `name_asc`. */
function wordUnits({ declared }: Listing, slot: Slot, item: Shape): string[] {
  const listed = slot.declared.order ?? declared.order;
  // If any text is allowed, only the default and the examples are known to be supported.
  const free = [slot.default, ...slot.shape.examples, ...item.examples]
    .flat()
    .filter((word) => !String(word).includes(','));
  return [...new Set(Array.isArray(listed) ? listed : (item.enum ?? free))].filter(
    (word): word is string => typeof word === 'string' && word !== '',
  );
}

interface Parts extends Partial<Direction> {
  readonly field: string;
}

function partsOf(unit: unknown): Parts {
  if (isObject(unit)) {
    const members = Object.entries(unit);
    const way = members.find(([, value]) => directionOf(value) !== undefined);
    const other = members.find((one) => one !== way);
    return { field: String(other?.[1] ?? way?.[0]), ...directionOf(way?.[1]) };
  }
  const [, sign, name] = /^([-+])(.+)$/.exec(String(unit)) ?? [];
  if (name !== undefined) return { field: name, isDescending: sign === '-' };
  const words = wordsOf(String(unit));
  const way = words.length > 1 ? directionOf(words.at(-1)) : undefined;
  return { field: way === undefined ? String(unit) : words.slice(0, -1).join(' '), ...way };
}

/** The keys that `x-contract-check` declares: `sorted: [-createdAt, id]`, the default order, or `ties: id`, the last key of every order. */
function declaredKeys({ properties }: FullList, words: unknown): OrderKey[] {
  return [words].flat().flatMap((word) => {
    const { field, isDescending } = partsOf(word);
    const property = properties.find(({ name }) => name === field);
    return property === undefined ? [] : [{ property, isDescending, label: property.name }];
  });
}

/** Enum values may sort in an order that the contract does not specify. */
function isNamed({ enum: words }: Property): boolean {
  return words?.some((word) => typeof word === 'string') === true;
}

/** The first deviation from an order, if it is one in all plausible collations. */
function breaches(
  { listing }: ListSubject,
  rows: readonly JsonObject[],
  keys: readonly OrderKey[],
  pages: readonly Page[],
): Difference[] {
  const { declared } = listing;
  const ofAll = (['first', 'last'] as const).find((one) => one === declared.nulls);
  const folded = (value: unknown) =>
    declared.ignoresCase === true && typeof value === 'string' ? value.toLowerCase() : value;
  const shownIn = new Map(
    keys.map(({ property }) => [property, isSurelyShown(listing, property, distinct(rows, property))]),
  );
  /** How a key orders two values: positive if they are in the wrong order, undefined if that is not specified. */
  const ranked = ({ property, isDescending, nulls = ofAll }: OrderKey, one: unknown, other: unknown) => {
    if (one === undefined || other === undefined) return undefined;
    if (one === other) return one === null || shownIn.get(property)?.(one) ? 0 : undefined;
    if (one === null || other === null) return nulls && ((one === null) === (nulls === 'first') ? -1 : 1);
    const result = isNamed(property) ? undefined : compare(folded(one), folded(other));
    return result && (isDescending ? -result : result);
  };
  const reach = rows.length > 60 ? 2 : rows.length;
  const breachIn = (keys: readonly OrderKey[], row: JsonObject, next: JsonObject) => {
    for (const [place, key] of keys.entries()) {
      const [one, other] = [row, next].map((of) => valueIn(of, key.property));
      const rank = ranked(key, one, other);
      if (rank !== 0) return rank !== undefined && rank > 0 ? [{ place, one, other }] : [];
    }
    return [];
  };
  const breachOf = (keys: readonly OrderKey[]) =>
    rows
      .flatMap((row, index) => rows.slice(index + 1, index + 1 + reach).flatMap((next) => breachIn(keys, row, next)))
      .sort((left, right) => left.place - right.place)[0];
  // If a direction is not specified, both must be wrong.
  const [breach, reversed] = [false, true].map((way) =>
    breachOf(keys.map((key) => ({ ...key, isDescending: key.isDescending ?? way }))),
  );
  if (breach === undefined || reversed === undefined) return [];
  const { place, one, other } = breach;
  const isOfNulls = one === null || other === null;
  const check = isOfNulls ? 'order-nulls' : place > 0 ? 'order-ties' : 'order-ignored';
  const words = keys.map(({ label, isDescending }) => `${label}${isDescending ? ' descending' : ''}`).join(', ');
  const facts = { expected: `order by ${words}`, actual: `${text(one)} is before ${text(other)}` };
  const exchanges = pages.map(({ exchange }) => exchange);
  return [finding(listing, check, listing.controls.order, { ...facts, exchanges })];
}

const maxProperties = 8;

export function* orderChecks({ listing, list }: ListSubject): Generator<ListCheck> {
  const sorted = declaredKeys(list, listing.declared.sorted).map(({ isDescending = false, ...key }) => ({
    ...key,
    isDescending,
  }));
  const { order, direction } = listing.controls;
  if (listing.declared.order !== false && (order ?? direction) === undefined && sorted.length > 0)
    yield async function* declaredOrder(subject) {
      yield* breaches(subject, subject.list.rows, sorted, subject.list.pages);
    };
  const tells = (property: Property) => {
    const values = distinct(list.rows, property);
    return values.length > 1 && values.every(isScalar) && !isNamed(property);
  };
  if (order === undefined && direction !== undefined)
    yield (subject) => directed(subject, direction, list.properties.filter(tells));
  const ordering = orderingOf(listing, list.properties);
  if (ordering === undefined) return;
  const telling = [...new Set(ordering.keys.map(({ property }) => property))].filter(tells);
  const roll = dice(listing.session.seedFor(`${listing.operation.id} order`));
  // One key for each combination of direction and nulls. The property does not matter.
  const nulls = ordering.keys.filter(
    ({ nulls: at, property }) => at && tells(property) && list.rows.some((row) => valueIn(row, property) === null),
  );
  const requests = [
    ...shuffled(telling, roll)
      .slice(0, maxProperties)
      .flatMap((property) => keysOf(ordering, property).map((key) => [key])),
    ...[...new Map(nulls.map((one) => [`${one.isDescending} ${one.nulls}`, one])).values()].map((key) => [key]),
    ...tiePairs(list, ordering, tells),
  ];
  for (const keys of requests) yield (subject) => ordered(subject, ordering, keys);
}

/** Whether all properties by which a page is ordered have the opposite of the requested direction. */
async function* directed(subject: ListSubject, direction: Slot, properties: readonly Property[]): Differences {
  const { listing } = subject;
  for (const word of direction.shape.enum ?? []) {
    const way = directionOf(word);
    if (way === undefined) continue;
    const page = await listing.page([...listing.widest, [direction, word]]);
    const telling = properties.filter((property) => distinct(page.rows, property).length > 2);
    const against = (isDescending: boolean) =>
      telling.map((property) =>
        breaches(subject, page.rows, [{ property, isDescending, label: property.name }], [page]),
      );
    const [own, opposite] = [against(way.isDescending), against(!way.isDescending)];
    const place = opposite.findIndex((found) => found.length === 0);
    if (place >= 0 && own.every((found) => found.length > 0)) return yield* own[place] ?? [];
  }
}

function keysOf(ordering: Ordering, property: Property): OrderKey[] {
  const own = ordering.keys.filter((key) => key.property === property && key.nulls === undefined);
  return [false, true, undefined].flatMap((way) => own.find((key) => key.isDescending === way) ?? []);
}

/** A page has the requested order, with nulls and ties where the request or the contract has them. */
async function* ordered(subject: ListSubject, ordering: Ordering, keys: readonly OrderKey[]): Differences {
  const { listing, list } = subject;
  const page = await listing.page([...listing.widest, ...ordering.settings(keys)]);
  // Without a declared direction, ties are ascending; a descending order may reverse them.
  const ascending = keys.some(({ isDescending }) => isDescending === false) ? false : undefined;
  const ties = declaredKeys(list, listing.declared.ties);
  const last = ties.map((key) => ({ ...key, isDescending: key.isDescending ?? ascending }));
  yield* breaches(subject, page.rows, [...keys, ...last], [page]);
}

/** Two keys for each direction of the second, where rows with the same first key differ in the second. */
function tiePairs(list: FullList, ordering: Ordering, tells: (property: Property) => boolean): OrderKey[][] {
  const plain = ordering.keys.filter(({ nulls, isDescending }) => nulls === undefined && isDescending === false);
  for (const first of ordering.most < 2 ? [] : plain) {
    const groups = [...Map.groupBy(list.rows, (row) => valueIn(row, first.property)).values()];
    const second = plain.find(
      ({ property }) =>
        property !== first.property && tells(property) && groups.some((of) => distinct(of, property).length > 1),
    );
    if (second !== undefined)
      return keysOf(ordering, second.property).flatMap((key) => (key.isDescending === undefined ? [] : [[first, key]]));
  }
  return [];
}
