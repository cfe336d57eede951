import { hasRole } from '@financial-automation/spec/roles';
import { Rejection } from '../../contract/rejection.ts';
import { eventsOfRow } from '../../modules/events/index.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { act, actionForms } from './action-pages.ts';
import { customList, type DataList, dataLists, referencesTo } from './catalog.ts';
import {
  type EnteredFilter,
  type EnteredOrder,
  enteredFilter,
  enteredOrder,
  listInput,
  newestFirst,
} from './filter.ts';
import { when } from './formats.ts';
import { alert, type Frame, framed, type Head, table } from './layout.ts';
import { namesIn } from './names.ts';
import {
  currencyOf,
  embeddedLists,
  embeddedTable,
  fields,
  flatRow,
  headOf,
  rowCells,
  type ShownRow,
} from './values.ts';
import { type ConsoleVisit, callOperation, contextIn, operationOf, rowsIn } from './visit.ts';
import { fieldInWords, operatorInWords, typeInWords, valueInWords } from './words.ts';

const pageSize = 25;
/** A list without a filter is read up to here to find one row. */
const maxScanned = 1_000;
const maxEvents = 20;
const maxEntries = 50;
/** Rows of each other list on the page of a row. */
const maxRelated = 5;

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
async function listNamed(visit: ConsoleVisit, type: string): Promise<DataList> {
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
  const filter = enteredFilter(visit.query);
  const order = enteredOrder(list, visit.query);
  const page = visit.query.get('page') ?? undefined;
  let body: Record<string, unknown> = {};
  let rejection: Rejection | undefined;
  try {
    const input = listInput(list, filter, page, pageSize, order);
    body = await callOperation(visit, list.operation, { path: list.path, ...input });
  } catch (error) {
    if (!(error instanceof Rejection) || error.status !== 400) throw error;
    rejection = error;
  }
  const rows = rowsIn(body).map(flatRow);
  const next = nextPage(body);
  return framed(visit.frame, {
    title: list.title,
    part: '/data',
    notice: rejection !== undefined && rejected(rejection),
    body: html`${list.filters.length > 0 && filterForm(base, list, filter)}
<section class="card">${
      rows.length === 0
        ? html`<p>${rejection === undefined ? 'No rows.' : 'The list was not read.'}</p>`
        : await rowTable(visit, list, rows, { filter, order })
    }
${(page !== undefined || next !== undefined) && html`<div class="row">${page !== undefined && html`<a class="button plain" href="${listUrl(base, list, { filter, order })}">First page</a>`}${next !== undefined && html`<a class="button plain" href="${listUrl(base, list, { filter, order, page: next })}">Next page</a>`}</div>`}</section>`,
  });
}

