import type { Schema } from '../../contract/contract.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { type DataList, dataLists } from './catalog.ts';
import type { RowConditions } from './filter.ts';
import { namesIn } from './names.ts';
import { shownValue } from './values.ts';
import type { ConsoleVisit } from './visit.ts';
import { fieldInWords, operatorInWords } from './words.ts';

interface Comparison {
  /** The field or relation of the row that the condition is on. */
  readonly name: string;
  readonly words: string;
  readonly operands: readonly unknown[];
  readonly schema: Schema;
}

/** The conditions of a list in words, each with a link that removes it. */
export async function shownConditions(
  visit: ConsoleVisit,
  list: DataList,
  where: RowConditions,
  urlOf: (where: RowConditions) => string,
): Promise<HtmlContent> {
  const all = comparisonsIn(list, where);
  const operands = Object.fromEntries(all.map((one, index) => [String(index), one.operands]));
  const schemas = new Map(all.map(({ schema }, index) => [String(index), schema]));
  const view = { frame: visit.frame, names: await namesIn(visit, [operands], schemas) };
  const items = [...Map.groupBy(all, ({ name }) => name)].map(([name, comparisons]) => {
    const { [name]: _removed, ...others } = where;
    const shown = comparisons.map(({ words, operands, schema }, index) => {
      const values = operands.map((one, position) => [position > 0 && ', ', shownValue(view, one, schema, undefined)]);
      return html`${index > 0 && ', '}${words} <strong>${values}</strong>`;
    });
    return html`<li>${shown} <a href="${urlOf(others)}" aria-label="Remove the condition on ${fieldInWords(name)}">×</a></li>`;
  });
  return items.length > 0 && html`<ul class="chips" aria-label="Conditions">${items}</ul>`;
}

/** The comparisons of a row, and those of related rows, whose conditions are on the name of their reference without its `Id`. */
function comparisonsIn(list: DataList, where: RowConditions): Comparison[] {
  return Object.entries(where).flatMap(([name, condition]): Comparison[] => {
    const related = dataLists.get(list.properties.get(`${name}Id`)?.['x-references'] ?? '');
    if (related !== undefined)
      return comparisonsIn(related, Object(condition)).map((one) => ({
        ...one,
        name,
        words: `${fieldInWords(name)}: ${one.words}`,
      }));
    return Object.entries(Object(condition)).map(([operator, operand]) => ({
      name,
      words: `${fieldInWords(name)} ${operatorInWords(operator)}`,
      // Of a part of a text, without the wildcards.
      operands: [operand]
        .flat()
        .map((one) => (operator === '_ilike' ? String(one).replaceAll(/(?<!\\)%|\\(?=.)/g, '') : one)),
      schema: list.properties.get(name) ?? {},
    }));
  });
}
