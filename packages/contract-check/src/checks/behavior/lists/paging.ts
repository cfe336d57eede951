import type { CheckName } from '../../../finding/rules.ts';
import { isKey, type JsonObject, jsonText } from '../../../json.ts';
import { collectionPath, isOwnId, kindOfPath, kindOfReference } from '../../../run/names.ts';
import { View } from '../../../schema/view.ts';
import { type Difference, type Differences, need, needs, valued } from '../../observe.ts';
import {
  type FullList,
  finding,
  firstRepeated,
  hasOwnIds,
  isOffsetName,
  isSameSequence,
  type ListCheck,
  type Listing,
  type ListSubject,
  largest,
  type Page,
  shown,
} from './listing.ts';
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

interface Sized {
  readonly page: Page;
  readonly start: number;
  readonly size: number;
  readonly position?: { readonly of: Meaning['paging']; readonly value: number };
}

/** Requests positions at the start, in the middle, at the end and beyond it. One of their meanings must explain all. */
async function* positions({ listing, list }: ListSubject): Differences {
  const { declared, controls } = listing;
  const position = need(controls.position);
  needs(controls.size !== undefined && declared.paging !== false && declared.paging !== 'cursor');
  needs(list.rows.length > 1);
  const all = list.rows.length;
  const requests: { readonly page: Page; readonly value: number; readonly size: number }[] = [];
  for (const value of new Set([0, 1, 2, all - 1, all + 3]))
    for (const size of [1, 2]) {
      const page = await listing.read([...listing.widest, ...listing.sized(size), [position, value]]);
      if (page !== undefined) requests.push({ page, value, size });
    }
  need(requests[1]);
  const placed = (meaning: Meaning) =>
    requests.map(({ page, value, size }) => {
      const start = meaning.start(value, size);
      return { page, value, size, start, position: { of: meaning.paging, value } };
    });
  const unexplained = (meaning: Meaning) =>
    placed(meaning).filter(({ page, start, size }) => {
      // For a page before the first one, servers return the first page or reject the request.
      if (start < 0 || (!list.isComplete && start + size > all)) return false;
      return !isSameSequence(page.rows.map(list.keyOf), list.keys.slice(start, start + size));
    });
  const possible = meaningsOf(listing, position).map((meaning) => ({ meaning, wrong: unexplained(meaning) }));
  const fitting = possible.filter(({ wrong }) => wrong.length === 0);
  if (fitting.length > 0 || possible.length === 0) {
    const told = fitting.map(({ meaning }) => metadataDifferences(listing, list, placed(meaning)));
    return yield* told.every((one) => one.length > 0) ? (told[0] ?? []) : [];
  }
  const best = need(possible.sort((left, right) => left.wrong.length - right.wrong.length)[0]);
  const { page, value, size, start } = need(best.wrong[0]);
  const rows = shown(list.keys.slice(start, start + size));
  const expected = `${position.name}=${value} is ${best.meaning.name}: ${rows}`;
  const facts = { expected, actual: shown(page.rows.map(list.keyOf)), exchanges: [...list.exchanges, page.exchange] };
  yield finding(listing, start >= all ? 'page-beyond' : 'page-position', position, facts);
}

/** A page must state the total, and whether more rows follow, correctly. */
function metadataDifferences(listing: Listing, list: FullList, requests: readonly Sized[]): Difference[] {
  const pages = requests.map(({ page }) => page);
  return [
    ...totalDifferences(listing, list, pages),
    ...moreDifferences(listing, list, requests),
    ...countDifferences(listing, list, requests),
  ];
}

/** The number of pages, and the size and the position of each, must be those of the list and of the request. */
function countDifferences(listing: Listing, list: FullList, requests: readonly Sized[]): Difference[] {
  for (const { page, start, size, position } of requests) {
    const { metadata, rows, exchange } = page;
    if (rows.length === 0 || start < 0) continue;
    for (const { of, name, value } of metadata.counts) {
      const own = of === 'size' ? size : of === position?.of ? position.value : undefined;
      const expected = of === 'pages' && list.isComplete && size > 0 ? Math.ceil(list.rows.length / size) : own;
      // The size of a page that is not full can be that of its rows.
      if (!expected || value === expected || (of === 'size' && value === rows.length)) continue;
      const exchanges = [...list.exchanges, exchange];
      return [finding(listing, 'page-total', undefined, { ...valued(name, expected, value), exchanges })];
    }
  }
  return [];
}

