/** The history of another system: rows in the state that they have there, and imports that are repeated. */
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { firm } from '../../../test/modules/billing.ts';
import { only, recordsOf, type WriteResult } from '../../../test/modules/records.ts';
import { sharedService } from '../../../test/service.ts';
import type { Session } from '../../platform/store/session.ts';
import { differencesOf, findBreaches } from '../billing/index.ts';

const service = await sharedService();
const { approving, balances, jobId, newClient, newJob, preparer, records, staffId, workFor } = await firm(service);
const source = 'IMPORT';
const line = { lineType: 'OTHER', description: 'Return 2024', quantity: '1', unitAmount: '100.00', taxable: false };

async function imported(type: string, systemRef: string, attributes: object, caller = preparer, instants?: object) {
  const path = type === 'TimeEntry' ? '/api/v1/entries' : '/api/v1/records';
  const { body } = await caller.call<WriteResult>('POST', path, {
    records: [{ type, systemRef, source, attributes, instants }],
  });
  return only(body.records);
}

async function agrees(): Promise<void> {
  const { id } = service.tenant;
  const found = (session: Session) => Promise.all([findBreaches(session, id), differencesOf(session, id)]);
  expect(await service.store.read(id, found)).toEqual([[], []]);
}

const bill = (systemRef: string, clientId: string, more: object = {}) =>
  imported('Invoice', systemRef, {
    clientId,
    pmsRef: systemRef,
    invoiceNumber: `Q-${systemRef}`,
    invoiceDate: '2025-03-01',
    dueDate: '2025-03-31',
    lines: [line],
    ...more,
  });

test('upsertEntries imports approved time without another person, as work in progress of its day', async () => {
  const attributes = { staffId, jobId, workDate: '2025-02-03', hours: '2.00', isBillable: true, status: 'APPROVED' };
  const entry = await imported('TimeEntry', 'old-1', attributes);
  expect(entry).toMatchObject({ status: 'CREATED', attributes: { status: 'APPROVED', amount: '380.00' } });
  expect((await preparer.call('GET', `/gql/v1/wip/${entry.attributes?.wipId}`)).body).toMatchObject({
    workDate: '2025-02-03',
    outstandingAmount: '380.00',
  });
  const usual = await preparer.call<WriteResult>('POST', '/api/v1/entries', {
    records: [{ type: 'TimeEntry', systemRef: 'new-1', attributes }],
  });
  expect(only(usual.body.records)).toMatchObject({ status: 'FAILED', error: { code: 'INVALID_STATE' } });
  await agrees();
});

test('upsertEntries leaves an approved entry unchanged if a feed repeats it as submitted, and rejects other content', async () => {
  const attributes = { staffId, jobId, workDate: '2025-02-04', hours: '1.00', isBillable: true };
  await imported('TimeEntry', 'feed-1', { ...attributes, status: 'SUBMITTED' });
  expect(await imported('TimeEntry', 'feed-1', { ...attributes, status: 'APPROVED' })).toMatchObject({
    status: 'UPDATED',
  });
  for (const status of ['DRAFT', 'SUBMITTED', 'APPROVED'])
    expect(await imported('TimeEntry', 'feed-1', { ...attributes, status })).toMatchObject({
      status: 'UNCHANGED',
      attributes: { status: 'APPROVED' },
    });
  expect(await imported('TimeEntry', 'feed-1', { ...attributes, hours: '1.50', status: 'SUBMITTED' })).toMatchObject({
    status: 'FAILED',
    error: { code: 'INVALID_STATE', pointer: '/records/0/attributes/hours' },
  });
});

test('upsertRecords says how to correct a document that an import sends with other lines', async () => {
  const { id: clientId } = await newClient();
  const other = { lines: [{ ...line, unitAmount: '110.00' }] };
  const dates = { billThroughDate: '2025-03-31', proposedInvoiceDate: '2025-03-31', dueDate: '2025-04-30' };
  const draft = { clientId, ...dates, lines: [line], status: 'IN_REVIEW' };
  await imported('DraftInvoice', 'wrong-draft', draft);
  await bill('wrong', clientId);
  expect(await imported('DraftInvoice', 'wrong-draft', { ...draft, ...other })).toMatchObject({
    error: {
      pointer: '/records/0/attributes/lines',
      detail: expect.stringContaining('First set the status to REJECTED'),
    },
  });
  expect(await bill('wrong', clientId, other)).toMatchObject({
    error: { pointer: '/records/0/attributes/lines', detail: expect.stringContaining('void it and create another') },
  });
});

