import { keyOfName } from '../../../run/words.ts';
import { shapeOf } from '../../../schema/shape.ts';
import { responseSchema } from '../../../schema/view.ts';
import { type Difference, need, valued } from '../observe.ts';
import {
  type FullList,
  finding,
  firstRepeated,
  hasOwnIds,
  isSameSequence,
  type ListCheck,
  type Listing,
  largest,
  type Page,
  shown,
} from './listing.ts';
import { isTotalName } from './metadata.ts';
import { explained } from './positions.ts';
import type { Slot } from './slots.ts';

/** A page that was requested with a size, and the row that it starts with. */
interface Requested {
  readonly page: Page;
  readonly start: number;
  readonly size: number;
}

/** Every total must be the number of all rows. */
function totalDifferences(listing: Listing, list: FullList, pages: readonly Page[]): Difference[] {
  const { size, position, cursor, total } = listing.controls;
  if (listing.declared.total === false || !list.isComplete) return [];
  const all = list.rows.length;
  // `total` alone may be a sum of money. It is a row count if the list has paging.
  const isCount = (name: string) => !/^total$/i.test(name) || [size, position, cursor, total].some((slot) => slot);
  for (const { metadata, exchange } of pages) {
    const wrong = metadata.totals.find(({ name, value }) => value !== all && isCount(name));
    const exchanges = [...list.exchanges, exchange];
    if (wrong) return finding(listing, 'page-total', total, { ...valued(wrong.name, all, wrong.value), exchanges });
  }
  const missing = pages.find(({ metadata }) => metadata.totals.length === 0);
  const schema = responseSchema(listing.operation);
  const isDeclared = schema !== undefined && [...shapeOf(listing.document, schema).properties.keys()].some(isTotalName);
  if (total === undefined || missing === undefined || !isDeclared) return [];
  return finding(listing, 'total-missing', total, { actual: 'no total', exchanges: [missing.exchange] });
}

/** An empty list has one page or none. */
function pageCountDifferences(listing: Listing, list: FullList, requests: readonly Requested[]): Difference[] {
  if (listing.declared.total === false || !list.isComplete || list.rows.length === 0) return [];
  const stated = requests.flatMap(({ page, size }) => {
    const { pages } = page.metadata;
    return pages === undefined ? [] : [{ ...pages, size, page, expected: Math.ceil(list.rows.length / size) }];
  });
  const wrong = stated.find(({ value, expected }) => value !== expected);
  // A `last` field may contain a zero-based page index.
  const isIndex = stated.every(({ name, value, expected }) => /last/i.test(name) && value === expected - 1);
  if (wrong === undefined || isIndex) return [];
  return finding(listing, 'page-total', listing.controls.size, {
    expected: `${wrong.name}: ${list.rows.length} rows in pages of ${wrong.size} are ${wrong.expected} pages`,
    actual: `${wrong.name}: ${wrong.value}`,
    exchanges: [...list.exchanges, wrong.page.exchange],
  });
}

/** A response must indicate correctly whether more rows follow. */
function moreDifferences(listing: Listing, list: FullList, requests: readonly Requested[]): Difference[] {
  const slot = listing.controls.cursor ?? listing.controls.position;
  for (const { page, start, size } of requests) {
    const { metadata, rows, exchange } = page;
    const { hasMore, next } = metadata;
    const end = start + rows.length;
    if (!list.isComplete && end >= list.rows.length) continue;
    const follow = end < list.rows.length && rows.length > 0;
    const left = follow ? `${list.rows.length - end} rows follow` : 'no rows follow';
    const differs = (check: 'page-more' | 'page-next', expected: string, actual: string) =>
      finding(listing, check, slot, { expected, actual, exchanges: [exchange] });
    if (hasMore !== undefined && hasMore.value !== follow && rows.length > 0)
      return differs('page-more', left, `${hasMore.name} is the opposite after ${end} of ${list.rows.length} rows`);
    if (!follow && next !== undefined && rows.length < size && list.isComplete)
      return differs(
        'page-next',
        `no next page: the page is not full, and ${left}`,
        `next: ${next.value}`.slice(0, 120),
      );
    if (follow && next === undefined && mustNameNext(listing, page))
      return differs('page-next', `the next page, because ${left}`, 'no next page');
  }
  return [];
}

/** Whether only the response can indicate the next page: by a `Link` whose declaration names it, or by a cursor. */
function mustNameNext({ operation, controls }: Listing, { metadata }: Page): boolean {
  const success = operation.responses.find(({ status }) => /^2/.test(status));
  const link = success?.headers.find(({ name }) => name.toLowerCase() === 'link');
  if (link !== undefined && /\bnext\b/i.test(JSON.stringify([link.schema, link.examples]))) return true;
  return controls.cursor !== undefined && metadata.namesNext && controls.position === undefined;
}

