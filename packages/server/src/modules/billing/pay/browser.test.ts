import { mkdirSync } from 'node:fs';
import { sql } from 'kysely';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import { startBrowser } from '../../../../../../scripts/test/browser.ts';
import { accountOf, goodCard, payerDetails, payingFirm, TestPayer } from '../../../../test/modules/pay.ts';
import { isNightly } from '../../../../test/nightly.ts';
import { sharedService } from '../../../../test/service.ts';

const server = await sharedService();
const { invoiceOf, linkOf, newClient, owing, pay, payments } = await payingFirm(server);
const browser = await startBrowser();
afterAll(() => browser.close());

/** With `SCREENSHOTS=<folder>`, stores a picture of the last page of every test there. */
const folder = process.env.SCREENSHOTS;
if (folder !== undefined) mkdirSync(folder, { recursive: true });

const sizes = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } } as const;

describe.each(Object.entries(sizes))('on a %s', (name, viewport) => {
  /** By day, the devices share what is the same on all of them; in the nightly run each has everything. */
  const on = (device: string) => (name === device || isNightly ? test : () => undefined);
  const atNight = on('night');
  let context: BrowserContext;
  let page: Page;
  const faults: string[] = [];

  /** Opens a separate browser context for a payer. */
  async function open(options: object = {}): Promise<Page> {
    context = await browser.newContext({ viewport, ...options });
    page = await context.newPage();
    faults.length = 0;
    page.on('console', (message) => {
      // The browser reports every status of 400 and above as a failed load.
      if (!message.text().startsWith('Failed to load resource: the server responded with')) faults.push(message.text());
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(server.address)) faults.push(`The page loads ${request.url()}.`);
    });
    return page;
  }

  /** Checks that the page has no errors, nothing overflows horizontally, and all controls are large enough. */
  async function checkPage(what: string): Promise<void> {
    if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}-${what}.png`, fullPage: true });
    // A reload after some seconds would interrupt readers (WCAG 2.2.4).
    expect(await page.locator('meta[http-equiv="refresh"]').count()).toBe(0);
    const root = 'document.documentElement';
    expect(await page.evaluate(`${root}.scrollWidth <= ${root}.clientWidth`)).toBe(true);
    for (const target of await page.locator('button:visible, .button:visible, label.choice:visible').all()) {
      expect((await target.boundingBox())?.height).toBeGreaterThanOrEqual(44);
    }
    expect(await page.locator('h1').count()).toBe(1);
    expect(faults).toEqual([]);
  }

  async function fillCard(cardNumber = goodCard.cardNumber): Promise<void> {
    await page.getByLabel('Card', { exact: true }).check();
    await page.getByLabel('Card number').fill(cardNumber);
    await page.getByLabel('Expires').fill(goodCard.expiry);
    await page.getByLabel('Security code').fill(goodCard.securityCode);
    await page.getByLabel('Name').fill(payerDetails.payerName);
    await page.getByLabel('Email').fill(payerDetails.payerEmail);
  }

  const submit = () => page.getByRole('button', { name: /^Pay |^Make / }).click();
  const heading = () => page.getByRole('heading', { level: 1 }).textContent();

  on('phone')('a payment by card: receipt, reload, back button', async () => {
    const client = await newClient({ name: 'Harbor & Pine Property Management LLC' });
    const ids = [await invoiceOf(client.id, '1250.00'), await invoiceOf(client.id, '389.75', '2026-03-15')];
    const link = await linkOf(client.ref, {
      invoiceIds: ids,
      note: 'Thank you for your business.\nQuestions: 555-0100',
    });
    await open();
    await page.goto(`${server.address}${link.path}`);
    // Only the fields of the selected payment method are visible.
    expect(await page.getByLabel('Card number').isVisible()).toBe(false);
    await checkPage('form');
    await page.getByLabel('US bank account').check();
    expect(await page.getByLabel('Routing number').isVisible()).toBe(true);
    await checkPage('form-bank');
    await fillCard();
    expect(await page.getByLabel('Routing number').isVisible()).toBe(false);
    await checkPage('form-card');
    await submit();
    expect(await heading()).toBe('Receipt');
    await checkPage('receipt');
    await page.reload();
    expect(await heading()).toBe('Receipt');
    await page.goBack();
    if ((await heading()) !== 'Receipt') {
      await fillCard();
      await submit();
    }
    expect(await heading()).toBe('Receipt');
    expect(await payments(client.id)).toHaveLength(1);
  });

  on('desktop')('errors: the summary is focused and links to the fields', async () => {
    const client = await newClient();
    const link = await linkOf(client.ref, { note: 'Retainer for 2026' });
    await open();
    await page.goto(`${server.address}${link.path}`);
    await page.getByLabel('Amount').fill('12,50');
    await page.getByLabel('Card', { exact: true }).check();
    await submit();
    await checkPage('mistakes');
    expect(await page.evaluate(`document.activeElement.getAttribute('role')`)).toBe('alert');
    await page.getByRole('link', { name: 'Enter the card number.' }).click();
    expect(await page.evaluate('document.activeElement.id')).toBe('cardNumber');
    expect(await page.getByLabel('Card number').getAttribute('aria-invalid')).toBe('true');
    expect(await page.getByLabel('Amount').inputValue()).toBe('12,50');
    await page.goto(`${server.address}${link.path}`);
    await checkPage('amount');
  });

  atNight('a payment with the keyboard only', async () => {
    const { client, link } = await owing();
    await open();
    await page.goto(`${server.address}${link.path}`);
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    await press('Tab', 'Tab', 'Space');
    await page.keyboard.press('Tab');
    for (const text of ['4242424242424242', '12/40', '123', 'Ines Duarte', 'ines@example.com']) {
      await page.keyboard.type(text);
      await page.keyboard.press('Tab');
    }
    await press('Enter');
    await page.waitForURL(`${server.address}${link.path}`);
    await page.getByRole('heading', { name: 'Receipt' }).waitFor();
    expect(await payments(client.id)).toHaveLength(1);
  });

  atNight('declined, then paid', async () => {
    const { link } = await owing();
    await open();
    await page.goto(`${server.address}${link.path}`);
    await fillCard('4000000000000002');
    await submit();
    expect(await page.getByRole('alert').textContent()).toContain('did not go through');
    await checkPage('declined');
    await fillCard();
    await submit();
    expect(await heading()).toBe('Receipt');
  });

  on('desktop')('a challenge, and another payer who opens the page meanwhile', async () => {
    const { link } = await owing();
    await open();
    await page.goto(`${server.address}${link.path}`);
    await fillCard('4000000000003220');
    await submit();
    await page.getByRole('heading', { name: 'Confirm the payment' }).waitFor();
    await checkPage('challenge');
    await page.goto(`${server.address}${link.path}`);
    await checkPage('unfinished');
    await page.getByRole('link', { name: 'Continue' }).click();
    const [payerContext, payerPage] = [context, page];
    await open();
    await page.goto(`${server.address}${link.path}`);
    expect(await heading()).toBe('Payment in progress');
    expect(await page.getByText('shows the result as soon as it is known').isVisible()).toBe(true);
    await checkPage('in-progress');
    const [watching, watchingContext] = [page, context];
    await open({ javaScriptEnabled: false });
    await page.goto(`${server.address}${link.path}`);
    expect(await page.getByText('shows the result as soon as it is known').isVisible()).toBe(false);
    const [withoutScripts, othersContext] = [page, context];
    [page, context] = [watching, watchingContext];
    await payerPage.getByRole('button', { name: 'Confirm' }).click();
    await payerPage.getByRole('heading', { name: 'Receipt' }).waitFor();
    // The other page shows it by itself.
    await page.getByRole('heading', { name: 'This link was already used' }).waitFor({ timeout: 60_000 });
    await checkPage('used');
    await withoutScripts.getByRole('link', { name: 'Check now' }).click();
    await withoutScripts.getByRole('heading', { name: 'This link was already used' }).waitFor();
    await othersContext.close();
    await payerContext.close();
  });

  atNight('pending at the bank', async () => {
    const { link } = await owing();
    await open();
    await page.goto(`${server.address}${link.path}`);
    await page.getByLabel('US bank account').check();
    const account = accountOf('000123456789');
    await page.getByLabel('Routing number').fill(account.routingNumber);
    await page.getByLabel('Account number').fill(account.accountNumber);
    await page.getByLabel('Name').fill(payerDetails.payerName);
    await submit();
    expect(await heading()).toBe('Payment on its way');
    await checkPage('pending');
  });

  on('desktop')('double submit', async () => {
    const { client, link } = await owing();
    await open();
    await page.goto(`${server.address}${link.path}`);
    await fillCard();
    await page.getByRole('button', { name: 'Pay $500.00' }).dblclick();
    await page.getByRole('heading', { name: 'Receipt' }).waitFor();
    expect(await payments(client.id)).toHaveLength(1);
  });

  atNight('final states of links, and an unknown token', async () => {
    const [used, expired, cancelled, invalidated] = [await owing(), await owing(), await owing(), await owing()];
    await new TestPayer(server.address).pay(used.link.path, goodCard);
    await server.store.write(server.tenant.id, (transaction) =>
      transaction.all(sql`update quick_payment_link set expires_at = now() - interval '1 second'
        where tenant_id = ${server.tenant.id} and id = ${expired.link.id}`),
    );
    await server.call('DELETE', '/api/v1/records', {
      records: [{ type: 'QuickPaymentLink', systemRef: cancelled.link.id }],
    });
    await pay('1.00', [{ invoiceId: invalidated.invoiceId, amount: '1.00' }], { clientId: invalidated.client.id });
    await open({ colorScheme: 'dark' });
    for (const [what, path, text] of [
      ['already-used', used.link.path, 'This link was already used'],
      ['expired', expired.link.path, 'This link has expired'],
      ['cancelled', cancelled.link.path, 'This link was cancelled'],
      ['invalidated', invalidated.link.path, 'This link is no longer valid'],
      ['unknown', '/pay/unknown', 'Link not found'],
    ] as const) {
      await page.goto(`${server.address}${path}`);
      expect(await heading()).toBe(text);
      await checkPage(what);
    }
    const { link } = await owing();
    await page.goto(`${server.address}${link.path}`);
    await fillCard('4000000000000002');
    await submit();
    await checkPage('dark-declined');
  });
});
