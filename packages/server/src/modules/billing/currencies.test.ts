/** Documents are in the currency of their client, and amounts have the minor units of their currency. */
import { codes } from 'currency-codes';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { firm } from '../../../test/modules/billing.ts';
import { only } from '../../../test/modules/records.ts';
import { timeOf } from '../../../test/modules/time.ts';
import { sharedService } from '../../../test/service.ts';
import { placesOf } from '../../contract/currency.ts';
import { checkBooks } from '../../operator/books.ts';

const service = await sharedService();
const { approver, draftOf, invoice, newClient, post, preparer, records, staffId, wip } = await firm(service);
const { store, tenant } = service;

const create = async (type: string, attributes: object) => only(await records.upsert([{ type, attributes }]));
const change = async (type: string, systemRef: string | null, attributes: object) =>
  only(await records.update([{ type, systemRef, attributes }]));
const rejected = (field: string, code = 'VALIDATION_ERROR') => ({
  status: 'FAILED',
  error: { code, pointer: `/records/0/attributes/${field}` },
});

const japan = await newClient({ currency: 'JPY' });
const price = (unitAmount: string) => [
  { lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount, taxable: true, taxRatePercent: '10' },
];
let refs = 0;
const importOf = (clientId: string, more: object = {}) => ({
  ...{ clientId, pmsRef: `currency-${++refs}`, invoiceDate: '2026-01-31', dueDate: '2026-03-02' },
  ...{ lines: price('100.00'), ...more },
});
const paymentOf = (clientId: string, more: object = {}) => ({
  ...{ clientId, paymentDate: '2026-02-01', amount: '100.00', currency: 'USD', method: 'CHECK', source: 'MANUAL' },
  ...{ allocations: [], ...more },
});
const jobOf = (clientId: string, more: object = {}) => ({
  ...{ name: 'Work', clientId, status: 'PLANNED', billingType: 'FIXED_FEE', feeAmount: '5000.00', ...more },
});

test('minor_units in SQL is what the service uses', async () => {
  const known = [...new Set(codes()), 'XCG', 'XAD'];
  const rows = await store.read(tenant.id, (session) =>
    session.all<{ code: string; places: number }>(
      sql`select code, minor_units(code) as places from unnest(${known}::text[]) as code`,
    ),
  );
  expect(rows).toEqual(known.map((code) => ({ code, places: placesOf(code) })));
});

describe('the currency of a document', () => {
  test('is that of the client, if it is omitted', async () => {
    const { id: clientId } = await newClient({ currency: 'EUR' });
    const { id } = await records.make('Invoice', importOf(clientId));
    expect(await invoice(id)).toMatchObject({ currency: 'EUR' });
  });

  test.each([
    ['Invoice', importOf],
    ['DraftInvoice', (id: string, more: object) => ({ ...draftFields(id), ...more })],
    ['Payment', paymentOf],
    ['Job', jobOf],
  ] as const)(
    'upsertRecords rejects a %s in another one, and says what it accepts: that one, or none',
    async (type, fields) => {
      const { id: clientId } = await newClient({ currency: 'EUR' });
      const wrong = await create(type, fields(clientId, { currency: 'USD' }));
      expect(wrong).toMatchObject(rejected('currency'));
      expect(wrong.error?.detail).toContain('Omit currency, or send EUR.');
      for (const currency of ['EUR', undefined]) {
        const created = await create(type, fields(clientId, { currency }));
        expect(created).toMatchObject({ status: 'CREATED', attributes: { currency: 'EUR' } });
      }
    },
  );

  test('createEngagement gets that of the client, and PATCH rejects another one', async () => {
    const { ref: clientRef } = await newClient({ currency: 'EUR' });
    const body = { clientRef, fiscalYear: 2026, partnerId: staffId };
    const made = await preparer.call<{ id: string; currency: string }>('POST', '/api/v1/engagements/create', body);
    expect(made.body).toMatchObject({ currency: 'EUR' });
    const patched = await preparer.call<object>('PATCH', `/api/v1/engagements/${made.body.id}`, { currency: 'USD' });
    expect(patched).toMatchObject({ status: 400, body: { errors: [{ pointer: '/currency' }] } });
  });

  test('is fixed once there is a document; jobs follow the client until then', async () => {
    const { id } = await newClient();
    const { systemRef } = (await preparer.call<{ systemRef: string }>('GET', `/gql/v1/client/${id}`)).body;
    const { id: jobId } = await records.make('Job', jobOf(id));
    expect(await change('Client', systemRef, { currency: 'EUR' })).toMatchObject({ status: 'UPDATED' });
    const { body } = await preparer.call('GET', `/gql/v1/job/${jobId}`);
    expect(body).toMatchObject({ currency: 'EUR', version: 2 });
    await records.make('DraftInvoice', draftFields(id));
    expect(await change('Client', systemRef, { currency: 'GBP' })).toMatchObject(rejected('currency', 'INVALID_STATE'));
  });

  test('has at most two decimals', async () => {
    const client = { name: 'Gulf', currency: 'KWD' };
    expect(await create('Client', client)).toMatchObject(rejected('currency'));
  });
});

