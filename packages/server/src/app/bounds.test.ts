import { sql } from 'kysely';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { firm } from '../../test/modules/billing.ts';
import type { WriteItem } from '../../test/modules/records.ts';
import { checkBoundsOfResponses, testService, violationsOf } from '../../test/service.ts';
import { allOperations, type Operation } from '../contract/contract.ts';
import { rowsBeyondBounds } from '../contract/row-findings.ts';
import { checkRows, describeFinding, type RowPosition, type RowsReport } from '../operator/rows.ts';
import { newId } from '../platform/store/new-id.ts';

const lines: Record<string, unknown>[] = [];
const log = pino({ level: 'error' }, { write: (line: string) => lines.push(JSON.parse(line)) });
const service = await testService({ log, exceedsBounds: true });
const { approving, newClient, newJob, preparer, records, staffId } = await firm(service);

const most = '9999999999999.99';
const bound = (field: string) => `${field} must be between 0 and ${most}.`;
const line = (unitAmount: string, more: object = {}) => ({
  lineType: 'OTHER',
  description: 'Work',
  quantity: '1',
  unitAmount,
  taxable: false,
  ...more,
});
const huge = [line('99999999999.99', { quantity: '100' })];
/** The status of an item, or its first error. */
function outcomeOf({ status, error }: WriteItem) {
  return error === null ? status : { code: error.code, detail: error.detail, pointer: error.pointer };
}

let imported = 0;
const invoiceOf = (clientId: string, lines: readonly object[], more: object = {}) => ({
  type: 'Invoice',
  attributes: { clientId, pmsRef: `I-${++imported}`, invoiceDate: '2026-01-31', dueDate: '2026-03-02', lines, ...more },
});
const paymentOf = (clientId: string, amount: string) => ({
  type: 'Payment',
  attributes: {
    clientId,
    paymentDate: '2026-02-01',
    amount,
    currency: 'USD',
    method: 'CHECK',
    source: 'MANUAL',
    allocations: [],
  },
});
const write = async (...items: Readonly<Record<string, unknown>>[]) => (await records.upsert(items)).map(outcomeOf);

/** Reads every list of rows that the tests write. */
async function readAll(): Promise<void> {
  for (const path of ['clients', 'invoices', 'payments', 'projects', 'contacts', 'jobs', 'engagements', 'wip']) {
    const { status } = await preparer.call('POST', `/gql/v1/${path}`, { pageSize: 1000 });
    expect({ path, status }).toEqual({ path, status: 200 });
  }
  // A row beyond a bound would be sent, too.
  expect(await violationsOf(service.service)).toEqual([]);
}

describe('upsertRecords › rejects what a response cannot hold', () => {
  test('the total credit of a client', async () => {
    const { id } = await newClient();
    expect(await write(paymentOf(id, most), paymentOf(id, most))).toEqual([
      'CREATED',
      {
        code: 'VALIDATION_ERROR',
        detail: `unappliedCredit of the Client must be between -${most} and ${most}.`,
        pointer: null,
      },
    ]);
    await readAll();
  });

  test('the amount of a line, and its tax', async () => {
    const { id } = await newClient();
    const signed = `must be between -${most} and ${most}.`;
    expect(await write(invoiceOf(id, [line('99999999999.99', { quantity: '101' })]))).toEqual([
      { code: 'VALIDATION_ERROR', pointer: '/records/0/attributes/lines/0', detail: `amount of the Invoice ${signed}` },
    ]);
    const taxed = line('99999999999.99', { quantity: '60', taxable: true, taxRatePercent: '100' });
    const [error] = await write(invoiceOf(id, [taxed]));
    expect(error).toEqual({ code: 'VALIDATION_ERROR', detail: `total of the Invoice ${signed}`, pointer: null });
    await readAll();
  });

  test('the balance of a client, also where the sum exceeds the column of the database', async () => {
    const { id } = await newClient();
    const items = Array.from({ length: 11 }, () => invoiceOf(id, huge));
    const rejected = { code: 'VALIDATION_ERROR', detail: bound('outstandingBalance of the Client'), pointer: null };
    expect(await write(...items)).toEqual(['CREATED', ...Array.from({ length: 10 }, () => rejected)]);
    await readAll();
  });
});

