import { afterAll, beforeAll, expect, it } from 'vitest';
import { readContract } from '../kit/contract.ts';
import { type Client, clientOf } from '../kit/judge.ts';
import type { Started } from '../kit/serve.ts';
import { start } from './server.ts';

const berlin = 'efdbb9d1-02c2-4bc3-afb7-6788d8782b1e';
const paris = 'b2e783e1-c824-4d63-b37a-d8d698862f1d';
const nothing = '00000000-0000-4000-8000-000000000000';
const search = `/trips?origin=${berlin}&destination=${paris}&date=2024-02-01T09:00:00Z`;

interface Trip {
  id: string;
  bicycles_allowed: boolean;
  dogs_allowed: boolean;
}

let started: Started;
let client: Client;

beforeAll(async () => {
  started = await start();
  const plain = clientOf(await readContract(started.corrected ?? ''), started.url, {
    ...(await started.auth?.caller()),
  });
  client = async (line, options) => {
    const reply = await plain(line, options);
    expect(reply.faults, line).toEqual([]);
    return reply;
  };
});

afterAll(() => started.close());

async function identity(name: 'expired' | 'forbidden' | 'otherTenant') {
  return { headers: { ...(await started.auth?.[name]?.()) } };
}

async function all<Item>(first: string): Promise<Item[]> {
  const items: Item[] = [];
  for (let next: string | undefined = first; next !== undefined; ) {
    const { body } = await client(`GET ${next}`);
    items.push(...body.data);
    next = body.links.next?.slice(started.url.length);
  }
  return items;
}

it('lists stations in pages', async () => {
  const stations = await all<{ id: string }>('/stations');
  expect(new Set(stations.map(({ id }) => id)).size).toBe(12);
  const second = await client('GET /stations?page=2');
  expect(second.body.links).toEqual({ self: `${started.url}/stations?page=2`, prev: `${started.url}/stations?page=1` });
  expect((await client('GET /stations?page=0')).status).toBe(400);
  expect((await client('GET /stations?other=%&more=[|]')).status).toBe(200);
});

it('finds trips', async () => {
  const trips = await all<Trip>(search);
  expect(trips.length).toBe(12);
  const both = await all<Trip>(`${search}&bicycles=true&dogs=true`);
  expect(both).toEqual(trips.filter((trip) => trip.bicycles_allowed && trip.dogs_allowed));
  expect(await all<Trip>(`${search}&bicycles=false`)).toEqual(trips);
  const none = search.replace(paris, nothing);
  expect(await all<Trip>(none)).toEqual([]);
  for (const date of ['0000-01-01T00:00:00%2B23:59', '9999-12-31T23:59:59-23:59', '2016-12-31T23:59:60Z']) {
    expect((await client(`GET ${search.replace(/date=.*/, `date=${date}`)}`)).status).toBe(200);
  }
  expect((await client(`GET ${search}&dogs=yes`)).status).toBe(400);
  expect((await client('GET /trips')).status).toBe(400);
});

it('books, pays and cancels', async () => {
  const [trip] = (await client(`GET ${search}`)).body.data as Trip[];
  const sent = { trip_id: trip?.id, passenger_name: 'John Doe', has_bicycle: true };
  const { body: booking, status } = await client('POST /bookings', { body: { id: 'ignored', ...sent } });
  expect([status, booking]).toMatchObject([201, sent]);
  const path = booking.links.self.slice(started.url.length);
  expect((await client(`GET ${path}`)).body).toEqual(booking);
  const { links: _, ...listed } = booking;
  expect(await all('/bookings')).toEqual([listed]);

  const source = { object: 'card', name: 'J', number: '4242424242424242', cvc: 123, exp_month: 12, exp_year: 2030 };
  const card = { ...source, address_country: 'gb', address_line1: '1 Road' };
  const paid = await client(`POST ${path}/payment`, { body: { amount: 49.99, currency: 'gbp', source: card } });
  expect([paid.status, paid.body.status, paid.body.source.number]).toEqual([200, 'succeeded', '************4242']);
  expect(Object.keys(paid.body.source)).not.toContain('cvc');
  const bank = {
    object: 'bank_account',
    name: 'J',
    number: '00012345',
    account_type: 'company',
    bank_name: 'S',
    country: 'gb',
  };
  expect((await client(`POST ${path}/payment`, { body: { amount: 1, currency: 'eur', source: bank } })).status).toBe(
    200,
  );
  for (const wrong of [
    { amount: 0 },
    { currency: 'usd' },
    { source: { ...bank, cvc: '1' } },
    { source: { ...bank, x: 1 } },
  ]) {
    const body = { amount: 1, currency: 'eur', source: bank, ...wrong };
    expect((await client(`POST ${path}/payment`, { body })).status).toBe(400);
  }

  expect((await client(`GET ${path}`, await identity('otherTenant'))).status).toBe(404);
  expect((await client('GET /bookings', await identity('otherTenant'))).body.data).toEqual([]);
  expect((await client(`DELETE ${path}`)).status).toBe(204);
  expect((await client(`GET ${path}`)).status).toBe(404);
  expect((await client(`DELETE ${path}`)).status).toBe(404);
  expect((await client(`POST ${path}/payment`, { body: { amount: 1, currency: 'eur', source: bank } })).status).toBe(
    404,
  );
});

it('rejects invalid bookings', async () => {
  const [trip] = (await client(`GET ${search}`)).body.data as Trip[];
  const status = async (body: unknown) => (await client('POST /bookings', { body })).status;
  expect(await status({})).toBe(400);
  expect(await status({ trip_id: 'x' })).toBe(400);
  expect(await status({ trip_id: nothing })).toBe(404);
  expect(await status({ trip_id: trip?.id, has_dog: true })).toBe(409);
  expect(await status({ trip_id: trip?.id, has_dog: 'yes' })).toBe(400);
  expect((await client('GET /bookings/x')).status).toBe(400);
});

it('accepts and returns XML', async () => {
  const [trip] = (await client(`GET ${search}`)).body.data as Trip[];
  const headers = { 'content-type': 'application/xml', accept: 'application/xml' };
  const body = `<booking><trip_id>${trip?.id}</trip_id><has_bicycle>true</has_bicycle></booking>`;
  const created = await client('POST /bookings', { body, headers });
  expect([created.status, created.headers.get('content-type')]).toEqual([201, 'application/xml']);
  expect(created.text).toContain('<has_bicycle>true</has_bicycle>');
  expect((await client('GET /stations', { headers })).text).toMatch(/<data><stations><station><id>.*<links><self>/s);
  const id = /<id>([^<]+)/.exec(created.text)?.[1];
  expect((await client(`DELETE /bookings/${id}`)).status).toBe(204);
  const problem = await client(`GET /bookings/${id}`, { headers: { accept: 'application/problem+xml' } });
  expect(problem.text).toContain('<problem xmlns="urn:ietf:rfc:7807">');
});

it('rejects unauthenticated and unauthorized requests', async () => {
  const body = { trip_id: nothing };
  expect((await client('GET /stations', { headers: { authorization: '' } })).status).toBe(401);
  expect((await client('GET /stations', await identity('expired'))).status).toBe(401);
  expect((await client('GET /stations', await identity('forbidden'))).status).toBe(403);
  expect((await client('POST /bookings', { ...(await identity('forbidden')), body })).status).toBe(403);
});

it('rejects unknown paths and methods', async () => {
  const put = await client('PUT /stations');
  expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  expect((await client('HEAD /stations')).status).toBe(200);
  expect((await client('GET /')).status).toBe(404);
});
