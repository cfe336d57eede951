/** The books of several orgs of a firm are separate. */
import { afterAll, expect, test } from 'vitest';
import { Visitor } from '../../../test/console/visitor.ts';
import { firm } from '../../../test/modules/billing.ts';
import { only } from '../../../test/modules/records.ts';
import { sharedService } from '../../../test/service.ts';
import { createApiKey } from '../../operator/api-keys.ts';
import { checkBooks } from '../../operator/books.ts';

const service = await sharedService();
const { draftOf, newClient, newJob, pay, post, records, staffId, workFor } = await firm(service);
const { body: orgs } = await service.call<{ data: { id: string }[] }>('POST', '/gql/v1/orgs', {});
const first = orgs.data[0]?.id;
const place = { currency: 'USD', country: 'US', timeZone: 'UTC', fiscalYearStartMonth: 1 };
const { id: second } = await records.make(
  'Org',
  { name: 'Second', legalName: 'Second', code: '2', ...place },
  'second-org',
);

const change = async (type: string, systemRef: string | null, attributes: object) =>
  only(await records.update([{ type, systemRef, attributes }]));
const inGroup = async () => {
  const { id } = await records.make('ClientGroup', { name: `Group of ${Math.random()}` });
  return (orgId?: string, name = 'Member') => newClient({ name, orgId, clientGroupId: id });
};

test('a client moves to another org only before it has documents', async () => {
  const moving = await newClient({ orgId: first });
  expect(await change('Client', moving.id, { orgId: second })).toMatchObject({ status: 'UPDATED' });
  const bill = await post(await draftOf([{}], { clientId: moving.id }));
  const rejected = { code: 'INVALID_STATE', pointer: '/records/0/attributes/orgId' };
  expect(await change('Client', moving.id, { orgId: first })).toMatchObject({ error: rejected });
  const working = await newClient({ orgId: first });
  await workFor('1.00', await newJob(working.id));
  expect(await change('Client', working.id, { orgId: second })).toMatchObject({ error: rejected });
  await pay('100.00', [{ invoiceId: bill, amount: '100.00' }], { clientId: moving.id });
});

test('an org is deleted once it bills nobody', async () => {
  const closing = await records.make('Org', { name: 'Closing', legalName: 'Closing', code: '3', ...place });
  const { id } = await newClient({ orgId: closing.id });
  const org = [{ type: 'Org', systemRef: closing.systemRef }];
  expect(only(await records.remove(org))).toMatchObject({ error: { code: 'INVALID_STATE' } });
  await change('Client', id, { status: 'ACTIVE' });
  await change('Client', id, { status: 'ARCHIVED' });
  expect(only(await records.remove(org))).toMatchObject({ status: 'DELETED' });
});

test('a payment covers invoices of its client group in its own org', async () => {
  const member = await inGroup();
  const [payer, sister, cousin] = [await member(first), await member(first), await member(second, 'Cousin')];
  const bills = [];
  for (const { id } of [sister, cousin]) bills.push(await post(await draftOf([{}], { clientId: id })));
  const [own = '', other = ''] = bills;
  const paid = await pay('200.00', [{ invoiceId: own, amount: '100.00' }], { clientId: payer.id });
  const allocations = bills.map((invoiceId) => ({ invoiceId, amount: '100.00' }));
  expect(await change('Payment', paid.systemRef, { allocations })).toMatchObject({
    error: { code: 'VALIDATION_ERROR', pointer: '/records/0/attributes/allocations/1/invoiceId' },
  });
  await expect(pay('100.00', [{ invoiceId: other, amount: '100.00' }], { clientId: payer.id })).rejects.toThrow(
    'The invoice is of another org',
  );
});

test('a payment covers no further invoice of a client group that is deleted', async () => {
  const group = await records.make('ClientGroup', { name: 'Parted' });
  const member = { orgId: first, clientGroupId: group.id };
  const [payer, sister] = [await newClient(member), await newClient(member)];
  const bill = await post(await draftOf([{}], { clientId: sister.id }));
  const paid = await pay('100.00', [{ invoiceId: bill, amount: '40.00' }], { clientId: payer.id });
  expect(only(await records.remove([{ type: 'ClientGroup', systemRef: group.systemRef }]))).toMatchObject({
    status: 'DELETED',
  });
  const allocated = (amount: string) =>
    change('Payment', paid.systemRef, { allocations: [{ invoiceId: bill, amount }] });
  expect(await allocated('41.00')).toMatchObject({
    error: { code: 'VALIDATION_ERROR', pointer: '/records/0/attributes/allocations/0/invoiceId' },
  });
  expect(await allocated('39.00')).toMatchObject({ status: 'UPDATED' });
});

