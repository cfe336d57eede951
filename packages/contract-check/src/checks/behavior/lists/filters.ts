import type { CheckName } from '../../../finding/rules.ts';
import { jsonText } from '../../../json.ts';
import { collected, type Difference, type Differences, valued } from '../../observe.ts';
import { type Condition, type Conditions, filterConditions, joined, splits } from './conditions.ts';
import {
  type FullList,
  finding,
  type ListCheck,
  type Listing,
  type ListSubject,
  largest,
  type Page,
  shown,
} from './listing.ts';
import { inOtherCase } from './operators.ts';
import { isInside, type Slot } from './slots.ts';
import { distinct, folded, mentions, valueIn } from './values.ts';

/** Maximum number of filters to check across pages, and of pages of each. */
const maxPaged = 4;
const maxPages = 6;

export function filterChecks({ listing, list }: ListSubject): ListCheck[] {
  const { size, search } = listing.controls;
  if (listing.declared.filters === false || list.rows.length === 0) return [];
  const { simple, ofColumns } = filterConditions(listing, list);
  const sure = simple.flatMap(({ conditions, least }) => (least === 1 ? conditions : []));
  const firstPaged = (all: readonly Condition[]) => all.filter((one) => splits(list, one, 2)).slice(0, 1);
  // One for each slot: a server may lose only some filters on later pages.
  const bySlot = [...Map.groupBy(sure, ({ slot }) => slot).values(), ofColumns];
  const paged = size === undefined ? [] : bySlot.flatMap(firstPaged).slice(0, maxPaged);
  const searched = search === undefined || list.rows.length < 2 ? [] : searchConditions({ listing, list }, search);
  const alone = ofColumns.map((condition) => ({ conditions: [condition], least: 1 }));
  return [
    ...paged.map(
      (condition): ListCheck =>
        (subject) =>
          filteredPages(subject, condition),
    ),
    ...[...simple, ...alone, ...searched].map((conditions): ListCheck => {
      return (subject) => filtered(subject, conditions);
    }),
    ...together(list, sure).map((pair): ListCheck => {
      return async function* (subject) {
        // One that is wrong alone is wrong with another, too.
        const isKnown = pair.some(({ slot }) => subject.listing.isIgnored(slot));
        if (!isKnown) yield* filteredOnce(subject, joined(pair, 'and'));
      };
    }),
  ];
}

/** Every returned row matches, no matching row is missing, and the total is correct. */
async function* filtered(subject: ListSubject, { conditions, least }: Conditions): Differences {
  const found: Difference[] = [];
  for (const condition of conditions) {
    if (found.length < least) found.push(...(await collected(filteredOnce(subject, condition))));
  }
  if (found.length >= least) yield* found.slice(0, 1);
}

async function* filteredOnce({ listing, list }: ListSubject, condition: Condition): Differences {
  const { slot, settings, label, holds, tolerated = 0 } = condition;
  const page = await listing.page([...listing.widest, ...settings]);
  const exchanges = [...list.exchanges, page.exchange];
  const differs = (check: CheckName, expected: string, actual: string) =>
    finding(listing, check, slot, { expected, actual, exchanges });
  const keys = page.rows.map(list.keyOf);
  const wrong = page.rows.filter((row) => holds(row) === false);
  const others = `of ${page.rows.length} rows, these do not match: ${shown(wrong.map(list.keyOf))}`;
  if (wrong.length > tolerated) return yield differs('filter-ignored', `only rows with ${label}`, others);
  if (!isUncut(listing, list, page)) return;
  const missing = list.rows.filter((row) => holds(row) === true && !keys.includes(list.keyOf(row)));
  if (missing.length > 0)
    return yield differs('filter-lost', `all rows with ${label}`, `without ${shown(missing.map(list.keyOf))}`);
  const [total] = page.metadata.totals;
  const isCounted = listing.declared.total !== false && list.pages[0]?.metadata.totals[0]?.value === list.rows.length;
  if (isCounted && total !== undefined && total.value !== page.rows.length)
    yield finding(listing, 'filter-total', slot, { ...valued(total.name, page.rows.length, total.value), exchanges });
}

