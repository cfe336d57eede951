import { sql } from 'kysely';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  accountOf,
  disagreements,
  formKeyIn,
  goodCard,
  payerDetails,
  payingFirm,
  tickOf,
} from '../../../../test/modules/pay.ts';
import { testService } from '../../../../test/service.ts';
import { parseDecimal } from '../../../platform/decimal.ts';
import type { PaymentProcessor, PaymentProgress } from '../../../platform/payments/processor.ts';
import { SandboxProcessor } from '../../../platform/payments/sandbox.ts';
import { recordResult } from '../payment/payment-rules.ts';
import { findAttempt, orderOf, secondsToNextCheck } from './attempt.ts';
import { pageWrites } from './pay-link.ts';
import { followAttempts, followUp } from './reconcile.ts';
import { settle } from './settle.ts';

/** The time of the sandbox, and simulated network failures. */
let now = Temporal.Now.instant();
let trouble: 'none' | 'before' | 'after' | 'down' = 'none';

class TroubledSandbox extends SandboxProcessor {
  override async submit(...order: Parameters<PaymentProcessor['submit']>): Promise<PaymentProgress> {
    if (trouble === 'before' || trouble === 'down') throw new Error('The connection was refused.');
    const progress = await super.submit(...order);
    if (trouble === 'after') throw new Error('The connection was lost.');
    return progress;
  }

  override async find(order: Parameters<PaymentProcessor['find']>[0]): Promise<PaymentProgress | undefined> {
    if (trouble === 'down') throw new Error('The connection was refused.');
    return super.find(order);
  }
}

const lines: string[] = [];
const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
const server = await testService({
  log,
  replace: ({ store }) => ({ processor: new TroubledSandbox(store, () => now) }),
});
const { attempts, balances, invoice, linkOf, linkStatus, owing, payer, pay, payment, payments } =
  await payingFirm(server);
const { service, store, tenant } = server;
const { processor } = service;
if (processor === undefined) throw new Error('There is no processor.');
const write = pageWrites(service, tenant, 'test');

/** Makes all attempts due, and runs the clock task. */
async function tick(): Promise<void> {
  await store.write(tenant.id, (transaction) =>
    transaction.all(sql`update payment_attempt set next_check_at = now() - interval '1 second'
      where tenant_id = ${tenant.id} and next_check_at is not null`),
  );
  await followAttempts.run(tickOf(server));
}

const later = (seconds: number) => {
  now = now.add({ seconds });
};
const expectAgreement = async () =>
  expect(await store.read(tenant.id, (session) => session.all(disagreements(tenant.id)))).toEqual([]);

beforeEach(() => {
  trouble = 'none';
});

