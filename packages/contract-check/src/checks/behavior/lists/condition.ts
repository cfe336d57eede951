import type { JsonObject } from '../../../json.ts';
import type { FullList, Listing } from './listing.ts';
import { largest, widest } from './listing.ts';
import type { Difference } from './probe.ts';
import type { Page, Settings } from './reader.ts';
import { shown } from './rows.ts';
import type { Slot } from './slot.ts';

/** A filter value, and the rows that match it. */
export interface Condition {
  readonly slot: Slot;
  readonly settings: Settings;
  readonly label: string;
  /** Undefined where servers may differ. */
  holds(row: JsonObject): boolean | undefined;
  /** The same filter with another value. If its meaning is inferred, both must fail before anything is reported. */
  readonly second?: Condition | undefined;
}

export function and(results: readonly (boolean | undefined)[]): boolean | undefined {
  if (results.includes(false)) return false;
  return results.includes(undefined) ? undefined : true;
}

export function or(results: readonly (boolean | undefined)[]): boolean | undefined {
  if (results.includes(true)) return true;
  return results.includes(undefined) ? undefined : false;
}

/** Counts the rows that definitely match, and those that definitely do not. */
export function reach(list: FullList, { holds }: Condition): { yes: number; no: number } {
  const results = list.rows.map(holds);
  return { yes: results.filter((one) => one === true).length, no: results.filter((one) => one === false).length };
}

/** Checks that every returned row matches, that no matching row is missing, and that the total is correct. */
export async function filtered(
  listing: Listing,
  list: FullList,
  condition: Condition,
): Promise<Difference[] | undefined> {
  const found = await filteredOnce(listing, list, condition);
  if (found === undefined || found.length === 0 || condition.second === undefined) return found;
  const other = await filteredOnce(listing, list, condition.second);
  return other === undefined || other.length === 0 ? undefined : found;
}

async function filteredOnce(listing: Listing, list: FullList, condition: Condition): Promise<Difference[] | undefined> {
  const page = await listing.reader.read([...widest(listing), ...condition.settings]);
  if (page === undefined) return undefined;
  const keys = page.rows.map(list.keyOf);
  const base = {
    slot: condition.slot,
    exchanges: [...list.pages.map(({ exchange }) => exchange), page.exchange],
  };
  const wrong = page.rows.filter((row) => condition.holds(row) === false);
  if (wrong.length > 0) {
    return [
      {
        ...base,
        check: 'filter-ignored',
        title: `A filter by \`${condition.slot.name}\` returns rows that do not match`,
        expected: `only rows with ${condition.label}`,
        actual: `of ${page.rows.length} rows, these do not match: ${shown(wrong.map(list.keyOf))}`,
        fix: 'Return only rows that match.',
      },
    ];
  }
  const isWhole = isUncut(listing, list, page);
  const missing = list.rows.filter((row) => condition.holds(row) === true && !keys.includes(list.keyOf(row)));
  if (isWhole && missing.length > 0) {
    return [
      {
        ...base,
        check: 'filter-lost',
        title: `A filter by \`${condition.slot.name}\` does not return all rows that match`,
        expected: `all rows with ${condition.label}`,
        actual: `without ${shown(missing.map(list.keyOf))}`,
        fix: 'Return all rows that match.',
      },
    ];
  }
  const { total } = page.metadata;
  const isCounted = listing.vocabulary.checksTotals && list.pages[0]?.metadata.total?.value === list.rows.length;
  if (isWhole && isCounted && total !== undefined && total.value !== page.rows.length) {
    return [
      {
        ...base,
        check: 'filter-total',
        title: `With a filter by \`${condition.slot.name}\`, \`${total.name}\` is not the number of matching rows`,
        expected: `${page.rows.length}`,
        actual: `${total.value}`,
        fix: 'Return the number of matching rows.',
      },
    ];
  }
  return [];
}

/** Whether a page definitely contains all matching rows: it is not full, and no further page is indicated. */
function isUncut({ controls: { size } }: Listing, list: FullList, { rows, metadata }: Page): boolean {
  if (metadata.next !== undefined || metadata.hasMore?.value === true) return false;
  return size === undefined ? list.isComplete && list.pages.length === 1 : rows.length < largest(size);
}
