import { Writable } from 'node:stream';
import { sql } from 'kysely';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { type TestCaller, testService } from '../../test/service.ts';
import { withReads } from '../../test/with-reads.ts';
import { createApiKey, revokeApiKey } from '../operator/api-keys.ts';
import { logOptions } from '../platform/process/log.ts';
import { DatabaseError, DatabaseUnavailable } from '../platform/store/errors.ts';
import { Directory } from './directory.ts';

let written = '';
const log = pino(
  logOptions('trace'),
  new Writable({
    write(chunk, _encoding, done) {
      written += chunk;
      done();
    },
  }),
);

/** Fake time in milliseconds; the directory caches for five seconds. */
let now = 1;
/** The error that the database throws at the next read, if any. */
let failure: Error | undefined;
const { call, service, store, tenant, token, signIn, addTenant } = await testService({
  log,
  replace: ({ store: real }) => ({
    directory: new Directory(real, { now: () => now }),
    store: withReads(real, (tenantId, work) =>
      failure === undefined ? real.read(tenantId, work) : Promise.reject(failure),
    ),
  }),
});

const orgs = (caller: Pick<TestCaller, 'call'>) => caller.call('POST', '/gql/v1/orgs', {});
const ended = {
  status: 401,
  body: { code: 'UNAUTHENTICATED', detail: 'The API key of this token has been revoked or has expired.' },
};

/** Creates another API user, with the key that it authenticates with. */
async function another(user: string) {
  const { id, key } = await createApiKey(
    { service },
    { tenant: tenant.name, user, roles: ['REF_R'], days: 1, description: undefined },
  );
  const { body } = await call<{ access_token: string }>('POST', '/v1/auth/token', { apiKey: key });
  const Authorization = `Bearer ${body.access_token}`;
  const own: Pick<TestCaller, 'call'> = {
    call: (method, path, content) => call(method, path, content, { Authorization }),
  };
  return { id, key, ...own };
}

describe('a change by the operator invalidates tokens within five seconds, without a database read for every request', () => {
  const change = (statement: ReturnType<typeof sql>) =>
    store.write(tenant.id, (transaction) => transaction.all(statement));

  test.each([
    ['a revoked key', (id: string) => revokeApiKey({ service }, tenant.name, id)],
    [
      'an expired key',
      (id: string) =>
        change(
          sql`update api_key set created_at = now() - interval '2 days', expires_at = now() - interval '1 second' where id = ${id}`,
        ),
    ],
    [
      'a deactivated API user',
      (id: string) =>
        change(sql`update api_user set active = false where id = (select api_user_id from api_key where id = ${id})`),
    ],
  ])('%s', async (name, end) => {
    const caller = await another(name);
    expect(await orgs(caller)).toMatchObject({ status: 200 });
    await end(caller.id);
    now += 4_000;
    expect(await orgs(caller)).toMatchObject({ status: 200 });
    now += 1_001;
    expect(await orgs(caller)).toMatchObject(ended);
    expect(await call('POST', '/v1/auth/token', { apiKey: caller.key })).toMatchObject({ status: 401 });
    expect(await orgs({ call })).toMatchObject({ status: 200 });
  });

  test('a closed tenant', async () => {
    const closing = await addTenant('closing');
    const caller = await signIn({ roles: ['REF_R'], tenant: closing });
    expect(await orgs(caller)).toMatchObject({ status: 200 });
    await store.system((transaction) => transaction.all(sql`update tenant set active = false where name = 'closing'`));
    now += 5_001;
    expect(await orgs(caller)).toMatchObject({ status: 403, body: { code: 'TENANT_MISMATCH' } });
  });

  test('revoking a key does not affect other keys of the same user', async () => {
    const first = await another('twice');
    const second = await another('twice');
    await revokeApiKey({ service }, tenant.name, first.id);
    now += 5_001;
    expect(await orgs(first)).toMatchObject(ended);
    expect(await orgs(second)).toMatchObject({ status: 200 });
  });
});

