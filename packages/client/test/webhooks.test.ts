import { createHmac } from 'node:crypto';
import contract from '@financial-automation/spec/openapi.json' with { type: 'json' };
import { describe, expect, it } from 'vitest';
import { isCustomRecordEvent, verifyWebhook, WebhookVerificationError } from '../src/webhooks.ts';

const secret = `whsec_${Buffer.from('a secret of thirty-two bytes....').toString('base64')}`;
const otherSecret = `whsec_${Buffer.from('another one of thirty-two bytes.').toString('base64')}`;
const id = '0199a1c2-1b04-7c01-8a4f-5d2e9b60f101';
const body = JSON.stringify({ id, entityType: 'Client', operation: 'CREATE', data: { name: 'Händel & Söhne' } });

/** The signature as the contract describes it, created without the library that verifies it. */
function sign(text: string, { key = secret, message = id, seconds = Math.floor(Date.now() / 1000) } = {}) {
  const bytes = Buffer.from(key.slice('whsec_'.length), 'base64');
  const signature = `v1,${createHmac('sha256', bytes).update(`${message}.${seconds}.${text}`).digest('base64')}`;
  return { 'webhook-id': message, 'webhook-timestamp': String(seconds), 'webhook-signature': signature };
}

describe('a webhook', () => {
  it('with a valid signature returns its event', () => {
    expect(verifyWebhook({ headers: sign(body), body }, secret)).toEqual(JSON.parse(body));
  });

  it("is read from Headers, from Node's headers, and in any case", () => {
    const signed = sign(body);
    expect(verifyWebhook({ headers: new Headers(signed), body }, secret)).toMatchObject({ id });
    expect(
      verifyWebhook({ headers: { ...signed, host: 'x', 'set-cookie': ['a', 'b'], te: undefined }, body }, secret),
    ).toMatchObject({ id });
    const upper = Object.fromEntries(Object.entries(signed).map(([name, value]) => [name.toUpperCase(), value]));
    expect(verifyWebhook({ headers: upper, body }, secret)).toMatchObject({ id });
  });

  it('is read from raw bytes', () => {
    const bytes = new TextEncoder().encode(body);
    expect(verifyWebhook({ headers: sign(body), body: bytes }, secret)).toMatchObject({ id });
    expect(verifyWebhook({ headers: sign(body), body: bytes.buffer }, secret)).toMatchObject({ id });
    expect(verifyWebhook({ headers: sign(body), body: Buffer.from(body) }, secret)).toMatchObject({ id });
  });

  it('with two signatures is valid with either secret, and with one signature for any of several secrets', () => {
    const seconds = Math.floor(Date.now() / 1000);
    const both = sign(body, { seconds });
    both['webhook-signature'] += ` ${sign(body, { key: otherSecret, seconds })['webhook-signature']}`;
    expect(verifyWebhook({ headers: both, body }, secret)).toMatchObject({ id });
    expect(verifyWebhook({ headers: both, body }, otherSecret)).toMatchObject({ id });
    expect(verifyWebhook({ headers: sign(body), body }, [otherSecret, secret])).toMatchObject({ id });
  });

  it.each([
    ['whose body was changed', { headers: sign(body), body: body.replace('CREATE', 'DELETE') }],
    ['whose body has one more byte', { headers: sign(body), body: `${body} ` }],
    ['whose body got a byte-order mark', { headers: sign(body), body: new TextEncoder().encode(`\uFEFF${body}`) }],
    ['whose body is not UTF-8', { headers: sign(body), body: new Uint8Array([0xc3, 0x28]) }],
    ['whose id was changed', { headers: { ...sign(body), 'webhook-id': 'another' }, body }],
    [
      'whose time was changed',
      { headers: { ...sign(body), 'webhook-timestamp': `${Math.floor(Date.now() / 1000) - 10}` }, body },
    ],
    [
      'that is older than five minutes',
      { headers: sign(body, { seconds: Math.floor(Date.now() / 1000) - 301 }), body },
    ],
    [
      'that is more than five minutes ahead',
      { headers: sign(body, { seconds: Math.floor(Date.now() / 1000) + 302 }), body },
    ],
    ['that is signed with another secret', { headers: sign(body, { key: otherSecret }), body }],
    ['that is not signed', { headers: {}, body }],
    ['whose signature is of another version', { headers: { ...sign(body), 'webhook-signature': 'v2,AAAA' }, body }],
    ['whose signature is empty', { headers: { ...sign(body), 'webhook-signature': 'v1,' }, body }],
  ])('%s is rejected', (_, request) => {
    expect(() => verifyWebhook(request, secret)).toThrow(WebhookVerificationError);
  });

  it('is rejected without a secret', () => {
    expect(() => verifyWebhook({ headers: sign(body), body }, [])).toThrow(WebhookVerificationError);
  });

  it('reports an invalid secret as an error of the caller, not of the sender', () => {
    expect(() => verifyWebhook({ headers: sign(body), body }, '')).not.toThrow(WebhookVerificationError);
    expect(() => verifyWebhook({ headers: sign(body), body }, '')).toThrow("Secret can't be empty.");
  });
});

describe('the events of the contract', () => {
  const examples: Record<string, { value: unknown }> = contract.components.examples;
  const events = Object.entries(contract.webhooks).flatMap(([name, { post }]) =>
    Object.values<{ $ref: string }>(post.requestBody.content['application/json'].examples).map(({ $ref }) => ({
      name,
      event: examples[$ref.split('/').at(-1) ?? '']?.value,
    })),
  );

  it.each(events)('$name is verified, and custom records are recognized', ({ name, event }) => {
    const text = JSON.stringify(event);
    const verified = verifyWebhook({ headers: sign(text), body: text }, secret);
    const isCustom = /^customRecord(Created|Updated|Deleted)$/.test(name);
    expect(isCustomRecordEvent(verified)).toBe(isCustom);
    expect(isCustomRecordEvent(verified, verified.entityType)).toBe(isCustom);
    expect(isCustomRecordEvent(verified, 'Another')).toBe(false);
  });
});
