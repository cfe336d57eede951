import { documentedPlaces, documentsPartialMatch, ignoresCase } from '../../../run/wording.ts';
import { folded, mentions } from './compare.ts';
import type { FullList, Listing } from './listing.ts';
import { largest, widest } from './listing.ts';
import type { Difference, Probe } from './probe.ts';
import { distinct, matchOf, type Property, valueIn } from './properties.ts';
import { isSameSet, shown } from './rows.ts';
import type { Slot } from './slot.ts';

/** Checks a free-text search: an unknown word must exclude rows, and a word in a name must find its row. */
export function searchProbes(listing: Listing, list: FullList): Probe[] {
  const { search } = listing.controls;
  if (search === undefined || listing.vocabulary.filters === false || search.vocabulary.filter === false) return [];
  if (list.rows.length < 2) return [];
  const forUnknownWord: Probe = (one, whole) => unknownWord(one, whole, search);
  const known: Probe = (one, whole) => named(one, whole, search);
  const places = searched(list, search.description);
  return [
    forUnknownWord,
    ...(places.length === 0
      ? [known]
      : places.map(
          (place): Probe =>
            (one, whole) =>
              inPlace(one, whole, search, place),
        )),
  ];
}

async function unknownWord(listing: Listing, list: FullList, search: Slot): Promise<Difference[] | undefined> {
  const { session, operation, reader } = listing;
  const letters = Math.abs(session.seedFor(`${operation.id} ${search.name} word`)).toString(36);
  const word = `zq${letters}xv`;
  if (list.rows.some((row) => mentions(row, word))) return undefined;
  const page = await reader.read([...widest(listing), [search, word]]);
  if (page === undefined) return undefined;
  const keys = page.rows.map(list.keyOf);
  if (list.keys.length < 2 || !isSameSet(keys, list.keys)) return [];
  return [
    {
      check: 'search-ignored',
      title: `A search by \`${search.name}\` for a word that no row contains returns all rows`,
      expected: 'fewer rows than without the search',
      actual: shown(keys),
      slot: search,
      fix: 'Return only rows that match the search.',
      exchanges: [...list.pages.map(({ exchange }) => exchange), page.exchange],
    },
  ];
}

/** The properties that are searched according to the description. */
function searched({ rows, properties }: FullList, description: string): Property[] {
  if (/\b(?:begin|start|prefix|exact)/i.test(description)) return [];
  const found = documentedPlaces(description).flatMap((words) => {
    const match = matchOf(properties, words);
    return match?.isExact === true ? [match.property] : [];
  });
  return found.filter((property) => distinct(rows, property).every((value) => typeof value === 'string'));
}

interface LostText {
  readonly text: string;
  readonly lost: readonly string[];
  readonly exchange: Difference['exchanges'][number];
}

/** Checks that texts of each documented property find their rows; in other case and within words, if documented. */
async function inPlace(
  listing: Listing,
  list: FullList,
  search: Slot,
  property: Property,
): Promise<Difference[] | undefined> {
  const anyCase = ignoresCase(search.description);
  const isPart = documentsPartialMatch(search.description);
  const words = distinct(list.rows, property).flatMap((value) => longestWord(value));
  const chosen = [...new Set(words)].sort(
    (left, right) => elsewhere(list, property, left) - elsewhere(list, property, right),
  );
  const plain = chosen.slice(0, 2);
  const hardest = plain.map((word) => {
    const part = isPart && word.length > 4 ? word.slice(1) : word;
    return anyCase ? inOtherCase(part) : part;
  });
  const wrong = await losses(listing, list, search, property, hardest);
  const [first] = wrong;
  if (first === undefined || wrong.length < 2) return plain.length < 2 ? undefined : [];
  const easier = plain.map((word) => (isPart && word.length > 4 ? word.slice(1) : word));
  const withCase = anyCase ? await losses(listing, list, search, property, easier) : wrong;
  const isCase = withCase.length === 0;
  const isAboutPlace = !isCase && (await losses(listing, list, search, property, plain)).length > 1;
  return [
    {
      check: 'search-lost',
      title: isCase
        ? `A search by \`${search.name}\` is case-sensitive for \`${property.name}\`, contrary to its description`
        : isAboutPlace
          ? `A search by \`${search.name}\` does not find rows by a word in \`${property.name}\``
          : `A search by \`${search.name}\` does not find rows by a part of \`${property.name}\``,
      expected: `rows with ${JSON.stringify(first.text)}`,
      actual: `without ${shown(first.lost)}`,
      slot: search,
      fix: 'Search as documented.',
      exchanges: [...list.pages.map(({ exchange }) => exchange), first.exchange],
    },
  ];
}

