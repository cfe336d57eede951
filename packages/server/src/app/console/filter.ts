import type { Schema } from '../../contract/contract.ts';
import type { DataList } from './catalog.ts';

/** A condition as it was entered. */
export interface EnteredFilter {
  readonly field: string;
  readonly operator: string;
  readonly value: string;
}

/** @returns undefined if none was entered */
export function enteredFilter(query: URLSearchParams): EnteredFilter | undefined {
  const [field = '', operator] = (query.get('filter') ?? '').split(' ');
  const value = query.get('value')?.trim() ?? '';
  return field === '' || value === '' ? undefined : { field, operator: operator ?? '', value };
}

/** The column that a list is sorted by. */
export interface EnteredOrder {
  readonly column: string;
  readonly isDescending: boolean;
}

/** @returns undefined if the list cannot be sorted */
export function enteredOrder(list: DataList, query: URLSearchParams): EnteredOrder | undefined {
  const [, sign, column = ''] = /^(-?)(\w+)$/.exec(query.get('sort') ?? '') ?? [];
  return list.sortable.has(column) ? { column, isDescending: sign === '-' } : newestFirst(list);
}

/** By the day of the business, or else by the creation. */
export function newestFirst({ properties, sortable }: DataList): EnteredOrder | undefined {
  const isDay = (name: string) =>
    !/due/i.test(name) && properties.get(name)?.format === 'date' && properties.get(name)?.type === 'string';
  const column = [...sortable].find(isDay) ?? (sortable.has('createdAt') ? 'createdAt' : undefined);
  return column === undefined ? undefined : { column, isDescending: true };
}

/**
 * The input of a list with a filter. Nothing is checked here: the operation does that, and its rejection says what is wrong.
 *
 * @param cursor `nextCursor` of the page before, or undefined for the first page
 */
export function listInput(
  list: DataList,
  filter: EnteredFilter | undefined,
  cursor: string | undefined,
  pageSize: number,
  order = newestFirst(list),
) {
  const { method } = list.operation;
  const sorted = order && { orderBy: [{ [order.column]: order.isDescending ? 'desc' : 'asc' }] };
  const paged = { pageSize, ...(cursor === undefined ? {} : { cursor }), ...sorted };
  if (filter === undefined)
    return method === 'GET' ? { query: texts(paged), body: undefined } : { query: {}, body: paged };
  const { field, operator, value } = filter;
  const schema = list.filters.find(({ name }) => name === field)?.operators.get(operator);
  if (operator === '=') return { query: texts({ ...paged, [field]: value }), body: undefined };
  return { query: {}, body: { ...paged, where: { [field]: { [operator]: typedValue(schema ?? {}, value) } } } };
}

/** The text as a value of the schema; a text that is none stays one. */
export function typedValue(schema: Schema, text: string): unknown {
  const types = [schema.type ?? 'string'].flat();
  if (types.includes('array')) return text.split(',').map((part) => typedValue(schema.items ?? {}, part.trim()));
  if (types.includes('boolean') && /^(true|false)$/.test(text)) return text === 'true';
  if ((types.includes('integer') || types.includes('number')) && /^-?\d+$/.test(text)) return Number(text);
  return text;
}

function texts(values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
}
