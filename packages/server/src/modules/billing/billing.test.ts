import { describe, expect, test } from 'vitest';
import { firm } from '../../../test/modules/billing.ts';
import { only } from '../../../test/modules/records.ts';
import { sharedService } from '../../../test/service.ts';
import { checkBooks } from '../../operator/books.ts';

const service = await sharedService();
const {
  approving,
  balances,
  client,
  draftOf,
  invoice,
  jobId,
  newClient,
  newJob,
  pay,
  payment,
  post,
  preparer,
  records,
  wip,
  workFor,
  workOn,
} = await firm(service);

describe('from time to a paid invoice', () => {
  test('creates every document, and updates every balance', async () => {
    const wipId = await workFor('3.50');
    expect(await wip(wipId)).toMatchObject({ status: 'OPEN', amount: '665.00', outstandingAmount: '665.00' });
    expect(await balances()).toMatchObject({ unbilledWip: '665.00', outstandingBalance: '0.00' });

    const draft = await draftOf([
      { lineType: 'TIME', quantity: '3.50', unitAmount: '180.00', wipIds: [wipId] },
      { lineType: 'OTHER', quantity: '1', unitAmount: '50.00', taxable: true, taxRatePercent: '8.25' },
      { lineType: 'DISCOUNT', quantity: '1', unitAmount: '-30.00' },
    ]);
    expect(draft.attributes).toMatchObject({
      draftNumber: expect.stringMatching(/^D-\d{4}-00001$/),
      status: 'DRAFT',
      standardAmount: '665.00',
      adjustmentAmount: '-35.00',
      subtotal: '680.00',
      discountTotal: '30.00',
      taxTotal: '4.13',
      total: '654.13',
      currency: 'USD',
      jobIds: [jobId],
    });
    expect(await wip(wipId)).toMatchObject({ status: 'IN_DRAFT', draftInvoiceId: draft.id });

    const invoiceId = await post(draft);
    expect(await invoice(invoiceId)).toMatchObject({
      invoiceNumber: 'INV-2026-00001',
      pmsRef: 'INV-2026-00001',
      status: 'POSTED',
      total: '654.13',
      amountDue: '654.13',
      clientName: 'Harbor & Pine LLC',
      billingAddress: { city: 'Portland' },
      draftInvoiceId: draft.id,
      isOverdue: true,
    });
    expect(await wip(wipId)).toMatchObject({
      status: 'BILLED',
      billedAmount: '630.00',
      writeOffAmount: '35.00',
      outstandingAmount: '0.00',
      invoiceId,
    });
    expect(await balances()).toEqual({
      outstandingBalance: '654.13',
      overdueBalance: '654.13',
      unbilledWip: '0.00',
      unappliedCredit: '0.00',
    });

    const paid = await pay('700.00', [{ invoiceId, amount: '654.13' }]);
    expect(paid.attributes).toMatchObject({
      paymentNumber: expect.stringMatching(/^PAY-\d{4}-00001$/),
      status: 'COMPLETED',
      unappliedAmount: '45.87',
      netAmount: '700.00',
      allocations: [{ invoiceId, invoiceNumber: 'INV-2026-00001', amount: '654.13' }],
    });
    expect(await invoice(invoiceId)).toMatchObject({
      status: 'PAID',
      amountPaid: '654.13',
      amountDue: '0.00',
      isOverdue: false,
      allocations: [{ paymentId: paid.id, amount: '654.13' }],
    });
    expect(await balances()).toMatchObject({ outstandingBalance: '0.00', unappliedCredit: '45.87' });
    for (const [path, where] of [
      ['/gql/v1/payments/search', { allocations: { invoiceId: { _eq: invoiceId } } }],
      [
        '/gql/v1/invoices/search',
        { allocations: { amount: { _gte: '654.13' } }, client: { name: { _like: 'Harbor%' } } },
      ],
    ] as const) {
      const found = await preparer.call<{ data: { id: string }[] }>('POST', path, { where });
      expect(found.body.data.map(({ id }) => id)).toEqual([path.includes('payments') ? paid.id : invoiceId]);
    }

    const refunded = only(
      await records.update([{ type: 'Payment', systemRef: paid.id, attributes: { refundedAmount: '100.00' } }]),
    );
    expect(refunded).toMatchObject({
      status: 'UPDATED',
      attributes: { status: 'PARTIALLY_REFUNDED', unappliedAmount: '0.00' },
    });
    expect(await invoice(invoiceId)).toMatchObject({
      status: 'PARTIALLY_PAID',
      amountPaid: '600.00',
      amountDue: '54.13',
    });
    expect(await payment(paid.id)).toMatchObject({ allocations: [{ amount: '600.00' }] });
    expect(await balances()).toMatchObject({ outstandingBalance: '54.13', unappliedCredit: '0.00' });

    const history = await preparer.call<{ data: { action: string; revision: number; changes: object }[] }>(
      'POST',
      '/gql/v1/draft_invoice_histories/search',
      { where: { draftInvoiceId: { _eq: draft.id } }, orderBy: [{ revision: 'asc' }] },
    );
    expect(history.body.data.map(({ revision, action }) => [revision, action])).toEqual([
      [1, 'CREATED'],
      [2, 'SUBMITTED'],
      [3, 'APPROVED'],
      [4, 'POSTED'],
    ]);
  });

  test.each([
    ['of zero', [{ unitAmount: '0.00' }]],
    ['that add up to zero', [{ unitAmount: '100.00' }, { lineType: 'DISCOUNT' as const, unitAmount: '-200.00' }]],
  ])('an invoice over nothing, with lines %s, can be voided, and releases its work', async (_, [line, ...more]) => {
    const [wipId, before] = [await workFor('2.00'), await balances()];
    const billed = { lineType: 'TIME' as const, quantity: '2', jobId, wipIds: [wipId], ...line };
    const bill = await invoice(await post(await draftOf([billed, ...more])));
    expect(bill).toMatchObject({ status: 'PAID', total: '0.00' });
    expect(await balances()).not.toEqual(before);
    const voiding = { status: 'VOIDED', voidReason: 'The work is billable' };
    const voided = (attributes: object) => records.update([{ type: 'Invoice', systemRef: bill.systemRef, attributes }]);
    expect(await voided({ ...voiding, changeDate: '2000-01-01' })).toMatchObject([
      { error: { code: 'VALIDATION_ERROR' } },
    ]);
    const values = { status: 'VOIDED', paidAt: null, paidDate: null };
    expect(await voided(voiding)).toMatchObject([{ attributes: values }]);
    expect(await balances()).toEqual(before);
    const { tenant } = service;
    expect((await checkBooks({ service: service.service }, { tenant: tenant.name, repair: false })).breaches).toEqual(
      [],
    );
    const path = `/api/v1/clients/${client.id}/statement?from=2026-01-01`;
    const statement = await preparer.call<{ data: { amount: string }[] }>('GET', path);
    expect(statement.body.data.filter(({ amount }) => amount === '0.00')).toEqual([]);
  });

  test('a voided invoice releases its work', async () => {
    const wipId = await workFor('1.00');
    const invoiceId = await post(await draftOf([{ lineType: 'TIME', unitAmount: '200.00', wipIds: [wipId] }]));
    expect(await wip(wipId)).toMatchObject({ status: 'BILLED', writeUpAmount: '10.00' });
    const voided = only(
      await records.update([
        {
          type: 'Invoice',
          systemRef: (await invoice(invoiceId)).systemRef,
          attributes: { status: 'VOIDED', voidReason: 'Wrong' },
        },
      ]),
    );
    expect(voided).toMatchObject({ status: 'UPDATED', attributes: { status: 'VOIDED', amountDue: '0.00' } });
    expect(await wip(wipId)).toMatchObject({
      status: 'OPEN',
      writeUpAmount: '0.00',
      outstandingAmount: '190.00',
      invoiceId: null,
    });
  });

  test('a link is created, and invalidated by another payment', async () => {
    const other = await newClient();
    const imported = await records.make('Invoice', {
      pmsRef: '20355',
      clientId: other.id,
      invoiceDate: '2026-01-01',
      dueDate: '2026-01-31',
      lines: [{ lineType: 'FIXED_FEE', description: 'Books', quantity: '1', unitAmount: '500.00', taxable: false }],
    });
    const link = await preparer.call<Record<string, unknown>>('POST', '/api/v1/clients/v1/link/payment', {
      clientRef: other.ref,
      invoiceIds: [imported.id],
    });
    expect(link).toMatchObject({
      status: 201,
      body: { status: 'ACTIVE', amount: '500.00', invoices: [{ invoiceNumber: imported.attributes?.invoiceNumber }] },
    });
    const unpaid = await preparer.call('GET', `/api/v1/invoices/unpaid?clientRef=${other.ref}`);
    expect(unpaid.body).toMatchObject({ data: [{ id: imported.id }] });
    await pay('10.00', [{ invoiceId: imported.id, amount: '10.00' }], { clientId: other.id });
    const { body } = await records.lookup('QuickPaymentLink');
    expect(body.data).toMatchObject([{ attributes: { status: 'INVALIDATED' } }]);
    expect(client.id).not.toBe(other.id);
    expect(approving).toBeDefined();
  });

  test('a link asks for no money that is pending already', async () => {
    const { id, ref: clientRef } = await newClient();
    const line = { lineType: 'FIXED_FEE', description: 'Books', quantity: '1', unitAmount: '500.00', taxable: false };
    const days = { invoiceDate: '2026-01-01', dueDate: '2026-01-31' };
    const bill = await records.make('Invoice', { pmsRef: '20356', clientId: id, ...days, lines: [line] });
    const link = (amount?: string) =>
      preparer.call('POST', '/api/v1/clients/v1/link/payment', { clientRef, invoiceIds: [bill.id], amount });
    const pending = (amount: string) => pay(amount, [{ invoiceId: bill.id, amount }], { clientId: id, method: 'ACH' });
    const rejected = (pointer: string, detail: string) => ({
      status: 409,
      body: { code: 'INVALID_STATE', errors: [{ pointer, detail }] },
    });
    await pending('400.00');
    const part =
      'Payments of 400.00 USD are pending on these invoices. Wait for their result, or create a link for at most 100.00 USD.';
    expect(await link()).toMatchObject(rejected('/invoiceIds', part));
    expect(await link('100.01')).toMatchObject(rejected('/amount', part));
    expect(await link('500.01')).toMatchObject({ status: 400 });
    expect(await link('100.00')).toMatchObject({ status: 201, body: { amount: '100.00' } });
    await pending('100.00');
    const all = 'Payments of 500.00 USD are pending on these invoices. Wait for their result.';
    expect(await link()).toMatchObject(rejected('/invoiceIds', all));
  });
});

