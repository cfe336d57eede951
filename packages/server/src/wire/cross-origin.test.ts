import { describe, expect, test } from 'vitest';
import { testService } from '../../test/service.ts';
import { wire } from '../../test/wire.ts';

const shop = 'https://shop.example';
const closed = await testService();
const open = await testService({
  replace: ({ config }) => ({ config: { ...config, corsOrigins: [shop, 'localhost'] } }),
});

const preflight = (address: string, origin: string, path = '/gql/v1/clients/search') =>
  wire(address, {
    method: 'OPTIONS',
    path,
    headers: {
      Origin: origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization,content-type,tenant',
    },
  });

const isCors = (name: string) => name.startsWith('access-control-');

describe('without CORS_ORIGINS', () => {
  test('no response has a header of CORS, and a preflight is rejected', async () => {
    const rejected = await preflight(closed.address, shop);
    const document = await wire(closed.address, { path: '/openapi.json', headers: { Origin: shop } });
    expect([rejected.status, document.status]).toEqual([405, 200]);
    for (const { headers } of [rejected, document]) {
      expect(Object.keys(headers).filter(isCors)).toEqual([]);
      expect(headers.vary ?? '').not.toContain('Origin');
    }
  });
});

describe('with CORS_ORIGINS', () => {
  test('a preflight of an allowed origin is accepted, with the methods and headers of the contract', async () => {
    const { status, headers, text } = await preflight(open.address, shop);
    expect({ status, text }).toEqual({ status: 204, text: '' });
    expect(headers).toMatchObject({
      'access-control-allow-origin': shop,
      'access-control-max-age': '7200',
      vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    });
    const allowed = headers['access-control-allow-headers'];
    for (const name of ['Authorization', 'Content-Type', 'Tenant', 'Idempotency-Key', 'If-Match', 'X-Client-Id'])
      expect(`, ${allowed}, `).toContain(`, ${name}, `);
    expect(headers['access-control-allow-methods']).toBe('DELETE, GET, PATCH, POST, PUT');
    expect(headers).not.toHaveProperty('access-control-allow-credentials');
  });

  test.each([
    ['https://evil.example', 405],
    ['https://shop.example.evil.example', 405],
    ['http://shop.example', 405],
    ['null', 405],
    ['http://localhost:5173', 204],
    ['http://127.0.0.1:8080', 204],
    ['http://localhost.evil.example', 405],
    ['file://localhost', 405],
  ])('a preflight of %s returns %d', async (origin, expected) => {
    const { status, headers } = await preflight(open.address, origin);
    expect(status).toBe(expected);
    expect(headers['access-control-allow-origin']).toBe(expected === 204 ? origin : undefined);
  });

  test('OPTIONS that is no preflight is rejected as before', async () => {
    const options = { method: 'OPTIONS', path: '/gql/v1/clients/search', headers: { Origin: shop } };
    expect(await wire(open.address, options)).toMatchObject({ status: 405, headers: { allow: 'POST' } });
  });

  test('pages can read results, problems and unknown paths, and the headers that the contract declares', async () => {
    const responses = [
      await open.call('POST', '/gql/v1/orgs', {}, { Origin: shop }),
      await open.call('POST', '/gql/v1/orgs', { pageSize: 0 }, { Origin: shop }),
      await open.call('POST', '/gql/v1/orgs', {}, { Origin: shop, Authorization: 'Bearer x' }),
      await open.call('GET', '/nowhere', undefined, { Origin: shop }),
    ];
    expect(responses.map(({ status }) => status)).toEqual([200, 400, 401, 404]);
    for (const { headers } of responses) {
      expect(headers.get('access-control-allow-origin')).toBe(shop);
      expect(headers.get('vary')).toBe('Origin');
      for (const name of ['X-Request-Id', 'RateLimit', 'Retry-After', 'ETag', 'Location'])
        expect(`, ${headers.get('access-control-expose-headers')}, `).toContain(`, ${name}, `);
    }
  });

  test('a response without an allowed origin says that it depends on the origin', async () => {
    for (const headers of [{}, { Origin: 'https://evil.example' }]) {
      const response = await open.call('POST', '/gql/v1/orgs', {}, headers);
      expect(response.headers.get('access-control-allow-origin')).toBeNull();
      expect(response.headers.get('vary')).toBe('Origin');
    }
  });

  test('pages of other origins can neither read payment pages nor metrics', async () => {
    for (const path of ['/pay/unknown', '/metrics']) {
      const { headers } = await wire(open.address, { path, headers: { Origin: shop } });
      expect(Object.keys(headers).filter(isCors)).toEqual([]);
    }
  });
});
