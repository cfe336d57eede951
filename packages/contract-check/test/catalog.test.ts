import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { check } from '../src/check.ts';
import { isObject, parsedJson } from '../src/json.ts';

const place = { type: 'object', required: ['id'], properties: { id: { type: 'string' }, type: { type: 'string' } } };
const created = {
  type: 'object',
  required: ['place', 'entries'],
  properties: { place, entries: { type: 'array', items: { type: 'object' } } },
};
const found = {
  type: 'object',
  required: ['items', 'total'],
  properties: { items: { type: 'array', items: place }, total: { type: 'integer' } },
};
const problem = { type: 'object', required: ['message'], properties: { message: { type: 'string' } } };
const of = (schema: object) => ({ content: { 'application/json': { schema } } });
const responses = (status: number, schema: object) => ({
  [status]: { description: 'Done.', ...(status === 204 ? {} : of(schema)) },
  default: { description: 'It failed.', ...of(problem) },
});

const byId = { parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }] };

/** What a catalog of software has that other servers of these tests do not have. */
const contract = {
  openapi: '3.1.0',
  info: { title: 'Catalog', version: '1' },
  paths: {
    '/places': {
      get: {
        operationId: 'listPlaces',
        parameters: [
          { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 100 } },
          { name: 'notes', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
        ],
        responses: responses(200, { type: 'array', items: place }),
      },
      post: {
        operationId: 'createPlace',
        parameters: [{ name: 'dryRun', in: 'query', schema: { type: 'string', enum: ['no'] } }],
        requestBody: {
          required: true,
          ...of({ type: 'object', required: ['type'], properties: { type: { type: 'string', minLength: 1 } } }),
        },
        responses: responses(201, created),
      },
    },
    '/places/all/{id}': { ...byId, delete: { operationId: 'removePlace', responses: responses(204, {}) } },
    '/places/by-query': {
      post: {
        operationId: 'queryPlaces',
        requestBody: {
          required: true,
          ...of({ type: 'object', properties: { total: { type: 'string', enum: ['include', 'exclude'] } } }),
        },
        responses: responses(200, found),
      },
    },
    '/places/{id}': {
      ...byId,
      get: { operationId: 'getPlace', responses: responses(200, place) },
      delete: { operationId: 'deletePlace', responses: responses(204, {}) },
    },
  },
};

describe('a catalog whose creations are wrapped, and accept one type of places only', () => {
  let folder: string;
  let spec: string;
  let places: string[];
  let count = 0;
  /** The path of the link to the next page. */
  let linked: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'catalog-'));
    spec = join(folder, 'openapi.json');
    await writeFile(spec, JSON.stringify(contract));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  beforeEach(() => {
    places = [];
    linked = '/places';
  });
  afterAll(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });

  const server = createServer(async (request, outgoing) => {
    const reply = (status: number, body?: object, headers: Record<string, string> = {}) => {
      const text = body === undefined ? undefined : JSON.stringify(body);
      outgoing.writeHead(status, { ...(text && { 'content-type': 'application/json' }), ...headers }).end(text);
    };
    const failure = (status: number) => reply(status, { message: 'No.' });
    let text = '';
    for await (const chunk of request) text += chunk;
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    const [, collection, id, ...more] = pathname.replace('/all/', '/').split('/');
    const isAny = pathname.startsWith('/places/all/');
    // As Node does for long headers, without a body.
    if ((request.url ?? '').length > 8_000) return reply(431);
    if (collection !== 'places' || more.length > 0) return reply(404);
    if (id === undefined && request.method === 'GET') {
      const limit = Number(searchParams.get('limit') ?? 100);
      if (!(Number.isInteger(limit) && limit >= 1 && limit <= 100)) return failure(400);
      const start = Number(searchParams.get('after') ?? 0);
      const end = start + limit;
      const link = `<${linked}?limit=${limit}&after=${end}>; rel="next"`;
      const rows = places.slice(start, end).map((one) => ({ id: one, type: 'url' }));
      return reply(200, rows, end < places.length ? { link } : {});
    }
    if (id === undefined && request.method === 'POST') {
      const value = Object(parsedJson(text)?.value);
      if (request.headers['content-type'] !== 'application/json') return failure(415);
      if (value.type !== 'url' || !['no', null].includes(searchParams.get('dryRun'))) return failure(400);
      count += 1;
      const next = `place-${count}`;
      places.push(next);
      return reply(201, { place: { id: next, type: 'url' }, entries: [] });
    }
    if (id === 'by-query' && request.method === 'POST') {
      const body = parsedJson(text)?.value;
      if (request.headers['content-type'] !== 'application/json') return failure(415);
      const { total = 'exclude' } = Object(body);
      if (!isObject(body) || !['include', 'exclude'].includes(total)) return failure(400);
      // It is requested by a word, and returned as a number of the same name.
      const items = places.map((one) => ({ id: one, type: 'url' }));
      return reply(200, { items, total: total === 'include' ? items.length : 0 });
    }
    if (id !== undefined && (isAny ? ['DELETE'] : ['GET', 'DELETE']).includes(request.method ?? '')) {
      if (!isAny && !places.includes(id)) return failure(404);
      if (request.method === 'GET') return reply(200, { id, type: 'url' });
      places = places.filter((one) => one !== id);
      return reply(204);
    }
    const allow =
      id === 'by-query' ? 'GET, POST, DELETE' : id === undefined ? 'GET, POST' : isAny ? 'DELETE' : 'GET, DELETE';
    return reply(405, { message: 'No.' }, { allow });
  });
  const checked = () => {
    const { port } = server.address() as AddressInfo;
    return check({
      spec,
      url: `http://127.0.0.1:${port}`,
      disposable: true,
      auth: { caller: () => ({}), values: () => ({ type: 'url' }) },
    });
  };

  it('has no finding, is reached whole, and nothing is left on it', async () => {
    const { findings, left, operations } = await checked();
    expect(operations.filter(({ reached }) => !reached)).toEqual([]);
    const found = findings.map(({ check, operation, about }) => `${check} ${operation} ${about}`);
    expect(found).toEqual([]);
    expect(left.created).toEqual([]);
    expect(places).toEqual([]);
  });

  it('has one finding for links that lead nowhere', async () => {
    linked = '/catalog/places';
    const { findings } = await checked();
    const ofLists = findings.filter(({ operation }) => operation === 'listPlaces');
    expect(ofLists.map(({ check }) => check)).toEqual(['page-next']);
  });
});
