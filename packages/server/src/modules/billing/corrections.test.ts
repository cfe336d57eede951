/** What a bank reports is recorded whatever became of the client, and every mistake can be corrected. */
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { firm } from '../../../test/modules/billing.ts';
import { only } from '../../../test/modules/records.ts';
import { timeOf } from '../../../test/modules/time.ts';
import { sharedService } from '../../../test/service.ts';
import { asOperator } from '../../operator/tenants.ts';
import { payment as paymentEntity } from './payment/payment.ts';
import { recordResult } from './payment/payment-rules.ts';

const service = await sharedService();
const { approver, draftOf, invoice, newClient, newJob, pay, payment, post, preparer, records, staffId, wip } =
  await firm(service);
/** A day that is not after today in any time zone. */
const yesterday = Temporal.Now.plainDateISO('UTC').subtract({ days: 1 }).toString();

let created = 0;
async function bill(amount: string, clientId: string) {
  const line = { lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: amount, taxable: false };
  const dates = { invoiceDate: '2026-01-31', dueDate: '2026-03-02' };
  return records.make('Invoice', { pmsRef: `bill-${++created}`, clientId, ...dates, lines: [line] });
}

async function change(type: string, systemRef: string | null, attributes: object) {
  return only(await records.update([{ type, systemRef: systemRef ?? '', attributes }]));
}

async function clientRow(id: string) {
  return (
    await preparer.call<{ status: string; active: boolean; unappliedCredit: string }>('GET', `/gql/v1/client/${id}`)
  ).body;
}

/** A client whose invoice is paid by check, and who is archived since. */
async function archivedClient(amount = '100.00') {
  const { id } = await newClient();
  const bills = await bill(amount, id);
  const paid = await pay(amount, [{ invoiceId: bills.id, amount }], { clientId: id });
  const { systemRef } = await clientRecord(id);
  expect(await change('Client', systemRef, { status: 'ARCHIVED' })).toMatchObject({ status: 'UPDATED' });
  return { id, systemRef, bill: bills, paid };
}

async function clientRecord(id: string) {
  return (await preparer.call<{ systemRef: string }>('GET', `/gql/v1/client/${id}`)).body;
}

/** The return that a processor reports. */
function returnByBank(id: string) {
  return asOperator(service.service, service.tenant, 'test', (unit) =>
    unit.plan((plan) => {
      plan.getForUpdate(paymentEntity, id);
      recordResult(plan, id, { status: 'RETURNED', failureCode: 'R01' });
    }),
  );
}

describe('money that comes back to a client that is gone', () => {
  test('recordResult reopens an archived client whose payment is returned', async () => {
    const { id, bill, paid } = await archivedClient();
    await returnByBank(paid.id);
    expect(await payment(paid.id)).toMatchObject({ status: 'RETURNED', failureCode: 'R01' });
    expect(await invoice(bill.id)).toMatchObject({ status: 'POSTED', amountDue: '100.00' });
    expect(await clientRow(id)).toMatchObject({ status: 'INACTIVE', active: true, outstandingBalance: '100.00' });
    const events = await service.store.read(service.tenant.id, (session) =>
      session.all<{ fields: string[] }>(
        sql`select changed_fields as fields from recorded_event where entity_id = ${id} order by id desc limit 1`,
      ),
    );
    expect(events[0]?.fields).toContain('status');
  });

  test('updateRecords reopens an archived client whose check is voided, and one that was deleted', async () => {
    const archived = await archivedClient();
    expect(await change('Payment', archived.paid.systemRef, { status: 'VOIDED' })).toMatchObject({ status: 'UPDATED' });
    expect(await clientRow(archived.id)).toMatchObject({ status: 'INACTIVE' });
    const deleted = await archivedClient();
    await records.remove([{ type: 'Client', systemRef: deleted.systemRef }]);
    expect(await clientRow(deleted.id)).toMatchObject({ active: false });
    const bounced = { status: 'RETURNED', changeReason: 'Bounced' };
    expect(await change('Payment', deleted.paid.systemRef, bounced)).toMatchObject({ status: 'UPDATED' });
    expect(await clientRow(deleted.id)).toMatchObject({ status: 'INACTIVE', active: true });
  });

  test('updateRecords and deleteRecords keep a client with unapplied credit', async () => {
    const { id } = await newClient();
    const paid = await pay('900.00', [], { clientId: id });
    const { systemRef } = await clientRecord(id);
    const rejected = { status: 'FAILED', error: { code: 'INVALID_STATE' } };
    expect(await change('Client', systemRef, { status: 'ARCHIVED' })).toMatchObject(rejected);
    expect(only(await records.remove([{ type: 'Client', systemRef }]))).toMatchObject(rejected);
    await change('Payment', paid.systemRef, { refundedAmount: '900.00' });
    expect(await change('Client', systemRef, { status: 'ARCHIVED' })).toMatchObject({ status: 'UPDATED' });
  });
});

