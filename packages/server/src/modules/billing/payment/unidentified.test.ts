/** Payments whose payer is unknown at first. */
import type { components } from '@financial-automation/spec';
import { describe, expect, test } from 'vitest';
import { firm } from '../../../../test/modules/billing.ts';
import { only, recordsOf } from '../../../../test/modules/records.ts';
import { sharedService } from '../../../../test/service.ts';
import { booksOf } from '../../../operator/books.ts';

type Schemas = components['schemas'];

const service = await sharedService();
const { approving, balances, newClient, pay, payment, preparer, records } = await firm(service);
const { body: orgs } = await preparer.call<{ data: { id: string; systemRef: string }[] }>('POST', '/gql/v1/orgs', {});
const [org] = orgs.data;

let bills = 0;
const bill = (amount: string, clientId: string) =>
  records.make('Invoice', {
    pmsRef: `unidentified-${++bills}`,
    clientId,
    invoiceDate: '2026-01-31',
    dueDate: '2026-03-02',
    lines: [{ lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: amount, taxable: false }],
  });
const receive = (amount: string, more: object = {}) => pay(amount, [], { clientId: null, ...more });
const change = async ({ systemRef }: { systemRef: string | null }, attributes: object) =>
  only(await records.update([{ type: 'Payment', systemRef: systemRef ?? '', attributes }]));

async function search<Row>(resource: string, where: object): Promise<Row[]> {
  const { body } = await preparer.call<{ data: Row[] }>('POST', `/gql/v1/${resource}/search`, { where, pageSize: 100 });
  return body.data;
}

async function ledgerOf(id: string): Promise<string[]> {
  const rows = await search<Schemas['LedgerEntry']>('ledger_entries', { paymentId: { _eq: id } });
  return rows.map(({ kind, amount, businessDate, clientId }) => `${kind} ${amount} ${businessDate} ${clientId}`);
}

async function journalOf(id: string): Promise<string[]> {
  const rows = await search<Schemas['JournalEntry']>('journal_entries', { paymentId: { _eq: id } });
  return rows.map(
    ({ kind, purpose, amount, accountCode, clientId, orgId }) =>
      `${kind} ${purpose} ${amount} ${accountCode} ${clientId}${orgId === org?.id ? '' : ` in ${orgId}`}`,
  );
}

async function agree(): Promise<void> {
  const { id } = service.tenant;
  const report = await service.store.write(id, (transaction) => booksOf(transaction, id));
  expect(report).toEqual({ differences: [], breaches: [] });
}

test('upsertRecords creates a payment of an unknown payer in a suspense account', async () => {
  await records.make('GlMapping', {
    orgId: org?.id,
    purpose: 'SUSPENSE',
    accountCode: '2190',
    accountName: 'Suspense',
  });
  const { id } = await receive('80.00');
  expect(await payment(id)).toMatchObject({
    clientId: null,
    orgId: org?.id,
    status: 'COMPLETED',
    unappliedAmount: '80.00',
  });
  expect(await ledgerOf(id)).toEqual(['PAYMENT 80.00 2026-02-01 null']);
  expect(await journalOf(id)).toEqual(
    expect.arrayContaining(['PAYMENT SUSPENSE -80.00 2190 null', 'PAYMENT PAYMENT 80.00 null null']),
  );
  expect(
    (await search<Schemas['Payment']>('payments', { clientId: { _is_null: true } })).map((row) => row.id),
  ).toContain(id);
  expect(await search('payments', { client: { name: { _ilike: '%' } }, id: { _eq: id } })).toEqual([]);
  await agree();
});

test('upsertRecords rejects a payment that does not say whether its payer is known, and one that needs a client', async () => {
  const attributes = { paymentDate: '2026-02-01', amount: '10.00', method: 'CHECK', source: 'MANUAL' };
  const failure = async (more: object) =>
    only(await records.upsert([{ type: 'Payment', attributes: { ...attributes, ...more } }])).error;
  expect(await failure({})).toMatchObject({ code: 'VALIDATION_ERROR', pointer: expect.stringContaining('/clientId') });
  expect(await failure({ clientId: null, method: 'CREDIT' })).toMatchObject({ code: 'VALIDATION_ERROR' });
  const { id: clientId } = await newClient();
  const { id: invoiceId } = await bill('10.00', clientId);
  expect(await failure({ clientId: null, allocations: [{ invoiceId, amount: '10.00' }] })).toMatchObject({
    code: 'INVALID_STATE',
    pointer: expect.stringContaining('/allocations/0/invoiceId'),
  });
});

