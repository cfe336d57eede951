import { METHODS } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { sharedService } from '../../test/service.ts';
import { wire } from '../../test/wire.ts';
import { allOperations } from '../contract/contract.ts';
import type { ProblemDocument as ProblemBody } from '../contract/problem.ts';

const { call, handle, address, token, tenant } = await sharedService();
const credentials = { Authorization: `Bearer ${token}`, Tenant: tenant.name };
const client = (await handle('onboardClient', { body: { name: 'Harbor', address: {} } })).body;
const byId = `/gql/v1/client/${client.clientId}`;

/** Methods that Node's parser accepts, except CONNECT, which requests a tunnel and gets no response. */
const methods = METHODS.filter((method) => method !== 'CONNECT');

describe('a path', () => {
  test.each([
    '/gql',
    '/gql/v1/unknown',
    '/gql/v1/clients/',
    '//gql/v1/clients',
    '/gql//v1/clients',
    '/gql/v1/./clients',
    '/gql/v1/x/../clients',
    '/gql/v1/%2e%2e/v1/clients',
    '/GQL/v1/clients',
    '/gql/v1/clients;x=1',
    '/gql/v1/client%2F',
    '/gql/v1/client/',
    '/gql/v1/client/%',
    '/gql/v1/client/%zz',
    '/gql/v1/client/%ed%a0%80',
    '/gql/v1/client/a/b',
    `/gql/v1/client/${'a'.repeat(5_000)}`,
    '/api/v1/clients/v1/onboard/x',
    '/.well-known/jwks.json/',
    '/constructor',
    '/__proto__',
    '/%00',
  ])('that is not in the contract is not found: %s', async (path) => {
    for (const method of ['GET', 'POST']) {
      const response = await wire(address, { method, path, headers: credentials });
      expect(response).toMatchObject({ status: 404, json: { code: 'NOT_FOUND' } });
      expect(response.headers['content-type']).toBe('application/problem+json; charset=utf-8');
    }
  });

  test.each(['http://[', 'http://x:99999999/unknown', '*', 'http://other.example/unknown'])(
    'that is malformed is not found: %s',
    async (target) => {
      const { hostname, port } = new URL(address);
      const socket = connect(Number(port), hostname);
      socket.end(`OPTIONS ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      const response = await text(socket);
      expect(response).toMatch(/^HTTP\/1.1 404 /);
      expect(response).toContain('"code":"NOT_FOUND"');
    },
  );

  test.each(['x', '0', client.clientId.toUpperCase(), `${client.clientId}0`, '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d'])(
    'with a malformed ID is rejected: %s',
    async (id) => {
      const response = await call('GET', `/gql/v1/client/${id}`);
      expect(response.body).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
      expect((response.body as ProblemBody).errors?.[0]).toMatchObject({ in: 'path', pointer: '/id' });
    },
  );

  test('with an unknown ID is not found', async () => {
    const response = await call('GET', '/gql/v1/client/0199a1c2-0c01-7c01-8a4f-5d2e9b60f101');
    expect(response.body).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });
});

describe('another method', () => {
  const paths = new Map(Map.groupBy(allOperations, (operation) => operation.path));

  test.each([...paths])('is rejected with the allowed methods: %s', async (path, operations) => {
    const right: string[] = operations.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    const wrong = path === '/gql/v1/clients' ? methods : ['HEAD', 'OPTIONS', 'TRACE', 'PUT', 'PROPFIND'];
    for (const method of wrong.filter((one) => !right.includes(one))) {
      const response = await wire(address, { method, path: path.replaceAll(/\{[^}]+\}/g, 'x') });
      expect({ method, status: response.status }).toEqual({ method, status: 405 });
      expect(response.headers.allow?.split(', ').sort()).toEqual([...right].sort());
      if (method !== 'HEAD') expect(response.json).toMatchObject({ code: 'METHOD_NOT_ALLOWED' });
    }
  });

  test('is also rejected outside of the contract', async () => {
    const response = await wire(address, { method: 'POST', path: '/healthz' });
    expect(response).toMatchObject({
      status: 405,
      json: { code: 'METHOD_NOT_ALLOWED' },
      headers: { allow: 'GET, HEAD' },
    });
    expect(await wire(address, { method: 'HEAD', path: '/healthz' })).toMatchObject({ status: 200, text: '' });
  });
});

describe('a response', () => {
  test.each([
    undefined,
    '*/*',
    'application/json',
    'application/*',
    'application/json; charset=utf-8',
    'text/html, application/json;q=0.1',
    'application/problem+json, application/json',
    '',
  ])('is JSON if the caller accepts it: %s', async (accept) => {
    const headers = { ...credentials, ...(accept === undefined ? {} : { Accept: accept }) };
    const response = await wire(address, { path: byId, headers });
    expect(response.status).toBe(200);
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  test.each(['text/html', 'application/xml', 'application/json;q=0', 'image/*', 'x'])(
    'is never another type: %s',
    async (accept) => {
      const response = await wire(address, { path: byId, headers: { ...credentials, Accept: accept } });
      expect(response).toMatchObject({ status: 406, json: { code: 'NOT_ACCEPTABLE' } });
    },
  );

  test('is a 304 without a body if the ETag matches', async () => {
    const first = await wire(address, { path: byId, headers: credentials });
    const headers = { ...credentials, 'If-None-Match': first.headers.etag ?? '' };
    const again = await wire(address, { path: byId, headers });
    expect(again).toMatchObject({ status: 304, text: '' });
    expect(again.headers).toMatchObject({ etag: first.headers.etag, 'cache-control': 'no-store' });
  });

  test('has a request ID, with or without one from the caller', async () => {
    const response = await call<{ requestId: string }>('GET', '/gql/v1/client/x', undefined, {
      'X-Request-Id': 'mine',
    });
    expect(response.body.requestId).toBe(response.headers.get('x-request-id'));
    expect(response.body.requestId).not.toBe('mine');
  });

  test('does not disclose the software of the server', async () => {
    const response = await wire(address, { path: byId, headers: credentials });
    expect(Object.keys(response.headers)).not.toContain('x-powered-by');
    expect(Object.keys(response.headers)).not.toContain('server');
  });
});

describe('a header', () => {
  test.each(['traceparent', 'X-Client-Id', 'Tenant', 'Authorization', 'Accept', 'If-None-Match', 'X-Other'])(
    'can be long and unusual without an internal error: %s',
    async (name) => {
      for (const value of ['x'.repeat(12_000), 'é\u00ff', '"', '{}', ',,,;;;=']) {
        const response = await wire(address, { path: byId, headers: { ...credentials, [name]: value } });
        expect({ name, value: value.slice(0, 9), status: response.status }).toEqual({
          name,
          value: value.slice(0, 9),
          status: expect.toSatisfy((status: number) => status >= 200 && status < 500),
        });
      }
    },
  );
});
