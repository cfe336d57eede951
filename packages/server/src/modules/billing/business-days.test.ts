/** What is recorded has happened, and people work between their first and their last day. */
import { describe, expect, test } from 'vitest';
import { firm } from '../../../test/modules/billing.ts';
import { only } from '../../../test/modules/records.ts';
import { firmOf, outcomeOf, timeOf } from '../../../test/modules/time.ts';
import { sharedService } from '../../../test/service.ts';

const service = await sharedService();
const { approver, client, draftOf, newJob, preparer, records, staffId } = await firm(service);
const { time, expense } = timeOf(preparer);
const people = await firmOf(service);
const today = Temporal.Now.plainDateISO('America/New_York');
const tomorrow = today.add({ days: 1 }).toString();
/** The last day that is not after today at any moment of this test, and one that is. */
const past = today.subtract({ days: 1 }).toString();
const future = today.add({ days: 2 }).toString();

const payment = { clientId: client.id, amount: '10.00', currency: 'USD', method: 'CASH', source: 'MANUAL' };
const line = { lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: '10.00', taxable: false };
const bill = { clientId: client.id, dueDate: '2099-12-31', lines: [line] };
let refs = 0;
const newRef = () => `day-${++refs}`;

async function upsert(type: string, attributes: object) {
  return only(await records.upsert([{ type, systemRef: newRef(), attributes }]));
}

describe('facts of the books', () => {
  test.each([
    ['Payment', 'paymentDate', payment],
    ['Invoice', 'invoiceDate', { ...bill, pmsRef: 'future-bill' }],
  ])('a %s is not dated after today', async (type, field, attributes) => {
    const rejected = await upsert(type, { ...attributes, [field]: future });
    expect(rejected).toMatchObject({
      status: 'FAILED',
      error: { code: 'VALIDATION_ERROR', pointer: `/records/0/attributes/${field}` },
    });
    expect(outcomeOf(await upsert(type, { ...attributes, [field]: past }))).toBe('CREATED');
  });

  test('a draft is approved on its proposed day or later', async () => {
    const approve = async (proposedInvoiceDate: string) => {
      const { systemRef } = await draftOf([{}], { proposedInvoiceDate, dueDate: '2099-12-31' });
      const status = (caller: typeof approver, next: string) =>
        caller.call<{ records: readonly object[] }>('PUT', '/api/v1/records', {
          records: [{ type: 'DraftInvoice', systemRef, attributes: { status: next } }],
        });
      expect((await status(preparer, 'IN_REVIEW')).body.records).toMatchObject([{ status: 'UPDATED' }]);
      return (await status(approver, 'APPROVED')).body.records;
    };
    expect(await approve(future)).toMatchObject([
      { status: 'FAILED', error: { code: 'VALIDATION_ERROR', pointer: '/records/0/attributes/proposedInvoiceDate' } },
    ]);
    expect(await approve(past)).toMatchObject([{ status: 'UPDATED' }]);
  });
});

describe('entries', () => {
  const { expenseCode } = people;

  test.each(['time', 'expense'] as const)('%s is approved on its day or later', async (kind) => {
    const jobId = await newJob(client.id);
    const approving = timeOf(approver);
    const [dayField, own] =
      kind === 'time'
        ? ['workDate', { hours: '1.00' }]
        : ['expenseDate', { code: await expenseCode(), cost: '5.00', billableAmount: '5.00', description: 'Taxi' }];
    const outcome = async (day: string) => {
      const ref = newRef();
      const entry = { staffId, jobId, [dayField]: day, status: 'SUBMITTED', ...own };
      expect(outcomeOf(await (kind === 'time' ? time : expense)(ref, entry))).toBe('CREATED');
      return (kind === 'time' ? approving.time : approving.expense)(ref, { status: 'APPROVED' });
    };
    expect(await outcome(future)).toMatchObject({
      status: 'FAILED',
      error: { code: 'VALIDATION_ERROR', pointer: `/records/0/attributes/${dayField}` },
    });
    expect(outcomeOf(await outcome(past))).toBe('UPDATED');
  });

  test.each([
    ['before the first day', { hireDate: '2026-03-02' }, '2026-03-01', 'INVALID_STATE'],
    ['on the first day', { hireDate: '2026-03-02' }, '2026-03-02', 'CREATED'],
    ['on the last day', { terminationDate: '2026-03-31' }, '2026-03-31', 'CREATED'],
    [
      'after the last day of a person who is still active',
      { terminationDate: '2026-03-31' },
      '2026-04-01',
      'INVALID_STATE',
    ],
  ])('time %s', async (_name, dates, workDate, expected) => {
    const person = await people.person(dates);
    const jobId = await newJob(client.id);
    expect(outcomeOf(await time(newRef(), { staffId: person, jobId, workDate, hours: '1.00' }))).toContain(expected);
  });
});

test('a payment link without invoices, amount and note is rejected with their names', async () => {
  const { status, body } = await preparer.call('POST', '/api/v1/clients/v1/link/payment', { clientRef: client.ref });
  expect(status).toBe(400);
  expect(JSON.stringify(body)).toContain('invoiceIds, amount or note');
});

test('the remaining budget of a job without a budget is null', async () => {
  const jobId = await newJob(client.id);
  const { body } = await preparer.call('GET', `/gql/v1/project/${jobId}`);
  expect(body).toMatchObject({ budgetHours: null, budgetRemainingHours: null });
});

test('tomorrow is not accepted as the day of a payment', async () => {
  expect(outcomeOf(await upsert('Payment', { ...payment, paymentDate: tomorrow }))).toContain('VALIDATION_ERROR');
});
