import type { FullList, Listing } from './listing.ts';
import { meaningsOf } from './positions.ts';
import type { Slot } from './slot.ts';

/** The values of the position that may mean the second page of a size: one for each meaning that it may have. */
export function positionsOf(listing: Listing, list: FullList, size: number): (readonly [Slot, number])[] {
  const { position } = listing.controls;
  if (position === undefined || list.rows.length <= size) return [];
  const values = meaningsOf(listing, position).flatMap((meaning) =>
    [1, 2, size, size + 1].filter((value) => meaning.start(value, size) === size),
  );
  return [...new Set(values)].map((value) => [position, value] as const);
}
