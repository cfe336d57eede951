import { Writable } from 'node:stream';
import fc from 'fast-check';
import { sql } from 'kysely';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { isNightly } from '../../../../test/nightly.ts';
import { testService } from '../../../../test/service.ts';
import { storableTexts } from '../../../../test/storable-texts.ts';
import { logOptions } from '../../../platform/process/log.ts';
import { rotateSecret, validSecrets, type WebhookSecret } from './webhook-secret.ts';

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
const { call, service, store, tenant, signIn, addTenant } = await testService({ log });
const nobody = await signIn({ roles: [] });

interface Signed {
  readonly headers: { 'webhook-id': string; 'webhook-timestamp': string; 'webhook-signature': string };
  readonly signature: string;
  readonly signedContent: string;
}
const generate = (body: object) => nobody.call<Signed>('POST', '/api/v1/webhook/test/generate', body);
const validate = (body: object) =>
  nobody.call<{ valid: boolean; reason: string | null }>('POST', '/api/v1/webhook/test/validate', body);

const secrets = fc
  .uint8Array({ minLength: 24, maxLength: 64 })
  .map((bytes) => `whsec_${Buffer.from(bytes).toString('base64')}`);
const ids = fc.stringMatching(/^[A-Za-z0-9_-]{1,40}$/);
const timestamps = fc.integer({ min: 0, max: 253_402_300_799 });
const texts = storableTexts(200);
const secret = `whsec_${Buffer.from('an example secret of 32 bytes ..').toString('base64')}`;

/** Not base64, or base64 in another form than the bytes are encoded in, or of too few or too many bytes. */
const notSecrets = [
  ...['secret', 'whsec_', 'whsec_short', `whsec_${'A'.repeat(33)}`, `whsec_${'A'.repeat(32)}=`],
  ...[`whsec_${'A'.repeat(33)}B==`, `whsec_${'A'.repeat(34)}B=`],
  ...[23, 65].map((bytes) => `whsec_${Buffer.alloc(bytes).toString('base64')}`),
];

describe('generateTestSignature and validateTestSignature', () => {
  test('agree with the standardwebhooks package in both directions', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), secrets, ids, timestamps, async (payload, secret, id, timestamp) => {
        const body = typeof payload === 'string' ? payload : JSON.stringify(payload);
        const theirs = new Webhook(secret).sign(id, new Date(timestamp * 1000), body);
        const { status, body: ours } = await generate({ payload, secret, id, timestamp });
        expect({ status, signature: ours.signature }).toEqual({ status: 200, signature: theirs });
        expect(ours.signedContent).toBe(`${id}.${timestamp}.${body}`);
        const checked = await validate({ payload, secret, id, timestamp, signature: theirs });
        expect(checked).toMatchObject({ status: 200, body: { valid: true, reason: null } });
      }),
      { numRuns: isNightly ? 200 : 5 },
    );
  });

  test('take a text as the raw body, byte for byte, whatever its characters', async () => {
    await fc.assert(
      fc.asyncProperty(texts, async (payload) => {
        const theirs = new Webhook(secret).sign('x', new Date(0), payload);
        expect((await generate({ payload, secret, id: 'x', timestamp: 0 })).body.signature).toBe(theirs);
      }),
      { numRuns: isNightly ? 200 : 5 },
    );
  });

  test('make an id and a time where none is sent, which the package verifies', async () => {
    const { body } = await generate({ payload: { hello: 'world' }, secret });
    expect(new Webhook(secret).verify('{"hello":"world"}', body.headers)).toEqual({ hello: 'world' });
  });

  test('find every change of the message', async () => {
    const message = { payload: { amount: '1.00' }, secret, id: 'a', timestamp: 5 };
    const { signature } = (await generate(message)).body;
    const mismatch = { status: 200, body: { valid: false, reason: 'SIGNATURE_MISMATCH' } };
    const other = `whsec_${Buffer.alloc(32).toString('base64')}`;
    for (const change of [{ payload: { amount: '1.01' } }, { id: 'b' }, { timestamp: 6 }, { secret: other }])
      expect(await validate({ ...message, signature, ...change })).toMatchObject(mismatch);
    const malformed = { status: 200, body: { valid: false, reason: 'MALFORMED_SIGNATURE' } };
    for (const wrong of ['x', 'v1,', signature.slice(0, -1), signature.replace('v1', 'v2'), `${signature}=`])
      expect(await validate({ ...message, signature: wrong })).toMatchObject(malformed);
    const wrong = `v1,${Buffer.alloc(32).toString('base64')}`;
    expect(await validate({ ...message, signature: `${wrong} ${signature}` })).toMatchObject({ body: { valid: true } });
  });

  test('reject a secret that is none, and a body that is too large', async () => {
    for (const wrong of notSecrets)
      expect(await generate({ payload: 1, secret: wrong })).toMatchObject({ status: 400 });
    const long = 'x'.repeat(262_144);
    expect(await generate({ payload: long, secret })).toMatchObject({ status: 413 });
    expect(await generate({ payload: long.slice(1_000), secret })).toMatchObject({ status: 200 });
  });
});

