import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { firm } from '../../test/modules/billing.ts';
import { testService } from '../../test/service.ts';
import { checkBooks, describeBooks } from './books.ts';

const service = await testService();
const { balances, client, draftOf, invoice, jobId, pay, payment, post, wip, workFor } = await firm(service);
const { id: tenantId, name: tenant } = service.tenant;
const check = (repair = false) => checkBooks(service, { tenant, repair });

/**
 * Changes rows in a way that no user of the service can: bypassing triggers and row-level security, as the owner of the
 * tables.
 */
async function damage(changes: Readonly<Record<string, string>>): Promise<void> {
  for (const [table, change] of Object.entries(changes))
    await service.store.ownerStatements(
      [
        `alter table ${table} disable trigger user`,
        `alter table ${table} no force row level security`,
        `update ${table} set ${change}`,
        `alter table ${table} enable trigger user`,
        `alter table ${table} force row level security`,
      ].join(';'),
    );
}

const invoiceId = await post(
  await draftOf([{ lineType: 'TIME', unitAmount: '400.00', wipIds: [await workFor('2.00')] }]),
);
const paid = await pay('150.00', [{ invoiceId, amount: '100.00' }]);
const openWip = await workFor('1.00');

test('books check › finds nothing in consistent books', async () => {
  expect(await check()).toEqual({ differences: [], breaches: [] });
  expect(describeBooks(tenant, await check(), false)).toEqual(['The books of firm are consistent.']);
});

test('books check › finds every damaged sum, and repairs it with an audit row and an event', async () => {
  const before = { invoice: await invoice(invoiceId), payment: await payment(paid.id), balances: await balances() };
  await damage({
    client: `outstanding_balance = 1, unapplied_credit = 2, unbilled_wip = 3 where id = '${client.id}'`,
    job: `actual_hours = 9, wip_amount = 8, billed_amount = 7, write_off_amount = 6 where id = '${jobId}'`,
    invoice: `amount_paid = 90 where id = '${invoiceId}'`,
    payment: `unapplied_amount = 5 where id = '${paid.id}'`,
  });
  const { differences } = await check();
  expect(differences.map(({ type, field, kept, actual }) => [type, field, kept, actual])).toEqual([
    ['Payment', 'unappliedAmount', '5.00', '50.00'],
    ['Invoice', 'amountPaid', '90.00', '100.00'],
    ['Job', 'actualHours', '9.00', '3.00'],
    ['Job', 'billedAmount', '7.00', '400.00'],
    ['Job', 'wipAmount', '8.00', '190.00'],
    ['Job', 'writeOffAmount', '6.00', '0.00'],
    // The client's balance is compared with the invoice as stored, damaged.
    ['Client', 'outstandingBalance', '1.00', '310.00'],
    ['Client', 'unappliedCredit', '2.00', '5.00'],
    ['Client', 'unbilledWip', '3.00', '190.00'],
  ]);
  expect(describeBooks(tenant, { differences, breaches: [] }, false).at(-1)).toContain('books check firm --repair');

  const repaired = await check(true);
  expect(repaired.differences).toHaveLength(9);
  expect(repaired.breaches).toEqual([]);
  expect(await check()).toEqual({ differences: [], breaches: [] });
  expect(await balances()).toEqual(before.balances);
  const { status, amountPaid, amountDue } = before.invoice;
  expect(await invoice(invoiceId)).toMatchObject({ status, amountPaid, amountDue });
  expect(await payment(paid.id)).toMatchObject({ unappliedAmount: before.payment.unappliedAmount });
  const audited = await service.store.read(tenantId, (session) =>
    session.all<{ type: string; before: Record<string, unknown>; after: Record<string, unknown> }>(sql`
      select entity_type as type, before, after from audit_log
      where tenant_id = ${tenantId} and operation = 'books check' order by id`),
  );
  expect(audited.map(({ type }) => type)).toEqual(['Client', 'Job', 'Invoice', 'Payment']);
  expect(audited[2]).toMatchObject({ before: { amountPaid: '90.00' }, after: { amountPaid: '100.00' } });
  // A copy that somebody keeps by events has what reads return.
  const announced = await service.store.read(tenantId, (session) =>
    session.all<{ type: string; data: Record<string, unknown>; changed: string[] }>(sql`
      select entity_type as type, data, changed_fields as changed from recorded_event event
      where tenant_id = ${tenantId} and request_id = 'operator' and operation = 'UPDATE'
        and entity_id in (${client.id}, ${jobId}, ${invoiceId}, ${paid.id})`),
  );
  expect(announced.map(({ type }) => type).toSorted()).toEqual(['Client', 'Invoice', 'Job', 'Payment']);
  expect(announced.find(({ type }) => type === 'Client')).toMatchObject({
    data: before.balances,
    changed: expect.arrayContaining(['outstandingBalance', 'unappliedCredit', 'unbilledWip']),
  });
});

test('books check › compares the months of the ledger with their entries, and repairs them', async () => {
  await damage({ ledger_month: `amount = amount + 1, entries = entries + 1 where account = 'CREDIT'` });
  const { differences } = await check();
  expect(differences).toMatchObject([
    { type: 'LedgerMonth', id: client.id, kept: '51.00 in 3 entries', actual: '50.00 in 2 entries' },
  ]);
  expect(differences[0]?.field).toMatch(/^CREDIT USD \d{4}-\d\d-01$/);
  expect((await check(true)).differences).toEqual(differences);
  expect(await check()).toEqual({ differences: [], breaches: [] });
});

