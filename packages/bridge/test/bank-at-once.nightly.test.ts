/** A run of `bank` over a statement of 1,000 movements that is killed, and then two at once: each is one payment, of the invoice that it names. */
import { expect, test } from 'vitest';
import { orThrow } from '../../client/src/index.ts';
import { bridgeForFile } from './bridge.ts';

const { api, file, killWhen, run, runTwice } = await bridgeForFile();
const movements = 1_000;
const rowsPerCall = 100;

test('bank records each of 1,000 movements once when a run is killed, two read them at once, and again', async () => {
  const numbers = Array.from({ length: movements }, (_, index) => `INV-2026-${String(index).padStart(4, '0')}`);
  const client = { type: 'Client' as const, systemRef: 'payer', attributes: { name: 'Harbor & Pine LLC' } };
  await orThrow(api.upsertRecords({ body: { records: [client] } }));
  const line = {
    lineType: 'OTHER',
    description: 'Advice',
    quantity: '1',
    unitAmount: '17.00',
    taxable: false,
  } as const;
  for (let first = 0; first < movements; first += rowsPerCall) {
    const records = numbers.slice(first, first + rowsPerCall).map((invoiceNumber) => ({
      type: 'Invoice' as const,
      systemRef: invoiceNumber,
      source: 'IMPORT' as const,
      attributes: {
        ...{ invoiceNumber, pmsRef: invoiceNumber, clientId: { systemRef: 'payer' }, lines: [line] },
        ...{ invoiceDate: '2026-02-01', dueDate: '2026-03-01' },
      },
    }));
    expect(await orThrow(api.upsertRecords({ body: { records } }))).toMatchObject({
      summary: { created: records.length },
    });
  }
  const rows = numbers.map((number) => `2026-03-14,17.00,Harbor & Pine ${number}`);
  await file('bank.csv', ['Day,Amount,Text', ...rows, ''].join('\n'));
  const columns = { date: 'Day', amount: 'Amount', text: 'Text' };
  await file('bank.json', JSON.stringify({ records: 'bank', system: 'bank', columns }));
  const words = ['bank', 'bank.csv', '--mapping', 'bank.json', '--decimal', 'point'];
  const apply = [...words, '--account', '1', '--currency', 'USD', '--apply', '--min-score', '60'];
  const recorded = async () =>
    (await orThrow(api.searchPayments({ body: { includeTotal: true, pageSize: 1 } }))).total ?? 0;
  await killWhen(async () => (await recorded()) > 0, ...apply);
  expect(await recorded()).toBeLessThan(movements);
  const both = await runTwice(...apply);
  expect(both.map(({ errors, code }) => ({ errors, code }))).toEqual(
    both.map(() => ({ errors: expect.any(String), code: 0 })),
  );
  expect((await run(...apply)).output).toMatch(/recorded already +1,?000\n/);

  const paid = new Map<string, number>();
  for await (const { amount, allocations } of api.searchPayments.rows({ body: {} })) {
    expect([amount, allocations.length]).toEqual(['17.00', 1]);
    for (const { invoiceNumber } of allocations)
      paid.set(invoiceNumber ?? '', (paid.get(invoiceNumber ?? '') ?? 0) + 1);
  }
  expect(paid).toEqual(new Map(numbers.map((number) => [number, 1])));
  for await (const { status } of api.searchInvoices.rows({ body: {} })) expect(status).toBe('PAID');
});
