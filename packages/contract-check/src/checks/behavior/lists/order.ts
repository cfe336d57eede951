import type { JsonObject } from '../../../json.ts';
import { wordsOf } from '../../../run/names.ts';
import { dice, shuffled } from '../../../schema/numbers.ts';
import { type Shape, shapeOf } from '../../../schema/shape.ts';
import { type Difference, need, text } from '../observe.ts';
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
import { areDirections, type Direction, directionOf, type Slot } from './slots.ts';
import { compare, distinct, isBlank, isScalar, matchBeginning, type Property, valueIn } from './values.ts';

interface OrderKey {
  readonly property: Property;
  /** Undefined if it is not specified: `sort=price` may be either. */
  readonly isDescending: boolean | undefined;
  readonly nulls: Direction['nulls'];
  readonly ignoresCase?: boolean;
  /** The value to send, or one item of it. */
  readonly unit?: unknown;
  /** Settings to send in addition, such as the direction. */
  readonly extra?: Settings;
  readonly label: string;
}

interface Ordering {
  readonly slot: Slot;
  readonly keys: readonly OrderKey[];
  /** Maximum number of keys in one request. */
  readonly most: number;
  settings(keys: readonly OrderKey[]): Settings;
}

type KeyOf = (field: unknown, way: Direction | undefined, unit: unknown, extra?: Settings) => OrderKey[];

/** The orders that a request can ask for. */
function orderingOf(listing: Listing, properties: readonly Property[]): Ordering | undefined {
  const { controls, declared, document } = listing;
  const slot = controls.order;
  if (slot === undefined || declared.order === false) return undefined;
  const isList = slot.shape.types.has('array');
  const item = isList && slot.shape.items !== undefined ? shapeOf(document, ...slot.shape.items) : slot.shape;
  const keyOf: KeyOf = (field, way, unit, extra = []) => {
    const property = matchBeginning(properties, wordsOf(String(field)))?.property;
    const label = [unit, ...extra.map(([, value]) => value)]
      .map((part) => (typeof part === 'string' ? part : JSON.stringify(part)))
      .join(' ');
    return property === undefined
      ? []
      : [{ property, isDescending: way?.isDescending, nulls: way?.nulls, unit, extra, label }];
  };
  const isObjects = item.types.has('object') && item.properties.size > 0;
  const keys = isObjects ? objectKeys(listing, item, keyOf) : wordKeys(listing, slot, item, keyOf);
  if (keys.length === 0) return undefined;
  return {
    slot,
    keys,
    most: isList ? slot.shape.maxItems : 1,
    settings: (chosen) => [
      [slot, isList ? chosen.map(({ unit }) => unit) : chosen[0]?.unit],
      ...chosen.flatMap(({ extra }) => extra ?? []),
    ],
  };
}

/** Keys such as `{ name: 'asc' }` or `{ field: 'name', direction: 'asc' }`. */
function objectKeys({ document }: Listing, item: Shape, keyOf: KeyOf): OrderKey[] {
  const members = [...item.properties].map(([name, schemas]) => ({
    name,
    words: shapeOf(document, ...schemas).enum ?? [],
  }));
  const direction = members.find(({ name, words }) => /dir|order|sort/i.test(name) && areDirections(words));
  const field = members.find(
    ({ name, words }) =>
      /^(?:field|by|key|column|property|attribute|name)$/i.test(name) && words.length > 0 && !areDirections(words),
  );
  if (field === undefined)
    return members
      .filter(({ words }) => areDirections(words))
      .flatMap(({ name, words }) => words.flatMap((way) => keyOf(name, directionOf(way), { [name]: way })));
  if (direction === undefined) return field.words.flatMap((word) => keyOf(word, undefined, { [field.name]: word }));
  return field.words.flatMap((word) =>
    direction.words.flatMap((way) => keyOf(word, directionOf(way), { [field.name]: word, [direction.name]: way })),
  );
}

/** Words such as `name`, `-name`, `name:desc` and `name_asc`, with the direction in the word or in another parameter. */
function wordKeys({ controls: { direction }, declared }: Listing, slot: Slot, item: Shape, keyOf: KeyOf): OrderKey[] {
  const listed = slot.declared.order ?? declared.order;
  // If any text is allowed, only the default and the examples are known to be supported.
  const free = [slot.default, ...slot.shape.examples, ...item.examples]
    .flat()
    .filter((word) => !String(word).includes(','));
  const words = [...new Set(Array.isArray(listed) ? listed : (item.enum ?? free))].filter(
    (word): word is string => typeof word === 'string' && word !== '',
  );
  const ways = (direction?.shape.enum ?? []).filter((way) => directionOf(way) !== undefined);
  return words.flatMap((unit) => {
    const { field, isDescending } = parsed(unit);
    if (isDescending !== undefined || words.includes(`-${unit}`))
      return keyOf(field, { isDescending: isDescending ?? false, nulls: undefined }, unit);
    if (ways.length === 0 || direction === undefined) return keyOf(field, undefined, unit);
    return ways.flatMap((way) => keyOf(field, directionOf(way), unit, [[direction, way]]));
  });
}

