import { hasRole, mayCall } from '@financial-automation/spec/roles';
import { operationOf } from '../../contract/contract.ts';
import { rolesToSend } from '../../contract/roles.ts';
import { eventsOfRow } from '../../modules/events/index.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { actionForms } from './action-pages.ts';
import { actionsOn, readsOf, writingOf } from './actions.ts';
import { type DataList, dataLists, otherListsOf, referencesTo } from './catalog.ts';
import { changedMeanwhile, historyTable, meanwhileCard } from './changes.ts';
import { listNamed, listUrl, readRow, rowTable } from './data-pages.ts';
import { deliveriesCard } from './delivery-pages.ts';
import { readList } from './filter.ts';
import { badge, when } from './formats.ts';
import { type ConsolePage, card, linkList, table } from './layout.ts';
import { namesIn } from './names.ts';
import { documentsCard } from './read-page.ts';
import { balances, fieldCards, type ShownRow, titleOf, urlOf } from './values.ts';
import { type ConsoleVisit, contextIn } from './visit.ts';
import { actionInWords, fieldInWords, newInWords, typeInWords, valueInWords } from './words.ts';

const maxEvents = 20;
/** Of a document, all entries are shown. */
const maxEntries = 50;
const documents = new Set(['Invoice', 'Payment']);
/** Rows of each other list on the page of a row. */
const maxRelated = 5;
/** The field with the document that the service has written of a row. */
const documentField = 'pdfFileId';
const downloadRoles = rolesToSend(operationOf('getFile'), 'includeDownloadUrl', true);

/** One row: its figures, what can be done with it, its fields and lists, what refers to it, and what happened to it. */
export async function rowPage(visit: ConsoleVisit, type: string, id: string): Promise<ConsolePage> {
  const list = await listNamed(visit, type);
  const row = await readRow(visit, list, id);
  const { base, caller } = visit;
  const { properties } = list;
  const forms = await actionForms(visit, urlOf(list, row), actionsOn(list, row, caller), row);
  const view = { visit, names: await namesIn(visit, [row], properties) };
  const one = typeInWords(type);
  const pdf = row[documentField];
  const hasDocument = typeof pdf === 'string' && hasRole(caller.roles, downloadRoles);
  return {
    title: `${dataLists.has(type) ? one : list.title}${titleOf(list, row, view.names)}`,
    lead: html`<a href="${base}/data/${type}">${list.title}</a>`,
    body: html`${await meanwhileCard(visit, await changedMeanwhile(visit, list, row))}${balances(row, properties)}${links(visit, list, row)}${forms.length > 0 && card('What you can do now', html`<div class="row">${forms}</div>`)}<div${hasDocument && html` class="beside"`}><div>${fieldCards(view, [one, row.active === false && [' ', badge('inactive')]], row, properties)}</div>${hasDocument && html`<iframe src="${base}/files/${pdf}" title="Document" loading="lazy"></iframe>`}</div>
${await documentsCard(visit, list, id)}${type === 'EventSubscription' && (await deliveriesCard(visit, id))}${await relatedLists(visit, type, String(row.id))}
<section class="card"><details><summary>History</summary>${await historyTable(visit, list, String(row.id))}</details><details><summary>Events</summary>${await eventsTable(visit, list, String(row.id))}</details></section>`,
    hasDocument,
  };
}

