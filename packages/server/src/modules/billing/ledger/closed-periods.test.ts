/** Figures as of a closed day never change: requests that name such a day are rejected, and other entries count later. */
import type { components } from '@financial-automation/spec';
import { sql } from 'kysely';
import { beforeEach, describe, expect, test } from 'vitest';
import { firm } from '../../../../test/modules/billing.ts';
import { only, recordsOf } from '../../../../test/modules/records.ts';
import { sharedService } from '../../../../test/service.ts';
import { asOperator } from '../../../operator/tenants.ts';
import { payment as paymentEntity } from '../payment/payment.ts';
import { recordResult } from '../payment/payment-rules.ts';

const service = await sharedService();
const { store, tenant } = service;
const { approver, approving, client, draftOf, jobId, newClient, pay, post, preparer, records, staffId, workFor } =
  await firm(service);
const closed = '2026-02-28';
const firstOpen = '2026-03-01';

const { body: orgs } = await preparer.call<{ data: { systemRef: string }[] }>('POST', '/gql/v1/orgs', {});
const orgRef = orgs.data[0]?.systemRef ?? '';

async function change(type: string, systemRef: string | null | undefined, attributes: object, as = records) {
  return only(await as.update([{ type, systemRef: systemRef ?? '', attributes }]));
}
const setClosed = (day: string | null, more: object = {}) =>
  change('Org', orgRef, { booksClosedThrough: day, ...more });
const reopen = () => setClosed(null, { changeReason: 'Another test' });

const dayAfter = (day: string, days: number) => Temporal.PlainDate.from(day).add({ days }).toString();

let bills = 0;
async function bill(amount: string, invoiceDate = '2026-01-10', more: object = {}) {
  const lines = [{ lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: amount, taxable: false }];
  const attributes = { clientId: client.id, invoiceDate, dueDate: '2026-12-31', lines, pmsRef: `closed-${++bills}` };
  return only(await records.upsert([{ type: 'Invoice', attributes: { ...attributes, ...more } }]));
}

async function entriesOf(where: object) {
  const { body } = await preparer.call<components['schemas']['LedgerEntryPage']>(
    'POST',
    '/gql/v1/ledger_entries/search',
    { where, pageSize: 200 },
  );
  return body.data.map(({ kind, businessDate }) => `${kind} ${businessDate}`);
}

/** All balances as of the closed day. */
async function figures() {
  const { body } = await preparer.call<{ data: object[] }>('POST', '/gql/v1/ledger_entries/aggregate', {
    where: { businessDate: { _lte: closed } },
    groupBy: [{ column: 'account' }, { column: 'clientId' }, { column: 'invoiceId' }, { column: 'paymentId' }],
    measures: { balance: { function: 'SUM', column: 'amount' }, entries: { function: 'COUNT' } },
    pageSize: 1000,
  });
  return body.data;
}

const isClosed = (field: string) => ({
  status: 'FAILED',
  error: {
    code: 'PERIOD_CLOSED',
    pointer: `/records/0/attributes/${field}`,
    detail: expect.stringContaining(firstOpen),
  },
});

beforeEach(async () => {
  const { body } = await preparer.call<{ data: { booksClosedThrough: string | null }[] }>('POST', '/gql/v1/orgs', {});
  if (body.data[0]?.booksClosedThrough !== null) await reopen();
});

