import { decodeProtectedHeader, exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { testStore } from '../../test/database.ts';
import { testService } from '../../test/service.ts';
import { wire } from '../../test/wire.ts';
import { createApiKey } from '../operator/api-keys.ts';
import { KeyRing } from '../platform/auth/key-ring.ts';
import type { Store } from '../platform/store/store.ts';
import { Tokens } from './tokens.ts';

const { service, store, token, address, tenant, call, addTenant } = await testService();
const { kid, key } = service.keys.signingKey();
const claims: JWTPayload = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
const header = { alg: 'EdDSA', kid, typ: 'at+jwt' };

function sign(changes: JWTPayload, more: Record<string, unknown> = {}, by = key): Promise<string> {
  return new SignJWT({ ...claims, ...changes }).setProtectedHeader({ ...header, ...more }).sign(by);
}

function unsigned(alg: string, signature = ''): string {
  const [, payload] = token.split('.');
  return `${Buffer.from(JSON.stringify({ ...header, alg })).toString('base64url')}.${payload}.${signature}`;
}

async function hs256(secret: Uint8Array): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ ...header, alg: 'HS256' }).sign(secret);
}

const foreign = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true });
const ecdsa = await generateKeyPair('ES256');
const published = (await service.keys.jwks()).keys[0] ?? {};
const publicKey = (await service.keys.publicKey(kid)) ?? key;
const created = await createApiKey(
  { service },
  { tenant: tenant.name, user: 'user-api_admin', roles: ['API_ADMIN'], days: 1, description: undefined },
);
const [head = '', payload = '', signature = ''] = token.split('.');
const { exp: _end, ...endless } = claims;
const past = Math.floor(Date.now() / 1000) - 60;

