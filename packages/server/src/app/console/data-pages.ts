import { mayCall } from '@financial-automation/spec/roles';
import { operationOf, type Schema } from '../../contract/contract.ts';
import { CsvFile } from '../../contract/csv.ts';
import { isOf } from '../../contract/fields.ts';
import { Rejection } from '../../contract/rejection.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { type BytesResult, fileResult, type PageResult } from '../../wire/result.ts';
import { type Action, bulkActions, writingOf } from './actions.ts';
import { customList, type DataList, dataLists } from './catalog.ts';
import {
  containing,
  enteredOrder,
  isEmpty,
  type RowConditions,
  readAll,
  readList,
  shownConditions,
  whereIn,
  withEntered,
} from './filter.ts';
import {
  type ConsolePage,
  card,
  type Head,
  keyField,
  linkList,
  options,
  pageLinks,
  rejected,
  table,
  urlWith,
} from './layout.ts';
import { namesIn } from './names.ts';
import { headOf, isTechnical, rowCells, type ShownRow } from './values.ts';
import { type ConsoleVisit, call, callOperation } from './visit.ts';
import { comparisons, fieldInWords, newInWords, subjectInWords, typeInWords } from './words.ts';

const pageSize = 25;
/** Of a list without filters, this many rows are read at once, of which those that are not active are hidden. */
const maxUnfiltered = 100;

/** Rows of each list that is searched. */
const maxFound = 5;
/** Shorter texts match too many rows, and no index helps to find them. */
const minLength = 3;

/** The fields by which people know rows: names, numbers, references, addresses. */
const known = /^(name|legalName|displayName|email|fileName|batchRef)$|Number$|^(client|job|staff|engagement|pms)Ref$/;

/** All lists: those of the contract, and those of the tenant's own types. */
export async function dataPage(visit: ConsoleVisit): Promise<ConsolePage> {
  const { base, caller } = visit;
  const { roles } = caller;
  const cursor = visit.query.get('page');
  const query = { pageSize: '100', ...(cursor !== null && { cursor }) };
  const isOpen = mayCall(operationOf('listCustomRecordTypes'), roles);
  const { data = [], nextCursor = null } = isOpen ? await call(visit, 'listCustomRecordTypes', { query }) : {};
  const links = (lists: readonly DataList[]) =>
    linkList(lists.map(({ type, title }) => html`<a href="${base}/data/${type}">${title}</a>`));
  const open = [...dataLists.values()].filter(({ operation }) => mayCall(operation, roles));
  const groups = Map.groupBy(open, ({ operation }) => subjectInWords(operation.tag));
  const custom = data.map(customList).filter(({ operation }) => mayCall(operation, roles));
  return {
    title: 'Data',
    lead: 'Every list. Open a row to see what belongs to it, and what happened to it.',
    body: html`${[...groups].map(([subject, lists]) => card(subject, links(lists)))}
${custom.length > 0 && card('Custom record types', [links(custom), pageLinks(undefined, nextCursor === null ? undefined : `${base}/data?page=${nextCursor}`)])}`,
  };
}

/** @throws Rejection `NOT_FOUND` */
export async function listNamed(visit: ConsoleVisit, type: string): Promise<DataList> {
  const standard = dataLists.get(type);
  if (standard !== undefined) return standard;
  try {
    return customList(await call(visit, 'getCustomRecordType', { path: { name: type } }));
  } catch (error) {
    if (!(error instanceof Rejection) || (error.status !== 400 && error.status !== 404)) throw error;
    throw new Rejection('NOT_FOUND', `There is no list ${type}.`);
  }
}

/** @throws Rejection `NOT_FOUND` */
export async function readRow(visit: ConsoleVisit, list: DataList, id: string): Promise<ShownRow> {
  const { byId } = list;
  if (byId !== undefined) {
    const [, parameter = 'id'] = /\{(\w+)\}$/.exec(byId.path) ?? [];
    return callOperation(visit, byId, { path: { [parameter]: id } });
  }
  const [row] = (await readList(visit, list, { where: { id: { _eq: id } }, pageSize: 1 })).rows;
  if (row === undefined)
    throw new Rejection('NOT_FOUND', `There is no ${typeInWords(list.type).toLowerCase()} with this ID.`);
  return row;
}

