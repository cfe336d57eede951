import { sql } from 'kysely';
import { beforeEach, describe, expect, test } from 'vitest';
import { payerDetails, stripeFirm } from '../../../../test/modules/pay.ts';

const {
  attempts,
  expectAgreement,
  followUpAll,
  invoice,
  linkStatus,
  notify,
  owing,
  payer,
  pay,
  payment,
  payments,
  server,
  session,
  sessionOf,
  stripe,
} = await stripeFirm();

beforeEach(() => {
  stripe.trouble = 'none';
  stripe.requests.length = 0;
});

/** The requests that change something at Stripe, after the session was created. */
const changes = () =>
  stripe.requests.filter(({ method, path }) => method === 'POST' && path !== '/v1/checkout/sessions');

/** A payer who has completed Checkout, so that the card is authorized or the bank account pending. */
async function completed(method: 'CARD' | 'ACH' = 'CARD') {
  const { client, invoiceId, link } = await owing('500.00');
  const browser = payer();
  await browser.submit(link.path, { method, ...payerDetails });
  const id = await sessionOf(link.id);
  stripe.complete(id);
  const payOtherwise = () => pay('500.00', [{ invoiceId, amount: '500.00' }], { clientId: client.id });
  return { browser, client, id, intent: stripe.intentOf(id), invoiceId, link, payOtherwise };
}

const statusesOf = async (clientId: string) => (await payments(clientId)).map(({ status }) => status);

describe('an authorized card', () => {
  test('is captured once when Stripe reports the authorization, although the payer never returns', async () => {
    const { client, intent, link } = await completed();
    await Promise.all(
      Array.from({ length: 4 }, () => notify('payment_intent.amount_capturable_updated', { ...intent })),
    );
    expect(intent.status).toBe('succeeded');
    expect(await linkStatus(link.id)).toBe('USED');
    expect(await payments(client.id)).toMatchObject([{ status: 'COMPLETED' }]);
    await expectAgreement();
  });

  test('is cancelled if the invoice was paid otherwise: nothing is captured, and the page says so', async () => {
    const { browser, client, intent, link, payOtherwise } = await completed();
    await payOtherwise();
    const page = await browser.get(link.path);
    expect(page.text).toContain('Your payment of $500.00 was not completed. Nothing was charged.');
    expect(intent.status).toBe('canceled');
    expect(changes().map(({ path }) => path)).toEqual([`/v1/payment_intents/${intent.id}/cancel`]);
    expect(await linkStatus(link.id)).toBe('INVALIDATED');
    expect(await payments(client.id)).toHaveLength(1);
    await expectAgreement();
  });

  test('that expires before it is captured releases the link', async () => {
    const { client, intent, link } = await completed();
    stripe.before('/capture', () => Promise.resolve(Object.assign(intent, { status: 'canceled' })));
    await notify('payment_intent.amount_capturable_updated', { ...intent });
    await notify('payment_intent.canceled', { ...intent });
    expect(await linkStatus(link.id)).toBe('ACTIVE');
    expect(await attempts(link.id)).toMatchObject([{ status: 'DECLINED', failureCode: 'cancelled' }]);
    expect(await payments(client.id)).toEqual([]);
    await expectAgreement();
  });

  test('whose capture has no response is captured once', async () => {
    const { client, intent, link } = await completed();
    stripe.before('/capture', async () => {
      stripe.trouble = 'lost';
    });
    await followUpAll();
    expect(intent.status).toBe('succeeded');
    expect(await payments(client.id)).toEqual([]);
    stripe.trouble = 'none';
    await followUpAll();
    expect(await linkStatus(link.id)).toBe('USED');
    expect(await payments(client.id)).toMatchObject([{ status: 'COMPLETED' }]);
    await expectAgreement();
  });
});

