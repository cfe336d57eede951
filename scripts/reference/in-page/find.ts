/** Full-text search: titles and operations first, tolerant of one wrong letter. */
import MiniSearch from 'minisearch';

/** What the search finds. Entries of one kind have the same importance. */
export interface SearchEntry {
  readonly kind: 'Operation' | 'Guide' | 'Workflow' | 'Topic' | 'Chapter' | 'States' | 'Event';
  /** Address within the page. */
  readonly link: string;
  readonly title: string;
  readonly id?: string;
  readonly path?: string;
  /** Names of parameters and fields, separated by spaces. */
  readonly names?: string;
  readonly text: string;
  /** What people say for it, in phrases separated by commas. */
  readonly phrases?: string;
}

export interface Found {
  readonly entry: SearchEntry;
  /** Fields of the operation that match. */
  readonly fields: readonly string[];
}

const importance: Readonly<Record<SearchEntry['kind'], number>> = {
  Operation: 3,
  Guide: 2,
  Workflow: 1,
  Topic: 2,
  Chapter: 2,
  States: 1.5,
  Event: 0.5,
};
const maxResults = 20;

/** Words that say nothing of what is sought. */
const articles = /^(a|an|the|of|to|how|do|i|in|for|with|by)$/;

/** Words with their parts, and without a plural: `overdueBalances` is also found as `balance`. */
function termsOf(word: string): string[] {
  const parts = word.split(/(?<=[a-z\d])(?=[A-Z])/).map((part) => part.toLowerCase());
  const whole = parts.length === 1 ? [] : [word.toLowerCase()];
  return [
    ...whole,
    ...parts.flatMap((part) => (/[^s]s$/.test(part) && part.length > 3 ? [part, part.slice(0, -1)] : [part])),
  ];
}

/** The words of a phrase in any order and without articles, so that "void invoice" is "void an invoice". */
function sayingOf(phrase: string): string {
  const words = phrase.toLowerCase().split(/[^\p{L}\p{N}_]+/u);
  return words
    .filter((word) => word !== '' && !articles.test(word))
    .sort()
    .join(' ');
}

/** @returns a function that returns the best entries for a text, best first */
export function createSearch(entries: readonly SearchEntry[]): (text: string) => Found[] {
  const search = new MiniSearch<SearchEntry & { readonly position: number }>({
    idField: 'position',
    fields: ['title', 'phrases', 'id', 'path', 'names', 'text'],
    tokenize: (text) => text.split(/[^\p{L}\p{N}_]+/u).filter(Boolean),
    processTerm: termsOf,
  });
  const sayings = entries.map(({ phrases = '' }) => new Set(phrases.split(', ').map(sayingOf)));
  search.addAll(entries.map((entry, position) => ({ ...entry, position })));
  return (entered) => {
    const words = entered.split(/\s+/);
    // A word that somebody is still typing counts.
    const text = words
      .filter((word, place) => place === words.length - 1 || !articles.test(word.toLowerCase()))
      .join(' ');
    const matching = (combineWith: 'AND' | 'OR') =>
      search.search(text, {
        combineWith,
        // Only the last word may be unfinished.
        prefix: (_term, position, terms) => position === terms.length - 1,
        fuzzy: (term) => (term.length < 4 ? false : 1),
        weights: { fuzzy: 0.3, prefix: 0.5 },
        boost: { title: 12, phrases: 12, id: 8, path: 4, names: 1.5, text: 1 },
        boostDocument: (position) => importance[entries[Number(position)]?.kind ?? 'Event'],
      });
    const all = matching('AND');
    // Better the entries with most of the words than none.
    const found = all.length > 0 ? all : matching('OR');
    const saying = sayingOf(text);
    const said = ({ id }: { id: number }) => sayings[id]?.has(saying) === true;
    found.sort((a, b) => Number(said(b)) - Number(said(a)));
    return found.slice(0, maxResults).flatMap(({ id, terms }) => {
      const entry = entries[Number(id)];
      if (entry === undefined) return [];
      const matched = new Set(terms);
      const fields = (entry.names ?? '').split(' ').filter((name) => matched.has(name.toLowerCase()));
      return [{ entry, fields }];
    });
  };
}