test('updateRecords › names the sum that a draft invoice would exceed, however far', async () => {
  const { id: clientId } = await newClient();
  const jobs = [await newJob(clientId), await newJob(clientId)];
  const wip = (jobId: string | undefined, amount: string) => ({
    type: 'WipEntry',
    attributes: { wipType: 'ADJUSTMENT', clientId, jobId, workDate: '2026-01-05', amount },
  });
  // What is billed of one job offsets what is billed of the other, so that only the sums of the jobs are large.
  const amounts = ['9000000000000.00', '-9000000000000.00'];
  const made = await records.upsert(
    Array.from({ length: 12 }, () => jobs.flatMap((jobId) => amounts.map((amount) => wip(jobId, amount)))).flat(),
  );
  const billed = made.filter((_, index) => index % 4 === 0 || index % 4 === 3);
  const lines = billed.map((item, index) =>
    line(index % 2 === 0 ? '90000000000.00' : '-90000000000.00', { quantity: '100', wipIds: [item.id] }),
  );
  const dates = { billThroughDate: '2026-12-31', proposedInvoiceDate: '2026-01-31', dueDate: '2026-03-02' };
  const { systemRef } = await records.make('DraftInvoice', { clientId, ...dates, lines });
  const move = async (caller: typeof records, status: string) =>
    (await caller.update([{ type: 'DraftInvoice', systemRef, attributes: { status } }])).map(outcomeOf);
  expect(await move(records, 'IN_REVIEW')).toEqual(['UPDATED']);
  const detail = `standardAmount of the Project must be between -${most} and ${most}.`;
  expect(await move(approving, 'APPROVED')).toEqual([{ code: 'VALIDATION_ERROR', detail, pointer: null }]);
  await readAll();
});

test('upsertRecords › names what a job is billed, also where only the lines of its invoices are large', async () => {
  const { id: clientId } = await newClient();
  const [billed, discounted] = [await newJob(clientId), await newJob(clientId)];
  const lines = [
    line('90000000000.00', { quantity: '100', jobId: billed }),
    line('-90000000000.00', { quantity: '100', jobId: discounted, lineType: 'DISCOUNT' }),
  ];
  const detail = `billedAmount of the Project must be between -${most} and ${most}.`;
  const rejected = { code: 'VALIDATION_ERROR', detail, pointer: null };
  expect(await write(invoiceOf(clientId, lines), invoiceOf(clientId, lines))).toEqual(['CREATED', rejected]);
  await readAll();
});

test('upsertRecords and updateEngagement › reject the 1,001st job of an engagement', async () => {
  const { id: clientId } = await newClient();
  const { body: engagement } = await preparer.call<{ id: string }>('POST', '/api/v1/engagements/create', {
    clientId,
    fiscalYear: 2026,
    partnerId: staffId,
  });
  const first = await newJob(clientId);
  const ids = Array.from({ length: 999 }, () => newId());
  await service.store.write(service.tenant.id, async (transaction) => {
    await transaction.all(sql`
      insert into job select (jsonb_populate_record(j, jsonb_build_object('id', r.id, 'system_ref', r.id,
        'pms_ref', r.id, 'job_ref', r.id, 'engagement_id', ${engagement.id}::text))).*
      from job j, unnest(${ids}::uuid[]) r (id) where j.id = ${first}`);
    await transaction.all(sql`
      insert into engagement_job (tenant_id, engagement_id, position, id, is_active)
      select ${service.tenant.id}, ${engagement.id}, n, id, true
      from unnest(${ids}::uuid[]) with ordinality r (id, n)`);
  });
  const job = (more: object = {}) => {
    const fields = { name: 'Return', clientId, billingType: 'TIME_AND_MATERIALS' };
    return { type: 'Job', attributes: { ...fields, ...more } };
  };
  const detail = 'jobs of the Engagement must have at most 1000 items.';
  const added = job({ engagementId: engagement.id });
  expect(await write(added, added)).toEqual([
    'CREATED',
    { code: 'VALIDATION_ERROR', detail, pointer: '/records/1/attributes/engagementId' },
  ]);
  const patch = (jobIds: readonly (string | null)[]) =>
    preparer.call('PATCH', `/api/v1/engagements/${engagement.id}`, { jobIds });
  // Former jobs remain in the list.
  expect(await patch([first])).toMatchObject({ status: 400, body: { errors: [{ pointer: '/jobIds', detail }] } });
  expect(await patch(ids)).toMatchObject({ status: 200 });
  await readAll();
});

