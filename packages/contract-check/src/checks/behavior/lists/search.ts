import type { Exchange } from '../../../http/call.ts';
import type { Difference } from '../observe.ts';
import { inOtherCase } from './conditions.ts';
import { isUncut } from './filters.ts';
import { finding, isSameSet, type ListCheck, type ListSubject, shown } from './listing.ts';
import type { Slot } from './slots.ts';
import { distinct, folded, mentions, type Property, valueIn } from './values.ts';

/** Checks of a free-text search: an unknown word must exclude rows, and a word of a searched property must find its row. */
export function* searchChecks({ listing, list }: ListSubject): Generator<ListCheck> {
  const { search } = listing.controls;
  if (search === undefined || listing.declared.filters === false || search.declared.filter === false) return;
  if (list.rows.length < 2) return;
  yield {
    name: 'search for nothing',
    describe: 'A search for a word that no row contains excludes rows.',
    run: (subject) => unknownWord(subject, search),
  };
  const { searches } = search.declared;
  const isText = (property: Property) => distinct(list.rows, property).every((value) => typeof value === 'string');
  const usual = list.properties.filter(({ name }) => /^(?:name|title|displayName|display_name)$/.test(name));
  const places = Array.isArray(searches)
    ? list.properties.filter((one) => searches.includes(one.name) && isText(one))
    : usual.slice(0, 1);
  for (const property of places)
    yield {
      name: 'search',
      describe: 'A word of a searched property finds its rows.',
      run: (subject) => inPlace(subject, search, property),
    };
}

async function unknownWord({ listing, list }: ListSubject, search: Slot): Promise<Difference[] | undefined> {
  const { session, operation } = listing;
  const word = `zq${Math.abs(session.seedFor(`${operation.id} ${search.name} word`)).toString(36)}xv`;
  if (list.rows.some((row) => mentions(row, word))) return undefined;
  const page = await listing.page([...listing.widest, [search, word]]);
  const keys = page.rows.map(list.keyOf);
  if (!isSameSet(keys, list.keys)) return [];
  return finding(listing, 'search-ignored', search, {
    expected: 'fewer rows than without the search',
    actual: shown(keys),
    exchanges: [...list.exchanges, page.exchange],
  });
}

/** Searches for words of a property, in other case and without their first letter if the contract declares it. */
async function inPlace(subject: ListSubject, search: Slot, property: Property): Promise<Difference[] | undefined> {
  const { listing, list } = subject;
  const { ignoresCase, parts } = search.declared;
  const isPart = parts === true;
  // The fewer rows contain a word in other properties, the more specific it is.
  const elsewhere = (word: string) =>
    list.rows.filter((row) => mentions({ ...row, [property.path[0] ?? '']: '' }, word)).length;
  const words = [...new Set(distinct(list.rows, property).flatMap(longestWord))].sort(
    (one, other) => elsewhere(one) - elsewhere(other),
  );
  const cut = (word: string) => (isPart && word.length > 4 ? word.slice(1) : word);
  const forms = [
    (word: string) => (ignoresCase === true ? inOtherCase(cut(word)) : cut(word)),
    cut,
    (word: string) => word,
  ];
  const ways = ['in other case', 'by a part', 'by a word'];
  let wrong: { text: string; lost: string[]; exchange: Exchange }[] = [];
  let way: string | undefined;
  // One word may be a stop word. The easiest form that fails says what is wrong.
  for (const [index, form] of forms.entries()) {
    const failed = await losses(subject, search, property, words.slice(0, 2).map(form), isPart);
    if (failed.length < 2) break;
    [wrong, way] = [failed, ways[index]];
  }
  const [first] = wrong;
  if (first === undefined) return words.length < 2 ? undefined : [];
  return finding(listing, 'search-lost', search, {
    expected: `rows with ${JSON.stringify(first.text)} in ${property.name}, ${way}`,
    actual: `without ${shown(first.lost)}`,
    exchanges: [...list.exchanges, first.exchange],
  });
}

/** The texts that do not find all rows with them in the property. */
async function losses(
  { listing, list }: ListSubject,
  search: Slot,
  property: Property,
  texts: readonly string[],
  isPart: boolean,
): Promise<{ text: string; lost: string[]; exchange: Exchange }[]> {
  const found = [];
  for (const text of texts) {
    const page = await listing.read([...listing.widest, [search, text]]);
    if (page === undefined || !isUncut(listing, { ...list, isComplete: true, pages: [page] }, page)) continue;
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

function longestWord(value: unknown): string[] {
  const words = typeof value === 'string' ? value.match(/[A-Za-z]{4,}/g) : null;
  return [...(words ?? [])].sort((left, right) => right.length - left.length).slice(0, 1);
}
