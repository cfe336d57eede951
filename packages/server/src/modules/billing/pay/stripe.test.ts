import { beforeEach, describe, expect, test } from 'vitest';
import { formKeyIn, payerDetails, stripeFirm, stripeKeys } from '../../../../test/modules/pay.ts';

const {
  attempts,
  expectAgreement,
  followUpAll,
  invoice,
  lines,
  linkOf,
  linkStatus,
  newClient,
  notify,
  owing,
  payer,
  pay,
  payment,
  payments,
  session,
  sessionOf,
  stripe,
} = await stripeFirm();
const card = { method: 'CARD', ...payerDetails };
const bank = { method: 'ACH', ...payerDetails };

beforeEach(() => {
  stripe.trouble = 'none';
});

test('a payment by card: the page forwards to Stripe, and shows the receipt when the payer returns', async () => {
  const { client, invoiceId, link } = await owing('1250.00');
  const browser = payer();
  const form = await browser.get(link.path);
  expect(form.text).toContain('Continue to the payment');
  expect(form.text).not.toContain('Card number');
  const sent = await browser.submit(link.path, card);
  expect(sent.headers.location).toBe(`${link.path}/continue`);
  const id = await sessionOf(link.id);
  expect((await browser.get(`${link.path}/continue`)).text).toContain(`0; url=https://checkout.stripe.com/c/pay/${id}`);
  const { fields } = stripe.requests.findLast(({ method }) => method === 'POST') ?? {};
  expect(Object.fromEntries(fields ?? [])).toMatchObject({
    mode: 'payment',
    'line_items[0][price_data][unit_amount]': '125000',
    'line_items[0][price_data][currency]': 'usd',
    'allowed_payment_method_types[0]': 'card',
    'metadata[tenant]': 'firm',
    'payment_intent_data[metadata][tenant]': 'firm',
    'payment_intent_data[capture_method]': 'manual',
    customer_email: 'ines@example.com',
    success_url: `http://localhost:3000${link.path}`,
  });
  stripe.complete(id);
  const receipt = await browser.get(link.path);
  expect(receipt.text).toContain('<h1>Receipt</h1>');
  expect(receipt.text).toContain('Visa ending in 4242');
  const [created] = await payments(client.id);
  expect(await payment(created?.id ?? '')).toMatchObject({
    status: 'COMPLETED',
    processor: 'stripe',
    processorRef: expect.stringMatching(/^pi_/),
    feeAmount: '36.55',
  });
  expect(await invoice(invoiceId)).toMatchObject({ status: 'PAID' });
  // The notification that also arrives changes nothing.
  expect((await notify('checkout.session.completed', session(id))).status).toBe(200);
  expect(await payments(client.id)).toHaveLength(1);
  await expectAgreement();
});

test('a payer who never returns: the notification completes the payment', async () => {
  const { client, link } = await owing();
  await payer().submit(link.path, card);
  const id = await sessionOf(link.id);
  stripe.complete(id);
  const responses = await Promise.all(
    Array.from({ length: 5 }, () => notify('checkout.session.completed', session(id))),
  );
  expect(responses.map(({ status }) => status)).toEqual(Array(5).fill(200));
  expect(await payments(client.id)).toMatchObject([{ status: 'COMPLETED' }]);
  await expectAgreement();
});

test('a bank account: pending, then completed, then lost in a dispute', async () => {
  const { client, invoiceId, link } = await owing('300.00');
  const browser = payer();
  await browser.submit(link.path, bank);
  const id = await sessionOf(link.id);
  const created = stripe.requests.findLast(({ method }) => method === 'POST');
  expect(created?.fields.has('payment_intent_data[capture_method]')).toBe(false);
  stripe.complete(id);
  await notify('checkout.session.completed', session(id));
  expect(await payments(client.id)).toMatchObject([{ status: 'PENDING' }]);
  expect(await invoice(invoiceId)).toMatchObject({ amountPending: '300.00' });
  stripe.settle(id);
  await notify('checkout.session.async_payment_succeeded', session(id));
  expect(await payments(client.id)).toMatchObject([{ status: 'COMPLETED' }]);
  await notify('charge.dispute.created', stripe.dispute(id, 'under_review'));
  expect(await payments(client.id)).toMatchObject([{ status: 'COMPLETED' }]);
  await notify('charge.dispute.closed', stripe.dispute(id, 'lost'));
  const [found] = await payments(client.id);
  expect(await payment(found?.id ?? '')).toMatchObject({ status: 'RETURNED', failureCode: 'debit_not_authorized' });
  expect(await invoice(invoiceId)).toMatchObject({ status: 'POSTED', amountDue: '300.00' });
  expect((await browser.get(link.path)).text).toContain('The payment was returned');
  await expectAgreement();
});

test('a bank account that does not pay', async () => {
  const { client, invoiceId, link } = await owing('300.00');
  await payer().submit(link.path, bank);
  const id = await sessionOf(link.id);
  stripe.complete(id);
  await followUpAll();
  stripe.fail(id);
  await notify('checkout.session.async_payment_failed', session(id));
  const [created] = await payments(client.id);
  expect(await payment(created?.id ?? '')).toMatchObject({ status: 'FAILED', failureCode: 'insufficient_funds' });
  expect(await invoice(invoiceId)).toMatchObject({ amountDue: '300.00', amountPending: '0.00' });
  await expectAgreement();
});

