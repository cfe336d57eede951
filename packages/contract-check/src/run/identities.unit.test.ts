import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { OpenApiDocument } from '../document/document.ts';
import type { Secret } from '../http/mask.ts';
import { Identities } from './identities.ts';
import type { CheckOptions } from './options.ts';

const document = await OpenApiDocument.load(
  fileURLToPath(new URL('../../test/servers/workshop/openapi.yaml', import.meta.url)),
);

/** The identities of a run, and the secrets that it noted. */
function identitiesWith(options: Partial<CheckOptions>) {
  const secrets: Secret[] = [];
  const identities = new Identities(document, { spec: '', onSecret: (secret) => secrets.push(secret), ...options });
  return { identities, secrets };
}

test('credentials in headers are recognized', () => {
  const basic = Buffer.from('me:pass:word').toString('base64');
  const headers = { Authorization: `Basic ${basic}`, Cookie: 'sid=1; a=b', 'X-Api-Key': 'k', Tenant: 'demo' };
  expect(identitiesWith({ headers }).secrets).toEqual([
    { value: basic, variable: 'CREDENTIALS' },
    { value: 'pass:word', variable: 'PASSWORD' },
    { value: '1', variable: 'COOKIE_SID' },
    { value: 'b', variable: 'COOKIE_A' },
    { value: 'k', variable: 'API_KEY' },
  ]);
  const long = { 'x-signed': 'a'.repeat(30), 'x-id': '0198f1c2-0000-7000-8000-000000000001' };
  expect(identitiesWith({ headers: long }).secrets).toEqual([{ value: 'a'.repeat(30), variable: 'SIGNED' }]);
});

test('credentials in values are recognized by name', async () => {
  const { identities, secrets } = identitiesWith({
    auth: { caller: () => ({}), values: () => ({ apiKey: 'k', name: 'n', count: 1 }) },
  });
  await identities.signIn();
  expect(secrets).toEqual([{ value: 'k', variable: 'API_KEY' }]);
});

test('credentials are noted by identity, each once', async () => {
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
  const { identities, secrets } = identitiesWith({ auth: new Own() });
  await identities.signIn();
  expect(await identities.headersOf('caller')).toEqual({ authorization: 'Bearer caller-1' });
  identities.renew('caller', undefined, { authorization: 'Bearer caller-1' });
  // A probe must know meanwhile which headers it has to leave out.
  expect(identities.callerHeaders).toEqual(['authorization']);
  expect(await identities.headersOf('caller')).toEqual({ authorization: 'Bearer caller-2' });
  expect(await identities.headersOf('otherTenant')).toEqual({ authorization: 'Bearer other-tenant' });
  // Another request was rejected with the credentials from before.
  expect(identities.renew('caller', undefined, { authorization: 'Bearer caller-1' })).toBe(true);
  expect(await identities.headersOf('caller')).toEqual({ authorization: 'Bearer caller-2' });
  identities.renew('otherTenant', undefined, { authorization: 'Bearer other-tenant' });
  await identities.headersOf('otherTenant');
  expect(identities.values).toEqual({ apiKey: 'key' });
  expect(secrets).toEqual([
    { value: 'caller-1', variable: 'TOKEN' },
    { value: 'key', variable: 'API_KEY' },
    { value: 'caller-2', variable: 'TOKEN' },
    { value: 'other-tenant', variable: 'OTHER_TENANT_TOKEN' },
  ]);
});
