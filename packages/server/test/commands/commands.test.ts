/**
 * Takes every transition of the state machines of time, projects, engagements and billing once, through the API and the pages of
 * links. The snapshot has what each call returns and changes: rows, events and entries of the ledger.
 */
import type { StateMachine } from '@financial-automation/spec';
import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { writeAsSystem } from '../../src/background/write-as-system.ts';
import { contract } from '../../src/contract/contract.ts';
import { commandsOfEvents } from '../../src/entity/command.ts';
import type { Plan } from '../../src/entity/plan.ts';
import { allEntities } from '../../src/entity/registry.ts';
import { expireLinks } from '../../src/modules/billing/link/expire-links.ts';
import { followAttempts } from '../../src/modules/billing/pay/reconcile.ts';
import { createEngagements } from '../../src/modules/engagements/create-engagements.ts';
import { engagementDocument } from '../../src/modules/engagements/documents.ts';
import { expireLetters } from '../../src/modules/engagements/expire-letters.ts';
import { addFile } from '../../src/modules/files/file.ts';
import { job } from '../../src/modules/projects/job.ts';
import { setTenantSetting } from '../../src/operator/tenant-settings.ts';
import { asOperator } from '../../src/operator/tenants.ts';
import type { Tenant } from '../../src/platform/auth/caller.ts';
import { SandboxProcessor } from '../../src/platform/payments/sandbox.ts';
import { callsOf } from '../modules/engagements.ts';
import { accountOf, goodCard, payingFirm, tickOf } from '../modules/pay.ts';
import type { WriteItem } from '../modules/records.ts';
import { testService } from '../service.ts';
import { Recorder, type Step } from './recorder.ts';

let now = Temporal.Now.instant();
const service = await testService({
  replace: ({ store }) => ({ processor: new SandboxProcessor(store, () => now) }),
});
const { store, tenant } = service;
const recorder = new Recorder(service);
/** Changes a setting, also in the cache of the process, which otherwise learns of it seconds later. */
async function set(setting: keyof Tenant['settings'], isOn: boolean): Promise<void> {
  await setTenantSetting({ service: service.service }, { tenant: tenant.name, setting, value: isOn ? 'on' : 'off' });
  Object.assign((await service.service.directory.tenant(tenant.name))?.settings ?? {}, { [setting]: isOn });
}
const firm = await payingFirm(service);
const { approver, preparer, staffId, newClient, newJob, linkOf, payer } = firm;
const owner = await newClient({ name: 'Owner' });
const engagements = callsOf(preparer);
const record = recorder.record.bind(recorder);

const put = (type: string, systemRef: string, attributes: object, caller = preparer) =>
  record(`${type} ${JSON.stringify(attributes)}`, () =>
    caller.call('PUT', '/api/v1/records', { records: [{ type, systemRef, attributes }] }),
  );
const make = async (type: string, attributes: object): Promise<string> => {
  const { body } = await record(`new ${type} ${JSON.stringify(attributes)}`, () =>
    preparer.call<{ records: { id: string | null }[] }>('POST', '/api/v1/records', { records: [{ type, attributes }] }),
  );
  return body.records[0]?.id ?? '';
};
const remove = (type: string, systemRef: string) =>
  record(`delete ${type}`, () => preparer.call('DELETE', '/api/v1/records', { records: [{ type, systemRef }] }));
const approve = (type: string, systemRef: string, status = 'APPROVED') => put(type, systemRef, { status }, approver);

async function entry(type: string, systemRef: string, attributes: object, caller = preparer): Promise<string> {
  const sent = { records: [{ type, systemRef, attributes }] };
  const { body } = await record(`entry ${type} ${JSON.stringify(attributes)}`, () =>
    caller.call<{ records: { attributes?: { wipId?: string } }[] }>('POST', '/api/v1/entries', sent),
  );
  return body.records[0]?.attributes?.wipId ?? '';
}

let entries = 0;
/** Approved time, and its work in progress. */
async function work(hours: string, jobId: string, more: object = {}): Promise<string> {
  const ref = `work-${++entries}`;
  await entry('TimeEntry', ref, {
    staffId,
    jobId,
    workDate: '2025-01-06',
    hours,
    isBillable: true,
    status: 'SUBMITTED',
    ...more,
  });
  return entry('TimeEntry', ref, { status: 'APPROVED' }, approver);
}

const line = (unitAmount: string, more: object = {}) =>
  ({ lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount, taxable: false, ...more }) as const;
const dates = { billThroughDate: '2025-12-31', proposedInvoiceDate: '2025-01-31', dueDate: '2025-03-02' };
const draft = (lines: object[], more: object = {}) =>
  make('DraftInvoice', { clientId: owner.id, ...dates, lines, ...more });
const imported = (amount: string, more: object = {}) =>
  make('Invoice', {
    clientId: owner.id,
    pmsRef: `import-${++entries}`,
    invoiceDate: '2025-01-31',
    dueDate: '2025-03-02',
    lines: [line(amount)],
    ...more,
  });
