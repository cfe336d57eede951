import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { check } from '../src/check.ts';
import type { Finding } from '../src/finding/finding.ts';
import { indexContract } from './servers/kit/contract.ts';
import { type Rejection, rejection } from './servers/kit/rejection.ts';
import { type Alter, type Handler, type Running, serve } from './servers/kit/serve.ts';

/** What the maintainers of a server rightly reject as findings, and what is true beside it. */

const text = { type: 'string', minLength: 1, maxLength: 20 };
const content = (schema: object) => ({ 'application/json': { schema } });
const rejected = { type: 'object', properties: { message: { type: 'string' } } };
const operation = (operationId: string, status: number, schema?: object, body?: object) => ({
  operationId,
  ...(body && { requestBody: { required: true, content: content(body) } }),
  responses: {
    [status]: { description: 'Done', ...(schema && { content: content(schema) }) },
    ...Object.fromEntries(
      [400, 401, 404, 405, 415].map((code) => [code, { description: 'Rejected', content: content(rejected) }]),
    ),
  },
});
const inPath = (...names: string[]) => ({
  parameters: names.map((name) => ({ name, in: 'path', required: true, schema: text })),
});
const object = (required: string[], properties: object) => ({ type: 'object', required, properties });
const room = object(['id'], {
  id: { type: 'string', readOnly: true },
  house: { type: 'string', maxLength: 20 },
  size: { enum: ['small', 'large'] },
  note: text,
});
const newRoom = object(['size'], {
  house: { type: 'string', maxLength: 20 },
  size: { type: 'string', pattern: '^([Ss]mall|[Ll]arge)$', example: 'Small' },
  note: text,
});

const shelf = { name: 'shelf', in: 'query', schema: { type: 'string', pattern: '^[A-Z][0-9]$' } };

const document = {
  openapi: '3.1.0',
  info: { title: 'True findings', version: '1' },
  security: [{ key: [] }],
  components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
  paths: {
    '/registrations': { post: operation('registerApp', 204, undefined, object(['name'], { name: text })) },
    '/label': {
      put: operation(
        'setLabel',
        204,
        undefined,
        object(['kind', 'name'], { kind: { ...text, example: 'plain' }, name: text }),
      ),
    },
    '/rules/check': {
      post: operation(
        'checkRule',
        204,
        undefined,
        object(['operator', 'value'], { operator: { enum: ['IS', 'BELOW'] }, value: text }),
      ),
    },
    '/houses/{house}/rooms': { ...inPath('house'), post: operation('createRoom', 201, room, newRoom) },
    '/houses/{house}/rooms/{id}': {
      ...inPath('house', 'id'),
      get: operation('getRoom', 200, room),
      put: operation('replaceRoom', 200, room, newRoom),
    },
    '/slow': { get: operation('getSlowly', 204) },
    '/health': { get: { ...operation('getHealth', 204), parameters: [shelf] } },
    '/apps': { get: operation('listApps', 200, { type: 'array', items: text }) },
  },
};

const apps = new Set<string>();
const rooms = new Map<string, Record<string, unknown>>();
const failed = (status: number, message = 'Rejected.') => ({ status, body: { message } });
const bodyIn = (body: { readonly value?: unknown }) => Object(body.value) as Record<string, string>;

const handlers: Readonly<Record<string, Handler<undefined>>> = {
  registerApp: ({ body }) => {
    apps.add(String(bodyIn(body).name));
    return { status: 204 };
  },
  listApps: () => ([...apps].every((one) => /^[\w -]*$/.test(one)) ? { status: 200, body: [] } : { status: 500 }),
  setLabel: ({ body }) => {
    const { kind, name = '' } = bodyIn(body);
    // UTF-16 units are counted instead of characters.
    return kind === 'plain' && name.length <= 20 ? { status: 204 } : failed(400);
  },
  checkRule: ({ body }) => {
    const { operator, value } = bodyIn(body);
    const isWrong = operator === 'BELOW' && !Number.isFinite(Number(value));
    return isWrong ? failed(400, '"value" must be a number.') : { status: 204 };
  },
  createRoom: ({ values, body }) => {
    const id = `r${rooms.size + 1}`;
    const { size = '', ...rest } = bodyIn(body);
    rooms.set(id, { id, ...rest, size: size.toLowerCase(), house: values.path.house });
    return { status: 201, body: rooms.get(id) };
  },
  getRoom: ({ values }) => {
    const found = rooms.get(String(values.path.id));
    return found === undefined ? failed(404) : { status: 200, body: found, headers: { etag: tagOf(found) } };
  },
  replaceRoom: ({ values, body }) => {
    const id = String(values.path.id);
    const { size = '', ...rest } = bodyIn(body);
    if (!rooms.has(id)) return failed(404);
    rooms.set(id, { id, ...rest, size: size.toLowerCase(), house: values.path.house });
    return { status: 200, body: { id }, headers: { etag: tagOf({ id }) } };
  },
  getSlowly: () => sleep(900).then(() => ({ status: 204 })),
  getHealth: () => ({ status: 204 }),
};

/** Like the ETag that frameworks add: of the body, whatever it is. */
function tagOf(body: object): string {
  return `W/"${Buffer.from(JSON.stringify(body)).toString('base64url')}"`;
}

/** A website that returns its page for all other paths, and does not read the query of one. */
const website: Alter = (request, next, known) =>
  known === undefined && request.method === 'GET'
    ? { status: 200, headers: { 'content-type': 'text/html' }, body: '<!doctype html>' }
    : next({ ...request, url: request.url.replace(/^(\/health)\?.*/, '$1') });

let folder: string;
let server: Running;
let findings: readonly Finding[];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'contract-check-maintainer-'));
  const spec = join(folder, 'openapi.json');
  await writeFile(spec, JSON.stringify(document));
  server = await serve(
    {
      contract: indexContract(JSON.parse(JSON.stringify(document))),
      handlers,
      authenticate: ({ id }, { headers }) => {
        if (id !== 'getHealth' && headers.authorization !== 'Bearer secret-of-test') throw rejection(401, 'no key');
        return undefined;
      },
      reject: ({ status }: Rejection) => failed(status),
      head: true,
      lenient: true,
    },
    { alter: website },
  );
  const auth = { caller: () => ({ authorization: 'Bearer secret-of-test' }) };
  const report = await check({ spec, url: server.url, auth, disposable: true, minCoverage: 0, timeout: 0.6 });
  ({ findings } = report);
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

it('has only findings that maintainers accept', () => {
  expect(findings.map(({ check, operation, title }) => `${check} ${operation}: ${title}`).toSorted()).toEqual([
    'accept-maxLength setLabel: body/name: name has 20 characters, as maxLength 20 allows, but the request is rejected',
    'missing-credentials getHealth: A request without credentials must be rejected, unless `security` allows it: without credentials',
    // A parameter is always a text, also if it is 12.
    expect.stringMatching(/^reject-pattern getHealth: query.shelf: .*, which violates pattern /),
    'server-error listApps: The server fails with 500 to a request that succeeded before',
  ]);
});
