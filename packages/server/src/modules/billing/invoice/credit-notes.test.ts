/** A draft with a negative total becomes a credit note, whose credit is applied like money. */
import type { components } from '@financial-automation/spec';
import { describe, expect, test } from 'vitest';
import { firm } from '../../../../test/modules/billing.ts';
import { only, type WriteResult } from '../../../../test/modules/records.ts';
import { sharedService } from '../../../../test/service.ts';
import { findBreaches } from '../ledger/invariants.ts';
import { differencesOf } from '../ledger/kept-sums.ts';

type Schemas = components['schemas'];

const service = await sharedService();
const { approver, balances, draftOf, invoice, newClient, newJob, pay, payment, post, preparer, records, wip } =
  await firm(service);

async function change(type: string, systemRef: string | null | undefined, attributes: object) {
  return only(await records.update([{ type, systemRef: systemRef ?? '', attributes }]));
}

/** Negative work of a new client: a progress bill that is taken back. */
async function negativeWork(amount = '-100.00') {
  const { id: clientId, ref } = await newClient();
  const jobId = await newJob(clientId);
  const row = { wipType: 'PROGRESS', clientId, jobId, workDate: '2026-01-10', amount };
  return { clientId, clientRef: ref, jobId, wipId: (await records.make('WipEntry', row)).id };
}

/** A credit note over negative work, with its credit. */
async function creditNote(amount = '-100.00', more: object = {}) {
  const work = await negativeWork(amount);
  const line = { lineType: 'PROGRESS' as const, unitAmount: amount, wipIds: [work.wipId] };
  const note = await invoice(await post(await draftOf([line], { clientId: work.clientId, ...more })));
  return { ...work, note, credit: await creditOf(note.id) };
}

async function creditOf(noteId: string): Promise<Schemas['Payment']> {
  const { body } = await preparer.call<Schemas['PaymentPage']>('POST', '/gql/v1/payments/search', {
    where: { creditNoteId: { _eq: noteId } },
  });
  const [credit, ...others] = body.data;
  if (credit === undefined || others.length > 0) throw new Error(`${noteId}: ${JSON.stringify(body)}`);
  return credit;
}

let bills = 0;
async function bill(amount: string, clientId: string, more: object = {}) {
  const line = { lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: amount, taxable: false };
  const dates = { invoiceDate: '2026-01-20', dueDate: '2026-03-02' };
  return records.make('Invoice', { pmsRef: `credited-${++bills}`, clientId, ...dates, lines: [line], ...more });
}

async function movesOf(where: object) {
  const { body } = await preparer.call<Schemas['LedgerEntryPage']>('POST', '/gql/v1/ledger_entries/search', {
    where,
    orderBy: [{ recordedAt: 'asc' }],
  });
  return body.data.map(({ account, kind, amount, businessDate }) => `${account} ${kind} ${amount} ${businessDate}`);
}

async function findings() {
  const { id } = service.tenant;
  return service.store.read(id, async (session) => [
    ...(await findBreaches(session, id)),
    ...(await differencesOf(session, id)),
  ]);
}

const rejected = (code: string, field: string) => ({
  status: 'FAILED',
  error: { code, pointer: `/records/0/attributes/${field}` },
});
const voided = { status: 'VOIDED', voidReason: 'Credited twice' };