test('upsertRecords and upsertEntries bring a row that an import created earlier several states further', async () => {
  const { id: clientId } = await newClient();
  const job = { name: 'Return 2025', clientId, billingType: 'TIME_AND_MATERIALS' };
  await imported('Job', 'later-job', { ...job, status: 'PLANNED' });
  expect(await imported('Job', 'later-job', { ...job, name: 'Return', status: 'CLOSED' })).toMatchObject({
    status: 'UPDATED',
    attributes: { status: 'CLOSED', name: 'Return' },
  });
  const time = { staffId, jobId, workDate: '2025-02-06', hours: '1.00', isBillable: true };
  await imported('TimeEntry', 'later-time', { ...time, status: 'DRAFT' });
  const approved = { ...time, hours: '1.50', status: 'APPROVED' };
  expect(await imported('TimeEntry', 'later-time', approved)).toMatchObject({
    status: 'UPDATED',
    attributes: { status: 'APPROVED', hours: '1.50' },
  });
  const payment = { clientId, paymentDate: '2025-03-15', amount: '60.00', currency: 'USD', method: 'ACH', source };
  await imported('Payment', 'later-payment', { ...payment, status: 'PENDING' });
  const refund = { status: 'PARTIALLY_REFUNDED', refundedAmount: '10.00', changeDate: '2025-03-21' };
  expect(await imported('Payment', 'later-payment', { ...payment, ...refund })).toMatchObject({
    status: 'UPDATED',
    attributes: { status: 'PARTIALLY_REFUNDED', refundedAmount: '10.00', unappliedAmount: '50.00' },
  });
  await agrees();
});

test('upsertRecords imports no invoice as paid, because its payments pay it', async () => {
  const { id: clientId } = await newClient();
  expect(await bill('paid', clientId, { status: 'PARTIALLY_PAID' })).toMatchObject({
    error: { code: 'INVALID_STATE', pointer: '/records/0/attributes/status' },
  });
  expect(await bill('paid', clientId, { status: 'PAID' })).toMatchObject({
    error: { pointer: '/records/0/attributes/settleRest', detail: expect.stringContaining('leave out the status') },
  });
});

test('upsertEntries names the currency of the rate that is missing', async () => {
  const { id: clientId } = await newClient({ currency: 'EUR' });
  const time = { staffId, jobId: await newJob(clientId), workDate: '2025-02-05', hours: '1.00', status: 'APPROVED' };
  expect(await imported('TimeEntry', 'euro', time)).toMatchObject({
    error: { code: 'NO_RATE', detail: expect.stringContaining('in EUR') },
  });
});

test('upsertRecords imports the last of several contents that a request has for a row', async () => {
  const named = (name: string) => ({ type: 'Client', systemRef: 'several', source, attributes: { name } });
  const [first] = await records.upsert([named('Old name')]);
  const written = await records.upsert([named('New name'), named('Old name')]);
  expect(written).toMatchObject([{ status: 'UPDATED' }, { status: 'UPDATED', attributes: { name: 'Old name' } }]);
  expect(await records.upsert([named('Old name')])).toMatchObject([{ status: 'UNCHANGED', id: first?.id }]);
});

