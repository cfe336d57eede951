/** Every balance is the sum of entries that never change, and that read as of any day. */
import type { components } from '@financial-automation/spec';
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { firm } from '../../../../test/modules/billing.ts';
import { only } from '../../../../test/modules/records.ts';
import { isNightly } from '../../../../test/nightly.ts';
import { testService } from '../../../../test/service.ts';

type LedgerEntry = components['schemas']['LedgerEntry'];
type Page = components['schemas']['LedgerEntryPage'];

const service = await testService();
const { store, tenant } = service;
const { client, draftOf, newClient, newJob, pay, payment, post, preparer, records, workFor } = await firm(service);

async function entriesWhere(where: object, caller = preparer): Promise<LedgerEntry[]> {
  const { status, body } = await caller.call<Page>('POST', '/gql/v1/ledger_entries/search', { where, pageSize: 200 });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.data;
}

/** The account, kind, amount and day of each entry. */
async function movesWhere(where: object): Promise<string[]> {
  const entries = await entriesWhere(where);
  return entries.map(({ account, kind, amount, businessDate }) => `${account} ${kind} ${amount} ${businessDate}`);
}

/** The sum of the entries of an account, as of a day. */
async function balanceAsOf(account: string, of: object, day: string): Promise<string | null> {
  const { body } = await preparer.call<{ data: { values: Record<string, string | null> }[] }>(
    'POST',
    '/gql/v1/ledger_entries/aggregate',
    {
      where: { ...of, account: { _eq: account }, businessDate: { _lte: day } },
      measures: { balance: { function: 'SUM', column: 'amount' } },
    },
  );
  return body.data[0]?.values.balance ?? null;
}

async function change(type: string, systemRef: string | null | undefined, attributes: object) {
  return only(await records.update([{ type, systemRef: systemRef ?? '', attributes }]));
}

let bills = 0;
function bill(amount: string, invoiceDate: string, clientId = client.id) {
  const lines = [{ lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: amount, taxable: false }];
  const pmsRef = `ledger-${++bills}`;
  return records.make('Invoice', { pmsRef, clientId, invoiceDate, dueDate: '2026-12-31', lines });
}

const today = Temporal.Now.plainDateISO(tenant.timeZone).toString();