describe('the Tenant header', () => {
  test('is required', async () => {
    const response = await call('POST', '/gql/v1/orgs', {}, { Tenant: null });
    expect(response).toMatchObject({
      status: 400,
      body: { errors: [{ in: 'header', pointer: '/Tenant', code: 'REQUIRED' }] },
    });
    const empty = await call('POST', '/gql/v1/orgs', {}, { Tenant: '' });
    expect(empty).toMatchObject({ status: 400, body: { errors: [{ in: 'header', pointer: '/Tenant' }] } });
  });

  test('must name the tenant of the token; every other value is rejected with the same message', async () => {
    const other = await addTenant('other');
    const theirs = await signIn({ roles: ['API_ADMIN'], tenant: other });
    const responses = [
      await call('POST', '/gql/v1/orgs', {}, { Tenant: 'other' }),
      await call('POST', '/gql/v1/orgs', {}, { Tenant: 'nobody' }),
      await call('POST', '/gql/v1/orgs', {}, { Tenant: 'NOT A NAME' }),
      await theirs.call('POST', '/gql/v1/orgs', {}, { Tenant: 'firm' }),
      await call('POST', '/gql/v1/orgs', {}, { Authorization: `Bearer ${theirs.token}` }),
    ];
    for (const { status, body } of responses) {
      const { detail, code } = body as { detail: string; code: string };
      expect({ status, code, detail }).toEqual({
        status: 403,
        code: 'TENANT_MISMATCH',
        detail: 'The token belongs to another tenant than the one in the Tenant header.',
      });
    }
  });
});

test.each([
  ['a defect', new Error('select tax_id from client where name = Secretive LLC'), 500],
  [
    'a value that the database rejects',
    new DatabaseError('relation "client" does not exist (SQLSTATE 42P01).', '42P01'),
    500,
  ],
  ['an unavailable database', new DatabaseUnavailable('No connection to db.internal:5432 is to be had.'), 503],
])('the response to %s discloses no internals', async (_name, error, status) => {
  await orgs({ call });
  failure = error;
  const response = await orgs({ call });
  failure = undefined;
  expect(response.status).toBe(status);
  expect(response.headers.get('retry-after')).toBe(status === 503 ? '5' : null);
  expect(response.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  const text = JSON.stringify(response.body);
  for (const word of [
    'select',
    'client',
    'relation',
    'Secretive',
    'SQLSTATE',
    'db.internal',
    '.ts',
    'node_modules',
    'at ',
  ]) {
    expect(text.replace('This call', '')).not.toContain(word);
  }
});

test('logs contain no secrets and no data from requests', async () => {
  written = '';
  const { key } = await another('logged');
  const exchanged = await call<{ access_token: string }>('POST', '/v1/auth/token', { apiKey: key });
  const body = {
    name: 'Secretive Holding',
    taxId: '98-7654321',
    email: 'owner@secretive.example',
    address: { line1: '7 Hidden Way' },
    preferredContact: { lastName: 'Umbra', email: 'umbra@secretive.example' },
  };
  const idempotent = { 'Idempotency-Key': 'key-of-secretive' };
  await call('POST', '/api/v1/clients/v1/onboard', body, idempotent);
  await call('POST', '/api/v1/clients/v1/onboard', body, idempotent);
  await call('POST', '/api/v1/clients/v1/onboard', { ...body, clientRef: 1 });
  await call('POST', '/api/v1/clients/v1/onboard', `{"name":"Secretive Holding"`);
  await call('POST', '/gql/v1/clients/search', { where: { name: { _ilike: '%Secretive%' } } });
  await call('GET', '/gql/v1/client/Secretive');
  await call('POST', '/gql/v1/orgs', {}, { Authorization: 'Bearer Secretive' });
  failure = new DatabaseError('A value does not fit its type (SQLSTATE 22P02).', '22P02');
  await call('POST', '/gql/v1/clients/search', { where: { name: { _ilike: '%Secretive%' } } });
  failure = undefined;
  expect(written).toContain('"operation":"onboardClient"');
  const jwk = JSON.stringify(await service.keys.jwks());
  for (const secret of [
    key,
    token,
    exchanged.body.access_token,
    '98-7654321',
    'ecretive',
    'umbra',
    'Umbra',
    'Hidden',
    'key-of',
    jwk,
    'eyJ',
  ]) {
    expect({ secret, written: written.includes(secret) }).toEqual({ secret, written: false });
  }
});
