import { type Difference, need } from '../observe.ts';
import { type FullList, finding, isOffsetName, isSameSequence, type Listing, type Page, shown } from './listing.ts';
import type { Slot } from './slots.ts';

interface Meaning {
  readonly paging: 'offset' | 'page';
  readonly name: string;
  start(value: number, size: number): number;
}

const fromFirstRow: Meaning = { paging: 'offset', name: 'a row number that starts at 1', start: (value) => value - 1 };

const meanings: readonly Meaning[] = [
  fromFirstRow,
  { paging: 'offset', name: 'the number of rows to skip', start: (value) => value },
  { paging: 'page', name: 'a page number that starts at 0', start: (value, size) => value * size },
  { paging: 'page', name: 'a page number that starts at 1', start: (value, size) => (value - 1) * size },
];

/** The possible meanings of a position according to the contract. */
function meaningsOf({ declared }: Listing, { name, default: fallback, shape: { minimum } }: Slot): Meaning[] {
  const isFromOne = fallback === 1 || (minimum !== undefined && minimum >= 1);
  const isPage = /page_?(?:number|no|num|index)/i.test(name);
  const named = isOffsetName(name) === isPage ? undefined : isPage ? 'page' : 'offset';
  const paging = declared.paging || named;
  return meanings.filter((meaning) => {
    if (isFromOne && meaning.start(1, 2) !== 0) return false;
    // Only names such as `start` or `index` can be row numbers that start at 1.
    if (meaning === fromFirstRow && !/start|index|offset|from|first|position/i.test(name)) return false;
    return (fallback !== 0 || meaning.start(0, 2) === 0) && (paging === undefined || paging === meaning.paging);
  });
}

/** Position values for the page that starts at a row, one for each possible meaning of the position. */
export function positionsOf(listing: Listing, list: FullList, size: number, start = size): (readonly [Slot, number])[] {
  const { position } = listing.controls;
  if (position === undefined || list.rows.length <= start) return [];
  const values = meaningsOf(listing, position).flatMap((meaning) =>
    [start, start + 1, start / size, start / size + 1].filter(
      (value) => Number.isInteger(value) && meaning.start(value, size) === start,
    ),
  );
  return [...new Set(values)].map((value) => [position, value] as const);
}

interface Requested {
  readonly page: Page;
  readonly value: number;
  readonly size: number;
}

interface Explained {
  readonly requests: readonly Requested[];
  /** The requests with their first rows, by each meaning that explains all of them. */
  readonly placed: readonly (readonly { page: Page; start: number; size: number }[])[];
  readonly starts: readonly ((one: Requested | undefined) => number)[];
}

/** Requests positions at the start, in the middle, at the end and beyond it, and finds the meanings that explain all. */
export async function explained(
  listing: Listing,
  list: FullList,
  position: Slot,
): Promise<Explained | { wrong: Difference[] }> {
  const all = list.rows.length;
  const requests: Requested[] = [];
  const plan = new Set(['0 1', '1 1', '1 2', '2 2', '2 1', '1 3', `${all - 1} 1`, `${all + 3} 2`]);
  for (const [value = 0, size = 1] of [...plan].map((one) => one.split(' ').map(Number))) {
    const settings = [...listing.widest, ...listing.sized(size), [position, value] as const];
    const page = size > all ? undefined : await listing.read(settings);
    if (page !== undefined) requests.push({ page, value, size });
  }
  need(requests[1]);
  const explains = (meaning: Meaning, { page, value, size }: Requested) => {
    const start = meaning.start(value, size);
    // For a page before the first one, servers return the first page or reject the request.
    if (start < 0 || (!list.isComplete && start + size > all)) return true;
    return isSameSequence(page.rows.map(list.keyOf), list.keys.slice(start, start + size));
  };
  const possible = meaningsOf(listing, position);
  const fitting = possible.filter((meaning) => requests.every((one) => explains(meaning, one)));
  const starts = fitting.map((meaning) => (one?: Requested) => meaning.start(one?.value ?? 0, one?.size ?? 0));
  const placed = starts.map((start) => requests.map((one) => ({ page: one.page, start: start(one), size: one.size })));
  if (fitting.length > 0 || possible.length === 0) return { requests, placed, starts };
  const score = (meaning: Meaning) => requests.filter((one) => explains(meaning, one)).length;
  const best = need(possible.sort((left, right) => score(right) - score(left))[0]);
  const wrong = need(requests.find((one) => !explains(best, one)));
  const start = best.start(wrong.value, wrong.size);
  const isBeyond = start >= all;
  return {
    wrong: finding(listing, isBeyond ? 'page-beyond' : 'page-position', position, {
      expected: `${position.name}=${wrong.value} is ${best.name}: ${shown(list.keys.slice(start, start + wrong.size))}`,
      actual: shown(wrong.page.rows.map(list.keyOf)),
      exchanges: [...list.exchanges, wrong.page.exchange],
    }),
  };
}
