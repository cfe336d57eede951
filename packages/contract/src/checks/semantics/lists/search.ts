import { folded, mentions } from './compare.ts';
import type { FullList, Listing } from './listing.ts';
import { widest } from './listing.ts';
import type { Difference, Probe } from './probe.ts';
import { distinct } from './properties.ts';
import { isSameSet, shown } from './rows.ts';
import type { Slot } from './slot.ts';

/** What surely holds of a search by free text: a word that nobody has leaves rows out, and a word of a name finds it. */
export function searchProbes(listing: Listing, list: FullList): Probe[] {
  const { search } = listing.controls;
  if (search === undefined || listing.said.filters === false || search.said.filter === false) return [];
  if (list.rows.length < 2) return [];
  const stranger: Probe = (one, whole) => nobody(one, whole, search);
  const known: Probe = (one, whole) => named(one, whole, search);
  return [stranger, known];
}

async function nobody(listing: Listing, list: FullList, search: Slot): Promise<Difference[] | undefined> {
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
      title: `A search by \`${search.name}\` for a word that no row has answers all rows`,
      expected: 'fewer rows than without the search',
      actual: shown(keys),
      slot: search,
      fix: 'Answer only rows that the search finds.',
      exchanges: [...list.pages.map(({ exchange }) => exchange), page.exchange],
    },
  ];
}

/** Which properties are searched is not told; a name that is searched for any word is searched for all of them. */
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
    if (page === undefined || page.told.next !== undefined || page.told.hasMore?.value === true) continue;
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
  // One word may be a stop word; the name may not be searched at all, but then nothing else is found by it either.
  if (first === undefined || wrong.length < 2) return found.length === 0 ? undefined : [];
  return [
    {
      check: 'search-lost',
      title: `A search by \`${search.name}\` does not find rows by a word of their \`${property.name}\``,
      expected: `rows with ${JSON.stringify(first.word)}`,
      actual: `without ${shown(first.lost)}`,
      slot: search,
      fix: 'Find rows by the words that they show.',
      exchanges: [...list.pages.map(({ exchange }) => exchange), first.exchange],
    },
  ];
}

function longestWord(value: unknown): string[] {
  const words = typeof value === 'string' ? value.match(/[A-Za-z]{4,}/g) : null;
  const [longest] = [...(words ?? [])].sort((left, right) => right.length - left.length);
  return longest === undefined ? [] : [longest];
}
