import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { components } from '@financial-automation/spec';
import { describe, expect, test } from 'vitest';
import { filesOf } from '../../../test/modules/files.ts';
import { recordsOf } from '../../../test/modules/records.ts';
import { failureOf, firmOf, unknownId } from '../../../test/modules/staff.ts';
import { sharedService } from '../../../test/service.ts';

type File = components['schemas']['FileMetadata'];

const service = await sharedService();
const { call, signIn, addTenant, address } = service;
const { client, job, trace } = firmOf(service);
const { update, remove } = recordsOf(service);
const addFile = filesOf(service);
const elsewhere = await addTenant('elsewhere');
const stranger = await signIn({ roles: ['API_ADMIN'], tenant: elsewhere });

const getFile = (id: string, query = '') => call<File>('GET', `/api/v1/files/${id}${query}`);
const idsOf = async (query: string) => {
  const { status, body } = await call<{ data: File[] }>('GET', `/api/v1/files?${query}`);
  expect(status).toBe(200);
  return body.data.map(({ id }) => id);
};
/** Downloads the content at a URL of `getFile`, which contains the public address of the service. */
const download = (url: string, init?: RequestInit) => fetch(url.replace('http://localhost:3000', address), init);
const urlOf = async (id: string) => {
  const { body } = await getFile(id, '?includeDownloadUrl=true');
  if (body.downloadUrl === null) throw new Error('There is no URL.');
  return body.downloadUrl;
};

describe('getFile', () => {
  test('returns the metadata, and an ETag', async () => {
    const clientId = await client();
    const { id } = await addFile({ clientId, folderPath: '/Letters', taxYear: 2026 });
    const { status, headers, body } = await getFile(id);
    expect(status).toBe(200);
    expect(headers.get('etag')).toMatch(/-1"$/);
    expect(body).toMatchObject({
      id,
      status: 'AVAILABLE',
      source: 'DELIVERABLE',
      sizeBytes: 21,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      clientId,
      uploadedByType: 'SYSTEM',
      uploadedById: null,
      folderPath: '/Letters',
      taxYear: 2026,
      downloadUrl: null,
      downloadUrlExpiresAt: null,
    });
  });

  test('includeDownloadUrl › requires FILE_DL', async () => {
    const { id } = await addFile();
    const reader = await signIn({ roles: ['FILE_R'] });
    const path = `/api/v1/files/${id}?includeDownloadUrl=true`;
    expect(await failureOf(reader.call('GET', path))).toEqual([403, 'FORBIDDEN', '/includeDownloadUrl']);
    expect((await reader.call('GET', `/api/v1/files/${id}`)).status).toBe(200);
    const downloader = await signIn({ roles: ['FILE_R', 'FILE_DL'] });
    const { body } = await downloader.call<File>('GET', path);
    expect(body.downloadUrl).toContain(`/content/${id}?`);
    const left = Date.parse(body.downloadUrlExpiresAt ?? '') - Date.now();
    expect(left).toBeGreaterThan(13 * 60_000);
    expect(left).toBeLessThanOrEqual(15 * 60_000);
  });

  test('includeDownloadUrl › returns null if the file is not available', async () => {
    const { id } = await addFile({ content: null });
    const { status, body } = await getFile(id, '?includeDownloadUrl=true');
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'REJECTED', sha256: null, downloadUrl: null, downloadUrlExpiresAt: null });
  });

  test('returns not found for unknown files and those of another tenant', async () => {
    const { id } = await addFile();
    expect(await failureOf(getFile(unknownId))).toEqual([404, 'NOT_FOUND']);
    expect(await failureOf(stranger.call('GET', `/api/v1/files/${id}`))).toEqual([404, 'NOT_FOUND']);
    expect(await failureOf(getFile('not-an-id'))).toEqual([400, 'VALIDATION_ERROR', '/id']);
    const powerless = await signIn({ roles: ['CLNT_R'] });
    expect(await failureOf(powerless.call('GET', `/api/v1/files/${id}`))).toEqual([403, 'FORBIDDEN']);
  });
});