test('createQuickPaymentLink › rejects an amount that a response cannot hold, and stores nothing', async () => {
  const { id, ref } = await newClient();
  const invoiceIds: (string | null)[] = [];
  for (let made = 0; made < 3; made++) {
    const [item] = await records.upsert([invoiceOf(id, huge)]);
    invoiceIds.push(item?.id ?? null);
    // As invoices from before they had to be in the currency of the client, whose balance does not include them.
    await service.store.write(service.tenant.id, (transaction) =>
      transaction.all(sql`update invoice set currency = 'EUR' where id = ${item?.id}`),
    );
  }
  const { status, body } = await preparer.call('POST', '/api/v1/clients/v1/link/payment', {
    clientRef: ref,
    invoiceIds,
  });
  expect({ status, body }).toMatchObject({
    status: 400,
    body: {
      code: 'VALIDATION_ERROR',
      errors: [{ pointer: '/invoiceIds', detail: bound('amount of the QuickPaymentLink') }],
    },
  });
  expect((await records.lookup('QuickPaymentLink')).body.data).toEqual([]);
});

test('getContact and getInvoice › embed the newest 100 rows and count all of them, which a search returns', async () => {
  const { id: clientId } = await newClient();
  const { id: contactId } = await records.make('Contact', { firstName: 'Ada', lastName: 'Moreno' });
  const [item] = await records.upsert([invoiceOf(clientId, [line('5000.00')])]);
  const invoiceId = item?.id ?? '';
  const { id: tenantId } = service.tenant;
  const ids = Array.from({ length: 1001 }, () => newId());
  const rows = sql`select unnest(${ids}::uuid[]) as id`;
  await service.store.write(tenantId, async (transaction) => {
    await transaction.all(sql`
      with added as (
        insert into client (tenant_id, id, system_ref, client_ref, pms_ref, name, status, org_id, currency)
        select ${tenantId}, r.id, r.id::text, r.id::text, r.id::text, 'Harbor', 'ACTIVE', org.id, 'USD' from (${rows}) r
        join org on org.tenant_id = ${tenantId} returning id)
      insert into contact_client (tenant_id, id, system_ref, contact_id, client_id, roles)
      select ${tenantId}, id, id::text, ${contactId}, id, '{OTHER}' from added`);
  });
  // Bypassing the triggers, which compare each payment with all others of the invoice.
  const tables = ['payment', 'payment_allocation', 'ledger_entry'];
  const alter = (change: string) => tables.map((table) => `alter table ${table} ${change}`);
  await service.store.ownerStatements(
    [
      ...alter('disable trigger user, no force row level security'),
      `with paid as (
        insert into payment (tenant_id, id, system_ref, payment_number, pms_ref, client_id, payment_date, amount, currency,
          method, source, status, settled_at)
        select ${tenantId}, id, id::text, 'X-' || n, 'X-' || n, '${clientId}', '2026-02-01', 1, 'USD', 'CHECK', 'MANUAL',
          'COMPLETED', now()
        from unnest('{${ids}}'::uuid[]) with ordinality r (id, n) returning id)
      insert into payment_allocation (tenant_id, payment_id, position, invoice_id, amount, allocated_at)
      select ${tenantId}, id, 0, '${invoiceId}', 1, now() from paid`,
      `insert into ledger_entry (tenant_id, id, account, kind, amount, currency, business_date, recorded_at, client_id, invoice_id,
        payment_id, document_date)
      select ${tenantId}, overlay(gen_random_uuid()::text placing '7' from 15)::uuid, 'CREDIT', 'ALLOCATION', -1, 'USD', '2026-02-01', now(), '${clientId}', '${invoiceId}', id, '2026-02-01'
      from unnest('{${ids}}'::uuid[]) r (id)`,
      ...alter('enable trigger user, force row level security'),
    ].join(';'),
  );
  const lists = [
    {
      path: `contact/${contactId}`,
      list: 'clients',
      member: 'clientId',
      search: 'clients',
      where: { contactClients: { contactId: { _eq: contactId } } },
    },
    {
      path: `invoice/${invoiceId}`,
      list: 'allocations',
      member: 'paymentId',
      search: 'payments',
      where: { allocations: { invoiceId: { _eq: invoiceId } } },
    },
  ];
  for (const { path, list, member, search, where } of lists) {
    const { status, body } = await preparer.call<Record<string, unknown>>('GET', `/gql/v1/${path}`);
    expect({ status, body }).toMatchObject({ status: 200, body: { [`${list}Count`]: ids.length } });
    const found = await preparer.call<{ total: number }>('POST', `/gql/v1/${search}/search`, {
      where,
      includeTotal: true,
    });
    expect(found).toMatchObject({ status: 200, body: { total: ids.length } });
    expect(body[list]).toEqual(ids.slice(-100).map((id) => expect.objectContaining({ [member]: id })));
  }
  await readAll();
});

