import { create as contentDisposition } from 'content-disposition';
import { Rejection } from '../../contract/rejection.ts';
import type { Row } from '../../entity/row.ts';
import type { Service } from '../../entity/service.ts';
import type { Tenant } from '../../platform/auth/caller.ts';
import { databaseClock } from '../../platform/database-clock.ts';
import { ContentMissing } from '../../platform/storage/storage.ts';
import { timeOf } from '../../platform/store/session.ts';
import { findById } from '../../query/read.ts';
import { type Content, contentResult } from '../../wire/content.ts';
import type { Exchange } from '../../wire/exchange.ts';
import { documentHeaders } from '../../wire/pages.ts';
import type { Route } from '../../wire/route.ts';
import { readDownload } from './download-url.ts';
import { file } from './file.ts';

/** Only matches UUIDs, so that no other text is processed. */
const pattern = /^\/content\/(?<fileId>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Browsers must download content of any type, and never execute it. */
const headers = { ...documentHeaders, 'Content-Security-Policy': `default-src 'none'; sandbox` };

/** Serves the content of a file without a token, to everybody with an unmodified URL from `getFile`. */
export function contentRoute(service: Service): Route {
  return {
    name: 'downloadFile',
    path: '/content/{fileId}',
    pattern,
    methods: ['GET', 'HEAD'],
    headers,
    handle: async (exchange, { fileId = '' }) => contentResult(await findContent(service, exchange, fileId), exchange),
  };
}

/** @throws Rejection if the URL is invalid or has expired, or the file can no longer be downloaded. */
async function findContent(
  { store, storage, vault, directory, admission, log }: Service,
  exchange: Exchange,
  fileId: string,
): Promise<Content> {
  const download = readDownload('content', { vault }, fileId, exchange.query);
  if (download === undefined)
    throw new Rejection('FORBIDDEN', 'The URL was modified. Use it unchanged, as getFile returned it.');
  const expired = new Rejection('FORBIDDEN', 'The URL has expired. Request a new one from getFile.');
  // No clock of a tenant is behind the real one.
  if (download.expires * 1000 <= databaseClock.now()) throw expired;
  const tenant = await directory.tenant(download.tenantName);
  if (tenant === undefined) throw gone();
  exchange.tenant = tenant.name;
  const admitted = await admission.admit(exchange, tenant.name, exchange.address);
  const reader = { tenantId: tenant.id, holds: () => true };
  const [row, now] = await store.read(tenant.id, async (session) => {
    const found = await findById(session, reader, file, download.fileId);
    return [found, timeOf(session)] as const;
  });
  admitted.end();
  if (download.expires * 1000 <= now) throw expired;
  return contentOf({ storage, log }, tenant, row);
}

/**
 * The content of a file, for whoever may read it.
 *
 * @throws Rejection `NOT_FOUND` if there is none, or it is no longer available
 */
export function contentOf(
  { storage, log }: Pick<Service, 'storage' | 'log'>,
  tenant: Tenant,
  row: Row<'File'> | undefined,
): Content {
  const { sha256 } = row ?? {};
  if (row?.status !== 'AVAILABLE' || sha256 === null || sha256 === undefined) throw gone();
  return {
    length: row.sizeBytes,
    tag: `"${sha256}"`,
    changedAt: new Date(row.createdAt),
    // The type as it is stored: without a charset, which nobody knows.
    headers: { 'Content-Type': row.mimeType, 'Content-Disposition': contentDisposition(row.fileName) },
    open: (range) =>
      storage.open(tenant.id, sha256, range).catch((error: unknown) => {
        if (!(error instanceof ContentMissing)) throw error;
        // The operator restored the database without the content, or lost it.
        log.error({ err: error, file: row.id }, 'Content of a file is missing in storage.');
        throw new Rejection('NOT_FOUND', 'The content of the file is missing.');
      }),
  };
}

function gone(): Rejection {
  return new Rejection('NOT_FOUND', 'The file is no longer available.');
}
