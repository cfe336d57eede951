import type { Exchange } from '../../../http/call.ts';
import { dice, shuffled } from '../../../schema/numbers.ts';
import { type Difference, valued } from '../observe.ts';
import { type Condition, conditionsOf, inOtherCase, reach } from './conditions.ts';
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
import { positionsOf } from './paging.ts';
import { isInside, type Slot } from './slots.ts';
import { and, distinct, folded, mentions, type Property, valueIn } from './values.ts';
import { isWhere, whereConditions } from './where.ts';

const maxSimple = 40;
const maxPaged = 4;
const maxPairs = 5;

/** Checks of filters: each alone, two combined, and some across pages. */
export function filterChecks({ listing, list }: ListSubject): ListCheck[] {
  const { others } = listing.controls;
  if (listing.declared.filters === false || list.rows.length === 0) return [];
  const all = others.filter((slot) => isWhere(listing, slot));
  const wheres = all.filter((slot) => !all.some((outer) => isInside(slot, outer)));
  const simple = others.filter((slot) => !wheres.some((where) => where === slot || isInside(slot, where)));
  const bySlot = simple.map((slot) =>
    conditionsOf(listing, list, slot).filter((one) => reach(list, one).yes + reach(list, one).no > 0),
  );
  const ranked = interleaved(shuffled(bySlot, dice(listing.session.seedFor(`${listing.operation.id} filters`))));
  const conditions = [...ranked.slice(0, maxSimple), ...wheres.flatMap((slot) => whereConditions(listing, list, slot))];
  const sure = conditions.filter((one) => one.second === undefined);
  // One for each slot: a server may lose only some filters on later pages.
  const paged = sure
    .filter((one) => reach(list, one).yes > 1 && reach(list, one).no > 0)
    .filter((one, index, of) => of.findIndex(({ slot }) => slot === one.slot) === index)
    .slice(0, maxPaged);
  return [
    ...(listing.controls.size === undefined ? [] : paged).map((condition) => ({
      name: 'filter pages',
      describe: 'Later pages of a filtered list match as well, and have the same total.',
      run: (subject: ListSubject) => filteredPages(subject, condition),
    })),
    ...[...together(list, sure), ...conditions].map((condition) => ({
      name: 'filter',
      describe: 'Every returned row matches, no matching row is missing, and the total is correct.',
      run: (subject: ListSubject) => filtered(subject, condition),
    })),
  ];
}

/** Takes the first of each list, then the second, so that each filter gets its turn. */
function interleaved(lists: readonly (readonly Condition[])[]): Condition[] {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, index) => lists.flatMap((list) => list.slice(index, index + 1))).flat();
}

