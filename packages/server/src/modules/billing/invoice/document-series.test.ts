/** Documents are numbered by the most specific active series of their org, without gaps. Imported ones keep their numbers. */
import type { components } from '@financial-automation/spec';
import { extractText, getDocumentProxy } from 'unpdf';
import { describe, expect, test } from 'vitest';
import { firm } from '../../../../test/modules/billing.ts';
import { only, recordsOf } from '../../../../test/modules/records.ts';
import { isNightly } from '../../../../test/nightly.ts';
import { sharedService } from '../../../../test/service.ts';
import type { Input } from '../../../contract/handler.ts';
import { findBreaches } from '../ledger/invariants.ts';

type Schemas = components['schemas'];

const service = await sharedService();
const books = await firm(service);
const { approver, draftOf, invoice, newJob, post, preparer, records } = books;
const { body: orgs } = await service.call<{ data: { id: string }[] }>('POST', '/gql/v1/orgs', {});
const orgId = orgs.data[0]?.id ?? '';
const { id: ukId } = await records.make('Org', {
  name: 'Firm UK',
  legalName: 'Firm UK Ltd',
  code: 'UK',
  currency: 'GBP',
  country: 'GB',
  timeZone: 'Europe/London',
  fiscalYearStartMonth: 4,
});
const newClient = (more: object = {}) => books.newClient({ orgId, ...more });
const office = async (name: string) =>
  (await records.make('Office', { name, code: name, orgId, timeZone: 'America/New_York' })).id;

const series = (attributes: object, systemRef?: string) =>
  records.make('DocumentSeries', { orgId, documentType: 'INVOICE', ...attributes }, systemRef);
const change = async (systemRef: string | null, attributes: object) =>
  only(await records.update([{ type: 'DocumentSeries', systemRef, attributes }]));
const remove = (systemRef: string | null) => records.remove([{ type: 'DocumentSeries', systemRef }]);
const stored = async (id: string): Promise<Record<string, unknown>> => {
  const { body } = await records.lookup('DocumentSeries');
  return Object(body.data.find((row) => row.id === id)?.attributes);
};
const numberOf = async (more: object, unitAmount = '10.00') =>
  (await invoice(await post(await draftOf([{ unitAmount }], more)))).invoiceNumber;
const rejected = (code: string, field: string) => ({
  status: 'FAILED',
  error: { code, pointer: `/records/0/attributes/${field}` },
});

let imports = 0;
const imported = async (attributes: object) => {
  const line = { lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: '10.00', taxable: false };
  const dates = { invoiceDate: '2026-01-20', dueDate: '2026-03-02' };
  return only(
    await records.upsert([
      { type: 'Invoice', attributes: { pmsRef: `import-${++imports}`, ...dates, lines: [line], ...attributes } },
    ]),
  );
};

async function breaches(): Promise<unknown[]> {
  const { id } = service.tenant;
  return [...(await service.store.read(id, (session) => findBreaches(session, id)))];
}

test('a document gets the number of its office, of its org, or the standard one', async () => {
  const portland = await office('PDX');
  const [of, elsewhere] = [await newClient({ officeId: portland }), await newClient({ officeId: await office('SEA') })];
  const inOffice = await series({ officeId: portland, pattern: 'PDX/{YY}{MM}-{NNN}', restarts: 'MONTH' });
  expect([await numberOf({ clientId: of.id }), await numberOf({ clientId: elsewhere.id })]).toEqual([
    'PDX/2601-001',
    'INV-2026-00001',
  ]);
  const inOrg = await series({ pattern: 'R-{YYYY}-{NNNN}', restarts: 'YEAR' });
  expect([await numberOf({ clientId: of.id }), await numberOf({ clientId: elsewhere.id })]).toEqual([
    'PDX/2601-002',
    'R-2026-0001',
  ]);
  await remove(inOffice.systemRef);
  expect(await numberOf({ clientId: of.id })).toBe('R-2026-0002');
  await remove(inOrg.systemRef);
  expect(await numberOf({ clientId: of.id })).toBe('INV-2026-00002');
  expect(await breaches()).toEqual([]);
});

