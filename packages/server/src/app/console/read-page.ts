/** Pages of operations that read something else than the rows of a list: about the firm, or about one row. */

import { mayCall } from '@financial-automation/spec/roles';
import { create as contentDisposition } from 'content-disposition';
import { type Operation, operationOf } from '../../contract/contract.ts';
import { CsvFile } from '../../contract/csv.ts';
import type { OperationId } from '../../contract/handler.ts';
import { Rejection } from '../../contract/rejection.ts';
import { ResponseFile } from '../../contract/response-file.ts';
import { contentOf } from '../../modules/files/index.ts';
import { contentResult } from '../../wire/content.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { type BytesResult, fileResult } from '../../wire/result.ts';
import { actionForms, perform } from './action-pages.ts';
import { commandOf, readsOf } from './actions.ts';
import { type DataList, dataLists, propertiesOf, type QueryParameter, schemasOf } from './catalog.ts';
import { enteredValues, queryForm } from './forms.ts';
import { card, pageLinks, table, urlWith } from './layout.ts';
import { namesIn } from './names.ts';
import { balances, fieldCards, type ShownRow } from './values.ts';
import { type ConsoleVisit, call, callOperation, nextPage, todayOf } from './visit.ts';
import { actionInWords, sentenceInWords, typeInWords, valueInWords } from './words.ts';

/** About the firm: what an operation returns, and what another one changes. */
const firmPages: Readonly<Record<string, readonly [shows: OperationId, changes: OperationId, lead: string]>> = {
  clock: [
    'getSandboxClock',
    'advanceSandboxClock',
    'This tenant is a sandbox with a clock of its own. It only moves forward, and runs everything that is due on the way.',
  ],
  secret: [
    'getWebhookSecret',
    'rotateWebhookSecret',
    'Receivers of events verify signatures with it. After a rotation, the one before is valid for some time.',
  ],
};

/** @returns undefined if there is no such page */
export async function firmPage(visit: ConsoleVisit, name: string) {
  const [shows, changes, lead] = firmPages[name] ?? [];
  if (shows === undefined || changes === undefined) return undefined;
  const body = await callOperation(visit, operationOf(shows));
  const forms = await actionForms(visit, `/${name}`, [commandOf(operationOf(changes))]);
  return {
    title: actionInWords(shows),
    lead,
    body: html`${await responseDetails(visit, operationOf(shows), body)}${card('What you can do now', forms)}`,
  };
}

/** Handles its form. @returns undefined if there is no such form */
export async function changeFirm(visit: ConsoleVisit, name: string, id: string) {
  const [, changes] = firmPages[name] ?? [];
  if (changes === undefined || changes !== id) return undefined;
  const action = commandOf(operationOf(changes));
  const body = await enteredValues(visit, action.inputs, undefined, new Map());
  const title = action.label;
  const from = `/${name}`;
  return perform(visit, action, { input: { body }, title, from, names: [title], next: () => from });
}

