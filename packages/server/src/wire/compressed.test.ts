import { expect, test } from 'vitest';
import { testService } from '../../test/service.ts';
import { wire } from '../../test/wire.ts';

const { address } = await testService();

// `fetch` decompresses by itself, so the length on the wire shows what was sent.
async function get(path: string, headers: Record<string, string>) {
  const response = await fetch(`${address}${path}`, { headers });
  const { status } = response;
  return { status, headers: response.headers, text: await response.text() };
}

const plain = await get('/openapi.yaml', { 'Accept-Encoding': 'identity' });

test.each(['br', 'gzip'])('the contract is compressed by %s for those who accept it', async (encoding) => {
  // Concurrent requests share one compression.
  const all = await Promise.all(Array.from({ length: 5 }, () => get('/openapi.yaml', { 'Accept-Encoding': encoding })));
  for (const { status, headers, text } of all) {
    expect(status).toBe(200);
    expect(headers.get('content-encoding')).toBe(encoding);
    expect(headers.get('vary')).toBe('Accept-Encoding');
    expect(Number(headers.get('content-length'))).toBeLessThan(plain.text.length / 5);
    expect(text === plain.text).toBe(true);
  }
});

test.each([
  ['identity', {}],
  ['br;q=0, gzip;q=0', {}],
  ['br', { Range: 'bytes=0-99' }],
])('the contract is sent as it is with Accept-Encoding: %s %o', async (encoding, more) => {
  const { headers, text } = await get('/openapi.yaml', { 'Accept-Encoding': encoding, ...more });
  expect(headers.get('content-encoding')).toBeNull();
  // A cache must not return it to others.
  expect(headers.get('vary')).toBe('Accept-Encoding');
  expect(plain.text.startsWith(text)).toBe(true);
});

test('a caller who has the contract already gets 304, however it was compressed', async () => {
  const since = plain.headers.get('last-modified') ?? '';
  const { status } = await get('/openapi.yaml', { 'Accept-Encoding': 'br', 'If-Modified-Since': since });
  expect(status).toBe(304);
});

const compressing = await testService({ config: { compressResponses: true } });

async function fill({ call }: typeof compressing) {
  const records = Array.from({ length: 20 }, (_, index) => ({
    type: 'Client',
    systemRef: `client-${index}`,
    attributes: { name: `Client ${index}`, entityType: 'LLC' },
  }));
  const { body } = await call<{ records: { id: string }[] }>('POST', '/api/v1/records', { records });
  return body.records.map(({ id }) => id);
}
const [client] = await fill(compressing);

function send(service: typeof compressing, method: string, path: string, encoding: string) {
  const { tenant, token } = service;
  const headers = { Authorization: `Bearer ${token}`, Tenant: tenant.name, 'Content-Type': 'application/json' };
  const body = method === 'GET' ? {} : { body: '{}' };
  return wire(service.address, { method, path, headers: { ...headers, 'Accept-Encoding': encoding }, ...body });
}

test.each(['br', 'gzip'])('with COMPRESS_RESPONSES, a long response is compressed by %s', async (encoding) => {
  const asIs = await send(compressing, 'POST', '/gql/v1/clients', 'identity');
  expect(asIs.headers['content-encoding']).toBeUndefined();
  expect(asIs.headers.vary).toBe('Accept-Encoding');
  const { status, headers } = await send(compressing, 'POST', '/gql/v1/clients', encoding);
  expect(status).toBe(200);
  expect(headers).toMatchObject({ 'content-encoding': encoding, vary: 'Accept-Encoding' });
  expect(Number(headers['content-length'])).toBeLessThan(asIs.text.length / 4);
  // `fetch` decompresses.
  const { body } = await compressing.call('POST', '/gql/v1/clients', {}, { 'Accept-Encoding': encoding });
  expect(body).toEqual(asIs.json);
});

test.each([
  ['short', 'POST', '/gql/v1/offices'],
  ['with an ETag', 'GET', `/gql/v1/client/${client}`],
])('with COMPRESS_RESPONSES, a response that is %s is sent as it is', async (_, method, path) => {
  const { status, headers } = await send(compressing, method, path, 'gzip');
  expect(status).toBe(200);
  expect(headers['content-encoding']).toBeUndefined();
});

test('without COMPRESS_RESPONSES, no response of an operation is compressed', async () => {
  const service = await testService();
  await fill(service);
  const { headers } = await send(service, 'POST', '/gql/v1/clients', 'gzip');
  expect(Number(headers['content-length'])).toBeGreaterThan(10_000);
  expect(headers['content-encoding']).toBeUndefined();
});