describe('the entries of a story', () => {
  test('work, its invoice, a payment, its return and the void', async () => {
    const wipId = await workFor('2.00', undefined, '2026-02-10');
    const draft = await draftOf([{ lineType: 'TIME', unitAmount: '350.00', wipIds: [wipId] }]);
    const invoiceId = await post(draft);
    expect(await movesWhere({ wipEntryId: { _eq: wipId } })).toEqual([
      'WIP WORK 380.00 2026-02-10',
      // The invoice is dated before the work, which was not there yet.
      'WIP WRITE_DOWN -30.00 2026-02-10',
      'WIP BILLED -350.00 2026-02-10',
    ]);
    const paid = await pay('500.00', [{ invoiceId, amount: '350.00' }], { paymentDate: '2026-02-20' });
    await change('Payment', paid.systemRef, { status: 'RETURNED', changeReason: 'Bounced', changeDate: '2026-03-01' });
    const entries = await entriesWhere({ paymentId: { _eq: paid.id } });
    expect(entries.map(({ account, kind, amount, businessDate }) => [account, kind, amount, businessDate])).toEqual([
      ['CREDIT', 'PAYMENT', '500.00', '2026-02-20'],
      ['RECEIVABLE', 'ALLOCATION', '-350.00', '2026-02-20'],
      ['CREDIT', 'ALLOCATION', '-350.00', '2026-02-20'],
      ['RECEIVABLE', 'DEALLOCATION', '350.00', '2026-03-01'],
      ['CREDIT', 'DEALLOCATION', '350.00', '2026-03-01'],
      ['CREDIT', 'RETURN', '-500.00', '2026-03-01'],
    ]);
    const [came, ownHalf, otherHalf, back, backOfCredit, returned] = entries;
    expect([back?.reversesId, backOfCredit?.reversesId, returned?.reversesId]).toEqual([
      ownHalf?.id,
      otherHalf?.id,
      came?.id,
    ]);
    expect(returned).toMatchObject({ reason: 'Bounced', recordedByApiUserId: expect.any(String), invoiceId: null });
    const [invoiced] = await entriesWhere({ invoiceId: { _eq: invoiceId }, kind: { _eq: 'INVOICE' } });
    expect(invoiced).toMatchObject({ amount: '350.00', businessDate: '2026-01-31', dueDate: '2026-03-02' });

    const { body } = await preparer.call<{ systemRef: string }>('GET', `/gql/v1/invoice/${invoiceId}`);
    await change('Invoice', body.systemRef, { status: 'VOIDED', voidReason: 'Wrong month', changeDate: '2026-03-05' });
    const ofVoid = { invoiceId: { _eq: invoiceId }, businessDate: { _eq: '2026-03-05' } };
    expect(await movesWhere(ofVoid)).toEqual([
      'RECEIVABLE VOID -350.00 2026-03-05',
      'WIP UNBILLED 350.00 2026-03-05',
      'WIP WRITE_DOWN 30.00 2026-03-05',
    ]);
    for (const entry of await entriesWhere(ofVoid)) expect(entry.reversesId).not.toBeNull();
    expect(await balanceAsOf('WIP', { wipEntryId: { _eq: wipId } }, today)).toBe('380.00');
  });

  test('a write-off and its recovery', async () => {
    const invoice = await bill('90.00', '2026-01-15');
    await change('Invoice', invoice.systemRef, { status: 'WRITTEN_OFF', writeOffReason: 'Insolvent' });
    await change('Invoice', invoice.systemRef, { status: 'POSTED', changeReason: 'The administrator pays' });
    const [, off, back] = await entriesWhere({ invoiceId: { _eq: invoice.id } });
    expect(off).toMatchObject({ kind: 'WRITE_OFF', amount: '-90.00', reason: 'Insolvent', businessDate: today });
    expect(back).toMatchObject({ kind: 'RECOVERY', amount: '90.00', reversesId: off?.id });
    expect(back).toMatchObject({ reason: 'The administrator pays' });
  });

  test('work that is corrected before it is billed counts on its own day', async () => {
    const { clientId, jobId } = await preparer
      .call<{ clientId: string; jobId: string }>('GET', `/gql/v1/wip/${await workFor('1.00')}`)
      .then(({ body }) => body);
    const work = { wipType: 'PROGRESS', clientId, jobId, workDate: '2026-02-01', amount: '100.00' };
    const row = await records.make('WipEntry', work);
    await change('WipEntry', row.systemRef, { amount: '80.00', workDate: '2026-02-03' });
    expect(await movesWhere({ wipEntryId: { _eq: row.id } })).toEqual([
      'WIP WORK 100.00 2026-02-01',
      'WIP WORK_REVERSED -100.00 2026-02-01',
      'WIP WORK 80.00 2026-02-03',
    ]);
    expect(await balanceAsOf('WIP', { wipEntryId: { _eq: row.id } }, '2026-02-02')).toBe('0.00');
    const entries = await entriesWhere({ wipEntryId: { _eq: row.id } });
    expect(entries.map(({ workDate }) => workDate)).toEqual(['2026-02-01', '2026-02-01', '2026-02-03']);
  });

  test('aggregateLedgerEntries ages the work that was not billed on a day, in one call', async () => {
    const { id: clientId } = await newClient();
    const jobId = await newJob(clientId);
    const works = [await workFor('1.00', jobId, '2026-02-10'), await workFor('2.00', jobId, '2026-03-20')];
    const line = { lineType: 'TIME' as const, unitAmount: '150.00', wipIds: works.slice(0, 1) };
    const dates = { proposedInvoiceDate: '2026-04-10', dueDate: '2026-05-10' };
    const posted = await post(await draftOf([line], { clientId, ...dates }));
    await change('Invoice', posted, { status: 'VOIDED', voidReason: 'Wrong price', changeDate: '2026-05-02' });
    const agesAsOf = async (day: string) => {
      const { body } = await preparer.call<{ data: { key: { workDate: string }; values: { unbilled: string } }[] }>(
        'POST',
        '/gql/v1/ledger_entries/aggregate',
        {
          where: { clientId: { _eq: clientId }, account: { _eq: 'WIP' }, businessDate: { _lte: day } },
          groupBy: [{ column: 'workDate', daysBefore: day, boundaries: [0, 31, 61] }],
          measures: { unbilled: { function: 'SUM', column: 'amount' } },
        },
      );
      return Object.fromEntries(body.data.map(({ key, values }) => [key.workDate, values.unbilled]));
    };
    expect(await agesAsOf('2026-03-31')).toEqual({ 0: '380.00', 31: '190.00' });
    expect(await agesAsOf('2026-04-30')).toEqual({ 31: '380.00', 61: '0.00' });
    expect(await agesAsOf('2026-05-31')).toEqual({ 61: '570.00' });
  });

  test('is known from the time at which it was recorded', async () => {
    const invoice = await bill('90.00', '2026-01-15');
    // A time has milliseconds only: the entries need different ones.
    await new Promise((resolve) => setTimeout(resolve, 5));
    await change('Invoice', invoice.systemRef, { status: 'WRITTEN_OFF', writeOffReason: 'Insolvent' });
    const entries = await entriesWhere({ invoiceId: { _eq: invoice.id } });
    const [before = '', after = ''] = entries.map(({ recordedAt }) => String(recordedAt)).sort();
    const knownAt = (time: string) => movesWhere({ invoiceId: { _eq: invoice.id }, recordedAt: { _lte: time } });
    expect(await knownAt(before)).toEqual(['RECEIVABLE INVOICE 90.00 2026-01-15']);
    expect(await knownAt(after)).toHaveLength(2);
  });

  test('an import that waits to be posted has no entries', async () => {
    const lines = [{ lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: '10.00', taxable: false }];
    const dates = { invoiceDate: '2026-01-02', dueDate: '2026-02-02' };
    const attributes = { pmsRef: 'waits', clientId: client.id, ...dates, lines, status: 'PENDING' };
    const waiting = await records.make('Invoice', attributes);
    expect(await movesWhere({ invoiceId: { _eq: waiting.id } })).toEqual([]);
    await change('Invoice', waiting.systemRef, { status: 'POSTED' });
    expect(await movesWhere({ invoiceId: { _eq: waiting.id } })).toEqual(['RECEIVABLE INVOICE 10.00 2026-01-02']);
  });
});