describe('updateRecords › Payment', () => {
  test('unapplies an allocation, so that the money can go to the right invoice', async () => {
    const { id } = await newClient();
    const [wrong, right] = [await bill('100.00', id), await bill('100.00', id)];
    const { id: paymentId, systemRef } = await pay('100.00', [{ invoiceId: wrong.id, amount: '100.00' }], {
      clientId: id,
    });
    const fewer = { allocations: [{ invoiceId: wrong.id, amount: '30.00' }], changeReason: 'Wrong invoice' };
    expect(await change('Payment', systemRef, fewer)).toMatchObject({ status: 'UPDATED' });
    expect(await payment(paymentId)).toMatchObject({ unappliedAmount: '70.00' });
    expect(await invoice(wrong.id)).toMatchObject({ status: 'PARTIALLY_PAID', amountDue: '70.00' });
    expect(
      await change('Payment', systemRef, { allocations: [{ invoiceId: right.id, amount: '100.00' }] }),
    ).toMatchObject({
      status: 'UPDATED',
    });
    expect(await invoice(wrong.id)).toMatchObject({ status: 'POSTED', amountDue: '100.00' });
    expect(await invoice(right.id)).toMatchObject({ status: 'PAID' });
    const more = [right, wrong].map((row) => ({ invoiceId: row.id, amount: '10.00' }));
    const [settled, other] = [await pay('20.00', [], { clientId: id }), { amount: '30.00' }];
    expect(await change('Payment', settled.systemRef, { allocations: more })).toMatchObject({
      error: { detail: expect.stringContaining('is PAID. Allocate to one that is POSTED or PARTIALLY_PAID.') },
    });
    expect(await change('Payment', settled.systemRef, other)).toMatchObject({
      error: { detail: expect.stringContaining('create another') },
    });
  });

  test('applies, refunds, voids and returns the rest of a PARTIALLY_REFUNDED payment', async () => {
    const { id } = await newClient();
    const refunded = async () => {
      const paid = await pay('100.00', [], { clientId: id });
      await change('Payment', paid.systemRef, { refundedAmount: '40.00' });
      return paid;
    };
    const bills = await bill('60.00', id);
    const applied = await refunded();
    const allocations = [{ invoiceId: bills.id, amount: '60.00' }];
    expect(await change('Payment', applied.systemRef, { allocations })).toMatchObject({ status: 'UPDATED' });
    expect(await invoice(bills.id)).toMatchObject({ status: 'PAID' });
    const voided = await refunded();
    expect(await change('Payment', voided.systemRef, { status: 'VOIDED' })).toMatchObject({ status: 'UPDATED' });
    expect(await payment(voided.id)).toMatchObject({ unappliedAmount: '0.00', refundedAmount: '40.00' });
    const returned = await refunded();
    const bounced = { status: 'RETURNED', changeReason: 'Bounced' };
    expect(await change('Payment', returned.systemRef, bounced)).toMatchObject({ status: 'UPDATED' });
    // The refunded part is gone twice.
    expect(await payment(returned.id)).toMatchObject({ status: 'RETURNED', unappliedAmount: '-40.00' });
    expect(await clientRow(id)).toMatchObject({ unappliedCredit: '-40.00' });
  });

  test('records a bounced check with its reason, but no return of cash or credit', async () => {
    const { id } = await newClient();
    const check = await pay('10.00', [], { clientId: id });
    expect(await change('Payment', check.systemRef, { status: 'RETURNED' })).toMatchObject({
      error: { code: 'VALIDATION_ERROR', pointer: '/records/0/attributes/changeReason' },
    });
    const bounced = { status: 'RETURNED', changeReason: 'Account closed', changeDate: '2026-02-20' };
    expect(await change('Payment', check.systemRef, bounced)).toMatchObject({ status: 'UPDATED' });
    const stored = await service.store.read(service.tenant.id, (session) =>
      session.all(
        sql`select change_date::text as day, change_reason as reason from book_change where changed_row = ${check.id}`,
      ),
    );
    expect(stored).toEqual([{ day: '2026-02-20', reason: 'Account closed' }]);
    for (const method of ['CASH', 'CREDIT']) {
      const { systemRef } = await pay('10.00', [], { clientId: id, method });
      const detail =
        'Setting status to RETURNED requires that the method is not CASH or CREDIT. Refund cash. Void a credit, or unapply it and void its credit note.';
      expect(await change('Payment', systemRef, bounced)).toMatchObject({ error: { code: 'INVALID_STATE', detail } });
    }
  });

  test('records that an ACH payment settled after it had failed', async () => {
    const { id } = await newClient();
    const ach = await pay('10.00', [], { clientId: id, method: 'ACH' });
    await change('Payment', ach.systemRef, { status: 'FAILED' });
    const settled = { status: 'COMPLETED', changeReason: 'The bank settled it after all' };
    expect(await change('Payment', ach.systemRef, settled)).toMatchObject({ status: 'UPDATED' });
    expect(await payment(ach.id)).toMatchObject({ status: 'COMPLETED', unappliedAmount: '10.00', failureCode: null });
  });

  test.each([
    { status: 'VOIDED', refundedAmount: '10.00' },
    { status: 'RETURNED', changeReason: 'Bounced', refundedAmount: '50.00' },
    { status: 'REFUNDED', refundedAmount: '10.00' },
  ])('rejects %j', async (attributes) => {
    const { id } = await newClient();
    const paid = await pay('50.00', [], { clientId: id });
    expect(await change('Payment', paid.systemRef, attributes)).toMatchObject({
      error: { code: 'VALIDATION_ERROR', pointer: '/records/0/attributes/refundedAmount' },
    });
  });

  test('refunds if the status that was read is sent, too', async () => {
    const { id } = await newClient();
    const paid = await pay('50.00', [], { clientId: id });
    await change('Payment', paid.systemRef, { status: 'COMPLETED', refundedAmount: '10.00' });
    expect(await payment(paid.id)).toMatchObject({ status: 'PARTIALLY_REFUNDED', unappliedAmount: '40.00' });
    await change('Payment', paid.systemRef, { status: 'PARTIALLY_REFUNDED', refundedAmount: '50.00' });
    expect(await payment(paid.id)).toMatchObject({ status: 'REFUNDED', unappliedAmount: '0.00' });
  });

  test.each(['COMPLETED', 'FAILED'])('rejects other allocations together with the result %s', async (status) => {
    const { id } = await newClient();
    const bills = await bill('100.00', id);
    const ach = await pay('50.00', [], { clientId: id, method: 'ACH' });
    const allocations = [{ invoiceId: bills.id, amount: '50.00' }];
    expect(await change('Payment', ach.systemRef, { status, allocations })).toMatchObject({
      error: { code: 'VALIDATION_ERROR', pointer: '/records/0/attributes/allocations' },
    });
    expect(await payment(ach.id)).toMatchObject({ status: 'PENDING' });
  });

  test('voids a payment whose allocations are sent as they are, in any order', async () => {
    const { id } = await newClient();
    const [one, other] = [await bill('10.00', id), await bill('20.00', id)];
    const allocations = [
      { invoiceId: one.id, amount: '10.00' },
      { invoiceId: other.id, amount: '20.00' },
    ];
    const paid = await pay('30.00', allocations, { clientId: id });
    await change('Payment', paid.systemRef, { status: 'VOIDED', allocations: allocations.toReversed() });
    expect(await payment(paid.id)).toMatchObject({ status: 'VOIDED', allocations: [] });
  });

  test('rejects a cash refund of a credit', async () => {
    const { id } = await newClient();
    const credit = await pay('10.00', [], { clientId: id, method: 'CREDIT' });
    expect(await payment(credit.id)).toMatchObject({ amount: '10.00', netAmount: '0.00' });
    expect(await change('Payment', credit.systemRef, { refundedAmount: '10.00' })).toMatchObject({
      error: { code: 'INVALID_STATE', pointer: '/records/0/attributes/status' },
    });
  });

  test.each([
    ['after today', Temporal.Now.plainDateISO('UTC').add({ days: 2 }).toString()],
    ['before the payment', '2026-01-31'],
  ])('rejects a changeDate %s', async (_when, changeDate) => {
    const { id } = await newClient();
    const check = await pay('10.00', [], { clientId: id });
    expect(await change('Payment', check.systemRef, { status: 'VOIDED', changeDate })).toMatchObject({
      error: { code: 'VALIDATION_ERROR', pointer: '/records/0/attributes/changeDate' },
    });
    expect(await change('Payment', check.systemRef, { status: 'VOIDED', changeDate: yesterday })).toMatchObject({
      status: 'UPDATED',
    });
  });
});

