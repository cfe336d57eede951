import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Rejection } from '../../contract/rejection.ts';
import type { Service } from '../../entity/service.ts';
import { transact } from '../../entity/transact.ts';
import { databaseClock } from '../../platform/database-clock.ts';
import type { Exchange } from '../../wire/exchange.ts';
import { dataHeaders } from '../../wire/pages.ts';
import type { Route } from '../../wire/route.ts';
import { type Download, readDownload } from './download-url.ts';
import { file } from './file.ts';
import { checkPending, storeUpload } from './store-upload.ts';

const pattern = /^\/upload\/(?<fileId>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
export const maxUploadBytes = 100 * 2 ** 20;
/** Of a tenant at the same time, so that none fills the disk for temporary files. */
const maxUploads = 4;

/** Receives the content of a file without a token, from everybody with an unmodified URL from `createFile`. */
export function uploadRoute(service: Service): Route {
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
      exchange.hold(placeForUpload(tenantName));
      return { kind: 'json', status: 200, body: await received(service, exchange, upload) };
    },
  };
}

const underWay = new Map<string, number>();

/** Takes a place for an upload of a tenant. @throws Rejection `CONCURRENCY_LIMITED` */
export function placeForUpload(tenantName: string): { end(): void } {
  const count = underWay.get(tenantName) ?? 0;
  if (count >= maxUploads) throw new Rejection('CONCURRENCY_LIMITED', 'Too many uploads at the same time. Send fewer.');
  underWay.set(tenantName, count + 1);
  const end = () => {
    const left = (underWay.get(tenantName) ?? 1) - 1;
    if (left === 0) underWay.delete(tenantName);
    else underWay.set(tenantName, left);
  };
  return { end };
}

/** @throws Rejection if the file does not wait for its content, or the content is too large. */
async function received(service: Service, exchange: Exchange, { tenantName, fileId, expires }: Download) {
  const { store, vault, directory, admission } = service;
  const tenant = await directory.tenant(tenantName);
  if (tenant === undefined) throw new Rejection('NOT_FOUND', 'The file is no longer available.');
  exchange.tenant = tenantName;
  const origin = { tenant, caller: undefined, operation: 'uploadContent', requestId: exchange.id, vault };
  const { fileName } = await transact(store, origin, (unit) =>
    unit.plan((plan) => {
      checkExpiry(expires, Date.parse(plan.now));
      const row = plan.get(file, fileId);
      checkPending(row?.status);
      return { fileName: row?.fileName ?? '' };
    }),
  );
  const path = join(await exchange.temporaryFolder(), 'content');
  await exchange.writeBody(createWriteStream(path, { mode: 0o600 }), maxUploadBytes);
  await admission.admit(exchange, tenantName, exchange.address);
  return storeUpload(service, origin, fileId, { path, fileName });
}

/** @param now in milliseconds since 1970. */
function checkExpiry(expires: number, now: number): void {
  if (expires * 1000 <= now) throw new Rejection('FORBIDDEN', 'The URL has expired. Create the file again.');
}
