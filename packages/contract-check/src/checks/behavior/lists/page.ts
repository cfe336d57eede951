import { shapeOf } from '../../../schema/shape.ts';
import { isTotalName } from './list-metadata.ts';
import type { FullList, Listing } from './listing.ts';
import type { Difference } from './probe.ts';
import type { Page } from './reader.ts';

/** Checks of paging information against the full list. */

/** Checks that every total is the number of all rows. */
export function totalDifferences(listing: Listing, list: FullList, pages: readonly Page[]): Difference[] {
  const { vocabulary, controls } = listing;
  if (!vocabulary.checksTotals || !list.isComplete) return [];
  const all = list.rows.length;
  const metadata = pages.flatMap((page) =>
    page.metadata.totals.map((total) => ({ ...total, exchange: page.exchange })),
  );
  const wrong = metadata.find(({ name, value }) => value !== all && isCount(listing, name));
  if (wrong !== undefined) {
    const { name, value } = wrong;
    return [
      {
        check: 'page-total',
        title: `\`${name}\` is not the number of rows in the list`,
        expected: `${all}, the number of all rows`,
        actual: `${name}: ${value}`,
        slot: controls.total,
        fix: 'Count all matching rows, on every page.',
        exchanges: [...list.pages.map(({ exchange }) => exchange), wrong.exchange],
      },
    ];
  }
  const missing = pages.find(({ metadata }) => metadata.total === undefined);
  if (controls.total !== undefined && missing !== undefined && declaresTotal(listing)) {
    return [
      {
        check: 'total-missing',
        title: `The total that \`${controls.total.name}\` requests is not returned`,
        expected: 'a total',
        actual: 'no total in the response',
        slot: controls.total,
        fix: 'Return the total if it is requested.',
        exchanges: [missing.exchange],
      },
    ];
  }
  return [];
}

/** `total` alone may be a sum of money. It is a row count if the list has paging. */
function isCount({ controls: { size, position, cursor, total } }: Listing, name: string): boolean {
  const isBareTotal = /^total$/i.test(name);
  return !isBareTotal || [size, position, cursor, total].some((slot) => slot !== undefined);
}

function declaresTotal({ document, operation }: Listing): boolean {
  const success = operation.responses.find(({ status }) => /^2/.test(status));
  const schema = success?.contents[0]?.schema;
  return schema !== undefined && [...shapeOf(document, schema).properties.keys()].some(isTotalName);
}

/** Checks whether a response correctly indicates that more rows follow. */
export function moreDifferences(
  listing: Listing,
  list: FullList,
  requests: readonly { readonly page: Page; readonly start: number; readonly size: number }[],
): Difference[] {
  const { controls } = listing;
  for (const { page, start, size } of requests) {
    const { metadata, rows, exchange } = page;
    const end = start + rows.length;
    if (!list.isComplete && end >= list.rows.length) continue;
    const follow = end < list.rows.length && rows.length > 0;
    const base = { slot: controls.cursor ?? controls.position, exchanges: [exchange] };
    if (metadata.hasMore !== undefined && metadata.hasMore.value !== follow && rows.length > 0) {
      return [
        {
          ...base,
          check: 'page-more',
          title: follow
            ? `\`${metadata.hasMore.name}\` indicates that no rows follow, but more rows follow`
            : `\`${metadata.hasMore.name}\` indicates that more rows follow, but this is the last page`,
          expected: follow ? `${list.rows.length - end} rows follow` : 'no rows follow',
          actual: `${metadata.hasMore.name} is the opposite after ${end} of ${list.rows.length} rows`,
          fix: 'Set it to true exactly if another page has rows.',
        },
      ];
    }
    if (!follow && metadata.next !== undefined && rows.length < size && list.isComplete) {
      return [
        {
          ...base,
          check: 'page-next',
          title: 'The last page has a next page',
          expected: 'no next page: the page is not full, and no rows follow',
          actual: `next: ${String(metadata.next.value).slice(0, 120)}`,
          fix: 'Return a next page only if it has rows.',
        },
      ];
    }
    if (follow && metadata.next === undefined && mustNameNext(listing, page)) {
      return [
        {
          ...base,
          check: 'page-next',
          title: 'A page has no next page, but more rows follow',
          expected: `the next page, because ${list.rows.length - end} rows follow`,
          actual: 'no next page',
          fix: 'Return the next page whenever it has rows.',
        },
      ];
    }
  }
  return [];
}

/** Whether only the response can indicate the next page. */
function mustNameNext({ operation, controls }: Listing, { metadata }: Page): boolean {
  const success = operation.responses.find(({ status }) => /^2/.test(status));
  const link = success?.headers.find(({ name }) => name.toLowerCase() === 'link');
  if (link !== undefined && /\bnext\b/i.test(JSON.stringify([link.node.description, link.schema]))) return true;
  if (controls.cursor === undefined || !metadata.namesNext) return false;
  return controls.position === undefined;
}
