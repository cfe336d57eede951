import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { recordsOf } from '../../../test/modules/records.ts';
import { sharedService } from '../../../test/service.ts';

const service = await sharedService();
const { call, address, signIn } = service;
const records = recordsOf(service);
const newClient = async (name: string) => (await records.make('Client', { name })).id;

interface Upload {
  readonly file: { readonly id: string; readonly status: string; readonly metadata: object };
  readonly uploadUrl: string;
}
const create = (body: object) => call<Upload>('POST', '/api/v1/files', body);
/** The URL has the public address of the service. */
const put = (url: string, body: RequestInit['body'], init: RequestInit = {}) =>
  fetch(url.replace('http://localhost:3000', address), { method: 'PUT', body: body ?? null, ...init });
const get = async (id: string, query = '') =>
  (await call<Record<string, string>>('GET', `/api/v1/files/${id}${query}`)).body;

test('createFile › takes the content at its URL as it arrives, once, and the file can then be downloaded', async () => {
  const created = await create({ fileName: 'notes.txt', systemRef: 'dms-1', metadata: { period: '2026-09' } });
  expect(created).toMatchObject({
    status: 201,
    body: { file: { status: 'PENDING', metadata: { period: '2026-09' } } },
  });
  const { file, uploadUrl } = created.body;
  expect(created.headers.get('location')).toBe(`/api/v1/files/${file.id}`);
  // Without a length, in pieces.
  const text = 'Größe 1\n'.repeat(50_000);
  const sent = await put(
    uploadUrl,
    Readable.toWeb(Readable.from([text.slice(0, 7), text.slice(7)])) as ReadableStream,
    {
      duplex: 'half',
    } as RequestInit,
  );
  const sha256 = createHash('sha256').update(text).digest('hex');
  expect([sent.status, await sent.json()]).toEqual([
    200,
    {
      id: file.id,
      status: 'AVAILABLE',
      mimeType: 'text/plain',
      sha256,
      sizeBytes: Buffer.byteLength(text),
      reason: null,
    },
  ]);
  const { downloadUrl = '' } = await get(file.id, '?includeDownloadUrl=true');
  expect(await (await fetch(downloadUrl.replace('http://localhost:3000', address))).text()).toBe(text);
  expect((await put(uploadUrl, 'again')).status).toBe(409);
});

test('createFile › rejects programs and content of another type than the name suggests, which cannot be downloaded', async () => {
  for (const [fileName, content] of [
    ['statement.pdf', 'MZ, not a PDF'],
    ['run.exe', 'MZ'],
    ['Invoice.pdf.pif', 'x'],
    ['Statement.url', '[InternetShortcut]'],
    ['run.EXE. ', 'x'],
  ] as const) {
    const { file, uploadUrl } = (await create({ fileName })).body;
    expect(await (await put(uploadUrl, content)).json()).toMatchObject({
      status: 'REJECTED',
      reason: expect.any(String),
    });
    expect(await get(file.id, '?includeDownloadUrl=true')).toMatchObject({ status: 'REJECTED', downloadUrl: null });
  }
});

test('createFile › takes no other URL, no compressed content and nothing that is too large', async () => {
  const { file, uploadUrl } = (await create({ fileName: 'a.txt' })).body;
  expect(
    (
      await put(
        uploadUrl.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
        'x',
      )
    ).status,
  ).toBe(403);
  expect((await put(uploadUrl.replace('/upload/', '/content/'), 'x')).status).toBe(405);
  expect((await put(uploadUrl, 'x', { headers: { 'Content-Encoding': 'gzip' } })).status).toBe(415);
  const large = async function* () {
    for (let count = 0; count <= 101; count++) yield Buffer.alloc(2 ** 20);
  };
  const sent = put(
    uploadUrl,
    Readable.toWeb(Readable.from(large())) as ReadableStream,
    { duplex: 'half' } as RequestInit,
  );
  expect(
    await sent.then(
      ({ status }) => status,
      () => 413,
    ),
  ).toBe(413);
  expect(await get(file.id)).toMatchObject({ status: 'PENDING', sha256: null });
  const { downloadUrl } = await get(file.id, '?includeDownloadUrl=true');
  expect(downloadUrl).toBeNull();
});

test('createFile › rejects a name that is a path, or has control characters', async () => {
  for (const fileName of ['../a.txt', '..\\a.txt', '/a.txt', '..', 'a\r\nb.txt'])
    expect(await create({ fileName })).toMatchObject({ status: 400, body: { errors: [{ pointer: '/fileName' }] } });
  for (const fileName of ['.profile', 'Q3 – “draft” 100%.txt'])
    expect(await create({ fileName })).toMatchObject({ status: 201, body: { file: { fileName } } });
});

test('createFile › requires the role that writes files, and references that exist', async () => {
  const reader = await signIn({ roles: ['FILE_R'] });
  expect(await reader.call('POST', '/api/v1/files', { fileName: 'a.txt' })).toMatchObject({ status: 403 });
  const clientId = '0199a1c2-0c01-7c01-8a4f-5d2e9b60f1ff';
  const isRejected = { status: 400, body: { code: 'REFERENCE_NOT_FOUND', errors: [{ pointer: '/clientId' }] } };
  expect(await create({ fileName: 'a.txt', clientId })).toMatchObject(isRejected);
  const [gone, merged, into] = [await newClient('Gone'), await newClient('Merged'), await newClient('Into')];
  await records.remove([{ type: 'Client', systemRef: gone }]);
  const merge = { from: merged, into, reason: 'Recorded twice' };
  expect(await call('POST', '/api/v1/clients/merge', merge)).toMatchObject({ status: 200 });
  for (const one of [gone, merged])
    expect(await create({ fileName: 'a.txt', clientId: one })).toMatchObject(isRejected);
  expect(await create({ fileName: 'a.txt', clientId: into })).toMatchObject({ status: 201 });
});

test('createFile › content that breaks off changes nothing, and can be sent again', async () => {
  const { file, uploadUrl } = (await create({ fileName: 'a.txt' })).body;
  const url = uploadUrl.replace('http://localhost:3000', address);
  await new Promise<void>((resolve) => {
    const broken = request(url, { method: 'PUT', headers: { 'Content-Length': 1_000_000 } });
    broken.on('error', () => undefined).on('close', () => resolve());
    broken.write('a'.repeat(1000), () => setTimeout(() => broken.destroy(), 50));
  });
  expect(await get(file.id)).toMatchObject({ status: 'PENDING' });
  expect(await (await put(uploadUrl, 'whole')).json()).toMatchObject({ status: 'AVAILABLE', sizeBytes: 5 });
});