function totalDifferences(listing: Listing, list: FullList, pages: readonly Page[]): Difference[] {
  const { size, position, cursor, total } = listing.controls;
  if (listing.declared.total === false || !list.isComplete) return [];
  const all = list.rows.length;
  // `total` alone may be a sum of money. It is a row count if the list has paging.
  const isCount = (name: string) => !/^total$/i.test(name) || [size, position, cursor, total].some((slot) => slot);
  for (const { metadata, exchange } of pages) {
    const wrong = metadata.totals.find(({ name, value }) => value !== all && isCount(name));
    const exchanges = [...list.exchanges, exchange];
    if (wrong) return [finding(listing, 'page-total', total, { ...valued(wrong.name, all, wrong.value), exchanges })];
  }
  return [];
}

function moreDifferences(listing: Listing, list: FullList, requests: readonly Sized[]): Difference[] {
  const slot = listing.controls.cursor ?? listing.controls.position;
  for (const { page, start, size } of requests) {
    const { metadata, rows, exchange } = page;
    const { hasMore, next } = metadata;
    const end = start + rows.length;
    if (!list.isComplete && end >= list.rows.length) continue;
    const follow = end < list.rows.length && rows.length > 0;
    const left = follow ? `${list.rows.length - end} rows follow` : 'no rows follow';
    const differs = (check: CheckName, expected: string, actual: string) => [
      finding(listing, check, slot, { expected, actual, exchanges: [exchange] }),
    ];
    if (hasMore !== undefined && hasMore.value !== follow && rows.length > 0)
      return differs('page-more', left, `${hasMore.name} is the opposite after ${end} of ${list.rows.length} rows`);
    if (!follow && next !== undefined && rows.length < size && list.isComplete)
      return differs('page-next', `no next page: the page is not full, and ${left}`, `next: ${next.value}`);
    if (follow && next === undefined && mustNameNext(listing, page))
      return differs('page-next', `the next page, because ${left}`, 'no next page');
  }
  return [];
}

/** Whether the response indicates the next page: by a `Link` whose declaration names it, an address, or a cursor. */
function mustNameNext({ document, operation, controls }: Listing, { metadata }: Page): boolean {
  const success = operation.responses.find(({ status }) => /^2/.test(status));
  const link = success?.headers.find(({ name }) => name.toLowerCase() === 'link');
  if (link !== undefined && /\bnext\b/i.test(jsonText([link.schema, link.examples]))) return true;
  const view = View.ofResponse(document, operation);
  const isAddressed = view.names.some((name) => /^next/i.test(name) && /^uri/.test(view.member(name).format ?? ''));
  return metadata.namesNext && (isAddressed || (controls.cursor !== undefined && controls.position === undefined));
}

/** A page has the requested number of rows, starting with the first. */
async function* sizes({ listing, list }: ListSubject): Differences {
  const slot = need(listing.controls.size);
  needs(list.rows.length > 1);
  const all = list.rows.length;
  const requests: Sized[] = [];
  // Requesting a maximum that exceeds the list returns only the list.
  const maximum = list.isComplete && all < 200 ? largest(slot, 1000) : largest(slot);
  for (const size of new Set([1, 2, 3, all, all + 1, maximum])) {
    const page = size > maximum ? undefined : await listing.read([...listing.widest, ...listing.sized(size)]);
    if (page !== undefined) requests.push({ page, start: 0, size });
  }
  for (const { page, size } of requests) {
    const keys = page.rows.map(list.keyOf);
    const expected = list.keys.slice(0, size);
    if (isSameSequence(keys, expected) || (!list.isComplete && size > all)) continue;
    const facts = { expected: `for a size of ${size}: ${shown(expected)}`, actual: shown(keys) };
    const check = keys.length === expected.length ? 'page-rows' : 'page-size';
    yield finding(listing, check, slot, { ...facts, exchanges: [...list.exchanges, page.exchange] });
    break;
  }
  yield* metadataDifferences(listing, list, requests);
}

