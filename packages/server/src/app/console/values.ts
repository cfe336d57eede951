import { mayCall } from '@financial-automation/spec/roles';
import { validate as isId } from 'uuid';
import type { Schema } from '../../contract/contract.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { columnsOf, type DataList, dataLists, isEventType, isNumber, merged, plain, propertiesOf } from './catalog.ts';
import { badge, day, decimal, money, none, when } from './formats.ts';
import { card, type Head, table } from './layout.ts';
import type { Names } from './names.ts';
import type { ConsoleVisit } from './visit.ts';
import { fieldInWords, textInWords, typeInWords, valueInWords } from './words.ts';

/** Embedded lists end here; their own lists have all rows. */
const maxItems = 100;

export type ShownRow = Readonly<Record<string, unknown>>;

/** A page with the names of the rows that it refers to. */
export interface View {
  readonly visit: ConsoleVisit;
  readonly names: Names;
}

/** A row of a lookup has its fields in `attributes`; a field that a firm names `id` must not replace the row's own. */
export function flatRow(value: unknown): ShownRow {
  const row: ShownRow = Object(value);
  const { attributes, ...rest } = row;
  return typeof attributes === 'object' && attributes !== null ? { ...attributes, ...rest } : row;
}

/** Renders a value by its schema: references are links with the name of the row, and amounts have the currency of theirs. */
export function shownValue(view: View, value: unknown, unmerged?: Schema, currency?: string): HtmlContent {
  const schema = unmerged === undefined ? undefined : plain(unmerged);
  if (value === null || value === undefined) return none();
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  // A year has no separators.
  if (typeof value === 'number') return (schema?.minimum ?? 0) >= 1000 ? String(value) : decimal(String(value));
  if (Array.isArray(value)) return shownList(view, value, schema, currency) || none();
  if (typeof value === 'object' && schema?.properties?.postalCode !== undefined) {
    const parts = Object.values(value).filter((part) => typeof part === 'string');
    return parts.join(', ') || none();
  }
  if (typeof value === 'object')
    return fields(view, Object(value), new Map(Object.entries(schema?.properties ?? {})), currency);
  const text = String(value);
  const target = schema?.['x-references'];
  const list = dataLists.get(target ?? '');
  if (list !== undefined && mayCall(list.operation, view.visit.caller.roles))
    return html`<a href="${view.visit.base}/data/${list.type}/${encodeURIComponent(text)}">${view.names.get(text) ?? typeInWords(list.type)}</a>`;
  if (list !== undefined) return typeInWords(list.type);
  if (schema?.['x-state-machine'] !== undefined) return badge(valueInWords(text));
  if (schema?.enum !== undefined) return valueInWords(text);
  if (isEventType(schema)) return typeInWords(text);
  if (isMoney(schema)) return money(text, currency);
  if (schema?.format === 'decimal') return decimal(text);
  if (schema?.format === 'date') return day(text);
  if (schema?.format === 'date-time' || /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text)) return when(view.visit.tenant, text);
  if (schema?.format === 'uri' && /^https?:\/\//.test(text)) return html`<a href="${text}">${text}</a>`;
  return schema?.format === 'uuid' || isId(text) ? html`<code>${text}</code>` : textInWords(text);
}

export function isMoney(schema: Schema | undefined): boolean {
  return /Money$/.test(schema?.$ref ?? '');
}

function shownList(view: View, all: readonly unknown[], schema: Schema | undefined, currency?: string): HtmlContent {
  const item = itemSchema(schema);
  if (all.length > 0 && all.every((one) => typeof one === 'string') && item?.['x-references'] === undefined)
    return all.map(isEventType(item) ? typeInWords : valueInWords).join(', ');
  const rest = all.length - maxItems;
  const items = all.slice(0, maxItems).map((one) => html`<li>${shownValue(view, one, item, currency)}</li>`);
  return items.length > 0 && html`<ul class="plain">${items}${rest > 0 && html`<li>${rest} more</li>`}</ul>`;
}

/** The references of a list are those of its items. */
function itemSchema(schema: Schema | undefined): Schema | undefined {
  const item = schema?.items === undefined ? undefined : merged(schema.items);
  const target = schema?.['x-references'];
  return target === undefined ? item : { ...item, 'x-references': target };
}

export function currencyOf({ currency }: ShownRow): string | undefined {
  return typeof currency === 'string' ? currency : undefined;
}

/** Renders the fields of an object that have a value. */
export function fields(
  view: View,
  row: ShownRow,
  properties: ReadonlyMap<string, Schema>,
  currency = currencyOf(row),
): HtmlContent {
  const isEmpty = (value: unknown) => typeof value === 'object' && Object.keys(value ?? {}).length === 0;
  const filled = Object.entries(row).filter(([, value]) => value !== undefined && !isEmpty(value));
  const shown = filled.map(
    ([name, value]) =>
      html`<dt>${fieldInWords(name)}</dt><dd>${shownValue(view, value, properties.get(name), currency)}</dd>`,
  );
  return html`<dl>${shown}</dl>`;
}

