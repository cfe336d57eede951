import type { FullList, Listing } from './listing.ts';
import { meaningsOf } from './positions.ts';
import type { Slot } from './slot.ts';

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