describe('updateRecords', () => {
  test('accepts the lines of a draft in review only if they are unchanged', async () => {
    const line = {
      lineType: 'OTHER',
      description: 'Work',
      quantity: '1',
      unitAmount: '100.00',
      taxable: false,
    } as const;
    const { systemRef } = await draftOf([line]);
    const update = async (attributes: object) =>
      only(await records.update([{ type: 'DraftInvoice', systemRef, attributes }]));
    await update({ status: 'IN_REVIEW' });
    expect(await update({ lines: [line] })).toMatchObject({ status: 'UNCHANGED' });
    expect(await update({ lines: [{ ...line, unitAmount: '200.00' }] })).toMatchObject({
      error: { code: 'INVALID_STATE', pointer: '/records/0/attributes/lines' },
    });
  });

  test('keeps the currency of a client with invoices', async () => {
    const owner = await newClient();
    const { systemRef } = await records
      .upsert([{ type: 'Client', systemRef: 'owner', attributes: { name: 'Owner' } }])
      .then(only);
    expect(
      await records.update([{ type: 'Client', systemRef, attributes: { currency: 'EUR' } }]).then(only),
    ).toMatchObject({
      status: 'UPDATED',
    });
    await draftOf([{}], { clientId: owner.id }).then(post);
    expect(
      await records.update([{ type: 'Client', systemRef: owner.id, attributes: { currency: 'EUR' } }]).then(only),
    ).toMatchObject({ error: { code: 'INVALID_STATE', pointer: '/records/0/attributes/currency' } });
  });

  test('a payment changes the balances of its client, and therefore its version', async () => {
    const owner = await newClient();
    const read = async () =>
      (await preparer.call<{ version: number }>('GET', `/gql/v1/client/${owner.id}`)).body.version;
    const before = await read();
    const { id } = await pay('10.00', [], { clientId: owner.id });
    expect(await read()).toBe(before + 1);
    await records.update([
      { type: 'Payment', systemRef: (await payment(id)).systemRef, attributes: { status: 'VOIDED' } },
    ]);
    expect(await read()).toBe(before + 2);
  });
});

