/// <reference lib="dom" />
/** The reference in a browser without a network. By day a browser opens it as the server serves it: see `served.test.ts`. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Schema } from '../../openapi/rules/described.ts';
import { type Operation, operationsOf, readContract } from '../../packages/spec/src/examples.ts';
import { operations as index } from '../../packages/spec/src/index.ts';
import { startBrowser } from '../test/browser.ts';
import { violationsIn } from '../test/violations.ts';
import { chapterOf, readChapters } from './chapters.ts';
import { clientSample, curlSample } from './samples.ts';

const contract = await readContract();
const operations = operationsOf(contract);
/** One operation of each chapter and method: opening one in a browser takes a second, and similar ones look alike. */
const opened = [...Map.groupBy(operations, ({ id, method }) => `${index[id].tag} ${method}`).values()].flatMap(
  ([first]) => first ?? [],
);
const chapters = new Set(operations.map(({ id }) => index[id].tag));
const root = fileURLToPath(new URL('../..', import.meta.url));
const script = join(root, 'scripts/reference.ts');

let folder: string;
let file: string;
let browser: Browser;
let page: Page;
const complaints: string[] = [];
const foreignRequests: string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'financial-automation-reference-test-'));
  file = join(folder, 'reference.html');
  await promisify(execFile)(process.execPath, [script, '--output', file]);
  browser = await startBrowser();
  page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.setDefaultTimeout(120_000);
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.route('**/*', async (route) => {
    const url = route.request().url();
    if (url === pathToFileURL(file).href || url.startsWith('data:')) return route.continue();
    foreignRequests.push(url);
    return route.abort();
  });
  await page.goto(pathToFileURL(file).href);
});

afterAll(async () => {
  await browser?.close();
  await rm(folder, { recursive: true, force: true });
});