test('searchClients and getClient › send a row that exceeds a bound as it is stored, and log and count it', async () => {
  const { id } = await newClient();
  await service.store.ownerStatements(
    [
      'alter table client drop constraint client_unapplied_credit_bound',
      'alter table client no force row level security',
      `update client set unapplied_credit = 10000000000000 where id = '${id}'`,
      'alter table client force row level security',
    ].join(';'),
  );
  const page = await preparer.call<{ data: { id: string; unappliedCredit: string }[] }>(
    'POST',
    '/gql/v1/clients/search',
    {
      where: { id: { _eq: id } },
    },
  );
  const stored = { id, unappliedCredit: '10000000000000.00' };
  expect(page.status).toBe(200);
  expect(page.body.data).toMatchObject([stored]);
  expect(await preparer.call('GET', `/gql/v1/client/${id}`)).toMatchObject({ status: 200, body: stored });
  expect(await violationsOf(service.service)).toEqual(
    ['searchClients', 'getClient'].map((operation) => ({
      labels: { operation, outcome: 'sent' },
      value: 1,
    })),
  );
  expect(lines.map(({ operation, entityId }) => ({ operation, entityId }))).toEqual(
    ['searchClients', 'getClient'].map((operation) => ({ operation, entityId: id })),
  );
  await expect(checkBoundsOfResponses(service.service)).rejects.toThrow('searchClients, getClient');
});

test('rowsBeyondBounds › accepts values beyond a bound, but no malformed ones', async () => {
  const { id } = await newClient();
  const { body: client } = await preparer.call<object>('GET', `/gql/v1/client/${id}`);
  const operation = allOperations.find((one) => one.id === 'getClient') as Operation;
  const rows = async (change: object) => {
    const body = { ...client, ...change };
    const findings = service.service.validator.response(operation, 200, 'application/json', body);
    expect(findings).not.toEqual([]);
    return rowsBeyondBounds(findings, body);
  };
  for (const change of [
    { unappliedCredit: '10000000000000.00' },
    { unappliedCredit: '-10000000000000.00' },
    { name: 'x'.repeat(9_999) },
  ])
    expect(await rows(change)).toMatchObject([{ entityId: id }]);
  for (const change of [
    { unappliedCredit: 'NaN' },
    { unappliedCredit: '' },
    { orgId: '12' },
    { orgId: 'x' },
    { createdAt: 'x' },
    { currency: '12' },
    { unappliedCredit: '10000000000000.00', orgId: 'x' },
  ])
    expect(await rows(change)).toBeUndefined();
});

