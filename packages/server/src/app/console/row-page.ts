import { hasRole } from '@financial-automation/spec/roles';
import type { Schema } from '../../contract/contract.ts';
import { Rejection } from '../../contract/rejection.ts';
import { eventsOfRow } from '../../modules/events/index.ts';
import { contentOf } from '../../modules/files/index.ts';
import { contentResult } from '../../wire/content.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import type { BytesResult, PageResult } from '../../wire/result.ts';
import { act, actionForms, actOnSelected } from './action-pages.ts';
import { type VersionedRow, writerOf } from './actions.ts';
import { columnsOf, type DataList, dataLists, referencesTo } from './catalog.ts';
import { listNamed, listUrl, nextPage, rowTable, technical } from './data-pages.ts';
import { editPage, saveRow } from './edit-page.ts';
import { listInput, type RowConditions } from './filter.ts';
import { money, when } from './formats.ts';
import { alert, type Frame, framed, table } from './layout.ts';
import { namesIn } from './names.ts';
import { shown, withHeaders } from './results.ts';
import { command, commandForms } from './row-commands.ts';
import { framingPolicy } from './style.ts';
import { currencyOf, embeddedLists, embeddedTable, fields, flatRow, isMoney, type ShownRow } from './values.ts';
import { type ConsoleVisit, call, callOperation, contextIn, operationOf, rowsIn } from './visit.ts';
import { fieldInWords, newInWords, typeInWords, valueInWords } from './words.ts';

/** A list without a filter is read up to here to find one row. */
const maxScanned = 1_000;
const maxEvents = 20;
const maxEntries = 50;
/** Rows of each other list on the page of a row. */
const maxRelated = 5;

/** One row: its fields and lists, what refers to it, and its events. */
export async function rowPage(visit: ConsoleVisit, type: string, id: string): Promise<PageResult> {
  const list = await listNamed(visit, type);
  const row = await readRow(visit, list, id);
  const { frame } = visit;
  const events = await eventsOfRow(contextIn(visit, operationOf('listEvents')), type, id, maxEvents);
  const view = { frame, names: await namesIn(visit, [row], list.properties) };
  const embedded = embeddedLists(row, list.properties);
  const figures = figuresOf(row, list.properties);
  const isOwn = ([name]: [string, unknown]) =>
    !technical.has(name) &&
    !embedded.includes(name) &&
    !embedded.includes(name.replace(/Count$/, '')) &&
    !isMoney(list.properties.get(name)) &&
    name !== documentField;
  const inEntries = (keep: (entry: [string, unknown]) => boolean) =>
    Object.fromEntries(Object.entries(row).filter(keep));
  const one = typeInWords(type);
  const label = row[list.label ?? 'systemRef'] ?? row.systemRef;
  const pdf = row[documentField];
  const text = framed(frame, {
    title: `${dataLists.has(type) ? one : list.title}: ${String(label ?? id)}`,
    part: '/data',
    lead: html`<a href="${frame.base}/data/${type}">${list.title}</a>`,
    notice: visit.query.get('done') === 'yes' && alert('good', html`<p>Done.</p>`),
    body: html`${balances(row, figures)}${links(visit, list, row)}${actionForms(visit, list, row, await commandForms(visit, list, row))}<div${typeof pdf === 'string' && html` class="beside"`}><div><section class="card"><h2>${one}</h2>${fields(view, inEntries(isOwn), list.properties, currencyOf(row))}
<details><summary>For integrators</summary>${fields(
      view,
      inEntries(([name]) => technical.has(name)),
      list.properties,
    )}</details></section>
${embedded.map((name) => html`<section class="card"><h2>${fieldInWords(name)}</h2>${embeddedTable(view, row, name, list.properties.get(name))}</section>`)}</div>${typeof pdf === 'string' && html`<iframe src="${frame.base}/files/${pdf}/document" title="Document" loading="lazy"></iframe>`}</div>
${await relatedLists(visit, type, id)}
<section class="card"><details><summary>Events</summary>${shownEvents(frame, events)}</details></section>`,
  });
  return typeof pdf === 'string' ? withHeaders(shown(text), { 'Content-Security-Policy': framingPolicy }) : shown(text);
}

/** The field with the document that the service has written of a row. */
const documentField = 'pdfFileId';