describe('getWebhookSecret', () => {
  const read = async (caller = { call }) =>
    caller.call<{ secret: string; algorithm: string; createdAt: string }>(
      'GET',
      '/api/v1/event-subscriptions/webhook/secret',
    );

  test('returns the one secret of the tenant, however many ask for it first', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => read()));
    expect(new Set(answers.map(({ body }) => body.secret)).size).toBe(1);
    const [first] = answers;
    expect(first?.body.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(first?.headers.get('cache-control')).toBe('no-store');
    const other = await signIn({ roles: ['API_ADMIN'], tenant: await addTenant('other') });
    expect((await read(other)).body.secret).not.toBe(first?.body.secret);
  });

  test('is for WHSEC_R alone, and never for the test tools', async () => {
    expect(await read(nobody)).toMatchObject({ status: 403 });
    expect(await read(await signIn({ roles: ['WHSEC_R'] }))).toMatchObject({ status: 200 });
    expect(await generate({ payload: 1 })).toMatchObject({ status: 400 });
  });

  test('is stored encrypted', async () => {
    const { secret } = (await read()).body;
    const rows = await store.read(tenant.id, (session) =>
      session.all<{ stored: Buffer }>(sql`select secret_encrypted as stored from webhook_secret`),
    );
    expect(rows.length).toBe(1);
    for (const { stored } of rows) {
      expect(stored.includes(Buffer.from(secret.slice(6), 'base64'))).toBe(false);
      expect(stored.includes(secret.slice(6))).toBe(false);
    }
  });

  test('changes when the secret is rotated; the one before signs beside it until it expires', async () => {
    const before = (await read()).body.secret;
    const { vault } = service;
    const valid = async (): Promise<string[]> => {
      const found: WebhookSecret[] = await store.read(tenant.id, (session) => validSecrets(session, vault, tenant.id));
      return found.map(({ secret }) => secret);
    };
    const rotated = await store.write(tenant.id, (transaction) => rotateSecret(transaction, vault, tenant.id, 24));
    expect((await read()).body.secret).toBe(rotated.secret);
    expect(await valid()).toEqual([rotated.secret, before]);
    await store.write(tenant.id, (transaction) =>
      transaction.all(
        sql`update webhook_secret set expires_at = now() - interval '1 second' where expires_at is not null`,
      ),
    );
    expect(await valid()).toEqual([rotated.secret]);
  });

  test('stands in no log, nor do the secrets and payloads of the test tools', async () => {
    const { secret: own } = (await read()).body;
    await generate({ payload: 'Zyzzyva', secret });
    await validate({ payload: 'Zyzzyva', secret, id: 'a', timestamp: 1, signature: 'Zyzzyva' });
    await generate({ payload: 'Zyzzyva', secret: 'whsec_Zyzzyva' });
    expect(written).toContain('generateTestSignature');
    for (const part of [own, own.slice(6), secret.slice(6), 'Zyzzyva']) expect(written.includes(part)).toBe(false);
  });
});
