import { describe, expect, test } from 'vitest';
import { formKeyIn, goodCard, payerDetails, payingFirm, TestPayer } from '../../../../test/modules/pay.ts';
import { sharedService, testService } from '../../../../test/service.ts';
import { wire } from '../../../../test/wire.ts';

const service = await sharedService();
const limited = await testService({ config: { rateLimitFactor: 1 } });
const { attempts, linkOf, linkStatus, newClient, owing, payer } = await payingFirm(service);
const form = { ...payerDetails, ...goodCard };

describe('a form is only accepted from the page itself', () => {
  test.each([
    ['of another site', { 'Sec-Fetch-Site': 'cross-site', Origin: 'null' }, 403],
    ['of a sister site', { 'Sec-Fetch-Site': 'same-site' }, 403],
    ['of another origin, in a browser that says no site', { Origin: 'https://evil.example' }, 403],
    ['of an origin that is none', { Origin: 'nonsense' }, 403],
    ['of the page', { 'Sec-Fetch-Site': 'same-origin', Origin: 'null' }, 303],
    ['of the page, in a browser that says no site', { Origin: 'http://localhost:3000' }, 303],
  ])('with the headers of one %s', async (_what, headers, status) => {
    const { link } = await owing();
    const browser = payer();
    const { text } = await browser.get(link.path);
    const sent = await browser.post(link.path, { formKey: formKeyIn(text), ...form }, headers);
    expect(sent.status).toBe(status);
    expect(await linkStatus(link.id)).toBe(status === 303 ? 'USED' : 'ACTIVE');
  });

  test('with the key of this browser and this link', async () => {
    const [{ link }, other] = [await owing(), await owing()];
    const [browser, stranger] = [payer(), payer()];
    const own = formKeyIn((await browser.get(link.path)).text);
    await stranger.get(link.path);
    expect((await stranger.post(link.path, { formKey: own, ...form })).status).toBe(403);
    expect((await browser.post(other.link.path, { formKey: own, ...form })).status).toBe(403);
    expect((await browser.post(link.path, { ...form })).status).toBe(403);
    expect((await payer().post(link.path, { formKey: own, ...form })).status).toBe(403);
    expect(await attempts(link.id)).toEqual([]);
  });

  test('in the form of one', async () => {
    const { link } = await owing();
    const browser = payer();
    const { text } = await browser.get(link.path);
    const headers = { Cookie: browser.cookie };
    const send = (contentType: string, body: string) =>
      wire(service.address, {
        method: 'POST',
        path: link.path,
        headers: { ...headers, 'Content-Type': contentType },
        body,
      });
    expect((await send('application/json', '{}')).status).toBe(415);
    expect((await send('multipart/form-data; boundary=x', '--x--')).status).toBe(415);
    const large = await send('application/x-www-form-urlencoded', `formKey=${formKeyIn(text)}&x=${'x'.repeat(20_000)}`);
    expect(large.status).toBe(413);
    expect(large.text).toContain('Something went wrong');
    expect((await send('application/x-www-form-urlencoded; charset=nonsense', 'a=b')).status).toBe(415);
    expect((await send('application/x-www-form-urlencoded', '%%%&=&&==')).status).toBe(403);
    expect(await linkStatus(link.id)).toBe('ACTIVE');
  });
});