describe('closing', () => {
  test('is at most through yesterday, and going back requires a reason, which is stored', async () => {
    const today = Temporal.Now.plainDateISO(tenant.timeZone).add({ days: 1 }).toString();
    expect(await setClosed(today)).toMatchObject({
      status: 'FAILED',
      error: { code: 'VALIDATION_ERROR', pointer: '/records/0/attributes/booksClosedThrough' },
    });
    expect(await setClosed(closed)).toMatchObject({ status: 'UPDATED', attributes: { booksClosedThrough: closed } });
    for (const day of ['2026-01-31', null])
      expect(await setClosed(day)).toMatchObject({
        status: 'FAILED',
        error: { code: 'VALIDATION_ERROR', pointer: '/records/0/attributes/changeReason' },
      });
    expect(await setClosed(null, { changeReason: 'The statement was incomplete' })).toMatchObject({
      status: 'UPDATED',
    });
    const reasons = await store.read(tenant.id, (session) =>
      session.all<{ reason: string }>(
        sql`select change_reason as reason from book_change order by recorded_at desc limit 1`,
      ),
    );
    expect(reasons).toEqual([{ reason: 'The statement was incomplete' }]);
  });

  test('requires BOOKS_CLOSE', async () => {
    const clerk = recordsOf(await service.signIn({ roles: ['RECORD_W', 'REF_W'] }));
    expect(await change('Org', orgRef, { booksClosedThrough: closed }, clerk)).toMatchObject({
      status: 'FAILED',
      error: { code: 'FORBIDDEN' },
    });
    const controller = recordsOf(await service.signIn({ roles: ['RECORD_W', 'REF_W', 'BOOKS_CLOSE'] }));
    expect(await change('Org', orgRef, { booksClosedThrough: closed }, controller)).toMatchObject({
      status: 'UPDATED',
    });
  });
});

describe('a request that names a closed day is rejected', () => {
  test('an import, unless it waits to be posted', async () => {
    await setClosed(closed);
    expect(await bill('10.00', closed)).toMatchObject(isClosed('invoiceDate'));
    expect(await bill('10.00', firstOpen)).toMatchObject({ status: 'CREATED' });
    const waiting = await bill('10.00', closed, { status: 'PENDING' });
    expect(waiting).toMatchObject({ status: 'CREATED' });
    expect(await change('Invoice', waiting.systemRef, { status: 'POSTED' })).toMatchObject({ status: 'UPDATED' });
    expect(await entriesOf({ invoiceId: { _eq: waiting.id } })).toEqual([`INVOICE ${firstOpen}`]);
  });

  test('a payment', async () => {
    await setClosed(closed);
    const attributes = { clientId: client.id, paymentDate: closed, amount: '5.00', currency: 'USD' };
    const manual = { ...attributes, method: 'CHECK', source: 'MANUAL' };
    expect(only(await records.upsert([{ type: 'Payment', attributes: manual }]))).toMatchObject(
      isClosed('paymentDate'),
    );
  });

  test('a change', async () => {
    const invoice = await bill('10.00');
    const paid = await pay('10.00', [{ invoiceId: String(invoice.id), amount: '10.00' }]);
    await setClosed(closed);
    for (const attributes of [{ allocations: [] }, { refundedAmount: '4.00' }, { status: 'VOIDED' }])
      expect(await change('Payment', paid.systemRef, { ...attributes, changeDate: closed })).toMatchObject(
        isClosed('changeDate'),
      );
    const open = await bill('10.00', firstOpen);
    const off = { status: 'WRITTEN_OFF', writeOffReason: 'Gone', changeDate: firstOpen };
    expect(await change('Invoice', open.systemRef, off)).toMatchObject({ status: 'UPDATED' });
  });

  test('the approval of a draft', async () => {
    const draft = await draftOf([{}]);
    await setClosed(closed);
    await change('DraftInvoice', draft.systemRef, { status: 'IN_REVIEW' });
    const rejected = await change('DraftInvoice', draft.systemRef, { status: 'APPROVED' }, approving);
    expect(rejected).toMatchObject({
      status: 'FAILED',
      error: {
        code: 'PERIOD_CLOSED',
        pointer: '/records/0/attributes/status',
        detail: expect.stringContaining(firstOpen),
      },
    });
  });
});