describe('a payment from a bank account', () => {
  test('is pending, then completed', async () => {
    const { client, invoiceId, link } = await owing('800.00');
    const browser = payer();
    const sent = await browser.pay(link.path, accountOf('000123456789'));
    expect(sent.text).toContain('Payment on its way');
    expect(await linkStatus(link.id)).toBe('USED');
    expect(await invoice(invoiceId)).toMatchObject({ amountPending: '800.00', amountDue: '800.00', status: 'POSTED' });
    const [found] = await payments(client.id);
    expect(await payment(found?.id ?? '')).toMatchObject({
      status: 'PENDING',
      method: 'ACH',
      last4: '6789',
      feeAmount: '5.00',
      settledAt: null,
      allocations: [{ invoiceId, amount: '800.00' }],
    });
    await tick();
    expect(await payment(found?.id ?? '')).toMatchObject({ status: 'PENDING' });
    later(11);
    await tick();
    expect(await payment(found?.id ?? '')).toMatchObject({ status: 'COMPLETED', settledAt: expect.any(String) });
    expect(await invoice(invoiceId)).toMatchObject({ amountPending: '0.00', amountDue: '0.00', status: 'PAID' });
    expect((await browser.get(link.path)).text).toContain('The payment is complete');
    expect(await balances(client.id)).toMatchObject({ outstandingBalance: '0.00' });
    await expectAgreement();
  });

  test('is pending, then failed: the invoice is open, and the link remains used', async () => {
    const { client, invoiceId, link } = await owing('80.00');
    const browser = payer();
    await browser.pay(link.path, accountOf('000222222227'));
    later(11);
    await tick();
    expect(await payments(client.id)).toMatchObject([{ status: 'FAILED' }]);
    expect(await invoice(invoiceId)).toMatchObject({ amountPending: '0.00', amountDue: '80.00', status: 'POSTED' });
    expect(await linkStatus(link.id)).toBe('USED');
    const page = await browser.get(link.path);
    expect(page.text).toContain('The bank rejected the payment');
    expect(page.text).toContain('R01');
    await expectAgreement();
  });

  test('is completed, then returned: the invoice is open again, and a new link pays it', async () => {
    const { client, invoiceId, link } = await owing('80.00');
    const browser = payer();
    await browser.pay(link.path, accountOf('000333333335'));
    later(11);
    await tick();
    expect(await invoice(invoiceId)).toMatchObject({ status: 'PAID' });
    later(11);
    await tick();
    const [found] = await payments(client.id);
    expect(await payment(found?.id ?? '')).toMatchObject({
      status: 'RETURNED',
      failureCode: 'R10',
      returnedAt: expect.any(String),
      allocations: [],
    });
    expect(await invoice(invoiceId)).toMatchObject({ status: 'POSTED', amountDue: '80.00', amountPaid: '0.00' });
    expect(await linkStatus(link.id)).toBe('USED');
    expect((await browser.get(link.path)).text).toContain('The payment was returned');
    const next = await linkOf(client.ref, { invoiceIds: [invoiceId] });
    expect((await browser.pay(next.path, goodCard)).text).toContain('<h1>Receipt</h1>');
    await expectAgreement();
  });

  test('that was returned before the first check was completed first', async () => {
    const { client, link } = await owing('80.00');
    await payer().pay(link.path, accountOf('000333333335'));
    const [attempt] = await attempts(link.id);
    const atProcessor = { reference: 'late-1', cardBrand: null, last4: '3335', fee: parseDecimal('0.64') };
    const returned = { state: 'returned', ...atProcessor, code: 'R10', message: 'Not authorized.' } as const;
    await settle(write, attempt?.id ?? '', returned, log);
    const [found] = await payments(client.id);
    const { status, settledAt, returnedAt } = await payment(found?.id ?? '');
    expect([status, settledAt !== null, returnedAt !== null]).toEqual(['RETURNED', true, true]);
    await expectAgreement();
  });

  test('that settles after it had failed is completed, and that is returned after a refund is returned', async () => {
    const { client, invoiceId, link } = await owing('80.00');
    await payer().pay(link.path, accountOf('000222222227'));
    later(11);
    await tick();
    const [found] = await payments(client.id);
    const id = found?.id ?? '';
    expect(await payment(id)).toMatchObject({ status: 'FAILED' });
    const [attempt] = await attempts(link.id);
    const atProcessor = { reference: 'settled-1', cardBrand: null, last4: '2227', fee: parseDecimal('0.64') };
    await settle(write, attempt?.id ?? '', { state: 'captured', ...atProcessor }, log);
    expect(await payment(id)).toMatchObject({ status: 'COMPLETED', unappliedAmount: '80.00', failureCode: null });
    await write((unit) => unit.plan((plan) => recordResult(plan, id, { status: 'REFUNDED' })));
    expect(await payment(id)).toMatchObject({ status: 'REFUNDED' });
    const returned = { state: 'returned', ...atProcessor, code: 'R10', message: 'Not authorized.' } as const;
    await settle(write, attempt?.id ?? '', returned, log);
    expect(await payment(id)).toMatchObject({ status: 'RETURNED', unappliedAmount: '-80.00' });
    expect(await invoice(invoiceId)).toMatchObject({ status: 'POSTED', amountDue: '80.00' });
    await expectAgreement();
  });

  test('is checked until sixty days have passed, or until it is refunded', () => {
    const attempt = {
      status: 'COMPLETED',
      method: 'ACH',
      toRefund: false,
      createdAt: '2026-01-01T00:00:00.000Z',
    } as const;
    expect(secondsToNextCheck(attempt, 0, '2026-01-01T00:01:00.000Z')).toBe(15);
    expect(secondsToNextCheck(attempt, 30, '2026-03-01T00:00:00.000Z')).toBe(86_400);
    expect(secondsToNextCheck(attempt, 90, '2026-03-02T00:00:01.000Z')).toBeNull();
    expect(secondsToNextCheck({ ...attempt, method: 'CARD', toRefund: true }, 30, '2026-06-01T00:00:00.000Z')).toBe(
      86_400,
    );
    expect(secondsToNextCheck({ ...attempt, method: 'CARD' }, 0, '2026-01-01T00:00:01.000Z')).toBeNull();
  });
});

