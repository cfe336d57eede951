import { pipeline } from 'node:stream/promises';
import { create as contentDisposition } from 'content-disposition';
import type { Request, RequestHandler, Response } from 'express';
import { v7 as uuidv7 } from 'uuid';
import { toProblem } from '../../failure.ts';
import { readRange } from '../../http/byte-range.ts';
import { hasStrongTag, hasTag } from '../../http/headers.ts';
import { dataHeaders, documentHeaders } from '../../http/pages.ts';
import { Problem, problemDocument } from '../../http/problem.ts';
import { findById } from '../../query/read.ts';
import type { Service } from '../../service.ts';
import { ContentMissing } from '../../storage/storage.ts';
import { readDownload } from './download-url.ts';
import { file } from './file.ts';

/** Browsers must download content of any type, and never execute it. */
const contentHeaders = { ...documentHeaders, ...dataHeaders, 'Content-Security-Policy': `default-src 'none'; sandbox` };

/** Only matches UUIDs, so that no other text is processed. */
export const contentPath = /^\/content\/(?<fileId>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Serves the content of a file without a token, to everybody with an unmodified URL from `getFile`. */
export function contentRoute(service: Service): RequestHandler {
  return async (request, response) => {
    response.set(contentHeaders);
    try {
      await sendContent(service, request, response);
    } catch (error) {
      // The caller disconnected or the storage failed: a partial response must not look complete.
      if (response.headersSent) return void response.destroy();
      const problem = toProblem(error, service.log);
      response
        .status(problem.status)
        .set({ ...problem.headers, 'Content-Type': 'application/problem+json; charset=utf-8' })
        .removeHeader('Content-Disposition');
      for (const name of ['Content-Length', 'Content-Range', 'ETag', 'Last-Modified']) response.removeHeader(name);
      response.end(JSON.stringify(problemDocument(problem, uuidv7())));
    }
  };
}

async function sendContent(service: Service, request: Request, response: Response): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD')
    throw new Problem('METHOD_NOT_ALLOWED', 'This path supports only GET.', { headers: { Allow: 'GET, HEAD' } });
  const { tenantId, row } = await findFile(service, request);
  const { sha256, sizeBytes, mimeType, fileName } = row;
  const tag = `"${sha256}"`;
  response.set({
    ETag: tag,
    'Accept-Ranges': 'bytes',
    'Last-Modified': new Date(row.createdAt).toUTCString(),
    'Content-Disposition': contentDisposition(fileName),
  });
  // Not `set`, which would add a charset to the stored content type.
  response.setHeader('Content-Type', mimeType);
  const ifMatch = request.get('if-match');
  if (ifMatch !== undefined && !hasStrongTag(ifMatch, tag))
    throw new Problem('PRECONDITION_FAILED', 'The content has another ETag.');
  if (hasTag(request.get('if-none-match'), tag)) return void response.status(304).end();
  const ifRange = request.get('if-range');
  const range =
    request.method === 'HEAD' || (ifRange !== undefined && ifRange !== tag)
      ? undefined
      : readRange(request.get('range'), sizeBytes);
  if (range === 'unsatisfiable') {
    response.removeHeader('Content-Type');
    return void response.status(416).set('Content-Range', `bytes */${sizeBytes}`).end();
  }
  const length = range === undefined ? sizeBytes : range.end - range.start + 1;
  response.set('Content-Length', String(length));
  if (range !== undefined) response.status(206).set('Content-Range', `bytes ${range.start}-${range.end}/${sizeBytes}`);
  if (request.method === 'HEAD' || length === 0) return void response.end();
  const content = await service.storage.open(tenantId, sha256, range).catch((error: unknown) => {
    if (!(error instanceof ContentMissing)) throw error;
    // The operator restored the database without the content, or lost it.
    service.log.error({ err: error, file: row.id }, 'The content of a file is missing in the storage.');
    throw new Problem('NOT_FOUND', 'The content of the file is missing.');
  });
  await pipeline(content, response);
}

/** @throws Problem if the URL is invalid or has expired, or the file can no longer be downloaded. */
async function findFile({ store, vault, directory }: Service, request: Request) {
  const download = readDownload({ vault }, String(request.params.fileId), request.query);
  if (download === undefined)
    throw new Problem('FORBIDDEN', 'The URL was modified. Use it unchanged, as getFile returned it.');
  if (download.expires * 1000 <= Date.now())
    throw new Problem('FORBIDDEN', 'The URL has expired. Request a new one from getFile.');
  const tenant = await directory.tenant(download.tenantName);
  const reader = { tenantId: tenant?.id ?? 0, holds: () => true };
  const row = tenant && (await store.read(tenant.id, (session) => findById(session, reader, file, download.fileId)));
  if (row?.status !== 'AVAILABLE' || row.sha256 === null)
    throw new Problem('NOT_FOUND', 'The file is no longer available.');
  return { tenantId: reader.tenantId, row: { ...row, sha256: row.sha256 } };
}