describe('updateRecords › Invoice', () => {
  test('says what to do when a field is sent that cannot change', async () => {
    const { id } = await newClient();
    const { systemRef } = await bill('100.00', id);
    expect(await change('Invoice', systemRef, { dueDate: '2026-03-03' })).toMatchObject({
      error: {
        code: 'INVALID_STATE',
        pointer: '/records/0/attributes/dueDate',
        detail: 'dueDate cannot change after the Invoice is created. If it is wrong, void it and create another one.',
      },
    });
  });

  const writtenOff = async (paidAmount?: string) => {
    const { id } = await newClient();
    const bills = await bill('100.00', id);
    const paid =
      paidAmount === undefined
        ? undefined
        : await pay(paidAmount, [{ invoiceId: bills.id, amount: paidAmount }], { clientId: id });
    await change('Invoice', bills.systemRef, { status: 'WRITTEN_OFF', writeOffReason: 'Insolvent' });
    return { clientId: id, bills, paid };
  };

  test('reinstates a written-off invoice in the status that its payments determine', async () => {
    const [unpaid, partly] = [await writtenOff(), await writtenOff('30.00')];
    expect(await change('Invoice', unpaid.bills.systemRef, { status: 'POSTED' })).toMatchObject({
      error: { pointer: '/records/0/attributes/changeReason' },
    });
    const recovered = { status: 'POSTED', changeReason: 'Pays after all' };
    expect(await change('Invoice', unpaid.bills.systemRef, recovered)).toMatchObject({ status: 'UPDATED' });
    expect(await invoice(unpaid.bills.id)).toMatchObject({
      status: 'POSTED',
      amountDue: '100.00',
      amountWrittenOff: '0.00',
      writeOffReason: null,
    });
    expect(await change('Invoice', partly.bills.systemRef, recovered)).toMatchObject({
      error: { code: 'INVALID_STATE' },
    });
    await change('Invoice', partly.bills.systemRef, { ...recovered, status: 'PARTIALLY_PAID' });
    expect(await invoice(partly.bills.id)).toMatchObject({ status: 'PARTIALLY_PAID', amountDue: '70.00' });
  });

  test('a payment that is returned on a written-off invoice is due again, and the write-off stays', async () => {
    const { clientId, bills, paid } = await writtenOff('30.00');
    await change('Payment', paid?.systemRef ?? null, { status: 'RETURNED', changeReason: 'Bounced' });
    expect(await invoice(bills.id)).toMatchObject({
      status: 'POSTED',
      amountDue: '30.00',
      amountWrittenOff: '70.00',
      writeOffReason: 'Insolvent',
    });
    await pay('30.00', [{ invoiceId: bills.id, amount: '30.00' }], { clientId });
    expect(await invoice(bills.id)).toMatchObject({
      status: 'WRITTEN_OFF',
      amountDue: '0.00',
      amountWrittenOff: '70.00',
    });
  });
});