describe('an unfinished payment', () => {
  test('is cancelled by the payer, also at Stripe', async () => {
    const { link } = await owing();
    const browser = payer();
    await browser.submit(link.path, card);
    const id = await sessionOf(link.id);
    const { text } = await browser.get(link.path);
    expect(text).toContain('Payment not finished');
    await browser.post(`${link.path}/cancel`, { formKey: formKeyIn(text) });
    expect(session(id)).toMatchObject({ status: 'expired' });
    expect(await linkStatus(link.id)).toBe('ACTIVE');
  });

  test('is cancelled if the payer completes it at Stripe and cancels it before it is captured', async () => {
    const { link } = await owing();
    const browser = payer();
    await browser.submit(link.path, card);
    const { text } = await browser.get(link.path);
    const id = await sessionOf(link.id);
    stripe.complete(id);
    await browser.post(`${link.path}/cancel`, { formKey: formKeyIn(text) });
    expect(stripe.intentOf(id)).toMatchObject({ status: 'canceled' });
    expect((await browser.get(link.path)).text).toContain('The payment was cancelled');
    expect(await linkStatus(link.id)).toBe('ACTIVE');
  });

  test('is completed if it was captured before the payer cancels it', async () => {
    const { link } = await owing();
    const browser = payer();
    await browser.submit(link.path, card);
    const { text } = await browser.get(link.path);
    const id = await sessionOf(link.id);
    stripe.complete(id);
    await notify('checkout.session.completed', session(id));
    await browser.post(`${link.path}/cancel`, { formKey: formKeyIn(text) });
    expect((await browser.get(link.path)).text).toContain('<h1>Receipt</h1>');
    await expectAgreement();
  });

  test('is cancelled at Stripe if the invoice is paid otherwise', async () => {
    const { client, invoiceId, link } = await owing('500.00');
    const browser = payer();
    await browser.submit(link.path, card);
    const id = await sessionOf(link.id);
    await pay('500.00', [{ invoiceId, amount: '500.00' }], { clientId: client.id });
    await followUpAll();
    expect(session(id)).toMatchObject({ status: 'expired' });
    expect(await linkStatus(link.id)).toBe('INVALIDATED');
    expect((await browser.get(link.path)).text).toContain('Nothing was charged');
    expect(await payments(client.id)).toHaveLength(1);
    await expectAgreement();
  });

  test('expires at Stripe, and the link can be paid again', async () => {
    const { link } = await owing();
    await payer().submit(link.path, card);
    const id = await sessionOf(link.id);
    stripe.expire(id);
    await notify('checkout.session.expired', session(id));
    expect(await linkStatus(link.id)).toBe('ACTIVE');
    expect(await attempts(link.id)).toMatchObject([{ status: 'DECLINED', failureCode: 'expired' }]);
  });

  test('is released if the response of Stripe was lost', async () => {
    const { client, link } = await owing();
    const browser = payer();
    stripe.trouble = 'lost';
    const sent = await browser.pay(link.path, card);
    expect(sent.text).toContain('We are waiting for the result');
    const created = stripe.requests.filter(({ method, path }) => method === 'POST' && path === '/v1/checkout/sessions');
    expect(created.length).toBeGreaterThan(1);
    const { id } = (await attempts(link.id))[0] ?? {};
    // The SDK has repeated the request, and the idempotency key has prevented a duplicate.
    const made = [...stripe.sessions.values()].filter(({ session: one }) => one.client_reference_id === id);
    expect(made).toHaveLength(1);
    stripe.trouble = 'none';
    await followUpAll();
    expect(await linkStatus(link.id)).toBe('ACTIVE');
    expect(await payments(client.id)).toEqual([]);
  });

  test('remains unchanged while Stripe is down', async () => {
    const { link } = await owing();
    await payer().submit(link.path, card);
    stripe.trouble = 'down';
    await followUpAll();
    expect(await linkStatus(link.id)).toBe('PROCESSING');
    stripe.trouble = 'none';
    stripe.complete(await sessionOf(link.id));
    await followUpAll();
    expect(await linkStatus(link.id)).toBe('USED');
  });

  test('is declined if Stripe does not accept the amount', async () => {
    const client = await newClient();
    const link = await linkOf(client.ref, { amount: '0.10' });
    const { text } = await payer().pay(link.path, card);
    expect(text).toContain('below what can be paid online');
    expect(await linkStatus(link.id)).toBe('ACTIVE');
  });
});

test('amounts are in the smallest unit of their currency, as Stripe defines it', async () => {
  for (const [currency, amount, units] of [
    ['JPY', '12000.00', '12000'],
    // ISO 4217 has no decimals for it.
    ['UGX', '12000.00', '1200000'],
    ['EUR', '12.50', '1250'],
  ] as const) {
    const client = await newClient({ currency });
    const link = await linkOf(client.ref, { amount });
    await payer().submit(link.path, card);
    const { fields } = stripe.requests.findLast(({ method }) => method === 'POST') ?? {};
    expect(fields?.get('line_items[0][price_data][unit_amount]')).toBe(units);
  }
});

test('logs contain no secrets of Stripe or of links', () => {
  for (const secret of [stripeKeys.secretKey, stripeKeys.webhookSecret, '/pay/A', 'cs_test_'])
    expect(lines.join()).not.toContain(secret);
  expect(lines.length).toBeGreaterThan(20);
});
