/** The ledger as double entry, with the accounts of the firm. */
import type { components } from '@financial-automation/spec';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { firm } from '../../../../test/modules/billing.ts';
import { only, recordsOf } from '../../../../test/modules/records.ts';
import { isNightly } from '../../../../test/nightly.ts';
import { sharedService } from '../../../../test/service.ts';
import { findBreaches } from './invariants.ts';
import { differencesOf } from './kept-sums.ts';

type JournalEntry = components['schemas']['JournalEntry'];

const service = await sharedService();
const { client, draftOf, invoice, jobId, newClient, newJob, pay, post, records, workFor } = await firm(service);
const { body: orgs } = await service.call<{ data: { id: string; systemRef: string }[] }>('POST', '/gql/v1/orgs', {});
const [org] = orgs.data;
const map = (attributes: object) => records.make('GlMapping', { orgId: org?.id, ...attributes });

async function entriesOf(where: object): Promise<JournalEntry[]> {
  const { body } = await service.call<{ data: JournalEntry[] }>('POST', '/gql/v1/journal_entries/search', {
    where,
    pageSize: 1000,
    orderBy: [{ businessDate: 'asc' }],
  });
  return body.data;
}

/** Rows in words, those of a posting in the order of their amounts. */
async function journalOf(where: object): Promise<string[]> {
  const rows = await entriesOf(where);
  return Map.groupBy(rows, ({ postingId }) => postingId)
    .values()
    .toArray()
    .flatMap((posting) => posting.toSorted((one, other) => Number(other.amount) - Number(one.amount)))
    .map(
      ({ kind, purpose, amount, accountCode }) =>
        `${kind} ${purpose} ${amount}${accountCode === null ? '' : ` in ${accountCode}`}`,
    );
}

async function agrees(): Promise<void> {
  expect(await service.store.read(service.tenant.id, (session) => findBreaches(session, service.tenant.id))).toEqual(
    [],
  );
}

test('searchJournalEntries returns the life of an invoice as postings that add up to zero', async () => {
  const { id: regionId } = await records.make('TaxRegion', {
    name: 'Hawaii',
    code: 'US-HI',
    country: 'US',
    state: 'HI',
    ratePercent: '4.5',
    appliesToServices: true,
  });
  const { id: clientId } = await newClient({ taxRegionId: regionId });
  const draft = await draftOf([{ unitAmount: '200.00', taxable: true }, { unitAmount: '10.00' }], { clientId });
  const bill = await invoice(await post(draft));
  const paid = await pay('100.00', [{ invoiceId: bill.id, amount: '80.00' }], { clientId });
  await records.update([
    { type: 'Payment', systemRef: paid.systemRef, attributes: { refundedAmount: '20.00', changeDate: '2026-02-03' } },
    {
      type: 'Invoice',
      systemRef: bill.systemRef,
      attributes: { status: 'WRITTEN_OFF', writeOffReason: 'Gone', changeDate: '2026-02-04' },
    },
  ]);
  expect(bill.total).toBe('219.00');
  expect(await journalOf({ clientId: { _eq: clientId } })).toEqual([
    'INVOICE RECEIVABLE 219.00',
    'INVOICE TAX -9.00',
    'INVOICE REVENUE -10.00',
    'INVOICE REVENUE -200.00',
    'PAYMENT PAYMENT 100.00',
    'PAYMENT CREDIT -100.00',
    'ALLOCATION CREDIT 80.00',
    'ALLOCATION RECEIVABLE -80.00',
    'REFUND CREDIT 20.00',
    'REFUND PAYMENT -20.00',
    'WRITE_OFF WRITE_OFF 139.00',
    'WRITE_OFF RECEIVABLE -139.00',
  ]);
  const [tax] = await entriesOf({ purpose: { _eq: 'TAX' }, clientId: { _eq: clientId } });
  expect(tax).toMatchObject({
    taxName: 'Hawaii',
    taxRegionId: regionId,
    taxRatePercent: '4.5',
    documentNumber: bill.invoiceNumber,
    orgId: org?.id,
    debit: '0.00',
    credit: '9.00',
    invoiceLineId: bill.lines[0]?.id,
  });
  await agrees();
});

