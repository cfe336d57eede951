import { seedDemoData } from '@financial-automation/demo-data/demo-data';
import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { startBrowser } from '../../../../../scripts/test/browser.ts';
import { testService } from '../../../test/service.ts';
import { contract } from '../../contract/contract.ts';
import { createApiKey } from '../../operator/api-keys.ts';
import { dataLists } from './catalog.ts';
import { valueInWords } from './words.ts';

const browser = await startBrowser();
afterAll(() => browser.close());
const sizes = { phone: { width: 390, height: 844 }, desktop: { width: 1440, height: 900 } } as const;

/** Someone who knows nothing of the pages but what can be read on them, and whose clicks are counted. */
class Reader {
  readonly page: Page;
  clicks = 0;

  constructor(page: Page) {
    this.page = page;
  }

  async click(role: 'link' | 'button', name: string | RegExp): Promise<void> {
    this.clicks++;
    await this.page
      .getByRole(role, { name, exact: typeof name === 'string' })
      .first()
      .click();
  }

  async open(text: string): Promise<void> {
    this.clicks++;
    await this.page.locator('summary').filter({ hasText: text }).first().click();
  }

  async menu(name: string): Promise<void> {
    this.clicks++;
    await this.page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
  }

  async enter(label: string | RegExp, text: string): Promise<void> {
    this.clicks++;
    await this.page.getByLabel(label).first().fill(text);
  }

  async choose(label: string | RegExp, option: string): Promise<void> {
    this.clicks++;
    await this.page.getByLabel(label).first().selectOption({ label: option });
  }

  async reads(text: string | RegExp): Promise<void> {
    await this.page.getByRole('main').getByText(text).first().waitFor({ timeout: 10_000 });
  }

  /** Looks at what would change, and does it. */
  async confirm(label: string): Promise<void> {
    await this.reads('Nothing has changed yet');
    await this.click('button', `${label} now`);
    await this.reads('Done.');
  }

  async search(text: string): Promise<void> {
    await this.enter('Search names and numbers', text);
    await this.click('button', 'Search');
  }
}

const controller = { user: 'controller', roles: ['API_ADMIN', 'PYMT_EVNT_ALL'] };
const partner = {
  user: 'partner',
  roles:
    'CLNT_R STAFF_R JOB_R TIME_R TIME_W TIME_APRV WIP_R RECORD_W DINVC_R DINVC_W DINVC_APRV INVC_R PYMT_R ENGMT_R JRNL_R FILE_R FILE_DL'.split(
      ' ',
    ),
};

async function demoFirm(user = controller) {
  const firm = await testService();
  await seedDemoData({ service: firm.service }, firm.tenant.name);
  const key = { tenant: firm.tenant.name, ...user, days: 1 };
  const { key: apiKey } = await createApiKey({ service: firm.service }, { ...key, description: undefined });
  return { ...firm, apiKey };
}

const codes = new Set(
  Object.entries(contract.components.schemas)
    .filter(([name]) => !['Currency', 'Country', 'NullableCountry'].includes(name))
    .flatMap(([, schema]) => [schema, ...Object.values(schema.properties ?? {})].flatMap((one) => one.enum ?? []))
    .filter((value) => /^[A-Z\d_]{2,}$/.test(value ?? '')),
);

/** What a page shows as text, but for what is meant for integrators, and codes and notes of the firm. */
function textOf(html: string): string {
  const main = html.slice(html.indexOf('<main'));
  const own = main.replaceAll(
    /<details><summary>(?:For integrators|History|Events)<\/summary>.*?<\/details>|<(pre|code)>.*?<\/\1>|data-label="Code">[^<]*|<dt>(?:Code|Note)<\/dt><dd>[^<]*/gs,
    ' ',
  );
  return own.replaceAll(/<[^>]+>/g, ' ');
}

