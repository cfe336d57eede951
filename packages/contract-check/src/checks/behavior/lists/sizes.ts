import { keyOfName } from '../../../run/words.ts';
import type { FullList, Listing } from './listing.ts';
import { largest, sized, widest } from './listing.ts';
import { moreDifferences, totalDifferences } from './page.ts';
import { pageCountDifferences } from './page-counts.ts';
import type { Difference } from './probe.ts';
import type { Page } from './reader.ts';
import { firstRepeated, hasOwnIds, isSameSequence, shown } from './rows.ts';

interface Requested {
  readonly page: Page;
  readonly start: 0;
  readonly size: number;
}

/** Checks the full list: no repeated rows, and a correct total. */
export async function wholeList(listing: Listing, list: FullList): Promise<Difference[]> {
  const repeated = hasOwnIds(list.rows) ? firstRepeated(list.keys) : undefined;
  const exchanges = list.pages.map(({ exchange }) => exchange);
  const duplicates: Difference[] =
    repeated === undefined
      ? []
      : [
          {
            check: 'page-overlap',
            title: 'A row is in the list more than once',
            expected: 'every row once',
            actual: `${repeated} is repeated in ${shown(list.keys)}`,
            slot: undefined,
            fix: 'Return every row once.',
            exchanges,
          },
        ];
  const last = list.pages.at(-1);
  const requests =
    last === undefined || listing.controls.size === undefined
      ? []
      : [{ page: last, start: list.rows.length - last.rows.length, size: largest(listing.controls.size) }];
  return [...duplicates, ...totalDifferences(listing, list, list.pages), ...moreDifferences(listing, list, requests)];
}

/** Checks that a page has the requested number of rows, starting with the first. */
export async function sizes(listing: Listing, list: FullList): Promise<Difference[] | undefined> {
  const { reader, controls } = listing;
  const { size } = controls;
  if (size === undefined || list.rows.length < 2) return undefined;
  const requests: Requested[] = [];
  // Requesting a maximum that exceeds the list returns only the list.
  const maximum = list.isComplete && list.rows.length < 200 ? largest(size, 1000) : largest(size);
  for (const count of [1, 2, 3, list.rows.length, list.rows.length + 1, maximum]) {
    if (requests.some((one) => one.size === count) || count > maximum) continue;
    const page = await reader.read([...widest(listing), ...sized(listing, count)]);
    if (page !== undefined) requests.push({ page, start: 0, size: count });
  }
  if (requests.length === 0) return undefined;
  const wrong = requests.flatMap((one) => sizeDifference(listing, list, one));
  return [
    ...wrong.slice(0, 1),
    ...totalDifferences(
      listing,
      list,
      requests.map(({ page }) => page),
    ),
    ...pageCountDifferences(listing, list, requests),
    ...moreDifferences(listing, list, requests),
    ...(wrong.length > 0 ? [] : echoDifference(listing, requests)),
  ];
}

function sizeDifference({ controls }: Listing, list: FullList, { page, size }: Requested): Difference[] {
  const keys = page.rows.map(list.keyOf);
  const expected = list.keys.slice(0, size);
  if (isSameSequence(keys, expected)) return [];
  if (!list.isComplete && size > list.rows.length) return [];
  const base = { slot: controls.size, exchanges: [...list.pages.map(({ exchange }) => exchange), page.exchange] };
  if (keys.length !== expected.length) {
    return [
      {
        ...base,
        check: 'page-size',
        title: `A page has ${keys.length > expected.length ? 'more' : 'fewer'} rows than \`${controls.size?.name}\` requests`,
        expected: `${expected.length} of the ${list.rows.length} rows for a size of ${size}`,
        actual: shown(keys),
        fix: 'Return the requested number of rows, or all remaining rows if there are fewer.',
      },
    ];
  }
  return [
    {
      ...base,
      check: 'page-rows',
      title: 'The first page does not have the first rows of the list',
      expected: shown(expected),
      actual: shown(keys),
      fix: 'Take pages of any size from one list in one order.',
    },
  ];
}

/** If the response repeats the size, it must be the requested size or the number of returned rows. */
function echoDifference({ controls: { size } }: Listing, requests: readonly Requested[]): Difference[] {
  if (size === undefined) return [];
  const key = keyOfName(size.path.at(-1) ?? '');
  const metadata = requests.flatMap(({ page, size: requested }) => {
    const number = page.metadata.numbers.get(key);
    return number === undefined ? [] : [{ ...number, requested, rows: page.rows.length, exchange: page.exchange }];
  });
  const isRequested = metadata.every(({ value, requested }) => value === requested);
  const isCounted = metadata.every(({ value, rows }) => value === rows);
  const wrong = metadata.find(({ value, requested }) => value !== requested);
  if (wrong === undefined || isRequested || isCounted) return [];
  return [
    {
      check: 'page-echo',
      title: `\`${wrong.name}\` in the response is not the requested size`,
      expected: `${wrong.requested}`,
      actual: `${wrong.value}`,
      slot: size,
      fix: 'Return the size of the page.',
      exchanges: [wrong.exchange],
    },
  ];
}
