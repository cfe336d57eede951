import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { disagreements, formKeyIn, goodCard, payerDetails, payingFirm } from '../../../../test/modules/pay.ts';
import { sharedService } from '../../../../test/service.ts';

const service = await sharedService();
const {
  attempts,
  balances,
  invoice,
  invoiceOf,
  linkOf,
  linkStatus,
  newClient,
  owing,
  pay,
  payer,
  payment,
  payments,
  records,
} = await payingFirm(service);
const { store, tenant } = service;

const expectAgreement = async () =>
  expect(await store.read(tenant.id, (session) => session.all(disagreements(tenant.id)))).toEqual([]);

test('payment of an invoice of a closed period counts for the day on which it is paid', async () => {
  const { client, invoiceId } = await owing('120.00');
  const { body } = await service.call<{ data: { systemRef: string }[] }>('POST', '/gql/v1/orgs', {});
  const setClosed = (booksClosedThrough: string | null, more: object = {}) =>
    records.update([{ type: 'Org', systemRef: body.data[0]?.systemRef, attributes: { booksClosedThrough, ...more } }]);
  const yesterday = Temporal.Now.plainDateISO(tenant.timeZone).subtract({ days: 1 }).toString();
  expect(await setClosed(yesterday)).toMatchObject([{ status: 'UPDATED' }]);
  const link = await linkOf(client.ref, { invoiceIds: [invoiceId] });
  await payer().pay(link.path, goodCard);
  expect(await invoice(invoiceId)).toMatchObject({ status: 'PAID' });
  const entries = await store.read(tenant.id, (session) =>
    session.all<{ kind: string }>(sql`select kind from ledger_entry e
      where business_date > ${yesterday} and (invoice_id = ${invoiceId} or payment_id in (
        select payment_id from ledger_entry where invoice_id = ${invoiceId})) order by kind, account`),
  );
  expect(entries.map(({ kind }) => kind)).toEqual(['ALLOCATION', 'ALLOCATION', 'PAYMENT']);
  expect(await setClosed(null, { changeReason: 'Other tests' })).toMatchObject([{ status: 'UPDATED' }]);
});

describe('the page shows', () => {
  test('the firm, the client, the amount due, and a form', async () => {
    const { client, invoiceId } = await owing('1250.00');
    const link = await linkOf(client.ref, { invoiceIds: [invoiceId], note: 'Thanks <b>early</b>' });
    const { status, text, headers } = await payer().get(link.path);
    const { invoiceNumber } = await invoice(invoiceId);
    expect(status).toBe(200);
    for (const part of [
      '<h1>Pay $1,250.00</h1>',
      'To firm, for Cedar &amp; Co &lt;Ltd&gt;',
      'Thanks &lt;b&gt;early&lt;/b&gt;',
      invoiceNumber,
      'Jan 31, 2026',
      'Test mode: no money moves.',
    ])
      expect(text).toContain(part);
    expect(text).not.toMatch(/<script|https?:/);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
      'x-frame-options': 'DENY',
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; style-src 'sha256-[\w+/=]+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
      ),
      'set-cookie': [expect.stringMatching(/^payment_session=[\w-]{32}; Path=\/; .*HttpOnly; SameSite=Lax$/)],
    });
  });

  test('the headers of GET and no body for HEAD; other methods are rejected', async () => {
    const { link } = await owing();
    const answer = await fetch(`${service.address}${link.path}`, { method: 'HEAD' });
    expect([answer.status, await answer.text()]).toEqual([200, '']);
    const rejected = await fetch(`${service.address}${link.path}`, { method: 'PUT' });
    expect([rejected.status, rejected.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
  });

  test.each([
    ['short', '/pay/x'],
    ['in the form of one', `/pay/${'A'.repeat(32)}`],
    ['with NUL', '/pay/%00'],
    ['with quotes', "/pay/'or'1"],
    ['long', `/pay/${'x'.repeat(5_000)}`],
    ['empty', '/pay/'],
    ['with more behind it', '/pay/a/b/c'],
    ['of notifications', '/pay/webhook'],
    ['of notifications, with more behind it', '/pay/webhook/cancel'],
  ])('only that a token is unknown if it is %s', async (_kind, path) => {
    const { status, text } = await payer().get(path);
    expect({ status, text }).toEqual({ status: 404, text: (await payer().get(`/pay/${'B'.repeat(32)}`)).text });
  });

  test('nothing of a link of a closed tenant', async () => {
    const other = await service.addTenant('closing');
    const caller = await service.signIn({ roles: ['API_ADMIN'], tenant: other });
    const { body: client } = await caller.call<{ clientRef: string }>('POST', '/api/v1/clients/v1/onboard', {
      name: 'Someone',
      address: {},
    });
    const { body } = await caller.call<{ url: string }>('POST', '/api/v1/clients/v1/link/payment', {
      clientRef: client.clientRef,
      amount: '5.00',
    });
    const { pathname } = new URL(body.url);
    expect((await payer().get(pathname)).status).toBe(200);
    await store.system((transaction) => transaction.all(sql`update tenant set active = false where id = ${other.id}`));
    expect((await payer().get(pathname)).status).toBe(404);
  });
});