/** One list, with its filter. What the operation rejects is shown above the filter. */
export async function listPage(visit: ConsoleVisit, type: string): Promise<ConsolePage> {
  const list = await listNamed(visit, type);
  const { base, query } = visit;
  const order = enteredOrder(list, query);
  const page = query.get('page') ?? undefined;
  const isFiltered = list.filters.length > 0;
  let where: RowConditions = {};
  let all: readonly ShownRow[] = [];
  let next: string | undefined;
  let rejection: Rejection | undefined;
  try {
    where = await withEntered(visit, list, whereIn(query));
    const limit = isFiltered ? pageSize : maxUnfiltered;
    ({ rows: all, next } = await readList(visit, list, { where, order, cursor: page, pageSize: limit }));
  } catch (error) {
    if (!(error instanceof Rejection) || error.status !== 400) throw error;
    rejection = error;
  }
  const rows = isFiltered || query.has('inactive') ? all : all.filter(({ active }) => active !== false);
  const hidden = all.length - rows.length;
  const url = (state: ListState) => listUrl(base, list, { where, order, ...state });
  const file = url({}).replace(`/data/${type}`, `/data/${type}.csv`);
  return {
    title: list.title,
    lead:
      writingOf(list, undefined, visit.caller) !== undefined &&
      html`<a href="${base}/data/${type}/new">${newInWords(type)}</a>`,
    notice: rejection && rejected(rejection),
    body: html`${filterForm(visit, list, where)}${await shownConditions(visit, list, where, (others) => url({ where: others }))}
<section class="card">${
      rows.length === 0
        ? html`<p>${rejection === undefined ? 'No rows.' : 'The list was not read.'}</p>`
        : html`${await selectable(visit, list, rows, { where, order })}<p><a href="${file}">All rows as a file for spreadsheets (CSV)</a></p>`
    }
${hidden > 0 && html`<p><a href="${base}/data/${type}?inactive=on">Show inactive ones (${hidden})</a></p>`}
${pageLinks(page && url({}), next && url({ page: next }))}</section>`,
  };
}

/** What a row of a list sends if it is selected. */
function selection(list: DataList, { status, version, systemRef, ...row }: ShownRow): string {
  const sent = { status, version, systemRef, label: row[list.label ?? ''] ?? '' };
  return new URLSearchParams(Object.entries(sent).map(([name, value]) => [name, String(value)])).toString();
}

/** The table of a list; with a form for what can be done with several rows at once. */
async function selectable(visit: ConsoleVisit, list: DataList, rows: readonly ShownRow[], state: ListState) {
  const { base, query, caller } = visit;
  const actions = bulkActions(list, rows, caller);
  if (actions.length === 0) return rowTable(visit, list, rows, { state });
  const shown = await rowTable(visit, list, rows, { state, isSelected: query.get('selected') === 'all' });
  const all = new URLSearchParams([...[...query].filter(([name]) => name !== 'selected'), ['selected', 'all']]);
  const url = `${base}/data/${list.type}`;
  const button = ({ name, label }: Action) =>
    html`<button class="plain" formaction="${url}/selected/${name}">${label}</button>`;
  return html`<form method="post" action="${url}/selected">${keyField(visit)}${shown}<div class="row"><a class="button plain" href="${url}?${all.toString()}">Select all</a> <span>With the selected:</span>${actions.map(button)}</div></form>`;
}

interface ListState {
  readonly where?: RowConditions;
  readonly order?: string | undefined;
  readonly page?: string;
}

/**
 * @param options the state of a list that can be sorted; whether rows are selected, if they can be; and the column of what all rows
 *   belong to, which says nothing
 */
export async function rowTable(
  visit: ConsoleVisit,
  list: DataList,
  rows: readonly ShownRow[],
  { state, isSelected, without }: { state?: ListState; isSelected?: boolean; without?: string } = {},
): Promise<HtmlContent> {
  // Of some rows of a list, a column that is empty says nothing.
  const isEmpty = (column: string) => state === undefined && rows.every((row) => (row[column] ?? '') === '');
  const columns = list.columns.filter((column, index) => column !== without && (index === 0 || !isEmpty(column)));
  const view = { visit, names: await namesIn(visit, rows, list.properties) };
  const heads = columns.map((column): Head => {
    const head = headOf(list.properties, column);
    if (state === undefined || !list.sortable.has(column)) return head;
    const [ascending, descending] = [column, `-${column}`];
    const { [ascending]: sorted, [descending]: reversed } = { [state.order ?? '']: true };
    const order = !reversed && (sorted || head.isNumber) ? descending : ascending;
    const sortUrl = listUrl(visit.base, list, { ...state, order });
    return { ...head, sortUrl, sorted: sorted ? 'ascending' : reversed ? 'descending' : undefined };
  });
  const cellsOf = (row: ShownRow) => {
    const [first, ...others] = rowCells(view, list, row, columns);
    if (isSelected === undefined) return [first, ...others];
    const label = `Select ${String(row[list.label ?? ''] ?? row.systemRef)}`;
    const box = html`<input type="checkbox" name="row" value="${selection(list, row)}" aria-label="${label}"${isSelected && html` checked`}>`;
    return [[box, first], ...others];
  };
  return table(list.title, heads, rows.map(cellsOf));
}

