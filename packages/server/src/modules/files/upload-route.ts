import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Rejection } from '../../contract/rejection.ts';
import type { Service } from '../../entity/service.ts';
import { transact } from '../../entity/transact.ts';
import { databaseClock } from '../../platform/database-clock.ts';
import type { Exchange } from '../../wire/exchange.ts';
import { dataHeaders } from '../../wire/pages.ts';
import type { Route } from '../../wire/route.ts';
import { checkContentType } from './content-type.ts';
import { type Download, readDownload } from './download-url.ts';
import { file, receiveContent } from './file.ts';

const pattern = /^\/upload\/(?<fileId>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
export const maxUploadBytes = 100 * 2 ** 20;
/** Of a tenant at the same time, so that none fills the disk for temporary files. */
const maxUploads = 4;

/** Receives the content of a file without a token, from everybody with an unmodified URL from `createFile`. */
export function uploadRoute(service: Service): Route {
  const underWay = new Map<string, number>();
  return {
    name: 'uploadContent',
    path: '/upload/{fileId}',
    pattern,
    methods: ['PUT'],
    headers: dataHeaders,
    async handle(exchange, { fileId = '' }) {
      const upload = readDownload('upload', service, fileId, exchange.query);
      if (upload === undefined)
        throw new Rejection('FORBIDDEN', 'The URL was modified. Use it unchanged, as createFile returned it.');
      // No clock of a tenant is behind the real one.
      checkExpiry(upload.expires, databaseClock.now());
      const { tenantName } = upload;
      const count = underWay.get(tenantName) ?? 0;
      if (count >= maxUploads)
        throw new Rejection('CONCURRENCY_LIMITED', 'Too many uploads at the same time. Send fewer.');
      underWay.set(tenantName, count + 1);
      try {
        return { kind: 'json', status: 200, body: await received(service, exchange, upload) };
      } finally {
        const left = (underWay.get(tenantName) ?? 1) - 1;
        if (left === 0) underWay.delete(tenantName);
        else underWay.set(tenantName, left);
      }
    },
  };
}

/** @throws Rejection if the file does not wait for its content, or the content is too large. */
async function received(service: Service, exchange: Exchange, { tenantName, fileId, expires }: Download) {
  const { store, storage, vault, directory, admission } = service;
  const tenant = await directory.tenant(tenantName);
  if (tenant === undefined) throw new Rejection('NOT_FOUND', 'The file is no longer available.');
  exchange.tenant = tenantName;
  const origin = { tenant, caller: undefined, operation: 'uploadContent', requestId: exchange.id, vault };
  const check = (status: string | undefined) => {
    if (status === 'PENDING') return;
    throw new Rejection('CONFLICT', 'The file does not wait for its content. Create another file.');
  };
  const { fileName } = await transact(store, origin, (unit) =>
    unit.plan((plan) => {
      checkExpiry(expires, Date.parse(plan.now));
      const row = plan.get(file, fileId);
      check(row?.status);
      return { fileName: row?.fileName ?? '' };
    }),
  );
  const folder = await mkdtemp(join(tmpdir(), 'upload-'));
  try {
    const path = join(folder, 'content');
    await exchange.saveBody(path, maxUploadBytes);
    await admission.admit(exchange, tenantName, exchange.address);
    const { mimeType, reason } = await checkContentType(path, fileName);
    const content = await storage.put(tenant.id, { path });
    return await transact(store, origin, async (unit) => {
      await unit.plan((plan) => {
        check(plan.getForUpdate(file, fileId)?.status);
        receiveContent(plan, fileId, { ...content, mimeType }, reason === undefined);
      });
      const { id, status, sha256, sizeBytes } = await unit.storedRow(file, fileId);
      return { id, status, mimeType, sha256, sizeBytes, reason: reason ?? null };
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param now in milliseconds since 1970. */
function checkExpiry(expires: number, now: number): void {
  if (expires * 1000 <= now) throw new Rejection('FORBIDDEN', 'The URL has expired. Create the file again.');
}