describe('a payment by card', () => {
  test('is completed, allocated, and shown as a receipt, also after a reload and the back button', async () => {
    const { client, invoiceId, link } = await owing('500.00');
    const browser = payer();
    const form = await browser.get(link.path);
    const fields = { formKey: formKeyIn(form.text), ...payerDetails, ...goodCard };
    const sent = await browser.post(link.path, fields);
    expect([sent.status, sent.headers.location]).toEqual([303, link.path]);
    const receipt = await browser.get(link.path);
    expect(receipt.text).toContain('<h1>Receipt</h1>');
    expect(receipt.text).toContain('Visa ending in 4242');
    expect(receipt.text).toMatch(/<dt>Date<\/dt><dd>[A-Z][a-z]{2} \d{1,2}, \d{4}<\/dd>/);
    expect((await browser.get(link.path)).text).toBe(receipt.text);
    // Submitted again after the back button.
    const again = await browser.post(link.path, fields);
    expect([again.status, again.headers.location]).toEqual([303, link.path]);
    const [paid, ...others] = await payments(client.id);
    expect(others).toEqual([]);
    expect(await payment(paid?.id ?? '')).toMatchObject({
      status: 'COMPLETED',
      source: 'QUICK_PAYMENT_LINK',
      quickPaymentLinkId: link.id,
      amount: '500.00',
      feeAmount: '14.80',
      netAmount: '485.20',
      method: 'CARD',
      cardBrand: 'Visa',
      last4: '4242',
      processor: 'sandbox',
      processorRef: expect.stringMatching(/^sandbox_/),
      payerName: 'Ines Duarte',
      payerEmail: 'ines@example.com',
      unappliedAmount: '0.00',
      allocations: [{ invoiceId, amount: '500.00' }],
    });
    expect(receipt.text).toContain((await payment(paid?.id ?? '')).paymentNumber);
    expect(await invoice(invoiceId)).toMatchObject({ status: 'PAID', amountDue: '0.00' });
    expect(await linkStatus(link.id)).toBe('USED');
    const { body } = await records.lookup('QuickPaymentLink');
    expect(body.data.find(({ id }) => id === link.id)?.attributes).toMatchObject({
      paymentId: paid?.id,
      status: 'USED',
    });
    const elsewhere = await payer().get(link.path);
    expect(elsewhere.status).toBe(410);
    expect(elsewhere.text).toContain('This link was already used');
    expect(elsewhere.text).not.toContain('Ines');
    await expectAgreement();
  });

  test('is declined with a reason, and can be tried again', async () => {
    const { client, invoiceId, link } = await owing();
    const browser = payer();
    const declined = await browser.pay(link.path, { ...goodCard, cardNumber: '4000000000009995' });
    expect(declined.text).toContain('The payment did not go through');
    expect(declined.text).toContain('insufficient funds');
    expect(declined.text).toContain('value="Ines Duarte"');
    expect(await linkStatus(link.id)).toBe('ACTIVE');
    expect((await payer().get(link.path)).text).not.toContain('did not go through');
    expect(await invoice(invoiceId)).toMatchObject({ amountDue: '500.00' });
    const unknown = await browser.pay(link.path, { ...goodCard, cardNumber: '4111 1111 1111 1111' });
    expect(unknown.text).toContain('accepts only the test numbers');
    const paid = await browser.pay(link.path, { ...goodCard, cardNumber: '5555555555554444' });
    expect(paid.text).toContain('Mastercard ending in 4444');
    expect((await payments(client.id)).map(({ status }) => status)).toEqual(['COMPLETED']);
    expect((await attempts(link.id)).map(({ status, failureCode }) => [status, failureCode])).toEqual([
      ['DECLINED', 'insufficient_funds'],
      ['DECLINED', 'test_mode'],
      ['COMPLETED', null],
    ]);
    await expectAgreement();
  });

  test('is challenged: only the payer can confirm, reject or cancel it', async () => {
    const challenged = { ...goodCard, ...payerDetails, cardNumber: '4000000000003220' };
    for (const [answer, end] of [
      ['confirm', 'Receipt'],
      ['reject', 'The payment was not confirmed'],
      ['cancel', 'The payment was cancelled'],
    ] as const) {
      const { link } = await owing();
      const browser = payer();
      const sent = await browser.submit(link.path, challenged);
      expect(sent.headers.location).toBe(`${link.path}/continue`);
      const step = await browser.get(`${link.path}/continue`);
      expect(step.text).toContain(`content="0; url=${link.path}/challenge"`);
      expect(await linkStatus(link.id)).toBe('PROCESSING');
      expect((await browser.get(link.path)).text).toContain('Cancel this payment');

      const stranger = payer();
      const seen = await stranger.get(link.path);
      expect(seen.text).toContain('Someone is already paying with this link');
      expect(seen.text).toContain(`<a href="${link.path}">Check now</a>`);
      expect(seen.text).not.toContain('challenge');
      expect((await stranger.get(`${link.path}/challenge`)).headers.location).toBe(link.path);
      const { text } = await browser.get(`${link.path}/challenge`);
      expect(text).toContain('Confirm the payment');
      const stolen = await stranger.post(`${link.path}/challenge`, { formKey: formKeyIn(text), answer: 'confirm' });
      expect(stolen.status).toBe(403);

      const done =
        answer === 'cancel'
          ? await browser.post(`${link.path}/cancel`, { formKey: formKeyIn(text) })
          : await browser.post(`${link.path}/challenge`, { formKey: formKeyIn(text), answer });
      expect([done.status, done.headers.location]).toEqual([303, link.path]);
      expect((await browser.get(link.path)).text).toContain(end);
      expect(await linkStatus(link.id)).toBe(answer === 'confirm' ? 'USED' : 'ACTIVE');
    }
    await expectAgreement();
  });
});