test('no page of the demo firm shows a value of an enumeration, a name of the contract or an ID as text', async () => {
  const { address, apiKey } = await demoFirm();
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${address}/console`);
  await page.getByLabel('API key').fill(apiKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  const read = async (path: string) => (await context.request.get(`${address}/console${path}`)).text();
  const found: (readonly [path: string, text: string])[] = [];
  let rows = 0;
  const judge = (path: string, html: string) => {
    const words = textOf(html).match(/[\w-]+/g) ?? [];
    const isRaw = (word: string) =>
      (codes.has(word) && valueInWords(word) !== word) ||
      /^[\da-f]{8}(-[\da-f]{4}){3}-|^[a-z]+([A-Z][a-z]+)+$|^(en|de|fr|es)$/.test(word);
    found.push(...words.filter(isRaw).map((word) => [path, word] as const));
  };
  for (const type of dataLists.keys()) {
    const list = await read(`/data/${type}`);
    judge(type, list);
    const paths = [...list.matchAll(/<th scope="row">(?:<input[^>]*>)?<a href="\/console(\/data\/[^"]+)"/g)].map(
      ([, path = '']) => path,
    );
    for (const path of paths.slice(0, 10)) {
      judge(type, await read(path));
      rows++;
    }
  }
  for (const path of ['', '/close', '/keys', '/settings', '/requests']) judge(path, await read(path));
  expect(found).toEqual([]);
  expect(rows).toBeGreaterThan(30);
  await context.close();
}, 120_000);

test.each(Object.entries(sizes))(
  'fifteen tasks of a month end are done on a %s by who reads the labels',
  async (_name, viewport) => {
    const { address, call, apiKey } = await demoFirm();
    const context = await browser.newContext({ viewport, javaScriptEnabled: false });
    const page = await context.newPage();
    const reader = new Reader(page);
    await page.goto(`${address}/console`);
    const tasks: readonly (readonly [task: string, work: () => Promise<void>])[] = [
      [
        'sign in',
        async () => {
          await reader.enter('API key', apiKey);
          await reader.click('button', 'Sign in');
          await reader.reads('Receivables by age');
        },
      ],
      [
        'follow a figure to its rows',
        async () => {
          await reader.open('Figures and their rows');
          await reader.click('link', /^[\d,]+\.\d\d$/);
          await reader.reads('Receivable');
        },
      ],
      [
        'see the figures of an office at the end of a month',
        async () => {
          await reader.menu('Overview');
          await reader.choose('Office', 'Portland');
          await reader.click('button', 'Show');
          await reader.reads('Utilization by staff');
        },
      ],
      [
        'find a client and its statement',
        async () => {
          await reader.search('harbor');
          await reader.click('link', 'Harbor & Pine LLC');
          await reader.click('link', 'Statement of account');
          await reader.reads('Balance at the end');
        },
      ],
      [
        'filter invoices by the name of a client, and save them',
        async () => {
          await reader.menu('Data');
          await reader.click('link', 'Invoices');
          await reader.choose('Show rows where', 'Client');
          await reader.choose('Compared', 'is');
          await reader.enter('With', 'harbor');
          await reader.click('button', 'Filter');
          await reader.reads('Client is');
          const download = page.waitForEvent('download');
          await reader.click('link', /as a file for spreadsheets/);
          expect((await download).suggestedFilename()).toBe('Invoice.csv');
        },
      ],
      [
        'approve all submitted time',
        async () => {
          await reader.menu('Overview');
          await reader.click('link', /^Time entries to approve/);
          await reader.click('link', 'Select all');
          await reader.click('button', 'Approve');
          await reader.confirm('Approve');
        },
      ],
      [
        'approve the drafts in review',
        async () => {
          await reader.menu('Overview');
          await reader.click('link', /^Draft invoices to review/);
          await reader.click('link', 'Select all');
          await reader.click('button', 'Approve');
          await reader.confirm('Approve');
        },
      ],
      [
        'submit a draft for review',
        async () => {
          await reader.menu('Data');
          await reader.click('link', 'Draft invoices');
          await reader.choose('Show rows where', 'Status');
          await reader.choose('Compared', 'is');
          await reader.enter('With', 'draft');
          await reader.click('button', 'Filter');
          await reader.click('link', /^D-\d/);
          await reader.click('button', 'Submit for review');
          await reader.confirm('Submit for review');
        },
      ],
      [
        'record a payment of a client',
        async () => {
          await reader.search('harbor');
          await reader.click('link', 'Harbor & Pine LLC');
          await reader.click('link', 'New payment');
          await reader.enter(/^Amount/, '250.00');
          await reader.enter(/^Payment date/, new Date(Date.now() - 86_400_000).toISOString().slice(0, 10));
          await reader.choose(/^Method/, 'Check');
          await reader.click('button', 'Show what would change');
          await reader.confirm('Create');
        },
      ],
      [
        'apply its money to an invoice',
        async () => {
          await reader.click('link', 'Change fields');
          await reader.enter('Allocation 1: invoice', 'INV-2026-00006');
          await reader.enter('Allocation 1: amount', '250.00');
          await reader.click('button', 'Show what would change');
          await reader.confirm('Change');
        },
      ],
      [
        'credit an invoice',
        async () => {
          await reader.search('INV-2026-00006');
          await reader.click('link', 'INV-2026-00006');
          await reader.click('link', 'Credit it');
          const today = new Date().toISOString().slice(0, 10);
          for (const label of [/^Bill through date/, /^Proposed invoice date/, /^Due date/])
            await reader.enter(label, today);
          await reader.choose('Line 1: line type', 'Discount');
          await reader.enter('Line 1: description', 'As agreed');
          await reader.enter('Line 1: quantity', '1');
          await reader.enter('Line 1: unit amount', '-57.00');
          await reader.choose('Line 1: taxable', 'no');
          await reader.click('button', 'Show what would change');
          await reader.confirm('Create');
        },
      ],
      [
        'write off an invoice with a reason',
        async () => {
          await reader.search('INV-2026-00002');
          await reader.click('link', 'INV-2026-00002');
          await reader.open('Write off');
          await reader.enter('Write off reason', 'Not collectable');
          await page.locator('details[open]').getByRole('button', { name: 'Show what would change' }).click();
          await reader.confirm('Write off');
        },
      ],
      [
        'change the terms of a client',
        async () => {
          await reader.search('harbor');
          await reader.click('link', 'Harbor & Pine LLC');
          await reader.click('link', 'Change fields');
          await reader.enter('Payment terms days', '45');
          await reader.click('button', 'Show what would change');
          await reader.confirm('Change');
        },
      ],
      [
        'close the month before after its check list',
        async () => {
          await reader.menu('Close a month');
          await reader.reads(/Still open through/);
          await reader.click('button', /^Close through/);
          await reader.confirm('Change');
        },
      ],
      [
        'open it again with a reason',
        async () => {
          await reader.menu('Close a month');
          await reader.open('Open again');
          await reader.enter('Reason', 'The bank sent a corrected statement');
          await reader.click('button', 'Open again');
          await reader.confirm('Change');
        },
      ],
    ];
    const counts: Record<string, number> = {};
    for (const [task, work] of tasks) {
      const before = reader.clicks;
      await work().catch(async (error: unknown) => {
        const text = await page.getByRole('main').textContent();
        throw new Error(`${task}: ${page.url()}\n${text?.slice(0, 3000)}`, { cause: error });
      });
      counts[task] = reader.clicks - before;
    }
    expect(tasks).toHaveLength(15);
    expect(reader.clicks, JSON.stringify(counts)).toBeLessThanOrEqual(90);
    const found = async (path: string, where: object) =>
      (await call<{ data: Record<string, unknown>[] }>('POST', path, { where })).body.data;
    expect(await found('/gql/v1/time_entries/search', { status: { _eq: 'SUBMITTED' } })).toEqual([]);
    expect(await found('/gql/v1/draft_invoices/search', { total: { _eq: '-57.00' } })).toMatchObject([
      { creditedInvoiceId: expect.any(String), lines: [{ description: 'As agreed' }] },
    ]);
    expect(
      await found('/gql/v1/payments/search', { amount: { _eq: '250.00' }, method: { _eq: 'CHECK' } }),
    ).toMatchObject([{ status: 'COMPLETED', unappliedAmount: '0.00' }]);
    expect(await found('/gql/v1/invoices/search', { invoiceNumber: { _eq: 'INV-2026-00002' } })).toMatchObject([
      { status: 'WRITTEN_OFF', writeOffReason: 'Not collectable' },
    ]);
    await context.close();
  },
  120_000,
);

test.each(Object.entries(sizes))(
  'a partner, who is no administrator, does the work of a day on a %s',
  async (_name, viewport) => {
    const { address, call, apiKey } = await demoFirm(partner);
    const context = await browser.newContext({ viewport, javaScriptEnabled: false });
    const page = await context.newPage();
    const reader = new Reader(page);
    await page.goto(`${address}/console`);
    await reader.enter('API key', apiKey);
    await reader.click('button', 'Sign in');
    await reader.reads('Realization by service line');
    const menu = await page.getByRole('navigation').getByRole('link').allTextContents();
    expect(menu).toEqual(['Overview', 'Data', 'Close a month', 'Reference']);
    for (const waiting of [/^Time entries to approve/, /^Draft invoices to review/]) {
      await reader.menu('Overview');
      await reader.click('link', waiting);
      await reader.click('link', 'Select all');
      await reader.click('button', 'Approve');
      await reader.confirm('Approve');
    }
    await reader.search('harbor');
    await reader.click('link', 'Harbor & Pine LLC');
    expect(await page.getByRole('link', { name: 'New payment' }).count()).toBe(0);
    await reader.click('link', 'Statement of account');
    await reader.reads('Balance at the end');
    await reader.search('INV-2026-00006');
    await reader.click('link', 'INV-2026-00006');
    await reader.reads('Ledger entries');
    expect(await page.getByRole('main').getByText('What you can do now').count()).toBe(0);
    await reader.menu('Overview');
    await page.locator('#realization summary').click();
    await page.locator('#realization td a').first().click();
    await reader.reads('Purpose is');
    await reader.menu('Close a month');
    await reader.reads('Closing it requires the role BOOKS_CLOSE.');
    const { body } = await call<{ data: unknown[] }>('POST', '/gql/v1/time_entries/search', {
      where: { status: { _eq: 'SUBMITTED' } },
    });
    expect(body.data).toEqual([]);
    await context.close();
  },
  120_000,
);
