import { mkdirSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { violationsIn } from '../../../../scripts/test/violations.ts';
import { isNightly } from '../nightly.ts';
import { nightlyTest } from '../nightly-test.ts';
import { startReceiver } from '../receiver.ts';
import type { ConsoleFirm } from './firm.ts';

/** With `SCREENSHOTS=<folder>`, stores a picture of each page there. */
const folder = process.env.SCREENSHOTS;
if (folder !== undefined) mkdirSync(folder, { recursive: true });

const sizes = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } } as const;

/** On a desktop each day: on its pages, the size of a phone is checked too. */
const shown = Object.entries(sizes).filter(([name]) => isNightly || name === 'desktop');

/**
 * The pages that axe judges each day: forms with an error, charts, lists, rows, changes that are rehearsed, and JSON. It takes most of the
 * time, and the others are made of the same parts.
 */
const judgedDaily = ['sign-in-failed', 'overview', 'list', 'row', 'rehearsal', 'sent-event'];

/** What people see and do in a browser. */
export function browserTests(
  browser: Browser,
  { address, call, subscribe, deliveries, invoiceOf, newClient, newKey, audit }: ConsoleFirm,
): void {
  describe.each(shown)('on a %s', (name, viewport) => {
    async function open(options: object = {}): Promise<Page> {
      const context = await browser.newContext({ viewport, ...options });
      const page = await context.newPage();
      page.on('console', (message) => {
        if (!message.text().startsWith('Failed to load resource: the server responded with'))
          throw new Error(message.text());
      });
      return page;
    }

    async function check(page: Page, what: string): Promise<void> {
      // A page that a click leads to begins without any element.
      await page.waitForLoadState();
      for (const size of isNightly ? [viewport] : [sizes.phone, sizes.desktop]) {
        await page.setViewportSize(size);
        if (folder !== undefined)
          await page.screenshot({ path: `${folder}/${size.width}-${what}.png`, fullPage: true });
        const root = 'document.documentElement';
        expect(await page.evaluate(`${root}.scrollWidth <= ${root}.clientWidth`), what).toBe(true);
        // One call for all of them: a page has many.
        const heights = await page.evaluate<number[]>(`[...document.querySelectorAll('button, .button')]
          .filter((one) => one.checkVisibility({ visibilityProperty: true }))
          .map((one) => one.getBoundingClientRect().height)`);
        expect(Math.min(...heights, 44), what).toBeGreaterThanOrEqual(44);
      }
      if (isNightly || judgedDaily.includes(what)) expect(await violationsIn(page), what).toEqual([]);
    }

    test('an administrator follows an invoice, replays a delivery, advances the clock, and signs out', async () => {
      const client = await newClient({ name: `Harbor & Pine on a ${name}` });
      const invoiceId = await invoiceOf(client.id, '1250.00');
      const taxes = [{ name: 'VAT', ratePercent: '10' }];
      const lines = [
        { lineType: 'OTHER', description: 'Merger', quantity: '1000', unitAmount: '9000000000.00', taxes },
      ];
      const dates = { invoiceDate: '2026-01-01', dueDate: '2026-01-31' };
      const attributes = { clientId: client.id, pmsRef: `Large on a ${name}`, ...dates, lines };
      const { body: large } = await call<{ records: { id: string }[] }>('POST', '/api/v1/records', {
        records: [{ type: 'Invoice', attributes }],
      });
      const receiver = await startReceiver();
      receiver.respond = (_arrival, response) => void response.writeHead(500).end('No room');
      const subscription = await subscribe(receiver, { entityType: 'Client' });
      await newClient({ name: 'Fails to arrive' });
      await expect.poll(async () => (await deliveries(subscription.id)).length).toBeGreaterThan(0);
      await call('GET', '/gql/v1/client/unknown');

      const page = await open();
      await page.goto(`${address}/console`);
      await check(page, 'sign-in');
      await page.getByLabel('API key').fill('wrong');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('alert').waitFor();
      await check(page, 'sign-in-failed');
      await page.getByLabel('API key').fill((await newKey('ops')).key);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      await check(page, 'overview');

      await page.getByRole('searchbox').fill(`pine on a ${name}`);
      await page.getByRole('button', { name: 'Search' }).click();
      await page.getByRole('region', { name: 'Clients' }).waitFor();
      await check(page, 'search');

      const menu = page.getByRole('navigation');
      await menu.getByRole('link', { name: 'Data' }).click();
      await check(page, 'data');
      await page.getByRole('link', { name: 'Invoices', exact: true }).click();
      await page.getByLabel('Show rows where').selectOption({ label: 'Client' });
      await page.getByLabel('With').fill('harbor & pine ON A');
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.getByRole('table').waitFor();
      await check(page, 'list');
      await page.locator(`a[href="/console/data/Invoice/${invoiceId}"]`).click();
      await page.getByRole('heading', { name: 'Ledger entries' }).waitFor();
      expect(await page.getByRole('region', { name: 'Ledger entries' }).textContent()).toContain('Receivable');
      await page.locator('summary').filter({ hasText: 'Events' }).click();
      expect(await page.getByRole('region', { name: 'Events' }).textContent()).toContain('Create');
      await check(page, 'row');
      await page.getByText('Write off', { exact: true }).click();
      const form = page.locator('form', { has: page.locator('#WRITTEN_OFF-writeOffReason') });
      await form.getByLabel('Write off reason').fill('Not collectable');
      await form.getByRole('button', { name: 'Show what would change' }).click();
      await page.getByRole('button', { name: 'Write off now' }).waitFor();
      await check(page, 'rehearsal');
      await page.getByRole('link', { name: 'Cancel' }).click();
      await page.locator(`a[href="/console/data/Client/${client.id}"]`).first().click();
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain(`Harbor & Pine on a ${name}`);
      await page.getByRole('link', { name: 'Upload a document' }).click();
      const upload = async (content: string) => {
        const file = { name: 'Größe.pdf', mimeType: 'application/pdf', buffer: Buffer.from(content) };
        await page.getByLabel('File').setInputFiles(file);
        await page.getByRole('button', { name: 'Upload' }).click();
      };
      await upload('MZ');
      await page.locator('.fault').waitFor();
      await check(page, 'upload-rejected');
      await upload('%PDF-1.7');
      await page.getByText('Done.').waitFor();
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('Größe.pdf');
      await page.goto(`${address}/console/data/Invoice/${large.records[0]?.id}`);
      await page.getByText('9,900,000,000,000.00').first().waitFor();
      await check(page, 'largest-amounts');
      await page.goto(`${address}/console/data/Invoice?filter=total&op=least&value=much`);
      expect(await page.getByRole('alert').textContent()).toMatch(/\w{5}/);
      await check(page, 'list-rejected');

      await menu.getByRole('link', { name: 'Subscriptions' }).click();
      await page.locator(`a[href="/console/data/EventSubscription/${subscription.id}"]`).waitFor();
      await check(page, 'subscriptions');
      await page.locator(`a[href="/console/data/EventSubscription/${subscription.id}"]`).click();
      await check(page, 'subscription');
      await page.getByRole('link', { name: 'Create' }).first().click();
      await page.getByRole('heading', { name: 'Sent' }).waitFor();
      expect(await page.getByRole('main').textContent()).toContain('"name": "Fails to arrive"');
      expect(await page.getByRole('region', { name: 'Attempts' }).textContent()).toContain('No room');
      await check(page, 'sent-event');
      receiver.respond = () => undefined;
      await page.getByRole('button', { name: 'Deliver again' }).click();
      await page.getByText('Done.').waitFor();
      await expect
        .poll(async () => (await deliveries(subscription.id)).map(({ outcome }) => outcome))
        .toContain('SUCCESS');
      await page.getByRole('button', { name: 'Deactivate' }).click();
      await page.getByRole('button', { name: 'Deactivate now' }).click();
      await page.getByRole('button', { name: 'Reactivate' }).waitFor();
      expect(await audit('deactivateEventSubscription')).toContainEqual(
        expect.objectContaining({ actor: 'ops', entityId: subscription.id }),
      );

      await menu.getByRole('link', { name: 'Requests' }).click();
      await check(page, 'requests');
      await page.getByRole('link', { name: 'Get a client' }).first().click();
      await page.getByRole('heading', { name: 'Problem' }).waitFor();
      await check(page, 'request');
      for (const part of ['Secret of deliveries', 'API keys', 'Settings', 'Clock']) {
        await menu.getByRole('link', { name: part }).click();
        await check(page, part.toLowerCase().replace(' ', '-'));
      }
      const clock = await call<{ offsetSeconds: number }>('GET', '/api/v1/sandbox/clock');
      await page.locator('summary').filter({ hasText: 'Advance the clock' }).click();
      await page.getByLabel('Advance by').fill('P2D');
      await page.getByRole('button', { name: 'Advance the clock' }).click();
      await page.getByRole('heading', { name: 'Done' }).waitFor();
      expect((await call('GET', '/api/v1/sandbox/clock')).body).toMatchObject({
        offsetSeconds: clock.body.offsetSeconds + 2 * 86_400,
      });
      await menu.getByRole('link', { name: 'Clock' }).click();
      await page.locator('summary').filter({ hasText: 'Advance the clock' }).click();
      await page.getByLabel('Advance by').fill('soon');
      await page.getByRole('button', { name: 'Advance the clock' }).click();
      await page.getByRole('alert').waitFor();
      await check(page, 'clock-rejected');
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByLabel('API key').waitFor();
      await page.context().close();
    });

    // The colors do not depend on the size.
    if (name === 'desktop')
      nightlyTest?.('has no accessibility violations in dark colors', async () => {
        const page = await open({ colorScheme: 'dark' });
        await page.goto(`${address}/console`);
        await page.getByLabel('API key').fill((await newKey('ops')).key);
        await page.getByRole('button', { name: 'Sign in' }).click();
        for (const path of ['/data/EventSubscription', '/requests', '/keys', '/data/Client']) {
          await page.goto(`${address}/console${path}`);
          await check(page, `dark${path.replaceAll('/', '-')}`);
        }
        await page.context().close();
      });
  });
}