describe('the day of an entry', () => {
  test('a check of last month that is entered today counts for its date', async () => {
    const invoice = await bill('100.00', '2026-01-10');
    await pay('60.00', [{ invoiceId: invoice.id, amount: '60.00' }], { paymentDate: '2026-03-01' });
    await pay('40.00', [{ invoiceId: invoice.id, amount: '40.00' }], { paymentDate: '2026-02-01' });
    const of = { invoiceId: { _eq: invoice.id } };
    expect(await balanceAsOf('RECEIVABLE', of, '2026-01-31')).toBe('100.00');
    expect(await balanceAsOf('RECEIVABLE', of, '2026-02-01')).toBe('60.00');
    expect(await balanceAsOf('RECEIVABLE', of, '2026-03-01')).toBe('0.00');
    const { body } = await preparer.call('GET', `/gql/v1/invoice/${invoice.id}`);
    expect(body).toMatchObject({ status: 'PAID', paidDate: '2026-03-01', daysToPay: 50 });
  });

  test('money that is moved to another invoice is not allocated twice on the days before', async () => {
    const [wrong, right] = [await bill('100.00', '2026-01-10'), await bill('100.00', '2026-01-10')];
    const paid = await pay('100.00', [{ invoiceId: wrong.id, amount: '100.00' }]);
    const moved = { allocations: [{ invoiceId: right.id, amount: '100.00' }], changeDate: '2026-04-01' };
    expect(await change('Payment', paid.systemRef, moved)).toMatchObject({ status: 'UPDATED' });
    expect(await movesWhere({ paymentId: { _eq: paid.id }, account: { _eq: 'CREDIT' } })).toEqual([
      'CREDIT PAYMENT 100.00 2026-02-01',
      'CREDIT ALLOCATION -100.00 2026-02-01',
      'CREDIT DEALLOCATION 100.00 2026-04-01',
      'CREDIT ALLOCATION -100.00 2026-04-01',
    ]);
  });

  test.each([
    ['before the entry that it undoes', '2026-02-05'],
    ['before the money was there again', '2026-02-25'],
  ])('updateRecords rejects a changeDate %s', async (_what, changeDate) => {
    const invoice = await bill('100.00', '2026-01-10');
    const paid = await pay('100.00', [{ invoiceId: invoice.id, amount: '100.00' }], { paymentDate: '2026-02-20' });
    const { systemRef, id } = paid;
    await change('Payment', systemRef, { allocations: [], changeDate: '2026-03-01' });
    const item = await change('Payment', systemRef, { status: 'VOIDED', changeDate });
    const { error } = item;
    expect(error).toMatchObject({ code: 'VALIDATION_ERROR', pointer: '/records/0/attributes/changeDate' });
    expect(await payment(id)).toMatchObject({ status: 'COMPLETED' });
  });
});

