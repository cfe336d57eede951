import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { filesOf } from '../../test/modules/files.ts';
import { goodCard, payerDetails, payingFirm } from '../../test/modules/pay.ts';
import { testService } from '../../test/service.ts';
import { type WireResponse, wire } from '../../test/wire.ts';
import type { ProblemDocument } from '../contract/problem.ts';

/**
 * What callers read from every kind of route: operations, downloads, payment pages, documents, and paths of none. `-u` writes the
 * snapshot again, and the difference shows what changes for callers.
 */
const snapshot = fileURLToPath(new URL('routes.txt', import.meta.url));

const main = await testService();
const { address, token, tenant, service, call } = main;
const { newClient, owing, payer } = await payingFirm(main);
const unknownLink = '/pay/unknown';
const addFile = filesOf(main);
const own = { Authorization: `Bearer ${token}`, Tenant: tenant.name };
const json = { ...own, 'Content-Type': 'application/json' };

type Sent = Partial<Parameters<typeof wire>[1]> & { readonly path: string };

const lines: string[] = [];

/** Adds a request and its response to the snapshot. */
async function record(what: string, sent: Sent): Promise<WireResponse> {
  const response = await wire(address, sent);
  lines.push(`${what} → ${response.status}`, ...headerLines(response), `  ${bodyLine(response)}`);
  return response;
}

function headerLines({ headers }: WireResponse): string[] {
  return Object.entries(headers)
    .filter(([name]) => !['date', 'connection', 'keep-alive', 'ratelimit'].includes(name))
    .map(([name, value]) => `  ${name}: ${stable(name, String(value))}`)
    .sort();
}

/** Replaces what differs from one run to the next, or with every change of the contract. */
function stable(name: string, value: string): string {
  if (name === 'content-length') return Number(value) > 30 ? 'many' : value;
  if (name === 'last-modified') return 'a date';
  return value
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UUID')
    .replaceAll(/"[0-9a-f]{16}-(\d+)"/g, '"TAG-$1"')
    .replaceAll(/W\/"[^"]+"/g, 'W/"TAG"')
    .replaceAll(/payment_session=[\w-]+/g, 'payment_session=SESSION')
    .replaceAll(/console_form=[\w-]+/g, 'console_form=FORM')
    .replaceAll(/\/pay\/[\w-]{20,}/g, '/pay/TOKEN')
    .replaceAll(/bytes (\d+-\d+|\*)\/\d{4,}/g, 'bytes $1/many')
    .replaceAll(/'sha256-[^']+'/g, `'HASH'`);
}

function bodyLine({ text, json, headers }: WireResponse): string {
  if (text === '') return 'no body';
  if (headers['content-type']?.startsWith('application/problem+json')) {
    const { code, detail, errors = [], requestId } = json as ProblemDocument;
    const sentId = headers['x-request-id'];
    if (sentId !== undefined) expect(requestId).toBe(sentId);
    return [code, ...errors.map(({ in: place, pointer }) => `${place} ${pointer}`), detail].join(' | ');
  }
  if (headers['content-type']?.startsWith('text/html')) return /<h1>[^<]*/.exec(text)?.[0] ?? 'HTML';
  return text.length < 20 ? text : 'content';
}