test('books check › compares the first day of work of each month with its entries, and repairs it', async () => {
  await damage({ ledger_month: `first_work_date = first_work_date - 1 where account = 'WIP'` });
  const { differences } = await check();
  expect(differences).toMatchObject([{ type: 'LedgerMonth', id: client.id }]);
  const [kept, actual] = [differences[0]?.kept, differences[0]?.actual].map((text) => text?.split(' from '));
  expect(kept?.[0]).toBe(actual?.[0]);
  expect(kept?.[1]).toBe(
    Temporal.PlainDate.from(actual?.[1] ?? '')
      .subtract({ days: 1 })
      .toString(),
  );
  expect((await check(true)).differences).toEqual(differences);
  expect(await check()).toEqual({ differences: [], breaches: [] });
});

test.each([
  ['LedgerDay', 'ledger_day', `where account = 'CREDIT'`, /^51\.00 in \d entries$/],
  ['LedgerWork', 'ledger_work', `where amount > 0`, /^\d+1\.00 in \d entries$/, client.id],
  [
    'LedgerWorkMonth',
    'ledger_work_month',
    `where amount > 0`,
    /^\d+1\.00 in \d entries( from [-\d]{10}){2}( to [-\d]{10}){2}$/,
    client.id,
  ],
  [
    'JournalDay',
    'journal_sum',
    `where purpose = 'CREDIT' and kind = 'PAYMENT'`,
    /^-149\.00 0\.00 150\.00 in \d entries$/,
  ],
])(
  'books check › compares the %s sums with their entries, and repairs them',
  async (type, table, where, kept, id: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\d$/)) => {
    await damage({
      [table]: `amount = amount + 1, entries = entries + 1 where ctid = (select min(ctid) from ${table} ${where})`,
    });
    const { differences } = await check();
    expect(differences).toMatchObject([{ type, kept: expect.stringMatching(kept), id }]);
    expect((await check(true)).differences).toEqual(differences);
    expect(await check()).toEqual({ differences: [], breaches: [] });
  },
);

test('books check › corrects the status of an invoice from its payments', async () => {
  await damage({
    invoice: `amount_paid = 0, status = 'POSTED' where id = '${invoiceId}'`,
    client: `outstanding_balance = 400 where id = '${client.id}'`,
  });
  expect((await check(true)).differences).toMatchObject([{ type: 'Invoice', actual: '100.00' }]);
  expect(await invoice(invoiceId)).toMatchObject({ status: 'PARTIALLY_PAID', amountDue: '300.00' });
  expect(await check()).toEqual({ differences: [], breaches: [] });
});

test('books check › reports rows that no sum can repair', async () => {
  await damage({ wip_entry: `amount = 191, billing_rate = 191 where id = '${openWip}'` });
  const { differences, breaches } = await check(true);
  expect(differences.map(({ type, field }) => `${type}.${field}`)).toEqual(['Job.wipAmount', 'Client.unbilledWip']);
  expect(breaches).toMatchObject([
    { rule: 'the WIP entries of a row of wip_entry add up to its balance' },
    { rule: 'approved billable time is one row of work in progress, and other time is none' },
  ]);
  expect(describeBooks(tenant, { differences: [], breaches }, true).at(-1)).toContain('audit log');
  expect(await wip(openWip)).toMatchObject({ amount: '191.00' });
});

test('books check › fails for a tenant that does not exist', async () => {
  await expect(checkBooks(service, { tenant: 'nobody', repair: false })).rejects.toThrow(
    'The tenant nobody does not exist.',
  );
});

test('books check › writes nothing if the sources contradict each other', async () => {
  await damage({ payment_allocation: `amount = 500 where payment_id = '${paid.id}'` });
  await expect(check(true)).rejects.toThrow('Nothing was repaired');
  expect(await invoice(invoiceId)).toMatchObject({ amountPaid: '100.00' });
});

test('books check › reports the rows with which the journal does not agree, and entries of another day than their work or invoice', async () => {
  await damage({
    invoice: `due_date = due_date + 1 where id = '${invoiceId}'`,
    invoice_line_tax: `amount = amount + 1 where invoice_id = '${invoiceId}'`,
    ledger_entry: `amount = amount - 1, document_date = document_date - 1 where account = 'RECEIVABLE' and kind = 'ALLOCATION'`,
    payment: `amount = amount + 5 where id = '${paid.id}'`,
    wip_entry: `work_date = work_date - 1 where id = '${openWip}'`,
  });
  const { breaches } = await check();
  const rules = new Set(breaches.map(({ rule }) => rule));
  for (const rule of [
    'the rows of a posting add up to zero',
    'the journal has the movements of the ledger, by client, account and day',
    'the journal has the revenue and the tax of documents that count',
    'the journal has the money that was received and not refunded or returned',
    'the entries of work are those of its day, client and job, and all others add up to nothing',
    'the RECEIVABLE entries of an invoice have its client and its due date',
    'the entries of an invoice or a payment have its date, and none is of an earlier day',
  ])
    expect(rules).toContain(rule);
});