test('upsertRecords imports jobs, invoices, credit notes and payments in the state that they have, and changes nothing the second time', async () => {
  const { id: clientId } = await newClient();
  const job = { name: 'Return 2024', clientId, billingType: 'TIME_AND_MATERIALS' };
  const rows = [
    ['Job', 'job-1', { ...job, status: 'CLOSED' }],
    ['Job', 'job-2', { ...job, status: 'CANCELLED' }],
  ] as const;
  const writeAll = async () => {
    const jobs = [];
    for (const [type, systemRef, attributes] of rows) jobs.push(await imported(type, systemRef, attributes));
    const [open, lost, wrong, note] = [
      await bill('1', clientId),
      await bill('2', clientId, { status: 'WRITTEN_OFF', writeOffReason: 'Gone', changeDate: '2025-06-30' }),
      await bill('3', clientId, {
        lines: [{ ...line, jobId: jobs[0]?.id ?? null }],
        status: 'VOIDED',
        voidReason: 'Twice',
        changeDate: '2025-03-02',
      }),
      await bill('4', clientId, { lines: [{ ...line, quantity: '-1', unitAmount: '25.00' }] }),
    ];
    const paid = { clientId, paymentDate: '2025-03-15', amount: '60.00', currency: 'USD', source };
    const allocations = [{ invoiceId: open.id, amount: '60.00' }];
    const settled = await imported('Payment', 'pay-1', { ...paid, method: 'ACH', status: 'COMPLETED', allocations });
    const returned = await imported('Payment', 'pay-2', {
      ...paid,
      method: 'CHECK',
      status: 'RETURNED',
      changeReason: 'Bounced',
      changeDate: '2025-03-20',
    });
    const refunded = {
      ...paid,
      method: 'WIRE',
      status: 'PARTIALLY_REFUNDED',
      refundedAmount: '10.00',
      changeDate: '2025-03-21',
    };
    return [...jobs, open, lost, wrong, note, settled, returned, await imported('Payment', 'pay-3', refunded)];
  };
  const states = (written: Awaited<ReturnType<typeof writeAll>>) =>
    written.map(
      ({ type, status, attributes, error }) => `${type} ${status} ${attributes?.status ?? JSON.stringify(error)}`,
    );
  expect(states(await writeAll())).toEqual([
    'Job CREATED CLOSED',
    'Job CREATED CANCELLED',
    'Invoice CREATED POSTED',
    'Invoice CREATED WRITTEN_OFF',
    'Invoice CREATED VOIDED',
    'Invoice CREATED POSTED',
    'Payment CREATED COMPLETED',
    'Payment CREATED RETURNED',
    'Payment CREATED PARTIALLY_REFUNDED',
  ]);
  const before = await balances(clientId);
  expect(before).toMatchObject({ outstandingBalance: '40.00', unappliedCredit: '75.00' });
  await agrees();
  // The first invoice is partially paid meanwhile.
  expect(states(await writeAll()).map((one) => one.replace('PARTIALLY_PAID', 'POSTED'))).toEqual([
    'Job UNCHANGED CLOSED',
    'Job UNCHANGED CANCELLED',
    'Invoice UNCHANGED POSTED',
    'Invoice UNCHANGED WRITTEN_OFF',
    'Invoice UNCHANGED VOIDED',
    'Invoice UNCHANGED POSTED',
    'Payment UNCHANGED COMPLETED',
    'Payment UNCHANGED RETURNED',
    'Payment UNCHANGED PARTIALLY_REFUNDED',
  ]);
  expect(await balances(clientId)).toEqual(before);
  const { body } = await preparer.call<{ data: object[] }>('POST', '/gql/v1/ledger_entries/search', {
    where: { clientId: { _eq: clientId }, businessDate: { _gt: '2025-06-30' } },
  });
  expect(body.data).toEqual([]);
  await agrees();
});

test('upsertRecords leaves a payment unchanged of which money was taken back since, and an invoice of which more was written off', async () => {
  const { id: clientId } = await newClient();
  const paid = { clientId, paymentDate: '2025-03-15', amount: '60.00', method: 'CHECK', source, status: 'COMPLETED' };
  const change = async (type: string, systemRef: string, attributes: object) =>
    expect(only(await records.update([{ type, systemRef, attributes }])).error).toBeNull();
  const since: readonly (readonly object[])[] = [
    [{ refundedAmount: '20.00' }],
    [{ refundedAmount: '60.00' }],
    [{ status: 'RETURNED', changeReason: 'Bounced' }],
    [{ refundedAmount: '20.00' }, { status: 'RETURNED', changeReason: 'Bounced' }],
    [{ status: 'VOIDED', changeReason: 'Twice' }],
  ];
  for (const [index, changes] of since.entries()) {
    const open = await bill(`since-${index}`, clientId);
    const [systemRef, allocations] = [`pay-since-${index}`, [{ invoiceId: open.id, amount: '60.00' }]];
    await imported('Payment', systemRef, { ...paid, allocations });
    for (const attributes of changes) await change('Payment', systemRef, attributes);
    expect(await imported('Payment', systemRef, { ...paid, allocations })).toMatchObject({ status: 'UNCHANGED' });
    const other = [{ invoiceId: open.id, amount: '59.00' }];
    expect(await imported('Payment', systemRef, { ...paid, allocations: other })).toMatchObject({ status: 'FAILED' });
  }
  const part = { ...paid, status: 'PARTIALLY_REFUNDED', refundedAmount: '10.00' };
  await imported('Payment', 'pay-part', part);
  await change('Payment', 'pay-part', { refundedAmount: '25.00' });
  expect(await imported('Payment', 'pay-part', part)).toMatchObject({ status: 'UNCHANGED' });
  const pending = await bill('since-failed', clientId);
  const failed = {
    ...paid,
    method: 'ACH',
    status: 'PENDING',
    allocations: [{ invoiceId: pending.id, amount: '60.00' }],
  };
  await imported('Payment', 'pay-failed', failed);
  await change('Payment', 'pay-failed', { status: 'FAILED' });
  expect(await imported('Payment', 'pay-failed', failed)).toMatchObject({ status: 'UNCHANGED' });
  const lost = { writeOffAmount: '5.00', writeOffReason: 'Agreed' };
  await bill('since-lost', clientId, lost);
  await change('Invoice', 'since-lost', { writeOffAmount: '15.00', writeOffReason: 'More' });
  expect(await bill('since-lost', clientId, lost)).toMatchObject({
    status: 'UNCHANGED',
    attributes: { amountWrittenOff: '15.00', writeOffReason: 'More' },
  });
  await agrees();
});

