import type { JsonObject } from '../../../json.ts';
import { dice, shuffled } from '../../../schema/dice.ts';
import { type Difference, need } from '../observe.ts';
import { isSurelyShown } from './conditions.ts';
import { finding, isSameSequence, isSameSet, type ListCheck, type ListSubject, type Page, shown } from './listing.ts';
import {
  breachOf,
  type DeclaredOrder,
  declaredOrder,
  isNamed,
  type Ordering,
  type OrderKey,
  orderingOf,
  runsOf,
} from './order-keys.ts';
import { positionsOf } from './positions.ts';
import { directionOf, type Slot } from './slots.ts';
import { distinct, isScalar, type Property, valueIn } from './values.ts';

const maxProperties = 8;

const check = (describe: string, run: ListCheck['run']): ListCheck => ({ name: 'order', describe, run });

/** Checks of the order: each property in both directions, the position of nulls, ties, and the order across pages. */
export function* orderChecks({ listing, list }: ListSubject): Generator<ListCheck> {
  const declared = declaredOrder(listing, list);
  const { order, direction } = listing.controls;
  const isPlain = listing.declared.order !== false && order === undefined;
  if (isPlain && direction !== undefined && list.rows.length > 1 && declared.keys.length > 0)
    yield check('A direction sorts the list.', (subject) => inDirection(subject, direction, declared));
  else if (isPlain && declared.keys.length > 0)
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
  const [first, ...others] = shuffled(telling, roll).slice(0, maxProperties);
  for (const property of first === undefined ? [] : [first, ...others])
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
  for (const keys of tiePair(list.rows, ordering, tells) ?? [])
    yield check('Rows with the same first key have the order of the second.', (subject) =>
      ordered(subject, ordering, keys),
    );
  if (first !== undefined) yield check('Pages continue the order.', (subject) => acrossPages(subject, ordering, first));
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
  const { listing, list } = subject;
  const pages: { key: OrderKey; page: Page }[] = [];
  for (const key of keysOf(ordering, property)) {
    const page = await listing.read([...listing.widest, ...ordering.settings([key])]);
    if (page !== undefined) pages.push({ key, page });
  }
  need(pages[0]);
  const found = pages.flatMap(({ key, page }) => [
    ...judged(subject, ordering, [{ ...key, ignoresCase, nulls: key.nulls ?? nulls }], page),
    ...(ties === undefined ? [] : breaches(subject, page.rows, [key, tieOf(ties, key)], [page], ordering.slot)),
  ]);
  const [up, down] = pages;
  if (found.length > 0 || up === undefined || down === undefined || up.key.isDescending === down.key.isDescending)
    return found.slice(0, 1);
  const [one, other] = [up, down].map(({ page }) =>
    JSON.stringify(runsOf(page.rows.map((row) => valueIn(row, property)).filter((value) => value !== null))),
  );
  // In an incomplete list, each direction returns other rows.
  const isWhole = list.isComplete && pages.every(({ page }) => page.rows.length === list.rows.length);
  if (!isNamed(up.key) || !isWhole || one === JSON.stringify(JSON.parse(other ?? '[]').reverse())) return [];
  return finding(listing, 'order-ignored', ordering.slot, {
    expected: `the reverse of ${one}`,
    actual: `${other}`,
    exchanges: [up.page.exchange, down.page.exchange],
  });
}

/** Without a declared direction, ties are ascending; a descending order may reverse them. */
function tieOf(ties: OrderKey, { isDescending }: OrderKey): OrderKey {
  return ties.isDescending === undefined && isDescending === false ? { ...ties, isDescending: false } : ties;
}

async function ordered(subject: ListSubject, ordering: Ordering, keys: readonly OrderKey[]): Promise<Difference[]> {
  const page = await subject.listing.page([...subject.listing.widest, ...ordering.settings(keys)]);
  return judged(subject, ordering, keys, page);
}