/** A PDF document, to be shown beside the row that it is of. Content of any other type is only downloaded. */
export async function shownDocument(visit: ConsoleVisit, id: string): Promise<BytesResult> {
  const { exchange, service, tenant } = visit;
  const row = await call(visit, 'getFile', { path: { id }, query: { includeDownloadUrl: 'true' } });
  if (row.mimeType !== 'application/pdf') throw new Rejection('INVALID_STATE', 'This document can only be downloaded.');
  const { headers, ...result } = await contentResult(contentOf(service, tenant, row), exchange);
  return {
    ...result,
    headers: {
      ...headers,
      'Content-Disposition': 'inline',
      // Viewers of browsers are pages of their own, which other policies keep from showing it.
      'Content-Security-Policy': `frame-ancestors 'self'`,
      'X-Frame-Options': 'SAMEORIGIN',
    },
  };
}

/** The amounts of a row that are not zero, and those that people compare. */
function figuresOf(row: ShownRow, properties: ReadonlyMap<string, Schema>): string[] {
  const compared = columnsOf(properties);
  return [...properties].flatMap(([name, schema]) =>
    isMoney(schema) && typeof row[name] === 'string' && (/[1-9]/.test(row[name]) || compared.includes(name))
      ? [name]
      : [],
  );
}

function balances(row: ShownRow, names: readonly string[]): HtmlContent {
  if (names.length === 0) return false;
  const currency = currencyOf(row);
  return html`<dl class="cards balances">${names.map((name) => html`<div class="card"><dt>${fieldInWords(name)}</dt><dd class="figure">${money(String(row[name]), currency)}</dd></div>`)}</dl>`;
}

/** Where a row is changed and others that refer to it are created; its documents, and of a client its statement. */
function links({ frame, caller }: ConsoleVisit, list: DataList, row: ShownRow): HtmlContent {
  const { type, properties } = list;
  const id = String(row.id);
  const found: [url: string, text: string][] = [];
  for (const [name, schema] of properties)
    if (schema['x-references'] === 'File' && typeof row[name] === 'string')
      found.push([`/files/${row[name]}`, `Open the ${fieldInWords(name)}`]);
  if (type === 'File' && row.status === 'AVAILABLE') found.push([`/files/${id}`, 'Open the document']);
  if (type === 'Client') found.push([`/statements/${id}`, 'Statement of account']);
  if (writerOf(list, ['update', 'upsert'], caller) !== undefined)
    found.push([`/data/${type}/${id}/edit`, 'Change fields']);
  for (const { list: other, field } of referencesTo(type)) {
    const writer = other.properties.has('status') ? writerOf(other, ['upsert'], caller) : undefined;
    if (writer?.attributes.properties?.[field] === undefined || !isReferenceOf(field, type)) continue;
    const presets = new URLSearchParams({
      [field]: id,
      ...(field === 'creditedInvoiceId' && { clientId: String(row.clientId) }),
    });
    found.push([`/data/${other.type}/new?${presets.toString()}`, newInWords(other.type, field)]);
  }
  return (
    found.length > 0 &&
    html`<div class="row links-row">${found.map(([url, text]) => html`<a class="button plain" href="${frame.base}${url}">${text}</a>`)}</div>`
  );
}

/** Whether a field says which row of the type another one belongs to: not its parent, or who manages it. */
function isReferenceOf(field: string, type: string): boolean {
  return field === 'creditedInvoiceId' || field.toLowerCase() === `${type.toLowerCase()}id`;
}

/** @returns where the content of a file is downloaded */
export async function fileUrl(visit: ConsoleVisit, id: string): Promise<string> {
  const { downloadUrl } = await call(visit, 'getFile', { path: { id }, query: { includeDownloadUrl: 'true' } });
  if (typeof downloadUrl !== 'string') throw new Rejection('INVALID_STATE', 'The document has no content yet.');
  return downloadUrl;
}

/**
 * Handles the form of what can be done with a row.
 *
 * @returns the page of its rehearsal, or where the browser goes next
 */
export async function actOnRow(visit: ConsoleVisit, type: string, id: string, to: string) {
  const list = await listNamed(visit, type);
  const result = await act(visit, list, await versionedRow(visit, list, id), to);
  return 'page' in result ? result : `/data/${type}/${encodeURIComponent(id)}?done=yes`;
}

