/**
 * Counts the statements of billing writes, which must not depend on the number of rows. This detects regressions without
 * timing.
 */
import { expect, test } from 'vitest';
import { firm } from '../../../test/modules/billing.ts';
import { only } from '../../../test/modules/records.ts';
import { timeOf } from '../../../test/modules/time.ts';
import { testService } from '../../../test/service.ts';
import { statementsOf } from '../../../test/statements.ts';

const service = await testService();
const { approver, approving, client, draftOf, jobId, pay, preparer, records, staffId } = await firm(service);
let created = 0;

const times = <Value>(count: number, create: () => Value): Value[] => Array.from({ length: count }, create);

/** Compares a write of a few rows with one of many. Both run after another one, which has loaded all cached data. */
async function compare(write: (count: number) => Promise<() => Promise<unknown>>): Promise<void> {
  await (await write(2))();
  const few = await statementsOf(await write(2));
  const many = await statementsOf(await write(40));
  // Events that are sent meanwhile add a few statements; one per row would add 38.
  expect(many.length - few.length, many.join('\n')).toBeLessThan(10);
}

test('a payment of many invoices takes as many statements as one of a few', async () => {
  const dates = { invoiceDate: '2026-01-31', dueDate: '2026-03-02' };
  const line = { lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: '95.00', taxable: false };
  await compare(async (count) => {
    const invoices = await records.upsert(
      times(count, () => {
        const attributes = { pmsRef: `import-${++created}`, clientId: client.id, ...dates, lines: [line] };
        return { type: 'Invoice', attributes };
      }),
    );
    const allocations = invoices.map(({ id }) => ({ invoiceId: String(id), amount: '1.00' }));
    return () => pay('95.00', allocations);
  });
});

test('the approval of a draft with many lines takes as many statements as with a few', async () => {
  const row = { wipType: 'FIXED_FEE', clientId: client.id, jobId, workDate: '2026-01-05', amount: '95.00' };
  await compare(async (count) => {
    const rows = await records.upsert(times(count, () => ({ type: 'WipEntry', attributes: row })));
    const { systemRef } = await draftOf(rows.map(({ id }) => ({ lineType: 'FIXED_FEE', wipIds: [String(id)] })));
    const move = (status: string) => [{ type: 'DraftInvoice', systemRef: String(systemRef), attributes: { status } }];
    await records.update(move('IN_REVIEW'));
    return async () => expect(only(await approving.update(move('APPROVED'))).status).toBe('UPDATED');
  });
});

test('the approval of many time entries takes as many statements as of a few', async () => {
  await compare(async (count) => {
    const refs = times(count, () => `entry-${++created}`);
    const attributes = { staffId, jobId, hours: '0.10', isBillable: true, status: 'SUBMITTED', workDate: '2026-01-05' };
    await timeOf(preparer).entries(refs.map((systemRef) => ({ type: 'TimeEntry', systemRef, attributes })));
    const approvals = refs.map((systemRef) => ({ type: 'TimeEntry', systemRef, attributes: { status: 'APPROVED' } }));
    return async () => {
      const approved = await timeOf(approver).entries(approvals);
      expect(approved.filter(({ status }) => status !== 'UPDATED')).toEqual([]);
    };
  });
});