test('upsertRecords leaves a row unchanged that was corrected here if its import is repeated, and follows the source when that changes', async () => {
  const { id: clientId } = await newClient();
  const change = async (type: string, systemRef: string, attributes: object) =>
    expect(only(await records.update([{ type, systemRef, attributes }])).error).toBeNull();
  const name = 'Return 2023';
  const job = { name, clientId, billingType: 'TIME_AND_MATERIALS', status: 'CLOSED' };
  const open = await bill('corrected', clientId, { writeOffAmount: '5.00', writeOffReason: 'Agreed' });
  const paid = { clientId, paymentDate: '2025-03-15', amount: '60.00', currency: 'USD', method: 'CHECK', source };
  const payment = { ...paid, status: 'COMPLETED', allocations: [{ invoiceId: open.id, amount: '60.00' }] };
  await imported('Job', 'corrected', job);
  await imported('Payment', 'corrected', payment);
  await change('Job', 'corrected', { name: 'Return of 2023', status: 'COMPLETED' });
  await change('Payment', 'corrected', { allocations: [] });
  await change('Invoice', 'corrected', { writeOffAmount: '0.00', changeReason: 'Paid after all' });
  const before = await balances(clientId);

  const repeated = [
    await imported('Job', 'corrected', Object.fromEntries(Object.entries(job).reverse())),
    await bill('corrected', clientId, { writeOffReason: 'Agreed', writeOffAmount: '5.00' }),
    await imported('Payment', 'corrected', payment),
  ];
  expect(repeated).toMatchObject([
    { status: 'UNCHANGED', attributes: { name: 'Return of 2023', status: 'COMPLETED' } },
    { status: 'UNCHANGED', attributes: { amountWrittenOff: '0.00' } },
    { status: 'UNCHANGED', attributes: { unappliedAmount: '60.00', allocations: [] } },
  ]);
  expect(await balances(clientId)).toEqual(before);
  const other = { ...job, status: 'COMPLETED' };
  for (const content of [
    { ...other, name: 'Other' },
    { ...other, name },
  ])
    expect(await imported('Job', 'corrected', content)).toMatchObject({ status: 'UPDATED', attributes: content });
  const clerk = await service.signIn({ roles: ['RECORD_W', 'JOB_W'] });
  const { body } = await clerk.call<WriteResult>('POST', '/api/v1/records', {
    records: [{ type: 'Job', systemRef: 'corrected', source, attributes: { ...other, name } }],
  });
  expect(only(body.records)).toMatchObject({ status: 'FAILED', error: { code: 'FORBIDDEN' } });
  await agrees();
});

test('upsertRecords imports a voided invoice over nothing', async () => {
  const { id: clientId } = await newClient();
  const reasons = { voidReason: 'Twice', taxExemptReason: 'Embassy' };
  const nothing = { lines: [{ ...line, unitAmount: '0.00' }], status: 'VOIDED', ...reasons };
  expect(await bill('nothing', clientId, nothing)).toMatchObject({
    status: 'CREATED',
    attributes: { status: 'VOIDED', ...reasons },
  });
  expect(await bill('nothing', clientId, nothing)).toMatchObject({ status: 'UNCHANGED' });
  await agrees();
});