describe('figures that sums are sufficient for', () => {
  const days = fc.constantFrom(
    '2025-12-31',
    '2026-01-01',
    '2026-01-10',
    '2026-01-31',
    '2026-02-01',
    '2026-02-20',
    '2026-03-31',
    today,
  );
  /** From one day to the same or a later one, or without one of the ends. */
  const businessDate = fc
    .tuple(days, days, fc.constantFrom('_gte', '_gt', ''), fc.constantFrom('_lte', '_lt', ''))
    .map(([one, other, from, to]) => {
      const [first, last] = [one, other].sort();
      return { ...(from !== '' && { [from]: first }), ...(to !== '' && { [to]: last }) };
    });
  const others = fc.record(
    {
      account: fc.constantFrom({ _eq: 'WIP' }, { _in: ['CREDIT', 'RECEIVABLE'] }, { _neq: 'WIP' }),
      client: fc.constantFrom({ name: { _like: '%' } }, { name: { _eq: 'nobody' } }),
      dueDate: fc.constantFrom({ _lte: '2026-02-28' }, { _is_null: true }),
      _or: fc.constant([{ currency: { _eq: 'USD' } }, { clientId: { _eq: client.id } }]),
    },
    { requiredKeys: [] },
  );
  const groupBy = fc.subarray(
    [
      { column: 'account' },
      { column: 'client.name' },
      { column: 'businessDate', by: 'MONTH' },
      { column: 'dueDate', daysBefore: '2026-03-15', boundaries: [1, 31] },
      { column: 'workDate' },
      { column: 'currency' },
    ],
    { maxLength: 4 },
  );
  const measures = { entries: { function: 'COUNT' }, sum: { function: 'SUM', column: 'amount' } };

  test('aggregateLedgerEntries and searchLedgerEntries › are the figures of the entries, as of any day', async () => {
    const figures = async (where: object, groups: object) => {
      const aggregate = await preparer.call<{ data: unknown }>('POST', '/gql/v1/ledger_entries/aggregate', {
        where,
        measures,
        ...(Array.isArray(groups) && groups.length > 0 && { groupBy: groups }),
      });
      const search = { where, pageSize: 1, includeTotal: true };
      const found = await preparer.call<{ total: number }>('POST', '/gql/v1/ledger_entries/search', search);
      expect([aggregate.status, found.status]).toEqual([200, 200]);
      return [aggregate.body.data, found.body.total];
    };
    const property = fc.asyncProperty(businessDate, others, groupBy, async (day, other, groups) => {
      const where = { ...other, ...(Object.keys(day).length > 0 && { businessDate: day }) };
      const read = await figures(where, groups);
      // The sums have no amounts of single entries, so these are read. All entries match.
      expect(read).toEqual(await figures({ ...where, amount: { _neq: '0.00' } }, groups));
    });
    await fc.assert(property, { numRuns: isNightly ? 100 : 12, seed: 45 });
  });

  test.each([
    ['months', 'ledger_month', { column: 'clientId' }, {}, {}],
    [
      'ages of work',
      'ledger_month',
      { column: 'workDate', daysBefore: today, boundaries: [0, 7] },
      { account: { _eq: 'WIP' }, clientId: { _is_null: false } },
      { oldest: { function: 'MIN', column: 'workDate' } },
    ],
    [
      'days',
      'ledger_day',
      { column: 'dueDate', daysBefore: today, boundaries: [1, 31, 61, 91] },
      {},
      { oldest: { function: 'MIN', column: 'workDate' } },
    ],
    [
      'work of jobs by month',
      'ledger_work_month',
      { column: 'jobId' },
      // Days of a month that is not whole are read from other sums, and so are those of the jobs of a page.
      {
        account: { _eq: 'WIP' },
        clientId: { _is_null: false },
        businessDate: { _lte: Temporal.PlainDate.from(today).add({ months: 2 }).toString() },
      },
      { newest: { function: 'MAX', column: 'workDate' } },
    ],
    [
      'first entries of jobs by month and age of work',
      'ledger_work_month',
      { column: 'workDate', daysBefore: today, boundaries: [-90, -80] },
      { account: { _eq: 'WIP' }, jobId: { _is_null: false } },
      { newest: { function: 'MAX', column: 'workDate' }, first: { function: 'MIN', column: 'businessDate' } },
    ],
    [
      'work',
      'ledger_work',
      { column: 'jobId' },
      { account: { _eq: 'WIP' } },
      { oldest: { function: 'MIN', column: 'workDate' }, newest: { function: 'MAX', column: 'workDate' } },
    ],
  ])('aggregateLedgerEntries › reads %s from their sums', async (_what, table, groupBy, others, more) => {
    const entries = async () => {
      const { body } = await preparer.call<{ data: { values: { entries: string } }[] }>(
        'POST',
        '/gql/v1/ledger_entries/aggregate',
        {
          where: { businessDate: { _lte: today }, ...others },
          groupBy: [groupBy],
          measures: { entries: { function: 'COUNT' }, ...more },
          pageSize: 1000,
        },
      );
      return body.data.reduce((sum, { values }) => sum + Number(values.entries), 0);
    };
    const before = await entries();
    const add = (count: number) =>
      store.ownerStatements(`
        alter table ${table} no force row level security;
        update ${table} set entries = entries + ${count} where ctid = (select min(ctid) from ${table});
        alter table ${table} force row level security`);
    await add(1000);
    expect(await entries()).toBe(before + 1000);
  });

  test('fold-sums › leaves one row of each sum, and every figure as it is', async () => {
    const rows = () =>
      store.read(tenant.id, (session) =>
        session.all(sql`
          select business_date, account, currency, due_date, work_date, sum(amount), sum(entries) as entries from ledger_day
          group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5`),
      );
    const count = async () =>
      (await store.read(tenant.id, (session) => session.all(sql`select from ledger_day`))).length;
    const before = await rows();
    expect(await count()).toBeGreaterThan(before.length);
    const fold = () =>
      store.write(tenant.id, (transaction) => transaction.all(sql`select fold_day_sums(${tenant.id})`));
    await Promise.all([fold(), fold()]);
    expect(await rows()).toEqual(before);
    expect(await count()).toBe(before.length);
  });
});

