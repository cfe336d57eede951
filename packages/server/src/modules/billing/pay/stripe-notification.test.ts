import fc from 'fast-check';
import { pino } from 'pino';
import { afterAll, describe, expect, test } from 'vitest';
import { payerDetails, payingFirm, sendNotification } from '../../../../test/modules/pay.ts';
import { isNightly } from '../../../../test/nightly.ts';
import { testService } from '../../../../test/service.ts';
import { startStripeDouble } from '../../../../test/stripe-double.ts';
import { StripeProcessor } from '../../../platform/payments/stripe.ts';

const keys = { secretKey: 'sk_test_51Double', webhookSecret: 'whsec_of_the_double' };
const stripe = await startStripeDouble(keys.secretKey, keys.webhookSecret);
afterAll(() => stripe.stop());
const server = await testService({
  config: { rateLimitFactor: 1 },
  replace: () => ({
    processor: new StripeProcessor(keys, pino({ level: 'silent' }), {
      host: stripe.host,
      port: stripe.port,
      protocol: 'http',
    }),
  }),
});
const { attempts, owing, payer, payments } = await payingFirm(server);

const id = '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101';
const completed = (object: unknown) => ({ type: 'checkout.session.completed', data: { object } });
const ofMetadata = (metadata: unknown) => completed({ id: 'cs_other', metadata });

async function statusOf(event: unknown, ...more: [secret?: string, at?: number]): Promise<number> {
  return (await sendNotification(server.address, stripe.notification(event, ...more))).status;
}

/** Returns a completed session whose payment has no notification yet. */
async function paidSession() {
  const { client, link } = await owing();
  await payer().submit(link.path, { method: 'CARD', ...payerDetails });
  const [attempt] = await attempts(link.id);
  const found = [...stripe.sessions.values()].find(({ session }) => session.client_reference_id === attempt?.id);
  if (found === undefined) throw new Error('No session found.');
  stripe.complete(found.session.id);
  return { client, session: found.session };
}

describe('a notification', () => {
  test.each([
    ['without a signature', undefined, undefined],
    ['signed with another secret', 'whsec_other', undefined],
    ['that is old', keys.webhookSecret, Math.floor(Date.now() / 1000) - 3600],
  ])('%s is rejected', async (_what, secret, at) => {
    const { client, session } = await paidSession();
    const { body, signature } = stripe.notification(completed(session), secret, at);
    const sent = { body, signature: secret === undefined ? undefined : signature };
    expect((await sendNotification(server.address, sent)).status).toBe(400);
    expect(await payments(client.id)).toEqual([]);
  });

  test.each([
    ['of an unknown type', { type: 'customer.created', data: { object: { id: 'cus_1' } } }],
    ['about an object without metadata', completed({ id: 'cs_other' })],
    ['about an object with other metadata', ofMetadata({ tenant: '\0' })],
    ['about an unknown tenant', ofMetadata({ tenant: 'nobody', attempt: id })],
    ['about an unknown attempt', ofMetadata({ tenant: 'firm', attempt: id })],
    [
      'about a dispute without a payment',
      { type: 'charge.dispute.closed', data: { object: { payment_intent: null } } },
    ],
    ['about an unknown payment', { type: 'charge.dispute.closed', data: { object: { payment_intent: 'pi_other' } } }],
  ])('%s is accepted, and changes nothing', async (_what, event) => {
    expect(await statusOf(event)).toBe(200);
  });

  test.each([
    ['null', null],
    ['an array', []],
    ['a text', 'event'],
    ['an event without a type', { data: { object: {} } }],
    ['an event whose type is not a string', { type: ['checkout.session.completed'] }],
    ['an event without data', { type: 'checkout.session.completed' }],
    ['an event whose object is an array', completed([])],
    ['metadata that is not an object', ofMetadata('firm')],
    ['a NUL in the tenant', ofMetadata({ tenant: 'fi\0rm', attempt: id })],
    ['a NUL in the attempt', ofMetadata({ tenant: 'firm', attempt: `${id}\0` })],
    ['a number as the attempt', ofMetadata({ tenant: 'firm', attempt: 1 })],
    ['an attempt that is no ID', ofMetadata({ tenant: 'firm', attempt: "'; drop table payment" })],
    ['a path as the payment', { type: 'charge.dispute.created', data: { object: { payment_intent: '../charges' } } }],
  ])('signed correctly and malformed is rejected: %s', async (_what, event) => {
    expect(await statusOf(event)).toBe(400);
  });

  test('signed correctly never fails unexpectedly, and is rejected if it claims to be of this service and is malformed', async () => {
    const type = fc.constantFrom(
      'checkout.session.completed',
      'checkout.session.async_payment_succeeded',
      'checkout.session.async_payment_failed',
      'checkout.session.expired',
      'charge.dispute.created',
      'charge.dispute.closed',
      'charge.dispute.funds_withdrawn',
      'payment_intent.amount_capturable_updated',
      'payment_intent.canceled',
      'charge.refunded',
      'refund.updated',
      'refund.failed',
    );
    const odd = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.string({ unit: 'binary' }), fc.constant(`${id}\0`));
    const part = { requiredKeys: [] };
    const object = fc.oneof(odd, fc.record({ metadata: odd, payment_intent: odd }, part));
    const event = fc.oneof(
      odd,
      fc.record({ type: fc.oneof(type, odd), data: fc.oneof(odd, fc.record({ object })) }, part),
    );
    const tenant = fc.oneof(fc.constant('firm'), odd);
    const sessionType = type.filter((name) => name.startsWith('checkout.'));
    const ours = fc
      .record({ type: sessionType, tenant, attempt: odd })
      .map(({ type: name, ...metadata }) => ({ type: name, data: { object: { metadata } } }));
    await fc.assert(
      fc.asyncProperty(event, ours, async (any, malformed) => {
        expect([200, 400]).toContain(await statusOf(any));
        expect(await statusOf(malformed)).toBe(400);
      }),
      { numRuns: isNightly ? 60 : 6 },
    );
  });

  test('is accepted from an address that has sent many forged ones, which are limited', async () => {
    const { client, session } = await paidSession();
    const forged = await Promise.all(Array.from({ length: 40 }, () => statusOf(completed(session), 'whsec_other')));
    expect(new Set(forged)).toEqual(new Set([400, 429]));
    expect(await payments(client.id)).toEqual([]);
    expect(await statusOf(null)).toBe(400);
    expect(await statusOf(completed(session))).toBe(200);
    expect(await payments(client.id)).toMatchObject([{ status: 'COMPLETED' }]);
  });
});