describe('the allocation of a payment', () => {
  test('with a note only: the payer enters the amount, and it is allocated to the oldest open invoices', async () => {
    const client = await newClient();
    const [late, later] = [
      await invoiceOf(client.id, '100.00', '2026-01-15'),
      await invoiceOf(client.id, '200.00', '2026-02-15'),
    ];
    const link = await linkOf(client.ref, { note: 'On account' });
    const browser = payer();
    const missing = await browser.submit(link.path, { ...payerDetails, ...goodCard, amount: '' });
    expect(missing.status).toBe(422);
    expect(missing.text).toContain('<a href="#amount">Enter the amount to pay.</a>');
    expect((await browser.pay(link.path, { ...goodCard, amount: '$ 1,150.5' })).text).toContain('$1,150.50');
    expect(await invoice(late)).toMatchObject({ status: 'PAID' });
    expect(await invoice(later)).toMatchObject({ status: 'PAID' });
    expect(await payments(client.id)).toMatchObject([{ amount: '1150.50', unapplied: '850.50' }]);
    expect(await balances(client.id)).toMatchObject({ outstandingBalance: '0.00', unappliedCredit: '850.50' });
    await expectAgreement();
  });

  test('with an amount only: it is allocated to the oldest open invoices, and no others are touched', async () => {
    const client = await newClient();
    const later = await invoiceOf(client.id, '200.00', '2026-02-15');
    const late = await invoiceOf(client.id, '100.00', '2026-01-15');
    const last = await invoiceOf(client.id, '50.00', '2026-03-15');
    const link = await linkOf(client.ref, { amount: '150.00' });
    const browser = payer();
    const { text } = await browser.pay(link.path, { ...goodCard, amount: '1.00' });
    expect(text).toContain('$150.00');
    expect([await invoice(late), await invoice(later), await invoice(last)]).toMatchObject([
      { status: 'PAID' },
      { status: 'PARTIALLY_PAID', amountDue: '150.00' },
      { status: 'POSTED', version: 1 },
    ]);
    await expectAgreement();
  });

  test('with chosen invoices and a smaller amount: the one that was due first', async () => {
    const client = await newClient();
    const later = await invoiceOf(client.id, '200.00', '2026-02-15');
    const late = await invoiceOf(client.id, '100.00', '2026-01-15');
    const link = await linkOf(client.ref, { invoiceIds: [later, late], amount: '120.00' });
    const { text } = await payer().pay(link.path, goodCard);
    expect(text).toContain('<h1>Receipt</h1>');
    expect([await invoice(late), await invoice(later)]).toMatchObject([{ amountDue: '0.00' }, { amountDue: '180.00' }]);
    await expectAgreement();
  });

  test('after a decline, invoices that were paid otherwise in the meantime leave no link to pay', async () => {
    const { client, invoiceId, link } = await owing('500.00');
    const browser = payer();
    await browser.submit(link.path, { ...goodCard, ...payerDetails, cardNumber: '4000000000003220' });
    await pay('400.00', [{ invoiceId, amount: '400.00' }], { clientId: client.id });
    const { text } = await browser.get(`${link.path}/challenge`);
    await browser.post(`${link.path}/challenge`, { formKey: formKeyIn(text), answer: 'reject' });
    expect(await linkStatus(link.id)).toBe('INVALIDATED');
    const ended = await browser.get(link.path);
    expect([ended.status, ended.text.includes('no longer valid')]).toEqual([410, true]);
  });
});

