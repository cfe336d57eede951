import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Contract, readContract } from '../kit/contract.ts';
import { type Client, clientOf } from '../kit/judge.ts';
import type { Started } from '../kit/serve.ts';
import { start } from './server.ts';

const plane = { name: 'Block plane', kind: 'hand', price: 0.07, boughtOn: '2024-02-29' };
const unknownId = '00000000-0000-4000-8000-000000000000';

let started: Started;
let contract: Contract;
let client: Client;
const covered = new Set<string>();

async function identity(name: 'caller' | 'expired' | 'forbidden' | 'otherTenant') {
  return { ...(await started.auth?.[name]?.()) };
}

beforeAll(async () => {
  started = await start();
  contract = await readContract(started.specification);
  const plain = clientOf(contract, started.url, await identity('caller'));
  client = async (line, options) => {
    const reply = await plain(line, options);
    expect(reply.faults, line).toEqual([]);
    if (reply.status < 400) covered.add(line.split(' ')[0] + shape(line));
    return reply;
  };
});

afterAll(() => started.close());

function shape(line: string): string {
  return (line.split(' ')[1]?.split('?')[0] ?? '').replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '{}');
}

async function createTool(more: object = {}) {
  const { body, headers } = await client('POST /tools', { body: { ...plane, ...more } });
  return { tool: body, etag: headers.get('etag') ?? '' };
}

