import type { JsonObject } from '../../../json.ts';
import { dice, shuffled } from '../../../schema/numbers.ts';
import { type Difference, valued } from '../observe.ts';
import { type Condition, type Conditions, conditionsOf, isWhere, reach, whereConditions } from './conditions.ts';
import {
  type FullList,
  finding,
  isSameSet,
  type ListCheck,
  type Listing,
  type ListSubject,
  largest,
  type Page,
  shown,
} from './listing.ts';
import { and, inOtherCase } from './operators.ts';
import { isInside, type Slot } from './slots.ts';
import { distinct, folded, mentions, type Property, valueIn } from './values.ts';

/** Maximum number of filters to check across pages, and of pages of each. */
const maxPaged = 4;
const maxPages = 6;

/** Checks of filters: each alone, two combined, and some across pages. */
export function filterChecks({ listing, list }: ListSubject): ListCheck[] {
  const { others, size } = listing.controls;
  if (listing.declared.filters === false || list.rows.length === 0) return [];
  const all = others.filter((slot) => isWhere(listing, slot));
  const wheres = all.filter((slot) => !all.some((outer) => isInside(slot, outer)));
  const simple = others.filter((slot) => !wheres.some((where) => where === slot || isInside(slot, where)));
  const roll = dice(listing.session.seedFor(`${listing.operation.id} filters`));
  const bySlot = shuffled(simple, roll).map((slot) => conditionsOf(listing, list, slot));
  const groups = [
    // Each slot gets its turn before the second of any.
    ...bySlot.flatMap((own) => own.slice(0, 1)),
    ...bySlot.flatMap((own) => own.slice(1)),
    ...wheres.flatMap((slot) => whereConditions(listing, list, slot)),
  ];
  const sure = groups.flatMap(({ conditions, least }) => (least === 1 ? conditions : []));
  // One for each slot: a server may lose only some filters on later pages.
  const paged = sure
    .filter((one) => reach(list, one).yes > 1 && reach(list, one).no > 0)
    .filter((one, index, of) => of.findIndex(({ slot }) => slot === one.slot) === index)
    .slice(0, maxPaged);
  return [
    ...(size === undefined ? [] : paged).map((condition) => ({
      describe: 'Later pages of a filtered list match as well.',
      run: (subject: ListSubject) => filteredPages(subject, condition),
    })),
    ...[...together(list, sure), ...groups].map((conditions) => ({
      describe: 'Every returned row matches, no matching row is missing, and the total is correct.',
      run: (subject: ListSubject) => filtered(subject, conditions),
    })),
  ];
}

async function filtered(subject: ListSubject, { conditions, least }: Conditions): Promise<Difference[]> {
  const found: Difference[] = [];
  for (const condition of conditions) {
    if (found.length < least) found.push(...(await filteredOnce(subject, condition)));
  }
  return found.length < least ? [] : found.slice(0, 1);
}

async function filteredOnce(
  { listing, list }: ListSubject,
  { slot, settings, label, holds }: Condition,
): Promise<Difference[]> {
  const page = await listing.page([...listing.widest, ...settings]);
  const exchanges = [...list.exchanges, page.exchange];
  const keys = page.rows.map(list.keyOf);
  const wrong = page.rows.filter((row) => holds(row) === false);
  if (wrong.length > 0)
    return finding(listing, 'filter-ignored', slot, {
      expected: `only rows with ${label}`,
      actual: `of ${page.rows.length} rows, these do not match: ${shown(wrong.map(list.keyOf))}`,
      exchanges,
    });
  if (!isUncut(listing, list, page)) return [];
  const missing = list.rows.filter((row) => holds(row) === true && !keys.includes(list.keyOf(row)));
  if (missing.length > 0)
    return finding(listing, 'filter-lost', slot, {
      expected: `all rows with ${label}`,
      actual: `without ${shown(missing.map(list.keyOf))}`,
      exchanges,
    });
  const [total] = page.metadata.totals;
  const isCounted = listing.declared.total !== false && list.pages[0]?.metadata.totals[0]?.value === list.rows.length;
  if (!isCounted || total === undefined || total.value === page.rows.length) return [];
  return finding(listing, 'filter-total', slot, { ...valued(total.name, page.rows.length, total.value), exchanges });
}

/** Whether a page definitely contains all matching rows: it is not full, and no further page is indicated. */
function isUncut({ controls: { size } }: Listing, list: FullList, { rows, metadata }: Page): boolean {
  if (metadata.next !== undefined || metadata.hasMore?.value === true) return false;
  return size === undefined ? list.isComplete && list.pages.length === 1 : rows.length < largest(size);
}

/** Pairs of different filters that together return fewer rows than each alone. */
function together(list: FullList, conditions: readonly Condition[]): Conditions[] {
  const only = (one: Condition, other: Condition) =>
    list.rows.some((row) => one.holds(row) === true && other.holds(row) === false);
  const paired = new Set<Slot>();
  return conditions.flatMap((left, index) => {
    const right = conditions
      .slice(index + 1)
      .find((one) => one.slot !== left.slot && !paired.has(one.slot) && only(left, one) && only(one, left));
    if (right === undefined || paired.has(left.slot) || isInside(left.slot, right.slot)) return [];
    paired.add(left.slot).add(right.slot);
    const condition = {
      slot: right.slot,
      settings: [...left.settings, ...right.settings],
      label: `${left.label} and ${right.label}`,
      holds: (row: JsonObject) => and([left.holds(row), right.holds(row)]),
    };
    return [{ conditions: [condition], least: 1 }];
  });
}

