import { type FullList, type Listing, largest, widest } from './listing.ts';
import { propertiesOf } from './properties.ts';
import type { Page, Settings } from './reader.ts';
import { keyFor } from './rows.ts';

const maxPages = 5;
const maxRows = 500;

/** Reads the whole list with the largest page size; undefined if it cannot be read. */
export async function walk(listing: Listing, more: Settings = []): Promise<FullList | undefined> {
  const { reader, controls } = listing;
  const settings = [...widest(listing), ...more];
  const first = await reader.read(settings);
  if (first === undefined) return undefined;
  const pages: Page[] = [first];
  let isComplete = isLast(listing, first);
  while (!isComplete && pages.length < maxPages && count(pages) < maxRows && !reader.session.isOver) {
    const last = pages.at(-1);
    const next = last?.metadata.next;
    if (last === undefined || last.rows.length === 0) break;
    const exchange =
      next === undefined
        ? await reader.request(following(listing, settings, pages))
        : await reader.follow(next, settings, controls.cursor, controls.position);
    const page = exchange === undefined ? undefined : reader.pageOf(exchange);
    // An empty page is the end, regardless of what earlier pages indicate.
    if (page?.rows.length === 0) isComplete = true;
    if (page === undefined || repeats(pages, page)) break;
    pages.push(page);
    isComplete = isLast(listing, page);
  }
  const rows = pages.flatMap((page) => page.rows);
  const keyOf = keyFor(rows);
  return {
    rows,
    keyOf,
    keys: rows.map(keyOf),
    isComplete,
    pages,
    properties: propertiesOf(listing.document, rows, listing.rowSchema),
  };
}

/** Whether no rows follow, according to the response or because the page is not full. */
function isLast({ controls: { size, position, cursor } }: Listing, { rows, metadata }: Page): boolean {
  if (metadata.next !== undefined) return false;
  if (metadata.hasMore !== undefined) return !metadata.hasMore.value;
  if (size === undefined) return position === undefined && cursor === undefined;
  return rows.length < largest(size);
}

function count(pages: readonly Page[]): number {
  return pages.reduce((sum, { rows }) => sum + rows.length, 0);
}

function repeats(pages: readonly Page[], page: Page): boolean {
  const keyOf = keyFor([...pages.flatMap(({ rows }) => rows), ...page.rows]);
  const known = new Set(pages.flatMap(({ rows }) => rows.map(keyOf)));
  return page.rows.length === 0 || page.rows.some((row) => known.has(keyOf(row)));
}

/**
 * Settings for the next page if the response does not link it: from the declared position, otherwise as a row offset.
 */
function following({ controls: { position } }: Listing, settings: Settings, pages: readonly Page[]): Settings {
  if (position === undefined) return settings;
  const isOffset = /offset|skip|start|from|first/i.test(position.name) || /\bskip|\boffset/i.test(position.description);
  const first = position.default ?? position.shape.minimum ?? 0;
  const value = isOffset ? count(pages) : pages.length + (typeof first === 'number' ? first : 0);
  return [...settings, [position, value]];
}