const dates = { billThroughDate: '2026-01-31', proposedInvoiceDate: '2026-01-31', dueDate: '2026-12-31' };
const wipOf = async (id: string) =>
  (await preparer.call<{ status: string; outstandingAmount: string }>('GET', `/gql/v1/wip/${id}`)).body;

test('upsertRecords imports an invoice that bills work in progress, which is outstanding again when it is voided', async () => {
  const { id: clientId } = await newClient();
  const job = await newJob(clientId);
  const [all, part, lost] = [await workFor('1.00', job), await workFor('2.00', job), await workFor('1.00', job)];
  const lines = [
    { ...line, lineType: 'TIME', unitAmount: '200.00', wipIds: [all] },
    { ...line, lineType: 'PROGRESS', relief: 'PART', unitAmount: '100.00', wipIds: [part] },
  ];
  const billed = () => bill('billed', clientId, { invoiceDate: '2026-02-01', dueDate: '2026-03-01', lines });
  const invoice = await billed();
  expect(invoice).toMatchObject({ status: 'CREATED', attributes: { total: '300.00', lines: [{ wipIds: [all] }, {}] } });
  expect(await wipOf(all)).toMatchObject({ status: 'BILLED', outstandingAmount: '0.00' });
  expect(await wipOf(part)).toMatchObject({ status: 'PARTIALLY_BILLED', outstandingAmount: '280.00' });
  expect(await billed()).toMatchObject({ status: 'UNCHANGED' });
  await agrees();
  const failing = async (more: object) =>
    (await bill('other', clientId, { invoiceDate: '2026-02-01', dueDate: '2026-03-01', ...more })).error;
  expect(await failing({ lines: [{ ...line, wipIds: [all] }] })).toMatchObject({ code: 'INVALID_STATE' });
  const late = { invoiceDate: '2026-01-02', lines: [{ ...line, wipIds: [lost] }] };
  expect(await failing(late)).toMatchObject({ pointer: '/records/0/attributes/lines/0/wipIds/0' });
  const pending = { status: 'PENDING', lines: [{ ...line, wipIds: [lost] }] };
  expect(await failing(pending)).toMatchObject({ pointer: '/records/0/attributes/lines/0/wipIds' });
  const voided = { ...pending, status: 'VOIDED', voidReason: 'Twice' };
  expect(await failing(voided)).toMatchObject({ pointer: '/records/0/attributes/lines/0/wipIds' });
  const usual = { clientId, pmsRef: 'usual', invoiceDate: '2026-02-01', dueDate: '2026-03-01', lines: pending.lines };
  expect(only(await records.upsert([{ type: 'Invoice', systemRef: 'usual', attributes: usual }]))).toMatchObject({
    error: { pointer: '/records/0/attributes/lines/0/wipIds' },
  });
  const change = { status: 'VOIDED', voidReason: 'Wrong client' };
  expect(only(await records.update([{ type: 'Invoice', systemRef: 'billed', attributes: change }]))).toMatchObject({
    status: 'UPDATED',
  });
  expect(await wipOf(all)).toMatchObject({ status: 'OPEN', outstandingAmount: '190.00' });
  expect(await wipOf(lost)).toMatchObject({ status: 'OPEN' });
  await agrees();
});

test('upsertRecords imports what was written off of work in progress and of an open invoice', async () => {
  const { id: clientId } = await newClient();
  const wip = {
    clientId,
    jobId: await newJob(clientId),
    wipType: 'ADJUSTMENT',
    workDate: '2026-01-05',
    amount: '80.00',
  };
  const written = { writeOffReason: 'Agreed', changeDate: '2026-01-20' };
  const writeAll = async () => [
    await imported('WipEntry', 'lost', { ...wip, writeOffAmount: '80.00', ...written }),
    await bill('part', clientId, { writeOffAmount: '20.00', ...written }),
  ];
  expect(await writeAll()).toMatchObject([
    { status: 'CREATED', attributes: { status: 'WRITTEN_OFF', outstandingAmount: '0.00', writeOffReason: 'Agreed' } },
    { status: 'CREATED', attributes: { status: 'POSTED', amountDue: '80.00', amountWrittenOff: '20.00' } },
  ]);
  expect(await writeAll()).toMatchObject([{ status: 'UNCHANGED' }, { status: 'UNCHANGED' }]);
  expect(await bill('all', clientId, { writeOffAmount: '100.00', ...written })).toMatchObject({
    error: { pointer: '/records/0/attributes/writeOffAmount' },
  });
  await agrees();
});