describe('amounts in JPY', () => {
  test.each([
    ['Payment', 'amount', paymentOf(japan.id, { currency: 'JPY', amount: '100.55' })],
    ['Job', 'feeAmount', jobOf(japan.id, { feeAmount: '100.55' })],
    ['Job', 'budgetAmount', jobOf(japan.id, { budgetAmount: '100.55' })],
  ])('upsertRecords rejects a %s with decimals in %s', async (type, field, attributes) => {
    expect(await create(type, attributes)).toMatchObject({
      ...rejected(field),
      error: { detail: 'JPY has no decimals. Send a whole amount, such as 100.00.' },
    });
  });

  test('are whole in work, time, expenses, refunds, allocations and links', async () => {
    const { id: jobId } = await records.make('Job', jobOf(japan.id));
    const row = { wipType: 'PROGRESS', clientId: japan.id, jobId, workDate: '2026-01-10', amount: '100.55' };
    expect(await create('WipEntry', row)).toMatchObject(rejected('amount'));
    const { systemRef } = await records.make('WipEntry', { ...row, amount: '100.00' });
    await change('WipEntry', systemRef, { writeOffAmount: '100.00', writeOffReason: 'Because' });
    expect(await change('WipEntry', systemRef, { writeOffAmount: '10.50' })).toMatchObject(rejected('writeOffAmount'));
    await timeOf(preparer).codes([
      { type: 'ExpenseCode', systemRef: 'TRAIN', attributes: { code: 'TRAIN', name: 'Train', isBillable: true } },
    ]);
    const expense = { staffId, jobId, code: 'TRAIN', expenseDate: '2026-01-10', description: 'x', status: 'DRAFT' };
    const amounts = { cost: '80.00', billableAmount: '80.50' };
    const item = only(
      await timeOf(preparer).entries([
        { type: 'ExpenseEntry', systemRef: 'jpy-1', attributes: { ...expense, ...amounts } },
      ]),
    );
    expect(item).toMatchObject(rejected('billableAmount'));
    const paid = await records.make('Payment', paymentOf(japan.id, { currency: 'JPY' }));
    expect(await change('Payment', paid.systemRef, { refundedAmount: '10.50' })).toMatchObject(
      rejected('refundedAmount'),
    );
    const { id: invoiceId } = await records.make('Invoice', importOf(japan.id));
    const allocations = [{ invoiceId, amount: '10.50' }];
    expect(await change('Payment', paid.systemRef, { allocations })).toMatchObject(rejected('allocations/0/amount'));
    const link = { clientRef: japan.ref, amount: '100.55' };
    expect(await preparer.call('POST', '/api/v1/clients/v1/link/payment', link)).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/amount' }] },
    });
  });

  test('that the service calculates are rounded half up to whole ones', async () => {
    const { id } = await records.make('Invoice', importOf(japan.id, { lines: price('104.5') }));
    const { lines, total } = await invoice(id);
    expect([lines[0]?.amount, lines[0]?.taxAmount, total]).toEqual(['105.00', '11.00', '116.00']);

    // Three rows share 100, and time is worth a whole amount.
    const { id: jobId } = await records.make(
      'Job',
      jobOf(japan.id, { billingType: 'TIME_AND_MATERIALS', feeAmount: null }),
    );
    const rate = { staffId, jobId, role: 'PREPARER', billingRateOverride: '33.35' };
    const assigned = await preparer.call('POST', '/api/v1/projects/assign_staff', { staffJobAssignments: [rate] });
    expect(assigned).toMatchObject({ status: 200 });
    const wipIds: string[] = [];
    for (const workDate of ['2026-01-05', '2026-01-06', '2026-01-07']) {
      const entry = { type: 'TimeEntry', systemRef: `jpy-${workDate}` };
      const attributes = { staffId, jobId, workDate, hours: '1.10', isBillable: true, status: 'SUBMITTED' };
      expect(only(await timeOf(preparer).entries([{ ...entry, attributes }]))).toMatchObject({ error: null });
      const approved = only(await timeOf(approver).entries([{ ...entry, attributes: { status: 'APPROVED' } }]));
      expect(approved).toMatchObject({ error: null });
      wipIds.push(String(Object(approved.attributes).wipId));
    }
    expect(await wip(wipIds[0] ?? '')).toMatchObject({ amount: '37.00' });
    const draft = await draftOf([{ lineType: 'TIME', unitAmount: '100', wipIds }], { clientId: japan.id });
    await post(draft);
    const billed = await Promise.all(wipIds.map(async (one) => (await wip(one)).billedAmount));
    expect(billed).toEqual(['33.00', '33.00', '34.00']);
    expect((await checkBooks({ service: service.service }, { tenant: tenant.name, repair: false })).breaches).toEqual(
      [],
    );
  });
});

test('books check lists rows from before these rules, and they keep their client from being archived', async () => {
  const { id: clientId } = await newClient({ currency: 'EUR' });
  const { id, systemRef } = await records.make('Invoice', importOf(clientId));
  await store.write(tenant.id, (transaction) =>
    transaction.all(sql`update invoice set currency = 'USD' where id = ${id}`),
  );
  const found = await checkBooks({ service: service.service }, { tenant: tenant.name, repair: false });
  expect(found.breaches.map(({ rule, id: row }) => [rule, row])).toEqual([
    ['the currency of a row of invoice is that of its client', id],
  ]);
  const owner = (await preparer.call<{ systemRef: string }>('GET', `/gql/v1/client/${clientId}`)).body;
  expect(await change('Client', owner.systemRef, { status: 'ARCHIVED' })).toMatchObject(
    rejected('status', 'INVALID_STATE'),
  );
  // Money in its currency pays it.
  const paid = paymentOf(clientId, { amount: '110.00', allocations: [{ invoiceId: id, amount: '110.00' }] });
  expect(await create('Payment', paid)).toMatchObject({ status: 'CREATED' });
  expect(await invoice(id)).toMatchObject({ status: 'PAID', systemRef });
});

function draftFields(clientId: string) {
  const dates = { billThroughDate: '2026-01-31', proposedInvoiceDate: '2026-01-31', dueDate: '2026-03-02' };
  return { clientId, ...dates, lines: price('100.00') };
}