describe('input of payers', () => {
  test.each([
    ['1250', '1250.00'],
    ['1,250.50', '1250.50'],
    ['$1,250.5', '1250.50'],
    ['USD 0.01', '0.01'],
    ['  12.00  ', '12.00'],
    ['999999.99', '999999.99'],
    ['007', '7.00'],
  ])('the amount %s is %s', async (amount, stored) => {
    const client = await newClient();
    const link = await linkOf(client.ref, { note: 'On account' });
    const { text } = await payer().pay(link.path, { ...goodCard, amount });
    expect(text).toContain(
      new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' }).format(Number(stored)),
    );
  });

  test('invalid amounts are rejected with a message', async () => {
    const client = await newClient();
    const link = await linkOf(client.ref, { note: 'On account' });
    const browser = payer();
    const key = formKeyIn((await browser.get(link.path)).text);
    const wrong = [
      '',
      '0',
      '0.00',
      '-1',
      '1e3',
      '1.234,56',
      '1,23',
      '1.005',
      '0x10',
      'NaN',
      'Infinity',
      '١٢',
      '１２',
      '1 2',
    ];
    wrong.push('1000000', '9'.repeat(400), '12.', '.5', '+5', '5-', '1_000', '<script>', '\0', '$', '1,2345', '1.2.3');
    for (const amount of wrong) {
      const sent = await browser.post(link.path, { formKey: key, ...form, amount });
      expect([amount, sent.status]).toEqual([amount, 422]);
      expect(sent.text).toMatch(/<a href="#amount">[^<]+<\/a>/);
      expect(sent.text).not.toContain('<script>');
    }
    expect(await attempts(link.id)).toEqual([]);
  });

  test('a currency without decimals only accepts whole amounts', async () => {
    const client = await newClient({ currency: 'JPY' });
    const link = await linkOf(client.ref, { note: 'On account' });
    const browser = payer();
    const page = await browser.get(link.path);
    expect(page.text).toContain('Amount in JPY');
    expect(page.text).not.toContain('US bank account');
    const sent = await browser.submit(link.path, { ...form, amount: '100.5' });
    expect(sent.text).toContain('JPY has no decimals');
    expect((await browser.pay(link.path, { ...goodCard, amount: '12010' })).text).toContain('¥12,010');
    const where = { clientId: { _eq: client.id } };
    const { body } = await service.call<{ data: object[] }>('POST', '/gql/v1/payments/search', { where });
    expect(body.data).toMatchObject([{ amount: '12010.00', feeAmount: '349.00' }]);
  });

  test('every error is listed, and numbers are not shown again', async () => {
    const { link } = await owing();
    const browser = payer();
    const sent = await browser.submit(link.path, {
      method: 'CARD',
      cardNumber: '4242424242424241',
      expiry: '01/20',
      securityCode: '12',
      payerName: '',
      payerEmail: '"><img src=x>@x',
    });
    expect(sent.status).toBe(422);
    expect(sent.text).toContain('<title>Error: ');
    expect([...sent.text.matchAll(/<li><a href="#(\w+)">/g)].map(([, field]) => field)).toEqual([
      'cardNumber',
      'expiry',
      'securityCode',
      'payerName',
      'payerEmail',
    ]);
    expect(sent.text).not.toMatch(/value="4242|value="12"|<img/);
    expect((await browser.submit(link.path, payerDetails)).text).toContain('Choose how to pay.');
    const bank = { method: 'ACH', routingNumber: '123456789', accountNumber: '1', ...payerDetails };
    expect((await browser.submit(link.path, bank)).text).toContain('Check the routing number');
    for (const payerName of ['a\u0000b', 'x'.repeat(201), '   '])
      expect((await browser.submit(link.path, { ...form, payerName })).status).toBe(422);
  });

  test('names in any script are stored unchanged', async () => {
    const { link } = await owing();
    const payerName = 'Zoë 李 "O\'Brien" <x>';
    const { text } = await payer().pay(link.path, { ...goodCard, payerName });
    expect(text).toContain('Zoë 李 &quot;O&#39;Brien&quot; &lt;x&gt;');
  });
});

describe('limits', () => {
  test('payments by link, requests by address, unknown tokens by address', async () => {
    const there = await payingFirm(limited);
    const { link } = await there.owing();
    const browser = new TestPayer(limited.address);
    const key = formKeyIn((await browser.get(link.path)).text);
    const statuses: number[] = [];
    for (let time = 1; time <= 12; time++)
      statuses.push((await browser.post(link.path, { formKey: key, ...form, cardNumber: '4000000000000002' })).status);
    expect(statuses).toEqual([...Array(10).fill(303), 429, 429]);
    const rejected = await browser.post(link.path, { formKey: key });
    expect(rejected.headers['retry-after']).toMatch(/^\d+$/);
    expect(rejected.text).toContain('Too many requests');
    // Views are not limited by payments.
    expect((await browser.get(link.path)).status).toBe(200);

    const unknown: number[] = [];
    for (let time = 1; time <= 31; time++) unknown.push((await browser.get(`/pay/guess-${time}`)).status);
    expect(unknown).toEqual([...Array(30).fill(404), 429]);
    expect((await browser.get(link.path)).status).toBe(429);
  });
});

test('without a processor, the page says that links cannot be paid', async () => {
  const without = await testService({ config: { payments: undefined } });
  const there = await payingFirm(without);
  const { link } = await there.owing();
  const browser = new TestPayer(without.address);
  const page = await browser.get(link.path);
  expect([page.status, page.text.includes('Online payment is not available')]).toEqual([503, true]);
  expect(await there.linkStatus(link.id)).toBe('ACTIVE');
});