describe('updateRecords › approval of a DraftInvoice with a negative total', () => {
  test('posts a credit note that relieves negative work, and its credit', async () => {
    const { clientId, jobId, wipId, note, credit } = await creditNote();
    expect(note).toMatchObject({
      documentType: 'CREDIT_NOTE',
      status: 'POSTED',
      total: '-100.00',
      amountDue: '0.00',
      isOverdue: false,
      creditedInvoiceId: null,
      invoiceNumber: expect.stringMatching(/^CN-2026-0000\d$/),
    });
    expect(await wip(wipId)).toMatchObject({ status: 'BILLED', outstandingAmount: '0.00', invoiceId: note.id });
    const fixed = { method: 'CREDIT', source: 'CREDIT_NOTE', status: 'COMPLETED', netAmount: '0.00' };
    expect(credit).toMatchObject({ ...fixed, amount: '100.00', unappliedAmount: '100.00', paymentDate: '2026-01-31' });
    expect(await balances(clientId)).toMatchObject({
      outstandingBalance: '0.00',
      overdueBalance: '0.00',
      unbilledWip: '0.00',
      unappliedCredit: '100.00',
    });
    expect(await movesOf({ clientId: { _eq: clientId } })).toEqual([
      'WIP WORK -100.00 2026-01-10',
      expect.anything(),
      expect.anything(),
    ]);
    expect(await movesOf({ invoiceId: { _eq: note.id } })).toEqual(
      expect.arrayContaining(['WIP BILLED 100.00 2026-01-31', 'CREDIT CREDIT_NOTE 100.00 2026-01-31']),
    );
    const { body: project } = await preparer.call('GET', `/gql/v1/project/${jobId}`);
    expect(project).toMatchObject({ billedAmount: '-100.00' });
    expect(await findings()).toEqual([]);
  });

  test('numbers concurrent credit notes without gaps, apart from invoices', async () => {
    const drafts = [];
    for (let index = 0; index < 6; index++) {
      const { clientId, jobId } = await negativeWork('-1.00');
      const lineType = index % 2 === 0 ? 'DISCOUNT' : 'OTHER';
      const unitAmount = index % 2 === 0 ? '-30.00' : '30.00';
      const draft = await draftOf([{ lineType, jobId, unitAmount }], { clientId });
      expect(await change('DraftInvoice', draft.systemRef, { status: 'IN_REVIEW' })).toMatchObject({ error: null });
      drafts.push(draft.systemRef ?? '');
    }
    const posted = await Promise.all(
      drafts.map(async (systemRef) => {
        const [item] = (
          await approver.handle('updateRecords', {
            body: { records: [{ type: 'DraftInvoice', systemRef, attributes: { status: 'APPROVED' } }] },
          })
        ).body.records;
        return invoice(String(Object(item?.attributes).invoiceId));
      }),
    );
    const types = posted.map(({ documentType }) => documentType);
    expect(types.filter((type) => type === 'CREDIT_NOTE')).toHaveLength(3);
    expect(new Set(posted.map(({ invoiceNumber }) => invoiceNumber)).size).toBe(6);
    // It includes that the numbers of each type have no gap.
    expect(await findings()).toEqual([]);
  });

  test('with Dry-Run, consumes no number', async () => {
    const { clientId, wipId } = await negativeWork();
    const draft = await draftOf([{ lineType: 'PROGRESS', unitAmount: '-100.00', wipIds: [wipId] }], { clientId });
    await change('DraftInvoice', draft.systemRef, { status: 'IN_REVIEW' });
    const body = {
      records: [{ type: 'DraftInvoice', systemRef: draft.systemRef, attributes: { status: 'APPROVED' } }],
    };
    const dry = await approver.call<{ records: { status: string }[] }>('PUT', '/api/v1/records', body, {
      'Dry-Run': 'true',
    });
    expect(dry.body.records).toMatchObject([{ status: 'UPDATED', attributes: { status: 'POSTED' } }]);
    expect(await wip(wipId)).toMatchObject({ status: 'IN_DRAFT' });
    const real = await approver.call<{ records: { status: string }[] }>('PUT', '/api/v1/records', body);
    expect(real.body.records).toMatchObject([{ status: 'UPDATED' }]);
    expect(await findings()).toEqual([]);
  });

  test('rejects a note in a closed period, and a void on a closed day', async () => {
    const { body: orgs } = await preparer.call<{ data: { systemRef: string }[] }>('POST', '/gql/v1/orgs', {});
    const { note, wipId } = await creditNote();
    const work = await negativeWork();
    const line = { lineType: 'PROGRESS' as const, unitAmount: '-100.00', wipIds: [work.wipId] };
    const draft = await draftOf([line], { clientId: work.clientId });
    await change('DraftInvoice', draft.systemRef, { status: 'IN_REVIEW' });
    const org = orgs.data[0]?.systemRef;
    await change('Org', org, { booksClosedThrough: '2026-01-31' });
    const item = { type: 'DraftInvoice', systemRef: draft.systemRef, attributes: { status: 'APPROVED' } };
    const { body } = await approver.call<{ records: object[] }>('PUT', '/api/v1/records', { records: [item] });
    expect(body.records).toMatchObject([rejected('PERIOD_CLOSED', 'status')]);
    expect(await change('Invoice', note.systemRef, { ...voided, changeDate: '2026-01-31' })).toMatchObject(
      rejected('PERIOD_CLOSED', 'changeDate'),
    );
    expect(await change('Invoice', note.systemRef, { ...voided, changeDate: '2026-02-10' })).toMatchObject({
      status: 'UPDATED',
    });
    expect(await movesOf({ invoiceId: { _eq: note.id } })).toEqual(
      expect.arrayContaining(['CREDIT NOTE_VOID -100.00 2026-02-10', 'WIP UNBILLED -100.00 2026-02-10']),
    );
    expect(await wip(wipId)).toMatchObject({ status: 'OPEN', outstandingAmount: '-100.00' });
    await change('Org', org, { booksClosedThrough: null, changeReason: 'Other tests' });
  });
});