/** The first deviation from a requested order, and rows that it changes. */
function judged(subject: ListSubject, { slot }: Ordering, keys: readonly OrderKey[], page: Page): Difference[] {
  const { listing, list } = subject;
  const found = breaches(subject, page.rows, keys, [page], slot);
  if (found.length > 0) return found;
  const rowKeys = page.rows.map(list.keyOf);
  if (!list.isComplete || list.pages.length > 1 || isSameSet(rowKeys, list.keys)) return [];
  const facts = { expected: shown(list.keys), actual: shown(rowKeys) };
  return finding(listing, 'order-rows', slot, { ...facts, exchanges: [...list.exchanges, page.exchange] });
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

/** Two keys for each direction of the second: a first one with equal rows, which differ most in the second property. */
function tiePair(
  rows: readonly JsonObject[],
  ordering: Ordering,
  tells: (property: Property) => boolean,
): OrderKey[][] | undefined {
  if (ordering.most < 2) return undefined;
  const plain = ordering.keys.filter(({ nulls, isDescending }) => nulls === undefined && isDescending === false);
  const seconds = plain.filter((key) => !isNamed(key) && tells(key.property));
  const scored = plain.flatMap((first) => {
    const groups = [...Map.groupBy(rows, (row) => valueIn(row, first.property)).values()];
    return seconds
      .filter(({ property }) => property !== first.property)
      .map(({ property }) => ({
        first,
        property,
        most: Math.max(0, ...groups.map((of) => distinct(of, property).length)),
      }));
  });
  const [best] = scored.filter(({ most }) => most > 1).sort((left, right) => right.most - left.most);
  return (
    best &&
    keysOf(ordering, best.property).flatMap((key) => (key.isDescending === undefined ? [] : [[best.first, key]]))
  );
}

/** Rows must have the same order on several pages as on one page. */
async function acrossPages(
  { listing, list }: ListSubject,
  ordering: Ordering,
  property: Property,
): Promise<Difference[] | undefined> {
  const keys = keysOf(ordering, property);
  const key = need(keys.find(({ isDescending }) => isDescending === true) ?? keys[0]);
  if (listing.controls.size === undefined || list.rows.length < 3 || !list.isComplete) return undefined;
  const settings = [...listing.widest, ...ordering.settings([key])];
  const whole = await listing.page(settings);
  const count = Math.ceil(list.rows.length / 2);
  const halved = [...settings, ...listing.sized(count)];
  const first = await listing.page(halved);
  if (whole.rows.length !== list.rows.length) return undefined;
  const seconds: Page[] = [];
  const positions = first.metadata.next === undefined ? positionsOf(listing, list, count) : [undefined];
  for (const position of positions) {
    const page =
      position === undefined ? await listing.after(first, halved) : await listing.read([...halved, position]);
    if (page !== undefined) seconds.push(page);
  }
  const expected = whole.rows.map(list.keyOf);
  const sequences = seconds.map((second) => [...first.rows, ...second.rows].map(list.keyOf));
  if (sequences.length === 0) return undefined;
  if (sequences.some((one) => isSameSequence(one, expected))) return [];
  return finding(listing, 'page-order', ordering.slot, {
    expected: shown(expected),
    actual: shown(sequences[0] ?? []),
    exchanges: [whole.exchange, first.exchange, seconds[0]?.exchange],
  });
}

/** A direction without an order applies to the first declared key. */
async function inDirection(
  subject: ListSubject,
  direction: Slot,
  { keys: [main], ties }: DeclaredOrder,
): Promise<Difference[]> {
  const ways = (direction.shape.enum ?? []).map((way) => ({ way, meant: directionOf(way) }));
  const found: Difference[] = [];
  for (const isDescending of [false, true]) {
    const { way } = need(ways.find(({ meant }) => meant?.isDescending === isDescending && meant.nulls === undefined));
    const page = await subject.listing.page([...subject.listing.widest, [direction, way]]);
    const key = { ...need(main), isDescending, nulls: undefined };
    const all = [key, ...(ties === undefined ? [] : [tieOf(ties, key)])];
    found.push(...breaches(subject, page.rows, all, [page], direction));
  }
  return found.slice(0, 1);
}