interface ListState {
  readonly filter?: EnteredFilter | undefined;
  readonly order?: EnteredOrder | undefined;
  readonly page?: string;
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
    rows.map((row) => rowCells(view, list, row, columns)),
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

function nextPage({ nextCursor }: Record<string, unknown>): string | undefined {
  return typeof nextCursor === 'string' ? nextCursor : undefined;
}

function listUrl(base: string, { type }: DataList, { filter, order, page }: ListState): string {
  const query = new URLSearchParams({
    ...(filter === undefined ? {} : { filter: `${filter.field} ${filter.operator}`, value: filter.value }),
    ...(order === undefined ? {} : { sort: `${order.isDescending ? '-' : ''}${order.column}` }),
    ...(page === undefined ? {} : { page }),
  });
  return `${base}/data/${type}${query.size === 0 ? '' : `?${query}`}`;
}

function filterForm(base: string, list: DataList, filter: EnteredFilter | undefined): HtmlContent {
  const selected = filter === undefined ? undefined : `${filter.field} ${filter.operator}`;
  const option = (field: string, operator: string) =>
    html`<option value="${field} ${operator}"${`${field} ${operator}` === selected && html` selected`}>${fieldInWords(field)} ${operatorInWords(operator)}</option>`;
  return html`<form class="card filter" method="get" action="${base}/data/${list.type}">
<div><label for="filter">Show rows where</label><select id="filter" name="filter">${list.filters.map(
    ({ name, operators }) =>
      html`<optgroup label="${fieldInWords(name)}">${[...operators.keys()].map((operator) => option(name, operator))}</optgroup>`,
  )}</select></div>
<div><label for="value">Value</label><input id="value" name="value" value="${filter?.value ?? ''}" autocomplete="off"></div>
<button>Filter</button>${filter !== undefined && html`<a class="button plain" href="${base}/data/${list.type}">Show all</a>`}</form>`;
}

function rejected({ code, message, errors = [] }: Rejection): HtmlContent {
  const details = errors.filter(({ detail }) => detail !== message);
  return alert(
    'bad',
    html`<p><strong>${code}</strong>: ${message}</p>${details.length > 0 && html`<ul>${details.map(({ pointer, detail }) => html`<li><code>${pointer}</code>: ${detail}</li>`)}</ul>`}`,
  );
}

/** Fields that only integrators read. */
const technical = new Set(['id', 'systemRef', 'sysRefs', 'active', 'createdAt', 'updatedAt', 'version', 'type']);

/** One row: its fields and lists, what refers to it, and its events. */
export async function rowPage(visit: ConsoleVisit, type: string, id: string): Promise<string> {
  const list = await listNamed(visit, type);
  const row = await readRow(visit, list, id);
  const { frame } = visit;
  const events = await eventsOfRow(contextIn(visit, operationOf('listEvents')), type, id, maxEvents);
  const view = { frame, names: await namesIn(visit, [row], list.properties) };
  const embedded = embeddedLists(row, list.properties);
  const isOwn = ([name]: [string, unknown]) => !technical.has(name) && !embedded.includes(name);
  const inEntries = (keep: (entry: [string, unknown]) => boolean) =>
    Object.fromEntries(Object.entries(row).filter(keep));
  const one = typeInWords(type);
  const label = row[list.label ?? 'systemRef'] ?? row.systemRef;
  return framed(frame, {
    title: `${dataLists.has(type) ? one : list.title}: ${String(label ?? id)}`,
    part: '/data',
    lead: html`<a href="${frame.base}/data/${type}">${list.title}</a>`,
    notice: visit.query.get('done') === 'yes' && alert('good', html`<p>Done.</p>`),
    body: html`${actionForms(visit, list, row)}<section class="card"><h2>${one}</h2>${fields(view, inEntries(isOwn), list.properties, currencyOf(row))}
<details><summary>For integrators</summary>${fields(
      view,
      inEntries(([name]) => technical.has(name)),
      list.properties,
    )}</details></section>
${embedded.map((name) => html`<section class="card"><h2>${fieldInWords(name)}</h2>${embeddedTable(view, row, name, list.properties.get(name))}</section>`)}
${await relatedLists(visit, type, id)}
<section class="card"><h2>Events</h2>${shownEvents(frame, events)}</section>`,
  });
}

/**
 * Handles the form of what can be done with a row.
 *
 * @returns the page of its rehearsal, or where the browser goes next
 */
export async function actOnRow(visit: ConsoleVisit, type: string, id: string, to: string) {
  const list = await listNamed(visit, type);
  const row = await readRow(visit, list, id);
  const page = await act(visit, list, { ...row, version: Number(row.version) }, to);
  return page === undefined ? `/data/${type}/${encodeURIComponent(id)}?done=yes` : { page };
}

/** The latest rows that refer to a row, by list; the others as links. */
async function relatedLists(visit: ConsoleVisit, type: string, id: string): Promise<HtmlContent> {
  const { base } = visit.frame;
  const shown: HtmlContent[] = [];
  const links: HtmlContent[] = [];
  for (const reference of referencesTo(type)) {
    const { list, field, operator } = reference;
    const filter = { field, operator, value: id };
    const link = html`<a href="${listUrl(base, list, { filter })}">`;
    const isOwn =
      newestFirst(list) !== undefined && /^(\w+)Ids?$/.exec(field)?.[1]?.toLowerCase() === type.toLowerCase();
    if (!isOwn || !hasRole(visit.caller.roles, list.operation.roles)) {
      links.push(html`<li>${link}${list.title}, by ${fieldInWords(field).toLowerCase()}</a></li>`);
      continue;
    }
    const limit = list.type === 'LedgerEntry' ? maxEntries : maxRelated;
    const body = await callOperation(visit, list.operation, listInput(list, filter, undefined, limit));
    const rows = rowsIn(body).map(flatRow);
    if (rows.length === 0) continue;
    shown.push(
      html`<section class="card"><h2>${list.title}</h2>${await rowTable(visit, list, rows, undefined, field)}${nextPage(body) !== undefined && html`<p>${link}All ${list.title.toLowerCase()}</a></p>`}</section>`,
    );
  }
  return html`${shown}${links.length > 0 && html`<section class="card"><h2>Other lists</h2><ul class="links">${links}</ul></section>`}`;
}

function shownEvents(frame: Frame, events: Awaited<ReturnType<typeof eventsOfRow>>): HtmlContent {
  if (events === undefined) return html`<p>Your API user does not have the roles to read all events of this type.</p>`;
  if (events.length === 0) return html`<p>No events are kept for this row.</p>`;
  const rows = events.map(({ id, operation, occurredAt, changedFields }) => [
    when(frame, occurredAt),
    valueInWords(operation),
    changedFields === null ? 'all fields' : changedFields.map(fieldInWords).join(', '),
    html`<code>${id}</code>`,
  ]);
  return table('Events', ['Time', 'Event', 'Changed', 'Event ID'], rows);
}

/** @throws Rejection `NOT_FOUND` */
async function readRow(visit: ConsoleVisit, list: DataList, id: string): Promise<ShownRow> {
  const { byId, operation, filters } = list;
  if (byId !== undefined) {
    const [, parameter = 'id'] = /\{(\w+)\}$/.exec(byId.path) ?? [];
    return callOperation(visit, byId, { path: { [parameter]: id } });
  }
  const canFilter = filters.find(({ name }) => name === 'id')?.operators.has('_eq') === true;
  const filter = canFilter ? { field: 'id', operator: '_eq', value: id } : undefined;
  let scanned = 0;
  let cursor: string | undefined;
  do {
    const input = { path: list.path, ...listInput(list, filter, cursor, 100) };
    const body = await callOperation(visit, operation, input);
    const rows = rowsIn(body).map(flatRow);
    const row = rows.find((one) => one.id === id);
    if (row !== undefined) return row;
    scanned += rows.length;
    cursor = nextPage(body);
  } while (cursor !== undefined && scanned < maxScanned);
  throw new Rejection('NOT_FOUND', `There is no ${list.type} with this ID among the first ${scanned} rows.`);
}
