import type { Schema } from '../../contract/contract.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { type DataList, dataLists } from './catalog.ts';
import type { RowConditions } from './filter.ts';
import { namesIn } from './names.ts';
import { shownValue, type View } from './values.ts';
import type { ConsoleVisit } from './visit.ts';
import { comparisons, fieldInWords, operatorInWords } from './words.ts';

type Properties = ReadonlyMap<string, Schema>;

/** The conditions of a list in words, each with a link that removes it. */
export async function shownConditions(
  visit: ConsoleVisit,
  list: DataList,
  where: RowConditions,
  urlOf: (where: RowConditions) => string,
): Promise<HtmlContent> {
  const { frame } = visit;
  if (Object.keys(where).length === 0) return false;
  const view: View = { frame, names: await namesIn(visit, [where], referencesIn(list)) };
  const items = Object.entries(where).map(([name, condition]) => {
    const others = Object.fromEntries(Object.entries(where).filter(([other]) => other !== name));
    const text = inWords(view, list, name, condition);
    return html`<li>${text} <a href="${urlOf(others)}" aria-label="Remove the condition on ${fieldInWords(name)}">×</a></li>`;
  });
  return html`<ul class="chips" aria-label="Conditions">${items}</ul>`;
}

/** Schemas of conditions, which say what their values refer to. */
function referencesIn(list: DataList): Map<string, Schema> {
  const conditionsOn = (properties: Properties = new Map()): [string, Schema][] =>
    [...properties].flatMap(([name, schema]) => {
      if (schema['x-references'] === undefined) return [];
      const one: Schema = { 'x-references': schema['x-references'] };
      return [[name, { properties: { '=': one, _eq: one, _neq: one, _in: one, _nin: one, _contains: one } }]];
    });
  const related = [...list.relations].map(([name, type]): [string, Schema] => [
    name,
    { properties: Object.fromEntries(conditionsOn(dataLists.get(type)?.properties)) },
  ]);
  return new Map([...conditionsOn(list.properties), ...related]);
}

function inWords(view: View, list: DataList, name: string, condition: unknown, prefix = ''): HtmlContent {
  const own: RowConditions = Object(condition);
  if (name === '_or' || name === '_and') {
    const parts: readonly unknown[] = Array.isArray(condition) ? condition : [];
    return joined(
      parts.map((part) => allInWords(view, list, Object(part), prefix)),
      name === '_or' ? ' or ' : ', ',
    );
  }
  if (name === '_not') return html`not ${allInWords(view, list, own, prefix)}`;
  const target = dataLists.get(list.relations.get(name) ?? '');
  if (target !== undefined) return allInWords(view, target, own, `${fieldInWords(name)}: `);
  const schema = list.properties.get(name);
  return joined(
    Object.entries(own).map(([operator, value]) => {
      const words = value === true && operator === '_is_null' ? comparisons.empty : operatorInWords(operator);
      const shown =
        words === comparisons.empty ? '' : html`<strong>${shownOperand(view, operator, value, schema)}</strong>`;
      return html`${prefix}${fieldInWords(name)} ${words} ${shown}`;
    }),
    ', ',
  );
}

function shownOperand(view: View, operator: string, value: unknown, schema: Schema | undefined): HtmlContent {
  if (operator === '_ilike')
    return String(value)
      .replaceAll(/(?<!\\)%/g, '')
      .replaceAll(/\\(.)/g, '$1');
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return joined(
    values.map((one) => shownValue(view, one, schema, undefined)),
    ', ',
  );
}

function allInWords(view: View, list: DataList, where: RowConditions, prefix: string): HtmlContent {
  return joined(
    Object.entries(where).map(([name, condition]) => inWords(view, list, name, condition, prefix)),
    ', ',
  );
}

function joined(parts: readonly HtmlContent[], separator: string): HtmlContent {
  return parts.map((part, index) => [index > 0 && separator, part]);
}