test('a draft bills more rows of work than the most runs of a plan', async () => {
  const own = await newJob(client.id);
  const wipIds: string[] = [];
  for (const day of ['2026-01-12', '2026-01-13']) wipIds.push(...(await workOn(Array(60).fill(day), '0.10', own)));
  expect(wipIds.length).toBeGreaterThan(100);
  const draft = await draftOf([{ lineType: 'TIME', unitAmount: '2000.00', wipIds }]);
  expect(await invoice(await post(draft))).toMatchObject({ status: 'POSTED', total: '2000.00' });
});

describe('getProject', () => {
  const project = async (id: string) =>
    (await preparer.call<{ realizationPercent: string; writeOffAmount: string }>('GET', `/gql/v1/project/${id}`)).body;

  test('shows billing beyond standard as a realization of more than 100', async () => {
    const owner = await newClient();
    const own = await newJob(owner.id);
    const wipId = await workFor('1.00', own, '2026-01-06');
    await draftOf([{ lineType: 'TIME', unitAmount: '228.00', wipIds: [wipId] }], { clientId: owner.id }).then(post);
    expect(await project(own)).toMatchObject({ writeOffAmount: '0.00', realizationPercent: '120' });
  });

  test('shows a negative row that is written off', async () => {
    const owner = await newClient();
    const own = await newJob(owner.id);
    const row = { wipType: 'ADJUSTMENT', clientId: owner.id, jobId: own, workDate: '2026-01-06', amount: '-228.00' };
    const { systemRef } = await records.make('WipEntry', row);
    const wipId = await workFor('1.20', own, '2026-01-06');
    await draftOf([{ lineType: 'TIME', unitAmount: '228.00', wipIds: [wipId] }], { clientId: owner.id }).then(post);
    const attributes = { writeOffAmount: '-228.00', writeOffReason: 'Agreed' };
    expect(only(await records.update([{ type: 'WipEntry', systemRef, attributes }]))).toMatchObject({
      status: 'UPDATED',
    });
    expect(await project(own)).toMatchObject({ writeOffAmount: '-228.00', realizationPercent: '0' });
  });
});