describe('who sees the ledger', () => {
  test('readers see the accounts whose role they have', async () => {
    const wipId = await workFor('1.00');
    const [entry] = await entriesWhere({ wipEntryId: { _eq: wipId } });
    const byRole = { WIP_R: 'WIP', INVC_R: 'RECEIVABLE', PYMT_R: 'CREDIT' };
    for (const [role, account] of Object.entries(byRole)) {
      const reader = await service.signIn({ roles: [role] });
      const seen = await entriesWhere({}, reader);
      expect(new Set(seen.map((one) => one.account))).toEqual(new Set([account]));
      const { body } = await reader.call<{ data: { key: { account: string } }[] }>(
        'POST',
        '/gql/v1/ledger_entries/aggregate',
        { groupBy: [{ column: 'account' }], measures: { entries: { function: 'COUNT' } } },
      );
      expect(body.data.map(({ key }) => key.account)).toEqual([account]);
      const { status } = await reader.call('GET', `/gql/v1/ledger_entry/${entry?.id}`);
      expect(status).toBe(role === 'WIP_R' ? 200 : 404);
    }
    const outsider = await service.signIn({ roles: ['CLNT_R'] });
    const { status } = await outsider.call('POST', '/gql/v1/ledger_entries/search', {});
    expect(status).toBe(403);
  });

  test('another tenant sees nothing of it', async () => {
    const other = await service.signIn({ roles: ['API_ADMIN'], tenant: await service.addTenant('elsewhere') });
    expect(await entriesWhere({ clientId: { _eq: client.id } }, other)).toEqual([]);
  });
});