describe('listFiles', () => {
  test('filters by each property, and by all combined', async () => {
    const clientId = await client();
    const letter = await addFile({ clientId, fileName: 'Bank Statements 100%.pdf' });
    const other = await addFile({ clientId, fileName: 'Straße_1.pdf', source: 'CLIENT_REQUEST' });
    const rejected = await addFile({ clientId, content: null, source: 'REFERENCE_FILE' });
    const ofClient = `clientId=${clientId}`;
    expect(await idsOf(ofClient)).toEqual([letter.id, other.id, rejected.id]);
    expect(await idsOf(`${ofClient}&source=DELIVERABLE`)).toEqual([letter.id]);
    expect(await idsOf(`${ofClient}&source=DELIVERABLE&source=CLIENT_REQUEST`)).toEqual([letter.id, other.id]);
    expect(await idsOf(`${ofClient}&status=REJECTED`)).toEqual([rejected.id]);
    expect(await idsOf(`${ofClient}&fileName=bank%20state`)).toEqual([letter.id]);
    expect(await idsOf(`${ofClient}&fileName=0%25.`)).toEqual([letter.id]);
    expect(await idsOf(`${ofClient}&fileName=STRASSE`)).toEqual([]);
    expect(await idsOf(`${ofClient}&fileName=e_1`)).toEqual([other.id]);
    expect(await idsOf(`${ofClient}&fileName=%5C`)).toEqual([]);
    const later = Temporal.Instant.from(letter.createdAt).add({ milliseconds: 1 });
    expect(await idsOf(`${ofClient}&createdAfter=${letter.createdAt}`)).toContain(letter.id);
    expect(await idsOf(`${ofClient}&createdAfter=${later}`)).not.toContain(letter.id);
    expect(await idsOf(`${ofClient}&createdBefore=${letter.createdAt}`)).not.toContain(letter.id);
    expect(await idsOf(`jobId=${await job({ clientId })}`)).toEqual([]);
    expect(await idsOf(`engagementId=${unknownId}`)).toEqual([]);
    const page = await call<{ data: File[]; hasMore: boolean; total: number; nextCursor: string | null }>(
      'GET',
      `/api/v1/files?${ofClient}&page=1&pageSize=2&includeTotal=true`,
    );
    expect(page.body).toMatchObject({ page: 1, pageSize: 2, hasMore: false, total: 3, nextCursor: null });
    expect(page.body.data.map(({ id }) => id)).toEqual([rejected.id]);
  });

  test('returns nothing of another tenant', async () => {
    const { id } = await addFile();
    const { body } = await stranger.call<{ data: File[] }>('GET', '/api/v1/files');
    expect(body.data.map((row) => row.id)).not.toContain(id);
  });
});

describe('the records of files', () => {
  test('archive and delete, in that order', async () => {
    const { id } = await addFile();
    const [early] = await remove([{ type: 'File', systemRef: id }]);
    expect(early).toMatchObject({ status: 'FAILED', error: { code: 'INVALID_STATE' } });
    const [archived] = await update([{ type: 'File', systemRef: id, attributes: { status: 'ARCHIVED' } }]);
    expect(archived).toMatchObject({ status: 'UPDATED', attributes: { status: 'ARCHIVED' } });
    const [deleted] = await remove([{ type: 'File', systemRef: id }]);
    expect(deleted).toMatchObject({ status: 'DELETED' });
    expect((await getFile(id)).body).toMatchObject({ status: 'DELETED', active: false });
    const { events } = await trace(id);
    expect(events.map(({ operation }) => operation)).toEqual(['CREATE', 'UPDATE', 'DELETE']);
  });

  test.each(['PENDING', 'SCANNING', 'REJECTED', 'DELETED'])('do not make an available file %s', async (status) => {
    const { id } = await addFile();
    const [item] = await update([{ type: 'File', systemRef: id, attributes: { status } }]);
    expect(item).toMatchObject({
      status: 'FAILED',
      error: { code: 'INVALID_STATE', pointer: '/records/0/attributes/status' },
    });
  });
});

