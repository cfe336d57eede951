import { shapeOf } from '../../../schema/shape.ts';
import type { FullList, Listing } from './listing.ts';
import type { Difference } from './probe.ts';
import type { Page } from './reader.ts';
import { isTotalName } from './told.ts';

/** What an answer tells of the list beside its rows, judged by where its rows stand in the full list. */

/** The total, wherever it is told, is the number of all rows. */
export function totalDifferences(listing: Listing, list: FullList, pages: readonly Page[]): Difference[] {
  const { said, controls } = listing;
  if (!said.checksTotals || !list.isComplete) return [];
  const all = list.rows.length;
  const told = pages.flatMap((page) => page.told.totals.map((total) => ({ ...total, exchange: page.exchange })));
  const wrong = told.find(({ name, value }) => value !== all && isCount(listing, name));
  if (wrong !== undefined) {
    const { name, value } = wrong;
    return [
      {
        check: 'page-total',
        title: `\`${name}\` is not the number of rows that the list has`,
        expected: `${all}, as many as the list has in all`,
        actual: `${name}: ${value}`,
        slot: controls.total,
        fix: 'Count all rows that match, on every page alike.',
        exchanges: [...list.pages.map(({ exchange }) => exchange), wrong.exchange],
      },
    ];
  }
  const untold = pages.find(({ told }) => told.total === undefined);
  if (controls.total !== undefined && untold !== undefined && declaresTotal(listing)) {
    return [
      {
        check: 'total-missing',
        title: `A total that \`${controls.total.name}\` asks for is not told`,
        expected: 'a total',
        actual: 'none in the answer',
        slot: controls.total,
        fix: 'Tell the total where it is asked for.',
        exchanges: [untold.exchange],
      },
    ];
  }
  return [];
}

/** `total` alone may be a sum of money: it counts rows where there are pages to speak of, or other words say so. */
function isCount({ controls: { size, position, cursor, total } }: Listing, name: string): boolean {
  const isAlone = /^total$/i.test(name);
  return !isAlone || [size, position, cursor, total].some((slot) => slot !== undefined);
}

function declaresTotal({ document, operation }: Listing): boolean {
  const success = operation.answers.find(({ status }) => /^2/.test(status));
  const schema = success?.contents[0]?.schema;
  return schema !== undefined && [...shapeOf(document, schema).properties.keys()].some(isTotalName);
}

/** Whether an answer says rightly that rows follow, or that none do. */
export function moreDifferences(
  listing: Listing,
  list: FullList,
  asked: readonly { readonly page: Page; readonly start: number; readonly size: number }[],
): Difference[] {
  const { controls } = listing;
  for (const { page, start, size } of asked) {
    const { told, rows, exchange } = page;
    const end = start + rows.length;
    if (!list.isComplete && end >= list.rows.length) continue;
    const follow = end < list.rows.length && rows.length > 0;
    const base = { slot: controls.cursor ?? controls.position, exchanges: [exchange] };
    if (told.hasMore !== undefined && told.hasMore.value !== follow && rows.length > 0) {
      return [
        {
          ...base,
          check: 'page-more',
          title: follow
            ? `\`${told.hasMore.name}\` says that nothing follows a page, and rows follow`
            : `\`${told.hasMore.name}\` says that more follows the last page`,
          expected: follow ? `that ${list.rows.length - end} rows follow` : 'that nothing follows',
          actual: `${told.hasMore.name} in the answer says otherwise after ${end} of ${list.rows.length} rows`,
          fix: 'Say that more follows exactly where another page has rows.',
        },
      ];
    }
    if (!follow && told.next !== undefined && rows.length < size && list.isComplete) {
      return [
        {
          ...base,
          check: 'page-next',
          title: 'The last page says where the next one is',
          expected: 'no next page: the page is short of its size, and nothing follows',
          actual: `next: ${String(told.next.value).slice(0, 120)}`,
          fix: 'Name a next page only where one has rows.',
        },
      ];
    }
    if (follow && told.next === undefined && mustNameNext(listing, page)) {
      return [
        {
          ...base,
          check: 'page-next',
          title: 'A page does not say where the next one is, and rows follow',
          expected: `the next page: ${list.rows.length - end} rows follow`,
          actual: 'no next page',
          fix: 'Name the next page wherever one has rows.',
        },
      ];
    }
  }
  return [];
}

/** Whether there is no other way to go on than what the answer names. */
function mustNameNext({ operation, controls }: Listing, { told }: Page): boolean {
  const success = operation.answers.find(({ status }) => /^2/.test(status));
  const link = success?.headers.find(({ name }) => name.toLowerCase() === 'link');
  if (link !== undefined && /\bnext\b/i.test(JSON.stringify([link.node.description, link.schema]))) return true;
  if (controls.cursor === undefined || !told.namesNext) return false;
  return controls.position === undefined;
}
