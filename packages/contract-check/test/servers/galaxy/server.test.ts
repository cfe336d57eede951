import { afterAll, beforeAll, expect, it } from 'vitest';
import { readContract } from '../kit/contract.ts';
import { type Client, clientOf } from '../kit/judge.ts';
import type { Started } from '../kit/serve.ts';
import { start } from './server.ts';

let started: Started;
let client: Client;
let otherTenant: Client;

function strict(plain: Client): Client {
  return async (line, options) => {
    const reply = await plain(line, options);
    expect(reply.faults, line).toEqual([]);
    return reply;
  };
}

beforeAll(async () => {
  started = await start();
  const contract = await readContract(started.corrected ?? '');
  client = strict(clientOf(contract, started.url, { ...(await started.auth?.caller()) }));
  otherTenant = strict(clientOf(contract, started.url));
});

afterAll(() => started.close());

it('lists planets in pages', async () => {
  const first = await client('GET /planets');
  expect([first.body.data.length, first.body.meta.total]).toEqual([10, 12]);
  expect(first.headers.get('x-pagination-total')).toBe('12');
  const second = await client(`GET ${first.body.meta.next}`);
  expect([second.body.data.length, second.body.meta.next]).toEqual([2, null]);
  expect((await client('GET /planets?limit=-1')).body.data).toEqual([]);
  expect((await client('GET /planets?limit=many')).status).toBe(400);
});

it('creates, returns, updates and deletes a planet', async () => {
  const sent = {
    name: 'Tatooine',
    description: null,
    type: 'terrestrial',
    habitabilityIndex: 1,
    physicalProperties: { mass: 0.1, temperature: { min: 1, felt: 2 }, hum: 3 },
    atmosphere: [{ compound: 'N2', percentage: 99.9, smell: 'none' }],
    satellites: [{ name: 'Ghomrassen', type: 'moon', orbit: { planet: { name: 'Tatooine' }, distance: 1 } }],
    creator: { id: 'ignored', name: 'George' },
    tags: [],
  };
  const created = await client('POST /planets', { body: { id: 'ignored', ...sent } });
  expect(created.status).toBe(201);
  expect(created.body).toMatchObject({ ...sent, creator: { name: 'George' } });
  const path = new URL(created.headers.get('location') ?? '').pathname;
  expect((await client(`GET ${path}`)).body).toEqual(created.body);
  expect((await client(`PUT ${path}`, { body: { name: 'Hoth' } })).body).toMatchObject({
    id: created.body.id,
    name: 'Hoth',
  });
  expect((await client(`GET ${path}`)).body).not.toHaveProperty('type');
  expect((await client(`DELETE ${path}`)).status).toBe(204);
  for (const method of ['GET', 'DELETE']) expect((await client(`${method} ${path}`)).status).toBe(404);
  expect((await client(`PUT ${path}`, { body: { name: 'Hoth' } })).status).toBe(404);
});

it.each([{}, { name: 1 }, { name: 'x', type: 'flat' }, { name: 'x', habitabilityIndex: 1.1 }, { name: 'x', more: 1 }])(
  'rejects the planet %j',
  async (body) => {
    expect((await client('POST /planets', { body })).status).toBe(400);
    expect((await client('PUT /planets/1', { body })).status).toBe(400);
  },
);

it('accepts and returns XML', async () => {
  const headers = { 'content-type': 'application/xml', accept: 'application/xml' };
  const body =
    '<planet><name>A &amp; B</name><habitabilityIndex>0.5</habitabilityIndex><tags>x</tags><tags>y</tags></planet>';
  const created = await client('POST /planets', { body, headers });
  expect(created.status).toBe(201);
  expect(created.text).toContain(
    '<name>A &amp; B</name><habitabilityIndex>0.5</habitabilityIndex><tags>x</tags><tags>y</tags>',
  );
  const path = new URL(created.headers.get('location') ?? '').pathname;
  expect((await client(`GET ${path}`)).body).toMatchObject({ name: 'A & B', habitabilityIndex: 0.5, tags: ['x', 'y'] });
  expect((await client('GET /planets?limit=1', { headers: { accept: 'application/xml' } })).text).toContain(
    '<planets><planet>',
  );
  expect((await client('POST /planets', { body: '<planet><name>', headers })).status).toBe(400);
  await client(`DELETE ${path}`);
});

it('accepts an image', async () => {
  const form = new FormData();
  form.set('image', new Blob(['abc'], { type: 'image/png' }), 'mars.png');
  const { body } = await client('POST /planets/1/image', { body: form });
  expect(body).toMatchObject({ fileSize: 3, mimeType: 'image/png' });
  expect((await client('GET /planets/1')).body.image).toBe(body.imageUrl);
  expect((await client('POST /planets/999999/image', { body: form })).status).toBe(404);
  expect((await client('POST /planets/1/image', { body: {} })).status).toBe(400);
});

it('creates celestial bodies', async () => {
  const planet = await client('POST /celestial-bodies', { body: { name: 'Pan', type: 'dwarf' } });
  expect([planet.status, (await client(`GET /planets/${planet.body.id}`)).body.name]).toEqual([201, 'Pan']);
  const moon = await client('POST /celestial-bodies', { body: { name: 'Io', type: 'moon', diameter: 3643.2 } });
  expect([moon.status, moon.body.diameter]).toEqual([201, 3643.2]);
  expect((await client('POST /celestial-bodies', { body: { name: 'Neither nor', type: 'nebula' } })).status).toBe(400);
  await client(`DELETE /planets/${planet.body.id}`);
});

it('has accounts', async () => {
  const body = { name: 'Cam', email: 'cam@scalar.com', password: 'scalar-is-cool' };
  expect((await otherTenant('POST /user/signup', { body })).body).toMatchObject({ name: 'Cam' });
  expect((await otherTenant('POST /user/signup', { body })).status).toBe(409);
  expect((await otherTenant('POST /user/signup', { body: { email: 'cam' } })).status).toBe(400);
  const { token } = (await otherTenant('POST /auth/token', { body })).body;
  expect((await otherTenant('POST /auth/token', { body: { ...body, password: 'no' } })).status).toBe(401);
  expect((await otherTenant('GET /me', { headers: { authorization: `Bearer ${token}` } })).body.name).toBe('Cam');
  const basic = `Basic ${Buffer.from('cam@scalar.com:scalar-is-cool').toString('base64')}`;
  expect((await otherTenant('GET /me', { headers: { authorization: basic } })).body.name).toBe('Cam');
  expect((await otherTenant('GET /me', { headers: { 'x-api-key': 'galaxy-key' } })).body.name).toBe('Marc');
  expect((await otherTenant('GET /me?api_key=galaxy-key')).body.name).toBe('Marc');
});

it('rejects unauthenticated requests', async () => {
  const expired = { headers: { ...(await started.auth?.expired?.()) } };
  for (const options of [{}, expired]) {
    expect((await otherTenant('GET /me', options)).status).toBe(401);
    expect((await otherTenant('DELETE /planets/1', options)).status).toBe(401);
    expect(
      (await otherTenant('POST /celestial-bodies', { ...options, body: { name: 'Io', type: 'moon' } })).status,
    ).toBe(401);
    expect((await otherTenant('POST /planets', { ...options, body: { name: 'x' } })).status).toBe(403);
  }
});

it('rejects unknown paths and methods', async () => {
  const patched = await client('PATCH /planets');
  expect([patched.status, patched.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS, POST']);
  expect((await client('HEAD /planets')).status).toBe(200);
  expect((await client('GET /planets/x')).status).toBe(404);
  expect((await client('GET /nowhere')).status).toBe(404);
});
