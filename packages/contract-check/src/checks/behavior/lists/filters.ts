import { type Difference, valued } from '../observe.ts';
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
import { searchConditions } from './search.ts';
import { isInside, type Slot } from './slots.ts';

/** Maximum number of filters to check across pages, and of pages of each. */
const maxPaged = 4;
const maxPages = 6;

/** Checks of filters: each alone, two combined, some across pages, and the free-text search. */
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
    ...paged.map((condition) => ({
      describe: 'Later pages of a filtered list match as well.',
      run: (subject: ListSubject) => filteredPages(subject, condition),
    })),
    ...[...together(list, sure), ...simple, ...alone, ...searched].map((conditions) => ({
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
  { slot, settings, label, holds, tolerated = 0 }: Condition,
): Promise<Difference[]> {
  const page = await listing.page([...listing.widest, ...settings]);
  const exchanges = [...list.exchanges, page.exchange];
  const keys = page.rows.map(list.keyOf);
  const wrong = page.rows.filter((row) => holds(row) === false);
  if (wrong.length > tolerated)
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
    return [{ conditions: [joined([left, right], 'and')], least: 1 }];
  });
}

async function filteredPages(
  { listing, list }: ListSubject,
  { slot, settings: own, label, holds }: Condition,
): Promise<Difference[]> {
  const settings = [...listing.widest, ...own, ...listing.sized(1)];
  // A list that links its pages may have positions as well.
  for (const way of ['linked', 'positioned'] as const) {
    const pages = await listing.pages(settings, maxPages, way);
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
