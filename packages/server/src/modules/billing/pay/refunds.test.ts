import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  accountOf,
  disagreements,
  goodCard,
  payerDetails,
  payingFirm,
  tickOf,
  WatchedSandbox,
} from '../../../../test/modules/pay.ts';
import { testService } from '../../../../test/service.ts';
import { asOperator } from '../../../operator/tenants.ts';
import { parseDecimal } from '../../../platform/decimal.ts';
import { receivePayment } from '../payment/payment-rules.ts';
import { findAttempt } from './attempt.ts';
import { pageWrites } from './pay-link.ts';
import { followAttempts, followUp } from './reconcile.ts';

let now = Temporal.Now.instant();
const lines: string[] = [];
const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
const server = await testService({
  log,
  replace: ({ store }) => ({ processor: new WatchedSandbox(store, () => now) }),
});
const { attempts, balances, invoice, linkOf, linkStatus, owing, payer, pay, payment, payments, records } =
  await payingFirm(server);
const { service, store, tenant } = server;
const processor = service.processor as WatchedSandbox;
const challenged = { ...goodCard, ...payerDetails, cardNumber: '4000000000003220' };

beforeEach(() => {
  processor.reset();
});

/** Makes all attempts due, and runs the clock task. */
async function tick(): Promise<void> {
  await store.write(tenant.id, (transaction) =>
    transaction.all(sql`update payment_attempt set next_check_at = now() - interval '1 second'
      where tenant_id = ${tenant.id} and next_check_at is not null`),
  );
  await followAttempts.run(tickOf(server));
}

/** The operations and statuses of the events of a payment. */
const eventsOf = (id: string | undefined) =>
  store.read(tenant.id, (session) =>
    session.all(sql`select operation, data ->> 'status' as status from recorded_event
      where tenant_id = ${tenant.id} and entity_id = ${id} order by sequence`),
  );

/** What the sandbox has done with the money of a link. */
const moneyOf = async (linkId: string) => {
  const keys = (await attempts(linkId)).map(({ id }) => id);
  return store.system((transaction) =>
    transaction.all(sql`select captured_at is not null as captured, refunded_at is not null as refunded
      from sandbox_payment where key = any(${keys}::uuid[]) order by key`),
  );
};

const expectAgreement = async () =>
  expect(await store.read(tenant.id, (session) => session.all(disagreements(tenant.id)))).toEqual([]);

/** A link whose payer is at 3-D Secure. `payOtherwise` pays its invoice with a check. */
async function atConfirmation(amount = '500.00') {
  const { client, invoiceId, link } = await owing(amount);
  const browser = payer();
  await browser.submit(link.path, challenged);
  const payOtherwise = () => pay(amount, [{ invoiceId, amount }], { clientId: client.id });
  const confirm = () => browser.submit(`${link.path}/challenge`, { answer: 'confirm' });
  return { browser, client, confirm, invoiceId, link, payOtherwise };
}