const paid = (amount: string, allocations: object[] = [], more: object = {}) =>
  make('Payment', {
    clientId: owner.id,
    paymentDate: '2025-02-10',
    amount,
    currency: 'USD',
    method: 'CHECK',
    source: 'MANUAL',
    allocations,
    ...more,
  });

async function posted(lines: object[], more: object = {}): Promise<string> {
  const id = await draft(lines, more);
  await put('DraftInvoice', id, { status: 'IN_REVIEW' });
  await approve('DraftInvoice', id);
  const row = await store.read(tenant.id, (session) =>
    session.first<{ id: string }>(sql`select invoice_id as id from draft_invoice where id = ${id}`),
  );
  return row?.id ?? '';
}

const changeReason = 'Reported by the bank';

beforeAll(() => recorder.start());

test('time, tasks and jobs', async () => {
  const jobId = await make('Job', { name: 'Books', clientId: owner.id, billingType: 'TIME_AND_MATERIALS' });
  const taskTypeId = await make('TaskType', {
    displayName: 'Prepare',
    code: 'PRE',
    isBillable: true,
    billingMethod: 'HOURLY',
  });
  const task = () => make('Task', { name: 'Prepare', jobId, taskTypeId, sequence: 0 });
  const [first, second, third] = [await task(), await task(), await task()];
  await work('1.00', jobId, { taskId: first });
  for (const status of [
    'WAITING',
    'IN_PROGRESS',
    'IN_REVIEW',
    'IN_PROGRESS',
    'IN_REVIEW',
    'COMPLETED',
    'IN_PROGRESS',
    'CANCELLED',
  ])
    await put('Task', first, { status });
  await put('Task', second, { status: 'IN_PROGRESS', assigneeId: staffId });
  await put('Task', third, { status: 'CANCELLED' });
  for (const state of ['WAITING', 'IN_REVIEW']) {
    const ended = await task();
    for (const status of ['IN_PROGRESS', state, 'CANCELLED']) await put('Task', ended, { status });
  }
  await set('reviewCompletedJobs', true);
  await put('Task', second, { status: 'IN_REVIEW' });
  await put('Task', second, { status: 'COMPLETED' });
  await set('reviewCompletedJobs', false);
  for (const status of [
    'IN_PROGRESS',
    'ON_HOLD',
    'IN_PROGRESS',
    'IN_REVIEW',
    'IN_PROGRESS',
    'IN_REVIEW',
    'COMPLETED',
    'IN_PROGRESS',
    'IN_REVIEW',
    'COMPLETED',
    'CLOSED',
  ])
    await put('Job', jobId, { status });
  const other = await newJob(owner.id);
  for (const status of ['READY', 'IN_PROGRESS', 'CANCELLED']) await put('Job', other, { status });
  const ends = [[], ['READY'], ['READY', 'IN_PROGRESS', 'ON_HOLD'], ['READY', 'IN_PROGRESS', 'IN_REVIEW']];
  for (const states of ends) {
    const ended = await newJob(owner.id);
    for (const status of [...states, 'CANCELLED']) await put('Job', ended, { status });
  }
  const ready = await newJob(owner.id);
  await put('Job', ready, { status: 'READY' });
  await work('0.50', ready);
  const ref = 'turned';
  const time = { staffId, jobId: ready, workDate: '2025-01-07', hours: '2.00', isBillable: true };
  await entry('TimeEntry', ref, time);
  for (const [status, caller, more] of [
    ['SUBMITTED', preparer, {}],
    ['REJECTED', approver, { rejectionReason: 'Twice' }],
    ['DRAFT', preparer, {}],
    ['SUBMITTED', preparer, {}],
    ['APPROVED', approver, {}],
    ['DRAFT', preparer, {}],
  ] as const)
    await entry('TimeEntry', ref, { status, ...more }, caller);
  const back = {
    staffId,
    jobId: ready,
    workDate: '2025-01-08',
    hours: '-0.20',
    reversesSystemRef: 'work-2',
    status: 'SUBMITTED',
  };
  await entry('TimeEntry', 'back', back);
  await entry('TimeEntry', 'back', { status: 'APPROVED' }, approver);
  const courier = { code: 'COURIER', name: 'Courier', isBillable: true };
  await preparer.call('POST', '/api/v1/codes', {
    records: [{ type: 'ExpenseCode', systemRef: 'COURIER', attributes: courier }],
  });
  const expense = {
    staffId,
    jobId: ready,
    code: 'COURIER',
    expenseDate: '2025-01-09',
    description: 'Box',
    cost: '12.00',
    billableAmount: '15.00',
  };
  await entry('ExpenseEntry', 'box', { ...expense, status: 'SUBMITTED' });
  for (const [status, caller] of [
    ['APPROVED', approver],
    ['DRAFT', preparer],
    ['SUBMITTED', preparer],
  ] as const)
    await entry('ExpenseEntry', 'box', { status }, caller);
  await entry('ExpenseEntry', 'box', { status: 'REJECTED', rejectionReason: 'Late' }, approver);
  await entry('ExpenseEntry', 'box', { status: 'DRAFT' });
  await set('timeApproval', false);
  await entry('TimeEntry', 'at once', { ...time, workDate: '2025-01-10', status: 'SUBMITTED' });
  await entry('ExpenseEntry', 'at once', { ...expense, status: 'SUBMITTED' });
  await set('timeApproval', true);
});