test('updateRecords sets the client once, with an entry and an event, and can allocate in the same request', async () => {
  const { id: clientId } = await newClient();
  const { id: invoiceId } = await bill('60.00', clientId);
  const paid = await receive('80.00');
  const changed = await change(paid, {
    clientId,
    allocations: [{ invoiceId, amount: '60.00' }],
    changeDate: '2026-02-10',
  });
  expect(changed).toMatchObject({ status: 'UPDATED', attributes: { clientId, unappliedAmount: '20.00' } });
  expect(await ledgerOf(paid.id)).toEqual([
    'PAYMENT 80.00 2026-02-01 null',
    'IDENTIFICATION -80.00 2026-02-10 null',
    `IDENTIFICATION 80.00 2026-02-10 ${clientId}`,
    `ALLOCATION -60.00 2026-02-10 ${clientId}`,
    `ALLOCATION -60.00 2026-02-10 ${clientId}`,
  ]);
  const journal = await journalOf(paid.id);
  expect(journal).toEqual(
    expect.arrayContaining([
      'IDENTIFICATION SUSPENSE 80.00 2190 null',
      `IDENTIFICATION CREDIT -80.00 null ${clientId}`,
    ]),
  );
  expect(journal.filter((row) => row.startsWith('IDENTIFICATION'))).toHaveLength(2);
  expect(await balances(clientId)).toMatchObject({ unappliedCredit: '20.00', outstandingBalance: '0.00' });
  const { body } = await preparer.call<{ data: { kind: string; amount: string; balance: string }[] }>(
    'GET',
    `/api/v1/clients/${clientId}/statement?from=2026-02-01&to=2026-02-28`,
  );
  expect(body.data.map(({ kind, amount }) => `${kind} ${amount}`)).toEqual(['IDENTIFICATION -80.00']);
  expect(await change(paid, { clientId: null })).toMatchObject({ status: 'UNCHANGED' });
  const { id: other } = await newClient();
  expect(await change(paid, { clientId: other })).toMatchObject({ status: 'FAILED', error: { code: 'INVALID_STATE' } });
  await agree();
});

describe('the money of an unknown payer', () => {
  test.each([
    ['RETURNED', { changeReason: 'Bounced' }, 'RETURN'],
    ['VOIDED', {}, 'PAYMENT_VOID'],
  ])('is taken back: %s', async (status, more, kind) => {
    const paid = await receive('30.00', { orgId: org?.id });
    expect(await change(paid, { status, ...more, changeDate: '2026-02-05' })).toMatchObject({ status: 'UPDATED' });
    expect(await ledgerOf(paid.id)).toEqual(['PAYMENT 30.00 2026-02-01 null', `${kind} -30.00 2026-02-05 null`]);
    await agree();
  });

  test('is returned after it was refunded, and the loss moves to the client', async () => {
    const paid = await receive('30.00', { orgId: org?.id });
    await change(paid, { refundedAmount: '10.00', changeDate: '2026-02-03' });
    await change(paid, { status: 'RETURNED', changeReason: 'Bounced', changeDate: '2026-02-05' });
    const { id: clientId } = await newClient();
    expect(await change(paid, { clientId, changeDate: '2026-02-06' })).toMatchObject({ status: 'UPDATED' });
    expect((await ledgerOf(paid.id)).slice(-2)).toEqual([
      'IDENTIFICATION 10.00 2026-02-06 null',
      `IDENTIFICATION -10.00 2026-02-06 ${clientId}`,
    ]);
    expect(await balances(clientId)).toMatchObject({ unappliedCredit: '-10.00' });
    await agree();
  });

  test('is not in the books of the client before the day of its identification', async () => {
    const paid = await receive('50.00');
    const { id: clientId } = await newClient();
    const { id: invoiceId } = await bill('50.00', clientId);
    await change(paid, { clientId, changeDate: '2026-03-01' });
    const early = await change(paid, { status: 'RETURNED', changeReason: 'Bounced', changeDate: '2026-02-20' });
    expect(early).toMatchObject({
      status: 'FAILED',
      error: { code: 'VALIDATION_ERROR', pointer: expect.stringContaining('/changeDate') },
    });
    await change(paid, { allocations: [{ invoiceId, amount: '50.00' }] });
    expect((await payment(paid.id)).allocations).toMatchObject([{ date: '2026-03-01' }]);
    await agree();
  });

  test('waits for its settlement, and has no entries until then', async () => {
    const paid = await receive('40.00', { method: 'ACH' });
    const { id: clientId } = await newClient();
    await change(paid, { clientId });
    expect(await ledgerOf(paid.id)).toEqual([]);
    await change(paid, { status: 'COMPLETED' });
    expect(await ledgerOf(paid.id)).toEqual([`PAYMENT 40.00 2026-02-01 ${clientId}`]);
    await agree();
  });

  test('is a group of its own in aggregates, also in those of whole months', async () => {
    const grouped = async (where: object) => {
      const { body } = await preparer.call<Schemas['AggregatePage']>('POST', '/gql/v1/ledger_entries/aggregate', {
        where: { account: { _eq: 'CREDIT' }, ...where },
        groupBy: [{ column: 'clientId' }],
        measures: { held: { function: 'SUM', column: 'amount' }, entries: { function: 'COUNT' } },
        pageSize: 100,
      });
      return body.data.find(({ key }) => key.clientId === null)?.values;
    };
    const before = await grouped({});
    await receive('25.00', { paymentDate: '2026-01-15' });
    const after = await grouped({});
    expect(Number(after?.held) - Number(before?.held)).toBe(25);
    // What is not the sum of months is read from the entries.
    for (const where of [
      {},
      { businessDate: { _lte: '2026-02-01' } },
      { businessDate: { _gt: '2026-01-20', _lt: '2026-03-03' } },
    ])
      expect(await grouped(where)).toEqual(await grouped({ ...where, amount: { _neq: '0.00' } }));
  });

  test('is in the closed periods of the org that received it', async () => {
    const close = (day: string | null) =>
      approving.update([
        {
          type: 'Org',
          systemRef: org?.systemRef ?? '',
          attributes: { booksClosedThrough: day, ...(day === null && { changeReason: 'Test' }) },
        },
      ]);
    const paid = await receive('15.00');
    await close('2026-02-15');
    try {
      const attributes = {
        clientId: null,
        paymentDate: '2026-02-10',
        amount: '5.00',
        method: 'CHECK',
        source: 'MANUAL',
      };
      expect(only(await records.upsert([{ type: 'Payment', attributes }]))).toMatchObject({
        error: { code: 'PERIOD_CLOSED' },
      });
      const { id: clientId } = await newClient();
      expect(await change(paid, { clientId, changeDate: '2026-02-12' })).toMatchObject({
        error: { code: 'PERIOD_CLOSED' },
      });
    } finally {
      await close(null);
    }
    await agree();
  });
});

