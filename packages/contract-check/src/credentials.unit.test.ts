import { expect, test } from 'vitest';
import { remembering, secretsOfHeaders, secretsOfValues } from './config.ts';
import type { Secret } from './report/mask.ts';

test('credentials in headers are recognized', () => {
  const basic = Buffer.from('me:pass:word').toString('base64');
  expect(
    secretsOfHeaders({ Authorization: `Basic ${basic}`, Cookie: 'sid=1; a=b', 'X-Api-Key': 'k', Tenant: 'demo' }),
  ).toEqual([
    { value: basic, variable: 'CREDENTIALS' },
    { value: 'pass:word', variable: 'PASSWORD' },
    { value: '1', variable: 'COOKIE_SID' },
    { value: 'b', variable: 'COOKIE_A' },
    { value: 'k', variable: 'API_KEY' },
  ]);
  expect(secretsOfHeaders({ 'x-signed': 'a'.repeat(30), 'x-id': '0198f1c2-0000-7000-8000-000000000001' })).toEqual([
    { value: 'a'.repeat(30), variable: 'SIGNED' },
  ]);
});

test('credentials in values are recognized by name', () => {
  expect(secretsOfValues({ apiKey: 'k', name: 'n', count: 1 })).toEqual([{ value: 'k', variable: 'API_KEY' }]);
});

test('credentials are recorded by identity, and passed on unchanged', async () => {
  const secrets: Secret[] = [];
  class Own {
    #count = 0;
    caller() {
      this.#count += 1;
      return { authorization: `Bearer caller-${this.#count}` };
    }
    async otherTenant() {
      return { authorization: 'Bearer other-tenant' };
    }
    values() {
      return { apiKey: 'key' };
    }
  }
  const auth = remembering(new Own(), (secret) => secrets.push(secret));
  expect(Object.keys(auth)).toEqual(['caller', 'otherTenant', 'values']);
  expect(await auth.caller()).toEqual({ authorization: 'Bearer caller-1' });
  expect(await auth.caller()).toEqual({ authorization: 'Bearer caller-2' });
  expect(await auth.otherTenant?.()).toEqual({ authorization: 'Bearer other-tenant' });
  expect(await auth.values?.()).toEqual({ apiKey: 'key' });
  expect(secrets).toEqual([
    { value: 'caller-1', variable: 'TOKEN' },
    { value: 'caller-2', variable: 'TOKEN' },
    { value: 'other-tenant', variable: 'OTHER_TENANT_TOKEN' },
    { value: 'key', variable: 'API_KEY' },
  ]);
});

test('a function that declares a parameter receives the operation, and any other has none', async () => {
  const auth = remembering(
    { caller: (operation) => ({ who: operation?.id ?? '' }), expired: () => ({}) },
    () => undefined,
  );
  expect([auth.caller.length, auth.expired?.length]).toEqual([1, 0]);
  expect(await auth.caller({ id: 'getBook', method: 'GET', path: '/books' })).toEqual({ who: 'getBook' });
});