describe('tools', () => {
  it('are created, read, replaced, updated and deleted', async () => {
    const created = await client('POST /tools', { body: { ...plane, note: null, dimensions: { width: 4.5 } } });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ ...plane, state: 'available', note: null, dimensions: { width: 4.5 } });
    const path = created.headers.get('location');
    const first = created.headers.get('etag') ?? '';
    expect((await client(`GET ${path}`)).body).toEqual(created.body);
    expect((await client(`HEAD ${path}`)).headers.get('etag')).toBe(first);
    expect((await client(`GET ${path}`, { headers: { 'if-none-match': `W/${first}` } })).status).toBe(304);

    const put = await client(`PUT ${path}`, {
      body: { ...plane, keeper: 'a@example.org' },
      headers: { 'if-match': first },
    });
    expect(put.body).toMatchObject({ id: created.body.id, keeper: 'a@example.org', createdAt: created.body.createdAt });
    expect(put.body).not.toHaveProperty('dimensions');
    const second = put.headers.get('etag') ?? '';
    expect(second).not.toBe(first);
    expect((await client(`PUT ${path}`, { body: plane, headers: { 'if-match': first } })).status).toBe(412);
    expect((await client(`PUT ${path}`, { body: plane })).status).toBe(428);

    const patch = await client(`PATCH ${path}`, {
      body: JSON.stringify({ keeper: null, price: 3 }),
      headers: { 'if-match': second, 'content-type': 'application/merge-patch+json' },
    });
    expect(patch.body).toMatchObject({ ...plane, price: 3 });
    expect(patch.body).not.toHaveProperty('keeper');
    expect((await client(`DELETE ${path}`, { headers: { 'if-match': second } })).status).toBe(412);
    expect((await client(`DELETE ${path}`)).status).toBe(204);
    expect((await client(`GET ${path}`)).status).toBe(404);
    expect((await client(`HEAD ${path}`)).status).toBe(404);
  });

  it('have disjoint, complete and ordered pages', async () => {
    const all = (await client('GET /tools?limit=50&orderBy=-price')).body;
    const prices = all.items.map((tool: { price: number }) => tool.price);
    expect(prices).toEqual([...prices].sort((one, other) => other - one));
    const ids: string[] = [];
    let next: string | undefined = '/tools?limit=2&orderBy=-price';
    while (next !== undefined) {
      const page = await client(`GET ${next}`);
      expect(page.headers.get('x-total-count')).toBe(String(all.total));
      ids.push(...page.body.items.map(({ id }: { id: string }) => id));
      next = /<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1];
    }
    expect(ids).toEqual(all.items.map(({ id }: { id: string }) => id));
  });

  it('are found by filters', async () => {
    const names = async (query: string) =>
      (await client(`GET /tools?${query}`)).body.items.map(({ name }: { name: string }) => name);
    expect(await names('kind=measuring&kind=hand&maxPrice=30')).toEqual(['Spirit level', 'Whittling knife']);
    expect(await names('boughtFrom=2020-02-29&boughtTo=2021-03-04')).toEqual(['Bench plane', 'Drill press']);
    expect(await names('search=%53AW')).toEqual(['Jigsaw']);
    expect((await client('GET /inventory?kinds=hand,power&least=100')).body).toEqual({ power: 2 });
  });

  it('are replayed for an idempotency key', async () => {
    const headers = { 'idempotency-key': 'key-00000001' };
    const first = await client('POST /tools', { body: plane, headers });
    const again = await client('POST /tools', { body: plane, headers });
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect((await client('POST /tools', { body: { ...plane, price: 8 }, headers })).status).toBe(409);
    await client(`DELETE /tools/${first.body.id}`);
  });

  it('have unique serials', async () => {
    const { tool } = await createTool({ serial: 'ZZ-1234' });
    expect((await client('POST /tools', { body: { ...plane, serial: 'ZZ-1234' } })).status).toBe(409);
    await client(`DELETE /tools/${tool.id}`);
  });

  it('have photos', async () => {
    const { tool } = await createTool();
    const photo = (type: string) => {
      const form = new FormData();
      form.set('caption', 'In use');
      form.set('focus', '{"x":1,"y":2}');
      form.set('file', new Blob([new Uint8Array([137, 80, 78, 71])], { type }), 'a.png');
      return form;
    };
    const added = await client(`POST /tools/${tool.id}/photos`, { body: photo('image/png') });
    expect(added.body).toMatchObject({ size: 4, mediaType: 'image/png', focus: { x: 1, y: 2 } });
    const image = await fetch(started.url + added.headers.get('location'), { headers: await identity('caller') });
    expect([image.headers.get('content-type'), (await image.arrayBuffer()).byteLength]).toEqual(['image/png', 4]);
    expect((await client(`GET ${added.headers.get('location')}`)).status).toBe(200);
    expect((await client(`POST /tools/${tool.id}/photos`, { body: photo('text/plain') })).status).toBe(415);
    await client(`DELETE /tools/${tool.id}`);
    expect((await client(`GET ${added.headers.get('location')}`)).status).toBe(404);
  });

  it.each([
    [{ name: '' }],
    [{ name: ' ' }],
    [{ kind: 'blunt' }],
    [{ price: '1' }],
    [{ price: -1 }],
    [{ price: 0.005 }],
    [{ boughtOn: '2023-02-29' }],
    [{ serial: 'zz-1234' }],
    [{ serial: null }],
    [{ manual: 'not a uri' }],
    [{ dimensions: { width: 0 } }],
    [{ id: unknownId }],
  ])('are rejected with %j', async (wrong) => {
    expect((await client('POST /tools', { body: { ...plane, ...wrong } })).status).toBe(422);
  });
});