test('drafts and work in progress', async () => {
  const jobId = await newJob(owner.id);
  const [one, two, three] = [await work('1.00', jobId), await work('2.00', jobId), await work('3.00', jobId)];
  const id = await draft([line('190.00', { wipIds: [one] }), line('300.00', { wipIds: [two] })]);
  await put('DraftInvoice', id, { lines: [line('190.00', { wipIds: [one] })] });
  await put('DraftInvoice', id, { status: 'IN_REVIEW' });
  await put('DraftInvoice', id, { status: 'REJECTED', rejectionReason: 'Wrong' }, approver);
  await put('DraftInvoice', id, { status: 'DRAFT' });
  await put('DraftInvoice', id, { status: 'IN_REVIEW' });
  await put('DraftInvoice', id, { status: 'REJECTED', rejectionReason: 'Again' }, approver);
  await remove('DraftInvoice', id);
  const part = await posted([
    line('200.00', { wipIds: [one, two], lineType: 'PROGRESS' }),
    line('-20.00', { lineType: 'DISCOUNT' }),
  ]);
  await make('DraftInvoice', {
    clientId: owner.id,
    ...dates,
    lines: [line('100.00', { wipIds: [two], lineType: 'PROGRESS' })],
  });
  await put('Invoice', part, { status: 'VOIDED', voidReason: 'Held' });
  const rest = await draft([line('50.00', { wipIds: [one], lineType: 'PROGRESS' })]);
  await put('DraftInvoice', rest, { lines: [line('1.00')] });
  await remove('DraftInvoice', rest);
  const full = await posted([line('500.00', { wipIds: [three] }), line('15.00', { lineType: 'INTEREST' })], {
    memo: 'Thanks',
  });
  await put('Invoice', full, { status: 'VOIDED', voidReason: 'Wrong client' });
  const [first, second] = [
    await posted([line('100.00', { wipIds: [three], lineType: 'PROGRESS' })]),
    await posted([line('470.00', { wipIds: [three] })]),
  ];
  await put('Invoice', second, { status: 'VOIDED', voidReason: 'Late' });
  await put('WipEntry', three, { writeOffAmount: '470.00', writeOffReason: 'Too long' });
  await put('Invoice', first, { status: 'VOIDED', voidReason: 'Late' });
  await put('WipEntry', three, { writeOffAmount: '0.00', changeReason: 'After all' });
  await put('WipEntry', three, { writeOffAmount: '570.00', writeOffReason: 'Too long' });
  await put('WipEntry', three, { writeOffAmount: '0.00', changeReason: 'After all' });
  await put('WipEntry', three, { writeOffAmount: '570.00', writeOffReason: 'Too long' });
  await put('WipEntry', three, { writeOffAmount: '70.00', changeReason: 'A part' });
  await put('WipEntry', three, { writeOffAmount: '0.00', changeReason: 'All' });
  const fee = await make('WipEntry', {
    wipType: 'FIXED_FEE',
    clientId: owner.id,
    jobId,
    workDate: '2025-01-10',
    amount: '400.00',
  });
  await put('WipEntry', fee, { amount: '450.00' });
  await posted([line('0.00'), line('0.00', { lineType: 'DISCOUNT' })]);
});

