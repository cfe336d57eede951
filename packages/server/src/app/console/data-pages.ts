import type { Schema } from '../../contract/contract.ts';
import { CsvFile } from '../../contract/csv.ts';
import { Rejection } from '../../contract/rejection.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import type { PageResult } from '../../wire/result.ts';
import { bulkActions, selection } from './action-pages.ts';
import { writerOf } from './actions.ts';
import { customList, type DataList, dataLists } from './catalog.ts';
import { shownConditions } from './conditions.ts';
import { type EnteredOrder, enteredOrder, listInput, type RowConditions, whereIn, withEntered } from './filter.ts';
import { alert, framed, type Head, keyField, table } from './layout.ts';
import { namesIn } from './names.ts';
import { flatRow, headOf, rowCells, type ShownRow } from './values.ts';
import { type ConsoleVisit, callOperation, operationOf, rowsIn } from './visit.ts';
import { comparisons, fieldInWords, typeInWords } from './words.ts';

const pageSize = 25;
/** Rows of a file for spreadsheets. */
const maxExported = 10_000;

/** All lists: those of the contract, and those of the tenant's own types. */
export async function dataPage(visit: ConsoleVisit): Promise<string> {
  const { base } = visit.frame;
  const cursor = visit.query.get('page');
  const query = { pageSize: '100', ...(cursor === null ? {} : { cursor }) };
  const body = await callOperation(visit, operationOf('listCustomRecordTypes'), { query });
  const custom = rowsIn(body);
  const next =
    typeof body.nextCursor === 'string' &&
    html`<a class="button plain" href="${base}/data?page=${body.nextCursor}">More types</a>`;
  const link = (type: string, title: string) => html`<li><a href="${base}/data/${type}">${title}</a></li>`;
  return framed(visit.frame, {
    title: 'Data',
    part: '/data',
    lead: 'Every list. Open a row to see what belongs to it, and what happened to it.',
    body: html`<section class="card"><h2>Lists</h2><ul class="links">${[...dataLists.values()].map(({ type, title }) => link(type, title))}</ul></section>
${custom.length > 0 && html`<section class="card"><h2>Custom record types</h2><ul class="links">${custom.map(customList).map(({ type, title }) => link(type, title))}</ul>${next}</section>`}`,
  });
}

/** @throws Rejection `NOT_FOUND` */
export async function listNamed(visit: ConsoleVisit, type: string): Promise<DataList> {
  const standard = dataLists.get(type);
  if (standard !== undefined) return standard;
  try {
    return customList(await callOperation(visit, operationOf('getCustomRecordType'), { path: { name: type } }));
  } catch (error) {
    if (!(error instanceof Rejection) || (error.status !== 400 && error.status !== 404)) throw error;
    throw new Rejection('NOT_FOUND', `There is no list ${type}.`);
  }
}

/** One list, with its filter. What the operation rejects is shown above the filter. */
export async function listPage(visit: ConsoleVisit, type: string): Promise<string> {
  const list = await listNamed(visit, type);
  const { base } = visit.frame;
  const order = enteredOrder(list, visit.query);
  const page = visit.query.get('page') ?? undefined;
  let where: RowConditions = {};
  let body: Record<string, unknown> = {};
  let rejection: Rejection | undefined;
  try {
    where = whereIn(visit.query);
    where = await withEntered(visit, list, where);
    const input = listInput(list, where, page, pageSize, order);
    body = await callOperation(visit, list.operation, { path: list.path, ...input });
  } catch (error) {
    if (!(error instanceof Rejection) || error.status !== 400) throw error;
    rejection = error;
  }
  const rows = rowsIn(body).map(flatRow);
  const next = nextPage(body);
  const file = listUrl(base, list, { where, order }).replace(`/data/${type}`, `/data/${type}.csv`);
  return framed(visit.frame, {
    title: list.title,
    part: '/data',
    lead:
      writerOf(list, ['upsert'], visit.caller) !== undefined &&
      html`<a href="${base}/data/${type}/new">New ${typeInWords(type).toLowerCase()}</a>`,
    notice:
      rejection !== undefined ? rejected(rejection) : visit.query.has('done') && alert('good', html`<p>Done.</p>`),
    body: html`${list.filters.length > 0 && filterForm(visit, list, where)}${await shownConditions(visit, list, where, (others) => listUrl(base, list, { where: others, order }))}
<section class="card">${
      rows.length === 0
        ? html`<p>${rejection === undefined ? 'No rows.' : 'The list was not read.'}</p>`
        : html`${await selectable(visit, list, rows, { where, order })}<p><a href="${file}">All rows as a file for spreadsheets (CSV)</a></p>`
    }
${(page !== undefined || next !== undefined) && html`<div class="row">${page !== undefined && html`<a class="button plain" href="${listUrl(base, list, { where, order })}">First page</a>`}${next !== undefined && html`<a class="button plain" href="${listUrl(base, list, { where, order, page: next })}">Next page</a>`}</div>`}</section>`,
  });
}

