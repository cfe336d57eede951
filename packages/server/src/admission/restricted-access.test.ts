import { describe, expect, test } from 'vitest';
import { filesOf } from '../../test/modules/files.ts';
import { payingFirm } from '../../test/modules/pay.ts';
import { testService } from '../../test/service.ts';
import { allOperations } from '../contract/contract.ts';
import { createApiKey, revokeApiKey } from '../operator/api-keys.ts';
import { setTenantSetting } from '../operator/tenant-settings.ts';
import { Directory } from './directory.ts';

/** Fake time in milliseconds; the directory caches settings for five seconds. */
let now = 1;
// One proxy in front of the service appends the address that it sees.
const home = await testService({
  config: { trustProxy: 1, rateLimitFactor: 1 },
  replace: ({ store }) => ({ directory: new Directory(store, { now: () => now }) }),
});
const { service, call, tenant } = home;
const firm = await payingFirm(home);
const { link } = await firm.owing();
const file = await filesOf(home)();
const { body: shown } = await call<{ downloadUrl: string }>('GET', `/api/v1/files/${file.id}?includeDownloadUrl=true`);
const { id: keyId, key: apiKey } = await createApiKey(
  { service },
  { tenant: tenant.name, user: 'restricted', roles: ['REF_R'], days: 1, description: undefined },
);

const office = { 'X-Forwarded-For': '203.0.113.7', 'X-Client-Id': 'hartwell-crm' };
const restricted = { status: 403, body: { code: 'ACCESS_RESTRICTED' } };
await setTenantSetting({ service }, { tenant: tenant.name, setting: 'allowedAddresses', value: '203.0.113.0/24' });
await setTenantSetting({ service }, { tenant: tenant.name, setting: 'allowedClientIds', value: 'hartwell-crm' });
now += 5_001;

const listOrgs = (headers: Record<string, string>) => call('POST', '/gql/v1/orgs', {}, headers);
const exchange = (headers: Record<string, string>, key = apiKey) =>
  call('POST', '/v1/auth/token', { apiKey: key }, { Authorization: null, Tenant: null, ...headers });

test.each(allOperations.filter(({ id }) => id !== 'createToken'))(
  '$id › rejects a caller at another address or with another client ID, whatever its roles are',
  async ({ method, path }) => {
    const send = (headers: Record<string, string>) =>
      call(method, path.replaceAll(/\{[^}]+\}/g, 'x'), undefined, headers);
    expect(await send({ ...office, 'X-Forwarded-For': '198.51.100.1' })).toMatchObject(restricted);
    expect(await send({ ...office, 'X-Client-Id': 'other' })).toMatchObject(restricted);
    expect((await send(office)).body).not.toMatchObject(restricted.body);
  },
);

test('the address is the one that the trusted proxy saw, whatever the caller sends', async () => {
  expect(await listOrgs(office)).toMatchObject({ status: 200 });
  expect(await listOrgs({ ...office, 'X-Forwarded-For': '198.51.100.1, ::ffff:203.0.113.9' })).toMatchObject({
    status: 200,
  });
  expect(await listOrgs({ ...office, 'X-Forwarded-For': '203.0.113.7, 198.51.100.1' })).toMatchObject(restricted);
  // Without a proxy, the address is that of the connection.
  expect(await listOrgs({ 'X-Client-Id': 'hartwell-crm' })).toMatchObject(restricted);
});

describe('createToken', () => {
  const elsewhere = { ...office, 'X-Forwarded-For': '198.51.100.1' };

  test('rejects a valid key from elsewhere, without using up the rate limit of its owner', async () => {
    const { limit } = allOperations.find(({ id }) => id === 'createToken')?.rateLimit ?? { limit: 0 };
    expect(limit).toBeGreaterThan(0);
    for (let attempt = 0; attempt <= limit; attempt++) expect(await exchange(elsewhere)).toMatchObject(restricted);
    expect(await exchange({ 'X-Forwarded-For': '203.0.113.7' })).toMatchObject(restricted);
    expect(await exchange(office)).toMatchObject({ status: 200 });
  });

  test('rejects an invalid or revoked key with 401 everywhere', async () => {
    await revokeApiKey({ service }, tenant.name, keyId);
    now += 5_001;
    for (const headers of [office, elsewhere]) {
      expect(await exchange(headers)).toMatchObject({ status: 401 });
      expect(await exchange(headers, 'x.y.z')).toMatchObject({ status: 401 });
    }
  });
});

test('payment pages and download URLs are open at every address', async () => {
  const headers = { 'X-Forwarded-For': '198.51.100.1' };
  expect((await fetch(`${home.address}${link.path}`, { headers })).status).toBe(200);
  const { pathname, search } = new URL(shown.downloadUrl);
  expect((await fetch(`${home.address}${pathname}${search}`, { headers })).status).toBe(200);
});

test('other tenants remain open', async () => {
  const other = await home.signIn({ roles: ['REF_R'], tenant: await home.addTenant('unrestricted') });
  expect(await other.call('POST', '/gql/v1/orgs', {})).toMatchObject({ status: 200 });
});