test('rows check › reads all rows in pages, and finds those that violate the contract', async () => {
  const { id } = await newClient();
  const check = async () => {
    const reports: RowsReport[] = [];
    for (
      let after: RowPosition | null | undefined = null;
      after !== undefined;
      after = reports.at(-1)?.next ?? undefined
    )
      reports.push(await checkRows(service, { tenant: service.tenant.name, after }));
    return reports;
  };
  const before = (await check()).flatMap(({ findings }) => findings);
  await service.store.ownerStatements(
    [
      'alter table client no force row level security',
      `update client set name = repeat('x', 9999) where id = '${id}'`,
      'alter table client force row level security',
    ].join(';'),
  );
  const reports = await check();
  const found = reports.flatMap(({ findings }) => findings).filter((one) => one.id === id);
  expect(found.map(({ type, pointer }) => `${type} ${pointer}`)).toEqual(['Client /name']);
  // The row that the test before has stored.
  expect(new Set(before.map(({ type, pointer }) => `${type} ${pointer}`))).toEqual(
    new Set(['Client /unappliedCredit']),
  );
  expect(found.map(describeFinding)).toEqual([`Client ${id}/name: The text must have at most 200 characters.`]);
  // 1,001 payments and clients require several pages.
  expect(Math.max(...reports.map(({ checked }) => checked))).toBeLessThan(1001);
  const clients = await preparer.call<{ total: number }>('POST', '/gql/v1/clients/search', { includeTotal: true });
  const payments = await preparer.call<{ total: number }>('POST', '/gql/v1/payments/search', { includeTotal: true });
  expect(reports.reduce((sum, { checked }) => sum + checked, 0)).toBeGreaterThan(
    clients.body.total + payments.body.total,
  );
});

test('rows check › finds records of custom types that do not match the fields of their type', async () => {
  const fields = [
    { name: 'size', type: 'INTEGER', maximum: '10' },
    { name: 'price', type: 'DECIMAL', required: true },
    { name: 'former', type: 'STRING' },
  ];
  for (const name of ['Widget', 'Gadget']) expect((await records.define(name, fields)).body).toMatchObject({ name });
  const write = (type: string, systemRef: string, attributes: object) =>
    records.upsert([{ type, systemRef, attributes }]);
  await write('Gadget', 'valid', { size: 10, price: '1.50', former: 'text' });
  const [wrong] = await write('Widget', 'wrong', { size: 10, price: '1.50', former: 'text' });
  const inactive = fields.map((field) => ({ ...field, active: field.name !== 'former' }));
  expect(await records.change('Widget', { fields: inactive })).toMatchObject({ status: 200 });
  const check = async (type: string) => {
    const report = await checkRows(service, { tenant: service.tenant.name, after: { type, id: null } });
    return { ...report, findings: report.findings.map(describeFinding) };
  };
  expect(await check('Gadget')).toEqual({ checked: 1, findings: [], next: { type: 'Widget', id: null } });
  expect(await check('Widget')).toEqual({ checked: 1, findings: [], next: null });
  const stored = JSON.stringify({ size: 11, price: '1.50', former: 7 });
  await service.store.ownerStatements(
    [
      'alter table custom_record no force row level security',
      `update custom_record set attributes = '${stored}' where system_ref = 'wrong'`,
      'alter table custom_record force row level security',
    ].join(';'),
  );
  const findings = [`Widget ${wrong?.id}/attributes/size: The number must be at most 10.`];
  expect(await check('Widget')).toEqual({ checked: 1, findings, next: null });
  await expect(check('Elephant')).rejects.toThrow('There is no type Elephant.');
});
