/** The search of the reference finds what people say. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readContract } from '../../packages/spec/src/examples.ts';
import { readChapters } from './chapters.ts';
import { described } from './described.ts';
import { createSearch } from './in-page/find.ts';
import { searchEntries } from './search-entries.ts';

const contract = await readContract();
const search = createSearch(searchEntries(contract, described(contract, await readChapters())));
const first = (text: string) => {
  const [found] = search(text);
  return found?.entry.kind === 'Operation' ? found.entry.id : found?.entry.link.slice(2);
};
const phrases: Readonly<Record<string, readonly string[]>> = parse(
  readFileSync(new URL('../../openapi/guides/search-phrases.yaml', import.meta.url), 'utf8'),
);

describe('the search', () => {
  it.each(Object.entries(phrases))('finds %s first by each of its phrases', (target, texts) => {
    const found = Object.fromEntries(texts.map((text) => [text, first(text)]));
    expect(found).toEqual(Object.fromEntries(texts.map((text) => [text, target])));
  });

  /** Other words than those of the phrases. */
  it.each([
    ['invoice aging', 'aggregateInvoices'],
    ['void invoice', 'states/invoice'],
    ['refund', 'states/payment'],
    ['bounced checks', 'guide-payments'],
    ['payment reminders by email', 'guide-send-and-remind'],
    ['rate limiting', 'section/limits'],
    ['webhook secret rotation', 'rotateWebhookSecret'],
    ['unpaid invoices', 'listUnpaidInvoices'],
    ['customers', 'searchClients'],
    ['bulk upsert', 'upsertRecords'],
    ['approve timesheet', 'upsertEntries'],
    ['search contacts by email', 'searchContacts'],
    ['staff utilization', 'aggregateTimeEntries'],
    ['delete a client', 'deleteRecords'],
    ['how to reopen a closed month', 'guide-month-end'],
    ['missed events', 'recoverEvents'],
    ['optimistic concurrency', 'section/concurrent-updates'],
    ['engagement letters', 'createEngagement'],
    ['error handling', 'section/errors'],
    ['unpayed invoces', 'listUnpaidInvoices'],
  ])('finds “%s”', (text, target) => {
    expect(first(text)).toBe(target);
  });
});