/** Where a row is changed and others that refer to it are created; its documents, and of a client its statement. */
function links({ base, caller }: ConsoleVisit, list: DataList, row: ShownRow): HtmlContent {
  const { type, properties } = list;
  const id = String(row.id);
  const canDownload = hasRole(caller.roles, downloadRoles);
  const found: [url: string, text: string][] = [...properties].flatMap(([name, schema]) =>
    canDownload && schema['x-references'] === 'File' && typeof row[name] === 'string'
      ? [[`/files/${row[name]}`, `Open the ${fieldInWords(name)}`]]
      : [],
  );
  if (canDownload && type === 'File' && row.status === 'AVAILABLE') found.push([`/files/${id}`, 'Open the document']);
  for (const { operation, name, parameter } of readsOf(list))
    if (parameter === undefined && /^get|By[A-Z]|Documents$/.test(operation.id) && mayCall(operation, caller.roles))
      found.push([`${urlOf(list, row)}/${name}`, actionInWords(operation.id)]);
  // Such as a job with its figures and assignments.
  for (const other of otherListsOf(list))
    if (mayCall(other.operation, caller.roles)) found.push([urlOf(other, row), typeInWords(other.type)]);
  if (writingOf(list, row, caller) !== undefined) found.push([`${urlOf(list, row)}/edit`, 'Change fields']);
  for (const { list: other, field } of referencesTo(type)) {
    const isCredit = field === 'creditedInvoiceId';
    // Not its parent, or who manages it.
    const belongs = isCredit || field.toLowerCase() === `${type.toLowerCase()}id`;
    if (!belongs || !other.properties.has('status') || !mayCall(other.operation, caller.roles)) continue;
    if (writingOf(other, undefined, caller)?.inputs.every(({ path }) => path !== field) !== false) continue;
    const presets = new URLSearchParams({ [field]: id, ...(isCredit && { clientId: String(row.clientId) }) });
    found.push([`/data/${other.type}/new?${presets.toString()}`, newInWords(other.type, field)]);
  }
  const link = ([url, text]: [string, string]) => html`<a class="button plain" href="${base}${url}">${text}</a>`;
  return found.length > 0 && html`<div class="row links-row">${found.map(link)}</div>`;
}

/** The latest rows that refer to a row: of lists with a state, which people work with, and the entries of a document. The others as links. */
async function relatedLists(visit: ConsoleVisit, type: string, id: string): Promise<HtmlContent> {
  const { base } = visit;
  const hasState = ({ list }: { readonly list: DataList }) =>
    list.properties.has('status') && list.type !== 'BilledLine';
  const isShown = (reference: { readonly list: DataList }) =>
    reference.list.type === 'LedgerEntry' ? type !== 'Client' : hasState(reference);
  const related: HtmlContent[] = [];
  const others: HtmlContent[] = [];
  const references = referencesTo(type).sort((one, other) => Number(hasState(other)) - Number(hasState(one)));
  for (const { list, field, conditionOn } of references) {
    const where = conditionOn(id);
    const link = html`<a href="${listUrl(base, list, { where })}">`;
    const isOwn = /^(\w+)Ids?$/.exec(field)?.[1]?.toLowerCase() === type.toLowerCase();
    if (!mayCall(list.operation, visit.caller.roles)) continue;
    if (!isOwn || !isShown({ list })) {
      others.push(html`${link}${list.title}${!isOwn && `, by ${fieldInWords(field).toLowerCase()}`}</a>`);
      continue;
    }
    const pageSize = list.type === 'LedgerEntry' && documents.has(type) ? maxEntries : maxRelated;
    const { rows, next } = await readList(visit, list, { where, pageSize });
    if (rows.length === 0) continue;
    const more = next !== undefined && html`<p>${link}All ${list.title.toLowerCase()}</a></p>`;
    related.push(card(list.title, [await rowTable(visit, list, rows, { without: field }), more]));
  }
  return [related, others.length > 0 && card('Other lists', linkList(others))];
}

async function eventsTable(visit: ConsoleVisit, list: DataList, id: string): Promise<HtmlContent> {
  const context = contextIn(visit, operationOf('listEvents'));
  const found = await Promise.all(
    [list, ...otherListsOf(list)].map(({ type }) => eventsOfRow(context, type, id, maxEvents)),
  );
  const events = found.includes(undefined) ? undefined : found.flatMap((some) => some ?? []);
  if (events === undefined) return html`<p>Your API user does not have the roles to read all events of this type.</p>`;
  if (events.length === 0) return html`<p>No events are kept for this row.</p>`;
  const rows = events.map((event) => [
    when(visit.tenant, event.occurredAt),
    valueInWords(event.operation),
    event.changedFields === null ? 'all fields' : event.changedFields.map(fieldInWords).join(', '),
    html`<code>${event.id}</code>`,
  ]);
  return table('Events', ['Time', 'Event', 'Changed', 'Event ID'], rows);
}
