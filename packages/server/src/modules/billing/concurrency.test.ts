import type { components } from '@financial-automation/spec';
import { expect, test } from 'vitest';
import { firm } from '../../../test/modules/billing.ts';
import { only } from '../../../test/modules/records.ts';
import { isNightly } from '../../../test/nightly.ts';
import { sharedService } from '../../../test/service.ts';
import type { Input } from '../../contract/handler.ts';
import { asOperator } from '../../operator/tenants.ts';
import { findBreaches } from './ledger/invariants.ts';
import { differencesOf } from './ledger/kept-sums.ts';
import { payment as paymentEntity } from './payment/payment.ts';
import { recordResult } from './payment/payment-rules.ts';

const service = await sharedService();
const { approver, draftOf, invoice, newClient, newJob, pay, payment, preparer, records, wip, workFor } =
  await firm(service);

/** By day half as many races of each kind. */
const half = (count: number) => (isNightly ? count : count / 2);
const many = <Result>(count: number, work: (index: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));
/** Counts items by their status or error code. */
const tally = (items: readonly { readonly status: string; readonly error: { readonly code: string } | null }[]) =>
  Object.fromEntries(
    [...Map.groupBy(items, ({ status, error }) => error?.code ?? status)].map(([result, all]) => [result, all.length]),
  );
const update = async (type: string, systemRef: string | null, attributes: object) =>
  only(await records.update([{ type, systemRef, attributes }]));
type Records = Input<'upsertRecords'>['body']['records'];

/** Writes one record without HTTP, which bypasses the limit of concurrent requests of a user. */
async function write(record: Records[number], operation: 'upsertRecords' | 'updateRecords', by = preparer) {
  const { body } = await by.handle(operation, { body: { records: [record] } } as Input<typeof operation>);
  const [item] = body.records;
  if (item === undefined) throw new Error('The response has no item.');
  return { ...item, attributes: new Map(Object.entries(item.attributes ?? {})) };
}
const approve = (systemRef: string) =>
  write({ type: 'DraftInvoice', systemRef, attributes: { status: 'APPROVED' } }, 'updateRecords', approver);
const voidInvoice = (systemRef: string) =>
  update('Invoice', systemRef, { status: 'VOIDED', voidReason: 'Wrong client' });

function payBy(
  clientId: string,
  amount: string,
  allocations: readonly { invoiceId: string; amount: string }[],
  method: 'CHECK' | 'ACH',
) {
  const fixed = { paymentDate: '2026-02-01', currency: 'USD', source: 'MANUAL' } as const;
  return write(
    { type: 'Payment', attributes: { ...fixed, clientId, amount, method, allocations: [...allocations] } },
    'upsertRecords',
  );
}

async function inReview(lines: Parameters<typeof draftOf>[0], more: object = {}) {
  const draft = await draftOf(lines, more);
  expect(await update('DraftInvoice', draft.systemRef, { status: 'IN_REVIEW' })).toMatchObject({ status: 'UPDATED' });
  return { id: draft.id, systemRef: draft.systemRef ?? '' };
}

/** An invoice of one line, with its system reference. */
async function postedInvoice(unitAmount: string, clientId: string): Promise<{ id: string; systemRef: string }> {
  const { systemRef } = await inReview([{ unitAmount }], { clientId });
  const id = String((await approve(systemRef)).attributes.get('invoiceId'));
  return { id, systemRef: (await invoice(id)).systemRef };
}

async function expectAgreement(): Promise<void> {
  const { id } = service.tenant;
  const found = await service.store.read(id, async (session) => [
    ...(await findBreaches(session, id)),
    ...(await differencesOf(session, id)),
  ]);
  expect(found).toEqual([]);
}

test('of concurrent approvals of one draft, one creates the invoice, and the others are rejected', async () => {
  const wipId = await workFor('2.00');
  const { id, systemRef } = await inReview([{ lineType: 'TIME', unitAmount: '380.00', wipIds: [wipId] }]);
  const results = await many(8, () => approve(systemRef));
  // The draft is POSTED for all but the first, and can no longer be approved.
  expect(tally(results)).toEqual({ UPDATED: 1, INVALID_STATE: 7 });
  const { body } = await records.lookup('Invoice');
  expect(body.data.filter(({ attributes }) => Object(attributes).draftInvoiceId === id)).toHaveLength(1);
  expect(await wip(wipId)).toMatchObject({ status: 'BILLED', billedAmount: '380.00' });
  await expectAgreement();
});

test('concurrent payments cover an invoice once', async () => {
  const owner = await newClient();
  const bill = await postedInvoice('100.00', owner.id);
  const payments = await many(10, (index) =>
    payBy(owner.id, '30.00', [{ invoiceId: bill.id, amount: '30.00' }], index % 2 === 0 ? 'CHECK' : 'ACH'),
  );
  expect(tally(payments)).toEqual({ CREATED: 3, INVALID_STATE: 7 });
  const { amountPaid, amountPending, amountDue } = await invoice(bill.id);
  expect(Number(amountPaid) + Number(amountPending)).toBe(90);
  expect(Number(amountDue)).toBe(100 - Number(amountPaid));
  await expectAgreement();
});