/** What an operation reads about a row, such as the statement of a client: a page, or a file if its format is one. */
export async function readPage(visit: ConsoleVisit, type: string, id: string, name: string, part?: string) {
  const list = dataLists.get(type);
  const read =
    list && readsOf(list).find((one) => one.name === name && (one.parameter === undefined) === (part === undefined));
  if (read === undefined) return undefined;
  const { operation, parameter = '' } = read;
  const parameters = schemasOf(operation).query.filter((one) => !/^(page(Size)?|fields|with)$/.test(one.name));
  const entered = await Promise.all(parameters.map(async (one) => [one.name, await enteredIn(visit, one)] as const));
  const query = Object.fromEntries(entered);
  const own = `${type.charAt(0).toLowerCase()}${type.slice(1)}Id`;
  const path = { id, [own]: id, [parameter]: part ?? '' };
  const body: unknown = await callOperation(visit, operation, { path, query });
  if (body instanceof CsvFile || body instanceof ResponseFile) return fileResult(body);
  const { page: _page, pageSize: _pageSize, ...row }: ShownRow = Object(body);
  const used = Object.fromEntries(entered.map(([key, value]) => [key, value ?? row[key]]));
  const at = `/data/${type}/${id}/${name}`;
  const url = (changed: object) => urlWith(`${visit.base}${at}`, { ...used, cursor: undefined, ...changed });
  const next = nextPage(row);
  const formats = parameters.find((one) => one.name === 'format')?.schema.enum?.slice(1) ?? [];
  const inputs = parameters.flatMap(({ name: path, schema }) =>
    ['format', 'cursor', 'includeTotal'].includes(path) ? [] : [{ path, schema }],
  );
  const links = formats.map(
    (format) => html`<a class="button plain" href="${url({ format })}">As ${valueInWords(String(format))}</a>`,
  );
  return {
    title: actionInWords(operation.id),
    lead: html`<a href="${visit.base}/data/${type}/${id}">Back to the ${typeInWords(type).toLowerCase()}</a>`,
    body: html`${inputs.length > 0 && (await queryForm(visit, at, used, inputs))}${await responseDetails(visit, operation, row)}
<div class="row">${links}</div>${pageLinks(query.cursor && url({}), next && url({ cursor: next }))}`,
  };
}

/** What is entered for a parameter; a period begins three months ago by default. */
async function enteredIn(visit: ConsoleVisit, { name, required, schema }: QueryParameter) {
  const text = visit.query.get(name)?.trim() || undefined;
  if (text !== undefined || !required || schema.format !== 'date') return text;
  return Temporal.PlainDate.from(await todayOf(visit))
    .with({ day: 1 })
    .subtract({ months: 2 })
    .toString();
}

async function responseDetails(visit: ConsoleVisit, operation: Operation, body: ShownRow): Promise<HtmlContent> {
  const properties = propertiesOf(schemasOf(operation).response);
  const view = { visit, names: await namesIn(visit, [body], properties) };
  return [balances(body, properties), fieldCards(view, 'Details', body, properties)];
}

/** The content of a document: a PDF is shown, also beside the row that it is of; anything else is only downloaded. */
export async function fileContent(visit: ConsoleVisit, id: string): Promise<BytesResult> {
  const { exchange, service, tenant } = visit;
  const row = await call(visit, 'getFile', { path: { id }, query: { includeDownloadUrl: 'true' } });
  const result = await contentResult(contentOf(service, tenant, row), exchange);
  if (row.mimeType !== 'application/pdf') return result;
  // Viewers of browsers are pages of their own, which other policies keep from showing it.
  const shownHere = { 'Content-Security-Policy': `frame-ancestors 'self'`, 'X-Frame-Options': 'SAMEORIGIN' };
  const disposition = contentDisposition(row.fileName, { type: 'inline' });
  return { ...result, headers: { ...result.headers, ...shownHere, 'Content-Disposition': disposition } };
}

/** A row as a document in each format of the contract, or what it lacks for one; false if it has none yet. */
export async function documentsCard(visit: ConsoleVisit, list: DataList, id: string): Promise<HtmlContent> {
  const operation = readsOf(list).find(({ name }) => name === 'documents')?.operation;
  if (operation === undefined || !mayCall(operation, visit.caller.roles)) return false;
  const read = callOperation(visit, operation, { path: { id, format: 'json' } });
  const body = await read.catch((error: unknown) => {
    if (error instanceof Rejection && error.code === 'INVALID_STATE') return {};
    throw error;
  });
  const { formats = [] }: { formats?: { format: string; missing: { detail: string }[] }[] } = body;
  const url = `${visit.base}/data/${list.type}/${encodeURIComponent(id)}/documents`;
  const rows = formats.map(({ format, missing }) => {
    const name = valueInWords(format);
    const sentences = missing.map(({ detail }) => html`<li>${sentenceInWords(detail)}</li>`);
    return missing.length === 0
      ? [html`<a href="${url}/${format}">${name}</a>`, '']
      : [name, html`<ul class="plain">${sentences}</ul>`];
  });
  return rows.length > 0 && card('Document', table('Document', ['Format', 'What it lacks'], rows));
}
