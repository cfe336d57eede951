import { jsonText } from '../../../json.ts';
import type { Condition, Conditions } from './conditions.ts';
import type { ListSubject } from './listing.ts';
import { inOtherCase } from './operators.ts';
import type { Slot } from './slots.ts';
import { distinct, folded, mentions, valueIn } from './values.ts';

/** A word that no row contains, and words of searched properties, which must find their rows. */
export function searchConditions({ listing, list }: ListSubject, search: Slot): Conditions[] {
  const { session, operation } = listing;
  const { searches, ignoresCase, parts } = search.declared;
  const condition = (text: string, holds: Condition['holds']): Condition => {
    return { slot: search, settings: [[search, text]], label: `the text ${jsonText(text)}`, holds };
  };
  const unknown = `zq${Math.abs(session.seedFor(`${operation.id} ${search.name} word`)).toString(36)}xv`;
  const searched = Array.isArray(searches)
    ? list.properties.filter(({ name }) => searches.includes(name))
    : list.properties.filter(({ name }) => /^(?:name|title|displayName|display_name)$/.test(name)).slice(0, 1);
  const words = searched.map((property) => {
    // The fewer rows contain a word in other properties, the more specific it is.
    const elsewhere = (word: string) =>
      list.rows.filter((row) => mentions({ ...row, [property.path[0] ?? '']: '' }, word)).length;
    const all = [...new Set(distinct(list.rows, property).flatMap(longestWord))];
    return all
      .sort((one, other) => elsewhere(one) - elsewhere(other))
      .slice(0, 2)
      .map((word) => {
        const cut = parts === true && word.length > 4 ? word.slice(1) : word;
        const text = folded(cut);
        return condition(ignoresCase === true ? inOtherCase(cut) : cut, (row) => {
          const value = folded(valueIn(row, property));
          return parts === true
            ? value.includes(text) || undefined
            : value.split(/[^a-z\d]+/).includes(text) || undefined;
        });
      });
  });
  return [
    { conditions: [{ ...condition(unknown, () => false), tolerated: list.rows.length - 1 }], least: 1 },
    // One word may be a stop word.
    ...words.map((conditions) => ({ conditions, least: 2 })),
  ];
}

function longestWord(value: unknown): string[] {
  const words = typeof value === 'string' ? value.match(/[A-Za-z]{4,}/g) : null;
  return [...(words ?? [])].sort((left, right) => right.length - left.length).slice(0, 1);
}