test('of concurrent drafts of one row, one reserves it', async () => {
  const owner = await newClient();
  const wipId = await workFor('1.00', await newJob(owner.id), '2026-01-06');
  const line = { lineType: 'TIME', description: 'Work', quantity: '1', unitAmount: '190.00', taxable: false } as const;
  const dates = { billThroughDate: '2026-12-31', proposedInvoiceDate: '2026-01-31', dueDate: '2026-03-02' };
  const drafts = await many(6, (index) =>
    write(
      {
        type: 'DraftInvoice',
        systemRef: `rival-${index}`,
        attributes: { clientId: owner.id, ...dates, lines: [{ ...line, wipIds: [wipId] }] },
      },
      'upsertRecords',
    ),
  );
  expect(tally(drafts)).toEqual({ CREATED: 1, INVALID_STATE: 5 });
  const winner = drafts.find(({ status }) => status === 'CREATED');
  expect(await wip(wipId)).toMatchObject({ status: 'IN_DRAFT', draftInvoiceId: winner?.id });
  await expectAgreement();
});

test('an invoice is paid or voided, never both', async () => {
  const owner = await newClient();
  for (let round = 0; round < half(4); round++) {
    const bill = await postedInvoice('50.00', owner.id);
    const attempts = await Promise.allSettled([
      voidInvoice(bill.systemRef).then(({ error }) => error?.code ?? 'VOIDED'),
      pay('50.00', [{ invoiceId: bill.id, amount: '50.00' }], { clientId: owner.id }).then(() => 'PAID'),
    ]);
    const { status, amountPaid, amountDue } = await invoice(bill.id);
    expect(amountDue).toBe('0.00');
    const outcomes = attempts.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason)));
    if (status === 'VOIDED') {
      expect(amountPaid).toBe('0.00');
      expect(outcomes).toEqual(['VOIDED', expect.stringContaining('INVALID_STATE')]);
    } else {
      expect({ status, amountPaid }).toEqual({ status: 'PAID', amountPaid: '50.00' });
      expect(outcomes).toEqual(['INVALID_STATE', 'PAID']);
    }
  }
  await expectAgreement();
});

test(`${half(20)} drafts that are posted concurrently have consecutive numbers`, async () => {
  const clients = await many(4, () => newClient());
  const drafts: { systemRef: string }[] = [];
  for (let index = 0; index < half(20); index++)
    drafts.push(await inReview([{ unitAmount: `${index + 1}.00` }], { clientId: clients[index % 4]?.id }));
  const before = await numbers();
  const posted = await many(half(20), (index) => approve(drafts[index]?.systemRef ?? ''));
  expect(tally(posted)).toEqual({ UPDATED: half(20) });
  const after = await numbers();
  const added = after.filter((number) => !before.includes(number));
  expect(added).toEqual(Array.from({ length: half(20) }, (_, index) => Math.max(0, ...before) + 1 + index));
  await expectAgreement();
});

test('payments of several invoices in opposite order wait for each other without failures', async () => {
  const [one, other] = await many(2, () => newClient({}));
  const bills = await many(4, (index) => postedInvoice('90.00', (index % 2 === 0 ? one : other)?.id ?? ''));
  const ofClient = (client: typeof one, order: (ids: string[]) => string[], by: number) =>
    order(bills.flatMap(({ id }, index) => (index % 2 === by ? [id] : []))).map((invoiceId) => ({
      invoiceId,
      amount: '10.00',
      client,
    }));
  const paid = await many(12, (index) => {
    const side = index % 2;
    const order = (ids: string[]) => (index % 4 < 2 ? ids : ids.toReversed());
    const allocations = ofClient(side === 0 ? one : other, order, side);
    const sent = allocations.map(({ invoiceId, amount }) => ({ invoiceId, amount }));
    return payBy((side === 0 ? one : other)?.id ?? '', '20.00', sent, 'CHECK');
  });
  expect(tally(paid)).toEqual({ CREATED: 12 });
  // Each is voided while another one is applied.
  const voided = await many(6, async (index) => {
    const { systemRef } = await payment(paid[index]?.id ?? '');
    return write({ type: 'Payment', systemRef, attributes: { status: 'VOIDED' } }, 'updateRecords');
  });
  expect(tally(voided)).toEqual({ UPDATED: 6 });
  for (const { id } of bills)
    expect(await invoice(id)).toMatchObject({ amountPaid: '30.00', status: 'PARTIALLY_PAID' });
  await expectAgreement();
});

