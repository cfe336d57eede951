import { and, type Condition, filtered, reach } from './condition.ts';
import { conditionsOf } from './equality.ts';
import { flagProbes } from './flags.ts';
import type { FullList, Listing } from './listing.ts';
import { sized, widest } from './listing.ts';
import { positionsOf } from './page-starts.ts';
import { shuffled } from './pick.ts';
import type { Difference, Probe } from './probe.ts';
import { searchProbes } from './search.ts';
import type { Slot } from './slot.ts';
import { isWhere, whereConditions } from './where.ts';

const maxSimple = 40;

/** Probes for filters: each alone, two combined, and one across pages. */
export function filterProbes(listing: Listing, list: FullList): Probe[] {
  const { controls, vocabulary, session, operation } = listing;
  if (vocabulary.filters === false || list.rows.length === 0) return [];
  const wheres = controls.others.filter(
    (slot) =>
      isWhere(listing, slot) &&
      !controls.others.some((outer) => outer !== slot && isInside(slot, outer) && isWhere(listing, outer)),
  );
  const simple = controls.others.filter((slot) => !wheres.some((where) => where === slot || isInside(slot, where)));
  const bySlot = simple.map((slot) => conditionsOf(listing, list, slot).filter((one) => isSignificant(list, one)));
  const ranked = interleaved(shuffled(bySlot, session.seedFor(`${operation.id} filters`))).slice(0, maxSimple);
  const conditions = [...ranked, ...wheres.flatMap((slot) => whereConditions(listing, list, slot))];
  const sure = conditions.filter((one) => one.second === undefined);
  const pairs = together(list, sure);
  // One for each slot: a server may lose only some filters on later pages.
  const paged = sure
    .filter((one) => reach(list, one).yes > 1 && reach(list, one).no > 0)
    .filter((one, index, all) => all.findIndex(({ slot }) => slot === one.slot) === index)
    .slice(0, maxPaged);
  return [
    ...paged.map(
      (condition, index): Probe =>
        (one, whole) =>
          filteredPages(one, whole, condition, index === 0),
    ),
    ...[...pairs, ...conditions].map(
      (condition): Probe =>
        (one, whole) =>
          filtered(one, whole, condition),
    ),
    ...flagProbes(listing),
    ...searchProbes(listing, list),
  ];
}

function isInside(slot: Slot, outer: Slot): boolean {
  return (
    slot !== outer &&
    slot.place === outer.place &&
    slot.path.length > outer.path.length &&
    outer.path.every((segment, index) => slot.path[index] === segment)
  );
}

function isSignificant(list: FullList, condition: Condition): boolean {
  const { yes, no } = reach(list, condition);
  return yes + no > 0;
}

/** Takes the first of each list, then the second, so that each filter gets its turn. */
function interleaved(lists: readonly (readonly Condition[])[]): Condition[] {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, index) => lists.flatMap((list) => list.slice(index, index + 1))).flat();
}

const maxPaged = 4;
const maxPairs = 5;

/** Pairs of different filters that together return fewer rows than each alone. */
function together(list: FullList, conditions: readonly Condition[]): Condition[] {
  const pairs: Condition[] = [];
  const paired = new Map<Slot, number>();
  for (const [index, left] of conditions.entries()) {
    for (const right of conditions.slice(index + 1)) {
      const isUsed = [left, right].some(({ slot }) => (paired.get(slot) ?? 0) > 1);
      if (left.slot === right.slot || isInside(left.slot, right.slot) || isUsed) continue;
      const both: Condition = {
        slot: right.slot,
        settings: [...left.settings, ...right.settings],
        label: `${left.label} and ${right.label}`,
        holds: (row) => and([left.holds(row), right.holds(row)]),
      };
      const alone = list.rows.filter((row) => left.holds(row) === true && right.holds(row) === false).length;
      const other = list.rows.filter((row) => left.holds(row) === false && right.holds(row) === true).length;
      if (alone === 0 || other === 0 || pairs.length >= maxPairs) continue;
      pairs.push(both);
      for (const { slot } of [left, right]) paired.set(slot, (paired.get(slot) ?? 0) + 1);
    }
  }
  return pairs;
}

/**
 * The number of matching rows before the first row that does not match. Without the filter, the next page would start
 * with that row.
 */
function beforeForeign(list: FullList, condition: Condition): number {
  const { yes } = reach(list, condition);
  let matching = 0;
  for (const row of list.rows) {
    const isMeant = condition.holds(row);
    if (isMeant === true) matching += 1;
    else if (isMeant === false && matching > 0) break;
  }
  return matching > 0 && matching < yes ? matching : 1;
}

/** Checks that later pages of a filtered list match as well and report the same total. */
async function filteredPages(
  listing: Listing,
  list: FullList,
  condition: Condition,
  isByPosition: boolean,
): Promise<Difference[] | undefined> {
  const { reader, controls } = listing;
  if (controls.size === undefined || condition.second !== undefined) return undefined;
  const settings = [...widest(listing), ...condition.settings, ...sized(listing, beforeForeign(list, condition))];
  const first = await reader.read(settings);
  if (first === undefined) return undefined;
  const pages = [first];
  const next = first.metadata.next;
  const exchange =
    next === undefined ? undefined : await reader.follow(next, settings, controls.cursor, controls.position);
  const followed = exchange === undefined ? undefined : reader.pageOf(exchange);
  if (followed !== undefined) pages.push(followed);
  // Prefers a page that would start with a row that does not match if the filter were ignored.
  const { yes } = reach(list, condition);
  const foreign = list.rows.findIndex((row, index) => index > 0 && index < yes && condition.holds(row) === false);
  const single = [...widest(listing), ...condition.settings, ...sized(listing, 1)];
  for (const position of isByPosition ? positionsOf(listing, list, 1, Math.max(1, foreign)) : []) {
    const page = await reader.read([...single, position]);
    if (page !== undefined) pages.push(page);
  }
  const base = { slot: condition.slot, fix: 'Apply filters on every page.' };
  const wrong = pages.find(({ rows }) => rows.some((row) => condition.holds(row) === false));
  if (wrong !== undefined) {
    return [
      {
        ...base,
        check: 'filter-page',
        title: `A page of a filter by \`${condition.slot.name}\` has rows that do not match`,
        expected: `only rows with ${condition.label}`,
        actual: wrong.rows.map(list.keyOf).join(', '),
        exchanges: [first.exchange, wrong.exchange],
      },
    ];
  }
  const totals = new Set(pages.map(({ metadata }) => metadata.total?.value));
  if (
    totals.size < 2 ||
    !listing.vocabulary.checksTotals ||
    !pages.every(({ metadata }) => metadata.total !== undefined)
  )
    return [];
  return [
    {
      ...base,
      check: 'page-total',
      title: 'The total differs between pages',
      expected: 'one total',
      actual: [...totals].join(', '),
      exchanges: pages.map((page) => page.exchange),
    },
  ];
}