describe('jobs', () => {
  it.each([
    { kind: 'repair', fault: 'worn', parts: [{ sku: '000123', count: 2 }], labels: { 'x-a': 'b' } },
    { kind: 'sharpening', angle: 10.5, grit: 8000, tags: ['a', 'b-c'] },
    { kind: 'inspection', marks: [9.5, 'pass', false], inspector: 'Ada', inspectedOn: '2024-01-01', dueOn: null },
  ])('are created and deleted: $kind', async (special) => {
    const { tool } = await createTool();
    const created = await client('POST /jobs', {
      body: { toolId: tool.id, title: 'Do', doorCode: '1234', id: 'ignored', ...special },
    });
    expect(created.body).toMatchObject({ ...special, priority: 3 });
    expect(created.body).not.toHaveProperty('doorCode');
    expect((await client(`GET ${created.headers.get('location')}`)).body).toEqual(created.body);
    expect((await client(`DELETE /tools/${tool.id}`)).status).toBe(409);
    expect((await client(`DELETE /jobs/${created.body.id}`)).status).toBe(204);
    expect((await client(`GET /jobs/${created.body.id}`)).status).toBe(404);
    expect((await client(`DELETE /tools/${tool.id}`)).status).toBe(204);
  });

  it.each([
    { kind: 'repair' },
    { kind: 'paint' },
    { kind: 'repair', fault: 'x', angle: 20 },
    { kind: 'sharpening', angle: 45, grit: 400 },
    { kind: 'sharpening', angle: 10.25, grit: 400 },
    { kind: 'inspection', marks: [1, 'pass', true, 1] },
    { kind: 'inspection', marks: [1, 'pass'] },
    { kind: 'inspection', marks: [1, 'pass', true], inspector: 'Ada' },
    { kind: 'repair', fault: 'x', tags: ['a', 'a'] },
    { kind: 'repair', fault: 'x', labels: { y: 'z' } },
    { kind: 'repair', fault: 'x', toolId: unknownId },
  ])('are rejected: %j', async (special) => {
    const { items } = (await client('GET /tools')).body;
    expect((await client('POST /jobs', { body: { toolId: items[0].id, title: 'Do', ...special } })).status).toBe(422);
  });

  it('are listed by cursor, and by filters in every style', async () => {
    const titles = async (query: string) =>
      (await client(`GET /jobs?${query}`)).body.data.map(({ title }: { title: string }) => title);
    expect(await titles('filter[priority]=2&filter[kind]=repair')).toEqual(['True the sole']);
    expect(await titles('tags=urgent%7Ciron')).toEqual(['Grind the iron']);
    expect(await titles('numbers=1%203&order=desc')).toEqual(['Oil the tote', 'Grind the iron']);
    const bracketed = await client('GET /jobs?filter[kind]=repair&tags=wood&pageSize=1');
    expect((await client(`GET ${bracketed.body.next}`)).body).toMatchObject({ data: [{ number: 3 }], next: null });
    const pages: string[] = [];
    let next: string | null = '/jobs?pageSize=1&sort=title';
    while (next !== null) {
      const { body } = await client(`GET ${next}`);
      pages.push(...body.data.map(({ title }: { title: string }) => title));
      next = body.next;
    }
    expect(pages).toEqual(['Grind the iron', 'Oil the tote', 'True the sole']);
    expect((await client('GET /jobs?cursor=made-up')).status).toBe(400);
  });
});

describe('reports', () => {
  it('are created in the background', async () => {
    const { items } = (await client('GET /tools?limit=1')).body;
    const job = await client('POST /jobs', {
      body: { toolId: items[0].id, title: 'Say "a", then b', kind: 'repair', fault: 'x' },
    });
    // biome-ignore lint/plugin: it has no service, and issues its tokens itself
    vi.useFakeTimers({ toFake: ['Date'] });
    const created = await client('POST /reports', { body: { subject: 'jobs' } });
    expect([created.status, created.body.months]).toEqual([202, 12]);
    const path = created.headers.get('location');
    expect((await client(`GET ${path}/rows`)).status).toBe(409);
    expect((await client(`GET ${path}`)).body).toMatchObject({ state: 'pending', rows: null });
    vi.setSystemTime(Date.now() + 1000);
    expect((await client(`GET ${path}`)).body).toMatchObject({ state: 'done', rows: `${path}/rows` });
    const { text } = await client(`GET ${path}/rows`);
    vi.useRealTimers();
    expect(text).toContain(`${job.body.id},"Say ""a"", then b"\r\n`);
    await client(`DELETE ${path}`);
    expect((await client(`GET ${path}`)).status).toBe(404);
    await client(`DELETE /jobs/${job.body.id}`);
  });
});

describe('places', () => {
  it('are found by parameters in every style', async () => {
    const { body, headers } = await client(
      `GET /places/;shelf=A1/.red.blue/from=3,to=9?where=${encodeURIComponent('{"locked":true}')}`,
      { headers: { cookie: 'language=de', 'x-units': 'litre' } },
    );
    expect(headers.get('content-language')).toBe('de');
    expect(body.boxes.map(({ number, word }: { number: number; word: string }) => [number, word])).toEqual([
      [6, 'rot'],
      [8, 'blau'],
    ]);
  });

  it.each([
    '/places/A1/.red/from=1,to=2',
    '/places/;shelf=Z1/.red/from=1,to=2',
    '/places/;shelf=A1/.red.red/from=1,to=2',
    '/places/;shelf=A1/.red/from=1',
    '/places/;shelf=A1/.red/from=1,to=100',
    '/places/;shelf=A1/.red/from=1,to=2?where={',
  ])('are rejected: %s', async (path) => {
    expect((await client(`GET ${path}`)).status).toBe(400);
  });
});