/** If a response repeats what was requested, it must be that. */
function echoDifference(
  listing: Listing,
  slot: Slot,
  pages: readonly { readonly page: Page; readonly value: number }[],
  isOther: (stated: readonly { readonly value: number; readonly index: number }[]) => boolean,
): Difference[] {
  const key = keyOfName(slot.path.at(-1) ?? '');
  const stated = pages.flatMap(({ page, value }, index) => {
    const number = page.metadata.numbers.get(key);
    return number === undefined ? [] : [{ ...number, requested: value, index, exchange: page.exchange }];
  });
  const wrong = stated.find(({ value, requested }) => value !== requested);
  if (wrong === undefined || isOther(stated)) return [];
  const facts = valued(wrong.name, wrong.requested, wrong.value);
  return finding(listing, 'page-echo', slot, { ...facts, exchanges: [wrong.exchange] });
}

function sizeDifference(listing: Listing, list: FullList, { page, size }: Requested): Difference[] {
  const keys = page.rows.map(list.keyOf);
  const expected = list.keys.slice(0, size);
  if (isSameSequence(keys, expected) || (!list.isComplete && size > list.rows.length)) return [];
  const isOtherSize = keys.length !== expected.length;
  const rows = `${expected.length} of the ${list.rows.length} rows for a size of ${size}`;
  return finding(listing, isOtherSize ? 'page-size' : 'page-rows', listing.controls.size, {
    ...{ expected: isOtherSize ? rows : shown(expected), actual: shown(keys) },
    exchanges: [...list.exchanges, page.exchange],
  });
}

/** Reads the pages that responses link, up to the end. */
async function linkedPages(listing: Listing, list: FullList, size: number): Promise<Difference[] | undefined> {
  const { cursor } = listing.controls;
  const settings = [...listing.widest, ...listing.sized(size)];
  const first = await listing.page(settings);
  const pages = [first];
  while (pages.length < Math.ceil(list.rows.length / size) + 2) {
    const last = pages.at(-1) ?? first;
    const { next } = last.metadata;
    const exchange = next && (await listing.follow(next, settings));
    if (exchange === undefined) break;
    const page = listing.pageOf(exchange);
    const { status, text } = exchange.response;
    const exchanges = [...pages.map((one) => one.exchange), exchange];
    const facts = { actual: `${status} ${text.slice(0, 160)}`, exchanges };
    if (page === undefined)
      return status < 400 || status >= 500 ? undefined : finding(listing, 'page-cursor-rejected', cursor, facts);
    pages.push(page);
    if (page.rows.length === 0) break;
  }
  if (pages.length === 1 && !first.metadata.namesNext) return undefined;
  return linkedDifferences(listing, list, pages, size);
}

function linkedDifferences(listing: Listing, list: FullList, pages: readonly Page[], size: number): Difference[] {
  const { cursor, position } = listing.controls;
  const keys = pages.flatMap(({ rows }) => rows.map(list.keyOf));
  const exchanges = pages.map(({ exchange }) => exchange);
  const totals = totalDifferences(listing, list, pages);
  const repeated = firstRepeated(list.keys) === undefined ? firstRepeated(keys) : undefined;
  const differs = (check: 'page-overlap' | 'page-lost' | 'page-order', expected: string, actual: string) => [
    ...totals,
    ...finding(listing, check, cursor, { expected, actual, exchanges }),
  ];
  if (repeated !== undefined) return differs('page-overlap', 'every row once', `${repeated} is repeated`);
  // A page number is not a cursor: without links, the position check covers paging.
  if (!list.isComplete || (pages.length === 1 && position !== undefined)) return totals;
  const lost = list.keys.filter((key) => !keys.includes(key));
  const missing = `${shown(lost)} missing from all pages of size ${size}`;
  if (lost.length > 0) return differs('page-lost', shown(list.keys), missing);
  if (!isSameSequence(keys, list.keys)) return differs('page-order', shown(list.keys), shown(keys));
  let start = 0;
  const requests = pages.map((page) => {
    start += page.rows.length;
    return { page, start: start - page.rows.length, size };
  });
  return [...totals, ...moreDifferences(listing, list, requests)];
}