describe('a payment that was captured although its invoice was paid otherwise', () => {
  test('is refunded at Stripe, with the events of a payment', async () => {
    const { browser, client, intent, invoiceId, link, payOtherwise } = await completed();
    stripe.before('/capture', payOtherwise);
    await followUpAll();
    const [attempt] = await attempts(link.id);
    const refund = changes().at(-1);
    expect(refund).toMatchObject({ path: '/v1/refunds', key: `${attempt?.id}-refund` });
    expect(Object.fromEntries(refund?.fields ?? [])).toEqual({
      payment_intent: intent.id,
      'metadata[tenant]': 'firm',
      'metadata[attempt]': attempt?.id,
    });
    expect(await payment(attempt?.paymentId ?? '')).toMatchObject({
      status: 'REFUNDED',
      refundedAmount: '500.00',
      failureCode: 'amount_no_longer_due',
      processorRef: intent.id,
    });
    const { store, tenant } = server;
    const events = await store.read(tenant.id, (one) =>
      one.all(sql`select operation, data ->> 'status' as status from recorded_event
        where tenant_id = ${tenant.id} and entity_id = ${attempt?.paymentId ?? null} order by sequence`),
    );
    expect(events).toEqual([
      { operation: 'CREATE', status: 'COMPLETED' },
      { operation: 'UPDATE', status: 'REFUNDED' },
    ]);
    expect(await linkStatus(link.id)).toBe('INVALIDATED');
    expect(await invoice(invoiceId)).toMatchObject({ status: 'PAID', amountPaid: '500.00' });
    expect(await statusesOf(client.id)).toEqual(['COMPLETED', 'REFUNDED']);
    expect((await browser.get(link.path)).text).toContain('was refunded in full');
    await expectAgreement();
  });

  test.each(['lost', 'down'] as const)('is refunded once if the connection is %s', async (trouble) => {
    const { client, id, payOtherwise } = await completed();
    stripe.before('/capture', payOtherwise);
    stripe.before('/refunds', async () => {
      stripe.trouble = trouble;
    });
    await followUpAll();
    expect(await statusesOf(client.id)).toContain('COMPLETED');
    stripe.trouble = 'none';
    stripe.forgetKeys();
    await followUpAll();
    const charge = stripe.intentOf(id).latest_charge as { refunds?: { data: unknown[] } } | null;
    expect(charge?.refunds?.data).toHaveLength(1);
    expect(await statusesOf(client.id)).toContain('REFUNDED');
    await expectAgreement();
  });

  test('from a bank account is refunded when it arrives, and recorded when the refund has succeeded', async () => {
    const { browser, client, id, intent, link, payOtherwise } = await completed('ACH');
    await payOtherwise();
    await notify('checkout.session.completed', session(id));
    expect(await statusesOf(client.id)).toEqual(['COMPLETED', 'PENDING']);
    expect(await linkStatus(link.id)).toBe('INVALIDATED');
    expect(changes()).toEqual([]);
    stripe.settle(id);
    await notify('checkout.session.async_payment_succeeded', session(id));
    expect(changes().map(({ path }) => path)).toEqual(['/v1/refunds']);
    expect(await statusesOf(client.id)).toEqual(['COMPLETED', 'COMPLETED']);
    expect((await browser.get(link.path)).text).toContain('It will be refunded in full.');
    await followUpAll();
    expect(changes()).toHaveLength(1);
    await notify('refund.updated', stripe.endRefund(id, 'succeeded'));
    expect(await statusesOf(client.id)).toEqual(['COMPLETED', 'REFUNDED']);
    expect(stripe.intentOf(id)).toBe(intent);
    await expectAgreement();
  });

  test('whose refund fails stays in the books, and is refunded again', async () => {
    const { client, id, payOtherwise } = await completed('ACH');
    await payOtherwise();
    await followUpAll();
    stripe.settle(id);
    await followUpAll();
    await notify('refund.failed', stripe.endRefund(id, 'failed'));
    expect(await statusesOf(client.id)).toEqual(['COMPLETED', 'COMPLETED']);
    stripe.forgetKeys();
    await followUpAll();
    await notify('refund.updated', stripe.endRefund(id, 'succeeded'));
    expect(await statusesOf(client.id)).toEqual(['COMPLETED', 'REFUNDED']);
    await expectAgreement();
  });
});

test('a payment that the firm refunds in full at Stripe is refunded in the books, and its invoice is due again', async () => {
  const { client, id, intent, invoiceId, link } = await completed();
  await followUpAll();
  expect(await invoice(invoiceId)).toMatchObject({ status: 'PAID' });
  stripe.refundByHand(id);
  await notify('charge.refunded', { object: 'charge', payment_intent: intent.id });
  expect(await statusesOf(client.id)).toEqual(['REFUNDED']);
  expect(await invoice(invoiceId)).toMatchObject({ status: 'POSTED', amountDue: '500.00' });
  expect(await linkStatus(link.id)).toBe('USED');
  await expectAgreement();
});