test('searchJournalEntries returns the tax of an invoice of 0.00, and takes it back by its void', async () => {
  const { id: clientId } = await newClient();
  const lines = [
    { unitAmount: '100.00', taxable: true, taxRatePercent: '19' },
    { unitAmount: '-119.00', lineType: 'DISCOUNT' as const },
  ];
  const { systemRef } = await invoice(await post(await draftOf(lines, { clientId })));
  const posted = ['INVOICE REVENUE 119.00', 'INVOICE TAX -19.00', 'INVOICE REVENUE -100.00'];
  expect(await journalOf({ clientId: { _eq: clientId } })).toEqual(posted);
  await agrees();
  await records.update([{ type: 'Invoice', systemRef, attributes: { status: 'VOIDED', voidReason: 'Wrong' } }]);
  expect(await journalOf({ clientId: { _eq: clientId } })).toEqual([
    ...posted,
    'VOID REVENUE 100.00',
    'VOID TAX 19.00',
    'VOID REVENUE -119.00',
  ]);
  await agrees();
  expect(await service.store.read(service.tenant.id, (session) => differencesOf(session, service.tenant.id))).toEqual(
    [],
  );
});

test('searchJournalEntries returns a credit note and what voids undo', async () => {
  const { id: clientId } = await newClient();
  const line = { unitAmount: '50.00', taxable: true, taxRatePercent: '10' };
  const bill = await invoice(await post(await draftOf([line], { clientId })));
  const job = await newJob(clientId);
  const { id: work } = await records.make('WipEntry', {
    wipType: 'PROGRESS',
    clientId,
    jobId: job,
    workDate: '2026-01-10',
    amount: '-20.00',
  });
  const credit = { lineType: 'PROGRESS' as const, ...line, unitAmount: '-20.00', jobId: job, wipIds: [work] };
  const note = await invoice(await post(await draftOf([credit], { clientId, creditedInvoiceId: bill.id })));
  const others = { clientId: { _eq: clientId }, purpose: { _nin: ['WIP', 'WIP_CHANGE'] } };
  const posted = [
    'INVOICE RECEIVABLE 55.00',
    'INVOICE TAX -5.00',
    'INVOICE REVENUE -50.00',
    'CREDIT_NOTE REVENUE 20.00',
    'CREDIT_NOTE TAX 2.00',
    'CREDIT_NOTE CREDIT -22.00',
  ];
  expect(await journalOf(others)).toEqual(posted);
  for (const { systemRef } of [note, bill])
    await records.update([{ type: 'Invoice', systemRef, attributes: { status: 'VOIDED', voidReason: 'Wrong' } }]);
  expect(await journalOf(others)).toEqual([
    ...posted,
    'NOTE_VOID CREDIT 22.00',
    'NOTE_VOID TAX -2.00',
    'NOTE_VOID REVENUE -20.00',
    'VOID REVENUE 50.00',
    'VOID TAX 5.00',
    'VOID RECEIVABLE -55.00',
  ]);
  await agrees();
});

