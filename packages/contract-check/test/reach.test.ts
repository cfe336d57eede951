import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { check, planOf } from '../src/check.ts';
import { isObject, parsedJson } from '../src/json.ts';
import type { CheckOptions } from '../src/run/options.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'contract-check-reach-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

interface Answer {
  readonly status: number;
  /** A JSON text. */
  readonly body?: string;
}

/** Checks a server with a document, and returns what the server received. */
async function reached(
  document: object,
  answer: (request: Received) => Answer | Promise<Answer>,
  options: Partial<CheckOptions> = {},
) {
  const received: Received[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming;
    if (url === '/openapi.json')
      return outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
    const request = { method, url, headers, body: await text(incoming) };
    received.push(request);
    const { status, body } = await answer(request);
    return outgoing.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const spec = join(folder, `${port}.json`);
  await writeFile(spec, JSON.stringify(document));
  try {
    const report = await check({ spec, url, disposable: true, minCoverage: 0, ...options });
    return { report, received, first: received.find(({ method }) => method !== 'OPTIONS') };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const json = (schema: object) => ({ 'application/json': { schema } });
const done = { 200: { description: 'Done', content: json({ type: 'object' }) } };
const openapi = (paths: object, others: object = {}) => ({
  openapi: '3.1.0',
  info: { title: 'Reach', version: '1' },
  paths,
  ...others,
});
const posting = (content: object) => ({ post: { requestBody: { required: true, content }, responses: done } });
const fine = (body = '{}') => ({ status: 200, body });

it('a file is sent although the schema of a multipart body is a reference', async () => {
  const file = { anyOf: [{ type: 'string', format: 'binary' }, { type: 'null' }] };
  const upload = { type: 'object', required: ['file'], properties: { file, note: { type: 'string' } } };
  const document = openapi(
    { '/files': posting({ 'multipart/form-data': { schema: { $ref: '#/components/schemas/Upload' } } }) },
    { components: { schemas: { Upload: upload } } },
  );
  const isFile = ({ body }: Received) =>
    /name="file"; filename="check"\r\nContent-Type: application\/octet-stream/.test(body);
  const { report, received } = await reached(document, (one) => (isFile(one) ? fine() : { status: 422 }));
  expect(report.operations).toMatchObject([{ reached: true }]);
  expect(received.some(isFile)).toBe(true);
});

it.each([
  ['.json', '.json'],
  ['/', '/'],
  ['/', ''],
])(
  'resources are created, read and deleted although paths end with %s, and those of one with %s',
  async (end, itemEnd) => {
    const queue = {
      type: 'object',
      required: ['sid'],
      properties: { sid: { type: 'string' }, name: { type: 'string' } },
    };
    const parameters = [{ name: 'Sid', in: 'path', required: true, schema: { type: 'string' } }];
    const document = openapi({
      [`/queues${end}`]: {
        get: {
          operationId: 'listQueues',
          responses: { 200: { description: 'Queues', content: json({ type: 'array', items: queue }) } },
        },
        post: {
          operationId: 'createQueue',
          requestBody: { required: true, content: json({ type: 'object', properties: { name: { type: 'string' } } }) },
          responses: { 201: { description: 'Created', content: json(queue) } },
        },
      },
      [`/queues/{Sid}${itemEnd}`]: {
        parameters,
        get: {
          operationId: 'getQueue',
          responses: { 200: { description: 'Queue', content: json(queue) }, 404: { description: 'None' } },
        },
        delete: {
          operationId: 'deleteQueue',
          responses: { 204: { description: 'Gone' }, 404: { description: 'None' } },
        },
      },
    });
    const queues = new Map<string, object>();
    let count = 0;
    const { report } = await reached(
      document,
      ({ method, url }) => {
        const [path = ''] = url.split('?');
        const sid =
          path.startsWith('/queues/') && path.endsWith(itemEnd) ? path.slice(8, path.length - itemEnd.length) : '';
        if (/^\w+$/.test(sid) && method === 'GET')
          return queues.has(sid) ? fine(JSON.stringify(queues.get(sid))) : { status: 404 };
        if (/^\w+$/.test(sid) && method === 'DELETE') return { status: queues.delete(sid) ? 204 : 404 };
        if (path !== `/queues${end}`) return { status: 404 };
        if (method === 'GET') return fine(JSON.stringify([...queues.values()]));
        if (method !== 'POST') return { status: 405 };
        const one = { sid: `QU${++count}`, name: 'Queue' };
        queues.set(one.sid, one);
        return { status: 201, body: JSON.stringify(one) };
      },
      { disposable: false, probes: 2 },
    );
    expect(report.operations.filter((one) => !one.reached)).toEqual([]);
    expect(report.operations.map(({ path }) => path)).toContain(`/queues/{Sid}${itemEnd}`);
    expect(count).toBeGreaterThan(2);
    expect([...queues.keys()]).toEqual([]);
  },
);

it('keys are sent where the security schemes of the document say, and only there', async () => {
  const scheme = (place: string) => ({ type: 'apiKey', in: place, name: `${place}-key` });
  const securitySchemes = {
    inQuery: scheme('query'),
    inCookie: scheme('cookie'),
    inHeader: scheme('header'),
    token: { type: 'http', scheme: 'bearer' },
  };
  const secured = (name: string) => ({
    get: { operationId: name, security: [{ [name]: [] }], responses: { ...done, 401: { description: 'No' } } },
  });
  const document = openapi(
    Object.fromEntries(Object.keys(securitySchemes).map((name) => [`/${name}`, secured(name)])),
    { components: { securitySchemes } },
  );
  const sent = ({ url, headers }: Received) => {
    const key = new URL(url, 'http://localhost').searchParams.get('query-key');
    const of: Record<string, unknown> = {
      inQuery: key,
      inCookie: headers.cookie?.replace('cookie-key=', ''),
      inHeader: headers['header-key'],
      token: headers.authorization?.replace('Bearer ', ''),
    };
    return of[url.slice(1).split(/[?/]/)[0] ?? ''];
  };
  const keys = { inQuery: 'query-secret', inCookie: 'cookie-secret', inHeader: 'header-secret', token: 'token-secret' };
  const { report, received } = await reached(
    document,
    (request) => (Object.values(keys).some((key) => key === sent(request)) ? fine() : { status: 401 }),
    { keys },
  );
  expect(report.operations.filter((one) => !one.reached)).toEqual([]);
  expect(report.findings.map(({ check: name }) => name)).not.toContain('missing-credentials');
  // Requests with forged and without keys are sent, too.
  const ofQuery = new Set(received.filter(({ url }) => /^\/inQuery(?:\?|$)/.test(url)).map(sent));
  expect(ofQuery.size).toBeGreaterThan(2);
  await expect(reached(document, () => fine(), { keys: { other: 'x' } })).rejects.toThrow('no security scheme other');
});

it('objects and lists in forms are written in the declared style', async () => {
  const properties = {
    card: {
      type: 'object',
      required: ['owner'],
      properties: { owner: { type: 'object', required: ['name'], properties: { name: { const: 'Ann' } } } },
    },
    expand: { type: 'array', minItems: 1, items: { const: 'charges' } },
  };
  const schema = { type: 'object', required: ['card', 'expand'], properties };
  const encoding = { card: { style: 'deepObject', explode: true }, expand: { style: 'deepObject', explode: true } };
  const document = openapi({ '/cards': posting({ 'application/x-www-form-urlencoded': { schema, encoding } }) });
  const { first } = await reached(document, () => fine());
  expect(first?.body).toBe('card[owner][name]=Ann&expand[0]=charges');
});

it.each([
  ['*/*', 'application/json'],
  ['application/*', 'application/json'],
  ['application/*+json', 'application/vnd.contract-check+json'],
])('a body of %s is sent as %s, whatever a parameter named Content-Type says', async (range, sent) => {
  const item = posting({ [range]: { schema: { type: 'object' } } });
  const parameters = [
    { name: 'Content-Type', in: 'header', required: true, schema: { type: 'string' }, example: 'text/csv' },
  ];
  const { first } = await reached(openapi({ '/things': { parameters, ...item } }), () => fine());
  expect(first?.headers['content-type']).toBe(sent);
});

it.each(['application/x-www-form-urlencoded', 'multipart/form-data'])(
  'in %s, what is null is omitted, and one value is a list with one',
  async (mediaType) => {
    const tag = { type: 'string', minLength: 1, maxLength: 20 };
    const properties = {
      tags: { type: 'array', minItems: 1, maxItems: 3, items: tag },
      note: { anyOf: [{ type: 'string', maxLength: 9 }, { type: 'null' }] },
    };
    const note = {
      type: 'object',
      required: ['id', 'tags', 'note'],
      properties: { id: { type: 'integer' }, ...properties },
    };
    const sent = { type: 'object', required: ['tags'], properties };
    const document = openapi({
      '/notes': {
        post: {
          operationId: 'createNote',
          requestBody: { required: true, content: { [mediaType]: { schema: sent } } },
          responses: { 201: { description: 'Created', content: json(note) }, 400: { description: 'Invalid' } },
        },
      },
      '/notes/{id}': {
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }],
        get: {
          operationId: 'getNote',
          responses: { 200: { description: 'Note', content: json(note) }, 404: { description: 'None' } },
        },
      },
    });
    const notes: object[] = [];
    const { report } = await reached(
      document,
      async ({ method, url, headers, body }) => {
        const [, id] = /^\/notes\/(\d{1,9})$/.exec(url) ?? [];
        if (method !== 'POST')
          return notes[Number(id)] === undefined ? { status: 404 } : fine(JSON.stringify(notes[Number(id)]));
        const type = { 'content-type': headers['content-type'] ?? '' };
        const form = await new Response(body, { headers: type }).formData().catch(() => new FormData());
        const [tags, text] = [form.getAll('tags').map(String), form.get('note')];
        const isValid = tags.length > 0 && tags.length < 4 && tags.every((one) => one !== '' && [...one].length <= 20);
        if (!isValid || [...String(text ?? '')].length > 9) return { status: 400 };
        notes.push({ id: notes.length, tags, note: text });
        return { status: 201, body: JSON.stringify(notes.at(-1)) };
      },
      { checks: ['valid input', 'invalid input', 'behavior'] },
    );
    expect(notes.length).toBeGreaterThan(5);
    expect(report.findings.map(({ title }) => title)).toEqual([]);
  },
);

it('IDs of 64 bits are used as they were read, in paths and in bodies', async () => {
  const id = '9007199254740993';
  const row = { type: 'object', required: ['id'], properties: { id: { type: 'integer', format: 'int64' } } };
  const owned = {
    type: 'object',
    required: ['ownerId'],
    properties: { ownerId: { type: 'integer', format: 'int64' } },
  };
  const parameters = [{ name: 'id', in: 'path', required: true, schema: { type: 'integer', format: 'int64' } }];
  const document = openapi({
    '/owners': { get: { responses: { 200: { description: 'Owners', content: json({ type: 'array', items: row }) } } } },
    '/owners/{id}': {
      parameters,
      get: {
        operationId: 'getOwner',
        responses: { 200: { description: 'Owner', content: json(row) }, 404: { description: 'None' } },
      },
    },
    '/pets': posting(json(owned)),
  });
  const { report } = await reached(document, ({ url, body }) => {
    if (url === '/owners') return fine(`[{ "id": ${id} }]`);
    if (url === '/pets') return body === `{"ownerId":${id}}` ? fine() : { status: 400 };
    return url === `/owners/${id}` ? fine(`{ "id": ${id} }`) : { status: 404 };
  });
  expect(report.operations.filter((one) => !one.reached)).toEqual([]);
});

it('a relative server is beside the document, of which only the URL is known', async () => {
  const document = openapi({ '/things': { get: { responses: done } } }, { servers: [{ url: '/api/v2' }] });
  const server = createServer((request, response) =>
    response
      .writeHead(request.url?.startsWith('/api/v2/things') || request.url === '/openapi.json' ? 200 : 404, {
        'content-type': 'application/json',
      })
      .end(request.url === '/openapi.json' ? JSON.stringify(document) : '{}'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const report = await check({ spec: `http://127.0.0.1:${port}/openapi.json` });
  server.closeAllConnections();
  server.close();
  expect(report.url).toBe(`http://127.0.0.1:${port}/api/v2`);
  expect(report.operations).toMatchObject([{ reached: true }]);
});

it('QUERY and the other methods of OpenAPI 3.2 are called, QUERY as a read', async () => {
  const query = { operationId: 'queryThings', requestBody: { content: json({ type: 'object' }) }, responses: done };
  const document = {
    ...openapi({
      '/things': { query, additionalOperations: { PURGE: { operationId: 'purgeThings', responses: done } } },
    }),
    openapi: '3.2.0',
  };
  const { report, received } = await reached(document, () => fine());
  expect(report.operations.map(({ id, reached: is }) => [id, is])).toEqual([
    ['queryThings', true],
    ['purgeThings', true],
  ]);
  expect(received.map(({ method }) => method)).toEqual(expect.arrayContaining(['QUERY', 'PURGE']));
  const spec = join(folder, 'query.json');
  await writeFile(spec, JSON.stringify(document));
  expect((await planOf({ spec })).map(({ effect, skipped }) => [effect, skipped])).toEqual([
    ['read', undefined],
    ['irreversible', 'needs --disposable'],
  ]);
});

it('Swagger 2.0 is checked, and a finding has its place in it', async () => {
  const document = {
    swagger: '2.0',
    info: { title: 'Old', version: '1' },
    paths: {
      '/things': {
        post: {
          operationId: 'createThing',
          consumes: ['application/json'],
          produces: ['application/json'],
          parameters: [{ name: 'thing', in: 'body', required: true, schema: { $ref: '#/definitions/Thing' } }],
          responses: { 200: { description: 'Thing', schema: { $ref: '#/definitions/Thing' } } },
        },
      },
    },
    definitions: {
      Thing: { type: 'object', required: ['name'], properties: { name: { type: 'string', maxLength: 3 } } },
    },
  };
  const { report } = await reached(document, ({ body }) => fine(body.startsWith('{') ? '{ "name": 7 }' : '{}'));
  expect(report.operations).toMatchObject([{ reached: true }]);
  const pointers = report.findings.flatMap(({ places }) => places.map(({ place }) => place?.pointer));
  expect(pointers).toContain('#/definitions/Thing/properties/name/type');
});

it('a token that its path names by its secret is deleted, too', async () => {
  const text = { type: 'string' };
  const token = { type: 'object', required: ['secret', 'tokenName'], properties: { secret: text, tokenName: text } };
  const sent = { type: 'object', required: ['tokenName'], properties: { tokenName: text } };
  const created = { 201: { description: 'Created', content: json(token) }, 400: { description: 'Invalid' } };
  const tokens = new Map<string, string>();
  const document = openapi({
    '/tokens': {
      get: {
        operationId: 'listTokens',
        responses: { 200: { description: 'All', content: json({ type: 'array', items: token }) } },
      },
      post: { operationId: 'createToken', requestBody: { required: true, content: json(sent) }, responses: created },
    },
    '/tokens/{token}': {
      parameters: [{ name: 'token', in: 'path', required: true, schema: text }],
      delete: { operationId: 'deleteToken', responses: { 204: { description: 'Gone' }, 404: { description: 'None' } } },
    },
  });
  const { report } = await reached(
    document,
    ({ method, url, body }) => {
      const all = [...tokens].map(([secret, tokenName]) => ({ secret, tokenName }));
      if (method === 'GET') return fine(JSON.stringify(all));
      if (method === 'DELETE')
        return { status: tokens.delete(decodeURIComponent(url.slice('/tokens/'.length))) ? 204 : 404 };
      if (method !== 'POST') return { status: 405 };
      const { tokenName } = JSON.parse(body);
      const secret = `*:development.${String(tokens.size).padStart(16, '0')}`;
      tokens.set(secret, tokenName);
      return { status: 201, body: JSON.stringify({ secret, tokenName }) };
    },
    { checks: ['behavior'] },
  );
  expect(report.left.created).toEqual([]);
  expect(tokens.size).toBe(0);
});

/** A shop as frameworks describe it: numbers that are whole, references without `Id`, parameters with defaults, jobs. */
it('what a document cannot say of a valid request is no finding, and no obstacle', async () => {
  const string = { type: 'string' };
  const integer = { type: 'integer' };
  const object = (properties: object, required = Object.keys(properties)) => ({ type: 'object', required, properties });
  const supplier = { name: { ...string, minLength: 1, maxLength: 12 } };
  const date = { ...string, format: 'date' };
  const order = { supplier: integer, price: { type: 'number', minimum: 0 }, start: date, end: date };
  const job = object({ id: integer, state: string, file: string });
  const statuses = (...all: [number, object?][]) =>
    Object.fromEntries(
      all.map(([one, schema]) => [one, { description: '', ...(schema && { content: json(schema) }) }]),
    );
  const rejected: [number, object?][] = [[400], [404]];
  const create = (operationId: string, body: object, shown: object, mediaTypes = ['application/json']) => ({
    operationId,
    requestBody: { required: true, content: Object.fromEntries(mediaTypes.map((one) => [one, { schema: body }])) },
    responses: statuses([201, shown], ...rejected),
  });
  const withId = (properties: object) => object({ id: integer, ...properties });
  const item = (operationId: string, shown: object) => ({
    parameters: [{ name: 'id', in: 'path', required: true, schema: integer }],
    get: { operationId, responses: statuses([200, shown], ...rejected) },
  });
  const query = (name: string, value: number) => ({
    ...{ name, in: 'query', required: true },
    schema: { ...integer, minimum: value, maximum: 50, default: value },
  });
  const document = openapi({
    '/suppliers': {
      get: {
        operationId: 'listSuppliers',
        parameters: [query('offset', 0), query('limit', 20)],
        responses: statuses(
          [200, object({ total: integer, items: { type: 'array', items: withId(supplier) } })],
          [400],
        ),
      },
      post: create('createSupplier', object(supplier), withId(supplier)),
    },
    '/suppliers/{id}': item('getSupplier', withId(supplier)),
    '/orders': { post: create('createOrder', object(order), withId(order)) },
    '/orders/{id}': item('getOrder', withId(order)),
    '/imports': {
      post: create('createImport', object({ file: { ...string, format: 'binary' } }), job, [
        'application/json',
        'multipart/form-data',
      ]),
    },
    '/imports/{id}': item('getImport', job),
  });
  const rows: Record<string, Record<string, unknown>[]> = {
    suppliers: [{ id: 0, name: 'Acme' }],
    orders: [],
    imports: [],
  };
  const accepts: Record<string, (body: Record<string, unknown>) => boolean> = {
    suppliers: ({ name }) =>
      typeof name === 'string' &&
      name !== '' &&
      [...name].length <= 12 &&
      rows.suppliers?.some((row) => row.name === name) === false,
    orders: ({ supplier: of, price, start, end }) =>
      rows.suppliers?.[Number(of)] !== undefined &&
      Number.isInteger(price) &&
      Number(price) >= 0 &&
      [start, end].every((one) => new Date(String(one)).toJSON()?.slice(0, 10) === one) &&
      String(start) < String(end),
    imports: ({ file }) => file !== '',
  };
  const { report } = await reached(
    document,
    async ({ method, url, headers, body }) => {
      const { pathname, searchParams } = new URL(url, 'http://localhost');
      const [, name = '', id = ''] = pathname.split('/');
      const all = rows[name];
      if (all === undefined) return { status: 404 };
      const began = all[Number(id)]?.began;
      if (method === 'GET' && /^\d+$/.test(id) && all[Number(id)] !== undefined) {
        const state = Number(began) > 3 ? 'DONE' : 'RUNNING';
        if (began !== undefined) Object.assign(all[Number(id)] ?? {}, { began: Number(began) + 1 });
        return fine(
          JSON.stringify({ ...all[Number(id)], ...(began === undefined ? {} : { state, began: undefined }) }),
        );
      }
      if (method === 'GET' && id === '' && name === 'suppliers') {
        const [offset, limit] = ['offset', 'limit'].map((one) => Number(searchParams.get(one) ?? -1));
        if (!(Number.isInteger(offset) && Number(offset) >= 0 && Number(limit) > 0)) return { status: 400 };
        const items = all.slice(offset, Number(offset) + Number(limit));
        // As many servers with pages do, it counts what is there only if there are rows.
        return fine(JSON.stringify({ total: all.length, items }));
      }
      if (method !== 'POST' || id !== '') return { status: 404 };
      const type = { 'content-type': headers['content-type'] ?? '' };
      const form =
        name === 'imports' ? await new Response(body, { headers: type }).formData().catch(() => undefined) : undefined;
      const file = form?.get('file');
      const sent =
        name === 'imports' ? { file: file instanceof File ? await file.text() : '' } : parsedJson(body)?.value;
      if (!isObject(sent) || accepts[name]?.(sent) !== true) return { status: 400 };
      all.push({ ...sent, id: all.length, ...(name === 'imports' ? { began: 0 } : {}) });
      const created = { ...all.at(-1), ...(name === 'imports' ? { state: 'PENDING', began: undefined } : {}) };
      return { status: 201, body: JSON.stringify(created) };
    },
    { checks: ['valid input', 'behavior'] },
  );
  expect(report.operations.filter((one) => !one.reached)).toEqual([]);
  expect(report.findings.map(({ check: name, title }) => `${name}: ${title}`)).toEqual([
    expect.stringMatching(/^accept-type: body\/price: price is \d+\.\d+, as type "number" allows, but the request/),
  ]);
});

it('a resource that only an operation for --disposable creates has this as its reason', async () => {
  const row = { type: 'object', properties: { id: { type: 'string' } } };
  const named = { parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }] };
  const document = openapi({
    '/health': { get: { responses: done } },
    '/runs': { post: { operationId: 'startRuns', responses: { 202: { description: '', content: json(row) } } } },
    '/runs/{id}': { ...named, get: { operationId: 'getRun', responses: { ...done, 404: { description: '' } } } },
  });
  const { report } = await reached(document, ({ url }) => ({ status: url === '/health' ? 200 : 404, body: '{}' }), {
    disposable: false,
  });
  const reasons = Object.fromEntries(report.operations.map(({ id, reason }) => [id, reason]));
  expect(reasons.getRun).toBe('startRuns, which creates what its path names, is not called: needs --disposable');
});

it('an action that a user without permissions may run is found, although the known resource is in another state', async () => {
  const order = {
    type: 'object',
    required: ['id'],
    properties: { id: { type: 'string' }, state: { anyOf: [{ const: 'new' }, { const: 'paid' }] } },
  };
  const named = { parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }] };
  const responses = (status: number) =>
    Object.fromEntries([status, 401, 403, 404, 409].map((one) => [one, { description: '', content: json(order) }]));
  const document = openapi(
    {
      '/orders': { post: { operationId: 'createOrder', responses: responses(201) } },
      '/orders/{id}': { ...named, get: { operationId: 'getOrder', responses: responses(200) } },
      '/orders/{id}/pay': { ...named, post: { operationId: 'payOrder', responses: responses(200) } },
    },
    {
      security: [{ key: [] }],
      components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-key' } } },
    },
  );
  const orders: { id: string; state: string }[] = [];
  const { report } = await reached(
    document,
    ({ method, url, headers }) => {
      const body = (status: number, one: object = {}) => ({ status, body: JSON.stringify(one) });
      const [, , id, verb] = url.split(/[/?]/);
      const found = orders.find((one) => one.id === id);
      if (!['boss', 'guest'].includes(String(headers['x-key']))) return body(401);
      if (method === 'POST' && id === undefined) {
        if (headers['x-key'] !== 'boss') return body(403);
        orders.push({ id: `o${orders.length}`, state: 'new' });
        return body(201, orders.at(-1));
      }
      if (found === undefined) return body(404);
      if (verb !== 'pay') return body(headers['x-key'] === 'boss' ? 200 : 403, found);
      if (found.state !== 'new') return body(409);
      return body(200, Object.assign(found, { state: 'paid' }));
    },
    {
      checks: ['invalid input'],
      auth: { caller: () => ({ 'x-key': 'boss' }), forbidden: () => ({ 'x-key': 'guest' }) },
    },
  );
  expect(report.findings.filter(({ check: one }) => one === 'missing-permission')).toMatchObject([
    { operation: 'payOrder' },
  ]);
});