/** Fields that only integrators read. */
export const technical = new Set([
  'id',
  'systemRef',
  'sysRefs',
  'metadata',
  'active',
  'createdAt',
  'updatedAt',
  'version',
  'type',
]);

/** The table of a list; with a form for what can be done with several rows at once. */
async function selectable(
  visit: ConsoleVisit,
  list: DataList,
  rows: readonly ShownRow[],
  state: ListState,
): Promise<HtmlContent> {
  const { frame, query } = visit;
  const actions = bulkActions(list, rows, visit.caller);
  const shown = await rowTable(visit, list, rows, {
    ...state,
    isSelected: actions.length > 0 ? query.get('selected') === 'all' : undefined,
  });
  if (actions.length === 0) return shown;
  const all = new URLSearchParams([...query].filter(([name]) => name !== 'selected'));
  all.set('selected', 'all');
  const url = `${frame.base}/data/${list.type}`;
  const buttons = actions.map(
    ({ to, label }) => html`<button class="plain" formaction="${url}/selected/${to}">${label}</button>`,
  );
  return html`<form method="post" action="${url}/selected">${keyField(frame)}${shown}<div class="row"><a class="button plain" href="${url}?${all.toString()}">Select all</a> <span>With the selected:</span>${buttons}</div></form>`;
}

interface ListState {
  readonly where?: RowConditions;
  readonly order?: EnteredOrder | undefined;
  readonly page?: string;
  /** Whether rows are selected; undefined if they cannot be. */
  readonly isSelected?: boolean | undefined;
}

/** @param state that of a list that can be sorted, or undefined */
export async function rowTable(
  visit: ConsoleVisit,
  list: DataList,
  rows: readonly ShownRow[],
  state?: ListState,
  without?: string,
): Promise<HtmlContent> {
  const { frame } = visit;
  const own = list.columns.length > 0 ? list.columns : columnsIn(rows[0]);
  const columns = own.filter((column) => column !== without);
  const view = { frame, names: await namesIn(visit, rows, list.properties) };
  const heads = (columns.length === 0 ? ['id'] : columns).map((column): Head => {
    const head = headOf(list.properties, column);
    if (state === undefined || !list.sortable.has(column)) return head;
    const isSorted = state.order?.column === column;
    const isDescending = isSorted ? state.order?.isDescending === false : head.isNumber === true;
    const sortUrl = listUrl(frame.base, list, { ...state, order: { column, isDescending } });
    return { ...head, sortUrl, sorted: isSorted ? (isDescending ? 'ascending' : 'descending') : undefined };
  });
  return table(
    list.title,
    heads,
    rows.map((row) => {
      const [first, ...others] = rowCells(view, list, row, columns);
      if (state?.isSelected === undefined) return [first, ...others];
      const label = `Select ${String(row[list.label ?? ''] ?? row.systemRef)}`;
      return [
        html`<input type="checkbox" name="row" value="${selection(list, row)}" aria-label="${label}"${state.isSelected && html` checked`}>${first}`,
        ...others,
      ];
    }),
  );
}

/** Columns of a type that the contract does not know: the first fields of its rows. */
function columnsIn(row: ShownRow = {}): string[] {
  const isSimple = (value: unknown) => value === null || typeof value !== 'object';
  const names = Object.entries(row).flatMap(([name, value]) => (isSimple(value) ? [name] : []));
  return names
    .filter((name) => !['id', 'type', 'active', 'createdAt', 'updatedAt', 'version'].includes(name))
    .slice(0, 6);
}