test('a GlMapping names the account of a purpose, of a service line, of a tax, of a payment method and of a kind', async () => {
  const tax = await records.make('ServiceLine', { name: 'Tax', code: 'TAX', revenueAccountCode: '4010' });
  const audit = await records.make('ServiceLine', { name: 'Audit', code: 'AUD', revenueAccountCode: '4020' });
  const { id: clientId } = await newClient();
  const jobs = await Promise.all(
    [tax, audit].map(async ({ id }) => {
      const job = await newJob(clientId);
      const [{ systemRef } = { systemRef: null }] = (
        await service.call<{ data: { systemRef: string }[] }>('POST', '/gql/v1/projects/search', {
          where: { id: { _eq: job } },
        })
      ).body.data;
      await records.update([{ type: 'Job', systemRef, attributes: { serviceLineId: id } }]);
      return job;
    }),
  );
  await map({ purpose: 'RECEIVABLE', accountCode: '1200' });
  await map({ purpose: 'REVENUE', accountCode: '4000', accountName: 'Fees' });
  await map({ purpose: 'REVENUE', accountCode: '4021', serviceLineId: audit.id, accountName: 'Audit fees' });
  await map({ purpose: 'PAYMENT', accountCode: '1000' });
  await map({ purpose: 'PAYMENT', accountCode: '1010', paymentMethod: 'CHECK' });
  await map({ purpose: 'TAX', accountCode: '2200' });
  await map({ purpose: 'TAX', accountCode: '2210', taxName: 'PST' });
  await map({ purpose: 'WIP', accountCode: '1300' });
  await map({ purpose: 'WIP_CHANGE', accountCode: '4900' });
  await map({ purpose: 'WIP_CHANGE', accountCode: '4910', kind: 'WRITE_DOWN' });
  const wipId = await workFor('1.00', jobs[0]);
  const draft = await draftOf(
    [
      { lineType: 'TIME', jobId: jobs[0] ?? null, unitAmount: '150.00', wipIds: [wipId] },
      { jobId: jobs[1] ?? null, unitAmount: '30.00' },
      {
        unitAmount: '100.00',
        taxes: [
          { name: 'GST', ratePercent: '5' },
          { name: 'PST', ratePercent: '7' },
        ],
      },
    ],
    { clientId },
  );
  const invoiceId = await post(draft);
  for (const method of ['CHECK', 'WIRE']) await pay('10.00', [{ invoiceId, amount: '10.00' }], { clientId, method });
  expect(await journalOf({ clientId: { _eq: clientId } })).toEqual([
    'WORK WIP 190.00 in 1300',
    'WORK WIP_CHANGE -190.00 in 4900',
    'INVOICE RECEIVABLE 292.00 in 1200',
    'INVOICE TAX -5.00 in 2200',
    'INVOICE TAX -7.00 in 2210',
    'INVOICE REVENUE -30.00 in 4021',
    'INVOICE REVENUE -100.00 in 4000',
    'INVOICE REVENUE -150.00 in 4010',
    'WRITE_DOWN WIP_CHANGE 40.00 in 4910',
    'WRITE_DOWN WIP -40.00 in 1300',
    'BILLED WIP_CHANGE 150.00 in 4900',
    'BILLED WIP -150.00 in 1300',
    ...['1010', '1000'].flatMap((account) => [
      `PAYMENT PAYMENT 10.00 in ${account}`,
      'PAYMENT CREDIT -10.00',
      'ALLOCATION CREDIT 10.00',
      'ALLOCATION RECEIVABLE -10.00 in 1200',
    ]),
  ]);
  const names = (await entriesOf({ clientId: { _eq: clientId }, purpose: { _eq: 'REVENUE' } })).map(
    ({ accountName }) => accountName,
  );
  expect(new Set(names)).toEqual(new Set(['Fees', 'Audit fees', null]));
});

