import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mirrorDifferences, mirrorRoles } from '../../../../test/mirror.ts';
import { firm } from '../../../../test/modules/billing.ts';
import { sampleOf } from '../../../../test/nightly.ts';
import { sharedService } from '../../../../test/service.ts';

const service = await sharedService();
const { approver, draftOf, jobId, newClient, newJob, pay, post, records, staffId, workFor } = await firm(service);

const mirror = await service.signIn({ roles: mirrorRoles });

/** Of one client, whose payments can be applied to them, and of others. */
const invoices: string[] = [];
const imported: string[] = [];
const payments: string[] = [];
const times: string[] = [];
let count = 0;
const pick = <Item>(items: readonly Item[], seed: number): Item | undefined => items[seed % Math.max(items.length, 1)];
const update = (type: string, id: string | undefined, attributes: object) =>
  id === undefined
    ? undefined
    : approver.call('PUT', '/api/v1/records', { records: [{ type, systemRef: id, attributes }] });

/** What can happen at a firm. A step that the rules reject changes nothing. */
const steps: Readonly<Record<string, (seed: number) => Promise<unknown> | undefined>> = {
  work: async (seed) => {
    times.push(await workFor(`${1 + (seed % 3)}.00`, jobId, `2026-01-${10 + (seed % 18)}`));
  },
  bill: async (seed) => {
    const wipId = pick(times, seed);
    const line =
      wipId === undefined || seed % 2 === 0 ? {} : { lineType: 'TIME' as const, unitAmount: '150.00', wipIds: [wipId] };
    invoices.push(await post(await draftOf([{ jobId, ...line }])));
  },
  import: async (seed) => {
    const { id: clientId } = await newClient({ name: `Mirror ${++count}` });
    const line = {
      lineType: 'OTHER',
      description: 'Old',
      quantity: '1',
      unitAmount: `${100 + (seed % 9)}.00`,
      taxable: false,
    };
    const dates = { invoiceDate: '2026-01-05', dueDate: '2026-02-05' };
    const { id } = await records.make('Invoice', { pmsRef: `mirror-${count}`, clientId, ...dates, lines: [line] });
    await newJob(clientId);
    imported.push(id);
  },
  pay: async (seed) => {
    const invoiceId = pick(invoices, seed);
    const allocations = invoiceId === undefined ? [] : [{ invoiceId, amount: '40.00' }];
    payments.push((await pay('60.00', allocations)).id);
  },
  unapply: (seed) => update('Payment', pick(payments, seed), { allocations: [] }),
  refund: (seed) => update('Payment', pick(payments, seed), { refundedAmount: '10.00' }),
  voidPayment: (seed) => update('Payment', pick(payments, seed), { status: 'VOIDED' }),
  voidInvoice: (seed) =>
    update('Invoice', pick([...imported, ...invoices], seed), { status: 'VOIDED', voidReason: 'Wrong' }),
  writeOff: (seed) =>
    update('Invoice', pick([...invoices, ...imported], seed), { status: 'WRITTEN_OFF', writeOffReason: 'Bad debt' }),
  writeOffWork: (seed) => update('WipEntry', pick(times, seed), { writeOffAmount: '190.00', writeOffReason: 'Late' }),
  assign: () =>
    approver.call('POST', '/api/v1/projects/assign_staff', {
      staffJobAssignments: [{ staffId, jobId, role: 'PREPARER' }],
      staffTaskAssignments: [],
    }),
  rename: (seed) => update('Job', jobId, { name: `Return ${seed}` }),
};

/** The lives of a firm go on with one database: each begins where the one before has ended. */
const lives = sampleOf([8, 20, 40, 40, 80], 5);

test.each(lives)('a mirror of events equals the reads after %i random steps', async (length) => {
  const chosen = fc.sample(fc.tuple(fc.constantFrom(...Object.keys(steps)), fc.nat(1_000)), {
    numRuns: length,
    seed: length,
  });
  // Each of them at least once.
  for (const [name, seed] of [...Object.keys(steps).map((one) => [one, 1] as const), ...chosen])
    await Promise.resolve(steps[name]?.(seed)).catch(() => undefined);
  expect([invoices, imported, payments, times].filter((rows) => rows.length === 0)).toEqual([]);
  expect(await mirrorDifferences(mirror)).toEqual([]);
});