test('a credit note has a series of its own', async () => {
  const notes = await series({ documentType: 'CREDIT_NOTE', pattern: 'C{N}' });
  const { id: clientId } = await newClient();
  const jobId = await newJob(clientId);
  const row = { wipType: 'PROGRESS', clientId, jobId, workDate: '2026-01-10', amount: '-10.00' };
  const { id } = await records.make('WipEntry', row);
  const line = { lineType: 'PROGRESS' as const, unitAmount: '-10.00', wipIds: [id] };
  expect((await invoice(await post(await draftOf([line], { clientId })))).invoiceNumber).toBe('C1');
  expect(await numberOf({ clientId })).toMatch(/^INV-2026-\d{5}$/);
  await remove(notes.systemRef);
});

test('nextNumber continues where another system stopped, only upwards', async () => {
  const { id, systemRef } = await series({ pattern: '{NNNNNN}', nextNumber: 4711 });
  expect(await numberOf({})).toBe('004711');
  expect(await stored(id)).toMatchObject({ nextNumber: 4712 });
  expect(await change(systemRef, { nextNumber: 4711 })).toMatchObject(rejected('VALIDATION_ERROR', 'nextNumber'));
  expect(await change(systemRef, { nextNumber: 4712 })).toMatchObject({ status: 'UNCHANGED' });
  expect(await change(systemRef, { nextNumber: 5000 })).toMatchObject({
    status: 'UPDATED',
    attributes: { nextNumber: 5000 },
  });
  expect(await numberOf({})).toBe('005000');
  // The number of an imported document is skipped.
  expect(await imported({ clientId: (await newClient()).id, invoiceNumber: '005001' })).toMatchObject({
    status: 'CREATED',
    attributes: { invoiceNumber: '005001' },
  });
  expect([await numberOf({}), await numberOf({})]).toEqual(['005002', '005003']);
  expect(await change(systemRef, { pattern: '{NNNNNN}A' })).toMatchObject({ status: 'UPDATED' });
  expect(await numberOf({})).toBe('005004A');
  expect(await breaches()).toEqual([]);
  await remove(systemRef);
});

test('an imported invoice keeps its number, which is unique in its org', async () => {
  const { id: clientId } = await newClient();
  const { id: ofOtherOrg } = await newClient({ orgId: ukId });
  const kept = await imported({ clientId, invoiceNumber: 'QB 1042/b' });
  expect(kept).toMatchObject({ status: 'CREATED', attributes: { invoiceNumber: 'QB 1042/b', orgId } });
  expect(await imported({ clientId, invoiceNumber: 'QB 1042/b' })).toMatchObject(
    rejected('DUPLICATE_REF', 'invoiceNumber'),
  );
  expect(await imported({ clientId: ofOtherOrg, invoiceNumber: 'QB 1042/b' })).toMatchObject({ status: 'CREATED' });
  const [renumbered] = await records.update([
    { type: 'Invoice', systemRef: kept.systemRef, attributes: { invoiceNumber: 'QB 1043' } },
  ]);
  expect(renumbered).toMatchObject(rejected('INVALID_STATE', 'invoiceNumber'));
  // The payment link, the search and the payment show it.
  const { body: link } = await service.call<Schemas['QuickPaymentLink']>('POST', '/api/v1/clients/v1/link/payment', {
    clientRef: String((await service.call<Schemas['Client']>('GET', `/gql/v1/client/${clientId}`)).body.clientRef),
    invoiceIds: [kept.id],
  });
  expect(link.invoices).toMatchObject([{ invoiceNumber: 'QB 1042/b' }]);
  const page = await (await fetch(link.url.replace(/^https?:\/\/[^/]+/, service.address))).text();
  expect(page).toContain('QB 1042/b');
  const pdf = await fetch(`${service.address}/api/v1/invoices/${kept.id}/documents/pdf`, {
    headers: { Authorization: `Bearer ${service.token}`, Tenant: service.tenant.name },
  });
  const { text } = await extractText(await getDocumentProxy(new Uint8Array(await pdf.arrayBuffer())));
  expect(text.join('\n')).toContain('QB 1042/b');
  const dates = { paymentDate: '2026-02-01', currency: 'USD', method: 'CHECK', source: 'MANUAL' };
  const tooMuch = { clientId, ...dates, amount: '11.00', allocations: [{ invoiceId: kept.id, amount: '11.00' }] };
  expect(only(await records.upsert([{ type: 'Payment', systemRef: 'too-much', attributes: tooMuch }]))).toMatchObject({
    error: { detail: expect.stringContaining('At most 10.00 can be allocated') },
  });
  expect(await breaches()).toEqual([]);
});