/** Whether a page definitely contains all matching rows: it is not full, and no further page is indicated. */
function isUncut({ controls: { size } }: Listing, list: FullList, { rows, metadata }: Page): boolean {
  if (metadata.next !== undefined || metadata.hasMore?.value === true) return false;
  return size === undefined ? list.isComplete && list.pages.length === 1 : rows.length < largest(size);
}

/** Pairs of different filters that together return fewer rows than each alone. */
function together(list: FullList, conditions: readonly Condition[]): [Condition, Condition][] {
  const only = (one: Condition, other: Condition) =>
    list.rows.some((row) => one.holds(row) === true && other.holds(row) === false);
  const paired = new Set<Slot>();
  return conditions.flatMap((left, index) => {
    const right = conditions
      .slice(index + 1)
      .find((one) => one.slot !== left.slot && !paired.has(one.slot) && only(left, one) && only(one, left));
    if (right === undefined || paired.has(left.slot) || isInside(left.slot, right.slot)) return [];
    paired.add(left.slot).add(right.slot);
    return [[left, right]];
  });
}

/** Later pages of a filtered list match as well. */
async function* filteredPages({ listing, list }: ListSubject, condition: Condition): Differences {
  const { slot, settings: own, label, holds } = condition;
  const settings = [...listing.widest, ...own, ...listing.sized(1)];
  // A list that links its pages may have positions as well.
  for (const way of ['linked', 'positioned'] as const) {
    const pages = await listing.pages(settings, maxPages, way);
    const wrong = pages.find(({ rows }) => rows.some((row) => holds(row) === false));
    if (wrong === undefined) continue;
    const facts = { expected: `only rows with ${label}`, actual: shown(wrong.rows.map(list.keyOf)) };
    return yield finding(listing, 'filter-page', slot, { ...facts, exchanges: pages.map(({ exchange }) => exchange) });
  }
}

/** A word that no row contains, and words of searched properties, which must find their rows. */
function searchConditions({ listing, list }: ListSubject, search: Slot): Conditions[] {
  const { session, operation } = listing;
  const { searches, ignoresCase, parts } = search.declared;
  const condition = (text: string, holds: Condition['holds']): Condition => {
    return { slot: search, settings: [[search, text]], label: `the text ${jsonText(text)}`, holds };
  };
  const unknown = `zq${Math.abs(session.seedFor(`${operation.id} ${search.name} word`)).toString(36)}xv`;
  const searched = Array.isArray(searches)
    ? list.properties.filter(({ name }) => searches.includes(name))
    : list.properties.filter(({ name }) => /^(?:name|title|displayName|display_name)$/.test(name)).slice(0, 1);
  const words = searched.map((property) => {
    // The fewer rows contain a word in other properties, the more specific it is.
    const elsewhere = (word: string) =>
      list.rows.filter((row) => mentions({ ...row, [property.path[0] ?? '']: '' }, word)).length;
    const all = [...new Set(distinct(list.rows, property).flatMap(longestWord))];
    return all
      .sort((one, other) => elsewhere(one) - elsewhere(other))
      .slice(0, 2)
      .map((word) => {
        const cut = parts === true && word.length > 4 ? word.slice(1) : word;
        const text = folded(cut);
        return condition(ignoresCase === true ? inOtherCase(cut) : cut, (row) => {
          const value = folded(valueIn(row, property));
          return parts === true
            ? value.includes(text) || undefined
            : value.split(/[^a-z\d]+/).includes(text) || undefined;
        });
      });
  });
  return [
    { conditions: [{ ...condition(unknown, () => false), tolerated: list.rows.length - 1 }], least: 1 },
    // One word may be a stop word.
    ...words.map((conditions) => ({ conditions, least: 2 })),
  ];
}

export function longestWord(value: unknown): string[] {
  const words = typeof value === 'string' ? value.match(/[A-Za-z]{4,}/g) : null;
  return [...(words ?? [])].sort((left, right) => right.length - left.length).slice(0, 1);
}