test('upsertRecords imports a draft that waits for review, and leaves it unchanged when it is posted', async () => {
  const { id: clientId } = await newClient();
  const draft = { clientId, ...dates, lines: [line], status: 'IN_REVIEW' };
  expect(await imported('DraftInvoice', 'waits', draft)).toMatchObject({
    status: 'CREATED',
    attributes: { status: 'IN_REVIEW', invoiceId: null, approvedAt: null },
  });
  await approving.update([{ type: 'DraftInvoice', systemRef: 'waits', attributes: { status: 'APPROVED' } }]);
  expect(await imported('DraftInvoice', 'waits', draft)).toMatchObject({
    status: 'UNCHANGED',
    attributes: { status: 'POSTED' },
  });
  expect(await imported('DraftInvoice', 'waits', { ...draft, memo: 'Other' })).toMatchObject({
    error: { code: 'INVALID_STATE' },
  });
  await agrees();
});

test('upsertRecords imports an approved draft with its approver, which is posted on its day', async () => {
  const { id: clientId } = await newClient();
  const wipId = await workFor('1.00', await newJob(clientId));
  const tomorrow = Temporal.Now.plainDateISO('UTC').add({ days: 2 }).toString();
  const approvedAt = '2026-01-30T16:00:00.000Z';
  const draft = {
    clientId,
    ...dates,
    dueDate: '2099-01-01',
    proposedInvoiceDate: tomorrow,
    lines: [{ ...line, lineType: 'TIME', wipIds: [wipId] }],
    status: 'APPROVED',
    approvedById: staffId,
  };
  const write = () => imported('DraftInvoice', 'approved', draft, preparer, { approvedAt });
  expect(await write()).toMatchObject({
    status: 'CREATED',
    attributes: { status: 'APPROVED', approvedById: staffId, approvedAt, invoiceId: null },
  });
  expect(await wipOf(wipId)).toMatchObject({ status: 'IN_DRAFT' });
  expect(await write()).toMatchObject({ status: 'UNCHANGED' });
  await agrees();
  const change = async (attributes: object) =>
    only(await records.update([{ type: 'DraftInvoice', systemRef: 'approved', attributes }]));
  expect(await change({ status: 'POSTED' })).toMatchObject({
    error: { code: 'VALIDATION_ERROR', detail: expect.stringContaining('proposedInvoiceDate') },
  });
  expect(await change({ memo: 'Other' })).toMatchObject({ error: { code: 'INVALID_STATE' } });
  // Its day comes.
  await service.store.write(service.tenant.id, (session) =>
    session.all(sql`update draft_invoice set proposed_invoice_date = '2026-02-01' where system_ref = 'approved'`),
  );
  const posted = await change({ status: 'POSTED' });
  expect(posted).toMatchObject({ status: 'UPDATED', attributes: { approvedById: staffId, approvedAt } });
  expect(await wipOf(wipId)).toMatchObject({ status: 'BILLED' });
  const { body } = await preparer.call<{ data: object[] }>('POST', '/gql/v1/draft_invoice_histories/search', {
    where: { draftInvoiceId: { _eq: posted.id } },
    orderBy: [{ revision: 'asc' }],
  });
  expect(body.data.slice(-2)).toMatchObject([
    { action: 'APPROVED', toStatus: 'APPROVED' },
    { action: 'POSTED', fromStatus: 'APPROVED', toStatus: 'POSTED', invoiceId: posted.attributes?.invoiceId },
  ]);
  await agrees();
});