/** The number of rows that contain a word in other properties. The fewer, the more specific the probe. */
function elsewhere({ rows }: FullList, property: Property, word: string): number {
  return rows.filter((row) => mentions({ ...row, [property.path[0] ?? '']: '' }, word)).length;
}

function inOtherCase(text: string): string {
  return text === text.toUpperCase() ? text.toLowerCase() : text.toUpperCase();
}

/** The texts that do not find all rows with them in the property. */
async function losses(
  listing: Listing,
  list: FullList,
  search: Slot,
  property: Property,
  texts: readonly string[],
): Promise<LostText[]> {
  const { reader, controls } = listing;
  const isPart = documentsPartialMatch(search.description);
  const found: LostText[] = [];
  for (const text of texts) {
    const page = await reader.read([...widest(listing), [search, text]]);
    const isCut = page?.metadata.next !== undefined || page?.metadata.hasMore?.value === true;
    if (page === undefined || isCut || (controls.size !== undefined && page.rows.length >= largest(controls.size)))
      continue;
    const keys = page.rows.map(list.keyOf);
    const meant = list.rows.filter((row) => {
      const value = folded(valueIn(row, property));
      return isPart ? value.includes(folded(text)) : value.split(/[^a-z\d]+/).includes(folded(text));
    });
    const lost = meant.map(list.keyOf).filter((key) => !keys.includes(key));
    if (lost.length > 0) found.push({ text, lost, exchange: page.exchange });
  }
  return found;
}

/** Without a documented list of properties, a name that is searchable by one word must be searchable by all. */
async function named(listing: Listing, list: FullList, search: Slot): Promise<Difference[] | undefined> {
  const { reader } = listing;
  const property = list.properties.find(
    ({ path }) => path.length === 1 && /^(?:name|title|displayName|display_name|label)$/.test(path[0] ?? ''),
  );
  if (property === undefined) return undefined;
  const words = [...new Set(distinct(list.rows, property).flatMap((value) => longestWord(value)))].slice(0, 3);
  const found: { word: string; lost: string[]; exchange: Difference['exchanges'][number] }[] = [];
  for (const word of words) {
    const page = await reader.read([...widest(listing), [search, word]]);
    if (page === undefined || page.metadata.next !== undefined || page.metadata.hasMore?.value === true) continue;
    const keys = page.rows.map(list.keyOf);
    const meant = list.rows.filter((row) =>
      folded(row[property.name])
        .split(/[^a-z\d]+/)
        .includes(folded(word)),
    );
    found.push({ word, lost: meant.map(list.keyOf).filter((key) => !keys.includes(key)), exchange: page.exchange });
  }
  const wrong = found.filter(({ lost }) => lost.length > 0);
  const [first] = wrong;
  // One word may be a stop word. If names are not searched at all, no word finds them.
  if (first === undefined || wrong.length < 2) return found.length === 0 ? undefined : [];
  return [
    {
      check: 'search-lost',
      title: `A search by \`${search.name}\` does not find rows by a word in \`${property.name}\``,
      expected: `rows with ${JSON.stringify(first.word)}`,
      actual: `without ${shown(first.lost)}`,
      slot: search,
      fix: 'Find rows by the words that they contain.',
      exchanges: [...list.pages.map(({ exchange }) => exchange), first.exchange],
    },
  ];
}

function longestWord(value: unknown): string[] {
  const words = typeof value === 'string' ? value.match(/[A-Za-z]{4,}/g) : null;
  const [longest] = [...(words ?? [])].sort((left, right) => right.length - left.length);
  return longest === undefined ? [] : [longest];
}