describe('updateRecords › WipEntry and Job', () => {
  const work = async () => {
    const { id: clientId } = await newClient();
    const jobId = await newJob(clientId);
    const row = { wipType: 'PROGRESS', clientId, jobId, workDate: '2026-01-06', amount: '100.00' };
    return { clientId, jobId, row: await records.make('WipEntry', row) };
  };
  const moveJob = async (id: string, ...states: string[]) => {
    const { systemRef } = (await preparer.call<{ systemRef: string }>('GET', `/gql/v1/job/${id}`)).body;
    let item = await change('Job', systemRef, {});
    for (const status of states) item = await change('Job', systemRef, { status });
    return item;
  };
  const jobStatus = async (id: string) =>
    (await preparer.call<{ status: string; closedAt: string | null }>('GET', `/gql/v1/job/${id}`)).body;
  const toClosed = ['READY', 'IN_PROGRESS', 'IN_REVIEW', 'COMPLETED', 'CLOSED'] as const;

  test('undoes a write-off of work, and reopens the closed job', async () => {
    const { jobId, row } = await work();
    await change('WipEntry', row.systemRef, { writeOffAmount: '100.00', writeOffReason: 'Courtesy' });
    expect(await moveJob(jobId, ...toClosed)).toMatchObject({ status: 'UPDATED' });
    expect(await change('WipEntry', row.systemRef, { writeOffAmount: '25.00' })).toMatchObject({ status: 'UPDATED' });
    expect(await wip(row.id)).toMatchObject({ status: 'PARTIALLY_BILLED', outstandingAmount: '75.00' });
    expect(await jobStatus(jobId)).toMatchObject({ status: 'COMPLETED', closedAt: null });
    await change('WipEntry', row.systemRef, { writeOffAmount: '0.00' });
    expect(await wip(row.id)).toMatchObject({ status: 'OPEN', outstandingAmount: '100.00', writeOffReason: null });
  });

  test('reopens the closed job of an invoice that is voided', async () => {
    const { clientId, jobId, row } = await work();
    const line = { lineType: 'PROGRESS' as const, unitAmount: '100.00', wipIds: [row.id] };
    const invoiceId = await post(await draftOf([line], { clientId }));
    await moveJob(jobId, ...toClosed);
    const { systemRef } = await invoice(invoiceId);
    expect(await change('Invoice', systemRef, { status: 'VOIDED', voidReason: 'Wrong price' })).toMatchObject({
      status: 'UPDATED',
    });
    expect(await jobStatus(jobId)).toMatchObject({ status: 'COMPLETED', closedAt: null });
  });

  test('returns what a voided invoice billed of work whose rest was written off', async () => {
    const { clientId, jobId, row } = await work();
    const line = { lineType: 'PROGRESS' as const, unitAmount: '60.00', wipIds: [row.id] };
    const { systemRef } = await invoice(await post(await draftOf([line], { clientId })));
    await change('WipEntry', row.systemRef, { writeOffAmount: '40.00', writeOffReason: 'Courtesy' });
    await moveJob(jobId, ...toClosed);
    expect(await wip(row.id)).toMatchObject({ status: 'WRITTEN_OFF', outstandingAmount: '0.00' });
    await change('Invoice', systemRef, { status: 'VOIDED', voidReason: 'Wrong price' });
    expect(await wip(row.id)).toMatchObject({
      status: 'PARTIALLY_BILLED',
      ...{ billedAmount: '0.00', writeOffAmount: '40.00', outstandingAmount: '60.00' },
    });
    expect(await jobStatus(jobId)).toMatchObject({ status: 'COMPLETED' });
  });

  test('a closed job returns to COMPLETED, and does not close over unapproved time', async () => {
    const { id: clientId } = await newClient();
    const jobId = await newJob(clientId);
    const entry = { type: 'TimeEntry', systemRef: `open-${jobId}` };
    const attributes = {
      staffId,
      jobId,
      workDate: '2026-01-05',
      hours: '0.10',
      isBillable: false,
      status: 'SUBMITTED',
    };
    await timeOf(preparer).entries([{ ...entry, attributes }]);
    expect(await moveJob(jobId, ...toClosed)).toMatchObject({ error: { code: 'INVALID_STATE' } });
    const rejected = { status: 'REJECTED', rejectionReason: 'Twice' };
    await timeOf(approver).entries([{ ...entry, attributes: rejected }]);
    expect(await moveJob(jobId, 'CLOSED')).toMatchObject({ status: 'UPDATED' });
    expect(await moveJob(jobId, 'COMPLETED')).toMatchObject({ status: 'UPDATED' });
    expect(await jobStatus(jobId)).toMatchObject({ status: 'COMPLETED', closedAt: null });
  });
});