/** Tokens that are forged or no longer valid. */
const forged: Readonly<Record<string, string>> = {
  'no token': 'x',
  'three parts of garbage': 'a.b.c',
  'too many parts': `${token}.x`,
  'an expired token': await sign({ exp: past }),
  'a token without expiry': await new SignJWT(endless).setProtectedHeader(header).sign(key),
  'a token that is not valid yet': await sign({ nbf: Math.floor(Date.now() / 1000) + 60 }),
  'another signature': `${head}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
  'no signature': `${head}.${payload}.`,
  'other claims under the same signature': `${head}.${Buffer.from(JSON.stringify({ ...claims, roles: ['X'] })).toString('base64url')}.${signature}`,
  'alg none': unsigned('none'),
  'alg none with a signature': unsigned('none', signature),
  'alg None': unsigned('None'),
  'HS256 with the public key, raw': await hs256(Buffer.from(published.x ?? '', 'base64url')),
  'HS256 with the public key as JWK': await hs256(Buffer.from(JSON.stringify(published))),
  'HS256 with the public key as PEM': await hs256(Buffer.from(await exportSPKI(publicKey))),
  'a foreign key with our kid': await sign({}, {}, foreign.privateKey),
  'a foreign key embedded in the header': await sign(
    {},
    { jwk: await exportJWK(foreign.publicKey) },
    foreign.privateKey,
  ),
  'a foreign key of another algorithm': await sign({}, { alg: 'ES256' }, ecdsa.privateKey),
  'an unknown kid': await sign({}, { kid: 'x' }),
  'no kid': await new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt' }).sign(key),
  'another audience': await sign({ aud: 'token' }),
  'no audience': await sign({ aud: '' }),
  'another issuer': await sign({ iss: 'financial-automation.example' }),
  'another type': await sign({}, { typ: 'JWT' }),
  'no tenant': await sign({ tenant: 1 }),
  'roles that are not an array': await sign({ roles: 'API_ADMIN' }),
  'an API key': created.key,
};

const product = { path: '/gql/v1/orgs', method: 'POST', body: '{}' };

test('an access token is accepted, whatever the case of its scheme', async () => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER ']) {
    const headers = { Authorization: `${scheme} ${token}`, Tenant: 'firm', 'Content-Type': 'application/json' };
    expect(await wire(address, { ...product, headers })).toMatchObject({ status: 200 });
  }
  expect(
    await call('POST', '/gql/v1/orgs', {}, { Authorization: `Bearer ${await sign({ jti: 'again' })}` }),
  ).toMatchObject({ status: 200 });
});

test.each([undefined, '', 'Bearer', 'Bearer ', `Basic ${token}`, token, `Bearer ${token} x`])(
  'a request without a bearer token is rejected: %#',
  async (authorization) => {
    const headers = {
      ...(authorization === undefined ? {} : { Authorization: authorization }),
      Tenant: 'firm',
      'Content-Type': 'application/json',
    };
    const response = await wire(address, { ...product, headers });
    expect(response).toMatchObject({ status: 401, json: { code: 'UNAUTHENTICATED' } });
    expect(response.headers['www-authenticate']).toMatch(/^Bearer /);
  },
);

describe('a token of another issuer is rejected', () => {
  test.each(Object.entries(forged))('%s', async (_name, wrong) => {
    for (let time = 1; time <= 2; time++) {
      const response = await call('POST', '/gql/v1/orgs', {}, { Authorization: `Bearer ${wrong}` });
      expect(response).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer .*error="invalid_token"/);
    }
  });

  test('also in the exchange of API keys, in particular an access token', async () => {
    const asKeys = [
      token,
      await sign({}, { typ: 'api-key+jwt' }),
      await sign({ aud: 'token' }),
      ...Object.values(forged).filter((one) => one !== created.key),
    ];
    for (const apiKey of asKeys) {
      const response = await call('POST', '/v1/auth/token', { apiKey }, { Authorization: null });
      expect([400, 401]).toContain(response.status);
    }
  });
});

describe('the exchange of an API key', () => {
  test('returns a token as RFC 6749 specifies, which must not be cached', async () => {
    const response = await call(
      'POST',
      '/v1/auth/token',
      { apiKey: created.key },
      { Authorization: null, Tenant: null },
    );
    expect(response).toMatchObject({ status: 200, body: { token_type: 'Bearer', expires_in: 900 } });
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  test('only accepts a key of the requested tenant', async () => {
    await addTenant('exchange');
    for (const other of ['exchange', 'nobody']) {
      const response = await call('POST', '/v1/auth/token', { apiKey: created.key }, { Tenant: other });
      expect(response).toMatchObject({ status: 403, body: { code: 'TENANT_MISMATCH' } });
    }
  });

  test('rejects a key that was never stored', async () => {
    const unknown = await service.tokens.signApiKey(
      { jti: '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101', tenant: 'firm', sub: 'x' },
      { from: new Date(), until: new Date(Date.now() + 9e6) },
    );
    expect(await call('POST', '/v1/auth/token', { apiKey: unknown })).toMatchObject({ status: 401 });
    const nowhere = await service.tokens.signApiKey(
      { jti: created.id, tenant: 'nobody', sub: 'x' },
      { from: new Date(), until: new Date(Date.now() + 9e6) },
    );
    expect(await call('POST', '/v1/auth/token', { apiKey: nowhere }, { Tenant: null })).toMatchObject({ status: 401 });
  });
});

describe('another signing key', () => {
  test('signs from now on, and tokens of the previous key remain valid', async () => {
    const newKid = await service.keys.rotate();
    expect(service.keys.signingKey().kid).toBe(newKid);
    expect(await call('POST', '/gql/v1/orgs', {})).toMatchObject({ status: 200 });
    const exchanged = await call<{ access_token: string }>('POST', '/v1/auth/token', { apiKey: created.key });
    const newToken = exchanged.body.access_token;
    expect(JSON.parse(Buffer.from(newToken.split('.')[0] ?? '', 'base64url').toString())).toMatchObject({
      kid: newKid,
    });
    expect(await call('POST', '/gql/v1/orgs', {}, { Authorization: `Bearer ${newToken}` })).toMatchObject({
      status: 200,
    });
    const { json } = await wire(address, { path: '/.well-known/jwks.json' });
    expect((json as { keys: object[] }).keys).toEqual([
      expect.objectContaining({ kid: newKid }),
      expect.objectContaining({ kid }),
    ]);
  });

  test('created by another process is known at once, and unknown keys cause few reads', async () => {
    let reads = 0;
    const counting: Store = {
      ...store,
      owner: {
        ...store.owner,
        all: (query) => {
          reads += 1;
          return store.owner.all(query);
        },
      },
    };
    const ring = await KeyRing.open(counting, service.vault, { now: () => 1 });
    const tokens = new Tokens(ring, service.vault);
    const sign = (id: string) =>
      service.tokens.signAccessToken(
        { ...(claims as { sub: string }), client_id: created.id, tenant: 'firm', roles: [], staffId: null },
        id,
      );
    await service.keys.rotate();
    const theirs = await sign('x');
    await expect(tokens.verifyAccessToken(theirs)).resolves.toMatchObject({ tenant: 'firm' });
    await service.keys.rotate();
    const latest = await Promise.all(Array.from({ length: 50 }, (_, index) => sign(`y${index}`)));
    reads = 0;
    await Promise.all(latest.map((token) => tokens.verifyAccessToken(token)));
    expect(reads).toBe(1);

    // The mark of a token does not cover the ID of its key.
    const [, payload, signature] = theirs.split('.');
    const header = decodeProtectedHeader(theirs);
    const withKey = (kid: string) =>
      [Buffer.from(JSON.stringify({ ...header, kid })).toString('base64url'), payload, signature].join('.');
    reads = 0;
    const forged = Array.from({ length: 500 }, (_, index) => tokens.verifyAccessToken(withKey(`kid ${index}`)));
    for (const result of await Promise.allSettled(forged)) expect(result.status).toBe('rejected');
    expect(reads).toBe(1);
    // Without a mark there is no read at all.
    const unmarked = [
      Buffer.from(JSON.stringify({ ...header, kid: 'x', mark: '' })).toString('base64url'),
      payload,
      signature,
    ];
    await expect(tokens.verifyAccessToken(unmarked.join('.'))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(reads).toBe(1);
  });

  test('is created once by processes that start on an empty database at the same time', async () => {
    const own = await testStore();
    const rings = await Promise.all([1, 2, 3, 4].map(() => KeyRing.open(own.store, service.vault)));
    expect(new Set(rings.map((ring) => ring.signingKey().kid)).size).toBe(1);
    expect((await rings[0]?.jwks())?.keys).toHaveLength(1);
  });

  test('that is retired is invalid within seconds in every process, also for tokens that were already verified', async () => {
    let now = 1;
    const elsewhere = await KeyRing.open(store, service.vault, { now: () => now });
    const tokens = new Tokens(elsewhere, service.vault);
    const retired = service.keys.signingKey().kid;
    const options = {
      tenant: tenant.name,
      user: 'signed-by-the-old-key',
      roles: ['REF_R'],
      days: 1,
      description: undefined,
    };
    const old = await createApiKey({ service }, options);
    const exchanged = await call<{ access_token: string }>('POST', '/v1/auth/token', { apiKey: old.key });
    const { access_token: issued } = exchanged.body;
    const listOrgs = () => call('POST', '/gql/v1/orgs', {}, { Authorization: `Bearer ${issued}` });
    now += 5_000;
    await expect(tokens.verifyAccessToken(issued)).resolves.toMatchObject({ tenant: tenant.name });
    expect(await listOrgs()).toMatchObject({ status: 200 });

    await expect(service.keys.retire(retired)).rejects.toThrow(
      /signs new tokens\. First run: .*npx --yes pnpm@12 operator signing-key rotate$/,
    );
    const next = await service.keys.rotate();
    await service.keys.retire(retired);
    await expect(service.keys.retire(retired)).rejects.toThrow(`No signing key ${retired} is in use.`);

    expect(await listOrgs()).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
    expect(await call('POST', '/v1/auth/token', { apiKey: old.key })).toMatchObject({ status: 401 });
    now += 5_000;
    await expect(tokens.verifyAccessToken(issued)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    expect((await elsewhere.jwks()).keys.map((jwk) => jwk.kid)).not.toContain(retired);
    expect(elsewhere.signingKey().kid).toBe(next);
    const states = new Map((await service.keys.list()).map(({ kid, use }) => [kid, use]));
    expect([states.get(next), states.get(retired), states.get(kid)]).toEqual([
      'signs and verifies',
      'none',
      'verifies',
    ]);
  });

  test('is published without its private part, which is stored encrypted', async () => {
    const { text } = await wire(address, { path: '/.well-known/jwks.json' });
    for (const jwk of JSON.parse(text).keys) {
      expect(Object.keys(jwk).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x']);
    }
    expect(text).not.toContain('"d"');
  });
});