test('deleteRecords rejects a client and a job while an imported draft is approved for a later day', async () => {
  const { id: clientId } = await newClient({ systemRef: 'billed-later' });
  const job = await imported('Job', 'billed-later', {
    name: 'Return',
    clientId,
    billingType: 'NON_BILLABLE',
    status: 'CLOSED',
  });
  const tomorrow = Temporal.Now.plainDateISO('UTC').add({ days: 2 }).toString();
  const later = { clientId, jobIds: [job.id], ...dates, dueDate: '2099-01-01', proposedInvoiceDate: tomorrow };
  expect(await imported('DraftInvoice', 'later', { ...later, lines: [line], status: 'APPROVED' })).toMatchObject({
    attributes: { status: 'APPROVED' },
  });
  for (const type of ['Client', 'Job']) {
    const { body } = await preparer.call<WriteResult>('DELETE', '/api/v1/records', {
      records: [{ type, systemRef: 'billed-later' }],
    });
    expect(only(body.records)).toMatchObject({
      error: { code: 'INVALID_STATE', detail: expect.stringContaining('draft invoices') },
    });
  }
});

test('upsertRecords posts an imported draft at once whose day has come, and rejects one that is POSTED or has an approver alone', async () => {
  const { id: clientId } = await newClient();
  const draft = { clientId, ...dates, lines: [line] };
  expect(await imported('DraftInvoice', 'due', { ...draft, status: 'APPROVED' })).toMatchObject({
    attributes: { status: 'POSTED', approvedById: null },
  });
  expect(await imported('DraftInvoice', 'gone', { ...draft, status: 'POSTED' })).toMatchObject({
    error: { code: 'INVALID_STATE', pointer: '/records/0/attributes/status' },
  });
  for (const status of ['DRAFT', 'IN_REVIEW'])
    expect(await imported('DraftInvoice', 'no', { ...draft, status, approvedById: staffId })).toMatchObject({
      error: { pointer: '/records/0/attributes/approvedById' },
    });
  const usual = { ...draft, approvedById: staffId };
  expect(only(await records.upsert([{ type: 'DraftInvoice', attributes: usual }]))).toMatchObject({
    error: { pointer: '/records/0/attributes/approvedById', detail: expect.stringContaining('source IMPORT') },
  });
  const clerk = await service.signIn({ roles: ['RECORD_W', 'IMPORT_W', 'DINVC_W'] });
  expect(await imported('DraftInvoice', 'clerk', { ...draft, status: 'APPROVED' }, clerk)).toMatchObject({
    error: { code: 'FORBIDDEN' },
  });
  await agrees();
});

test('upsertRecords rejects an import without IMPORT_W, and into a closed period', async () => {
  const { id: clientId } = await newClient();
  const clerk = await service.signIn({ roles: ['RECORD_W', 'INVC_W'] });
  const attributes = { clientId, pmsRef: 'x', invoiceDate: '2025-03-01', dueDate: '2025-03-31', lines: [line] };
  expect(await imported('Invoice', 'x', attributes, clerk)).toMatchObject({
    status: 'FAILED',
    error: { code: 'FORBIDDEN', pointer: '/records/0/source' },
  });
  const usual = await recordsOf(clerk).upsert([
    { type: 'Invoice', systemRef: 'y', attributes: { ...attributes, lines: [{ ...line, quantity: '-1' }] } },
  ]);
  expect(only(usual)).toMatchObject({
    status: 'FAILED',
    error: { pointer: '/records/0/attributes/lines/0/unitAmount' },
  });
  expect(await newJob(clientId)).toBeDefined();
  const { body } = await preparer.call<{ data: { systemRef: string }[] }>('POST', '/gql/v1/orgs', {});
  const org = (day: string | null) =>
    records.update([
      {
        type: 'Org',
        systemRef: body.data[0]?.systemRef,
        attributes: { booksClosedThrough: day, ...(day === null && { changeReason: 'Test' }) },
      },
    ]);
  await org('2025-03-31');
  expect(await bill('closed', clientId)).toMatchObject({ status: 'FAILED', error: { code: 'PERIOD_CLOSED' } });
  await org(null);
});

