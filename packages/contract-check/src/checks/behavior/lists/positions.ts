import { keyOfName } from '../../../run/words.ts';
import type { FullList, Listing } from './listing.ts';
import { sized, widest } from './listing.ts';
import { moreDifferences, totalDifferences } from './page.ts';
import type { Difference } from './probe.ts';
import type { Page } from './reader.ts';
import { isSameSequence, shown } from './rows.ts';
import type { Slot } from './slot.ts';
import type { Paging } from './vocabulary.ts';

interface Meaning {
  readonly paging: Paging;
  readonly name: string;
  start(value: number, size: number): number;
}

const fromFirstRow: Meaning = {
  paging: 'offset',
  name: 'a row number that starts at 1',
  start: (value) => value - 1,
};

const meanings: readonly Meaning[] = [
  fromFirstRow,
  { paging: 'offset', name: 'the number of rows to skip', start: (value) => value },
  { paging: 'page', name: 'a page number that starts at 0', start: (value, size) => value * size },
  { paging: 'page', name: 'a page number that starts at 1', start: (value, size) => (value - 1) * size },
];

interface Requested {
  readonly page: Page;
  readonly value: number;
  readonly size: number;
}

/** The possible meanings of a position according to the contract. */
export function meaningsOf({ vocabulary }: Listing, position: Slot): Meaning[] {
  const { minimum } = position.shape;
  const isFromOne = position.default === 1 || (minimum !== undefined && minimum >= 1);
  const isFromZero = position.default === 0;
  const fits = meanings.filter((meaning) => {
    if (isFromOne && meaning.start(1, 2) !== 0) return false;
    // Only names such as `start` or `index` can be row numbers that start at 1.
    if (meaning === fromFirstRow && !/start|index|offset|from|first|position/i.test(position.name)) return false;
    return !isFromZero || meaning.start(0, 2) === 0;
  });
  const paging = vocabulary.paging || pagingOf(position);
  return paging === undefined ? fits : fits.filter((meaning) => meaning.paging === paging);
}

/** The paging type according to the name or description; undefined if they are ambiguous. */
function pagingOf({ name, description }: Slot): Paging | undefined {
  const isOffset = /offset|skip|start|first|from/i.test(name) || /\bskip|\boffset|number of rows/i.test(description);
  const isPage =
    /page_?(?:number|no|num|index)/i.test(name) || /\bnumber of the page|\bpage number|\bpage index/i.test(description);
  return isOffset === isPage ? undefined : isOffset ? 'offset' : 'page';
}

/** Checks that positions select pages that are disjoint, complete, in list order, and empty beyond the end. */
export async function positions(listing: Listing, list: FullList): Promise<Difference[] | undefined> {
  const { controls, vocabulary } = listing;
  const { position, size } = controls;
  if (position === undefined || size === undefined || vocabulary.paging === false || vocabulary.paging === 'cursor')
    return undefined;
  const all = list.rows.length;
  if (all < 2) return undefined;
  const requests: Requested[] = [];
  for (const [value, count] of plan(all)) {
    const page = await listing.reader.read([...widest(listing), ...sized(listing, count), [position, value]]);
    if (page !== undefined) requests.push({ page, value, size: count });
  }
  if (requests.length < 2) return undefined;
  const possible = meaningsOf(listing, position);
  const explaining = possible.filter((meaning) => requests.every((one) => explains(meaning, one, list)));
  const [meant] = explaining;
  if (meant === undefined) return possible.length === 0 ? [] : [unexplained(listing, list, requests, possible)];
  const pages = requests.map(({ page }) => page);
  const placed = explaining.map((meaning) =>
    requests.map(({ page, value, size: requested }) => ({
      page,
      start: meaning.start(value, requested),
      size: requested,
    })),
  );
  const moreFlagDifferences = placed.map((one) => moreDifferences(listing, list, one));
  return [
    ...totalDifferences(listing, list, pages),
    ...(moreFlagDifferences.every((one) => one.length > 0) ? (moreFlagDifferences[0] ?? []) : []),
    ...echoDifference(position, requests, explaining),
  ];
}

/** Values and sizes to request: at the start, in the middle, at the end and beyond it. */
function plan(all: number): [value: number, size: number][] {
  const requested: [number, number][] = [
    [0, 1],
    [1, 1],
    [1, 2],
    [2, 2],
    [2, 1],
    [1, 3],
    [all - 1, 1],
    [all + 3, 2],
  ];
  return requested.filter(
    ([value, size], index) => size <= all && !requested.slice(0, index).some(([v, s]) => v === value && s === size),
  );
}

function explains(meaning: Meaning, { page, value, size }: Requested, list: FullList): boolean {
  const start = meaning.start(value, size);
  // For a page before the first one, servers return the first page or reject the request.
  if (start < 0) return true;
  if (!list.isComplete && start + size > list.rows.length) return true;
  return isSameSequence(page.rows.map(list.keyOf), list.keys.slice(start, start + size));
}

function unexplained(
  { controls }: Listing,
  list: FullList,
  requests: readonly Requested[],
  possible: readonly Meaning[],
): Difference {
  const score = (meaning: Meaning) => requests.filter((one) => explains(meaning, one, list)).length;
  const best = [...possible].sort((left, right) => score(right) - score(left))[0] ?? possible[0];
  const wrong = requests.find((one) => best === undefined || !explains(best, one, list));
  const start = wrong === undefined || best === undefined ? 0 : best.start(wrong.value, wrong.size);
  const keys = wrong?.page.rows.map(list.keyOf) ?? [];
  const expected = list.keys.slice(start, start + (wrong?.size ?? 0));
  const isBeyond = start >= list.rows.length;
  const slot = controls.position;
  return {
    check: isBeyond ? 'page-beyond' : 'page-position',
    title: isBeyond ? 'A page beyond the end of the list has rows' : `\`${slot?.name}\` returns the wrong page`,
    expected: `${slot?.name}=${wrong?.value} is ${best?.name}: ${shown(expected)}`,
    actual: shown(keys),
    slot,
    fix: 'Take all pages from one list in one order, with no rows beyond its end.',
    exchanges: [...list.pages.map(({ exchange }) => exchange), ...(wrong === undefined ? [] : [wrong.page.exchange])],
  };
}

/** If the response repeats the position, it must increase with the position. */
function echoDifference(position: Slot, requests: readonly Requested[], explaining: readonly Meaning[]): Difference[] {
  const key = keyOfName(position.path.at(-1) ?? '');
  const metadata = requests.flatMap(({ page, value, size }) => {
    const number = page.metadata.numbers.get(key);
    return number === undefined || page.rows.length === 0
      ? []
      : [{ ...number, requestedValue: value, size, exchange: page.exchange }];
  });
  const isConstant = (values: readonly number[]) => new Set(values).size <= 1;
  const isEcho = isConstant(metadata.map((one) => one.value - one.requestedValue));
  const isStart = explaining.some((meaning) =>
    isConstant(metadata.map((one) => one.value - meaning.start(one.requestedValue, one.size))),
  );
  const wrong = metadata.find((one) => one.value !== one.requestedValue);
  if (isEcho || isStart || wrong === undefined) return [];
  return [
    {
      check: 'page-echo',
      title: `\`${wrong.name}\` in the response is not the requested position`,
      expected: `${wrong.requestedValue}`,
      actual: `${wrong.value}`,
      slot: position,
      fix: 'Return the position of the page.',
      exchanges: [wrong.exchange],
    },
  ];
}