test('a rest that is settled is ROUNDING in an account of its own, apart from what is written off', async () => {
  await records.update([{ type: 'Org', systemRef: org?.systemRef ?? null, attributes: { settleWithin: '2.00' } }]);
  await map({ purpose: 'ROUNDING', accountCode: '7990', accountName: 'Rounding' });
  const { id: clientId } = await newClient();
  const bill = await invoice(await post(await draftOf([{ unitAmount: '100.00' }], { clientId })));
  const change = async (attributes: object) =>
    only(await records.update([{ type: 'Invoice', systemRef: bill.systemRef, attributes }]));
  await change({ writeOffAmount: '20.00', writeOffReason: 'Hardship' });
  const paid = await pay('79.50', [{ invoiceId: bill.id, amount: '79.50' }], { clientId });
  expect(await change({ settleRest: true, writeOffReason: 'Bank charges' })).toMatchObject({ status: 'UPDATED' });
  const losses = async () =>
    (await journalOf({ clientId: { _eq: clientId }, kind: { _in: ['WRITE_OFF', 'RECOVERY'] } })).filter(
      (row) => !row.includes('RECEIVABLE'),
    );
  expect(await losses()).toEqual(['WRITE_OFF WRITE_OFF 20.00', 'WRITE_OFF ROUNDING 0.50 in 7990']);
  // What is undone comes back to where it was entered.
  await records.update([
    { type: 'Payment', systemRef: paid.systemRef, attributes: { status: 'RETURNED', changeReason: 'Bounced' } },
  ]);
  await change({ writeOffAmount: '15.00', changeReason: 'Paid in part' });
  expect((await losses()).slice(2).toSorted()).toEqual(['RECOVERY ROUNDING -0.50 in 7990', 'RECOVERY WRITE_OFF -5.00']);
  const balance = await service.call<{ data: { key: { purpose: string }; values: { balance: string } }[] }>(
    'POST',
    '/gql/v1/journal_entries/aggregate',
    {
      where: { clientId: { _eq: clientId } },
      groupBy: [{ column: 'purpose' }],
      measures: { balance: { function: 'SUM', column: 'amount' } },
    },
  );
  const sums = new Map(balance.body.data.map(({ key, values }) => [key.purpose, values.balance]));
  expect([sums.get('WRITE_OFF'), sums.get('ROUNDING'), sums.get('RECEIVABLE')]).toEqual(['15.00', '0.00', '85.00']);
  const { body } = await service.call<{ data: { amount: string; isRounding: boolean }[] }>(
    'POST',
    '/gql/v1/ledger_entries/search',
    { where: { invoiceId: { _eq: bill.id }, kind: { _in: ['WRITE_OFF', 'RECOVERY'] } } },
  );
  expect(
    body.data
      .filter(({ isRounding }) => isRounding)
      .map(({ amount }) => amount)
      .toSorted(),
  ).toEqual(['-0.50', '0.50']);
  await agrees();
});

test('a GlMapping is unique, restricted only as its purpose allows, and written with BOOKS_CLOSE', async () => {
  let refs = 0;
  const mapping = (attributes: object, as = records) =>
    as.upsert([
      { type: 'GlMapping', systemRef: `gl-${++refs}`, attributes: { orgId: org?.id, accountCode: '9', ...attributes } },
    ]);
  await map({ purpose: 'WRITE_OFF', accountCode: '6000' });
  expect(only(await mapping({ purpose: 'WRITE_OFF' }))).toMatchObject({
    status: 'FAILED',
    error: { code: 'DUPLICATE_REF', pointer: '/records/0/attributes/purpose' },
  });
  for (const [field, value] of [
    ['kind', 'VOID'],
    ['paymentMethod', 'CHECK'],
  ])
    expect(only(await mapping({ purpose: 'TAX', [String(field)]: value }))).toMatchObject({
      status: 'FAILED',
      error: { code: 'VALIDATION_ERROR', pointer: `/records/0/attributes/${field}` },
    });
  const clerk = recordsOf(await service.signIn({ roles: ['RECORD_W', 'REF_W'] }));
  expect(only(await mapping({ purpose: 'TAX' }, clerk))).toMatchObject({
    status: 'FAILED',
    error: { code: 'FORBIDDEN' },
  });
});