describe('an attempt that hangs', () => {
  test('before the processor received it is released, and a late order captures nothing', async () => {
    const { client, link } = await owing();
    const browser = payer();
    trouble = 'before';
    const sent = await browser.pay(link.path, goodCard);
    expect(sent.text).toContain('We are waiting for the result of your payment');
    expect(sent.text).toContain('<script>');
    expect(sent.headers['content-security-policy']).toMatch(/; script-src 'sha256-[^']+'; connect-src 'self'$/);
    expect(sent.text).not.toContain('http-equiv="refresh"');
    trouble = 'none';
    // Its process may still submit it.
    await browser.get(link.path);
    expect(await linkStatus(link.id)).toBe('PROCESSING');
    const [open] = await attempts(link.id);
    const attempt = await store.read(tenant.id, (session) => findAttempt(session, tenant.id, open?.id ?? ''));
    if (attempt === undefined) throw new Error('There is no attempt.');
    await tick();
    expect(await linkStatus(link.id)).toBe('ACTIVE');
    const late = await processor.submit(orderOf(tenant.name, attempt), {
      method: 'CARD',
      number: '4242424242424242',
      expiry: '2040-12',
      securityCode: '123',
    });
    expect(late).toMatchObject({ state: 'declined', code: 'cancelled' });
    expect(await payments(client.id)).toEqual([]);
    expect((await browser.pay(link.path, goodCard)).text).toContain('<h1>Receipt</h1>');
    await expectAgreement();
  });

  test('after the money was captured is completed once, however many check at the same time', async () => {
    const { client, link } = await owing();
    const browser = payer();
    trouble = 'after';
    await browser.pay(link.path, goodCard);
    trouble = 'none';
    expect(await linkStatus(link.id)).toBe('PROCESSING');
    const [open] = await attempts(link.id);
    const attempt = await store.read(tenant.id, (session) => findAttempt(session, tenant.id, open?.id ?? ''));
    if (attempt === undefined) throw new Error('There is no attempt.');
    await Promise.all(Array.from({ length: 8 }, () => followUp({ processor, tenant, write, log }, attempt)));
    expect(await payments(client.id)).toMatchObject([{ status: 'COMPLETED' }]);
    expect((await browser.get(link.path)).text).toContain('<h1>Receipt</h1>');
    await expectAgreement();
  });

  test('is completed by any page view after its time limit', async () => {
    const { client, link } = await owing();
    const browser = payer();
    trouble = 'after';
    await browser.pay(link.path, goodCard);
    trouble = 'none';
    await store.write(tenant.id, (transaction) =>
      transaction.all(sql`update payment_attempt set next_check_at = now() - interval '1 second'
        where tenant_id = ${tenant.id} and quick_payment_link_id = ${link.id}`),
    );
    expect((await browser.get(link.path)).text).toContain('<h1>Receipt</h1>');
    expect(await payments(client.id)).toHaveLength(1);
  });

  test('while the processor is unreachable waits, and is completed once it is available', async () => {
    const { client, link } = await owing();
    trouble = 'after';
    await payer().pay(link.path, goodCard);
    trouble = 'down';
    await tick();
    await tick();
    expect(await linkStatus(link.id)).toBe('PROCESSING');
    expect(await attempts(link.id)).toMatchObject([{ status: 'OPEN' }]);
    trouble = 'none';
    await tick();
    expect(await payments(client.id)).toMatchObject([{ status: 'COMPLETED' }]);
    await expectAgreement();
  });

  test('with an unanswered challenge is released after the challenge has expired', async () => {
    const { link } = await owing();
    const browser = payer();
    await browser.submit(link.path, { ...goodCard, ...payerDetails, cardNumber: '4000000000003220' });
    await tick();
    expect(await linkStatus(link.id)).toBe('PROCESSING');
    later(901);
    await tick();
    expect(await linkStatus(link.id)).toBe('ACTIVE');
    expect((await browser.get(link.path)).text).toContain('not confirmed in time');
  });
});

