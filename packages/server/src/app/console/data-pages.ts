import { Rejection } from '../../contract/rejection.ts';
import { eventsOfRow } from '../../modules/events/index.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { customList, type DataList, dataLists, referencesTo } from './catalog.ts';
import { type EnteredFilter, enteredFilter, listInput } from './filter.ts';
import { alert, badge, framed, table, when } from './layout.ts';
import { fields, flatRow, rowCells, type ShownRow } from './values.ts';
import { type ConsoleVisit, callOperation, contextIn, operationOf, rowsIn } from './visit.ts';

const pageSize = 25;
/** A list without a filter is read up to here to find one row. */
const maxScanned = 1_000;
const maxEvents = 20;
const maxEntries = 50;

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
    lead: 'Every list of the API. Open a row to follow its references and to see its events.',
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
  const page = visit.query.get('page') ?? undefined;
  let body: Record<string, unknown> = {};
  let rejection: Rejection | undefined;
  try {
    body = await callOperation(visit, list.operation, { path: list.path, ...listInput(list, filter, page, pageSize) });
  } catch (error) {
    if (!(error instanceof Rejection) || error.status !== 400) throw error;
    rejection = error;
  }
  const rows = rowsIn(body).map(flatRow);
  const columns = list.columns.length > 0 ? list.columns : columnsIn(rows[0]);
  const next = nextPage(body);
  const { method, path } = list.operation;
  return framed(visit.frame, {
    title: list.title,
    part: '/data',
    lead: html`<code>${list.operation.id}</code>: <code>${method} ${path}</code>`,
    notice: rejection !== undefined && rejected(rejection),
    body: html`${list.filters.length > 0 && filterForm(base, list, filter)}
<section class="card">${
      rows.length === 0
        ? html`<p>${rejection === undefined ? 'No rows.' : 'The list was not read.'}</p>`
        : table(
            list.title,
            columns.length === 0 ? ['id'] : columns,
            rows.map((row) => rowCells(base, list, row, columns)),
          )
    }
${(page !== undefined || next !== undefined) && html`<div class="row">${page !== undefined && html`<a class="button plain" href="${listUrl(base, list, filter)}">First page</a>`}${next !== undefined && html`<a class="button plain" href="${listUrl(base, list, filter, next)}">Next page</a>`}</div>`}</section>`,
  });
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

function listUrl(base: string, { type }: DataList, filter: EnteredFilter | undefined, page?: string): string {
  const query = new URLSearchParams({
    ...(filter === undefined ? {} : { filter: `${filter.field} ${filter.operator}`, value: filter.value }),
    ...(page === undefined ? {} : { page }),
  });
  return `${base}/data/${type}${query.size === 0 ? '' : `?${query}`}`;
}

function filterForm(base: string, list: DataList, filter: EnteredFilter | undefined): HtmlContent {
  const selected = filter === undefined ? undefined : `${filter.field} ${filter.operator}`;
  const option = (value: string) =>
    html`<option value="${value}"${value === selected && html` selected`}>${value.replace(/ =$/, '')}</option>`;
  return html`<form class="card filter" method="get" action="${base}/data/${list.type}">
<div><label for="filter">Field and operator</label><select id="filter" name="filter">${list.filters.map(
    ({ name, operators }) =>
      html`<optgroup label="${name}">${[...operators.keys()].map((operator) => option(`${name} ${operator}`))}</optgroup>`,
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

/** One row: its fields, what refers to it, its ledger entries and its events. */
export async function rowPage(visit: ConsoleVisit, type: string, id: string): Promise<string> {
  const list = await listNamed(visit, type);
  const row = await readRow(visit, list, id);
  const { base } = visit.frame;
  const references = referencesTo(type);
  const ledger = references.find((reference) => reference.list.type === 'LedgerEntry');
  const entries =
    ledger === undefined
      ? []
      : rowsIn(
          await callOperation(visit, ledger.list.operation, {
            ...listInput(ledger.list, { ...ledger, value: id }, undefined, maxEntries),
          }),
        );
  const events = await eventsOfRow(contextIn(visit, operationOf('listEvents')), type, id, maxEvents);
  const label = list.columns.map((name) => row[name]).find((value) => typeof value === 'string');
  return framed(visit.frame, {
    title: `${list.title}: ${String(label ?? row.systemRef ?? id)}`,
    part: '/data',
    lead: html`<a href="${base}/data/${type}">All rows of ${list.title}</a>`,
    body: html`<section class="card"><h2>Fields</h2>${fields(base, row, list.properties)}</section>
${
  ledger !== undefined &&
  html`<section class="card"><h2>Ledger entries</h2>${
    entries.length === 0
      ? html`<p>No entries.</p>`
      : table(
          'Ledger entries',
          ['Entry', ...ledger.list.columns.slice(1)],
          entries.map((entry) => rowCells(base, ledger.list, entry, ledger.list.columns)),
        )
  }${entries.length === maxEntries && html`<p><a href="${listUrl(base, ledger.list, { ...ledger, value: id })}">All entries</a></p>`}</section>`
}
<section class="card"><h2>Events</h2>${shownEvents(events)}</section>
${
  references.length > 0 &&
  html`<section class="card"><h2>Rows that refer to it</h2><ul class="links">${references.map(
    (reference) =>
      html`<li><a href="${listUrl(base, reference.list, { ...reference, value: id })}">${reference.list.title} by <code>${reference.field}</code></a></li>`,
  )}</ul></section>`
}`,
  });
}

function shownEvents(events: Awaited<ReturnType<typeof eventsOfRow>>): HtmlContent {
  if (events === undefined) return html`<p>Your API user does not have the roles to read all events of this type.</p>`;
  if (events.length === 0) return html`<p>No events are kept for this row.</p>`;
  const rows = events.map(({ id, operation, occurredAt, sequence, changedFields }) => [
    when(occurredAt),
    badge(operation),
    changedFields === null ? 'all fields' : html`<code>${changedFields.join(', ')}</code>`,
    String(sequence),
    html`<code>${id}</code>`,
  ]);
  return table('Events', ['Occurred', 'Operation', 'Changed', 'Sequence', 'Event ID'], rows);
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
