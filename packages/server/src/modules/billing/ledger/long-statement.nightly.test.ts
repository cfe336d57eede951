/** What a client with very many entries costs. */
import type { components } from '@financial-automation/spec';
import { expect, test } from 'vitest';
import { recordsOf } from '../../../../test/modules/records.ts';
import { testService } from '../../../../test/service.ts';

const service = await testService();
const rowsPerCall = 100;

test('getClientStatement returns each page of 20,000 movements within the read budget', {
  timeout: 1_200_000,
}, async () => {
  const records = recordsOf(service);
  const movements = 20_000;
  const client = await records.make('Client', { name: 'Harbor & Pine LLC' });
  for (let first = 0; first < movements; first += rowsPerCall)
    await records.upsert(
      Array.from({ length: rowsPerCall }, (_, index) => ({
        type: 'Payment',
        systemRef: `payment-${first + index}`,
        attributes: {
          ...{ clientId: client.id, paymentDate: '2026-02-01', amount: '1.00', currency: 'USD' },
          ...{ method: 'CHECK', source: 'MANUAL', allocations: [] },
        },
      })),
    );
  const took: number[] = [];
  let cursor: string | null = null;
  let seen = 0;
  do {
    const query = new URLSearchParams({ from: '2026-01-01', pageSize: '1000', ...(cursor !== null && { cursor }) });
    const started = performance.now();
    const { status, body } = await service.call<components['schemas']['ClientStatementPage']>(
      'GET',
      `/api/v1/clients/${client.id}/statement?${query}`,
    );
    took.push(performance.now() - started);
    expect(status).toBe(200);
    expect(body.closingBalance).toBe('-20000.00');
    seen += body.data.length;
    expect(body.data.at(-1)?.balance).toBe(`-${seen}.00`);
    cursor = body.nextCursor;
    if (!body.hasMore) cursor = null;
  } while (cursor !== null);
  expect(seen).toBe(movements);
  const longest = Math.max(...took);
  console.log(
    `${took.length} pages; the longest took ${Math.round(longest)} ms of ${service.service.config.readBudget}`,
  );
  expect(longest).toBeLessThan(service.service.config.readBudget);
});

test('upsertRecords and updateRecords enter, take back and void a payment of as many invoices as the contract allows', {
  timeout: 1_200_000,
}, async () => {
  const records = recordsOf(service);
  const client = await records.make('Client', { name: 'Oakes Holdings LLC' });
  const [count, line] = [1_000, { lineType: 'FIXED_FEE', description: 'Books', quantity: '1', unitAmount: '10.00' }];
  const ids: (string | null)[] = [];
  for (let first = 0; first < count; first += rowsPerCall) {
    const bills = Array.from({ length: rowsPerCall }, (_, index) => ({
      type: 'Invoice',
      systemRef: `bill-${first + index}`,
      attributes: {
        ...{ pmsRef: `bill-${first + index}`, clientId: client.id, invoiceDate: '2026-01-01', dueDate: '2026-01-31' },
        lines: [{ ...line, taxable: false }],
      },
    }));
    ids.push(...(await records.upsert(bills)).map(({ id }) => id));
  }
  const allocations = ids.map((invoiceId) => ({ invoiceId, amount: '10.00' }));
  const payment = await records.make('Payment', {
    ...{ clientId: client.id, paymentDate: '2026-02-01', amount: '10000.00', currency: 'USD' },
    ...{ method: 'CHECK', source: 'MANUAL', allocations },
  });
  for (const attributes of [{ allocations: [] }, { allocations }, { status: 'VOIDED' }])
    expect(
      await records.update([{ type: 'Payment', systemRef: payment.systemRef ?? '', attributes }]),
      Object.keys(attributes).join(),
    ).toMatchObject([{ status: 'UPDATED' }]);
});
