import { expect, test } from 'vitest';
import { testService } from '../../test/service.ts';

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