export function nextPage({ nextCursor }: Record<string, unknown>): string | undefined {
  return typeof nextCursor === 'string' ? nextCursor : undefined;
}

export function listUrl(base: string, { type }: DataList, { where = {}, order, page }: ListState): string {
  const query = new URLSearchParams({
    ...(Object.keys(where).length === 0 ? {} : { where: JSON.stringify(where) }),
    ...(order === undefined ? {} : { sort: `${order.isDescending ? '-' : ''}${order.column}` }),
    ...(page === undefined ? {} : { page }),
  });
  return `${base}/data/${type}${query.size === 0 ? '' : `?${query}`}`;
}

/** A form that adds a condition. The fields that people compare come first. */
function filterForm({ frame, query }: ConsoleVisit, list: DataList, where: RowConditions): HtmlContent {
  const { label, columns } = list;
  const names = list.filters.map(({ name }) => name).filter((name) => !technical.has(name));
  const first = [label, ...columns].filter((name) => name !== undefined && names.includes(name));
  const others = names.filter((name) => !first.includes(name));
  if (names.length === 0) return false;
  const option = (value: string, text: string, selected: string | null) =>
    html`<option value="${value}"${value === selected && html` selected`}>${text}</option>`;
  const fieldOptions = [...new Set([...first, ...others.sort()])].map((name = '') =>
    option(name, fieldInWords(name), query.get('filter')),
  );
  const words = Object.entries(comparisons).map(([value, text]) => option(value, text, query.get('op')));
  return html`<form class="card filter" method="get" action="${frame.base}/data/${list.type}">${Object.keys(where).length > 0 && html`<input type="hidden" name="where" value="${JSON.stringify(where)}">`}
<div><label for="filter">Show rows where</label><select id="filter" name="filter">${fieldOptions}</select></div>
<div><label for="op">Compared</label><select id="op" name="op">${words}</select></div>
<div><label for="value">With</label><input id="value" name="value" autocomplete="off"></div>
<button>Filter</button></form>`;
}

function rejected({ code, message, errors = [] }: Rejection): HtmlContent {
  const details = errors.filter(({ detail }) => detail !== message);
  return alert(
    'bad',
    html`<p><strong>${code}</strong>: ${message}</p>${details.length > 0 && html`<ul>${details.map(({ pointer, detail }) => html`<li><code>${pointer}</code>: ${detail}</li>`)}</ul>`}`,
  );
}

/** A list as a file for spreadsheets: its conditions and order, all fields with a single value, and names instead of references. */
export async function listFile(visit: ConsoleVisit, type: string): Promise<PageResult> {
  const list = await listNamed(visit, type);
  const where = whereIn(visit.query);
  const order = enteredOrder(list, visit.query);
  const most = list.operation.method === 'GET' ? 100 : 1000;
  const rows: ShownRow[] = [];
  let cursor: string | undefined;
  do {
    const body = await callOperation(visit, list.operation, {
      path: list.path,
      ...listInput(list, where, cursor, most, order),
    });
    rows.push(...rowsIn(body).map(flatRow));
    cursor = nextPage(body);
    if (cursor !== undefined && rows.length >= maxExported)
      throw new Rejection('VALIDATION_ERROR', `A file has at most ${maxExported} rows. Filter the list first.`);
  } while (cursor !== undefined);
  const isSingle = (schema: Schema) => schema.properties === undefined && ![schema.type].flat().includes('array');
  const names = await namesIn(visit, rows, list.properties);
  const columns = [...list.properties].flatMap(([name, schema]) =>
    isSingle(schema) && !technical.has(name) ? [name] : [],
  );
  const cellOf = (value: unknown) =>
    value === null || value === undefined ? null : (names.get(String(value)) ?? String(value));
  const { text } = new CsvFile([
    columns.map(fieldInWords),
    ...rows.map((row) => columns.map((column) => cellOf(row[column]))),
  ]);
  const headers = { 'Content-Disposition': `attachment; filename="${list.type}.csv"` };
  return { kind: 'page', status: 200, text, headers, type: 'text/csv; charset=utf-8; header=present' };
}