/** Handles the form of a command on a row. */
export async function commandRow(visit: ConsoleVisit, type: string, id: string, operation: string) {
  const list = await listNamed(visit, type);
  const result = await command(visit, list, await readRow(visit, list, id), operation);
  return 'page' in result ? result : `/data/${type}/${encodeURIComponent(id)}?done=yes`;
}

/** The form that creates a row, or changes one. */
export async function formPage(visit: ConsoleVisit, type: string, id?: string): Promise<string> {
  const list = await listNamed(visit, type);
  return editPage(visit, list, id === undefined ? undefined : await versionedRow(visit, list, id));
}

/** Handles this form. */
export async function saveForm(visit: ConsoleVisit, type: string, id?: string) {
  const list = await listNamed(visit, type);
  const result = await saveRow(visit, list, id === undefined ? undefined : await versionedRow(visit, list, id));
  if ('page' in result) return result;
  const [written]: { id?: string }[] = Array.isArray(result.body.records) ? result.body.records : [];
  return `/data/${type}/${encodeURIComponent(id ?? written?.id ?? '')}?done=yes`;
}

async function versionedRow(visit: ConsoleVisit, list: DataList, id: string): Promise<VersionedRow> {
  const row = await readRow(visit, list, id);
  return { ...row, version: Number(row.version) };
}

/** Handles the form of what is done with several rows of a list. */
export async function actOnRows(visit: ConsoleVisit, type: string, to: string) {
  const result = await actOnSelected(visit, await listNamed(visit, type), to);
  return 'page' in result ? result : `/data/${type}?done=yes`;
}

/** Whether rows of a list are shown on the page of one that they belong to: those that people work with, and the entries of a document. */
function isShown({ type, properties }: DataList, of: string): boolean {
  return type === 'LedgerEntry' ? of !== 'Client' : properties.has('status') && type !== 'BilledLine';
}

/** The latest rows that refer to a row, by list, those with a state first; the others as links. */
async function relatedLists(visit: ConsoleVisit, type: string, id: string): Promise<HtmlContent> {
  const { base } = visit.frame;
  const related: HtmlContent[] = [];
  const others: HtmlContent[] = [];
  const hasNoState = ({ list }: { readonly list: DataList }) =>
    list.properties.has('status') && list.type !== 'BilledLine' ? 0 : 1;
  for (const { list, field, conditionOn } of referencesTo(type).sort(
    (one, other) => hasNoState(one) - hasNoState(other),
  )) {
    const where = conditionOn(id);
    const link = html`<a href="${listUrl(base, list, { where })}">`;
    const isOwn = /^(\w+)Ids?$/.exec(field)?.[1]?.toLowerCase() === type.toLowerCase();
    if (!isOwn || !isShown(list, type) || !hasRole(visit.caller.roles, list.operation.roles)) {
      others.push(html`<li>${link}${list.title}${!isOwn && `, by ${fieldInWords(field).toLowerCase()}`}</a></li>`);
      continue;
    }
    const limit = list.type === 'LedgerEntry' ? maxEntries : maxRelated;
    const body = await callOperation(visit, list.operation, listInput(list, where, undefined, limit));
    const rows = rowsIn(body).map(flatRow);
    if (rows.length === 0) continue;
    related.push(
      html`<section class="card"><h2>${list.title}</h2>${await rowTable(visit, list, rows, undefined, field)}${nextPage(body) !== undefined && html`<p>${link}All ${list.title.toLowerCase()}</a></p>`}</section>`,
    );
  }
  return html`${related}${others.length > 0 && html`<section class="card"><h2>Other lists</h2><ul class="links">${others}</ul></section>`}`;
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
  const where: RowConditions = canFilter ? { id: { _eq: id } } : {};
  let scanned = 0;
  let cursor: string | undefined;
  do {
    const input = { path: list.path, ...listInput(list, where, cursor, 100) };
    const body = await callOperation(visit, operation, input);
    const rows = rowsIn(body).map(flatRow);
    const row = rows.find((one) => one.id === id);
    if (row !== undefined) return row;
    scanned += rows.length;
    cursor = nextPage(body);
  } while (cursor !== undefined && scanned < maxScanned);
  throw new Rejection('NOT_FOUND', `There is no ${list.type} with this ID among the first ${scanned} rows.`);
}
