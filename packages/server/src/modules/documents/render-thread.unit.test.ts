import { describe, expect, test } from 'vitest';
import { invoiceDocument } from '../../../test/modules/invoice-document.ts';
import { nightlyTest } from '../../../test/nightly-test.ts';
import type { InvoiceDocument } from '../billing/document/invoice-document.ts';
import { RenderThread } from './render-thread.ts';

const file = 'modules/billing/document/invoice-pdf.ts';

/** An invoice whose lines change their direction with each word. */
function mixed(lines: number, length: number): InvoiceDocument {
  const [line] = invoiceDocument.lines;
  if (line === undefined) throw new Error('The example has no line.');
  const description = 'a ש '.repeat(length / 4);
  return { ...invoiceDocument, lines: Array.from({ length: lines }, () => ({ ...line, description })) };
}

describe('RenderThread', () => {
  nightlyTest?.('an invoice of 300 lines of mixed direction takes little memory', async () => {
    const bytes = await new RenderThread({ memory: 96 }).renderer(file)(mixed(300, 1000));
    expect(bytes.length).toBeGreaterThan(100_000);
  });

  test('a document that exceeds its budget fails alone', async () => {
    const render = new RenderThread({ cpu: 1_500 }).renderer(file);
    const small = () => render(invoiceDocument);
    const results = await Promise.allSettled([small(), render(mixed(1000, 2000)), small(), small()]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { name: 'OverBudget', limit: 'cpu' } });
  });
});
