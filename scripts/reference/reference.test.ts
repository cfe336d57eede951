/** The reference, as somebody reads it in a browser without a network. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Contract, type Operation, operationsOf, readContract } from '../../packages/mock/src/contract.ts';
import { operations as index } from '../../packages/spec/src/index.ts';
import { startBrowser } from './browser.ts';
import { facts } from './facts.ts';
import { clientSample, curlSample } from './samples.ts';

const contract = await readContract();
const operations = operationsOf(contract);
/** One of each chapter and method: opening one in a browser takes a second, and those are alike. */
const opened = [...Map.groupBy(operations, ({ id, method }) => `${index[id].tag} ${method}`).values()].flatMap(
  ([first]) => first ?? [],
);
const chapters = new Set(operations.map(({ id }) => index[id].tag));
const script = fileURLToPath(new URL('../reference.ts', import.meta.url));

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
  it('is one file of a size that is soon sent', async () => {
    expect((await stat(file)).size).toBeLessThan(5 * 2 ** 20);
  });

  it('is not made again where nothing has changed', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [script, '--output', file, '--if-stale']);
    expect(stdout).toBe('The reference is up to date.\n');
  });

  it('has a title and an icon of its own', async () => {
    expect(await page.title()).toBe(contract.info.title);
    expect(await page.locator('link[rel=icon]').getAttribute('href')).toMatch(/^data:image\/svg\+xml,/);
  });

  it('has every chapter in its menu', async () => {
    for (const chapter of chapters) {
      await page.locator(`a[href="#/${chapter}"]`).first().waitFor({ state: 'attached' });
    }
  });

  it('is given every operation with its roles and limits and its samples', async () => {
    const [, definition = ''] = /const __redoc_definition = (.*);$/m.exec(await readFile(file, 'utf8')) ?? [];
    const { paths } = JSON.parse(definition) as Contract;
    for (const operation of operations) {
      expect(paths[operation.path]?.[operation.method.toLowerCase()], operation.id).toMatchObject({
        summary: operation.summary,
        description: expect.stringContaining(facts(index[operation.id])),
        'x-codeSamples': [
          { label: 'curl', source: curlSample(operation) },
          { label: 'TypeScript', source: clientSample(operation) },
        ],
      });
    }
  });

  it.each(opened)('shows $id with its summary, its roles and limits and its samples', async (operation) => {
    const section = await open(operation);
    expect(await section.locator('h2').first().textContent()).toContain(operation.summary);
    const text = plain((await section.textContent()) ?? '');
    const lines = facts(index[operation.id])
      .split('\n')
      .map((line) => plain(line.slice(2)));
    expect(lines.filter((line) => !text.includes(line))).toEqual([]);

    const samples = { curl: curlSample(operation), TypeScript: clientSample(operation) };
    const panel = section.locator('.panel-request-samples');
    const code = panel.getByTestId('source-code');
    const languages = panel.getByTestId('dropdown').nth(1);
    // The page keeps the language from one operation to the next, so the other one is chosen here.
    const [shown, other] = ((await languages.textContent()) ?? '').startsWith('curl')
      ? (['curl', 'TypeScript'] as const)
      : (['TypeScript', 'curl'] as const);
    expect(plain((await code.textContent()) ?? '')).toBe(plain(samples[shown]));
    // Clicks by program, as waiting for animations would take most of the time; a menu that is still closing does not hear them.
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

  it('offers the description beside itself for download', async () => {
    await page.evaluate("location.hash = '#/'");
    for (const name of ['openapi.yaml', 'openapi.json']) {
      await page.locator(`a[href="${name}"]`).first().waitFor();
      expect((await stat(join(folder, name))).size).toBeGreaterThan(0);
    }
  });

  it('fits a telephone', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    for (const operation of operations.slice(0, 5)) {
      await open(operation);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    }
  });

  it('has asked no other host for anything, and has complained of nothing', async () => {
    expect(foreignRequests).toEqual([]);
    expect(complaints).toEqual([]);
    expect(await readFile(file, 'utf8')).toContain('"disableTelemetry":true');
  });
});

/** Goes to an operation by its address, as a link from elsewhere would. */
async function open({ id }: Operation): Promise<Locator> {
  const anchor = `${index[id].tag}/${id.toLowerCase()}`;
  await page.evaluate(`location.hash = '#/${anchor}'`);
  const section = page.locator(`[id="${anchor}"]`);
  await section.waitFor();
  return section;
}

/** Without what a browser sets as it likes: spaces, and the marks of Markdown. */
function plain(text: string): string {
  return text.replace(/[*`]/g, '').replace(/\s+/g, ' ').trim();
}
