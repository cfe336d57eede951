import { hasRole } from '@financial-automation/spec/roles';
import { Rejection } from '../../contract/rejection.ts';
import { contentOf } from '../../modules/files/index.ts';
import { contentResult } from '../../wire/content.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import type { BytesResult } from '../../wire/result.ts';
import { readsOf } from './actions.ts';
import type { DataList } from './catalog.ts';
import { card, table } from './layout.ts';
import { type ConsoleVisit, call, callOperation } from './visit.ts';
import { sentenceInWords, valueInWords } from './words.ts';

/** The content of a document: a PDF is shown, also beside the row that it is of; anything else is only downloaded. */
export async function fileContent(visit: ConsoleVisit, id: string): Promise<BytesResult> {
  const { exchange, service, tenant } = visit;
  const row = await call(visit, 'getFile', { path: { id }, query: { includeDownloadUrl: 'true' } });
  const result = await contentResult(contentOf(service, tenant, row), exchange);
  if (row.mimeType !== 'application/pdf') return result;
  // Viewers of browsers are pages of their own, which other policies keep from showing it.
  const shownHere = { 'Content-Security-Policy': `frame-ancestors 'self'`, 'X-Frame-Options': 'SAMEORIGIN' };
  return { ...result, headers: { ...result.headers, ...shownHere, 'Content-Disposition': 'inline' } };
}

interface Formats {
  readonly formats?: readonly { readonly format: string; readonly missing: readonly { readonly detail: string }[] }[];
}

/** A row as a document in each format of the contract, or what it lacks for one; false if it has none yet. */
export async function documentsCard(visit: ConsoleVisit, list: DataList, id: string): Promise<HtmlContent> {
  const operation = readsOf(list).find(({ name }) => name === 'documents')?.operation;
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
    const sentences = missing.map(({ detail }) => html`<li>${sentenceInWords(detail)}</li>`);
    return missing.length === 0
      ? [html`<a href="${url}/${format}">${name}</a>`, '']
      : [name, html`<ul class="links">${sentences}</ul>`];
  });
  return rows.length > 0 && card('Document', table('Document', ['Format', 'What it lacks'], rows));
}