function parsed(word: string): { field: string; isDescending: boolean | undefined } {
  const [, sign, name] = /^([-+])(.+)$/.exec(word) ?? [];
  if (name !== undefined) return { field: name, isDescending: sign === '-' };
  const words = wordsOf(word);
  const way = directionOf(words.at(-1));
  return words.length > 1 && way !== undefined
    ? { field: words.slice(0, -1).join(' '), isDescending: way.isDescending }
    : { field: word, isDescending: undefined };
}

/** The order of a list that `x-contract-check` declares. */
interface DeclaredOrder {
  /** The default order: `sorted: [-createdAt, id]`. */
  readonly keys: readonly OrderKey[];
  /** The last key of every order: `ties: id`. */
  readonly ties: OrderKey | undefined;
  /** Where rows without a value are, in every order. */
  readonly nulls: Direction['nulls'];
  readonly ignoresCase: boolean;
}

function declaredOrder({ declared }: Listing, { properties }: FullList): DeclaredOrder {
  const nulls = (['first', 'last'] as const).find((one) => one === declared.nulls);
  const ignoresCase = declared.ignoresCase === true;
  const keyOf = (word: unknown): OrderKey[] => {
    const { field, isDescending } = parsed(String(word));
    const property = properties.find(({ name }) => name === field);
    return property === undefined ? [] : [{ property, isDescending, nulls, ignoresCase, label: property.name }];
  };
  const [ties] = keyOf(declared.ties);
  const keys = (Array.isArray(declared.sorted) ? declared.sorted : []).flatMap(keyOf);
  return { keys: keys.map((key) => ({ ...key, isDescending: key.isDescending ?? false })), ties, nulls, ignoresCase };
}

/**
 * The first place where rows are not in the order of a key; undefined if they are, or if common collations disagree.
 *
 * @param above keys before this one: only rows that are equal in all of them are compared.
 */
function breachOf(rows: readonly JsonObject[], key: OrderKey, above: readonly OrderKey[] = []): string | undefined {
  for (const group of groupsOf(rows, above)) {
    const values = group.map((row) => valueIn(row, key.property));
    if (values.some((value) => value === undefined)) continue;
    const breach = nullBreach(values, key) ?? (isNamed(key) ? scattered(values) : valueBreach(values, key));
    if (breach !== undefined) return breach;
  }
  return undefined;
}

/** Consecutive rows that are equal in the keys above. */
function groupsOf(rows: readonly JsonObject[], above: readonly OrderKey[]): JsonObject[][] {
  const groups: JsonObject[][] = [];
  for (const row of rows) {
    const last = groups.at(-1);
    const isSame = above.every(({ property }) => last?.[0] && valueIn(last[0], property) === valueIn(row, property));
    if (last !== undefined && isSame) last.push(row);
    else groups.push([row]);
  }
  return groups;
}

/** Rows without a value must be adjacent at one end: the requested one, if specified. */
function nullBreach(values: readonly unknown[], { nulls }: OrderKey): string | undefined {
  const blanks = values.filter(isBlank).length;
  if (blanks === 0 || blanks === values.length) return undefined;
  const isFirst = values.slice(0, blanks).every(isBlank);
  const isLast = values.slice(-blanks).every(isBlank);
  if ((nulls === 'first' && !isFirst) || (nulls === 'last' && !isLast)) return `rows without a value are not ${nulls}`;
  return isFirst || isLast ? undefined : 'rows without a value are mixed with other rows';
}

function valueBreach(values: readonly unknown[], { isDescending, ignoresCase }: OrderKey): string | undefined {
  const present = values
    .filter((value) => !isBlank(value))
    .map((value) => (ignoresCase === true && typeof value === 'string' ? value.toLowerCase() : value));
  const [ascending, descending] = [misplaced(present, 1), misplaced(present, -1)];
  if (isDescending === undefined) return ascending && descending && ascending;
  return isDescending ? descending : ascending;
}

/** Two values in the wrong order according to every collation. */
function misplaced(values: readonly unknown[], sign: 1 | -1): string | undefined {
  const reach = values.length > 60 ? 2 : values.length;
  for (const [index, value] of values.entries())
    for (const other of values.slice(index + 1, index + 1 + reach))
      if ((compare(value, other) ?? 0) * sign > 0) return `${text(value)} is before ${text(other)}`;
  return undefined;
}

/** Enum values may sort in an order that the contract does not specify, but equal values must be adjacent. */
function isNamed({ property }: OrderKey): boolean {
  return property.enum?.some((word) => typeof word === 'string') === true;
}

function scattered(values: readonly unknown[]): string | undefined {
  const again = values.find((value, index) => value !== values[index - 1] && values.indexOf(value) < index);
  return again === undefined ? undefined : `rows with ${text(again)} are not adjacent`;
}

const maxProperties = 8;

const check = (describe: string, run: ListCheck['run']): ListCheck => ({ describe, run });

