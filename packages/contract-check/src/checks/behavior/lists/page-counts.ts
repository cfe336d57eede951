import { isObject, type JsonObject } from '../../../json.ts';
import { wordsOf } from '../../../run/words.ts';
import { shapeOf } from '../../../schema/shape.ts';
import { responseSchema } from '../resources/schema.ts';
import { middleOut } from './candidates.ts';
import type { FullList, Listing } from './listing.ts';
import { sized, widest } from './listing.ts';
import type { Difference } from './probe.ts';
import { distinct, matchOf, type Property, valueIn } from './properties.ts';
import type { Page, Settings } from './reader.ts';

/** Checks the number of pages. An empty list has one page or none. */
export function pageCountDifferences(
  { controls, vocabulary }: Listing,
  list: FullList,
  requests: readonly { readonly page: Page; readonly size: number }[],
): Difference[] {
  if (!vocabulary.checksTotals || !list.isComplete || list.rows.length === 0) return [];
  const metadata = requests.flatMap(({ page, size }) =>
    page.metadata.pages === undefined ? [] : [{ ...page.metadata.pages, size, page }],
  );
  const pagesOf = (size: number) => Math.ceil(list.rows.length / size);
  const wrong = metadata.find(({ value, size }) => value !== pagesOf(size));
  // A `last` field may contain a zero-based page index.
  const isIndex = metadata.every(({ name, value, size }) => /last/i.test(name) && value === pagesOf(size) - 1);
  if (wrong === undefined || isIndex) return [];
  return [
    {
      check: 'page-total',
      title: `\`${wrong.name}\` is not the number of pages`,
      expected: `${pagesOf(wrong.size)}: ${list.rows.length} rows in pages of ${wrong.size}`,
      actual: `${wrong.value}`,
      slot: controls.size,
      fix: 'Divide the number of rows by the page size, and round up.',
      exchanges: [...list.pages.map(({ exchange }) => exchange), wrong.page.exchange],
    },
  ];
}

interface Counts {
  readonly name: string;
  readonly property: Property;
  readonly values: JsonObject;
  /** Whether the description says that matching rows are counted. */
  readonly isOfMatches: boolean;
}

/** Counts by a property next to the rows must cover all matching rows, not only the page. */
export async function counts(listing: Listing, list: FullList): Promise<Difference[] | undefined> {
  const [first] = list.pages;
  const whole = first === undefined ? [] : countsIn(listing, list, first);
  if (first === undefined || !list.isComplete || list.rows.length < 2 || whole.length === 0) return undefined;
  const found: Difference[] = [];
  const short = await listing.reader.read([...widest(listing), ...sized(listing, 1)]);
  for (const one of whole) {
    // Ignores counts that do not match even the unfiltered list.
    if (!isCountOf(one, list.rows)) continue;
    const other =
      short === undefined ? undefined : countsIn(listing, list, short).find(({ name }) => name === one.name);
    if (short !== undefined && other !== undefined && !isCountOf(other, list.rows) && isCountOf(other, short.rows))
      found.push(differenceOf(list, one, short, 'counts only the rows of the page', list.rows, other));
    else if (one.isOfMatches) found.push(...(await filteredCounts(listing, list, one)));
  }
  return found;
}

/** Checks that counts respect a filter by another property, with two of its values. */
async function filteredCounts(listing: Listing, list: FullList, one: Counts): Promise<Difference[]> {
  for (const slot of listing.controls.others) {
    const property = matchOf(list.properties, slot.words)?.property;
    if (property === undefined || property === one.property || slot.shape.types.has('array')) continue;
    const values = middleOut(distinct(list.rows, property));
    const found: Difference[] = [];
    for (const value of values.slice(0, 2)) {
      const settings: Settings = [...widest(listing), [slot, value]];
      const page = await listing.reader.read(settings);
      const matching = list.rows.filter((row) => valueIn(row, property) === value);
      const metadata =
        page === undefined ? undefined : countsIn(listing, list, page).find(({ name }) => name === one.name);
      const isSame =
        page?.rows.length === matching.length && page.rows.every((row) => valueIn(row, property) === value);
      if (page === undefined || metadata === undefined || !isSame || matching.length === list.rows.length) break;
      if (isCountOf(metadata, matching)) return [];
      found.push(differenceOf(list, one, page, 'counts rows that do not match', matching, metadata));
    }
    if (found.length > 1) return found.slice(0, 1);
  }
  return [];
}