async function recordOperations(): Promise<void> {
  const client = await newClient({ name: 'Harbor' });
  const path = `/gql/v1/client/${client.id}`;
  const { headers } = await record('read', {
    path,
    headers: { ...own, traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01` },
  });
  await record('read, not modified', { path, headers: { ...own, 'If-None-Match': headers.etag ?? '' } });
  await record('search', { method: 'POST', path: '/gql/v1/clients', headers: json, body: '{}' });
  const onboard = { method: 'POST', path: '/api/v1/clients/v1/onboard', body: '{"name":"Cove","address":{}}' };
  await record('create', { ...onboard, headers: json });
  const keyed = { ...onboard, headers: { ...json, 'Idempotency-Key': 'once' } };
  await record('create with a key', keyed);
  await record('create with the same key', keyed);
  for (const method of ['HEAD', 'OPTIONS', 'PUT']) await record(`operation, ${method}`, { method, path, headers: own });
  await record('no token', { path });
  await record('wrong token', { path, headers: { ...own, Authorization: 'Bearer x' } });
  await record('other tenant', { path, headers: { ...own, Tenant: 'other' } });
  await record('invalid ID', { path: '/gql/v1/client/x', headers: own });
  await record('unacceptable', { path, headers: { ...own, Accept: 'text/html' } });
  const search = { method: 'POST', path: '/gql/v1/clients' };
  await record('no body', { ...search, headers: json });
  await record('not JSON', { ...search, headers: json, body: '{' });
  await record('another type', { ...search, headers: { ...own, 'Content-Type': 'text/plain' }, body: '{}' });
  await record('another encoding', { ...search, headers: { ...json, 'Content-Encoding': 'zstd' }, body: '{}' });
  await record('too large', { ...search, headers: json, body: `"${'x'.repeat(2_000_000)}"` });
  await record('invalid body', { ...search, headers: json, body: '{"limit":-1}' });
  const token = { method: 'POST', path: '/v1/auth/token', headers: { 'Content-Type': 'application/json' } };
  await record('public operation, wrong key', { ...token, body: '{"apiKey":"x"}' });
  await record('public operation, HEAD', { ...token, method: 'HEAD' });
}

async function recordDownloads(): Promise<void> {
  const urlOf = async (id: string) => {
    const { body } = await call<{ downloadUrl: string }>('GET', `/api/v1/files/${id}?includeDownloadUrl=true`);
    return body.downloadUrl.replace('http://localhost:3000', '');
  };
  const { id, sha256 } = await addFile({ content: Buffer.from('0123456789'), fileName: 'Straße.pdf' });
  const path = await urlOf(id);
  const tag = `"${sha256}"`;
  await record('download', { path });
  const parts = {
    first: 'bytes=0-3',
    last: 'bytes=-3',
    open: 'bytes=8-',
    several: 'bytes=0-1,3-4',
    beyond: 'bytes=10-',
  };
  for (const [what, Range] of Object.entries(parts)) await record(`download, ${what}`, { path, headers: { Range } });
  const conditions = {
    'not modified': { 'If-None-Match': tag },
    'no match': { 'If-Match': '"other"' },
    match: { 'If-Match': tag },
    'range of another version': { Range: 'bytes=0-3', 'If-Range': '"other"' },
  };
  for (const [what, headers] of Object.entries(conditions)) await record(`download, ${what}`, { path, headers });
  for (const method of ['HEAD', 'OPTIONS', 'POST']) await record(`download, ${method}`, { method, path });
  await record('download, HEAD of a range', { method: 'HEAD', path, headers: { Range: 'bytes=0-3' } });
  await record('download, modified URL', { path: path.replace(/expires=\d+/, 'expires=1') });
  await record('download, no signature', { path: path.replace(/\?.*/, '') });
  await record('download, no ID', { path: '/content/x' });
  const empty = await addFile({ content: Buffer.alloc(0), mimeType: 'text/plain' });
  await record('download, empty', { path: await urlOf(empty.id) });
  const lost = await addFile({ content: Buffer.from('will be lost') });
  const lostPath = await urlOf(lost.id);
  const stored = lost.sha256 ?? '';
  await rm(join(service.config.dataDir, 'files', String(tenant.id), stored.slice(0, 2), stored));
  await record('download, lost', { path: lostPath });
  await record('download, lost, HEAD', { method: 'HEAD', path: lostPath });
}

async function recordPayment(): Promise<void> {
  const { link } = await owing();
  const { path } = link;
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const submitted = { method: 'POST', path, headers: form };
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT']) await record(`payment page, ${method}`, { method, path });
  for (const step of ['continue', 'challenge', 'cancel'])
    await record(`payment page, ${step}`, { path: `${path}/${step}` });
  await record('payment page, no form', { method: 'POST', path, headers: { 'Content-Type': 'text/plain' }, body: 'x' });
  await record('payment page, no key', { ...submitted, body: 'a=b' });
  await record('payment page, too large', { ...submitted, body: `a=${'b'.repeat(20_000)}` });
  await record('payment page, unknown encoding', {
    ...submitted,
    headers: { ...form, 'Content-Encoding': 'zstd' },
    body: 'a=b',
  });
  const browser = payer();
  const invalid = await browser.submit(path, {});
  expect(invalid.status).toBe(422);
  lines.push(`payment page, invalid form → ${invalid.status}`, ...headerLines(invalid), `  ${bodyLine(invalid)}`);
  const paid = await browser.submit(path, { ...payerDetails, ...goodCard });
  lines.push(`payment page, paid → ${paid.status}`, ...headerLines(paid), `  ${bodyLine(paid)}`);
  await record('payment page, used', { path });
  await record('payment page, unknown token', { path: unknownLink });
  await record('payment page, unknown token, PUT', { method: 'PUT', path: unknownLink });
  for (const method of ['GET', 'POST']) await record(`notification, ${method}`, { method, path: '/pay/webhook' });
}

async function recordConsole(): Promise<void> {
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const path = '/console';
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'POST']) await record(`console, ${method}`, { method, path });
  const signIn = { method: 'POST', path: `${path}/sign-in` };
  const { text, headers } = await wire(address, { path });
  const [, formKey = ''] = /name="formKey" value="([^"]+)"/.exec(text) ?? [];
  const Cookie = String(headers['set-cookie']).split(';')[0];
  const body = new URLSearchParams({ apiKey: 'x', formKey }).toString();
  await record('console, wrong key', { ...signIn, headers: { ...form, Cookie }, body });
  await record('console, no form key', { ...signIn, headers: form, body: 'apiKey=x' });
  await record('console, no form', { ...signIn, headers: json, body: '{}' });
}

async function recordDocuments(): Promise<void> {
  for (const path of [
    '/healthz',
    '/readyz',
    '/metrics',
    '/.well-known/jwks.json',
    '/',
    '/openapi.json',
    '/openapi.yaml',
  ])
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST']) await record(`${path}, ${method}`, { method, path });
  const { headers } = await wire(address, { path: '/openapi.json' });
  const { etag = '', 'last-modified': changed = '' } = headers;
  await record('document, not modified', { path: '/openapi.json', headers: { 'If-None-Match': etag } });
  await record('document, not modified since', { path: '/openapi.json', headers: { 'If-Modified-Since': changed } });
  await record('document, no match', { path: '/openapi.json', headers: { 'If-Match': '"other"' } });
  await record('document, range', { path: '/openapi.json', headers: { Range: 'bytes=0-3' } });
  await record('document, range beyond the end', { path: '/openapi.json', headers: { Range: 'bytes=999999999-' } });
  await record('document, unknown', { path: '/reference/nowhere-to-be-found.md' });
}

async function recordNowhere(): Promise<void> {
  for (const path of ['/nowhere', '/gql', '/content/', '/pay', '/openapi.json/', '/%zz', '//healthz'])
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE']) await record(`${path}, ${method}`, { method, path });
  for (const target of ['*', 'http://[', 'http://x:99999999/unknown']) {
    const { hostname, port } = new URL(address);
    const socket = connect(Number(port), hostname);
    socket.end(`OPTIONS ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const [head = '', body = '{}'] = (await text(socket)).split('\r\n\r\n');
    const names = head
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(':')[0]?.toLowerCase());
    lines.push(
      `target ${target} → ${head.split(' ')[1]}`,
      `  ${names.sort().join(', ')}`,
      `  ${JSON.parse(body).code}`,
    );
  }
}

test('every kind of route responds as in the snapshot', async () => {
  await recordOperations();
  await recordDownloads();
  await recordPayment();
  await recordConsole();
  await recordDocuments();
  await recordNowhere();
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(snapshot);
});