async function filtered(subject: ListSubject, condition: Condition): Promise<Difference[] | undefined> {
  const found = await filteredOnce(subject, condition);
  if (found.length === 0 || condition.second === undefined) return found;
  const other = await filteredOnce(subject, condition.second);
  return other.length === 0 ? undefined : found;
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
function together(list: FullList, conditions: readonly Condition[]): Condition[] {
  const pairs: Condition[] = [];
  const paired = new Map<Slot, number>();
  for (const [index, left] of conditions.entries()) {
    for (const right of conditions.slice(index + 1)) {
      const isUsed = [left, right].some(({ slot }) => (paired.get(slot) ?? 0) > 1);
      if (left.slot === right.slot || isInside(left.slot, right.slot) || isUsed || pairs.length >= maxPairs) continue;
      const only = (one: Condition, other: Condition) =>
        list.rows.some((row) => one.holds(row) === true && other.holds(row) === false);
      if (!only(left, right) || !only(right, left)) continue;
      pairs.push({
        slot: right.slot,
        settings: [...left.settings, ...right.settings],
        label: `${left.label} and ${right.label}`,
        holds: (row) => and([left.holds(row), right.holds(row)]),
      });
      for (const { slot } of [left, right]) paired.set(slot, (paired.get(slot) ?? 0) + 1);
    }
  }
  return pairs;
}

/** The number of matching rows before the first that does not match. Without the filter, it would start the next page. */
function beforeForeign(list: FullList, condition: Condition): number {
  const results = list.rows.map(condition.holds);
  const start = results.indexOf(true);
  const end = results.indexOf(false, start);
  const matching = results.slice(0, end < 0 ? undefined : end).filter((one) => one === true).length;
  return start >= 0 && matching < reach(list, condition).yes ? matching : 1;
}

async function filteredPages({ listing, list }: ListSubject, condition: Condition): Promise<Difference[]> {
  const { slot, holds } = condition;
  const filter = [...listing.widest, ...condition.settings];
  const settings = [...filter, ...listing.sized(beforeForeign(list, condition))];
  const first = await listing.page(settings);
  const second = await listing.after(first, settings);
  const pages = [first, ...(second === undefined ? [] : [second])];
  // Prefers a page that would start with a row that does not match if the filter were ignored.
  const { yes } = reach(list, condition);
  const foreign = list.rows.findIndex((row, index) => index > 0 && index < yes && holds(row) === false);
  for (const position of positionsOf(listing, list, 1, Math.max(1, foreign))) {
    const page = await listing.read([...filter, ...listing.sized(1), position]);
    if (page !== undefined) pages.push(page);
  }
  const wrong = pages.find(({ rows }) => rows.some((row) => holds(row) === false));
  if (wrong !== undefined)
    return finding(listing, 'filter-page', slot, {
      expected: `only rows with ${condition.label}`,
      actual: wrong.rows.map(list.keyOf).join(', '),
      exchanges: [first.exchange, wrong.exchange],
    });
  const totals = new Set(pages.map(({ metadata }) => metadata.totals[0]?.value));
  if (totals.size < 2 || listing.declared.total === false || totals.has(undefined)) return [];
  const exchanges = pages.map((page) => page.exchange);
  return finding(listing, 'page-total', slot, { expected: 'one total', actual: [...totals].join(', '), exchanges });
}

/** Checks of a free-text search: an unknown word must exclude rows, and a word of a searched property must find its row. */
export function* searchChecks({ listing, list }: ListSubject): Generator<ListCheck> {
  const { search } = listing.controls;
  if (search === undefined || listing.declared.filters === false || search.declared.filter === false) return;
  if (list.rows.length < 2) return;
  yield {
    name: 'search for nothing',
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
      name: 'search',
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
async function inPlace(subject: ListSubject, search: Slot, property: Property): Promise<Difference[] | undefined> {
  const { listing, list } = subject;
  const { ignoresCase, parts } = search.declared;
  const isPart = parts === true;
  // The fewer rows contain a word in other properties, the more specific it is.
  const elsewhere = (word: string) =>
    list.rows.filter((row) => mentions({ ...row, [property.path[0] ?? '']: '' }, word)).length;
  const words = [...new Set(distinct(list.rows, property).flatMap(longestWord))].sort(
    (one, other) => elsewhere(one) - elsewhere(other),
  );
  const cut = (word: string) => (isPart && word.length > 4 ? word.slice(1) : word);
  const forms = [
    (word: string) => (ignoresCase === true ? inOtherCase(cut(word)) : cut(word)),
    cut,
    (word: string) => word,
  ];
  const ways = ['in other case', 'by a part', 'by a word'];
  let wrong: { text: string; lost: string[]; exchange: Exchange }[] = [];
  let way: string | undefined;
  // One word may be a stop word. The easiest form that fails says what is wrong.
  for (const [index, form] of forms.entries()) {
    const failed = await losses(subject, search, property, words.slice(0, 2).map(form), isPart);
    if (failed.length < 2) break;
    [wrong, way] = [failed, ways[index]];
  }
  const [first] = wrong;
  if (first === undefined) return words.length < 2 ? undefined : [];
  return finding(listing, 'search-lost', search, {
    expected: `rows with ${JSON.stringify(first.text)} in ${property.name}, ${way}`,
    actual: `without ${shown(first.lost)}`,
    exchanges: [...list.exchanges, first.exchange],
  });
}

/** The texts that do not find all rows with them in the property. */
async function losses(
  { listing, list }: ListSubject,
  search: Slot,
  property: Property,
  texts: readonly string[],
  isPart: boolean,
): Promise<{ text: string; lost: string[]; exchange: Exchange }[]> {
  const found = [];
  for (const text of texts) {
    const page = await listing.read([...listing.widest, [search, text]]);
    if (page === undefined || !isUncut(listing, { ...list, isComplete: true, pages: [page] }, page)) continue;
    const keys = page.rows.map(list.keyOf);
    const meant = list.rows.filter((row) => {
      const value = folded(valueIn(row, property));
      return isPart ? value.includes(folded(text)) : value.split(/[^a-z\d]+/).includes(folded(text));
    });
    const lost = meant.map(list.keyOf).filter((key) => !keys.includes(key));
    if (lost.length > 0) found.push({ text, lost, exchange: page.exchange });
  }
  return found;
}

function longestWord(value: unknown): string[] {
  const words = typeof value === 'string' ? value.match(/[A-Za-z]{4,}/g) : null;
  return [...(words ?? [])].sort((left, right) => right.length - left.length).slice(0, 1);
}