describe('updateRecords › Payment of a credit note', () => {
  test('is applied and unapplied like money; paying it out refunds the money of the invoice', async () => {
    const { clientId, credit, note } = await creditNote('-60.00');
    const paidBill = await bill('100.00', clientId);
    const money = await pay('100.00', [{ invoiceId: paidBill.id, amount: '100.00' }], { clientId });
    const applyCredit = (amount: string) =>
      change('Payment', credit.systemRef, { allocations: [{ invoiceId: paidBill.id, amount }] });
    // Nothing is due: the money has to make room first.
    expect(await applyCredit('60.00')).toMatchObject({ error: { code: 'INVALID_STATE' } });
    const kept = { allocations: [{ invoiceId: paidBill.id, amount: '40.00' }], changeReason: 'Paid out' };
    expect(await change('Payment', money.systemRef, kept)).toMatchObject({ status: 'UPDATED' });
    expect(await applyCredit('60.00')).toMatchObject({ status: 'UPDATED' });
    expect(await invoice(paidBill.id)).toMatchObject({ status: 'PAID', amountPaid: '40.00', amountCredited: '60.00' });
    expect(await change('Payment', money.systemRef, { refundedAmount: '60.00' })).toMatchObject({ status: 'UPDATED' });
    expect(await payment(money.id)).toMatchObject({ status: 'PARTIALLY_REFUNDED', unappliedAmount: '0.00' });
    expect(await balances(clientId)).toMatchObject({ outstandingBalance: '0.00', unappliedCredit: '0.00' });

    expect(await change('Invoice', note.systemRef, voided)).toMatchObject({
      ...rejected('INVALID_STATE', 'status'),
      error: { detail: expect.stringContaining('creditNoteId') },
    });
    await change('Payment', credit.systemRef, { allocations: [], changeReason: 'Wrong invoice' });
    expect(await invoice(paidBill.id)).toMatchObject({ status: 'PARTIALLY_PAID', amountDue: '60.00' });
    expect(await findings()).toEqual([]);
  });

  test.each([
    ['refunded', { refundedAmount: '10.00' }],
    ['voided', { status: 'VOIDED' }],
    ['returned', { status: 'RETURNED', changeReason: 'Bounced' }],
  ])('is not %s by itself', async (_action, attributes) => {
    const { credit } = await creditNote();
    expect(await change('Payment', credit.systemRef, attributes)).toMatchObject({ error: { code: 'INVALID_STATE' } });
  });

  test('upsertRecords rejects the source CREDIT_NOTE', async () => {
    const { id: clientId } = await newClient();
    const fixed = { paymentDate: '2026-02-01', amount: '5.00', currency: 'USD', method: 'CREDIT' };
    const attributes = { clientId, ...fixed, source: 'CREDIT_NOTE', allocations: [] };
    expect(only(await records.upsert([{ type: 'Payment', attributes }]))).toMatchObject(
      rejected('VALIDATION_ERROR', 'source'),
    );
  });
});