describe('the reference', () => {
  it('has its own title and icon', async () => {
    expect(await page.title()).toBe(contract.info.title);
    expect(await page.locator('link[rel=icon]').getAttribute('href')).toMatch(/^data:image\/svg\+xml,/);
  });

  it('has every chapter in its menu', async () => {
    for (const chapter of chapters) {
      await page.locator(`a[href="#/${chapter}"]`).first().waitFor({ state: 'attached' });
    }
  });

  it('has a page for each guide, workflow and list of changes', async () => {
    const guides = await readChapters();
    for (const chapter of guides) {
      const name = chapterOf(chapter);
      const heading = page.locator(`[id="${name}"]`).getByRole('heading', { name: chapter.title }).first();
      await page.evaluate(`location.hash = '#/${name}'`);
      await heading.waitFor();
    }
  });

  it.each(opened)('shows $id with its summary, its roles and limits and its samples', async (operation) => {
    const section = await open(operation);
    expect(await section.locator('h2').first().textContent()).toContain(operation.summary);
    const text = plain((await section.textContent()) ?? '');
    const lines = descriptionOf(operation)
      .split('\n')
      .filter((line) => /^- \*\*(Roles|Rate limit|Idempotency)/.test(line))
      .map((line) => plain(line.slice(2)).replace('the schema Role', 'all roles'));
    expect(lines).toHaveLength(3);
    expect(lines.filter((line) => !text.includes(line))).toEqual([]);

    const samples = { curl: curlSample(operation), TypeScript: clientSample(operation) };
    const panel = section.locator('.panel-request-samples');
    const code = panel.getByTestId('source-code');
    const languages = panel.getByTestId('dropdown').nth(1);
    // The page keeps the selected language, so the other one is selected here.
    const [shown, other] = ((await languages.textContent()) ?? '').startsWith('curl')
      ? (['curl', 'TypeScript'] as const)
      : (['TypeScript', 'curl'] as const);
    expect(plain((await code.textContent()) ?? '')).toBe(plain(samples[shown]));
    // Clicks by script, because waiting for animations would take most of the time; a menu that is still closing ignores
    // them.
    await vi.waitFor(
      async () => {
        await languages.getByRole('button').dispatchEvent('click');
        const choice = page.getByRole('menuitem', { name: other }).filter({ visible: true });
        await choice.dispatchEvent('click', {}, { timeout: 2000 });
        await expect
          .poll(async () => plain((await code.textContent()) ?? ''), { timeout: 2000 })
          .toBe(plain(samples[other]));
      },
      { timeout: 120_000 },
    );
  });

  it.each(['light', 'dark'] as const)(
    'shows a state machine as a complete image and a table, in %s colors',
    async (colorScheme) => {
      await page.emulateMedia({ colorScheme });
      await page.evaluate(`document.documentElement.classList.toggle('dark', ${colorScheme === 'dark'})`);
      await page.evaluate("location.hash = '#/states/invoice'");
      const section = page.locator('[id="states/invoice"]');
      await section.waitFor();
      const picture = section.getByRole('img', { name: 'States of Invoice' });
      const frame = await picture.boundingBox();
      const texts = await picture.locator('text').all();
      expect(texts.length).toBeGreaterThan(0);
      const color = await section
        .locator('p')
        .first()
        .evaluate((element) => getComputedStyle(element).color);
      for (const text of texts) {
        const box = await text.boundingBox();
        const [left, top, right, bottom] = edgesOf(frame);
        const [itsLeft, itsTop, itsRight, itsBottom] = edgesOf(box);
        expect([itsLeft >= left, itsTop >= top, itsRight <= right, itsBottom <= bottom]).toEqual([
          true,
          true,
          true,
          true,
        ]);
        expect(await text.evaluate((element) => getComputedStyle(element).fill)).toBe(color);
      }
      const { InvoiceStatus } = contract.components.schemas as Record<string, Schema>;
      expect(await section.locator('tbody tr').count()).toBe(InvoiceStatus?.['x-state-machine']?.transitions.length);
    },
  );

  it('searches by keyboard, and opens the chosen result', async () => {
    await page.evaluate("location.hash = '#/'");
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: 'Search the reference' });
    await field.fill('unpaid invoces');
    const options = page.getByRole('option');
    await options.first().waitFor();
    expect(await options.first().getAttribute('aria-selected')).toBe('true');
    expect(await options.first().textContent()).toContain('List the unpaid invoices of a client');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.hash.startsWith('#/billing/listunpaidinvoices'));
    await page.locator('[id="billing/listunpaidinvoices"]').waitFor();
    expect(await field.isVisible()).toBe(false);
    await page.locator('#search-button').click();
    await field.fill('zzzz');
    expect(await page.getByRole('status').textContent()).toBe('Nothing matches “zzzz”.');
    await page.keyboard.press('Escape');
    expect(await field.isVisible()).toBe(false);
    expect(await page.getByTestId('search-trigger').isVisible()).toBe(false);
  });

  const looks = [
    ['desktop', 'light', { width: 1440, height: 900 }],
    ['desktop', 'dark', { width: 1440, height: 900 }],
    ['phone', 'light', { width: 390, height: 844 }],
  ] as const;
  it.each(looks)('has no accessibility violations on a %s, in %s colors', async (_device, colorScheme, viewport) => {
    const places = ['', 'billing/createquickpaymentlink', 'records/deleterecords', 'states/invoice'];
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    await page.evaluate(`document.documentElement.classList.toggle('dark', ${colorScheme === 'dark'})`);
    for (const anchor of places) {
      await page.evaluate(`location.hash = '#/${anchor}'`);
      if (anchor !== '') await page.locator(`[id="${anchor}"]`).waitFor();
      await expect.poll(() => violationsIn(page), { message: anchor }).toEqual([]);
    }
    await page.locator('#search-button').click();
    await page.getByRole('combobox').fill('invoice');
    expect(await violationsIn(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  it('has the topic of authentication once', async () => {
    await page.evaluate("location.hash = '#/authentication'");
    const section = page.locator('[id="authentication"]');
    await section.waitFor();
    expect(plain((await section.textContent()) ?? '')).toContain('An access token is valid for 15 minutes');
    expect(await page.locator('.menu-content').getByText('Authentication', { exact: true }).count()).toBe(1);
  });

  it('links from an operation to the states of what it returns', async () => {
    const [reading] = operations.filter(({ id }) => id === 'getInvoice');
    if (reading === undefined) throw new Error('The contract has no getInvoice.');
    const section = await open(reading);
    await section.getByRole('link', { name: 'Invoice', exact: true }).first().dispatchEvent('click');
    await page.waitForURL(/#\/states\/invoice$/);
  });

  it('links from an operation to the permissions of its roles', async () => {
    const [reading] = operations.filter(({ id }) => id === 'getInvoice');
    if (reading === undefined) throw new Error('The contract has no getInvoice.');
    const section = await open(reading);
    await section.getByRole('link', { name: 'all roles' }).dispatchEvent('click');
    await page.waitForURL(/#\/authentication\/role$/);
    await page.locator('[id="authentication/role"]').getByRole('cell', { name: 'API_ADMIN' }).waitFor();
  });

  it('describes signatures and retries of webhooks on the page of webhooks', async () => {
    await page.evaluate("location.hash = '#/webhooks'");
    const section = page.locator('[id="webhooks"]');
    await section.waitFor();
    const text = plain((await section.textContent()) ?? '');
    for (const fact of ['webhook-signature', 'HMAC-SHA256', '5 min, 30 min, 2 h', 'Retry-After', 'jitter']) {
      expect(text).toContain(fact);
    }
  });

  it('shows code in a monospace font, also on a machine that has none', async () => {
    const [first] = operations.filter(({ id }) => id === 'searchClients');
    if (first === undefined) throw new Error('The contract has no searchClients.');
    const section = await open(first);
    for (const part of ['code', '.schema-name', '[data-testid="source-code"]']) {
      const [narrow, wide] = await section
        .locator(part)
        .first()
        .evaluate((element) =>
          ['iiii', 'MMMM'].map((text) => {
            const ruler = Object.assign(document.createElement('span'), { textContent: text });
            element.append(ruler);
            const { width } = ruler.getBoundingClientRect();
            ruler.remove();
            return width;
          }),
        );
      expect(narrow, part).toBeGreaterThan(0);
      expect(narrow, part).toBeCloseTo(wide ?? 0, 1);
    }
  });

  it('links from a status to its transitions', async () => {
    const [reading] = operations.filter(({ id }) => id === 'getInvoice');
    if (reading === undefined) throw new Error('The contract has no getInvoice.');
    const section = await open(reading);
    await section.getByRole('link', { name: 'transitions of Invoice' }).first().dispatchEvent('click');
    await page.waitForURL(/#\/states\/invoice$/);
    await page.locator('[id="states/invoice"]').waitFor();
  });

  it('links to the contract, the Postman collection and the Markdown pages for download', async () => {
    await page.evaluate("location.hash = '#/'");
    const names = ['openapi.yaml', 'openapi.json', 'postman_collection.json', 'postman_environment.json', 'llms.txt'];
    for (const name of names) {
      await page.locator(`a[href="${name}"]`).first().waitFor();
      expect((await stat(join(dirname(file), name))).size).toBeGreaterThan(0);
    }
  });

  it('fits a phone screen', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    for (const operation of operations.slice(0, 5)) {
      await open(operation);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    }
  });

  it('has not accessed other hosts, and logs no errors', async () => {
    expect(foreignRequests).toEqual([]);
    expect(complaints).toEqual([]);
    expect(await readFile(file, 'utf8')).toContain('"disableTelemetry":true');
  });
});

/** The text of an operation in the bundle, which ends with its roles and limits. */
function descriptionOf({ path, method }: Operation): string {
  const operation: unknown = contract.paths[path]?.[method.toLowerCase()];
  return typeof operation === 'object' && operation !== null && 'description' in operation
    ? String(operation.description)
    : '';
}

/** Opens an operation by its URL, like an external link. */
async function open({ id }: Operation): Promise<Locator> {
  const anchor = `${index[id].tag}/${id.toLowerCase()}`;
  await page.evaluate(`location.hash = '#/${anchor}'`);
  const section = page.locator(`[id="${anchor}"]`);
  await section.waitFor();
  return section;
}

function edgesOf(
  box: { x: number; y: number; width: number; height: number } | null,
): [number, number, number, number] {
  if (box === null) throw new Error('The element is not visible.');
  return [box.x, box.y, box.x + box.width, box.y + box.height];
}

/** Removes spaces and Markdown characters, which depend on rendering. */
function plain(text: string): string {
  return text.replace(/[*`]/g, '').replace(/\s+/g, ' ').trim();
}