/** The numbers of all invoices, ascending. */
async function numbers(): Promise<number[]> {
  const { body } = await records.lookup('Invoice', { pageSize: 100 });
  return body.data
    .map(({ attributes }) => Number(String(Object(attributes).invoiceNumber).split('-').at(-1)))
    .toSorted((left, right) => left - right);
}

const entriesOf = async (where: object) => {
  const { body } = await preparer.call<components['schemas']['LedgerEntryPage']>(
    'POST',
    '/gql/v1/ledger_entries/search',
    { where, pageSize: 200 },
  );
  return body.data.map(({ kind, amount }) => `${kind} ${amount}`);
};

test('of concurrent callers who unapply the same allocation, one does, and the others change nothing', async () => {
  const owner = await newClient();
  const bill = await postedInvoice('80.00', owner.id);
  const paid = await payBy(owner.id, '80.00', [{ invoiceId: bill.id, amount: '80.00' }], 'CHECK');
  const { systemRef } = await payment(paid.id ?? '');
  const results = await many(6, () =>
    write({ type: 'Payment', systemRef, attributes: { allocations: [] } }, 'updateRecords'),
  );
  expect(tally(results)).toEqual({ UPDATED: 1, UNCHANGED: 5 });
  expect(await entriesOf({ paymentId: { _eq: paid.id }, account: { _eq: 'CREDIT' } })).toEqual([
    'PAYMENT 80.00',
    'ALLOCATION -80.00',
    'DEALLOCATION 80.00',
  ]);
  expect(await invoice(bill.id)).toMatchObject({ status: 'POSTED', amountDue: '80.00' });
  await expectAgreement();
});

test('a return during a refund is recorded, whichever comes first', async () => {
  const owner = await newClient();
  for (let round = 0; round < half(4); round++) {
    const bill = await postedInvoice('50.00', owner.id);
    const paid = await payBy(owner.id, '60.00', [{ invoiceId: bill.id, amount: '50.00' }], 'CHECK');
    const { systemRef, id } = await payment(paid.id ?? '');
    const [refunded] = await Promise.all([
      write({ type: 'Payment', systemRef, attributes: { refundedAmount: '25.00' } }, 'updateRecords'),
      asOperator(service.service, service.tenant, 'test', (unit) =>
        unit.plan((plan) => {
          plan.getForUpdate(paymentEntity, id);
          recordResult(plan, id, { status: 'RETURNED' });
        }),
      ),
    ]);
    // Money that the bank takes back after its refund is gone twice.
    const isFirst = refunded.status === 'UPDATED';
    if (!isFirst) expect(refunded).toMatchObject({ error: { code: 'INVALID_STATE' } });
    const lost = isFirst ? '25.00' : '0.00';
    expect(await payment(id)).toMatchObject({
      status: 'RETURNED',
      refundedAmount: lost,
      unappliedAmount: isFirst ? '-25.00' : '0.00',
      allocations: [],
    });
    expect(await invoice(bill.id)).toMatchObject({ status: 'POSTED', amountDue: '50.00' });
  }
  await expectAgreement();
});

test('figures as of a day do not change once its closing returns, whatever is approved at the same time', async () => {
  const { body: orgs } = await preparer.call<{ data: { systemRef: string }[] }>('POST', '/gql/v1/orgs', {});
  const setClosed = (booksClosedThrough: string | null, more: object = {}) =>
    update('Org', orgs.data[0]?.systemRef ?? '', { booksClosedThrough, ...more });
  const closed = '2026-01-31';
  const figures = async () => {
    const { body } = await preparer.call<{ data: object[] }>('POST', '/gql/v1/ledger_entries/aggregate', {
      where: { businessDate: { _lte: closed } },
      groupBy: [{ column: 'clientId' }, { column: 'account' }],
      measures: { balance: { function: 'SUM', column: 'amount' }, entries: { function: 'COUNT' } },
      pageSize: 1000,
    });
    return body.data;
  };
  const owner = await newClient();
  const drafts: { systemRef: string }[] = [];
  for (let index = 0; index < 10; index++)
    drafts.push(await inReview([{ unitAmount: '10.00' }], { clientId: owner.id }));
  const close = async () => {
    expect(await setClosed(closed)).toMatchObject({ status: 'UPDATED' });
    return figures();
  };
  const [before, ...approved] = await Promise.all([close(), ...drafts.map(({ systemRef }) => approve(systemRef))]);
  const { UPDATED: posted = 0, PERIOD_CLOSED: late = 0 } = tally(approved);
  expect(posted + late).toBe(drafts.length);
  expect(await figures()).toEqual(before);
  expect(await entriesOf({ clientId: { _eq: owner.id }, businessDate: { _lte: closed } })).toHaveLength(posted);
  await expectAgreement();
  expect(await setClosed(null, { changeReason: 'Other tests' })).toMatchObject({ status: 'UPDATED' });
});
