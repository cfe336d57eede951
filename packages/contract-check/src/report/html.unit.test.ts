/** The HTML page, opened from disk. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBrowser } from '../../../../scripts/reference/browser.ts';
import { renderHtml } from './html.ts';
import { renderJunit } from './junit.ts';
import type { Report } from './report.ts';
import { exchangeOf, findingOf, operationOf, reportWith, tallies } from './test-report.ts';

let folder: string;
let browser: Browser;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'contract-check-page-'));
  browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
  await rm(folder, { recursive: true, force: true });
});

async function open(report: Report, width = 1280): Promise<{ page: Page; complaints: string[]; foreign: string[] }> {
  const file = join(folder, `${width}-${report.findings.length}.html`);
  await writeFile(file, renderHtml(report));
  const page = await browser.newPage({ viewport: { width, height: 900 } });
  const complaints: string[] = [];
  const foreign: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (request.url() !== pathToFileURL(file).href && !request.url().startsWith('data:')) foreign.push(request.url());
  });
  await page.goto(pathToFileURL(file).href);
  return { page, complaints, foreign };
}

const attacks = [
  '<script>window.owned = 1</script>',
  '</script><script>window.owned = 2</script>',
  '"><img src=x onerror="window.owned = 3">',
  "' onmouseover='window.owned = 4' x='",
  '</style><svg onload="window.owned = 5">',
  '<!--',
  ']]>',
  '&lt;b&gt;',
  '\u0000\u001b[31m\u202e\ud800',
];

function hostileReport(): Report {
  const evil = attacks.join(' ');
  const findings = attacks.map((attack) =>
    findingOf({
      ...{
        title: attack,
        expected: attack,
        actual: attack,
        fix: attack,
        operation: attack,
        check: `reject-${attack}`,
        cause: attack,
      },
      also: [attack],
      place: { file: `/somewhere/${attack}`, line: 1, pointer: `#/${attack}` },
      exchanges: [
        exchangeOf(
          { method: 'POST', url: `http://host/${attack}`, headers: { 'x-evil': attack }, body: evil },
          { text: evil, mediaType: 'text/html', headers: { location: attack, [attack]: attack } },
        ),
        exchangeOf({}, { text: JSON.stringify({ [attack]: attack, list: attacks }) }),
      ],
    }),
  );
  const operations = attacks.map((attack) =>
    operationOf({
      id: attack,
      path: attack,
      method: attack,
      reached: false,
      reason: attack,
      checks: tallies(1, { responses: 1 }),
    }),
  );
  return reportWith({ title: evil, url: evil, spec: evil, findings, operations, notices: attacks });
}

describe('the page of a hostile server', () => {
  it('runs none of its scripts, and shows them as text', async () => {
    const { page, complaints, foreign } = await open(hostileReport());
    await page.evaluate(`for (const details of document.querySelectorAll('details')) details.open = true`);
    await page.locator('.card').first().hover();
    expect(await page.evaluate(`'owned' in window`)).toBe(false);
    expect(await page.locator('main img, main script, [onerror], [onmouseover], [onload]').count()).toBe(0);
    expect(await page.locator('.card').count()).toBe(attacks.length);
    expect(await page.locator('#finding-1 .title').textContent()).toBe(attacks[0]);
    expect(await page.locator('#finding-1 pre').first().textContent()).toContain('<script>window.owned = 1</script>');
    expect(complaints).toEqual([]);
    expect(foreign).toEqual([]);
  });

  it('does not break the well-formedness of JUnit', async () => {
    const { page } = await open(reportWith());
    const xml = JSON.stringify(renderJunit(hostileReport()));
    const parsed = `new DOMParser().parseFromString(${xml}, 'application/xml')`;
    const problem = await page.evaluate(`${parsed}.querySelector('parsererror')?.textContent ?? null`);
    expect(problem).toBeNull();
  });
});

describe('the page', () => {
  it.each([1280, 390])('fits a window of %d pixels', async (width) => {
    const { page, complaints } = await open(reportWith(), width);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(complaints).toEqual([]);
  });

  it('shows the verdict, and links from the table to the finding', async () => {
    const { page } = await open(reportWith());
    expect(await page.locator('.verdict').textContent()).toBe(
      '3 findings in 83 of 97 operations, 168 of 194 statuses, 417 of 485 constraints; 12,345 requests, 41 s, seed 42',
    );
    await page.getByRole('button', { name: 'Close all' }).click();
    expect(await page.locator('.card[open]').count()).toBe(0);
    await page.locator('td.bad a').nth(1).click();
    await page.locator('#finding-2[open]').waitFor();
    expect(await page.locator('#finding-2 .contract code').textContent()).toBe('openapi/schemas/project.yaml:31');
  });

  it('filters findings by text and by category', async () => {
    const { page } = await open(reportWith());
    const shown = () => page.locator('.card:visible .number').allTextContents();
    await page.getByRole('searchbox').fill('updateproject');
    expect(await shown()).toEqual(['2', '3']);
    await page.getByRole('button', { name: 'behavior 1' }).click();
    expect(await shown()).toEqual(['3']);
    await page.getByRole('searchbox').fill('nothing like it');
    expect(await shown()).toEqual([]);
    await page.getByText('No finding matches.').waitFor();
  });

  it('copies the request', async () => {
    const { page } = await open(reportWith());
    await page.locator('#finding-1').getByRole('button', { name: 'Copy' }).click();
    const copyButton = page.locator('#finding-1 [data-copy]');
    await expect.poll(() => copyButton.textContent()).toMatch(/^(Copied|Selected)$/);
  });
});

it('the page contains no credential', () => {
  expect(renderHtml(reportWith())).not.toContain('caller-token-1');
});