test('invoices, payments and credits', async () => {
  const pending = await imported('80.00', { status: 'PENDING' });
  await put('Invoice', pending, { status: 'POSTED' });
  await put('Invoice', pending, { purchaseOrder: 'PO-1', sentAt: '2025-02-01T10:00:00.000Z' });
  const first = await imported('100.00');
  const second = await imported('50.00');
  const all = await paid('120.00', [
    { invoiceId: first, amount: '100.00' },
    { invoiceId: second, amount: '20.00' },
  ]);
  await put('Payment', all, {
    allocations: [
      { invoiceId: first, amount: '60.00' },
      { invoiceId: second, amount: '50.00' },
    ],
  });
  await put('Payment', all, { allocations: [{ invoiceId: second, amount: '10.00' }] });
  await put('Payment', all, { refundedAmount: '115.00' });
  await put('Payment', all, { status: 'RETURNED', changeReason });
  const owed = await imported('30.00');
  const refunded = await paid('30.00', [{ invoiceId: owed, amount: '30.00' }]);
  await put('Payment', refunded, { refundedAmount: '30.00' });
  await put('Payment', refunded, { status: 'RETURNED', changeReason });
  const voided = await paid('30.00', [{ invoiceId: owed, amount: '30.00' }]);
  await put('Payment', voided, { status: 'VOIDED' });
  const half = await paid('30.00', [{ invoiceId: owed, amount: '20.00' }]);
  await put('Payment', half, { refundedAmount: '10.00' });
  await put('Payment', half, { status: 'VOIDED', changeReason });
  const completed = await paid('10.00', [{ invoiceId: owed, amount: '10.00' }]);
  await put('Payment', completed, { status: 'RETURNED', changeReason });
  const twice = await paid('10.00');
  for (const refundedAmount of ['4.00', '10.00']) await put('Payment', twice, { refundedAmount });
  for (const states of [['COMPLETED'], ['FAILED', 'COMPLETED']]) {
    const ach = await paid('5.00', [{ invoiceId: owed, amount: '5.00' }], { method: 'ACH' });
    for (const status of states) await put('Payment', ach, { status, changeReason });
  }
  for (const covered of [[], [{ amount: '40.00' }], [{ amount: '100.00' }]]) {
    const bad = await imported('100.00');
    const payment = await paid(
      '100.00',
      covered.map(({ amount }) => ({ invoiceId: bad, amount })),
    );
    await put('Invoice', bad, { status: 'WRITTEN_OFF', writeOffReason: 'Bankrupt' });
    await put('Invoice', bad, { status: covered.length === 0 ? 'POSTED' : 'PARTIALLY_PAID', changeReason });
    await put('Invoice', bad, { status: 'WRITTEN_OFF', writeOffReason: 'Bankrupt' });
    await put('Payment', payment, { status: 'RETURNED', changeReason });
    await paid('40.00', [{ invoiceId: bad, amount: '40.00' }]);
  }
  await put('Invoice', await imported('0.00'), { status: 'VOIDED', voidReason: 'Billable' });
  const bad = await imported('100.00');
  const [some, more] = [
    await paid('40.00', [{ invoiceId: bad, amount: '40.00' }]),
    await paid('20.00', [{ invoiceId: bad, amount: '20.00' }]),
  ];
  await put('Invoice', bad, { status: 'WRITTEN_OFF', writeOffReason: 'Bankrupt' });
  await put('Payment', some, { status: 'RETURNED', changeReason });
  await paid('40.00', [{ invoiceId: bad, amount: '40.00' }]);
  await put('Payment', more, { allocations: [] });
  const jobId = await newJob(owner.id);
  const progress = { wipType: 'PROGRESS', clientId: owner.id, jobId, workDate: '2025-01-10', amount: '-70.00' };
  const credit = async (creditedInvoiceId: string | null) => {
    const wipId = await make('WipEntry', progress);
    const note = await posted([line('-70.00', { lineType: 'PROGRESS', wipIds: [wipId] })], { creditedInvoiceId });
    const { body } = await preparer.call<{ data: { id: string }[] }>('POST', '/gql/v1/payments/search', {
      where: { creditNoteId: { _eq: note } },
    });
    return { note, id: body.data[0]?.id ?? '' };
  };
  const invoiceId = await imported('90.00');
  const given = await credit(invoiceId);
  await put('Payment', given.id, { allocations: [{ invoiceId, amount: '70.00' }] });
  await put('Invoice', given.note, { status: 'VOIDED', voidReason: 'Wrong' });
  await put('Payment', given.id, { allocations: [] });
  await put('Invoice', given.note, { status: 'VOIDED', voidReason: 'Wrong' });
  const kept = await credit(null);
  await put('Payment', kept.id, { refundedAmount: '70.00' });
  await put('Payment', kept.id, { allocations: [{ invoiceId, amount: '20.00' }] });
});

test('clients', async () => {
  const gone = await newClient({ name: 'Gone', status: 'PROSPECT' });
  for (const status of ['ACTIVE', 'INACTIVE', 'ACTIVE', 'ARCHIVED', 'INACTIVE', 'ARCHIVED', 'ACTIVE'])
    await put('Client', gone.id, { status });
  for (const [index, status] of ['INACTIVE', 'ARCHIVED'].entries())
    await put('Client', (await newClient({ name: `Prospect ${index}`, status: 'PROSPECT' })).id, { status });
  const bill = await imported('20.00', { clientId: gone.id });
  const payment = await paid('20.00', [{ invoiceId: bill, amount: '20.00' }], { clientId: gone.id });
  await put('Client', gone.id, { status: 'ARCHIVED' });
  await put('Payment', payment, { status: 'RETURNED', changeReason });
});