test('aggregateJournalEntries returns a trial balance as of a day in one call, which agrees with the ledger', async () => {
  const { id: clientId } = await newClient();
  const bill = await post(await draftOf([{ unitAmount: '50.00' }], { clientId }));
  await pay('20.00', [{ invoiceId: bill, amount: '20.00' }], { clientId });
  const balanceAt = async (day: string) => {
    const { body } = await service.call<{ data: { key: { purpose: string }; values: Record<string, string> }[] }>(
      'POST',
      '/gql/v1/journal_entries/aggregate',
      {
        where: { clientId: { _eq: clientId }, businessDate: { _lte: day } },
        groupBy: [{ column: 'currency' }, { column: 'purpose' }],
        measures: {
          debit: { function: 'SUM', column: 'debit' },
          credit: { function: 'SUM', column: 'credit' },
          balance: { function: 'SUM', column: 'amount' },
        },
      },
    );
    return body.data.map(({ key, values }) => `${key.purpose}: ${values.debit} - ${values.credit} = ${values.balance}`);
  };
  expect(await balanceAt('2026-01-31')).toEqual(['RECEIVABLE: 50.00 - 0.00 = 50.00', 'REVENUE: 0.00 - 50.00 = -50.00']);
  expect(await balanceAt('2026-02-28')).toEqual([
    'CREDIT: 20.00 - 20.00 = 0.00',
    'PAYMENT: 20.00 - 0.00 = 20.00',
    'RECEIVABLE: 50.00 - 20.00 = 30.00',
    'REVENUE: 0.00 - 50.00 = -50.00',
  ]);
  await agrees();
});

test('aggregateJournalEntries › has the same figures by sums as by rows, also when a client moves to another office or is merged, and a job moves to another service line', async () => {
  const { id: tenantId } = service.tenant;
  const byAll = [
    'accountCode',
    'accountName',
    'currency',
    'kind',
    'orgId',
    'officeId',
    'paymentMethod',
    'purpose',
    'serviceLineId',
    'taxName',
  ];
  const figures = async (groupBy: readonly object[], where: object) => {
    const { status, body } = await service.call<{ data: object[] }>('POST', '/gql/v1/journal_entries/aggregate', {
      where,
      groupBy,
      pageSize: 1000,
      measures: {
        rows: { function: 'COUNT' },
        ...Object.fromEntries(['amount', 'debit', 'credit'].map((column) => [column, { function: 'SUM', column }])),
      },
    });
    expect(status).toBe(200);
    return body.data;
  };
  const same = async () => {
    for (const day of ['2026-01-10', '2026-01-31', '2099-12-31']) {
      for (const columns of [
        [],
        // By day each column is in one of the others.
        ...(isNightly ? byAll.map((column) => [column]) : []),
        byAll.slice(0, 4),
        byAll.slice(4, 8),
        byAll.slice(6),
      ]) {
        const groupBy = columns.map((column) => ({ column }));
        const where = { businessDate: { _lte: day } };
        // Sums have no amounts of single rows, so these are read. None is 0.00.
        expect(await figures(groupBy, where)).toEqual(await figures(groupBy, { ...where, amount: { _neq: '0.00' } }));
      }
    }
    expect(await service.store.read(tenantId, (session) => differencesOf(session, tenantId))).toEqual([]);
  };
  const { id: movedClient } = await newClient();
  const job = await newJob(movedClient);
  const wipId = await workFor('1.00', job);
  const bill = await post(
    await draftOf(
      [
        { lineType: 'TIME', jobId: job, unitAmount: '150.00', wipIds: [wipId] },
        { jobId: job, unitAmount: '10.00', taxes: [{ name: 'GST', ratePercent: '5' }] },
      ],
      { clientId: movedClient },
    ),
  );
  await pay('200.00', [{ invoiceId: bill, amount: '20.00' }], { clientId: movedClient });
  await workFor('2.00', job);
  const unknown = await pay('30.00', [], { clientId: null, orgId: org?.id });
  await same();
  const identified = { type: 'Payment', systemRef: unknown.systemRef, attributes: { clientId: movedClient } };
  await records.update([identified]);
  await same();
  const change = async (type: string, path: string, id: string, attributes: object) => {
    const found = await service.call<{ data: { systemRef: string }[] }>('POST', `/gql/v1/${path}/search`, {
      where: { id: { _eq: id } },
    });
    await records.update([{ type, systemRef: found.body.data[0]?.systemRef ?? '', attributes }]);
  };
  const line = await records.make('ServiceLine', { name: 'Advice', code: 'ADV', revenueAccountCode: '4030' });
  const before = await figures([{ column: 'officeId' }, { column: 'serviceLineId' }], {});
  await change('Job', 'projects', job, { serviceLineId: line.id });
  await same();
  const officeOf = (name: string) => records.make('Office', { name, code: name, orgId: org?.id, timeZone: 'UTC' });
  await change('Client', 'clients', movedClient, { officeId: (await officeOf('North')).id });
  await same();
  expect(await figures([{ column: 'officeId' }, { column: 'serviceLineId' }], {})).not.toEqual(before);
  const { id: into } = await newClient({ officeId: (await officeOf('South')).id });
  const merged = await service.call('POST', '/api/v1/clients/merge', {
    from: movedClient,
    into,
    reason: 'Created twice.',
  });
  expect(merged).toMatchObject({ status: 200 });
  await same();
  await service.store.write(tenantId, (transaction) => transaction.all(sql`select fold_day_sums(${tenantId})`));
  await same();
  await agrees();
});

