import { idOf } from '../../../run/pool.ts';
import { keyOfName } from '../../../run/words.ts';
import type { Next } from './list-metadata.ts';
import type { FullList, Listing } from './listing.ts';
import { largest, sized, widest } from './listing.ts';
import { moreDifferences, totalDifferences } from './page.ts';
import type { Difference } from './probe.ts';
import type { Page, Settings } from './reader.ts';
import { firstRepeated, isSameSequence, shown } from './rows.ts';

/** Checks that the pages linked by responses are disjoint, complete and in the order of the list. */
export async function cursors(listing: Listing, list: FullList): Promise<Difference[] | undefined> {
  const { controls, vocabulary } = listing;
  if (controls.size === undefined || list.rows.length < 2 || vocabulary.paging === false) return undefined;
  const size = Math.min(largest(controls.size), Math.max(1, Math.ceil(list.rows.length / 4)));
  const settings = [...widest(listing), ...sized(listing, size)];
  return followed(listing, list, settings, size);
}

async function followed(
  listing: Listing,
  list: FullList,
  settings: Settings,
  size: number,
): Promise<Difference[] | undefined> {
  const { reader, controls } = listing;
  const first = await reader.read(settings);
  if (first === undefined) return undefined;
  const pages = [first];
  const maxPages = Math.ceil(list.rows.length / size) + 2;
  while (pages.length < maxPages) {
    const next = nextOf(listing, pages.at(-1));
    if (next === undefined) break;
    const exchange = await reader.follow(next, settings, controls.cursor, controls.position);
    if (exchange === undefined) break;
    const page = reader.pageOf(exchange);
    if (page === undefined) {
      if (exchange.response.status < 400 || exchange.response.status >= 500) return undefined;
      return [
        {
          check: 'page-cursor-rejected',
          title: 'A request for the next page, as returned by the server, is rejected',
          expected: 'the next page',
          actual: `${exchange.response.status} ${exchange.response.text.slice(0, 160)}`,
          slot: controls.cursor,
          fix: 'Accept cursors and URLs that the server returned.',
          exchanges: [...pages.map((one) => one.exchange), exchange],
        },
      ];
    }
    pages.push(page);
    if (page.rows.length === 0) break;
  }
  if (pages.length === 1 && !pages.some(({ metadata }) => metadata.namesNext)) return undefined;
  return differences(listing, list, pages, size);
}

function differences(listing: Listing, list: FullList, pages: readonly Page[], size: number): Difference[] {
  const { controls } = listing;
  const keys = pages.flatMap(({ rows }) => rows.map(list.keyOf));
  const exchanges = pages.map(({ exchange }) => exchange);
  const base = {
    slot: controls.cursor,
    exchanges,
    fix: 'Take all pages from one list in one order, so that no row is repeated or missing.',
  };
  const totals = totalDifferences(listing, list, pages);
  const repeated = new Set(list.keys).size === list.keys.length ? firstRepeated(keys) : undefined;
  if (repeated !== undefined) {
    const title = 'A row is on more than one page';
    return [
      ...totals,
      { ...base, check: 'page-overlap', title, expected: 'every row once', actual: `${repeated} is repeated` },
    ];
  }
  // A page number is not a cursor: without links, the position check covers paging.
  const canContinue = pages.length > 1 || listing.controls.position === undefined;
  if (!list.isComplete || !canContinue) return totals;
  const known = new Set(keys);
  const lost = list.keys.filter((key) => !known.has(key));
  if (lost.length > 0) {
    return [
      ...totals,
      {
        ...base,
        check: 'page-lost',
        title: 'Rows of the list are on no page',
        expected: shown(list.keys),
        actual: `${shown(lost)} missing from all pages of size ${size}`,
      },
    ];
  }
  if (!isSameSequence(keys, list.keys)) {
    const title = 'Pages have another order than the whole list';
    return [...totals, { ...base, check: 'page-order', title, expected: shown(list.keys), actual: shown(keys) }];
  }
  let start = 0;
  const requests = pages.map((page) => {
    const one = { page, start, size };
    start += page.rows.length;
    return one;
  });
  return [...totals, ...moreDifferences(listing, list, requests)];
}

/** The next page according to the response, or after the ID of the last row if the cursor's name says so. */
function nextOf({ controls: { cursor } }: Listing, page: Page | undefined): Next | undefined {
  if (page === undefined) return undefined;
  if (page.metadata.next !== undefined || page.metadata.namesNext || cursor === undefined) return page.metadata.next;
  const last = page.rows.at(-1);
  if (
    last === undefined ||
    page.metadata.hasMore?.value === false ||
    !/^(?:starting|start)after/.test(keyOfName(cursor.name))
  )
    return undefined;
  const id = idOf(last);
  return typeof id === 'string' ? { kind: 'token', value: id } : undefined;
}