/** Fields that only integrators read, unless they are columns: the total of an invoice is not that of a list. */
const technical = new Set(
  'id systemRef sysRefs metadata active createdAt updatedAt createdByApiUserId version type hasMore nextCursor total'.split(
    ' ',
  ),
);

export function isTechnical(columns: readonly string[], name: string): boolean {
  return technical.has(name) && !columns.includes(name);
}

/** The amounts of a row that are not zero, and those that people compare. */
export function balances(row: ShownRow, properties: ReadonlyMap<string, Schema>): HtmlContent {
  const compared = columnsOf(properties);
  const figures = [...properties].flatMap(([name, schema]) => {
    const amount = row[name];
    if (!isMoney(schema) || typeof amount !== 'string' || !(/[1-9]/.test(amount) || compared.includes(name))) return [];
    const figure = money(amount, currencyOf(row));
    return [html`<div class="card"><dt>${fieldInWords(name)}</dt><dd class="figure">${figure}</dd></div>`];
  });
  return figures.length > 0 && html`<dl class="cards balances">${figures}</dl>`;
}

/** The other fields of a row, and each list of objects in it, such as the lines of an invoice. */
export function fieldCards(view: View, title: HtmlContent, row: ShownRow, properties: ReadonlyMap<string, Schema>) {
  const entries = Object.entries(row);
  const isTable = ([name, value]: readonly [string, unknown]) =>
    Array.isArray(value) && itemSchema(properties.get(name))?.properties !== undefined && name !== 'sysRefs';
  const tables = entries.filter(isTable).map(([name]) => name);
  const columns = columnsOf(properties);
  const isOwn = (name: string) =>
    !isTechnical(columns, name) && !tables.includes(name.replace(/Count$/, '')) && !isMoney(properties.get(name));
  const shown = (keep: (name: string) => boolean) =>
    fields(view, Object.fromEntries(entries.filter(([name]) => keep(name))), properties, currencyOf(row));
  const others = shown((name) => isTechnical(columns, name));
  const own = html`${shown(isOwn)}<details><summary>For integrators</summary>${others}</details>`;
  return [card(title, own), ...tables.map((name) => embeddedTable(view, row, name, properties.get(name)))];
}

function embeddedTable(view: View, row: ShownRow, name: string, schema: Schema | undefined): HtmlContent {
  const properties = propertiesOf(itemSchema(schema));
  const rows: readonly ShownRow[] = [row[name]].flat().map(Object);
  // What no row has is no column.
  const files = [...properties.keys()].filter((column) => properties.get(column)?.['x-references'] === 'File');
  const all = [...new Set([...columnsOf(properties), ...files])];
  const columns = all.filter((column) => rows.some((one) => (one[column] ?? '') !== ''));
  const title = fieldInWords(name);
  const heads = columns.map((column) => headOf(properties, column));
  const cellsOf = (one: ShownRow) =>
    columns.map((column) => shownValue(view, one[column], properties.get(column), currencyOf(row)));
  return rows.length > 0 && card(title, table(title, heads, rows.slice(0, maxItems).map(cellsOf)));
}

export function headOf(properties: ReadonlyMap<string, Schema>, column: string): Head {
  return { text: fieldInWords(column), isNumber: isNumber(properties.get(column)) };
}

/** Rows of a list as cells: a link to each, and the columns. */
export function rowCells(view: View, list: DataList, row: ShownRow, columns: readonly string[]): HtmlContent[] {
  const [first = 'id', ...others] = columns;
  const label = row[first] ?? row.systemRef ?? row.id;
  const schema = list.properties.get(first);
  const isPlain = schema === undefined || (schema['x-references'] === undefined && typeof label === 'string');
  const text = isPlain && schema?.format === undefined && !isMadeUp(String(label)) ? String(label) : undefined;
  const named = view.names.get(String(label)) ?? typeInWords(list.type);
  const shown = text ?? (schema?.format === 'date' ? day(String(label)) : named);
  const link = html`<a href="${view.visit.base}${urlOf(list, row)}">${shown}</a>`;
  return [link, ...others.map((name) => shownValue(view, row[name], list.properties.get(name), currencyOf(row)))];
}

/** Address of a row, or of its list, below the console. */
export function urlOf({ type, key }: DataList, row: ShownRow | undefined): string {
  return row === undefined ? `/data/${type}` : `/data/${type}/${encodeURIComponent(String(row[key]))}`;
}

export function nameOf(list: DataList, row: ShownRow): string {
  const name = String(row[list.label ?? 'systemRef'] ?? row.systemRef ?? '');
  return `${typeInWords(list.type)} ${isMadeUp(name) ? '' : name}`.trim();
}

/** Whether nobody knows a row by this text: its ID, or the key that the console made up for what was entered in it. */
function isMadeUp(text: string): boolean {
  return isId(text.replace(/^console-/, ''));
}

/** What a row is called: its name, or else the first thing about it that people know. */
export function titleOf({ label, columns }: DataList, row: ShownRow, names: Names): string {
  const known = columns.map((column) => names.get(String(row[column])) ?? row[column]);
  const found = [row[label ?? ''], ...known, row.systemRef].find((text) => typeof text === 'string' && !isMadeUp(text));
  return found === undefined ? '' : `: ${textInWords(String(found))}`;
}