async function filteredPages(
  { listing, list }: ListSubject,
  { slot, settings: own, label, holds }: Condition,
): Promise<Difference[]> {
  const settings = [...listing.widest, ...own, ...listing.sized(1)];
  const first = await listing.page(settings);
  // A list that links its pages may have positions as well.
  for (const way of ['linked', 'positioned'] as const) {
    const pages = [first];
    while (pages.length < maxPages && pages.at(-1)?.rows.length !== 0) {
      const next = await listing[way](pages, settings);
      if (next === undefined) break;
      pages.push(next);
    }
    const wrong = pages.find(({ rows }) => rows.some((row) => holds(row) === false));
    if (wrong !== undefined)
      return finding(listing, 'filter-page', slot, {
        expected: `only rows with ${label}`,
        actual: shown(wrong.rows.map(list.keyOf)),
        exchanges: pages.map(({ exchange }) => exchange),
      });
  }
  return [];
}

/** Checks of a free-text search: an unknown word must exclude rows, and a word of a searched property must find its row. */
export function* searchChecks({ listing, list }: ListSubject): Generator<ListCheck> {
  const { search } = listing.controls;
  if (search === undefined || listing.declared.filters === false || search.declared.filter === false) return;
  if (list.rows.length < 2) return;
  yield {
    describe: 'A search for a word that no row contains excludes rows.',
    run: (subject) => unknownWord(subject, search),
  };
  const { searches } = search.declared;
  const isText = (property: Property) => distinct(list.rows, property).every((value) => typeof value === 'string');
  const usual = list.properties.filter(({ name }) => /^(?:name|title|displayName|display_name)$/.test(name));
  const places = Array.isArray(searches)
    ? list.properties.filter((one) => searches.includes(one.name) && isText(one))
    : usual.slice(0, 1);
  for (const property of places)
    yield {
      describe: 'A word of a searched property finds its rows.',
      run: (subject) => inPlace(subject, search, property),
    };
}

async function unknownWord({ listing, list }: ListSubject, search: Slot): Promise<Difference[] | undefined> {
  const { session, operation } = listing;
  const word = `zq${Math.abs(session.seedFor(`${operation.id} ${search.name} word`)).toString(36)}xv`;
  if (list.rows.some((row) => mentions(row, word))) return undefined;
  const page = await listing.page([...listing.widest, [search, word]]);
  const keys = page.rows.map(list.keyOf);
  if (!isSameSet(keys, list.keys)) return [];
  return finding(listing, 'search-ignored', search, {
    expected: 'fewer rows than without the search',
    actual: shown(keys),
    exchanges: [...list.exchanges, page.exchange],
  });
}

/** Searches for words of a property, in other case and without their first letter if the contract declares it. */
async function inPlace({ listing, list }: ListSubject, search: Slot, property: Property): Promise<Difference[]> {
  const { ignoresCase, parts } = search.declared;
  const isPart = parts === true;
  // The fewer rows contain a word in other properties, the more specific it is.
  const elsewhere = (word: string) =>
    list.rows.filter((row) => mentions({ ...row, [property.path[0] ?? '']: '' }, word)).length;
  const words = [...new Set(distinct(list.rows, property).flatMap(longestWord))].sort(
    (one, other) => elsewhere(one) - elsewhere(other),
  );
  const found: Difference[] = [];
  for (const word of words.slice(0, 2)) {
    const cut = isPart && word.length > 4 ? word.slice(1) : word;
    const text = ignoresCase === true ? inOtherCase(cut) : cut;
    const page = await listing.page([...listing.widest, [search, text]]);
    if (!isUncut(listing, { ...list, isComplete: true, pages: [page] }, page)) continue;
    const keys = page.rows.map(list.keyOf);
    const lost = list.rows.filter((row) => {
      const value = folded(valueIn(row, property));
      const isMeant = isPart ? value.includes(folded(text)) : value.split(/[^a-z\d]+/).includes(folded(text));
      return isMeant && !keys.includes(list.keyOf(row));
    });
    if (lost.length > 0)
      found.push(
        ...finding(listing, 'search-lost', search, {
          expected: `rows with ${JSON.stringify(text)} in ${property.name}`,
          actual: `without ${shown(lost.map(list.keyOf))}`,
          exchanges: [...list.exchanges, page.exchange],
        }),
      );
  }
  // One word may be a stop word.
  return found.length < 2 ? [] : found.slice(0, 1);
}

function longestWord(value: unknown): string[] {
  const words = typeof value === 'string' ? value.match(/[A-Za-z]{4,}/g) : null;
  return [...(words ?? [])].sort((left, right) => right.length - left.length).slice(0, 1);
}
