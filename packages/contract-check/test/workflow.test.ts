/** States, jobs, batches, trash and roles as documents of frameworks have them: in names, enums, 403, 409 and a sentence. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { check } from '../src/check.ts';
import { isObject, type JsonObject, parsedJson } from '../src/json.ts';
import { sampleOf } from './sample.ts';

const json = (schema: object) => ({ 'application/json': { schema } });
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const object = (properties: object) => ({ type: 'object', required: Object.keys(properties), properties });
const list = (items: object) => ({ type: 'array', items });
const [string, integer, flag] = [
  { type: 'string', minLength: 1, maxLength: 40 },
  { type: 'integer' },
  { type: 'boolean' },
];
const time = { type: 'string', format: 'date-time' };
const errors: Readonly<Record<number, string>> = { 400: 'Invalid', 401: 'No key', 404: 'Not found' };
const operation = (operationId: string, status: number, schema?: object, body?: object, more: JsonObject = {}) => ({
  operationId,
  ...(body && { requestBody: { required: true, content: json(body) } }),
  responses: Object.fromEntries([
    [status, { description: 'Done', ...(schema && { content: json(schema) }) }],
    ...Object.entries({ ...errors, ...more }).map(([code, description]) => [code, { description, content: json({}) }]),
  ]),
});
const named = { parameters: [{ name: 'id', in: 'path', required: true, schema: string }] };
const states = ['draft', 'checked-in', 'recorded', 'cancelled'];
const filter = { name: 'status', in: 'query', schema: list({ enum: states }) };
const action = (id: string, conflict: string) => ({
  ...named,
  post: operation(id, 200, ref('Album'), undefined, { 403: 'No', 409: conflict }),
});
const reading = (id: string, schema: object) => ({ get: operation(id, 200, schema) });
const document = {
  openapi: '3.1.0',
  info: { title: 'Studio', version: '1' },
  security: [{ key: [] }],
  paths: {
    '/albums': {
      get: { ...operation('listAlbums', 200, list(ref('Album'))), parameters: [filter] },
      post: operation('createAlbum', 201, ref('Album'), ref('AlbumInput'), { 403: 'No' }),
    },
    '/albums/{id}': {
      ...named,
      ...reading('getAlbum', ref('Album')),
      delete: operation('deleteAlbum', 204, undefined, undefined, { 403: 'No' }),
    },
    '/albums/{id}/check-in': action('checkIn', 'The album is not draft'),
    '/albums/{id}/record': action('record', 'Conflict'),
    '/albums/{id}/cancel': action('cancel', 'Conflict'),
    '/albums/{id}/unmute': action('unmute', 'Conflict'),
    '/trash': reading('listTrash', list(ref('Album'))),
    '/trash/{id}/restore': action('restore', 'Conflict'),
    '/shelves': {
      ...reading('listShelves', list(ref('Shelf'))),
      post: operation('createShelf', 201, ref('Shelf'), object({ name: string }), { 403: 'No' }),
    },
    '/shelves/{id}': {
      ...named,
      delete: operation('deleteShelf', 204, undefined, undefined, { 403: 'No', 409: 'Not empty' }),
    },
    '/albums/batch': {
      post: operation(
        'createAlbums',
        200,
        object({ results: list({ ...object({ index: integer, status: { enum: ['created', 'failed'] } }) }) }),
        object({ items: { ...list(ref('AlbumInput')), minItems: 1, maxItems: 9 } }),
        { 403: 'No' },
      ),
    },
    '/imports': {
      post: operation('importAlbums', 202, ref('Job'), object({ items: { ...list(ref('AlbumInput')), minItems: 1 } }), {
        403: 'No',
      }),
    },
    '/imports/{id}': { ...named, ...reading('getImport', ref('Job')) },
  },
  components: {
    securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-key' } },
    schemas: {
      AlbumInput: { ...object({ title: string, shelfId: string, from: time, to: time }), additionalProperties: false },
      Album: object({
        id: string,
        title: string,
        shelfId: string,
        from: time,
        to: time,
        status: { enum: states },
        muted: flag,
        price: integer,
        version: integer,
      }),
      Shelf: object({ id: string, name: string }),
      Job: object({
        id: string,
        status: { enum: ['queued', 'running', 'succeeded', 'failed'] },
        processed: integer,
        total: integer,
        errors: list(object({ message: string })),
      }),
    },
  },
};

type Row = JsonObject & { id: string };

/** A studio with one difference from its contract, or none. */
function studio(drift: string) {
  const is = (name: string) => name === drift;
  const [albums, trash, shelves, jobs] = [1, 2, 3, 4].map(() => new Map<string, Row>());
  let count = 0;
  const store = (rows: Map<string, Row> | undefined, row: JsonObject) => {
    count += 1;
    const id = `${rows === shelves ? 's' : rows === jobs ? 'j' : 'a'}${count}`;
    rows?.set(id, { ...row, id });
    return { ...row, id };
  };
  for (const name of ['Ada', 'Bob']) store(shelves, { name });
  const failure = (body: unknown) => {
    const { title, shelfId, from, to, ...others } = Object(body);
    const isValid = [title, shelfId, from, to].every((one) => typeof one === 'string' && one !== '' && one.length < 41);
    if (!isValid || Object.keys(others).length > 0 || title.length > 40) return 400;
    return shelves?.has(shelfId) && Date.parse(from) < Date.parse(to) ? undefined : 400;
  };
  const add = (body: unknown) => store(albums, { ...Object(body), status: 'draft', muted: true, price: 3, version: 1 });
  const moves: Readonly<Record<string, readonly [from: readonly string[], to: string]>> = {
    'check-in': [is('twice') ? ['draft', 'checked-in'] : ['draft'], is('wrong state') ? 'recorded' : 'checked-in'],
    record: [is('back from the end') ? ['checked-in', 'cancelled'] : ['checked-in'], 'recorded'],
    cancel: [is('cancel is rejected') ? [] : ['draft', 'checked-in'], 'cancelled'],
  };
  const started = (body: JsonObject) => {
    const items = Array.isArray(body.items) ? body.items : [];
    const total = items.length;
    const job = store(jobs, { status: 'queued', processed: 0, total, errors: [] });
    setTimeout(() => {
      const failed = items.filter((item) => failure(item) !== undefined);
      for (const item of items) if (!failed.includes(item)) add(item);
      const isBad = failed.length === total && !is('failed job succeeds');
      const errors = failed.map(() => ({ message: 'rejected' }));
      const processed = total - Number(is('job loses a row'));
      jobs?.set(job.id, { ...job, status: isBad ? 'failed' : 'succeeded', processed, errors });
    }, 60);
    return job;
  };
  return (method: string, url: URL, user: unknown, body: JsonObject): { status: number; body?: unknown } => {
    const [, top = '', id = '', verb] = url.pathname.split('/');
    if (user !== 'boss' && user !== 'guest') return { status: 401 };
    if (user === 'guest' && method !== 'GET' && !(is('guest may act') && verb !== undefined)) return { status: 403 };
    if (user === 'guest' && is('guest cannot read') && top === 'shelves') return { status: 403 };
    const all = { albums, trash, shelves, imports: jobs }[top];
    if (all === undefined || !['GET', 'POST', 'DELETE'].includes(method)) return { status: 404 };
    if (id === '' && method === 'GET') {
      const chosen = url.searchParams.getAll('status');
      if (chosen.some((one) => !states.includes(one))) return { status: 400 };
      const isShown = ({ status }: Row) =>
        chosen.length === 0 || (chosen.includes(String(status)) && !(is('list hides') && status === 'cancelled'));
      return { status: 200, body: [...all.values()].filter(isShown) };
    }
    if (method === 'POST' && (id === '' || id === 'batch')) {
      const items = Array.isArray(body.items) ? body.items : undefined;
      if (top === 'imports') return items?.length ? { status: 202, body: started(body) } : { status: 400 };
      if (top === 'shelves')
        return typeof body.name === 'string'
          ? { status: 201, body: store(shelves, { name: body.name }) }
          : { status: 400 };
      if (id === '') return failure(body) ? { status: 400 } : { status: 201, body: add(body) };
      if (!items?.length || items.length > 9) return { status: 400 };
      let isBroken = false;
      const results = items.map((item, index) => {
        const isFailed = isBroken || failure(item) !== undefined;
        isBroken ||= isFailed && is('batch stops');
        if (!isFailed) add(item);
        return { index, status: isFailed ? 'failed' : 'created' };
      });
      return { status: 200, body: { results } };
    }
    const row = all.get(id);
    if (row === undefined) return { status: 404 };
    if (method === 'GET') {
      if (top === 'albums' && is('price moves')) all.set(id, { ...row, price: Number(row.price) + 1 });
      return { status: 200, body: row };
    }
    if (method === 'DELETE') {
      const isUsed = [...(albums?.values() ?? [])].some(({ shelfId }) => shelfId === id);
      if (top === 'shelves' && isUsed && !is('used is deleted')) return { status: 409 };
      all.delete(id);
      if (top === 'albums' && !is('not in the trash')) trash?.set(id, row);
      return { status: 204 };
    }
    if (top === 'trash' && verb === 'restore') {
      if (!is('stays in the trash')) trash?.delete(id);
      if (!is('restore is lost')) albums?.set(id, row);
      return { status: 200, body: row };
    }
    if (is('boss may not record') && verb === 'record') return { status: 403 };
    const [from, to] = moves[verb ?? ''] ?? [[row.status], row.status];
    if (top !== 'albums' || verb === undefined || !from.includes(String(row.status)))
      return { status: verb ? 409 : 404 };
    const muted = verb === 'unmute' ? is('unmute mutes') : row.muted;
    const next = { ...row, status: to, muted, version: Number(row.version) + 1 };
    all.set(id, next);
    return { status: 200, body: next };
  };
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'contract-check-workflow-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function found(drift: string, seed = 1): Promise<string[]> {
  const respond = studio(drift);
  const server = createServer(async (incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming;
    const body = parsedJson(await text(incoming))?.value;
    const sent = isObject(body) ? body : {};
    const response = respond(method, new URL(url, 'http://studio'), headers['x-key'], sent);
    const isEmpty = response.status === 204;
    outgoing.writeHead(response.status, isEmpty ? {} : { 'content-type': 'application/json' });
    outgoing.end(isEmpty ? undefined : JSON.stringify(response.body ?? {}));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const spec = join(folder, `${port}.json`);
  await writeFile(spec, JSON.stringify(document));
  try {
    const auth = { caller: () => ({ 'x-key': 'boss' }), forbidden: () => ({ 'x-key': 'guest' }) };
    const options = { spec, url: `http://127.0.0.1:${port}`, auth, seed, probes: 1, disposable: true };
    const { findings } = await check({ ...options, checks: ['behavior', 'invalid input'] });
    return findings.map(({ check: name, operation: by }) => `${name} ${by}`).filter((one) => !/^reject-/.test(one));
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

it('a correct studio has no finding, whatever the seed', async () => {
  for (const seed of [1, 2]) expect(await found('', seed), `seed ${seed}`).toEqual([]);
});

it.each(
  sampleOf(
    [
      ['twice', 'transition-accepted checkIn'],
      ['wrong state', 'action-state checkIn'],
      ['back from the end', 'transition-accepted record'],
      ['guest may act', 'missing-permission checkIn'],
      ['guest cannot read', 'permission-rejected listShelves'],
      ['boss may not record', 'permission-rejected record'],
      ['list hides', 'list-hides listAlbums'],
      ['price moves', 'read-unsteady getAlbum'],
      ['unmute mutes', 'action-state unmute'],
      ['not in the trash', 'list-hides listTrash'],
      ['stays in the trash', 'list-leaks listTrash'],
      ['restore is lost', 'action-lost restore'],
      ['used is deleted', 'delete-used deleteShelf'],
      ['batch stops', 'bulk-affects createAlbums'],
      ['job loses a row', 'job-status getImport'],
      ['failed job succeeds', 'job-status getImport'],
    ],
    8,
  ),
)('%s is found as %s', async (drift, expected) => {
  expect(await found(drift)).toContain(expected);
});