/** Checks of the order: each property in both directions, the position of nulls, and ties. */
export function* orderChecks({ listing, list }: ListSubject): Generator<ListCheck> {
  const declared = declaredOrder(listing, list);
  const { order, direction } = listing.controls;
  const isPlain = listing.declared.order !== false && order === undefined;
  if (isPlain && direction === undefined && declared.keys.length > 0)
    yield check('The list has its declared order.', async (subject) =>
      breaches(subject, subject.list.rows, declared.keys, subject.list.pages, undefined),
    );
  const ordering = orderingOf(listing, list.properties);
  if (ordering === undefined) return;
  const tells = (property: Property) => {
    const values = distinct(list.rows, property);
    return values.length > 1 && values.every(isScalar);
  };
  const telling = [...new Set(ordering.keys.map(({ property }) => property))].filter(tells);
  const roll = dice(listing.session.seedFor(`${listing.operation.id} order`));
  for (const property of shuffled(telling, roll).slice(0, maxProperties))
    yield check('A property sorts the list in both directions.', (subject) =>
      bothWays(subject, ordering, property, declared),
    );
  // One key for each combination of direction and nulls. The property does not matter.
  const nulls = ordering.keys.filter(
    ({ nulls: at, property }) => at && tells(property) && list.rows.some((row) => valueIn(row, property) === null),
  );
  for (const key of new Map(nulls.map((one) => [`${one.isDescending} ${one.nulls}`, one])).values())
    yield check('Rows without a value are where the request asks for them.', (subject) =>
      ordered(subject, ordering, [key]),
    );
  for (const keys of tiePairs(list, ordering, tells))
    yield check('Rows with the same first key have the order of the second.', (subject) =>
      ordered(subject, ordering, keys),
    );
}

/** The keys of a property: ascending, descending, and without a direction. */
function keysOf(ordering: Ordering, property: Property): OrderKey[] {
  const own = ordering.keys.filter((key) => key.property === property && key.nulls === undefined);
  return [false, true, undefined].flatMap((way) => own.find((key) => key.isDescending === way) ?? []);
}

async function bothWays(
  subject: ListSubject,
  ordering: Ordering,
  property: Property,
  { ties, nulls, ignoresCase }: DeclaredOrder,
): Promise<Difference[] | undefined> {
  const { listing } = subject;
  const pages: { key: OrderKey; page: Page }[] = [];
  for (const key of keysOf(ordering, property)) {
    const page = await listing.read([...listing.widest, ...ordering.settings([key])]);
    if (page !== undefined) pages.push({ key, page });
  }
  need(pages[0]);
  const found = pages.flatMap(({ key, page }) => [
    ...breaches(subject, page.rows, [{ ...key, ignoresCase, nulls: key.nulls ?? nulls }], [page], ordering.slot),
    ...(ties === undefined ? [] : breaches(subject, page.rows, [key, tieOf(ties, key)], [page], ordering.slot)),
  ]);
  return found.slice(0, 1);
}

/** Without a declared direction, ties are ascending; a descending order may reverse them. */
function tieOf(ties: OrderKey, { isDescending }: OrderKey): OrderKey {
  return ties.isDescending === undefined && isDescending === false ? { ...ties, isDescending: false } : ties;
}

async function ordered(subject: ListSubject, ordering: Ordering, keys: readonly OrderKey[]): Promise<Difference[]> {
  const page = await subject.listing.page([...subject.listing.widest, ...ordering.settings(keys)]);
  return breaches(subject, page.rows, keys, [page], ordering.slot);
}

/** The first deviation from an order. Stops at a key whose hidden digits may decide before the next one. */
function breaches(
  { listing }: ListSubject,
  rows: readonly JsonObject[],
  keys: readonly OrderKey[],
  pages: readonly Page[],
  slot: Slot | undefined,
): Difference[] {
  for (const [index, key] of keys.entries()) {
    const actual = breachOf(rows, key, keys.slice(0, index));
    const isOfNulls = actual?.startsWith('rows without') === true;
    if (actual !== undefined)
      return finding(listing, isOfNulls ? 'order-nulls' : index > 0 ? 'order-ties' : 'order-ignored', slot, {
        expected: `order by ${keys.map(({ label, isDescending }) => `${label}${isDescending ? ' descending' : ''}`).join(', ')}`,
        actual,
        exchanges: pages.map(({ exchange }) => exchange),
      });
    const values = distinct(rows, key.property);
    if (!values.every(isSurelyShown(listing, key.property, values))) return [];
  }
  return [];
}

/** Two keys for each direction of the second, where rows with the same first key differ in the second. */
function tiePairs(list: FullList, ordering: Ordering, tells: (property: Property) => boolean): OrderKey[][] {
  const plain = ordering.keys.filter(({ nulls, isDescending }) => nulls === undefined && isDescending === false);
  const seconds = plain.filter((key) => !isNamed(key) && tells(key.property));
  for (const first of ordering.most < 2 ? [] : plain) {
    const groups = [...Map.groupBy(list.rows, (row) => valueIn(row, first.property)).values()];
    const second = seconds.find(
      ({ property }) => property !== first.property && groups.some((of) => distinct(of, property).length > 1),
    );
    if (second !== undefined)
      return keysOf(ordering, second.property).flatMap((key) => (key.isDescending === undefined ? [] : [[first, key]]));
  }
  return [];
}