describe('updateRecords › Invoice that is a credit note', () => {
  test('voids its credit, and the negative work is outstanding again', async () => {
    const { clientId, credit, note, wipId } = await creditNote();
    expect(await change('Invoice', note.systemRef, voided)).toMatchObject({ status: 'UPDATED' });
    expect(await invoice(note.id)).toMatchObject({ status: 'VOIDED', total: '-100.00', amountDue: '0.00' });
    expect(await payment(credit.id)).toMatchObject({ status: 'VOIDED', unappliedAmount: '0.00' });
    expect(await wip(wipId)).toMatchObject({ status: 'OPEN', outstandingAmount: '-100.00', invoiceId: null });
    expect(await balances(clientId)).toMatchObject({ unbilledWip: '-100.00', unappliedCredit: '0.00' });
    const { body } = await preparer.call<Schemas['LedgerEntryPage']>('POST', '/gql/v1/ledger_entries/search', {
      where: { paymentId: { _eq: credit.id } },
    });
    const [granted, withdrawn] = body.data;
    expect(withdrawn).toMatchObject({ kind: 'NOTE_VOID', reversesId: granted?.id, reason: voided.voidReason });
    expect(await findings()).toEqual([]);
  });

  test('is neither written off, paid, nor listed as unpaid', async () => {
    const { clientId, clientRef, note } = await creditNote();
    const off = { status: 'WRITTEN_OFF', writeOffReason: 'Small' };
    expect(await change('Invoice', note.systemRef, off)).toMatchObject(rejected('INVALID_STATE', 'status'));
    const allocations = [{ invoiceId: note.id, amount: '1.00' }];
    const money = { clientId, paymentDate: '2026-02-01', amount: '5.00', currency: 'USD', method: 'CHECK' };
    expect(
      only(await records.upsert([{ type: 'Payment', attributes: { ...money, source: 'MANUAL', allocations } }])),
    ).toMatchObject(rejected('INVALID_STATE', 'allocations/0/invoiceId'));
    const link = { clientRef, invoiceIds: [note.id] };
    const { status, body } = await preparer.call<object>('POST', '/api/v1/clients/v1/link/payment', link);
    expect([status, JSON.stringify(body)]).toEqual([409, expect.stringContaining('credit note')]);
    const unpaid = await preparer.call<{ data: object[] }>('GET', `/api/v1/invoices/unpaid?clientRef=${clientRef}`);
    expect(unpaid.body.data).toEqual([]);
    const where = { clientId: { _eq: clientId }, isOverdue: { _eq: true } };
    const overdue = await preparer.call<{ data: object[] }>('POST', '/gql/v1/invoices/search', { where });
    expect(overdue.body.data).toEqual([]);
  });

  test('searchInvoices and aggregateInvoices tell credit notes from invoices', async () => {
    const { clientId, note } = await creditNote('-12.50');
    const invoiced = await bill('100.00', clientId);
    const ofType = async (documentType: string) => {
      const where = { clientId: { _eq: clientId }, documentType: { _eq: documentType } };
      const { body } = await preparer.call<Schemas['InvoicePage']>('POST', '/gql/v1/invoices/search', { where });
      return body.data.map(({ id }) => id);
    };
    expect([await ofType('CREDIT_NOTE'), await ofType('INVOICE')]).toEqual([[note.id], [invoiced.id]]);
    const { body } = await preparer.call<{ data: object[] }>('POST', '/gql/v1/invoices/aggregate', {
      where: { clientId: { _eq: clientId } },
      groupBy: [{ column: 'documentType' }],
      measures: { total: { function: 'SUM', column: 'total' } },
    });
    expect(body.data).toEqual([
      { key: { documentType: 'CREDIT_NOTE' }, values: { total: '-12.50' } },
      { key: { documentType: 'INVOICE' }, values: { total: '100.00' } },
    ]);
  });
});