test('engagements and letters', async () => {
  const client = await newClient({ name: 'Signing', status: 'PROSPECT' });
  const contactId = await make('Contact', { firstName: 'Ines', lastName: 'Calder' });
  await make('ContactClient', { contactId, clientId: client.id, roles: ['SIGNER'] });
  const engagement = async (more: object = {}) => {
    const body = { clientId: client.id, partnerId: staffId, fiscalYear: 2025, signerContactIds: [contactId], ...more };
    return (await record('new Engagement', () => engagements.create(body))).body.id;
  };
  const change = (id: string, body: object) =>
    record(`Engagement ${JSON.stringify(body)}`, () => engagements.update(id, body));
  const sign = (status: string) => ({
    signers: [{ contactId, status, ...(status === 'SIGNED' && { signedAt: '2025-02-01T10:00:00.000Z' }) }],
  });
  const jobId = await newJob(client.id);
  const main = await engagement({ jobIds: [jobId] });
  /** What the job does that writes a letter. */
  const writeLetter = () =>
    record('write letter', () =>
      asOperator(service.service, tenant, 'test', (unit) =>
        unit.plan((plan) => {
          const about = { fileName: 'Letter.pdf', source: 'DELIVERABLE', mimeType: 'application/pdf' } as const;
          const fileId = addFile(plan, about, { sha256: 'a'.repeat(64), sizeBytes: 1 });
          addFile(plan, about, { sha256: null, sizeBytes: 1 });
          for (const { id, fileId: written } of plan.all(engagementDocument, 'engagementId', main))
            if (written === null) plan.set(engagementDocument, id, { fileId });
        }),
      ),
    );
  await writeLetter();
  for (const body of [
    { feeAmount: '20.00' },
    { status: 'SENT' },
    sign('VIEWED'),
    { status: 'DRAFT' },
    { status: 'SENT' },
  ])
    await change(main, body);
  await writeLetter();
  for (const body of [{ status: 'DRAFT', feeAmount: '30.00' }, { status: 'SENT' }, sign('VIEWED'), sign('SIGNED')])
    await change(main, body);
  await work('1.00', jobId);
  for (const status of ['ON_HOLD', 'ACTIVE']) await change(main, { status });
  await put('WipEntry', await work('1.00', jobId), { writeOffAmount: '190.00', writeOffReason: 'Fee' });
  const bill = await draft([line('190.00', { wipIds: [await work('1.00', jobId)] })], { clientId: client.id });
  await remove('DraftInvoice', bill);
  const closed = await newJob(client.id);
  for (const status of ['READY', 'IN_PROGRESS']) await put('Job', closed, { status });
  const done = await engagement({ jobIds: [closed] });
  for (const body of [{ status: 'SENT' }, sign('SIGNED')]) await change(done, body);
  for (const status of ['IN_REVIEW', 'COMPLETED', 'CLOSED', 'COMPLETED']) await put('Job', closed, { status });
  const declined = await engagement();
  for (const body of [{ status: 'SENT' }, sign('VIEWED'), sign('DECLINED')]) await change(declined, body);
  const direct = await engagement();
  for (const body of [{ status: 'SENT' }, sign('DECLINED')]) await change(direct, body);
  const cancelled = await engagement();
  await change(cancelled, { status: 'CANCELLED' });
  const sent = await engagement();
  for (const status of ['SENT', 'CANCELLED']) await change(sent, { status });
  const executed = await engagement();
  for (const body of [{ status: 'SENT' }, sign('SIGNED'), { status: 'CANCELLED' }]) await change(executed, body);
  const active = await engagement();
  for (const body of [{ status: 'SENT' }, sign('SIGNED'), { status: 'ACTIVE' }, { status: 'COMPLETED' }])
    await change(active, body);
  const late = await engagement();
  for (const body of [{ expiresAt: now.add({ hours: 1 }).toString() }, { status: 'SENT' }]) await change(late, body);
  await record('expire letters', () => expireLetters.run({ ...tickOf(service), now: now.add({ hours: 2 }) }));
  const batch = async (...bodies: object[]) => {
    const { body } = await record('new batch', () => engagements.createBatch(bodies));
    const origin = { operation: 'job', requestId: body.batchId };
    const write = <T>(work: Parameters<typeof writeAsSystem<T>>[3]) =>
      writeAsSystem(service.service, tenant, origin, work, async () => undefined);
    const data = { batchId: body.batchId, requestedBy: 'user' };
    const run = {
      id: '',
      tenant,
      data,
      attempt: 1,
      signal: new AbortController().signal,
      log: service.service.log,
      service: service.service,
    };
    const read: Parameters<typeof createEngagements.run>[0]['read'] = (work) => store.read(tenant.id, work);
    await record('run batch', () => createEngagements.run({ ...run, read, write, finish: write }));
  };
  const [good, wrong] = [
    { clientId: client.id, partnerId: staffId, fiscalYear: 2025 },
    { clientId: staffId, partnerId: staffId, fiscalYear: 2025 },
  ];
  await batch(good);
  await batch(good, wrong);
  await batch(wrong);
});