describe('what the database refuses', () => {
  const write = (statement: string) => store.write(tenant.id, (transaction) => transaction.all(sql.raw(statement)));

  test.each([
    ['a changed entry', `update ledger_entry set amount = 1`],
    ['a removed entry', `delete from ledger_entry`],
  ])('%s', async (_what, statement) => {
    await expect(write(statement)).rejects.toThrow(/permission denied|never changed/);
  });

  test.each([
    ['an entry without a change', `amount, account, kind`, `amount, account, kind`],
    ['an entry with another sign', `amount, account, kind`, `-amount, account, kind`],
    ['an entry of another account', `amount, account, kind`, `amount, 'CREDIT', kind`],
    ['an entry of nothing', `amount, account, kind`, `0, account, kind`],
  ])('%s', async (_what, columns, values) => {
    await bill('10.00', '2026-01-10');
    const rest = 'tenant_id, currency, business_date, recorded_at, client_id, invoice_id, payment_id, due_date';
    const copy = `insert into ledger_entry (id, ${rest}, ${columns}) select gen_random_uuid(), ${rest}, ${values}
      from ledger_entry where kind = 'INVOICE' limit 1`;
    await expect(write(copy)).rejects.toThrow(/ledger_entry/);
  });

  test('half an allocation', async () => {
    const invoice = await bill('10.00', '2026-01-10');
    await pay('10.00', [{ invoiceId: invoice.id, amount: '10.00' }]);
    const copy = (account: string, kind: string, sign: string) => `insert into ledger_entry
      (id, tenant_id, currency, business_date, recorded_at, client_id, invoice_id, payment_id, due_date, amount, account, kind)
      select gen_random_uuid(), tenant_id, currency, business_date, recorded_at + interval '1 day', client_id, invoice_id, payment_id,
        due_date, ${sign}amount, account, '${kind}'
      from ledger_entry where invoice_id = '${invoice.id}' and account = '${account}' and kind = 'ALLOCATION'`;
    const both = `with back as (${copy('CREDIT', 'DEALLOCATION', '-')} returning 1), again as (${copy('CREDIT', 'ALLOCATION', '')} returning 1)
      select from back, again`;
    await expect(write(both)).rejects.toThrow(/half an allocation|ledger_entry_halves_agree/);
  });

  test('a line with another amount or tax than its quantity, price and rate have', async () => {
    const line = { quantity: '2', unitAmount: '10.00', taxable: true, taxRatePercent: '5' };
    for (const wrong of [{ amount: '21.00' }, { tax_amount: '1.01' }]) {
      const { id } = await draftOf([line]);
      const changed = store.write(tenant.id, async (transaction) => {
        const [stored] = await transaction.all(
          sql`delete from draft_invoice_line where draft_invoice_id = ${id} returning *`,
        );
        const row = JSON.stringify({ ...Object(stored), ...wrong });
        await transaction.all(sql`
          insert into draft_invoice_line select (jsonb_populate_record(null::draft_invoice_line, ${row}::jsonb)).*`);
        await transaction.all(sql`
          update draft_invoice d set subtotal = l.amount, tax_total = l.tax_amount, total = l.amount + l.tax_amount
          from draft_invoice_line l where d.id = ${id} and l.draft_invoice_id = d.id`);
      });
      await expect(changed).rejects.toThrow(/wrong amount|draft_invoice_line_amount_agrees/);
    }
  });

  test('a balance without its entry', async () => {
    const invoice = await bill('10.00', '2026-01-10');
    const off = `update invoice set status = 'WRITTEN_OFF', write_off_reason = 'x', amount_written_off = 10 where id = '${invoice.id}'`;
    await expect(write(off)).rejects.toThrow(/ledger_entry_invoice_agrees|amount due/);
  });
});
