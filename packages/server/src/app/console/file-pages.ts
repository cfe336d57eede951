import { Rejection } from '../../contract/rejection.ts';
import { contentOf } from '../../modules/files/index.ts';
import { contentResult } from '../../wire/content.ts';
import type { BytesResult, PageResult } from '../../wire/result.ts';
import { shown, withHeaders } from './results.ts';
import { type ConsoleVisit, call } from './visit.ts';

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
