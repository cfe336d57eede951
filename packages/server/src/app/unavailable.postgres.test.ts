import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { afterAll, expect, test } from 'vitest';
import { testDatabase } from '../../test/database.ts';
import { overTcp } from '../../test/postgres-server.ts';
import { openProxy } from '../../test/severable-proxy.ts';
import { type WireResponse, wire } from '../../test/wire.ts';
import { createService } from '../entity/service.ts';
import { createApiKey } from '../operator/api-keys.ts';
import { createTenant } from '../operator/tenants.ts';
import { openStore } from '../platform/store/store.ts';
import { createApp } from './app.ts';
import { readConfig } from './read-config.ts';

const { databaseUrl = '' } = await testDatabase();
const direct = overTcp(databaseUrl);
const proxy = await openProxy(direct.hostname, Number(direct.port || 5432));
const proxied = overTcp(databaseUrl);
proxied.host = `127.0.0.1:${proxy.port}`;
const config = readConfig({
  DATABASE_URL: proxied.href,
  MASTER_KEY: randomBytes(32).toString('base64'),
  RATE_LIMIT_FACTOR: '0',
});
const store = await openStore({ databaseUrl: proxied.href, limits: { read: 60_000 } });
const service = await createService(config, store, pino({ level: 'silent' }));
const server = createServer(createApp(service)).listen(0, '127.0.0.1');
await once(server, 'listening');
const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
afterAll(async () => {
  server.close().closeAllConnections();
  await store.close();
  await proxy.sever();
});

const place = { currency: 'USD', timeZone: 'America/New_York', country: 'US' };
await createTenant({ service }, { name: 'hartwell', displayName: 'Hartwell', ...place });
const { key } = await createApiKey(
  { service },
  { tenant: 'hartwell', user: 'crm', roles: ['API_ADMIN'], days: 1, description: undefined },
);
const json = { 'Content-Type': 'application/json' };
const exchanged = await wire(address, {
  method: 'POST',
  path: '/v1/auth/token',
  headers: json,
  body: JSON.stringify({ apiKey: key }),
});
const headers = {
  ...json,
  Authorization: `Bearer ${(exchanged.json as { access_token: string }).access_token}`,
  Tenant: 'hartwell',
};

const post = (path: string, body: object): Promise<WireResponse> =>
  wire(address, { method: 'POST', path, headers, body: JSON.stringify(body) });
const onboard = (name: string) => post('/api/v1/clients/v1/onboard', { name, address: {} });
const names = async () =>
  ((await post('/gql/v1/clients', {})).json as { data: { name: string }[] }).data.map((client) => client.name);

function expectUnavailable(response: WireResponse): void {
  expect(response).toMatchObject({ status: 503, json: { code: 'SERVICE_UNAVAILABLE' } });
  expect(response.headers['retry-after']).toMatch(/^\d+$/);
  expect(response.headers['content-type']).toBe('application/problem+json; charset=utf-8');
}

test('the service reports a database that is unavailable, and loses nothing once it is back', async () => {
  expect(await onboard('Before')).toMatchObject({ status: 201 });
  expect(await wire(address, { path: '/readyz' })).toMatchObject({ status: 200 });
  await proxy.sever();
  expectUnavailable(await onboard('Meanwhile'));
  expectUnavailable(await post('/gql/v1/clients', {}));
  expectUnavailable(await post('/gql/v1/clients/search', {}));
  expectUnavailable(await wire(address, { path: '/readyz' }));
  expect(await wire(address, { path: '/healthz' })).toMatchObject({ status: 200 });
  await proxy.restore();
  expect(await wire(address, { path: '/readyz' })).toMatchObject({ status: 200 });
  expect(await onboard('After')).toMatchObject({ status: 201 });
  expect(await names()).toEqual(['Before', 'After']);
});