describe('an invoice that is paid with a check while the payer of its link is at 3-D Secure', () => {
  test('before the payer confirms: the card is not charged, and the page says why', async () => {
    const { browser, client, confirm, link, payOtherwise } = await atConfirmation();
    await payOtherwise();
    await confirm();
    expect(processor.calls).toMatchObject({ capture: 0, cancel: 1, refund: 0 });
    expect(await linkStatus(link.id)).toBe('INVALIDATED');
    expect(await moneyOf(link.id)).toEqual([{ captured: false, refunded: false }]);
    expect(await payments(client.id)).toHaveLength(1);
    const page = await browser.get(link.path);
    expect(page.text).toContain('an invoice was paid in another way');
    expect(page.text).toContain('Your payment of $500.00 was not completed. Nothing was charged.');
    await expectAgreement();
  });

  test('while the check is being recorded: the decision waits for it, and the card is not charged', async () => {
    const { client, confirm, invoiceId, link } = await atConfirmation();
    const [written, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const check = asOperator(service, tenant, 'test', async (unit) => {
      const amount = parseDecimal('500.00');
      const fixed = { paymentDate: '2026-02-01', currency: 'USD', method: 'CHECK', source: 'MANUAL' } as const;
      const system = { ...fixed, clientId: client.id, amount, allocations: [{ invoiceId, amount }] };
      await unit.plan((plan) => receivePayment(plan, system));
      written.resolve();
      await commit.promise;
    });
    await written.promise;
    const confirmed = confirm();
    await pause(400);
    const meanwhile = { ...processor.calls };
    commit.resolve();
    await Promise.all([check, confirmed]);
    expect(meanwhile).toMatchObject({ capture: 0, cancel: 0 });
    expect(processor.calls).toMatchObject({ capture: 0, cancel: 1 });
    expect(await linkStatus(link.id)).toBe('INVALIDATED');
    expect(await moneyOf(link.id)).toEqual([{ captured: false, refunded: false }]);
    await expectAgreement();
  });

  test('between the decision and the capture: the payment is refunded once, with events', async () => {
    const { browser, client, confirm, invoiceId, link, payOtherwise } = await atConfirmation();
    processor.before('capture', payOtherwise);
    await confirm();
    expect(processor.calls).toMatchObject({ capture: 1, refund: 1 });
    expect(await moneyOf(link.id)).toEqual([{ captured: true, refunded: true }]);
    expect(await linkStatus(link.id)).toBe('INVALIDATED');
    const [attempt] = await attempts(link.id);
    expect(attempt).toMatchObject({ status: 'REFUNDED', toRefund: true });
    expect(await payment(attempt?.paymentId ?? '')).toMatchObject({
      status: 'REFUNDED',
      amount: '500.00',
      refundedAmount: '500.00',
      unappliedAmount: '0.00',
      allocations: [],
      quickPaymentLinkId: link.id,
      failureCode: 'amount_no_longer_due',
      refundedAt: expect.any(String),
    });
    expect(await eventsOf(attempt?.paymentId ?? '')).toEqual([
      { operation: 'CREATE', status: 'COMPLETED' },
      { operation: 'UPDATE', status: 'REFUNDED' },
    ]);
    expect(await invoice(invoiceId)).toMatchObject({ status: 'PAID', amountPaid: '500.00' });
    expect(await balances(client.id)).toMatchObject({ outstandingBalance: '0.00', unappliedCredit: '0.00' });
    expect((await browser.get(link.path)).text).toContain(
      'Your payment of $500.00 was made after that and was refunded',
    );
    const stranger = (await payer().get(link.path)).text;
    expect(stranger).not.toContain('Nothing was charged');
    expect(stranger).not.toContain('500.00');
    await expectAgreement();
  });

  test('a part of the amount is enough: all of it is refunded, and the rest of the invoice remains due', async () => {
    const { client, confirm, invoiceId, link } = await atConfirmation();
    processor.before('capture', () => pay('0.01', [{ invoiceId, amount: '0.01' }], { clientId: client.id }));
    await confirm();
    expect(await attempts(link.id)).toMatchObject([{ status: 'REFUNDED' }]);
    expect(await invoice(invoiceId)).toMatchObject({ amountDue: '499.99' });
    await expectAgreement();
  });

  test('an invoice that is voided between the decision and the capture has the same effect', async () => {
    const { confirm, invoiceId, link } = await atConfirmation();
    const { systemRef } = await invoice(invoiceId);
    processor.before('capture', () =>
      records.update([{ type: 'Invoice', systemRef, attributes: { status: 'VOIDED', voidReason: 'Wrong client' } }]),
    );
    await confirm();
    expect(await invoice(invoiceId)).toMatchObject({ status: 'VOIDED' });
    expect(await attempts(link.id)).toMatchObject([{ status: 'REFUNDED' }]);
    expect(await linkStatus(link.id)).toBe('INVALIDATED');
    await expectAgreement();
  });
});

describe('a step whose result is lost', () => {
  const steps = [
    ['capture', 'before'],
    ['capture', 'after'],
    ['refund', 'before'],
    ['refund', 'after'],
  ] as const;

  test.each(steps)('%s, failing %s it took effect, is completed by the clock: refunded once', async (step, when) => {
    const { browser, client, confirm, link, payOtherwise } = await atConfirmation();
    // An invoice that is paid before the capture takes effect is detected by the next check, and the card not charged.
    const isCharged = !(step === 'capture' && when === 'before');
    processor.before('capture', payOtherwise);
    processor.fail(step, when);
    await confirm();
    const page = await browser.get(link.path);
    expect(page.text).toContain(
      step === 'capture' ? 'We are waiting for the result' : 'Your payment of $500.00 was made after that. It will be',
    );
    await tick();
    await tick();
    expect(await moneyOf(link.id)).toEqual([{ captured: isCharged, refunded: isCharged }]);
    expect(await attempts(link.id)).toMatchObject([{ status: isCharged ? 'REFUNDED' : 'DECLINED' }]);
    expect(await linkStatus(link.id)).toBe('INVALIDATED');
    expect(await payments(client.id)).toHaveLength(isCharged ? 2 : 1);
    expect(await balances(client.id)).toMatchObject({ unappliedCredit: '0.00' });
    await expectAgreement();
  });

  test('cancel: the link is released by the clock', async () => {
    const { browser, link } = await atConfirmation();
    processor.fail('cancel', 'after');
    expect((await browser.submit(`${link.path}/cancel`, {}, link.path)).status).toBe(303);
    expect(await linkStatus(link.id)).toBe('PROCESSING');
    await tick();
    expect(await linkStatus(link.id)).toBe('ACTIVE');
    await expectAgreement();
  });

  test('capture of a card that needs no confirmation: the payer sees the receipt after the next check', async () => {
    const { client, link } = await owing();
    const browser = payer();
    processor.fail('capture', 'after');
    expect((await browser.pay(link.path, goodCard)).text).toContain('We are waiting for the result');
    await tick();
    expect((await browser.get(link.path)).text).toContain('<h1>Receipt</h1>');
    expect(await payments(client.id)).toMatchObject([{ status: 'COMPLETED' }]);
    await expectAgreement();
  });

  test('an authorization that nobody captures for a week expires, and the link can be paid again', async () => {
    const { confirm, link } = await atConfirmation();
    processor.fail('capture', 'before');
    await confirm();
    now = now.add({ hours: 7 * 24 + 1 });
    await tick();
    expect(await attempts(link.id)).toMatchObject([{ status: 'DECLINED', failureCode: 'authorization_expired' }]);
    expect(await linkStatus(link.id)).toBe('ACTIVE');
    await expectAgreement();
  });
});

describe('money that is captured although its attempt was declined', () => {
  /** Declines an attempt, and captures its card at the processor afterwards. */
  async function strayOf(linkId: string): Promise<void> {
    const [declined] = await attempts(linkId);
    await store.system((transaction) =>
      transaction.all(sql`update sandbox_payment set scenario = 'approved', captured_at = now()
        where key = ${declined?.id}`),
    );
    const attempt = await store.read(tenant.id, (session) => findAttempt(session, tenant.id, declined?.id ?? ''));
    if (attempt === undefined) throw new Error('There is no attempt.');
    const context = { processor, tenant, write: pageWrites(service, tenant, 'test'), log };
    await Promise.all(Array.from({ length: 4 }, () => followUp(context, attempt)));
  }

  test('pays the link if it can still be paid', async () => {
    const { client, link } = await owing();
    await payer().pay(link.path, { ...goodCard, cardNumber: '4000000000000002' });
    await strayOf(link.id);
    expect(await linkStatus(link.id)).toBe('USED');
    expect(await payments(client.id)).toMatchObject([{ status: 'COMPLETED', unapplied: '0.00' }]);
    await expectAgreement();
  });

  test('is refunded once if another payment uses the link, which keeps its receipt', async () => {
    const { client, link } = await owing();
    const browser = payer();
    await browser.pay(link.path, { ...goodCard, cardNumber: '4000000000000002' });
    await browser.pay(link.path, goodCard);
    lines.length = 0;
    await strayOf(link.id);
    expect(await attempts(link.id)).toMatchObject([
      { status: 'REFUNDED', toRefund: true },
      { status: 'COMPLETED', toRefund: false },
    ]);
    const [used, refunded] = await payments(client.id);
    expect([used?.status, refunded?.status]).toEqual(['COMPLETED', 'REFUNDED']);
    expect(await eventsOf(refunded?.id)).toEqual([
      { operation: 'CREATE', status: 'COMPLETED' },
      { operation: 'UPDATE', status: 'REFUNDED' },
    ]);
    expect(lines.join().match(/through a link that can no longer be paid/g)).toHaveLength(1);
    expect((await browser.get(link.path)).text).toContain('Thank you. The payment is complete.');
    await expectAgreement();
  });
});

describe('a payment from a bank account whose invoice was paid otherwise before the bank accepted it', () => {
  async function late(accountNumber: string) {
    const { client, invoiceId, link } = await owing();
    const browser = payer();
    processor.before('submit', () => pay('500.00', [{ invoiceId, amount: '500.00' }], { clientId: client.id }));
    await browser.pay(link.path, accountOf(accountNumber));
    expect(await linkStatus(link.id)).toBe('INVALIDATED');
    expect((await browser.get(link.path)).text).toContain('It will be refunded in full when it arrives.');
    expect((await payments(client.id)).at(-1)).toMatchObject({ status: 'PENDING' });
    expect(await invoice(invoiceId)).toMatchObject({ status: 'PAID', amountPending: '0.00' });
    now = now.add({ seconds: 11 });
    await tick();
    return { browser, client, link };
  }

  test('is refunded when the money arrives', async () => {
    const { browser, client, link } = await late('000123456789');
    expect(await attempts(link.id)).toMatchObject([{ status: 'REFUNDED' }]);
    expect((await payments(client.id)).at(-1)).toMatchObject({ status: 'REFUNDED', unapplied: '0.00' });
    expect((await browser.get(link.path)).text).toContain('was refunded in full');
    await expectAgreement();
  });

  test('is not refunded if the bank does not pay', async () => {
    const { browser, link } = await late('000222222227');
    expect(await attempts(link.id)).toMatchObject([{ status: 'FAILED' }]);
    expect(processor.calls).toMatchObject({ refund: 0 });
    expect((await browser.get(link.path)).text).toContain('failed at your bank. Nothing was charged.');
    await expectAgreement();
  });
});

test('two payers of two links for one invoice who confirm at the same time: one payment is kept, the other is not', async () => {
  const { client, invoiceId, link, confirm } = await atConfirmation();
  const second = await linkOf(client.ref, { invoiceIds: [invoiceId] });
  const other = payer();
  await other.submit(second.path, challenged);
  await Promise.all([confirm(), other.submit(`${second.path}/challenge`, { answer: 'confirm' })]);
  await tick();
  const all = [...(await attempts(link.id)), ...(await attempts(second.id))].map(({ status }) => status);
  expect(all.filter((status) => status === 'COMPLETED')).toHaveLength(1);
  expect(all.filter((status) => status === 'DECLINED' || status === 'REFUNDED')).toHaveLength(1);
  expect(await invoice(invoiceId)).toMatchObject({ status: 'PAID', amountPaid: '500.00' });
  expect(await balances(client.id)).toMatchObject({ unappliedCredit: '0.00' });
  await expectAgreement();
});

describe('what the firm records before the refund', () => {
  async function waiting() {
    const parts = await atConfirmation();
    processor.before('capture', parts.payOtherwise);
    processor.fail('refund', 'before');
    await parts.confirm();
    const [attempt] = await attempts(parts.link.id);
    const id = attempt?.paymentId ?? '';
    return { ...parts, id, systemRef: (await payment(id)).systemRef };
  }

  test('the refund itself: it remains as it is', async () => {
    const { id, link, systemRef } = await waiting();
    await records.update([{ type: 'Payment', systemRef, attributes: { refundedAmount: '500.00' } }]);
    const { version } = await payment(id);
    await tick();
    expect(await payment(id)).toMatchObject({ status: 'REFUNDED', version });
    expect(await attempts(link.id)).toMatchObject([{ status: 'REFUNDED' }]);
    expect(await moneyOf(link.id)).toEqual([{ captured: true, refunded: true }]);
    await expectAgreement();
  });

  test('an allocation or a part of the refund: the refund takes the rest, and the invoice is due again', async () => {
    const { client, id, systemRef } = await waiting();
    const { id: next } = await records.make('Invoice', {
      pmsRef: `next-${id}`,
      clientId: client.id,
      invoiceDate: '2026-01-01',
      dueDate: '2026-01-31',
      lines: [{ lineType: 'OTHER', description: 'Books', quantity: '1', unitAmount: '400.00', taxable: false }],
    });
    const allocations = [{ invoiceId: next, amount: '400.00' }];
    await records.update([{ type: 'Payment', systemRef, attributes: { allocations } }]);
    await records.update([{ type: 'Payment', systemRef, attributes: { refundedAmount: '50.00' } }]);
    expect(await payment(id)).toMatchObject({ status: 'PARTIALLY_REFUNDED', unappliedAmount: '50.00' });
    expect(await invoice(next)).toMatchObject({ status: 'PAID' });
    await tick();
    expect(await payment(id)).toMatchObject({ status: 'REFUNDED', refundedAmount: '500.00', allocations: [] });
    expect(await invoice(next)).toMatchObject({ status: 'POSTED', amountDue: '400.00' });
    await expectAgreement();
  });
});