export const pagingChecks: readonly ListCheck[] = [
  {
    name: 'whole list',
    describe: 'The full list has no row twice, a correct total, and a correct end.',
    async run({ listing, list }) {
      const repeated = hasOwnIds(list.rows) ? firstRepeated(list.keys) : undefined;
      const page = need(list.pages.at(-1));
      const { size } = listing.controls;
      const start = list.rows.length - page.rows.length;
      const requests = size === undefined ? [] : [{ page, start, size: largest(size) }];
      const facts = { actual: `${repeated} is repeated in ${shown(list.keys)}`, exchanges: list.exchanges };
      const twice = repeated === undefined ? [] : finding(listing, 'page-overlap', undefined, facts);
      return [...twice, ...totalDifferences(listing, list, list.pages), ...moreDifferences(listing, list, requests)];
    },
  },
  {
    name: 'sizes',
    describe: 'A page has the requested number of rows, starting with the first.',
    applies: ({ listing, list }) => listing.controls.size !== undefined && list.rows.length > 1,
    async run({ listing, list }) {
      const size = need(listing.controls.size);
      const requests: Requested[] = [];
      // Requesting a maximum that exceeds the list returns only the list.
      const maximum = list.isComplete && list.rows.length < 200 ? largest(size, 1000) : largest(size);
      for (const count of new Set([1, 2, 3, list.rows.length, list.rows.length + 1, maximum])) {
        const page = count > maximum ? undefined : await listing.read([...listing.widest, ...listing.sized(count)]);
        if (page !== undefined) requests.push({ page, start: 0, size: count });
      }
      if (requests.length === 0) return undefined;
      const wrong = requests.flatMap((one) => sizeDifference(listing, list, one)).slice(0, 1);
      const pages = requests.map(({ page }) => page);
      const echoed = requests.map((one) => ({ page: one.page, value: one.size }));
      const isCount = (stated: readonly { value: number; index: number }[]) =>
        stated.every(({ value, index }) => pages[index]?.rows.length === value);
      return [
        ...wrong,
        ...totalDifferences(listing, list, pages),
        ...pageCountDifferences(listing, list, requests),
        ...moreDifferences(listing, list, requests),
        ...(wrong.length > 0 ? [] : echoDifference(listing, size, echoed, isCount)),
      ];
    },
  },
  {
    name: 'positions',
    describe: 'Positions select pages that are disjoint, complete, in list order, and empty beyond the end.',
    applies: ({ listing, list }) =>
      listing.controls.position !== undefined &&
      listing.controls.size !== undefined &&
      listing.declared.paging !== false &&
      listing.declared.paging !== 'cursor' &&
      list.rows.length > 1,
    async run({ listing, list }) {
      const position = need(listing.controls.position);
      const found = await explained(listing, list, position);
      if ('wrong' in found) return found.wrong;
      const more = found.placed.map((one) => moreDifferences(listing, list, one));
      const pages = found.requests.map(({ page }) => page);
      const echoed = found.requests.filter(({ page }) => page.rows.length > 0);
      // If the response repeats the position, it may be the row number instead; either rises with the position.
      const isSteady = (values: readonly number[]) => new Set(values).size <= 1;
      return [
        ...totalDifferences(listing, list, pages),
        ...(more.every((one) => one.length > 0) ? (more[0] ?? []) : []),
        ...echoDifference(listing, position, echoed, (stated) =>
          [
            (index: number) => echoed[index]?.value ?? 0,
            ...found.starts.map((start) => (index: number) => start(echoed[index])),
          ].some((of) => isSteady(stated.map(({ value, index }) => value - of(index)))),
        ),
      ];
    },
  },
  {
    name: 'linked pages',
    describe: 'The pages that responses link are disjoint, complete and in the order of the list.',
    applies: ({ listing, list }) =>
      listing.controls.size !== undefined && listing.declared.paging !== false && list.rows.length > 1,
    async run({ listing, list }) {
      const most = largest(need(listing.controls.size));
      return linkedPages(listing, list, Math.min(most, Math.max(1, Math.ceil(list.rows.length / 4))));
    },
  },
  {
    name: 'relations',
    describe: '`last` links to the last rows; `first` and `prev` of the second page link to the first rows.',
    applies: ({ listing, list }) => listing.controls.size !== undefined && list.isComplete && list.rows.length > 2,
    async run({ listing, list }) {
      const size = Math.max(1, Math.ceil(list.rows.length / 3));
      const settings = [...listing.widest, ...listing.sized(size)];
      const start = await listing.page(settings);
      if (start.metadata.next === undefined || start.metadata.relations.size === 0) return undefined;
      const second = await listing.after(start, settings);
      const found: Difference[] = [];
      for (const [name, from] of [
        ['last', start],
        ['first', second],
        ['prev', second],
      ] as const) {
        const target = from?.metadata.relations.get(name);
        const exchange = target === undefined ? undefined : await listing.follow(target, settings);
        if (from === undefined || exchange === undefined) continue;
        const keys = listing.pageOf(exchange)?.rows.map(list.keyOf);
        const end = name === 'last' ? -1 : 0;
        if (keys?.at(end) === list.keys.at(end)) continue;
        found.push(
          ...finding(listing, 'page-link', undefined, {
            expected: `\`${name}\` leads to the page that ${name === 'last' ? 'ends' : 'begins'} with ${list.keys.at(end)}`,
            actual: keys === undefined ? `${exchange.response.status}` : keys.join(', ').slice(0, 120) || 'no rows',
            exchanges: [from.exchange, exchange],
          }),
        );
      }
      return found;
    },
  },
];
