import { validate as isId } from 'uuid';
import type { Schema } from '../../contract/contract.ts';
import { isOf } from '../../contract/fields.ts';
import { Rejection } from '../../contract/rejection.ts';
import { entityOf } from '../../entity/registry.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { type DataList, dataLists, type FilterField, isEventType, isNumber, listOf, merged } from './catalog.ts';
import { namesIn } from './names.ts';
import { flatRow, type ShownRow, shownValue } from './values.ts';
import { type ConsoleVisit, callOperation, nextPage, rowsIn } from './visit.ts';
import { comparisons, eventTypes, type FilterWord, fieldInWords, operatorInWords, valueInWords } from './words.ts';

/** Conditions in the grammar of searches. Where a list has parameters instead, their operator is `=`. */
export type RowConditions = Readonly<Record<string, unknown>>;

/** @throws Rejection `VALIDATION_ERROR` if the address has conditions that cannot be read */
export function whereIn(query: URLSearchParams): RowConditions {
  try {
    const parsed: unknown = JSON.parse(query.get('where') ?? '{}');
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return { ...parsed };
  } catch {
    // It is not the whole address.
  }
  throw new Rejection('VALIDATION_ERROR', 'The address of this page is incomplete. Open the list again.');
}

/** The conditions with the one that was entered, by names of rows and words. @throws Rejection `VALIDATION_ERROR` if there are none */
export async function withEntered(visit: ConsoleVisit, list: DataList, where: RowConditions): Promise<RowConditions> {
  const name = visit.query.get('filter') ?? '';
  const text = visit.query.get('value')?.trim() ?? '';
  const comparison = visit.query.get('op') ?? 'is';
  const operators = list.filters.find((one) => one.name === name)?.operators;
  const [, ...possible] = Object.hasOwn(comparisons, comparison) ? comparisons[comparison as FilterWord] : [];
  if (operators === undefined || possible.length === 0 || (text === '' && comparison !== 'empty')) return where;
  const condition = await conditionOf(visit, list, { name, operators }, possible, text);
  return { ...where, [name]: { ...Object(where[name]), ...condition } };
}

async function conditionOf(
  visit: ConsoleVisit,
  list: DataList,
  { name, operators }: FilterField,
  possible: readonly string[],
  text: string,
): Promise<RowConditions> {
  const [operator, schema] = possible.map((one) => [one, operators.get(one)] as const).find(([, one]) => one) ?? [];
  if (operator === undefined || schema === undefined)
    throw new Rejection('VALIDATION_ERROR', `${fieldInWords(name)} has no such comparison. Choose another one.`);
  if (operator === '_is_null') return { [operator]: true };
  if (operator === '_ilike') return containing(name, text);
  const target = dataLists.get(list.properties.get(name)?.['x-references'] ?? '');
  if (target === undefined || isId(text)) return { [operator]: typedValue(schema, text) };
  const ids = (await idsNamed(visit, target, text)).map(({ id }) => id);
  if (ids.length === 0)
    throw new Rejection('VALIDATION_ERROR', `None of the ${target.title.toLowerCase()} is called “${text}”.`);
  const several = operator === '_neq' ? '_nin' : '_in';
  if (ids.length > 1 && operators.has(several)) return { [several]: ids };
  return { [operator]: ids[0] };
}

/** The condition that a text has this part: a name whatever its accents and apostrophes, any other text in any case. Each has an index. */
export function containing(field: string, text: string): { readonly _search: string } | { readonly _ilike: string } {
  if (/name$/i.test(field)) return { _search: text };
  return { _ilike: `%${text.replaceAll(/[\\%_]/g, '\\$&')}%` };
}

/** How many rows with the name are looked up. */
const maxNamed = 100;

function canFilter({ filters }: DataList, field: string | undefined, operator: string): boolean {
  return filters.some(({ name, operators }) => name === field && operators.has(operator));
}

function isSearchedByName(list: DataList): boolean {
  return canFilter(list, list.label, '_ilike');
}

/** The list in which rows of a type are searched by name: their own, or another one of the same rows, such as that of jobs with figures. */
function searchOf(type: string): DataList {
  const isOfType = (list: DataList) => entityOf(list.type)?.table === entityOf(type)?.table;
  const own = listOf(type);
  return [own, ...dataLists.values()].find((list) => isOfType(list) && isSearchedByName(list)) ?? own;
}

/** The rows of a list whose name or number, such as `J-00042`, is the text; else those whose name has it. Others have a key instead of a number. */
export async function idsNamed(visit: ConsoleVisit, { type }: DataList, text: string) {
  const list = searchOf(type);
  const { label = '' } = list;
  const refs = ['clientRef', 'jobRef', 'staffRef', 'engagementRef', 'systemRef'];
  const ref = refs.find((one) => canFilter(list, one, '_eq')) ?? '';
  const find = async (where: RowConditions) => (await readList(visit, list, { where, pageSize: maxNamed })).rows;
  const exactly = [label, ref].filter((one) => canFilter(list, one, '_eq')).map((one) => ({ [one]: { _eq: text } }));
  // Lists that are not searched have no _or.
  const [only, ...more] = exactly;
  const exact = only === undefined ? [] : await find(more.length > 0 ? { _or: exactly } : only);
  const part = isSearchedByName(list) ? containing(label, text) : canFilter(list, label, '=') && { '=': text };
  const others = async () => (part === false ? readAll(visit, list, {}) : find({ [label]: part }));
  const rows = exact.length > 0 ? exact : await others();
  const named = rows.map((row) => ({ id: String(row.id), name: String(row[label] ?? ''), number: row[ref] }));
  return part === false && exact.length === 0
    ? named.filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()))
    : named;
}

