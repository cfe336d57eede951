import { isScalar } from './compare.ts';
import { directionProbes } from './direction.ts';
import {
  type DocumentedOrder,
  documentedOrder,
  documentedOrderProbes,
  judgedAsDocumented,
} from './documented-order.ts';
import type { FullList, Listing } from './listing.ts';
import { sized, widest } from './listing.ts';
import { breachOf, isNamed, runsOf } from './order-judge.ts';
import { type Ordering, type OrderKey, orderingOf } from './order-keys.ts';
import { positionsOf } from './page-starts.ts';
import { shuffled } from './pick.ts';
import type { Difference, Probe } from './probe.ts';
import { distinct, type Property, valueIn } from './properties.ts';
import type { Page } from './reader.ts';
import { isSameSequence, isSameSet, shown } from './rows.ts';

const maxProperties = 8;

/** Probes for the order: each property in both directions, the position of nulls, ties, and the order across pages. */
export function orderProbes(listing: Listing, list: FullList): Probe[] {
  const documented = documentedOrder(listing, list);
  const plain = [...documentedOrderProbes(listing, documented), ...directionProbes(listing, list, documented)];
  const ordering = orderingOf(listing, list.properties);
  if (ordering === undefined) return plain;
  const telling = [...new Set(ordering.keys.map(({ property }) => property))].filter((property) =>
    tells(list, property),
  );
  const chosen = shuffled(telling, listing.session.seedFor(`${listing.operation.id} order`)).slice(0, maxProperties);
  const nulls = ordering.keys.filter(({ nulls, property }) => nulls !== undefined && hasNulls(list, property));
  const pair = tiePair(list, ordering);
  const [first] = chosen;
  return [
    ...plain,
    ...chosen.map(
      (property): Probe =>
        (one, whole) =>
          bothWays(one, whole, ordering, property, documented),
    ),
    ...perDirection(nulls).map(
      (key): Probe =>
        (one, whole) =>
          ordered(one, whole, ordering, [key]),
    ),
    ...(pair === undefined
      ? []
      : [false, true].map(
          (isDescending): Probe =>
            (one, whole) =>
              ties(one, whole, ordering, pair, isDescending),
        )),
    ...(first === undefined ? [] : [((one, whole) => acrossPages(one, whole, ordering, first)) satisfies Probe]),
  ];
}

/** Whether rows differ in a property, so that its order is visible. */
function tells(list: FullList, property: Property): boolean {
  const values = distinct(list.rows, property);
  return values.length > 1 && values.every(isScalar);
}

function hasNulls(list: FullList, property: Property): boolean {
  return tells(list, property) && list.rows.some((row) => valueIn(row, property) === null);
}

/** One key for each combination of direction and nulls. The property does not matter. */
function perDirection(keys: readonly OrderKey[]): OrderKey[] {
  return [...new Map(keys.map((key) => [`${key.isDescending} ${key.nulls}`, key])).values()];
}

function keysOf(
  ordering: Ordering,
  property: Property,
): { ascending?: OrderKey; descending?: OrderKey; either?: OrderKey } {
  const ofProperty = ordering.keys.filter((key) => key.property === property && key.nulls === undefined);
  const [ascending, descending, either] = [false, true, undefined].map((way) =>
    ofProperty.find((key) => key.isDescending === way),
  );
  return { ...(ascending && { ascending }), ...(descending && { descending }), ...(either && { either }) };
}

async function bothWays(
  listing: Listing,
  list: FullList,
  ordering: Ordering,
  property: Property,
  documented: DocumentedOrder,
): Promise<Difference[] | undefined> {
  const { ascending, descending, either } = keysOf(ordering, property);
  const pages: { key: OrderKey; page: Page }[] = [];
  for (const key of [ascending, descending, either]) {
    if (key === undefined) continue;
    const page = await listing.reader.read([...widest(listing), ...ordering.settings([key])]);
    if (page !== undefined) pages.push({ key, page });
  }
  if (pages.length === 0) return undefined;
  const found = pages.flatMap(({ key, page }) => [
    ...judged(list, ordering, [documented.withWords(key)], page),
    ...(documented.ties === undefined
      ? []
      : judgedAsDocumented(listing, page.rows, [key, tieOf(documented.ties, key)], [page], ordering.slot)),
  ]);
  if (found.length > 0) return found.slice(0, 1);
  const [up, down] = pages;
  if (up === undefined || down === undefined || up.key.isDescending === down.key.isDescending) return [];
  const runs = [up, down].map(({ page }) =>
    runsOf(page.rows.map((row) => valueIn(row, property)).filter((value) => value !== null)),
  );
  const isTurned = JSON.stringify(runs[0]) === JSON.stringify([...(runs[1] ?? [])].reverse());
  // In an incomplete list, each direction returns other rows.
  const isWhole = list.isComplete && pages.every(({ page }) => page.rows.length === list.rows.length);
  if (!isNamed(up.key) || isTurned || !isWhole) return [];
  return [
    {
      check: 'order-ignored',
      title: `Ascending order by \`${property.name}\` is not the reverse of descending order`,
      expected: `the reverse of ${JSON.stringify(runs[0])}`,
      actual: JSON.stringify(runs[1]),
      slot: ordering.slot,
      fix: 'Sort by the requested property, in the requested direction.',
      exchanges: [up.page.exchange, down.page.exchange],
    },
  ];
}