test('upsertRecords and upsertEntries keep the instants of the other system, and mark the events as history', async () => {
  const { id: clientId } = await newClient();
  const [createdAt, approvedAt] = ['2025-02-03T08:00:00.000Z', '2025-02-07T15:30:00.000Z'];
  const time = { staffId, jobId, workDate: '2025-02-05', hours: '1.00', isBillable: true, status: 'APPROVED' };
  const write = (instants: object, attributes: object = time) =>
    imported('TimeEntry', 'then-1', attributes, preparer, instants);
  const entry = await write({ createdAt, approvedAt: '2025-02-07T16:30:00+01:00' });
  expect(entry).toMatchObject({ status: 'CREATED', attributes: { approvedAt } });
  expect(await write({ createdAt, approvedAt })).toMatchObject({ status: 'UNCHANGED' });
  expect(await write({ approvedAt: '2025-02-08T00:00:00Z' })).toMatchObject({ status: 'UPDATED' });
  const bill1 = await imported(
    'Invoice',
    'then-2',
    { clientId, pmsRef: 'then-2', invoiceDate: '2025-03-01', dueDate: '2025-03-31', lines: [line] },
    preparer,
    { postedAt: '2025-03-01T17:00:00.000Z' },
  );
  expect(bill1).toMatchObject({ status: 'CREATED', attributes: { postedAt: '2025-03-01T17:00:00.000Z' } });
  const found = await preparer.call<{ data: object[] }>('POST', '/gql/v1/time_entries/search', {
    where: { id: { _eq: entry.id } },
  });
  expect(found.body.data).toMatchObject([{ createdAt, approvedAt: '2025-02-08T00:00:00.000Z' }]);
  const usual = only(await records.upsert([{ type: 'Client', systemRef: 'then-3', attributes: { name: 'New' } }]));
  const { body } = await preparer.call<{ data: { entityId: string; isImport: boolean }[] }>(
    'GET',
    '/api/v1/events?pageSize=1000',
  );
  const marks = (id: unknown) => [
    ...new Set(body.data.filter(({ entityId }) => entityId === id).map((e) => e.isImport)),
  ];
  expect(marks(usual.id)).toEqual([false]);
  expect(marks(bill1.id)).toEqual([true]);
  // The balance of the client changes with the invoice.
  expect(marks(clientId)).toEqual([false, true]);
});

test('upsertRecords rejects instants that a row cannot have', async () => {
  const time = { staffId, jobId, workDate: '2025-02-06', hours: '1.00', isBillable: true, status: 'SUBMITTED' };
  const write = async (instants: object) =>
    (await imported('TimeEntry', 'then-4', time, preparer, instants)).error?.pointer;
  expect(await write({ approvedAt: '2025-02-07T15:30:00Z' })).toBe('/records/0/instants/approvedAt');
  expect(await write({ createdAt: '2999-02-07T15:30:00Z' })).toBe('/records/0/instants/createdAt');
  expect(await write({ updatedAt: '2025-02-07T15:30:00Z' })).toBe('/records/0/instants/updatedAt');
  expect(await write({ startedAt: '2025-02-07T15:30:00Z' })).toBe('/records/0/instants/startedAt');
  expect(await write({ otherAt: '2025-02-07T15:30:00Z' })).toBe('/records/0/instants/otherAt');
  await imported('TimeEntry', 'then-4', time);
  expect(await write({ createdAt: '2025-02-07T15:30:00Z' })).toBe('/records/0/instants/createdAt');
  const { body } = await preparer.call<WriteResult>('POST', '/api/v1/records', {
    records: [
      {
        type: 'Client',
        systemRef: 'then-5',
        attributes: { name: 'X' },
        instants: { createdAt: '2025-01-01T00:00:00Z' },
      },
    ],
  });
  expect(only(body.records)).toMatchObject({ status: 'FAILED', error: { pointer: '/records/0/instants' } });
});

test('updateStaff inserts an older rate for imported time, unless approved time depends on the one before', async () => {
  const rates = async (effectiveFromDate: string, billingRate: string) => {
    const rateCardAssignment = { billingRate, averageRate: '90', currency: 'USD', effectiveFromDate };
    return (await preparer.call('PUT', `/api/v1/staff/${staffId}`, { rateCardAssignment })).status;
  };
  const time = { staffId, jobId, workDate: '2019-02-01', hours: '1.00', isBillable: true };
  expect(await rates('2019-01-01', '150')).toBe(200);
  expect(await imported('TimeEntry', 'old-rate', { ...time, status: 'APPROVED' })).toMatchObject({
    status: 'CREATED',
    attributes: { amount: '150.00' },
  });
  expect([await rates('2019-01-15', '160'), await rates('2019-02-01', '160')]).toEqual([409, 409]);
  expect(await rates('2019-02-02', '160')).toBe(200);
  expect(await rates('2018-01-01', '140')).toBe(200);
});