test('a document names no job and no engagement of another client', async () => {
  const [billed, other] = [await newClient({ orgId: first }), await newClient({ orgId: second })];
  const named = { jobIds: [await newJob(other.id)] };
  await expect(draftOf([{}], { clientId: billed.id, ...named })).rejects.toThrow('The job belongs to another client');
  const draft = await draftOf([{}], { clientId: billed.id, proposedInvoiceDate: '2026-02-28' });
  const rejected = { error: { code: 'VALIDATION_ERROR', pointer: '/records/0/attributes/jobIds/0' } };
  expect(await change('DraftInvoice', draft.systemRef, named)).toMatchObject(rejected);
  const { id: engagementId } = (
    await service.handle('createEngagement', { body: { clientId: other.id, fiscalYear: 2026, partnerId: staffId } })
  ).body;
  const dates = { invoiceDate: '2026-01-31', dueDate: '2026-03-02' };
  const line = { lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: '1.00', taxable: false };
  const bill = { clientId: billed.id, pmsRef: 'named', ...dates, lines: [line] };
  const imported = (more: object) => records.upsert([{ type: 'Invoice', attributes: { ...bill, ...more } }]);
  expect(only(await imported(named))).toMatchObject(rejected);
  expect(only(await imported({ engagementId }))).toMatchObject({
    error: { code: 'VALIDATION_ERROR', pointer: '/records/0/attributes/engagementId' },
  });
});

test('time moves to a job of an org with another step only in whole steps', async () => {
  await change('Org', 'second-org', { timeStep: '0.25' });
  const [of, to] = [await newClient({ orgId: first }), await newClient({ orgId: second })];
  const entry = (attributes: object) =>
    service.call<{ records: unknown[] }>('POST', '/api/v1/entries', {
      records: [{ type: 'TimeEntry', systemRef: 'moving', attributes }],
    });
  const created = { staffId, jobId: await newJob(of.id), workDate: '2026-01-05', hours: '1.10', isBillable: true };
  expect((await entry(created)).body.records).toMatchObject([{ status: 'CREATED' }]);
  const jobId = await newJob(to.id);
  expect((await entry({ jobId })).body.records).toMatchObject([
    { error: { detail: 'hours must be a multiple of 0.25.' } },
  ]);
  expect((await entry({ jobId, hours: '1.25' })).body.records).toMatchObject([{ status: 'UPDATED' }]);
});

test('money of an unknown payer without a currency is in that of its org', async () => {
  const fields = { name: 'Euro', legalName: 'Euro', code: '4', ...place, currency: 'EUR' };
  const { id: orgId } = await records.make('Org', fields);
  const { attributes } = await pay('9.00', [], { clientId: null, orgId, currency: undefined });
  expect(attributes).toMatchObject({ currency: 'EUR' });
});

test('the console lists before the close of a month what is open in each org', async () => {
  const client = await newClient({ orgId: second });
  await draftOf([{}], { clientId: client.id });
  const unknown = { clientId: null, orgId: second, allocations: [] };
  await pay('7.00', [], unknown);
  const roles = ['API_ADMIN'];
  const { key } = await createApiKey(service, {
    tenant: service.tenant.name,
    user: 'closer',
    roles,
    days: 1,
    description: undefined,
  });
  const visitor = new Visitor(service.address);
  await visitor.signIn(key);
  const { text } = await visitor.get('/close?through=2026-02-01');
  const [ofFirst = '', ofSecond = ''] = text.split(/(?=<h2[^>]*>Second)/);
  expect(ofSecond).toMatch(/Draft invoices that are not posted: <strong>1<.*Payments with money to apply: <strong>1</s);
  expect(ofFirst).not.toContain('Draft invoices that are not posted');
  const shown = async (orgId: string | undefined) =>
    (await visitor.get(`?orgId=${orgId}&asOf=2026-12-31`)).text.match(/Largest debtors.*?<\/section>/s)?.[0];
  expect(await shown(second)).toContain('Cousin');
  expect(await shown(first)).not.toContain('Cousin');
});

/** The sums of the journal by org, which a posting of two orgs would leave open. */
async function journalSums(): Promise<readonly string[]> {
  const { body } = await service.call<{ data: { values: { sum: string } }[] }>(
    'POST',
    '/gql/v1/journal_entries/aggregate',
    {
      groupBy: [{ column: 'orgId' }],
      measures: { sum: { function: 'SUM', column: 'amount' } },
    },
  );
  return body.data.map(({ values }) => values.sum);
}

afterAll(async () => {
  expect([...new Set(await journalSums())]).toEqual(['0.00']);
  expect((await checkBooks(service, { tenant: service.tenant.name, repair: false })).breaches).toEqual([]);
});