/** Without a documented direction, ties are ascending; a descending order may reverse them. */
function tieOf(ties: OrderKey, { isDescending }: OrderKey): OrderKey {
  return ties.isDescending === undefined && isDescending === false ? { ...ties, isDescending: false } : ties;
}

async function ordered(
  listing: Listing,
  list: FullList,
  ordering: Ordering,
  keys: readonly OrderKey[],
): Promise<Difference[] | undefined> {
  const page = await listing.reader.read([...widest(listing), ...ordering.settings(keys)]);
  return page === undefined ? undefined : judged(list, ordering, keys, page);
}

function judged(list: FullList, ordering: Ordering, keys: readonly OrderKey[], page: Page): Difference[] {
  const label = keys.map((key) => key.label).join(', ');
  const base = { slot: ordering.slot, exchanges: [page.exchange] };
  for (const [index, key] of keys.entries()) {
    const breach = breachOf(page.rows, key, keys.slice(0, index));
    if (breach === undefined) continue;
    const check = breach.startsWith('rows without') ? 'order-nulls' : index > 0 ? 'order-ties' : 'order-ignored';
    return [
      {
        ...base,
        check,
        title:
          check === 'order-ties'
            ? `Rows with the same first key are not sorted by the second key, \`${key.property.name}\``
            : check === 'order-nulls'
              ? `In the order by \`${key.property.name}\`, rows without a value are in the wrong place`
              : `Rows are not in the requested order by \`${key.property.name}\``,
        expected: `order by ${label}`,
        actual: breach,
        fix: 'Sort by the requested property, in the requested direction.',
      },
    ];
  }
  const rowKeys = page.rows.map(list.keyOf);
  if (!list.isComplete || list.pages.length > 1 || isSameSet(rowKeys, list.keys)) return [];
  return [
    {
      ...base,
      check: 'order-rows',
      title: 'With an order, the list has other rows than without one',
      expected: shown(list.keys),
      actual: shown(rowKeys),
      exchanges: [...list.pages.map(({ exchange }) => exchange), page.exchange],
      fix: 'Change only the order of the rows.',
    },
  ];
}

interface TiePair {
  readonly first: OrderKey;
  readonly second: Property;
}

/** A first key with equal rows, and a second property in which these rows differ. */
function tiePair(list: FullList, ordering: Ordering): TiePair | undefined {
  if (ordering.most < 2) return undefined;
  const plain = ordering.keys.filter(({ nulls, isDescending }) => nulls === undefined && isDescending === false);
  const seconds = plain.filter((key) => !isNamed(key) && tells(list, key.property));
  const scored = plain.flatMap((first) => {
    const groups = Map.groupBy(list.rows, (row) => valueIn(row, first.property));
    return seconds
      .filter(({ property }) => property !== first.property)
      .map(({ property }) => {
        const most = Math.max(0, ...[...groups.values()].map((rows) => distinct(rows, property).length));
        return { first, second: property, most };
      });
  });
  const best = scored.filter(({ most }) => most > 1).sort((left, right) => right.most - left.most)[0];
  return best;
}

async function ties(
  listing: Listing,
  list: FullList,
  ordering: Ordering,
  { first, second }: TiePair,
  isDescending: boolean,
): Promise<Difference[] | undefined> {
  const { ascending, descending } = keysOf(ordering, second);
  const key = isDescending ? descending : ascending;
  return key === undefined ? undefined : ordered(listing, list, ordering, [first, key]);
}

/** Checks that rows have the same order on several pages as on one page. */
async function acrossPages(
  listing: Listing,
  list: FullList,
  ordering: Ordering,
  property: Property,
): Promise<Difference[] | undefined> {
  const { reader, controls } = listing;
  const { ascending, descending, either } = keysOf(ordering, property);
  const key = descending ?? ascending ?? either;
  if (key === undefined || controls.size === undefined || list.rows.length < 3 || !list.isComplete) return undefined;
  const settings = [...widest(listing), ...ordering.settings([key])];
  const whole = await reader.read(settings);
  const count = Math.ceil(list.rows.length / 2);
  const halved = [...settings, ...sized(listing, count)];
  const first = await reader.read(halved);
  if (whole === undefined || first === undefined || whole.rows.length !== list.rows.length) return undefined;
  const seconds: Page[] = [];
  const { next } = first.metadata;
  if (next !== undefined) {
    const exchange = await reader.follow(next, halved, controls.cursor, controls.position);
    const page = exchange === undefined ? undefined : reader.pageOf(exchange);
    if (page !== undefined) seconds.push(page);
  } else {
    for (const position of positionsOf(listing, list, count)) {
      const page = await reader.read([...halved, position]);
      if (page !== undefined) seconds.push(page);
    }
  }
  const expected = whole.rows.map(list.keyOf);
  const sequences = seconds.map((second) => [...first.rows, ...second.rows].map(list.keyOf));
  if (sequences.length === 0 || sequences.some((keys) => isSameSequence(keys, expected)))
    return sequences.length === 0 ? undefined : [];
  return [
    {
      check: 'page-order',
      title: 'Sorted rows have another order on several pages than on one page',
      expected: shown(expected),
      actual: shown(sequences[0] ?? []),
      slot: ordering.slot,
      fix: 'Sort the whole list before taking a page, and break ties by id.',
      exchanges: [whole.exchange, first.exchange, ...seconds.slice(0, 1).map(({ exchange }) => exchange)],
    },
  ];
}