test('links and the payment page', async () => {
  const tick = () =>
    record('check payments', async () => {
      now = now.add({ seconds: 11 });
      await store.write(tenant.id, (transaction) =>
        transaction.all(sql`update payment_attempt set next_check_at = now() - interval '1 second'
        where tenant_id = ${tenant.id} and next_check_at is not null`),
      );
      await followAttempts.run(tickOf(service));
    });
  const owing = async (amount: string) => {
    const client = await newClient({ name: `Owes ${amount}` });
    const invoiceId = await imported(amount, { clientId: client.id });
    return { client, invoiceId, link: await record('new link', () => linkOf(client.ref, { invoiceIds: [invoiceId] })) };
  };
  const pay = (path: string, details: Readonly<Record<string, string>>) =>
    record('pay', async () => void (await payer().pay(path, details)));
  const card = await owing('10.00');
  await pay(card.link.path, { ...goodCard, cardNumber: '4000000000000002' });
  await pay(card.link.path, goodCard);
  for (const account of ['000123456789', '000222222227', '000333333335']) {
    const { link } = await owing('20.00');
    await pay(link.path, accountOf(account));
    await tick();
    await tick();
  }
  const lost = await owing('30.00');
  const second = await linkOf(lost.client.ref, { invoiceIds: [lost.invoiceId] });
  await pay(lost.link.path, { ...goodCard, cardNumber: '4000000000003220' });
  await pay(second.path, goodCard);
  now = now.add({ hours: 1 });
  await tick();
  for (const change of [
    { status: 'VOIDED', voidReason: 'Wrong' },
    { status: 'WRITTEN_OFF', writeOffReason: 'Lost' },
  ])
    await put('Invoice', (await owing('40.00')).invoiceId, change);
  const applied = await owing('50.00');
  await paid('50.00', [{ invoiceId: applied.invoiceId, amount: '50.00' }], { clientId: applied.client.id });
  await remove('QuickPaymentLink', (await owing('60.00')).link.id);
  await owing('70.00');
  await record('expire links', () => expireLinks.run({ ...tickOf(service), now: now.add({ hours: 24 * 100 }) }));
});

test('history of another system', async () => {
  const jobId = await make('Job', { name: 'History', clientId: owner.id, billingType: 'TIME_AND_MATERIALS' });
  const [all, part] = [await work('1.00', jobId), await work('2.00', jobId)];
  const bill = (systemRef: string, lines: object[]) => {
    const attributes = {
      clientId: owner.id,
      pmsRef: systemRef,
      invoiceDate: '2025-01-31',
      dueDate: '2025-03-02',
      lines,
    };
    const records = [{ type: 'Invoice', systemRef, source: 'IMPORT', attributes }];
    return record(`import ${systemRef}`, () => preparer.call('POST', '/api/v1/records', { records }));
  };
  await bill('history-1', [
    line('190.00', { lineType: 'TIME', wipIds: [all] }),
    line('100.00', { lineType: 'PROGRESS', wipIds: [part] }),
  ]);
  await bill('history-2', [line('280.00', { lineType: 'TIME', wipIds: [part] })]);
});

/** Machines of other subjects, and states that only a row of another one has. */
const elsewhere = new Set(['FileStatus', 'EngagementSignerStatus', 'MailStatus']);
/** By machine, the types of its rows if the name does not say it. */
const types: Readonly<Record<string, readonly string[]>> = { EntryStatus: ['TimeEntry', 'ExpenseEntry'] };
/** Transitions of a row of which one transaction makes several. */
const unseen: readonly RegExp[] = [/DraftInvoice .*APPROVED/];

test('takes every transition that the contract declares', async () => {
  const missing: Step[] = [];
  for (const [name, schema] of Object.entries(contract.components.schemas)) {
    const machine = schema['x-state-machine'];
    if (machine === undefined || elsewhere.has(name)) continue;
    for (const type of types[name] ?? [name.replace(/Status$/, '')])
      for (const { from, to } of machine.transitions)
        for (const state of from) {
          const step: Step = `${type} ${state} > ${to}`;
          if (!recorder.steps.has(step) && !unseen.some((one) => one.test(step))) missing.push(step);
        }
  }
  await expect(`${recorder.lines.join('\n')}\n`).toMatchFileSnapshot('commands.snapshot.txt');
  expect(missing).toEqual([]);
});

/** More than the runs that any plan may take. */
const many = <Item>(create: (index: number) => Item) => Array.from({ length: 20 }, (_, index) => create(index));