describe('an invoice that is paid otherwise while the payer confirms a payment', () => {
  const challenged = { ...goodCard, ...payerDetails, cardNumber: '4000000000003220' };

  async function paidOtherwise() {
    const { client, invoiceId, link } = await owing();
    const browser = payer();
    await browser.submit(link.path, challenged);
    await pay('500.00', [{ invoiceId, amount: '500.00' }], { clientId: client.id });
    return { browser, client, link };
  }

  test('cancels the payment, although the payer confirms it', async () => {
    const { browser, client, link } = await paidOtherwise();
    const response = await browser.submit(`${link.path}/challenge`, { answer: 'confirm' });
    expect(response.status).toBe(303);
    const page = await browser.get(link.path);
    expect(page.status).toBe(410);
    expect(page.text).toContain('Nothing was charged');
    expect(await linkStatus(link.id)).toBe('INVALIDATED');
    expect(await attempts(link.id)).toMatchObject([{ status: 'DECLINED', failureCode: 'cancelled' }]);
    expect(await payments(client.id)).toHaveLength(1);
    await expectAgreement();
  });

  test('cancels the payment at the next check, before the payer confirms it', async () => {
    const { browser, client, link } = await paidOtherwise();
    await tick();
    expect(await linkStatus(link.id)).toBe('INVALIDATED');
    expect((await browser.get(`${link.path}/challenge`)).status).toBe(303);
    expect(await payments(client.id)).toHaveLength(1);
    await expectAgreement();
  });
});

describe('money that is captured although the link was released', () => {
  const captured: PaymentProgress = {
    state: 'captured',
    reference: 'stray-1',
    cardBrand: 'Visa',
    last4: '4242',
    fee: parseDecimal('1.00'),
  };

  test('pays the link if it can still be paid', async () => {
    const { client, link } = await owing();
    await payer().pay(link.path, { ...goodCard, cardNumber: '4000000000000002' });
    const [attempt] = await attempts(link.id);
    await settle(write, attempt?.id ?? '', captured, log);
    expect(await linkStatus(link.id)).toBe('USED');
    expect(await payments(client.id)).toHaveLength(1);
    await expectAgreement();
  });
});

test('the log of payments contains neither tokens nor card or account numbers', async () => {
  lines.length = 0;
  const { link } = await owing();
  const browser = payer();
  await browser.get(`${link.path}?note=visible`);
  trouble = 'before';
  await browser.pay(link.path, goodCard);
  await browser.get('/pay/unknown-token');
  const { text } = await browser.get(link.path);
  await browser.post(link.path, { formKey: formKeyIn(text) });
  const token = link.path.slice('/pay/'.length);
  expect(lines.join()).toContain('"operation":"paymentPage"');
  for (const secret of [token, 'unknown-token', 'visible', '4242', browser.cookie?.split('=')[1] ?? '', 'Ines'])
    expect(lines.join()).not.toContain(secret);
  expect(await service.metrics.registry.metrics()).not.toContain(token);
});
