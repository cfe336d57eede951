import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { check } from '../check.ts';
import { isObject, type JsonObject, parsedJson } from '../json.ts';
import type { OperationReport } from './report.ts';

/** A server whose resources have no IDs, as those of many strangers. */
const text = { type: 'string' };
const object = (properties: JsonObject, required = Object.keys(properties)) => ({
  schema: { type: 'object', required, properties },
});
const json = (content: object) => ({ content: { 'application/json': content } });
const flag = object({ name: { ...text, example: 'dark-mode' }, notes: { type: 'array', items: { type: 'object' } } }, [
  'name',
]);
const operation = (operationId: string, status: number, body?: object, response?: object) => ({
  operationId,
  ...(body === undefined ? {} : { requestBody: { required: true, ...json(body) } }),
  responses: { [status]: { description: 'Done.', ...(response === undefined ? {} : json(response)) } },
});
const list = (name: string, item: object) => object({ [name]: { type: 'array', items: item } });
const named = object({ name: text });
const inPath = (path: string) =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: text }));
const flagPath = '/projects/{projectId}/flags/{flagName}';
const paths: Record<string, object> = {
  '/projects': { get: operation('listProjects', 200, undefined, list('projects', object({ id: text }).schema)) },
  '/stages': { get: operation('listStages', 200, undefined, list('stages', named.schema)) },
  '/stages/{stage}/order': { put: operation('orderStage', 204, object({ order: { type: 'integer' } })) },
  '/mode': {
    get: operation('getMode', 200, undefined, object({ isReadOnly: { type: 'boolean' } })),
    post: operation('setMode', 204, object({ isReadOnly: { type: 'boolean', const: true } })),
  },
  '/projects/{projectId}/flags': { post: operation('createFlag', 201, flag, flag) },
  [flagPath]: {
    get: operation(
      'getFlag',
      200,
      undefined,
      object({ name: text, links: { type: 'array', items: { type: 'object' } } }),
    ),
    put: operation('changeFlag', 200, flag, flag),
    delete: operation('deleteFlag', 204),
  },
  [`${flagPath}/stages/{stage}/on`]: { post: operation('switchOn', 204) },
  [`${flagPath}/star`]: { post: operation('star', 204), delete: operation('unstar', 204) },
  [`${flagPath}/links`]: {
    post: operation('createLink', 204, object({ url: { ...text, example: 'https://example.com/a' } })),
  },
  [`${flagPath}/links/{linkId}`]: { delete: operation('deleteLink', 204) },
  '/tag-types': { get: operation('listTagTypes', 200, undefined, list('tagTypes', named.schema)) },
  '/tags': {
    post: operation(
      'createTag',
      201,
      object({ type: text, value: text }),
      object({ version: text, tag: { type: 'object' } }),
    ),
  },
  '/tags/{type}/{value}': { get: operation('getTag', 200, undefined, object({ value: text })) },
  '/keys': { post: operation('createKey', 201, named, object({ name: text, secret: text })) },
  '/keys/{key}': { delete: operation('deleteKey', 204) },
  '/roles': {
    get: {
      ...operation('listRoles', 200, undefined, list('roles', named.schema)),
      parameters: [{ name: 'projectId', in: 'query', schema: text }],
    },
  },
  '/client/flags': { get: operation('listClientFlags', 200, undefined, list('flags', named.schema)) },
  '/odd': { post: operation('createOdd', 200, named, named) },
};
for (const [path, item] of Object.entries(paths)) Object.assign(item, { parameters: inPath(path) });

const flags = new Map<string, { name: string; links: { id: string; url: string }[]; isStarred: boolean }>();
const tags = new Set<string>();
const keys = new Set<string>();
let isReadOnly = false;
let count = 0;

