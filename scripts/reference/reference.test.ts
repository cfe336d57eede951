/** The file of the reference. What a browser shows of it is in `reference.nightly.test.ts`, and on the server in `served.test.ts`. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Contract, operationsOf, readContract } from '../../packages/spec/src/examples.ts';
import { operations as index } from '../../packages/spec/src/index.ts';
import { chapterOf, readChapters } from './chapters.ts';
import { described } from './described.ts';
import { createSearch } from './in-page/find.ts';
import { contractIn } from './packed.ts';
import { sampleLanguages } from './samples.ts';
import { searchEntries } from './search-entries.ts';
import { stateLinks } from './states.ts';

const contract = await readContract();
const operations = operationsOf(contract);
const chapters = new Set(operations.map(({ id }) => index[id].tag));
const entries = searchEntries(contract, described(contract, await readChapters()));
const search = createSearch(entries);
const root = fileURLToPath(new URL('../..', import.meta.url));
const script = join(root, 'scripts/reference.ts');
const file = join(root, 'dist/reference.html');

beforeAll(async () => {
  await promisify(execFile)(process.execPath, [script, '--if-stale']);
});

describe('the reference', () => {
  it('is one file of less than 1 MB when compressed', async () => {
    expect(gzipSync(await readFile(file)).length).toBeLessThan(1_000_000);
  });

  it('is not generated again if nothing has changed', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [script, '--if-stale']);
    expect(stdout).toBe('The reference is up to date.\n');
  });

  it('has no link from a guide, workflow or list of changes to a place that does not exist', async () => {
    const guides = await readChapters();
    // The page renders a section when it is scrolled to, so the links are those of the definition that it shows.
    const { tags } = await definition();
    const texts = guides.map(
      (chapter) => Object(tags.find((tag) => Object(tag).name === chapterOf(chapter))).description,
    );
    const linked = [...texts.join('\n').matchAll(/\]\((#[^)]+)\)/g)].map(([, target = '']) => target);
    expect(linked).toEqual(expect.arrayContaining(['#/events/listdeliveries', '#/guide-payments', '#/section/errors']));
    const sections = [...(await readFile(file, 'utf8')).matchAll(/href="(#\/(?:section\/[\w-]+|webhooks))"/g)];
    const known = new Set([
      ...operations.map(({ id }) => `#/${index[id].tag}/${id.toLowerCase()}`),
      ...guides.map((chapter) => `#/${chapterOf(chapter)}`),
      ...sections.map(([, target = '']) => target),
    ]);
    expect(linked.filter((target) => !known.has(target))).toEqual([]);
  });

  it('contains every operation with its roles and limits and its samples', async () => {
    const { paths } = await definition();
    for (const operation of operations) {
      expect(paths[operation.path]?.[operation.method.toLowerCase()], operation.id).toMatchObject({
        summary: operation.summary,
        description: expect.stringContaining(`- **Operation ID**: \`${operation.id}\``),
        'x-codeSamples': sampleLanguages.map(({ label, sampleOf }) => ({ label, source: sampleOf(operation) })),
      });
    }
  });

  it.each([
    ['a title with one wrong letter', 'invoce', '#/billing/listinvoices'],
    ['a state', 'refund', '#/states/payment'],
    ['an operation by its ID', 'listUnpaidInvoices', '#/billing/listunpaidinvoices'],
    ['an operation by its path', 'link/payment', '#/billing/createquickpaymentlink'],
    ['a field of a response', 'overdueBalance', '#/clients/getclient'],
    ['a field of a request', 'billingAddress', '#/clients/onboardclient'],
    ['an operation by its role', 'PAYLNK_C', '#/billing/createquickpaymentlink'],
    ['the permissions of a role', 'DINVC_APRV', '#/authentication/role'],
    ['a topic', 'idempotency', '#/section/idempotency'],
    ['an event', 'a task was updated', '#/webhooks/taskupdated'],
  ])('finds %s', (_what, text, target) => {
    expect(search(text).map(({ entry }) => entry.link)).toContain(target);
  });

  it.each(['invoce', 'invoice', 'payment link', 'client'])('lists operations before events for “%s”', (text) => {
    expect(
      search(text)
        .slice(0, 3)
        .map(({ entry }) => entry.kind),
    ).not.toContain('Event');
    expect(search(text)[0]?.entry.kind).toBe('Operation');
  });

  it('has an address for every result of its search', async () => {
    const known = new Set([
      ...operations.map(({ id }) => `#/${index[id].tag}/${id.toLowerCase()}`),
      ...[...chapters, ...(await readChapters()).map(chapterOf), 'webhooks', 'states'].map((chapter) => `#/${chapter}`),
    ]);
    const others = entries.filter(({ link, kind }) => !known.has(link) && (kind === 'Operation' || kind === 'Chapter'));
    expect(others).toEqual([]);
  });

  it('links from operations to the states of what they return and change', async () => {
    for (const id of ['getInvoice', 'searchInvoices', 'updateRecords'] as const) {
      const operation = operations.find((one) => one.id === id);
      const description = operation === undefined ? '' : stateLinks(contract, operation);
      expect(description, id).toContain('[Invoice](#/states/invoice)');
    }
  });
});

/** The contract that the page shows. */
async function definition(): Promise<Contract> {
  return Object(contractIn(await readFile(file, 'utf8')));
}