function differenceOf(
  list: FullList,
  { name, property }: Counts,
  page: Page,
  what: string,
  rows: readonly JsonObject[],
  metadata: Counts,
): Difference {
  return {
    check: 'page-counts',
    title: `\`${name}\` ${what}`,
    expected: JSON.stringify(countOf(rows, property)),
    actual: JSON.stringify(metadata.values),
    slot: undefined,
    fix: 'Count all matching rows, on every page.',
    exchanges: [...list.pages.map(({ exchange }) => exchange), page.exchange],
  };
}

/** Objects with counts next to the rows, whose keys are values of the property in the object's name. */
function countsIn(listing: Listing, list: FullList, { exchange }: Page): Counts[] {
  const body = exchange.response.json?.value;
  if (!isObject(body)) return [];
  const schema = responseSchema(listing.operation);
  const declared = schema === undefined ? undefined : shapeOf(listing.document, schema).properties;
  return Object.entries(body).flatMap(([name, values]): Counts[] => {
    const words = wordsOf(name);
    const base = /^(?:counts?|totals?|facets?)$/.test(words.at(-1) ?? '')
      ? words.slice(0, -1)
      : words[1] === 'by'
        ? words.slice(2)
        : [];
    const property = matchOf(list.properties, base)?.property;
    if (!isObject(values) || property === undefined || Object.keys(values).length === 0) return [];
    const known = new Set(distinct(list.rows, property).map(String));
    const isOfValues = Object.entries(values).every(([key, value]) => known.has(key) && typeof value === 'number');
    const descriptions = shapeOf(listing.document, ...(declared?.get(name) ?? [])).sources.map(({ description }) =>
      String(description ?? ''),
    );
    return isOfValues
      ? [{ name, property, values, isOfMatches: descriptions.some((text) => /\bmatch/i.test(text)) }]
      : [];
  });
}

function countOf(rows: readonly JsonObject[], property: Property): JsonObject {
  const groups = Map.groupBy(rows, (row) => String(valueIn(row, property)));
  return Object.fromEntries([...groups].map(([value, group]) => [value, group.length]));
}

function isCountOf({ property, values }: Counts, rows: readonly JsonObject[]): boolean {
  const counted = countOf(rows, property);
  return [...new Set([...Object.keys(values), ...Object.keys(counted)])].every(
    (key) => Number(values[key] ?? 0) === Number(counted[key] ?? 0),
  );
}

/**
 * Checks links to other pages: `last` leads to the last rows, `first` and `prev` of the second page to the first rows.
 */
export async function relations(listing: Listing, list: FullList): Promise<Difference[] | undefined> {
  const { reader, controls } = listing;
  if (controls.size === undefined || !list.isComplete || list.rows.length < 3) return undefined;
  const size = Math.max(1, Math.ceil(list.rows.length / 3));
  const settings = [...widest(listing), ...sized(listing, size)];
  const start = await reader.read(settings);
  if (start === undefined || start.metadata.next === undefined || start.metadata.relations.size === 0) return undefined;
  const next = await reader.follow(start.metadata.next, settings, controls.cursor, controls.position);
  const second = next === undefined ? undefined : reader.pageOf(next);
  const found: Difference[] = [];
  const rest = list.rows.length % size === 0 ? size : list.rows.length % size;
  const targets = [
    { from: start, name: 'last', keys: list.keys.slice(-rest) },
    { from: second, name: 'first', keys: list.keys.slice(0, size) },
    { from: second, name: 'prev', keys: list.keys.slice(0, size) },
  ];
  for (const { from, name, keys } of targets) {
    const target = from?.metadata.relations.get(name);
    if (from === undefined || target === undefined) continue;
    const exchange = await reader.follow(target, settings, controls.cursor, controls.position);
    const page = exchange === undefined ? undefined : reader.pageOf(exchange);
    const shown = page?.rows.map(list.keyOf) ?? [];
    const isMeant = name === 'last' ? shown.at(-1) === keys.at(-1) : shown[0] === keys[0];
    if (exchange === undefined || isMeant) continue;
    found.push({
      check: 'page-link',
      title: `The link \`${name}\` does not lead to the ${name === 'last' ? 'last' : 'first'} page`,
      expected: `the page ${name === 'last' ? 'that ends' : 'that begins'} with ${name === 'last' ? keys.at(-1) : keys[0]}`,
      actual:
        page === undefined
          ? `${exchange.response.status}`
          : page.rows.length === 0
            ? 'no rows'
            : shown.join(', ').slice(0, 120),
      slot: undefined,
      fix: 'Link to the first and the last page.',
      exchanges: [from.exchange, exchange],
    });
  }
  return found;
}