test('a list of many entries needs no more runs than one of few', async () => {
  const { records, approving } = firm;
  const counted = async <Body>(title: string, method: string, path: string, body: object) => {
    const response = await recorder.count(title, () => preparer.call<Body>(method, path, body));
    expect([title, response.status < 300, response.body]).toEqual([title, true, response.body]);
    return response.body;
  };
  const write = async (type: string, rows: readonly object[]) =>
    (await records.upsert(rows.map((attributes) => ({ type, attributes })))).map(({ id, error }) => {
      if (id == null) throw new Error(JSON.stringify(error));
      return id;
    });
  const changed = async (title: string, items: Promise<readonly WriteItem[]>) =>
    expect([title, ...(await items).map(({ error }) => error)]).toEqual([title, null]);
  const change = (title: string, type: string, systemRef: string, attributes: object, calls = records) =>
    changed(
      title,
      recorder.count(title, () => calls.update([{ type, systemRef, attributes }])),
    );
  const deletion = (title: string, type: string, systemRef: string) =>
    changed(
      title,
      recorder.count(title, () => records.remove([{ type, systemRef }])),
    );

  await write(
    'Client',
    many((index) => ({ name: `Many ${index}`, clientRef: `MANY-${index}` })),
  );
  const clients = (more: object) => many((index) => ({ clientRef: `MANY-${index}`, ...more }));
  const link = async (title: string, more: object, pmsRef?: string) => {
    const contacts = [{ pmsRef, displayName: 'Of many', clients: clients(more) }];
    const path = '/api/v1/contacts/upsert';
    type Upserted = { succeeded: { pmsRef: string; systemRef: string }[] };
    const [one] = (await counted<Upserted>(title, 'POST', path, { contacts })).succeeded;
    if (one === undefined) throw new Error(`${title} failed.`);
    return one;
  };
  const contact = await link('link a contact to many clients', { roles: ['BILLING'] });
  await link('unlink a contact from many clients', { active: false }, contact.pmsRef);
  await link('link a contact to many clients again', { roles: ['BILLING'] }, contact.pmsRef);
  await deletion('delete a contact of many clients', 'Contact', contact.systemRef);

  const one = await newClient({ name: 'Of many' });
  const people = await preparer.call<{ succeeded: { id: string }[] }>('POST', '/api/v1/contacts/upsert', {
    contacts: many((index) => ({ lastName: `Signer ${index}`, clients: [{ clientRef: one.ref }] })),
  });
  const signerContactIds = people.body.succeeded.map(({ id }) => id);
  const letter = { clientId: one.id, fiscalYear: 2025, partnerId: staffId, signerContactIds };
  const letters = '/api/v1/engagements/create';
  await counted('an engagement with many signers', 'POST', letters, letter);

  const [staffTypeId] = await write('StaffType', [{ name: 'Many', code: 'MANY', rank: 9, isBillable: true }]);
  const staff = await write(
    'Staff',
    many((index) => ({
      ...{ staffRef: `MANY-${index}`, firstName: 'Ada', lastName: `Many ${index}`, staffTypeId, isBillable: true },
      email: `many-${index}@firm.example`,
    })),
  );
  const types = await write(
    'TaskType',
    many((index) => ({
      ...{ displayName: `Many ${index}`, code: `MANY-${index}`, isBillable: true, billingMethod: 'HOURLY' },
    })),
  );
  const [jobTemplateId] = await write('JobTemplate', [
    {
      ...{ name: 'Many tasks', billingType: 'TIME_AND_MATERIALS', publishedAt: '2025-01-01T00:00:00Z' },
      tasks: types.map((taskTypeId) => ({
        name: 'Task',
        taskTypeId,
        offsetDays: 0,
        budgetHours: '1.00',
        defaultStaffTypeId: staffTypeId,
      })),
    },
  ]);
  const staffAssignments = staff.map((staffId) => ({ staffId, role: 'PREPARER' }));
  type Created = { jobs: { id: string; taskIds: string[] }[] };
  const { jobs } = await counted<Created>('a job of many', 'POST', '/api/v1/projects/create_from_template', {
    clientId: one.id,
    jobTemplates: [{ jobTemplateId, staffAssignments }],
  });
  const [jobId = '', taskIds = []] = [jobs[0]?.id, jobs[0]?.taskIds];
  const ofTasks = taskIds.map((taskId) => ({ taskId, staffId: staff[0] }));
  const ofPeople = staff.map((staffId) => ({ taskId: taskIds[0], staffId }));
  for (const staffTaskAssignments of [ofTasks, ofPeople])
    await counted('assign many', 'POST', '/api/v1/projects/assign_staff', { staffTaskAssignments });
  await counted('remove a person from many tasks', 'POST', '/api/v1/projects/remove_staff', {
    staffJobAssignments: [{ staffId: staff[0], jobId }],
  });
  await deletion('delete a task of many people', 'Task', taskIds[0] ?? '');

  const own = await write(
    'Job',
    many((index) => ({ name: `Job ${index}`, clientId: one.id, billingType: 'TIME_AND_MATERIALS' })),
  );
  const wip = { wipType: 'ADJUSTMENT', clientId: one.id, workDate: '2025-01-06', amount: '10.00' };
  const wipIds = await write(
    'WipEntry',
    own.map((jobId) => ({ ...wip, jobId })),
  );
  const lines = own.map((jobId, index) => line('10.00', { jobId, wipIds: [wipIds[index]] }));
  const [draftId = ''] = await write('DraftInvoice', [{ clientId: one.id, ...dates, lines, jobIds: own }]);
  await change('many lines of a draft', 'DraftInvoice', draftId, {
    lines: lines.map((one) => ({ ...one, description: 'More work' })),
  });
  await change('a draft of many lines in review', 'DraftInvoice', draftId, { status: 'IN_REVIEW' });
  await change('post a draft of many lines', 'DraftInvoice', draftId, { status: 'APPROVED' }, approving);
  const invoice = { clientId: one.id, invoiceDate: '2025-01-31', dueDate: '2025-03-02', lines: [line('10.00')] };
  const invoiceIds = await write(
    'Invoice',
    many((index) => ({ ...invoice, pmsRef: `many-${index}` })),
  );
  const path = '/api/v1/clients/v1/link/payment';
  await counted('a link for many invoices', 'POST', path, { clientRef: one.ref, invoiceIds });
  for (const _ of invoiceIds) await linkOf(one.ref, { invoiceIds: invoiceIds.slice(0, 1) });
  await recorder.count('pay an invoice of many links', () =>
    records.make('Payment', {
      ...{ clientId: one.id, paymentDate: '2025-02-10', amount: '10.00', currency: 'USD', method: 'CHECK' },
      ...{ source: 'MANUAL', allocations: [{ invoiceId: invoiceIds[0], amount: '10.00' }] },
    }),
  );

  const two = await newClient({ name: 'Without documents' });
  const finished = await write(
    'Job',
    many((index) => ({ name: `Job ${index}`, clientId: two.id, billingType: 'TIME_AND_MATERIALS' })),
  );
  for (const fiscalYear of many((index) => 2000 + index))
    await preparer.call('POST', '/api/v1/engagements/create', { clientId: two.id, fiscalYear, partnerId: staffId });
  await change('the currency of a client with many jobs', 'Client', two.id, { currency: 'EUR' });

  const ofJobs = await counted<{ id: string }>('an engagement of many jobs', 'POST', letters, {
    ...{ clientId: two.id, fiscalYear: 2025, partnerId: staffId, jobIds: finished },
  });
  await deletion('delete an engagement of many jobs', 'Engagement', ofJobs.id);
  await preparer.call('POST', '/api/v1/projects/assign_staff', {
    staffJobAssignments: finished.map((jobId) => ({ jobId, staffId: staff[1], role: 'PREPARER' })),
  });
  await records.update(finished.map((systemRef) => ({ type: 'Job', systemRef, attributes: { status: 'CANCELLED' } })));
  await preparer.call('POST', '/api/v1/projects/remove_staff', { staffJobAssignments: [{ jobId, staffId: staff[1] }] });

  const key = { type: 'REFERENCE', referencedEntityType: 'Staff', referenceKeys: ['pmsRef'] };
  await records.define('Many', [
    ...many((index) => ({ name: `by${index}`, ...key })),
    ...many((index) => ({ name: `only${index}`, type: 'STRING', unique: true })),
  ]);
  const attributes = Object.fromEntries([
    ...staff.map((_, index) => [`by${index}`, { pmsRef: `MANY-${index}` }]),
    ...many((index) => [`only${index}`, 'x']),
  ]);
  await changed(
    'many references',
    recorder.count('many references', () => records.upsert([{ type: 'Many', systemRef: 'many', attributes }])),
  );
  await deletion('delete a person of many finished jobs', 'Staff', staff[1] ?? '');
});