export function listUrl(base: string, { type }: DataList, { where = {}, order, page }: ListState): string {
  return urlWith(`${base}/data/${type}`, {
    where: isEmpty(where) ? undefined : JSON.stringify(where),
    sort: order,
    page,
  });
}

/** A form that adds a condition. The fields that people compare come first. */
function filterForm({ base, query }: ConsoleVisit, list: DataList, where: RowConditions): HtmlContent {
  const names = list.filters.map(({ name }) => name).filter((name) => !isTechnical(list.columns, name));
  if (names.length === 0) return false;
  const first = [list.label ?? '', ...list.columns].filter((name) => names.includes(name));
  const fields = [...new Set([...first, ...names.sort()])].map((name) => [name, fieldInWords(name)] as const);
  return html`<form class="card filter" method="get" action="${base}/data/${list.type}">${!isEmpty(where) && html`<input type="hidden" name="where" value="${JSON.stringify(where)}">`}
<div><label for="filter">Show rows where</label><select id="filter" name="filter">${options(fields, query.get('filter'))}</select></div>
<div><label for="op">Compared</label><select id="op" name="op">${options(
    Object.entries(comparisons).map(([name, [words]]) => [name, words]),
    query.get('op'),
  )}</select></div>
<div><label for="value">With</label><input id="value" name="value" autocomplete="off"></div>
<button>Filter</button></form>`;
}

/** A list as a file for spreadsheets: its conditions and order, all fields with a single value, and names instead of references. */
export async function listFile(visit: ConsoleVisit, type: string): Promise<PageResult | BytesResult> {
  const list = await listNamed(visit, type);
  const [where, order] = [whereIn(visit.query), enteredOrder(list, visit.query)];
  const rows = await readAll(visit, list, { where, order });
  const isSingle = (schema: Schema = {}) => schema.properties === undefined && !isOf(schema, 'array');
  const names = await namesIn(visit, rows, list.properties);
  const columns = [...list.properties.keys()].filter(
    (name) => isSingle(list.properties.get(name)) && !isTechnical(list.columns, name),
  );
  const cellOf = (value: unknown) =>
    value === null || value === undefined ? null : (names.get(String(value)) ?? String(value));
  const lines = rows.map((row) => columns.map((column) => cellOf(row[column])));
  return fileResult(new CsvFile(`${list.type}.csv`, [columns.map(fieldInWords), ...lines]));
}

/** The conditions that find rows by a part of their name, number or reference; undefined if the list has none of these. */
function findIn({ filters, label = '', byId }: DataList, text: string): RowConditions | undefined {
  const names = filters.filter(({ name, operators }) => known.test(name) && operators.has('_ilike'));
  if (byId === undefined) return undefined;
  if (filters.some(({ name, operators }) => name === label && operators.has('='))) return { [label]: { '=': text } };
  return names.length === 0 ? undefined : { _or: names.map(({ name }) => ({ [name]: containing(name, text) })) };
}

/** What has a name, number or reference with the text, of every list that the caller may search. */
export async function searchPage(visit: ConsoleVisit): Promise<ConsolePage> {
  const text = visit.query.get('q')?.trim() ?? '';
  const found = [...(text.length < minLength ? [] : dataLists.values())].map(async (list): Promise<HtmlContent> => {
    const where = findIn(list, text);
    if (where === undefined || !mayCall(list.operation, visit.caller.roles)) return false;
    const { rows, next } = await readList(visit, list, { where, pageSize: maxFound });
    const more = next !== undefined && html`<p class="soft">There are more. Enter more of the name.</p>`;
    return rows.length > 0 && card(list.title, [await rowTable(visit, list, rows), more]);
  });
  const cards = (await Promise.all(found)).filter((one) => one !== false);
  const nothing =
    text.length < minLength ? `Enter at least ${minLength} characters.` : 'Nothing has this name or number.';
  return {
    title: text === '' ? 'Search' : `Search: ${text}`,
    search: text,
    body: cards.length > 0 ? cards : html`<section class="card"><p>${nothing}</p></section>`,
  };
}