describe('what follows from something older counts for the first open day', () => {
  test('time that is approved late, with its own date', async () => {
    await setClosed(closed);
    const wipId = await workFor('1.00', jobId, '2026-01-20');
    expect(await entriesOf({ wipEntryId: { _eq: wipId } })).toEqual([`WORK ${firstOpen}`]);
    const { body } = await preparer.call<{ workDate: string }>('GET', `/gql/v1/wip/${wipId}`);
    expect(body.workDate).toBe('2026-01-20');
  });

  test('a settlement and a return by the processor', async () => {
    const invoice = await bill('10.00');
    const allocations = [{ invoiceId: String(invoice.id), amount: '10.00' }];
    const paid = await pay('10.00', allocations, { method: 'ACH', paymentDate: '2026-02-27' });
    await setClosed(closed);
    const record = (status: 'COMPLETED' | 'RETURNED') =>
      asOperator(service.service, tenant, 'test', (unit) =>
        unit.plan((plan) => {
          plan.getForUpdate(paymentEntity, paid.id);
          recordResult(plan, paid.id, { status });
        }),
      );
    await record('COMPLETED');
    const of = { paymentId: { _eq: paid.id }, account: { _eq: 'CREDIT' } };
    expect(await entriesOf(of)).toEqual([`PAYMENT ${firstOpen}`, `ALLOCATION ${firstOpen}`]);
    await record('RETURNED');
    const today = Temporal.Now.plainDateISO(tenant.timeZone).toString();
    expect((await entriesOf(of)).slice(2)).toEqual([`DEALLOCATION ${today}`, `RETURN ${today}`]);
  });

  test('the allocation of older money to an older invoice', async () => {
    const invoice = await bill('10.00');
    const paid = await pay('10.00', []);
    await setClosed(closed);
    const allocations = [{ invoiceId: String(invoice.id), amount: '10.00' }];
    expect(await change('Payment', paid.systemRef, { allocations })).toMatchObject({ status: 'UPDATED' });
    expect(await entriesOf({ invoiceId: { _eq: invoice.id } })).toEqual([
      'INVOICE 2026-01-10',
      `ALLOCATION ${firstOpen}`,
      `ALLOCATION ${firstOpen}`,
    ]);
  });
});

test('figures as of a closed day do not change with anything that happens later', async () => {
  const wipId = await workFor('2.00', jobId, '2026-01-20');
  const invoiceId = await post(await draftOf([{ lineType: 'TIME', unitAmount: '300.00', wipIds: [wipId] }]));
  const [moved, lost] = [await bill('40.00'), await bill('30.00')];
  const paid = await pay('100.00', [{ invoiceId, amount: '100.00' }]);
  const bounced = await pay('40.00', [{ invoiceId: String(moved.id), amount: '40.00' }]);
  await setClosed(closed);
  const before = await figures();
  await change('Payment', bounced.systemRef, { status: 'RETURNED', changeReason: 'Bounced' });
  await change('Payment', paid.systemRef, { allocations: [{ invoiceId: String(moved.id), amount: '40.00' }] });
  await change('Payment', paid.systemRef, { refundedAmount: '10.00' });
  await change('Invoice', lost.systemRef, { status: 'WRITTEN_OFF', writeOffReason: 'Gone' });
  const { body } = await preparer.call<{ systemRef: string }>('GET', `/gql/v1/invoice/${invoiceId}`);
  expect(await change('Invoice', body.systemRef, { status: 'VOIDED', voidReason: 'Wrong' })).toMatchObject({
    status: 'UPDATED',
  });
  const systemRef = 'late-time';
  const attributes = { staffId, jobId, workDate: '2026-02-02', hours: '1.00', isBillable: true, status: 'SUBMITTED' };
  await preparer.call('POST', '/api/v1/entries', { records: [{ type: 'TimeEntry', systemRef, attributes }] });
  await approver.call('POST', '/api/v1/entries', {
    records: [{ type: 'TimeEntry', systemRef, attributes: { status: 'APPROVED' } }],
  });
  expect(await figures()).toEqual(before);
});