test('runs no plan more often than docs/plans.md says', () => {
  const most = recorder.runs.toSorted((one, other) => other.runs - one.runs)[0];
  console.log(`The plan that runs most often, ${most?.runs} times: ${most?.title}`);
  expect(recorder.runs.filter(({ runs }) => runs > 16)).toEqual([]);
});

test('each event of a state machine has a command for each entity at most, and no other event has one', () => {
  const eventsOf = ({ transitions }: StateMachine) => new Set(transitions.flatMap(({ events = [] }) => events));
  const schemas = Object.values(contract.components.schemas);
  const named = new Set(schemas.flatMap(({ 'x-state-machine': machine }) => (machine ? [...eventsOf(machine)] : [])));
  const commands = commandsOfEvents();
  expect([...commands.keys()].toSorted()).toEqual([...named].toSorted());
  for (const [event, count] of commands)
    expect(
      [...allEntities()].filter(({ machine }) => machine !== undefined && eventsOf(machine).has(event)).length,
      event,
    ).toBeGreaterThanOrEqual(count);
});

test('the service changes a state only within a command', async () => {
  const id = await newJob(owner.id);
  const change = (work: (plan: Plan) => unknown) =>
    asOperator(service.service, tenant, 'test', (unit) => unit.plan(work));
  await expect(change((plan) => plan.set(job, id, { status: 'READY' }))).rejects.toThrow('Only a command');
});
