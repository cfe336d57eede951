import { expect, test } from 'vitest';
import { remembering, secretsOfHeaders, secretsOfValues } from './credentials.ts';
import type { Secret } from './report/mask.ts';

test('credentials in headers are known by what they are', () => {
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

test('credentials among values are known by their names', () => {
  expect(secretsOfValues({ apiKey: 'k', name: 'n', count: 1 })).toEqual([{ value: 'k', variable: 'API_KEY' }]);
});

test('all that is handed out is remembered, by whose it is, and handed out as it was', async () => {
  const secrets: Secret[] = [];
  class Own {
    #count = 0;
    caller() {
      this.#count += 1;
      return { authorization: `Bearer caller-${this.#count}` };
    }
    async stranger() {
      return { authorization: 'Bearer stranger' };
    }
    values() {
      return { apiKey: 'key' };
    }
  }
  const auth = remembering(new Own(), (secret) => secrets.push(secret));
  expect(Object.keys(auth)).toEqual(['caller', 'stranger', 'values']);
  expect(await auth.caller()).toEqual({ authorization: 'Bearer caller-1' });
  expect(await auth.caller()).toEqual({ authorization: 'Bearer caller-2' });
  expect(await auth.stranger?.()).toEqual({ authorization: 'Bearer stranger' });
  expect(await auth.values?.()).toEqual({ apiKey: 'key' });
  expect(secrets).toEqual([
    { value: 'caller-1', variable: 'TOKEN' },
    { value: 'caller-2', variable: 'TOKEN' },
    { value: 'stranger', variable: 'STRANGER_TOKEN' },
    { value: 'key', variable: 'API_KEY' },
  ]);
});