test('receivables as of a closed day have the same ages after a hundred later changes', async () => {
  const { id: clientId } = await newClient();
  const numbers = Array.from({ length: 17 }, (_, number) => number);
  const lines = [{ lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: '100.00', taxable: false }];
  const ageing = async (day: string) => {
    const { body } = await preparer.call<{ data: object[] }>('POST', '/gql/v1/ledger_entries/aggregate', {
      where: { clientId: { _eq: clientId }, account: { _eq: 'RECEIVABLE' }, businessDate: { _lte: day } },
      groupBy: [{ column: 'dueDate', daysBefore: day, boundaries: [1, 31, 61, 91] }],
      measures: { open: { function: 'SUM', column: 'amount' }, entries: { function: 'COUNT' } },
      orderBy: [{ column: 'dueDate', direction: 'asc' }],
    });
    return body.data;
  };
  const bills = numbers.flatMap((number) =>
    ['paid', 'owed'].map((name) => ({
      type: 'Invoice',
      systemRef: `${name}-${number}`,
      attributes: {
        clientId,
        pmsRef: `${name}-${number}`,
        invoiceDate: '2025-10-01',
        dueDate: dayAfter('2025-11-01', number * 9),
        lines,
      },
    })),
  );
  const invoices = await records.upsert(bills);
  const payments = numbers.map((number) => ({
    type: 'Payment',
    systemRef: `late-${number}`,
    attributes: {
      clientId,
      paymentDate: dayAfter('2026-01-01', number),
      amount: '100.00',
      currency: 'USD',
      method: 'CHECK',
      source: 'MANUAL',
      allocations: [{ invoiceId: invoices[2 * number]?.id, amount: '60.00' }],
    },
  }));
  expect(new Set((await records.upsert(payments)).map(({ status }) => status))).toEqual(new Set(['CREATED']));
  await setClosed(closed);
  const [before, all] = [await ageing(closed), await figures()];
  const changes = (number: number) => {
    const [payment, owed] = [`late-${number}`, `owed-${number}`];
    const allocations = (amount: string) => [{ invoiceId: invoices[2 * number + 1]?.id, amount }];
    const changeReason = 'Corrected';
    return [
      { type: 'Payment', systemRef: payment, attributes: { allocations: allocations('100.00'), changeReason } },
      { type: 'Payment', systemRef: payment, attributes: { allocations: allocations('70.00'), changeReason } },
      { type: 'Payment', systemRef: payment, attributes: { refundedAmount: '20.00' } },
      { type: 'Invoice', systemRef: owed, attributes: { status: 'WRITTEN_OFF', writeOffReason: 'Gone' } },
      { type: 'Payment', systemRef: payment, attributes: { status: 'RETURNED', changeReason } },
      { type: 'Invoice', systemRef: `paid-${number}`, attributes: { status: 'VOIDED', voidReason: 'Twice' } },
    ];
  };
  for (const step of changes(0).keys()) {
    const items = numbers.flatMap((number) =>
      changes(number)
        .slice(step, step + 1)
        .map(({ attributes, ...item }) => ({
          ...item,
          attributes: { ...attributes, changeDate: dayAfter(firstOpen, step * 20 + number) },
        })),
    );
    const results = await records.update(items);
    expect(results.filter(({ status }) => status !== 'UPDATED')).toEqual([]);
  }
  expect(await ageing(closed)).toEqual(before);
  expect(await figures()).toEqual(all);
  expect(await ageing(dayAfter(firstOpen, 150))).not.toEqual(before);
});

describe('the database', () => {
  test('refuses an entry in a closed period', async () => {
    await bill('10.00');
    await setClosed(closed);
    const copy = sql`insert into ledger_entry (id, tenant_id, account, kind, amount, currency, business_date, recorded_at, client_id,
        invoice_id, due_date)
      select gen_random_uuid(), tenant_id, account, kind, amount, currency, business_date, recorded_at, client_id, invoice_id, due_date
      from ledger_entry where kind = 'INVOICE' and business_date <= ${closed} limit 1`;
    await expect(store.write(tenant.id, (transaction) => transaction.all(copy))).rejects.toThrow(
      /books are closed|period_open/,
    );
  });
});
