import { afterAll, beforeAll, expect, it } from 'vitest';
import { readContract } from '../kit/contract.ts';
import { type Client, clientOf } from '../kit/judge.ts';
import type { Started } from '../kit/serve.ts';
import { start } from './server.ts';

let started: Started;
let client: Client;
let anonymous: Client;

beforeAll(async () => {
  started = await start();
  const contract = await readContract(started.corrected ?? '');
  const strict = (plain: Client): Client => {
    return async (line, options) => {
      const reply = await plain(line, options);
      expect(reply.faults, line).toEqual([]);
      return reply;
    };
  };
  client = strict(clientOf(contract, started.url, { ...(await started.auth?.caller()) }));
  anonymous = strict(clientOf(contract, started.url));
});

afterAll(() => started.close());

async function names(line: string) {
  return (await client(`GET ${line}`)).body.map(({ name }: { name: string }) => name);
}

it('creates, returns, updates and deletes a pet', async () => {
  const sent = {
    name: 'Laika',
    photoUrls: ['https://example.com/a.png'],
    tags: [{ name: 'space' }],
    status: 'pending',
  };
  const created = await client('POST /pet', { body: { id: 'ignored', other: 1, ...sent } });
  expect([created.status, created.body]).toEqual([200, { ...sent, id: created.body.id }]);
  const path = `/pet/${created.body.id}`;
  expect((await client(`GET ${path}`)).body).toEqual(created.body);
  expect(await names('/pet/findByTags?tags=space')).toEqual(['Laika']);
  const put = await client('PUT /pet', { body: { id: created.body.id, name: 'Belka', photoUrls: [] } });
  expect(put.body).toEqual({ id: created.body.id, name: 'Belka', photoUrls: [] });
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  expect((await client(`POST ${path}`, { body: 'status=sold', headers: form })).status).toBe(200);
  expect((await client(`GET ${path}`)).body).toMatchObject({ name: 'Belka', status: 'sold' });
  const upload = new FormData();
  upload.set('file', new Blob(['abc']), 'a.png');
  expect((await client(`POST ${path}/uploadImage`, { body: upload })).body.message).toContain('3 bytes');
  expect((await client(`DELETE ${path}`)).status).toBe(204);
  for (const method of ['GET', 'DELETE']) expect((await client(`${method} ${path}`)).status).toBe(404);
  expect((await client(`POST ${path}`, { body: 'name=x', headers: form })).status).toBe(404);
  expect((await client('PUT /pet', { body: put.body })).status).toBe(404);
});

it('finds pets', async () => {
  expect(await names('/pet/findByStatus?status=available&status=sold')).toEqual(['Rex', 'Nemo']);
  expect((await client('GET /pet/findByStatus?status=lost')).status).toBe(400);
  expect((await client('GET /pet/findByTags')).status).toBe(400);
  expect((await client('GET /store/inventory')).body).toEqual({ available: 1, pending: 1, sold: 1 });
});

it('rejects invalid pets', async () => {
  for (const body of [{}, { name: 'x' }, { name: 1, photoUrls: [] }, { name: 'x', photoUrls: [], status: 'lost' }]) {
    const added = await client('POST /pet', { body });
    expect([added.status, added.headers.get('allow')]).toEqual([405, 'POST, PUT']);
    expect((await client('PUT /pet', { body: { id: 1, ...body } })).status).toBe(400);
  }
  expect((await client('GET /pet/x')).status).toBe(400);
});

it('accepts and returns XML', async () => {
  const headers = { 'content-type': 'application/xml', accept: 'application/xml' };
  const body = '<Pet><name>Zoë</name><tag><tag><id>3</id></tag></tag><photoUrl><photoUrl>u</photoUrl></photoUrl></Pet>';
  const created = await client('POST /pet', { body, headers });
  expect(created.text).toMatch(/<Pet>.*<name>Zoë<\/name>.*<photoUrl><photoUrl>u<\/photoUrl><\/photoUrl>/s);
  const id = /<id>(\d+)<\/id><\/Pet>/.exec(created.text)?.[1];
  expect((await client(`GET /pet/${id}`)).body).toMatchObject({ name: 'Zoë', photoUrls: ['u'] });
  await client(`DELETE /pet/${id}`);
});

it('accepts orders', async () => {
  const { body } = await client('POST /store/order', { body: { petId: 1, quantity: 2, status: 'placed' } });
  expect(body).toEqual({ id: body.id, petId: 1, quantity: 2, status: 'placed', complete: false });
  expect((await client(`GET /store/order/${body.id}`)).body).toEqual(body);
  expect((await client('POST /store/order', { body: { quantity: 2 ** 31 } })).status).toBe(400);
  expect((await client('GET /store/order/0')).status).toBe(400);
  expect((await client(`DELETE /store/order/${body.id}`)).status).toBe(204);
  expect((await client(`GET /store/order/${body.id}`)).status).toBe(404);
});

it('has users', async () => {
  const user = { username: 'ada', password: 'secret', email: 'ada@example.org' };
  expect((await client('POST /user', { body: user })).status).toBe(200);
  expect((await client('POST /user', { body: user })).status).toBe(409);
  expect((await client('POST /user/createWithArray', { body: [{ username: 'b' }] })).status).toBe(200);
  expect((await client('POST /user/createWithList', { body: [{ username: 'c' }, { username: 'c' }] })).status).toBe(
    409,
  );
  expect((await client('POST /user/createWithList', { body: [{ username: 'c' }] })).status).toBe(200);
  expect((await client('GET /user/ada')).body).toEqual(user);
  const login = await client('GET /user/login?username=ada&password=secret');
  expect([login.status, typeof login.body]).toEqual([200, 'string']);
  expect((await client('GET /user/login?username=ada&password=wrong')).status).toBe(400);
  expect((await client('GET /user/logout')).status).toBe(200);
  expect((await client('PUT /user/ada', { body: { username: 'lovelace' } })).status).toBe(200);
  expect((await client('GET /user/ada')).status).toBe(404);
  for (const name of ['lovelace', 'b', 'c']) expect((await client(`DELETE /user/${name}`)).status).toBe(204);
  expect((await client('POST /user', { body: {} })).status).toBe(400);
});

it('rejects unauthenticated and unauthorized requests', async () => {
  const forbidden = { headers: { ...(await started.auth?.forbidden?.()) } };
  const expired = { headers: { ...(await started.auth?.expired?.()) } };
  for (const line of ['GET /pet/1', 'GET /store/inventory', 'GET /pet/findByTags?tags=x', 'DELETE /pet/1']) {
    expect((await anonymous(line)).status).toBe(401);
    expect((await anonymous(line, expired)).status).toBe(401);
  }
  expect((await anonymous('DELETE /pet/1', forbidden)).status).toBe(403);
});

it('rejects unknown paths and methods', async () => {
  const patched = await client('PATCH /pet');
  expect([patched.status, patched.headers.get('allow')]).toEqual([405, 'OPTIONS, POST, PUT']);
  expect((await client('GET /nowhere')).status).toBe(404);
});
