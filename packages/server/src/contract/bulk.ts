import { contract } from './contract.ts';

/**
 * Bodies of at least this many bytes count as heavy, and are parsed and validated in a separate thread. A megabyte takes 50 ms and more,
 * which would block all other requests; below this size it takes a millisecond or two, as much as the transfer to the thread.
 */
export const largeBody = 32 * 1024;

const least = contract['x-write-limits'].bulk;

/** Whether the lists in a body have so many items together that writing them is a bulk write. It counts no further. */
export function isBulk(body: unknown): boolean {
  return itemsIn(body, 0) >= least;
}

/** Adds the items of all lists in a value to a count, until they are enough. */
function itemsIn(value: unknown, before: number): number {
  if (typeof value !== 'object' || value === null) return before;
  let count = before + (Array.isArray(value) ? value.length : 0);
  for (const name in value) {
    if (count >= least) break;
    count = itemsIn(Reflect.get(value, name), count);
  }
  return count;
}