describe('creditedInvoiceId of a DraftInvoice', () => {
  const discount = { lineType: 'DISCOUNT', unitAmount: '-10.00' } as const;
  const draftWith = async (creditedInvoiceId: string, clientId: string) => {
    const line = { description: 'Late', quantity: '1', taxable: false, ...discount };
    const dates = { billThroughDate: '2026-01-31', proposedInvoiceDate: '2026-01-31', dueDate: '2026-01-31' };
    const attributes = { clientId, creditedInvoiceId, ...dates, lines: [line] };
    return only(await records.upsert([{ type: 'DraftInvoice', attributes }]));
  };

  test('is kept on the credit note', async () => {
    const { id: clientId } = await newClient();
    const credited = await bill('100.00', clientId);
    const note = await invoice(await post(await draftOf([discount], { clientId, creditedInvoiceId: credited.id })));
    expect(note).toMatchObject({ documentType: 'CREDIT_NOTE', creditedInvoiceId: credited.id, total: '-10.00' });
    // The credit is applied only if the firm applies it.
    expect(await invoice(credited.id)).toMatchObject({ status: 'POSTED', amountDue: '100.00' });
    expect(await change('Invoice', credited.systemRef, voided)).toMatchObject(rejected('INVALID_STATE', 'status'));
    for (const { systemRef } of [note, credited])
      expect(await change('Invoice', systemRef, voided)).toMatchObject({ error: null });
  });

  test('is rejected for an invoice that is unknown, of another client, or a credit note', async () => {
    const { clientId, note } = await creditNote();
    const other = await bill('100.00', (await newClient()).id);
    const unknown = '0199a1c2-0000-7c01-8a4f-5d2e9b60f101';
    expect(await draftWith(unknown, clientId)).toMatchObject(rejected('REFERENCE_NOT_FOUND', 'creditedInvoiceId'));
    for (const id of [other.id, note.id])
      expect(await draftWith(id, clientId)).toMatchObject(rejected('VALIDATION_ERROR', 'creditedInvoiceId'));
  });

  test('is rejected in review for an invoice that is VOIDED or PENDING, and with a positive total', async () => {
    const { id: clientId } = await newClient();
    const review = (draft: { systemRef: string | null }) =>
      change('DraftInvoice', draft.systemRef, { status: 'IN_REVIEW' });
    const [gone, waiting] = [await bill('50.00', clientId), await bill('50.00', clientId, { status: 'PENDING' })];
    await change('Invoice', gone.systemRef, voided);
    for (const { id } of [gone, waiting])
      expect(await review(await draftWith(id, clientId))).toMatchObject(rejected('INVALID_STATE', 'creditedInvoiceId'));
    const good = await bill('50.00', clientId);
    const positive = await draftOf([{ unitAmount: '5.00' }], { clientId, creditedInvoiceId: good.id });
    expect(await review(positive)).toMatchObject(rejected('VALIDATION_ERROR', 'creditedInvoiceId'));
  });

  test('credits nothing that is written off, and what is credited is not written off', async () => {
    const { id: clientId } = await newClient();
    const [lost, credited] = [await bill('25.00', clientId), await bill('25.00', clientId)];
    const writeOff = { status: 'WRITTEN_OFF', writeOffReason: 'Insolvent' };
    expect(await change('Invoice', lost.systemRef, writeOff)).toMatchObject({ error: null });
    const review = await change('DraftInvoice', (await draftWith(lost.id, clientId)).systemRef, {
      status: 'IN_REVIEW',
    });
    expect(review).toMatchObject(rejected('INVALID_STATE', 'creditedInvoiceId'));
    await post(await draftOf([discount], { clientId, creditedInvoiceId: credited.id }));
    expect(await change('Invoice', credited.systemRef, writeOff)).toMatchObject(rejected('INVALID_STATE', 'status'));
  });

  test('credits no invoice that is voided at the same time', async () => {
    const { id: clientId } = await newClient();
    for (let round = 0; round < 6; round++) {
      const credited = await bill('25.00', clientId);
      const draft = await draftOf([discount], { clientId, creditedInvoiceId: credited.id });
      await change('DraftInvoice', draft.systemRef, { status: 'IN_REVIEW' });
      const approval = { type: 'DraftInvoice', systemRef: draft.systemRef, attributes: { status: 'APPROVED' } };
      const [approved, voiding] = await Promise.all([
        approver.call<WriteResult>('PUT', '/api/v1/records', { records: [approval] }),
        change('Invoice', credited.systemRef, voided),
      ]);
      const statuses = [only(approved.body.records).status, voiding.status];
      expect(statuses.toSorted()).toEqual(['FAILED', 'UPDATED']);
    }
  });

  test('credits an invoice at most to its total, also by drafts that are approved at once', async () => {
    const { id: clientId } = await newClient();
    const credited = await bill('25.00', clientId);
    const drafts = [];
    for (let index = 0; index < 4; index++) {
      const draft = await draftOf([discount], { clientId, creditedInvoiceId: credited.id });
      expect(await change('DraftInvoice', draft.systemRef, { status: 'IN_REVIEW' })).toMatchObject({ error: null });
      drafts.push(draft.systemRef ?? '');
    }
    const approve = async (systemRef: string) => {
      const approval = { type: 'DraftInvoice', systemRef, attributes: { status: 'APPROVED' } };
      const { body } = await approver.call<WriteResult>('PUT', '/api/v1/records', { records: [approval] });
      return only(body.records);
    };
    const results = await Promise.all(drafts.map(approve));
    expect(results.map(({ status }) => status).sort()).toEqual(['FAILED', 'FAILED', 'UPDATED', 'UPDATED']);
    expect(results.find(({ status }) => status === 'FAILED')).toMatchObject({
      error: {
        code: 'INVALID_STATE',
        pointer: '/records/0/attributes/creditedInvoiceId',
        detail: expect.stringMatching(
          /^The invoice is over 25\.00, of which 5\.00 are neither credited nor written off\./,
        ),
      },
    });
    // A note that is voided credits nothing.
    const [note] = results.flatMap(({ attributes }) => Object(attributes).invoiceId ?? []);
    expect(await change('Invoice', String(note), voided)).toMatchObject({ error: null });
    expect(await approve(drafts[results.findIndex(({ status }) => status === 'FAILED')] ?? '')).toMatchObject({
      error: null,
    });
    expect(await findings()).toEqual([]);
  });
});