/** Writes one record without HTTP, which bypasses the limit of concurrent requests of a user. */
async function approve(systemRef: string | null) {
  const record = { type: 'DraftInvoice', systemRef, attributes: { status: 'APPROVED' } };
  const { body } = await approver.handle('updateRecords', { body: { records: [record] } } as Input<'updateRecords'>);
  return body.records[0]?.status;
}

test('approvals at once over the end of a year leave no gap in either year', async () => {
  const { id: clientId } = await newClient({ officeId: await office('NYC') });
  const yearly = await series({ pattern: 'Y{YYYY}.{NN}', restarts: 'YEAR' });
  const ofEachYear = isNightly ? 25 : 8;
  const drafts: (string | null)[] = [];
  for (let index = 0; index < ofEachYear * 2; index++) {
    const date = index % 2 === 0 ? '2025-12-31' : '2026-01-01';
    drafts.push((await draftOf([{}], { clientId, proposedInvoiceDate: date })).systemRef);
  }
  await records.update(
    drafts.map((systemRef) => ({ type: 'DraftInvoice', systemRef, attributes: { status: 'IN_REVIEW' } })),
  );
  expect(await Promise.all(drafts.map(approve))).toEqual(drafts.map(() => 'UPDATED'));
  const { body } = await preparer.call<Schemas['InvoicePage']>('POST', '/gql/v1/invoices/search', {
    where: { clientId: { _eq: clientId } },
    orderBy: [{ invoiceNumber: 'asc' }],
    pageSize: 100,
  });
  const numbers = Array.from({ length: ofEachYear }, (_, index) => String(index + 1).padStart(2, '0'));
  expect(body.data.map(({ invoiceNumber }) => invoiceNumber)).toEqual([
    ...numbers.map((number) => `Y2025.${number}`),
    ...numbers.map((number) => `Y2026.${number}`),
  ]);
  expect(await breaches()).toEqual([]);
  await remove(yearly.systemRef);
});

describe('a series is rejected', () => {
  test.each([
    ['without a number', { pattern: 'INV-{YYYY}' }],
    ['with two numbers', { pattern: '{N}-{N}' }],
    ['with an unknown part', { pattern: '{DD}{N}' }],
    ['that restarts each year without a year', { pattern: 'A{N}', restarts: 'YEAR' }],
    ['that restarts each month without a month', { pattern: '{YYYY}{N}', restarts: 'MONTH' }],
  ])('%s', async (_, attributes) => {
    const item = only(
      await records.upsert([{ type: 'DocumentSeries', attributes: { orgId, documentType: 'INVOICE', ...attributes } }]),
    );
    expect(item).toMatchObject(rejected('VALIDATION_ERROR', 'pattern'));
  });

  test('beside another one for the same documents, or with the same numbers', async () => {
    const { systemRef } = await series({ pattern: 'B{N}' });
    const rival = (attributes: object) =>
      records.upsert([{ type: 'DocumentSeries', attributes: { orgId, documentType: 'INVOICE', ...attributes } }]);
    expect(only(await rival({ pattern: 'D{N}' }))).toMatchObject(rejected('DUPLICATE_REF', 'officeId'));
    expect(only(await rival({ pattern: 'B{NNN}', documentType: 'CREDIT_NOTE' }))).toMatchObject(
      rejected('DUPLICATE_REF', 'pattern'),
    );
    expect(await change(systemRef, { documentType: 'CREDIT_NOTE' })).toMatchObject(
      rejected('INVALID_STATE', 'documentType'),
    );
    await remove(systemRef);
  });

  test('from a caller without BOOKS_CLOSE', async () => {
    const clerk = recordsOf(await service.signIn({ roles: ['RECORD_W', 'REF_W'] }));
    const item = only(
      await clerk.upsert([{ type: 'DocumentSeries', attributes: { orgId, documentType: 'INVOICE', pattern: 'E{N}' } }]),
    );
    expect(item).toMatchObject({ status: 'FAILED', error: { code: 'FORBIDDEN' } });
  });
});