describe('every request', () => {
  it.each([
    'limit=0',
    'limit=51',
    'limit=1.5',
    'limit=1&limit=2',
    'unknown=1',
    'kind=blunt',
    'boughtFrom=2023-02-29',
    'search=%',
  ])('with invalid parameters is rejected: %s', async (query) => {
    expect((await client(`GET /tools?${query}`)).status).toBe(400);
  });

  it('must be authenticated', async () => {
    const rateLimited = async (headers: Record<string, string>, line = 'GET /tools') =>
      (await client(line, { headers: { authorization: '', ...headers } })).status;
    expect(await rateLimited({})).toBe(401);
    expect(await rateLimited(await identity('expired'))).toBe(401);
    expect(await rateLimited(await identity('forbidden'))).toBe(403);
    expect(await rateLimited({ authorization: 'Basic caller-token' })).toBe(401);
    const bare = clientOf(contract, started.url);
    expect((await bare('GET /tools', { headers: { 'x-api-key': 'device-key' } })).status).toBe(200);
    expect((await bare('GET /tools', { headers: { 'x-api-key': 'made-up' } })).status).toBe(401);
    expect((await bare('POST /tools', { headers: { 'x-api-key': 'device-key' }, body: plane })).status).toBe(403);
    expect((await bare('GET /health')).body).toEqual({ status: 'ok' });
    covered.add('GET/health');
  });

  it('sees no data of another workshop', async () => {
    const { items } = (await client('GET /tools')).body;
    const headers = await identity('otherTenant');
    expect((await client(`GET /tools/${items[0].id}`, { headers })).status).toBe(404);
    expect((await client('GET /tools', { headers })).body.total).toBe(0);
    expect((await client('GET /jobs', { headers })).body.data).toEqual([]);
  });

  it('must have a readable body', async () => {
    const send = async (body: string | Uint8Array, type = 'application/json') =>
      (await client('POST /tools', { body, headers: { 'content-type': type } })).status;
    expect(await send('{')).toBe(400);
    expect(await send('')).toBe(400);
    expect(await send('{}', 'text/plain')).toBe(415);
    expect(await send(new Uint8Array([34, 255, 34]))).toBe(400);
    expect(await send(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)).toBe(400);
    expect(await send(`"${'a'.repeat(1024 * 1024)}"`)).toBe(413);
  });

  it('must have a method that its path declares', async () => {
    const deleted = await client('DELETE /tools');
    expect([deleted.status, deleted.headers.get('allow')]).toEqual([405, 'GET, OPTIONS, POST']);
    expect((await client('HEAD /jobs')).status).toBe(405);
    const options = await client('OPTIONS /tools');
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, OPTIONS, POST']);
    expect((await client('GET /tools/')).status).toBe(404);
    expect((await client('GET /nowhere')).status).toBe(404);
  });

  it('can be altered, and so can its response', async () => {
    const altered = await start({
      alter: async (request, next, operation) => {
        const reply = await next({ ...request, url: request.url.replace('limit=1', 'limit=2') });
        return operation?.id === 'listTools' ? { ...reply, status: 203 } : reply;
      },
    });
    const received = await clientOf(contract, altered.url, await identity('caller'))('GET /tools?limit=1');
    await altered.close();
    expect([received.status, received.body.items.length, received.faults.length]).toEqual([203, 2, 1]);
  });
});

it('implements every operation', () => {
  const shapes = contract.operations.map(({ method, path }) => method + path.replaceAll(/\{[^}]+\}/g, '{}'));
  const places = 'GET/places/{}/{}/{}';
  expect(shapes.filter((one) => one !== places && !covered.has(one))).toEqual([]);
});