/** The response to a request: a status, and optionally a body. */
function respond({ method = '', headers, url = '' }: IncomingMessage, body: unknown): readonly [number, unknown?] {
  const { pathname, searchParams } = new URL(url, 'http://server');
  const [, top, first, second, name = '', below, id] = pathname.split('/').map(decodeURIComponent);
  const sent = isObject(body) ? body : {};
  if (isReadOnly && method !== 'GET' && top !== 'mode') return [503];
  if (method !== 'GET' && headers['content-type'] === undefined) return [415];
  if (headers.authorization !== (top === 'client' ? 'client' : 'admin')) return [401];
  const route = `${method} ${top}`;
  if (route === 'GET projects') return [200, { projects: [{ id: 'default' }] }];
  if (route === 'GET stages') return [200, { stages: [{ name: 'live' }] }];
  if (route === 'PUT stages') return [first === 'live' ? 204 : 404];
  if (route === 'GET tag-types') return [200, { tagTypes: [{ name: 'simple' }] }];
  if (route === 'GET roles') return searchParams.get('projectId') === 'default' ? [200, { roles: [] }] : [400];
  if (route === 'GET client') return [200, { flags: [] }];
  if (route === 'POST odd') return [202, sent];
  if (route === 'GET mode') return [200, { isReadOnly }];
  if (route === 'POST mode') {
    isReadOnly = sent.isReadOnly === true;
    return [204];
  }
  if (route === 'POST tags' && sent.type !== 'simple') return [400];
  if (route === 'POST tags') {
    tags.add(`${sent.type} ${sent.value}`);
    return [201, { version: '1', tag: sent }];
  }
  if (route === 'GET tags') return tags.has(`${first} ${second}`) ? [200, { value: second }] : [404];
  if (route === 'POST keys') {
    count += 1;
    const secret = `secret-key-number-${count}`;
    keys.add(secret);
    return [201, { name: sent.name, secret }];
  }
  if (route === 'DELETE keys') return [keys.delete(first ?? '') ? 204 : 404];
  if (top !== 'projects' || first !== 'default' || second !== 'flags') return [404];
  if (name === '') {
    if (!/^[a-z\d-]+$/.test(String(sent.name))) return [400];
    if (flags.has(String(sent.name))) return [409];
    flags.set(String(sent.name), { name: String(sent.name), links: [], isStarred: false });
    return [201, { name: sent.name }];
  }
  const flag = flags.get(name);
  if (flag === undefined) return [404];
  if (below === undefined && method === 'DELETE') return [flags.delete(name) ? 204 : 404];
  if (below === undefined) return [200, { name, links: flag.links }];
  if (below === 'stages') return [id === 'live' ? 204 : 403];
  if (below === 'links' && method === 'POST') {
    if (!URL.canParse(String(sent.url))) return [400];
    count += 1;
    flag.links.push({ id: `link ${count}`, url: String(sent.url) });
    return [204];
  }
  if (below === 'links') return [flag.links.some((link) => link.id === id) ? 204 : 404];
  if (method === 'DELETE' && !flag.isStarred) return [404];
  flag.isStarred = method === 'POST';
  return [204];
}

const server = createServer(async (request, response) => {
  let content = '';
  for await (const chunk of request) content += String(chunk);
  const [status, body] = respond(request, parsedJson(content)?.value);
  response.writeHead(status, body === undefined ? {} : { 'content-type': 'application/json' });
  response.end(body === undefined ? undefined : JSON.stringify(body));
});
let folder: string;
let reached: Map<string, OperationReport>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reach-'));
  const spec = join(folder, 'openapi.json');
  await writeFile(spec, JSON.stringify({ openapi: '3.1.0', info: { title: 'Flags', version: '1' }, paths }));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { operations } = await check({
    spec,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    disposable: true,
    checks: [],
    auth: { caller: (called) => ({ authorization: called?.path.startsWith('/client') === true ? 'client' : 'admin' }) },
  });
  reached = new Map(operations.map((one) => [one.id, one]));
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true });
});

const { createOdd: _, ...all } = Object.fromEntries(
  Object.values(paths).flatMap((item) =>
    Object.values(item).flatMap(({ operationId }) => (operationId === undefined ? [] : [[operationId, true]])),
  ),
) as Record<string, boolean>;

describe('operations that need more than a generated request', () => {
  it.each(Object.keys(all))('include %s, which is reached', (id) => {
    expect(reached.get(id)?.reason).toBeUndefined();
    expect(reached.get(id)?.reached).toBe(true);
  });

  it('are not reached by a success that the contract does not declare', () => {
    expect(reached.get('createOdd')).toMatchObject({
      reached: false,
      reason: 'it returned 202, which is not declared',
    });
  });

  it('leave a mode of the server as it was', () => {
    expect(isReadOnly).toBe(false);
  });
});
