import type { Schema } from '../../contract/contract.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { type DataList, dataLists, merged } from './catalog.ts';
import { when } from './layout.ts';

/** Embedded lists end here; their own lists have all rows. */
const maxItems = 20;

export type ShownRow = Readonly<Record<string, unknown>>;

/** A row of a lookup has its fields in `attributes`; a field that a firm names `id` must not replace the row's own. */
export function flatRow(value: unknown): ShownRow {
  const row: ShownRow = Object(value);
  const { attributes, ...rest } = row;
  return typeof attributes === 'object' && attributes !== null ? { ...attributes, ...rest } : row;
}

/** Renders a value by its schema: references are links. */
export function shownValue(base: string, value: unknown, schema: Schema | undefined): HtmlContent {
  if (value === null || value === undefined) return html`<span class="soft">none</span>`;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) {
    if (value.length === 0) return html`<span class="soft">none</span>`;
    if (value.every((one) => typeof one === 'string' && schema?.['x-references'] === undefined))
      return value.join(', ');
    const item = itemSchema(schema);
    const rest = value.length - maxItems;
    return html`<ol>${value.slice(0, maxItems).map((one) => html`<li>${shownValue(base, one, item)}</li>`)}${rest > 0 && html`<li>${rest} more</li>`}</ol>`;
  }
  if (typeof value === 'object') return fields(base, Object(value), new Map(Object.entries(schema?.properties ?? {})));
  const text = String(value);
  const target = schema?.['x-references'];
  if (target !== undefined && dataLists.has(target))
    return html`<a href="${base}/data/${target}/${encodeURIComponent(text)}"><code>${text}</code></a>`;
  if (schema?.format === 'date-time' || /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text)) return when(text);
  return schema?.format === 'uuid' ? html`<code>${text}</code>` : text;
}

/** The references of a list are those of its items. */
function itemSchema(schema: Schema | undefined): Schema | undefined {
  const item = schema?.items === undefined ? undefined : merged(schema.items);
  const target = schema?.['x-references'];
  return target === undefined ? item : { ...item, 'x-references': target };
}

/** Renders the fields of an object. */
export function fields(base: string, row: ShownRow, properties: ReadonlyMap<string, Schema>): HtmlContent {
  return html`<dl>${Object.entries(row).map(([name, value]) => {
    const schema = properties.get(name);
    return html`<dt>${name}</dt><dd>${shownValue(base, value, schema === undefined ? undefined : merged(schema))}</dd>`;
  })}</dl>`;
}

/** Rows of a list as cells: a link to each, and the columns. */
export function rowCells(base: string, list: DataList, row: ShownRow, columns: readonly string[]): HtmlContent[] {
  const [first = 'id', ...others] = columns;
  const label = row[first] ?? row.systemRef ?? row.id;
  const link = html`<a href="${base}/data/${list.type}/${encodeURIComponent(String(row.id))}">${String(label)}</a>`;
  return [link, ...others.map((name) => shownValue(base, row[name], list.properties.get(name)))];
}
