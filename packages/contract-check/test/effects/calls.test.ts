import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { check } from '../../src/check.ts';
import type { Report } from '../../src/run/report.ts';

const json = (schema: object) => ({ 'application/json': { schema } });
const string = { type: 'string', minLength: 1, maxLength: 40 };
const row = (properties: object) => ({ type: 'object', required: ['id'], properties: { id: string, ...properties } });
const named = { name: string };

interface Operation {
  readonly status?: number;
  readonly schema?: object;
  readonly body?: object;
}

function operation(path: string, operationId: string, { status = 200, schema, body }: Operation) {
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    return { name, in: 'path', required: true, schema: string };
  });
  return {
    operationId,
    parameters,
    ...(body && {
      requestBody: {
        required: true,
        content: json({ type: 'object', required: Object.keys(body), properties: body, additionalProperties: false }),
      },
    }),
    responses: {
      [status]: { description: 'Done', ...(schema && { content: json(schema) }) },
      ...Object.fromEntries([400, 404, 405, 415].map((code) => [code, { description: 'Rejected' }])),
    },
  };
}

const read = (path: string, id: string, schema: object) => ({ get: operation(path, id, { schema }) });
const list = (path: string, id: string, properties: object = named) =>
  read(path, id, { type: 'array', items: row(properties) });
const create = (path: string, id: string, properties: object = named) => ({
  post: operation(path, id, { status: 201, schema: row(properties), body: properties }),
});
const act = (path: string, id: string, status = 200) => ({ post: operation(path, id, { status, schema: row({}) }) });
const pathItems = (paths: Record<string, (path: string) => object>) =>
  Object.fromEntries(Object.entries(paths).map(([path, of]) => [path, of(path)]));

const comment = { fileId: string, note: string };
const document = {
  openapi: '3.1.0',
  info: { title: 'Effects', version: '1' },
  paths: pathItems({
    '/files': (path) => ({ ...list(path, 'listFiles'), ...create(path, 'createFile') }),
    '/files/{id}': (path) => read(path, 'getFile', row(named)),
    '/files/{id}/versions': (path) => ({ ...list(path, 'listVersions'), ...create(path, 'createVersion') }),
    '/comments': (path) => ({ ...list(path, 'listComments', comment), ...create(path, 'createComment', comment) }),
    '/comments/{id}': (path) => read(path, 'getComment', row(comment)),
    // It declares a creation, but its result is not found.
    '/orders': (path) => create(path, 'createOrder'),
    '/orders/{id}': (path) => read(path, 'getOrder', row(named)),
    '/files/search': (path) => ({
      post: operation(path, 'searchFiles', { schema: { type: 'array', items: row(named) }, body: named }),
    }),
    '/files/{id}/search': (path) => act(path, 'searchInFile'),
    '/lists': (path) => list(path, 'listLists'),
    '/lists/{id}/archiveAllCards': (path) => act(path, 'archiveAllCards'),
    '/mailing-lists/{id}/send': (path) => act(path, 'sendToMailingList'),
    '/search-index/drop': (path) => act(path, 'dropSearchIndex'),
    '/users': (path) => list(path, 'listUsers'),
    '/users/{id}/ban': (path) => act(path, 'banUser', 201),
    '/admin/factory-reset': (path) => act(path, 'resetFactory', 201),
    '/charges': (path) => ({ ...list(path, 'listCharges'), ...create(path, 'createCharge') }),
    '/charges/{charge}': (path) => read(path, 'getCharge', row(named)),
    '/charges/{charge}/refunds': (path) => ({ ...list(path, 'listRefunds'), ...create(path, 'createRefund') }),
    '/droplets': (path) => list(path, 'listDroplets'),
    '/droplets/{id}/actions': (path) => ({ ...list(path, 'listActions'), ...create(path, 'createAction') }),
  }),
};

interface Sent {
  readonly path: string;
  readonly body: Record<string, unknown>;
}

/** Checks a server of these operations, and returns what it was sent with POST, and the IDs that it created. */
async function checked(): Promise<{ sent: Sent[]; created: Set<string>; report: Report }> {
  const folder = await mkdtemp(join(tmpdir(), 'contract-check-calls-'));
  const spec = join(folder, 'openapi.json');
  await writeFile(spec, JSON.stringify(document));
  const rows = new Map<string, Record<string, unknown>[]>();
  const sent: Sent[] = [];
  const created = new Set<string>();
  const rowsOf = (path: string) => rows.get(path) ?? [{ id: 'old', name: 'Old', fileId: 'old', note: 'Old' }];
  const server = createServer(async (request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? '';
    const reply = (status: number, value?: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(value && JSON.stringify(value));
    const parent = path.slice(0, path.lastIndexOf('/'));
    const found = rowsOf(parent).find(({ id }) => path.endsWith(`/${id}`));
    const isList = /\/(?:files|comments|versions|lists|users|charges|refunds|droplets|actions)$/.test(path);
    if (request.method === 'GET') return isList ? reply(200, rowsOf(path)) : reply(found ? 200 : 404, found);
    if (request.method !== 'POST') return reply(405);
    const body = parsed(await text(request));
    sent.push({ path, body });
    if (Object.values(body).some((value) => typeof value !== 'string' || value === '')) return reply(400);
    if (/search$/.test(path)) return reply(200, rowsOf('/files'));
    const id = `new-${sent.length}`;
    if (path !== '/orders') rows.set(path, [{ id, ...body }, ...rowsOf(path)]);
    created.add(id);
    return reply(201, { id, ...body });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const report = await check({ spec, url: `http://127.0.0.1:${port}`, minCoverage: 0 });
  server.close();
  await rm(folder, { recursive: true });
  return { sent, created, report };
}

function parsed(content: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(content));
  } catch {
    return { text: 0 };
  }
}

it('without --disposable, a run calls only what is proven to read, or to create what it can read back', async () => {
  const { sent, created, report } = await checked();
  const calls = Map.groupBy(sent, ({ path }) => path.replace(/\/$/, '').replace(/(?<=^\/files\/).*(?=\/)/, '*'));
  expect([...calls.keys()].toSorted()).toEqual([
    '/comments',
    '/files',
    '/files/*/versions',
    '/files/search',
    '/orders',
  ]);
  expect(calls.get('/files')?.length).toBeGreaterThan(5);
  expect(calls.get('/files/search')?.length).toBeGreaterThan(5);
  // What cannot be read back is created once.
  expect(calls.get('/orders')).toHaveLength(1);
  expect(report.notices.join()).toContain('createOrder is not called again');
  expect(report.left.created).toContainEqual({
    operation: 'createOrder',
    targets: [expect.any(String)],
    unidentified: 0,
  });
  // What belongs to a resource, by its path or its body, belongs to one of the run.
  expect(sent.filter(({ path }) => path.startsWith('/files/old'))).toEqual([]);
  const referred = (calls.get('/comments') ?? []).map(({ body }) => body.fileId);
  expect(referred).not.toContain('old');
  expect(referred.some((id) => created.has(String(id)))).toBe(true);
});