/** The pages that responses link are disjoint, complete and in the order of the list. */
async function* linkedPages({ listing, list }: ListSubject): Differences {
  const { cursor, position, size: slot } = listing.controls;
  needs(listing.declared.paging !== false && list.rows.length > 1);
  const size = Math.min(largest(need(slot)), Math.max(1, Math.ceil(list.rows.length / 4)));
  const settings = [...listing.widest, ...listing.sized(size)];
  const most = list.rows.length / size + 3;
  const read = await listing.pages(settings, most, 'linked');
  needs(read.length > 1 || read[0]?.metadata.namesNext === true);
  const keys = read.flatMap(({ rows }) => rows.map(list.keyOf));
  const exchanges = read.map(({ exchange }) => exchange);
  const repeated = firstRepeated(list.keys) === undefined ? firstRepeated(keys) : undefined;
  const differs = (check: CheckName, expected: string, actual: string) =>
    finding(listing, check, cursor, { expected, actual, exchanges });
  const next = read.length < most ? read.at(-1)?.metadata.next : undefined;
  if (next?.kind === 'address' && read.at(-1)?.rows.length !== 0)
    return yield differs('page-next', 'a link to the next page', `${next.value} is no page of the list`);
  if (repeated !== undefined) return yield differs('page-overlap', 'every row once', `${repeated} is repeated`);
  // A page number is not a cursor: without links, the position check covers paging.
  if (!list.isComplete || (read.length === 1 && position !== undefined)) return;
  const lost = list.keys.filter((key) => !keys.includes(key));
  if (lost.length > 0)
    return yield differs('page-lost', shown(list.keys), `${shown(lost)} missing from all pages of size ${size}`);
  if (!isSameSequence(keys, list.keys)) return yield differs('page-order', shown(list.keys), shown(keys));
  for (const [end, row] of [['first', 0] as const, ['last', -1] as const]) {
    const address = read[0]?.metadata.ends[end];
    const page = address === undefined ? undefined : await listing.addressed(address);
    const there = page?.rows.map(list.keyOf) ?? [];
    if (address !== undefined && there.at(row) !== list.keys.at(row))
      return yield differs('page-next', `the ${end} page at the link to it`, `${address}: ${shown(there)}`);
  }
  let start = 0;
  const pages = read.map((page) => {
    start += page.rows.length;
    return { page, start: start - page.rows.length, size };
  });
  yield* metadataDifferences(listing, list, pages);
}

/** A list below a resource has only rows of this resource. */
async function* ofParent({ listing, list }: ListSubject): Differences {
  for (const [name, value] of Object.entries(listing.base.path)) {
    // The rows of `/artworks/{id}/loans` have an `artworkId`.
    const kind = isOwnId(name) ? kindOfPath(collectionPath(listing.operation.path, name)) : kindOfReference(name);
    const [row = {}] = list.rows;
    const key = isOwnId(name) ? Object.keys(row).find((one) => kindOfReference(one) === kind) : name;
    const isForeign = (one: JsonObject) => isKey(one[key ?? '']) && String(one[key ?? '']) !== String(value);
    const foreign = kind === undefined || key === undefined ? undefined : list.rows.find(isForeign);
    if (foreign === undefined || key === undefined) continue;
    const facts = { ...valued(key, value, foreign[key]), exchanges: list.exchanges };
    return yield finding(listing, 'list-leaks', undefined, facts);
  }
}

/** The full list has no row twice, a correct total, and a correct end. */
async function* whole({ listing, list }: ListSubject): Differences {
  const repeated = hasOwnIds(list.rows) ? firstRepeated(list.keys) : undefined;
  const page = need(list.pages.at(-1));
  const { size } = listing.controls;
  const last = { page, start: list.rows.length - page.rows.length, size: size === undefined ? 0 : largest(size) };
  const facts = { actual: `${repeated} is repeated in ${shown(list.keys)}`, exchanges: list.exchanges };
  if (repeated !== undefined) yield finding(listing, 'page-overlap', undefined, facts);
  yield* metadataDifferences(listing, list, [last]);
}

export const pagingChecks: readonly ListCheck[] = [ofParent, whole, sizes, positions, linkedPages];
