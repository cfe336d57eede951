import { operations } from '@financial-automation/spec';
import { describe, expect, test, vi } from 'vitest';
import { testService } from '../../test/service.ts';
import { createApiKey } from '../operator/api-keys.ts';

const { limit, window } = operations.createToken.rateLimit;
// One proxy in front of the service appends the address that it sees.
const { service, tenant, call, address } = await testService({ config: { rateLimitFactor: 1, trustProxy: 1 } });

/** Options of a request from an address. Values that the caller forges precede the one that the proxy appends. */
const from = (address: string, forged = '') => ({
  'X-Forwarded-For': forged === '' ? address : `${forged}, ${address}`,
});
const listOrgs = (headers: Record<string, string | null>) => call('POST', '/gql/v1/orgs', {}, headers);
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
const exchange = (apiKey: string, headers: Record<string, string>) =>
  call<{ access_token: string }>('POST', '/v1/auth/token', { apiKey }, { Authorization: null, ...headers });
const garbage = `${btoa('{"alg":"EdDSA"}')}.${btoa('{"exp":9999999999,"jti":"x"}')}.x`;

async function apiKey(user: string): Promise<string> {
  const options = { tenant: tenant.name, user, roles: ['REF_R'], days: 1, description: undefined };
  return (await createApiKey({ service }, options)).key;
}

/** Sends bad tokens until the address is limited. @returns the statuses until then */
async function exhaust(address: string): Promise<number[]> {
  const statuses: number[] = [];
  for (let attempt = 1; attempt <= limit + 5; attempt++) {
    const { status } = await listOrgs({ ...from(address, `10.0.0.${attempt}`), ...bearer(garbage) });
    statuses.push(status);
  }
  return statuses;
}

describe('bad bearer tokens', () => {
  test('are limited by the address that the trusted proxy saw, whatever the caller sends', async () => {
    const statuses = await exhaust('192.0.2.1');
    expect(statuses).toEqual([...Array(limit).fill(401), ...Array(5).fill(429)]);
    const limited = await listOrgs({ ...from('192.0.2.1'), ...bearer(garbage) });
    expect(limited.body).toMatchObject({ code: 'RATE_LIMITED' });
    const wait = Number(limited.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(window);
    expect(await listOrgs({ ...from('192.0.2.2'), ...bearer(garbage) })).toMatchObject({ status: 401 });
  });

  test('cause no key look-up and no signature check once their address is limited', async () => {
    await exhaust('192.0.2.3');
    const publicKey = vi.spyOn(service.keys, 'publicKey');
    expect(await listOrgs({ ...from('192.0.2.3'), ...bearer(garbage) })).toMatchObject({ status: 429 });
    expect(publicKey).not.toHaveBeenCalled();
    publicKey.mockRestore();
  });

  test('are counted per IPv6 network', async () => {
    for (let attempt = 1; attempt <= limit; attempt++) {
      await listOrgs({ ...from(`2001:db8:1:2::${attempt}`), ...bearer(garbage) });
    }
    expect(await listOrgs({ ...from('2001:db8:1:2:ffff::1'), ...bearer(garbage) })).toMatchObject({ status: 429 });
    expect(await listOrgs({ ...from('2001:db8:1:3::1'), ...bearer(garbage) })).toMatchObject({ status: 401 });
  });

  test('do not limit valid callers at the same address: known tokens, new ones, keys', async () => {
    const key = await apiKey('neighbour');
    const { body: known } = await exchange(key, from('192.0.2.4'));
    await exhaust('192.0.2.4');
    expect(await listOrgs({ ...from('192.0.2.4'), ...bearer(known.access_token) })).toMatchObject({ status: 200 });
    const exchanged = await exchange(key, from('192.0.2.4'));
    expect(exchanged).toMatchObject({ status: 200 });
    const fresh = await listOrgs({ ...from('192.0.2.4'), ...bearer(exchanged.body.access_token) });
    expect(fresh).toMatchObject({ status: 200 });
  });
});

describe('the exchange of API keys', () => {
  test('limits invalid keys by address', async () => {
    for (let attempt = 1; attempt <= limit; attempt++) {
      expect(await exchange('garbage', from('192.0.2.5'))).toMatchObject({ status: 401 });
    }
    expect(await exchange('garbage', from('192.0.2.5'))).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
    expect(await exchange(await apiKey('beside'), from('192.0.2.5'))).toMatchObject({ status: 200 });
  });

  test('counts bodies that cannot be read as failed attempts', async () => {
    for (let attempt = 1; attempt <= limit; attempt++) {
      const malformed = await call('POST', '/v1/auth/token', '{', { Authorization: null, ...from('192.0.2.6') });
      expect(malformed).toMatchObject({ status: 400 });
    }
    expect(await exchange('garbage', from('192.0.2.6'))).toMatchObject({ status: 429 });
    expect(await exchange(await apiKey('patient'), from('192.0.2.6'))).toMatchObject({ status: 200 });
  });

  test('reads no more bodies from an address with many more failures than the limit, and reads those of others', async () => {
    const body = '{'.padEnd(10);
    const send = () => call('POST', '/v1/auth/token', body, { Authorization: null, ...from('192.0.2.7') });
    for (let attempt = 1; attempt <= limit * 20; attempt++) expect(await send()).toMatchObject({ status: 400 });
    const limited = await send();
    expect(limited).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
    expect(Number(limited.headers.get('retry-after'))).toBeLessThanOrEqual(window);
    const key = await apiKey('distant');
    expect(await exchange(key, from('192.0.2.7'))).toMatchObject({ status: 429 });
    expect(await exchange(key, from('192.0.2.8'))).toMatchObject({ status: 200 });
  });

  test('limits each key separately, whatever the address', async () => {
    const [busy, other] = [await apiKey('busy'), await apiKey('other')];
    for (let attempt = 1; attempt <= limit; attempt++) {
      expect(await exchange(busy, from(`198.51.100.${attempt}`))).toMatchObject({ status: 200 });
    }
    const limited = await exchange(busy, from('198.51.100.200'));
    expect(limited).toMatchObject({ status: 429 });
    expect(limited.headers.get('ratelimit')).toMatch(/^"token";r=0;t=\d+$/);
    expect(await exchange(other, from('198.51.100.1'))).toMatchObject({ status: 200 });
  });
});

test('failed sign-ins on the console count like failed key exchanges', async () => {
  const signIn = async (apiKey: string) => {
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded', ...from('192.0.2.77') };
    const form = await fetch(`${address}/console`);
    const formKey = /name="formKey" value="([^"]+)"/.exec(await form.text())?.[1] ?? '';
    const Cookie = form.headers.get('Set-Cookie')?.split(';')[0] ?? '';
    const response = await fetch(`${address}/console/sign-in`, {
      method: 'POST',
      headers: { ...headers, Cookie },
      body: new URLSearchParams({ apiKey, formKey }).toString(),
      redirect: 'manual',
    });
    return response.status;
  };
  const statuses: number[] = [];
  for (let attempt = 1; attempt <= limit; attempt++) statuses.push(await signIn('garbage'));
  expect(new Set(statuses)).toEqual(new Set([401]));
  expect(await signIn('garbage')).toBe(429);
  expect(await exchange('garbage', from('192.0.2.77'))).toMatchObject({ status: 429 });
  // A valid key is accepted nevertheless, as by the API.
  const options = { tenant: tenant.name, user: 'console', roles: ['API_ADMIN'], days: 1, description: undefined };
  expect(await signIn((await createApiKey({ service }, options)).key)).toBe(303);
});