test('mergeClients moves a payment that was identified, and leaves the entries of its unknown payer', async () => {
  const [{ id: from }, { id: into }] = [await newClient(), await newClient()];
  const paid = await receive('45.00');
  await change(paid, { clientId: from, changeDate: '2026-02-08' });
  const merged = await preparer.call('POST', '/api/v1/clients/merge', { from, into, reason: 'The same firm' });
  expect(merged.status).toBe(200);
  expect(await ledgerOf(paid.id)).toEqual([
    'PAYMENT 45.00 2026-02-01 null',
    'IDENTIFICATION -45.00 2026-02-08 null',
    `IDENTIFICATION 45.00 2026-02-08 ${into}`,
  ]);
  expect(await balances(into)).toMatchObject({ unappliedCredit: '45.00' });
  await agree();
});

test('many payments of unknown payers at once, and two that identify one, leave the books as they are', async () => {
  const created = await Promise.all(Array.from({ length: 8 }, () => receive('7.00', { paymentDate: '2026-02-02' })));
  const { id: one } = await newClient();
  const { id: other } = await newClient();
  const [first] = created;
  const changes = await Promise.all([one, other].map((clientId) => change(first ?? { systemRef: null }, { clientId })));
  expect(changes.map(({ status }) => status).toSorted()).toEqual(['FAILED', 'UPDATED']);
  await agree();
});

test('a payment of which nothing is held is identified as of any day, also in a closed period', async () => {
  const { id: clientId } = await newClient();
  const paid = await receive('30.00');
  await change(paid, { status: 'RETURNED', changeReason: 'Bounced', changeDate: '2026-02-03' });
  const accountant = recordsOf(await service.signIn({ roles: ['API_ADMIN', 'BOOKS_CLOSE'] }));
  const closing = { type: 'Org', systemRef: org?.systemRef ?? '', attributes: { booksClosedThrough: '2026-02-28' } };
  expect(only(await accountant.update([closing])).error).toBeNull();
  expect(await change(paid, { clientId, changeDate: '2026-02-05' })).toMatchObject({ status: 'UPDATED' });
  expect(await ledgerOf(paid.id)).toEqual(['PAYMENT 30.00 2026-02-01 null', 'RETURN -30.00 2026-02-03 null']);
  await agree();
  const reopened = { ...closing, attributes: { booksClosedThrough: null, changeReason: 'Other tests' } };
  expect(only(await accountant.update([reopened])).error).toBeNull();
});

test('a client of another org, or with another currency, cannot be the payer', async () => {
  const paid = await receive('12.00');
  const { id: euros } = await newClient({ currency: 'EUR' });
  expect(await change(paid, { clientId: euros })).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
  const { id: orgId } = await records.make('Org', {
    name: 'Second LLC',
    legalName: 'Second LLC',
    currency: 'USD',
    code: 'SECOND',
    country: 'US',
    timeZone: 'America/New_York',
    fiscalYearStartMonth: 1,
  });
  const { id: stranger } = await newClient({ orgId });
  expect(await change(paid, { clientId: stranger })).toMatchObject({
    error: { code: 'VALIDATION_ERROR', pointer: expect.stringContaining('/clientId') },
  });
  // Several orgs: the payment must name the one that received it.
  await expect(receive('12.00')).rejects.toThrow('orgId is required');
  const named = await receive('12.00', { orgId });
  expect(await change(named, { clientId: stranger })).toMatchObject({ status: 'UPDATED' });
  await agree();
});