describe('the other final states of a link', () => {
  test('expired, also before the clock has run', async () => {
    const { link } = await owing();
    const browser = payer();
    const { text } = await browser.get(link.path);
    await store.write(tenant.id, (transaction) =>
      transaction.all(sql`
        update quick_payment_link set expires_at = now() - interval '1 second' where tenant_id = ${tenant.id} and id = ${link.id}`),
    );
    const seen = await browser.get(link.path);
    expect([seen.status, seen.text.includes('This link has expired')]).toEqual([410, true]);
    const sent = await browser.post(link.path, { formKey: formKeyIn(text), ...payerDetails, ...goodCard });
    expect([sent.status, sent.text.includes('This link has expired')]).toEqual([409, true]);
    expect(await attempts(link.id)).toEqual([]);
  });

  test('cancelled', async () => {
    const { link } = await owing();
    const browser = payer();
    const { text } = await browser.get(link.path);
    const { body } = await service.call<{ records: { status: string }[] }>('DELETE', '/api/v1/records', {
      records: [{ type: 'QuickPaymentLink', systemRef: link.id }],
    });
    expect(body.records).toMatchObject([{ status: 'DELETED' }]);
    const seen = await browser.get(link.path);
    expect([seen.status, seen.text.includes('This link was cancelled')]).toEqual([410, true]);
    const sent = await browser.post(link.path, { formKey: formKeyIn(text), ...payerDetails, ...goodCard });
    expect(sent.status).toBe(409);
  });

  test('invalidated by another payment', async () => {
    const { client, invoiceId, link } = await owing();
    await pay('1.00', [{ invoiceId, amount: '1.00' }], { clientId: client.id });
    const seen = await payer().get(link.path);
    expect([seen.status, seen.text.includes('This link is no longer valid')]).toEqual([410, true]);
  });

  test('used by another payer while the form was open', async () => {
    const { link } = await owing();
    const late = payer();
    const { text } = await late.get(link.path);
    await payer().pay(link.path, goodCard);
    const sent = await late.post(link.path, { formKey: formKeyIn(text), ...payerDetails, ...goodCard });
    expect([sent.status, sent.text.includes('already used')]).toEqual([409, true]);
  });
});

describe('concurrent requests', () => {
  test('fifty payers of one link create one payment, and the others see that it is used', async () => {
    const { client, invoiceId, link } = await owing();
    const browsers = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const browser = payer();
        return { browser, key: formKeyIn((await browser.get(link.path)).text) };
      }),
    );
    const sent = await Promise.all(
      browsers.map(({ browser, key }) => browser.post(link.path, { formKey: key, ...payerDetails, ...goodCard })),
    );
    const statuses = sent.map(({ status }) => status);
    expect(statuses.filter((status) => status === 303)).toHaveLength(1);
    expect(statuses.every((status) => [303, 409, 429, 503].includes(status))).toBe(true);
    expect(statuses).toContain(409);
    expect(await payments(client.id)).toMatchObject([{ status: 'COMPLETED', amount: '500.00' }]);
    expect(await attempts(link.id)).toHaveLength(1);
    expect(await invoice(invoiceId)).toMatchObject({ amountPaid: '500.00', status: 'PAID' });
    await expectAgreement();
  });

  test('a form that is submitted five times at once creates one payment, and all see the receipt', async () => {
    const { client, link } = await owing();
    const browser = payer();
    const key = formKeyIn((await browser.get(link.path)).text);
    const sent = await Promise.all(
      Array.from({ length: 5 }, () => browser.post(link.path, { formKey: key, ...payerDetails, ...goodCard })),
    );
    expect(sent.map(({ status, headers }) => [status, headers.location])).toEqual(Array(5).fill([303, link.path]));
    expect((await browser.get(link.path)).text).toContain('<h1>Receipt</h1>');
    expect(await payments(client.id)).toHaveLength(1);
    await expectAgreement();
  });
});
