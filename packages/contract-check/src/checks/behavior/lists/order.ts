import type { JsonObject } from '../../../json.ts';
import { dice, shuffled } from '../../../schema/numbers.ts';
import { type Difference, need } from '../observe.ts';
import { isSurelyShown } from './conditions.ts';
import { type FullList, finding, type ListCheck, type ListSubject, type Page } from './listing.ts';
import {
  breachOf,
  type DeclaredOrder,
  declaredOrder,
  isNamed,
  type Ordering,
  type OrderKey,
  orderingOf,
} from './order-keys.ts';
import type { Slot } from './slots.ts';
import { distinct, isScalar, type Property, valueIn } from './values.ts';

const maxProperties = 8;

const check = (describe: string, run: ListCheck['run']): ListCheck => ({ name: 'order', describe, run });

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