/** The column that a list is sorted by, after `-` if descending. @returns undefined if the list cannot be sorted */
export function enteredOrder(list: DataList, query: URLSearchParams): string | undefined {
  const order = query.get('sort') ?? '';
  return list.sortable.has(order.replace(/^-/, '')) ? order : newestFirst(list);
}

/** By the day of the business, or else by the creation. */
function newestFirst({ properties, sortable }: DataList): string | undefined {
  const isDay = (name: string) =>
    !/due/i.test(name) && properties.get(name)?.format === 'date' && properties.get(name)?.type === 'string';
  const column = [...sortable].find(isDay) ?? (sortable.has('createdAt') ? 'createdAt' : undefined);
  return column && `-${column}`;
}

export function isEmpty(where: RowConditions): boolean {
  return Object.keys(where).length === 0;
}

interface ListRead {
  readonly where?: RowConditions;
  readonly order?: string | undefined;
  readonly cursor?: string | undefined;
  readonly pageSize: number;
}

/** A page of a list. Nothing is checked here: the operation does that, and its rejection says what is wrong. @throws Rejection */
export async function readList(
  visit: ConsoleVisit,
  list: DataList,
  { where = {}, order = newestFirst(list), cursor, pageSize }: ListRead,
) {
  const { operation, path } = list;
  const paged = {
    pageSize,
    ...(cursor !== undefined && { cursor }),
    ...(order !== undefined && { orderBy: [{ [order.replace(/^-/, '')]: order.startsWith('-') ? 'desc' : 'asc' }] }),
  };
  const parameters = Object.entries(where).map(([name, condition]) => [name, Object(condition)['=']]);
  const query = Object.fromEntries([...Object.entries(paged), ...parameters].map(([name, one]) => [name, String(one)]));
  const input = operation.method === 'GET' ? { query } : { body: { ...paged, ...(!isEmpty(where) && { where }) } };
  const body = await callOperation(visit, operation, { path, ...input });
  return { rows: rowsIn(body).map(flatRow), next: nextPage(body) };
}

/** Rows of a list that are read at once, such as those of a file for spreadsheets. */
const maxRead = 10_000;

/** All rows of a list. @throws Rejection `VALIDATION_ERROR` if there are too many */
export async function readAll(
  visit: ConsoleVisit,
  list: DataList,
  conditions: Pick<ListRead, 'where' | 'order'>,
): Promise<ShownRow[]> {
  const pageSize = list.operation.paging === 'offset' ? 1000 : 100;
  const rows: ShownRow[] = [];
  let cursor: string | undefined;
  do {
    const page = await readList(visit, list, { ...conditions, cursor, pageSize });
    rows.push(...page.rows);
    cursor = page.next;
    if (cursor !== undefined && rows.length >= maxRead)
      throw new Rejection(
        'VALIDATION_ERROR',
        `The list has more than ${maxRead} rows. Filter it first, or enter an ID.`,
      );
  } while (cursor !== undefined);
  return rows;
}

/** The text as a value of the schema; a text that is none stays one. */
export function typedValue(schema: Schema, text: string): unknown {
  if (isOf(schema, 'array')) return text.split(',').map((part) => typedValue(merged(schema.items ?? {}), part.trim()));
  if (isOf(schema, 'boolean') && /^(true|false|yes|no)$/i.test(text)) return /^(true|yes)$/i.test(text);
  if (isOf(schema, 'integer', 'number') && /^-?\d+$/.test(text)) return Number(text);
  if (isNumber(schema) && /^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(text))
    return typedValue(schema, text.replaceAll(',', ''));
  // People write 100 for 100.00.
  const hasPlaces = schema['x-scale'] === 2 && (schema.minLength ?? 0) >= 4;
  const [, whole, places = ''] = (hasPlaces && /^(-?\d+)(?:\.(\d))?$/.exec(text)) || [];
  if (whole !== undefined) return `${whole}.${places.padEnd(2, '0')}`;
  if (isEventType(schema)) return eventTypes.get(text.toLowerCase()) ?? text;
  return schema.enum?.find((value) => valueInWords(String(value)).toLowerCase() === text.toLowerCase()) ?? text;
}

interface Condition {
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
  const view = { visit, names: await namesIn(visit, [operands], schemas) };
  const items = [...Map.groupBy(all, ({ name }) => name)].map(([name, conditions]) => {
    const { [name]: _removed, ...others } = where;
    const shown = conditions.map(({ words, operands, schema }, index) => {
      const values = operands.map((one, position) => [position > 0 && ', ', shownValue(view, one, schema)]);
      return html`${index > 0 && ', '}${words} <strong>${values}</strong>`;
    });
    return html`<li>${shown} <a href="${urlOf(others)}" aria-label="Remove the condition on ${fieldInWords(name)}">×</a></li>`;
  });
  return items.length > 0 && html`<ul class="chips" aria-label="Conditions">${items}</ul>`;
}

/** The comparisons of a row, and those of related rows, whose conditions are on the name of their reference without its `Id`. */
function comparisonsIn(list: DataList, where: RowConditions): Condition[] {
  return Object.entries(where).flatMap(([name, condition]): Condition[] => {
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