describe('the content of a file', () => {
  const content = Buffer.from('0123456789');

  test('is sent completely, as a download that a browser does not execute', async () => {
    const { id, sha256 } = await addFile({ content, fileName: 'Brief für "Müller" 東京.html', mimeType: 'text/html' });
    const response = await download(await urlOf(id));
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(content);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html',
      'content-length': '10',
      'accept-ranges': 'bytes',
      etag: `"${sha256}"`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'no-store',
    });
    const disposition = response.headers.get('content-disposition') ?? '';
    expect(disposition).toMatch(/^attachment; filename="/);
    expect(decodeURIComponent(disposition.split("filename*=UTF-8''")[1] ?? '')).toBe('Brief für "Müller" 東京.html');
  });

  test('is sent in ranges, unless it has changed', async () => {
    const { id, sha256 } = await addFile({ content });
    const url = await urlOf(id);
    const part = await download(url, { headers: { Range: 'bytes=2-4' } });
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([206, 'bytes 2-4/10', '234']);
    const last = await download(url, { headers: { Range: 'bytes=-3', 'If-Range': `"${sha256}"` } });
    expect([last.status, await last.text()]).toEqual([206, '789']);
    const changed = await download(url, { headers: { Range: 'bytes=-3', 'If-Range': '"other"' } });
    expect([changed.status, await changed.text()]).toEqual([200, '0123456789']);
    const beyond = await download(url, { headers: { Range: 'bytes=10-' } });
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */10']);
  });

  test('is not sent to a caller with the current ETag, or for HEAD', async () => {
    const { id, sha256 } = await addFile({ content });
    const url = await urlOf(id);
    expect((await download(url, { headers: { 'If-None-Match': `W/"x", "${sha256}"` } })).status).toBe(304);
    expect((await download(url, { headers: { 'If-Match': '"other"' } })).status).toBe(412);
    const head = await download(url, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '10', '']);
    const post = await download(url, { method: 'POST' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  test('can be empty', async () => {
    const { id } = await addFile({ content: Buffer.alloc(0) });
    const response = await download(await urlOf(id));
    expect([response.status, await response.text()]).toEqual([200, '']);
    expect((await download(await urlOf(id), { headers: { Range: 'bytes=0-' } })).status).toBe(416);
  });

  test('that is missing results in a problem without the headers of the content', async () => {
    const { id, sha256 } = await addFile({ content: Buffer.from('will be lost') });
    if (sha256 === null) throw new Error('The file has no content.');
    const url = await urlOf(id);
    const { config } = service.service;
    await rm(join(config.dataDir, 'files', String(service.tenant.id), sha256.slice(0, 2), sha256));
    const response = await download(url, { headers: { Range: 'bytes=2-4' } });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'NOT_FOUND', detail: 'The content of the file is missing.' });
    expect(response.headers.get('etag')).toBeNull();
  });

  test('requires the unmodified URL', async () => {
    const mine = await addFile({ content });
    const other = await addFile({ content });
    const foreign = await addFile({ content }, elsewhere);
    const url = await urlOf(mine.id);
    const changed = [
      url.replace(mine.id, other.id),
      url.replace(mine.id, foreign.id),
      url.replace('tenant=firm', 'tenant=elsewhere'),
      url.replace(mine.id, foreign.id).replace('tenant=firm', 'tenant=elsewhere'),
      url.replace(/expires=(\d+)/, (_, expires) => `expires=${Number(expires) + 1}`),
      url.replace(/signature=(.)/, (_, first) => `signature=${first === 'A' ? 'B' : 'A'}`),
      url.replace(/&signature=.*/, ''),
      `${url}&tenant=firm`,
    ];
    for (const one of changed) {
      const response = await download(one);
      expect([one, response.status]).toEqual([one, 403]);
      expect(response.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
      expect(response.headers.get('content-disposition')).toBeNull();
    }
    expect((await download(url)).status).toBe(200);
  });

  test('requires a URL that has not expired', async () => {
    const { id } = await addFile({ content });
    const [tenant, expires] = ['firm', String(Math.floor(Date.now() / 1000) - 1)];
    const signature = service.service.vault.sign('file-download', `${tenant}/${id}/${expires}`);
    const response = await download(`${address}/content/${id}?${new URLSearchParams({ tenant, expires, signature })}`);
    expect([response.status, await response.json()]).toEqual([
      403,
      expect.objectContaining({ code: 'FORBIDDEN', detail: 'The URL has expired. Request a new one from getFile.' }),
    ]);
  });

  test('is not available after the file is deleted, even if the URL is still valid', async () => {
    const { id } = await addFile({ content });
    const url = await urlOf(id);
    await update([{ type: 'File', systemRef: id, attributes: { status: 'ARCHIVED' } }]);
    expect((await download(url)).status).toBe(404);
  });

  test.each(['..%2F..%2Fmaster.key', '%zz', `${unknownId}/..`, unknownId.toUpperCase()])(
    'is not found at /content/%s',
    async (path) => {
      expect((await fetch(`${address}/content/${path}`)).status).toBe(404);
    },
  );
});
