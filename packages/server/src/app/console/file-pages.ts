import { hasRole } from '@financial-automation/spec/roles';
import { Rejection } from '../../contract/rejection.ts';
import { ResponseFile } from '../../contract/response-file.ts';
import { contentOf } from '../../modules/files/index.ts';
import { contentResult } from '../../wire/content.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { type BytesResult, fileResult, type PageResult } from '../../wire/result.ts';
import { documentOf } from './actions.ts';
import { type DataList, dataLists } from './catalog.ts';
import { card, table } from './layout.ts';
import { shown, withHeaders } from './results.ts';
import { type ConsoleVisit, call, callOperation } from './visit.ts';
import { valueInWords } from './words.ts';

function fileWithUrl(visit: ConsoleVisit, id: string) {
  return call(visit, 'getFile', { path: { id }, query: { includeDownloadUrl: 'true' } });
}

/** Leads to where the content of a file is downloaded. */
export async function fileContent(visit: ConsoleVisit, id: string): Promise<PageResult> {
  const { downloadUrl } = await fileWithUrl(visit, id);
  if (typeof downloadUrl !== 'string') throw new Rejection('INVALID_STATE', 'The document has no content yet.');
  return withHeaders(shown('', 303), { Location: downloadUrl });
}

/** A PDF document, to be shown beside the row that it is of. Content of any other type is only downloaded. */
export async function fileDocument(visit: ConsoleVisit, id: string): Promise<BytesResult> {
  const { exchange, service, tenant } = visit;
  const row = await fileWithUrl(visit, id);
  if (row.mimeType !== 'application/pdf') throw new Rejection('INVALID_STATE', 'This document can only be downloaded.');
  const { headers, ...result } = await contentResult(contentOf(service, tenant, row), exchange);
  // Viewers of browsers are pages of their own, which other policies keep from showing it.
  const shownHere = { 'Content-Security-Policy': `frame-ancestors 'self'`, 'X-Frame-Options': 'SAMEORIGIN' };
  return { ...result, headers: { ...headers, ...shownHere, 'Content-Disposition': 'inline' } };
}

interface Formats {
  readonly formats?: readonly { readonly format: string; readonly missing: readonly { readonly detail: string }[] }[];
}

/** A row as a document in each format of the contract, or what it lacks for one; false if it has none yet. */
export async function documentsCard(visit: ConsoleVisit, list: DataList, id: string): Promise<HtmlContent> {
  const operation = documentOf(list);
  if (operation === undefined || !hasRole(visit.caller.roles, operation.roles)) return false;
  const { formats = [] }: Formats = await callOperation(visit, operation, { path: { id, format: 'json' } }).catch(
    (error: unknown) => {
      if (error instanceof Rejection && error.code === 'INVALID_STATE') return {};
      throw error;
    },
  );
  const url = `${visit.frame.base}/data/${list.type}/${encodeURIComponent(id)}/documents`;
  const rows = formats.map(({ format, missing }) => {
    const name = valueInWords(format);
    const sentences = missing.map(({ detail }) => html`<li>${detail}</li>`);
    return missing.length === 0
      ? [html`<a href="${url}/${format}">${name}</a>`, '']
      : [name, html`<ul class="links">${sentences}</ul>`];
  });
  return rows.length > 0 && card('Document', table('Document', ['Format', 'What it lacks'], rows));
}

/** A row as a document in a format. */
export async function rowDocument(visit: ConsoleVisit, type: string, id: string, format: string) {
  const list = dataLists.get(type);
  const operation = list && documentOf(list);
  if (operation === undefined) return undefined;
  const body: unknown = await callOperation(visit, operation, { path: { id, format } });
  if (!(body instanceof ResponseFile)) return undefined;
  const extension = body.type.split('/').at(-1);
  const name = `${id}-${format}.${extension}`;
  return fileResult(body, 200, { 'Content-Disposition': `attachment; filename="${name}"` });
}