test('listJournalEntries has each row on one page, by cursor and by offset, and requires JRNL_R', async () => {
  await workFor('2.00', jobId);
  await post(await draftOf([{}, { unitAmount: '5.00' }], { clientId: client.id }));
  const ids: string[] = [];
  const skipped: string[] = [];
  for (let cursor: string | null = '', page = 0; cursor !== null; page += 1) {
    const read: { body: { data: JournalEntry[]; nextCursor: string | null } } = await service.call(
      'POST',
      '/gql/v1/journal_entries',
      {
        pageSize: 3,
        ...(cursor !== '' && { cursor }),
      },
    );
    ids.push(...read.body.data.map(({ id }) => id));
    cursor = read.body.nextCursor;
    const { body } = await service.call<{ data: JournalEntry[] }>('POST', '/gql/v1/journal_entries', {
      pageSize: 3,
      page: page * 3,
    });
    skipped.push(...body.data.map(({ id }) => id));
  }
  expect(ids.length).toBeGreaterThan(40);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(skipped);
  const clerk = await service.signIn({ roles: ['INVC_R', 'PYMT_R', 'WIP_R'] });
  expect((await clerk.call('POST', '/gql/v1/journal_entries', {})).status).toBe(403);
  const accountant = await service.signIn({ roles: ['JRNL_R'] });
  expect((await accountant.call('POST', '/gql/v1/journal_entries', {})).status).toBe(200);
});

test.each(['asc', 'desc'])('searchJournalEntries orders rows by their IDs: %s', async (direction) => {
  const ids: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const read: { body: { data: JournalEntry[]; nextCursor: string | null } } = await service.call(
      'POST',
      '/gql/v1/journal_entries/search',
      { orderBy: [{ id: direction }], pageSize: 7, cursor },
    );
    ids.push(...read.body.data.map(({ id }) => id));
    cursor = read.body.nextCursor;
  }
  expect(ids.length).toBeGreaterThan(40);
  const sorted = ids.toSorted();
  expect(ids).toEqual(direction === 'asc' ? sorted : sorted.toReversed());
});

test('searchJournalEntries finds the rows of each client, and each row by its ID', async () => {
  const { id: clientId } = await newClient();
  const { id, systemRef } = await pay('30.00', [], { clientId: null, orgId: org?.id });
  await records.update([{ type: 'Payment', systemRef, attributes: { clientId, changeDate: '2026-02-10' } }]);
  await post(await draftOf([{ unitAmount: '0.00' }], { clientId }));
  const all = await entriesOf({});
  expect(all.filter((row) => row.clientId === clientId).map((row) => row.paymentId)).toContain(id);
  for (const [of, rows] of Map.groupBy(all, (row) => row.clientId)) {
    if (of === null) continue;
    expect(await entriesOf({ clientId: { _eq: of } })).toEqual(rows);
    expect(await entriesOf({ _not: { clientId: { _in: [of] } } })).toEqual(all.filter((row) => !rows.includes(row)));
  }
  const some = all.slice(0, 5);
  expect(await entriesOf({ id: { _in: some.map((row) => row.id) } })).toEqual(some);
  expect(await entriesOf({ id: { _eq: some[0]?.id } })).toEqual(some.slice(0, 1));
});
