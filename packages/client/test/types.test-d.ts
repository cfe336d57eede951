import { describe, expectTypeOf, it } from 'vitest';
import {
  createClient,
  customType,
  type DecimalString,
  type Input,
  isProblem,
  orThrow,
  type ProblemCode,
  type Row,
  type Schema,
} from '../src/index.ts';
import { type EventFor, isCustomRecordEvent, verifyWebhook, type WebhookEvent } from '../src/webhooks.ts';

const api = createClient({ baseUrl: 'https://api.financial-automation.example', tenant: 'hartwell', apiKey: 'key' });
const id = '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101';

describe('a client', () => {
  it('requires its URL, its tenant, and one way to get a token', () => {
    // @ts-expect-error no tenant, which is a required header of every call
    createClient({ baseUrl: '', apiKey: 'key' });
    // @ts-expect-error no address
    createClient({ tenant: 'hartwell', apiKey: 'key' });
    // @ts-expect-error neither a key nor a token
    createClient({ baseUrl: '', tenant: 'hartwell' });
    // @ts-expect-error both a key and a token
    createClient({ baseUrl: '', tenant: 'hartwell', apiKey: 'key', accessToken: async () => ({}) });
  });
});

describe('an input', () => {
  it('is that of an operation of the contract', () => {
    api.getClient({ path: { id } });
    api.listTaskTypes();
    api.listClients();
    api.listClients({});
    api.searchClients();
    // @ts-expect-error no such operation
    api.call('getClints');
  });

  it('requires required properties', () => {
    // @ts-expect-error no path
    api.getClient();
    // @ts-expect-error no id
    api.getClient({ path: {} });
    // @ts-expect-error no body, and a command changes something
    api.assignStaff({ path: { id } });
    // @ts-expect-error no query
    api.listUnpaidInvoices();
    // @ts-expect-error no clientRef
    api.listUnpaidInvoices({ query: { page: 1 } });
    // @ts-expect-error no address
    api.onboardClient({ body: { name: 'Harbor' } });
  });

  it('rejects unknown properties', () => {
    // @ts-expect-error unknown query parameter
    api.listUnpaidInvoices({ query: { clientRef: 'C-1', sort: 'asc' } });
    // @ts-expect-error a body where there is none
    api.getClient({ path: { id }, body: {} });
    // @ts-expect-error a query where there is none
    api.createToken({ body: { apiKey: 'x' }, query: {} });
    // @ts-expect-error unknown property
    api.onboardClient({ body: { name: 'Harbor', address: {}, colour: 'blue' } });
    // @ts-expect-error unknown option
    api.getClient({ path: { id }, timeOut: 3 });
  });

  it('narrows rows to the chosen fields', async () => {
    const body = { fields: ['name', 'status'] } as const;
    for await (const row of api.searchClients.rows({ body: { fields: ['name', 'status'] } })) {
      expectTypeOf(row).toEqualTypeOf<Pick<Row<'searchClients'>, 'id' | 'with' | 'name' | 'status'>>();
      // @ts-expect-error not chosen
      row.clientRef;
    }
    for await (const page of api.listClients.pages({ body: { fields: ['name'] } })) {
      // @ts-expect-error not chosen
      page.data[0]?.clientRef;
      page.nextCursor satisfies string | null;
    }
    const { data } = await orThrow(api.searchClients({ body: { fields: [...body.fields] } }));
    data[0]?.name satisfies string | undefined;
    // @ts-expect-error not chosen
    data[0]?.clientRef;
    // @ts-expect-error no such field
    api.searchClients.rows({ body: { fields: ['nam'] } });
    const known: (keyof Schema<'Client'> & string)[] = ['id'];
    const response = await api.listClients({ body: { fields: known.filter((name) => name !== 'with') } });
    if (response.ok) response.body.data[0]?.name satisfies string | undefined;
    expectTypeOf(await orThrow(api.listClients()).then((page) => page.data[0])).toEqualTypeOf<
      Row<'listClients'> | undefined
    >();
  });

  it('names filter columns and operators of the resource', () => {
    api.searchClients({
      body: { where: { _or: [{ name: { _ilike: '%acme%' } }, { jobs: { status: { _eq: 'IN_PROGRESS' } } }] } },
    });
    // @ts-expect-error unknown column
    api.searchClients({ body: { where: { nam: { _eq: 'Acme' } } } });
    // @ts-expect-error unknown column, nested
    api.searchClients({ body: { where: { _and: [{ _not: { nam: { _eq: 'Acme' } } }] } } });
    // @ts-expect-error unknown column of a relation
    api.searchClients({ body: { where: { partner: { nam: { _eq: 'Acme' } } } } });
    // @ts-expect-error unknown operator
    api.searchClients({ body: { where: { name: { _equals: 'Acme' } } } });
    // @ts-expect-error an operator that the type of the column does not have
    api.searchClients({ body: { where: { active: { _like: '%' } } } });
    // @ts-expect-error unknown key to sort by
    api.searchClients({ body: { orderBy: [{ nam: 'asc' }] } });
    // @ts-expect-error unknown direction
    api.searchClients({ body: { orderBy: [{ name: 'ascending' }] } });
  });

  it('names the columns of an aggregate, each with what its type allows', () => {
    const measures = { open: { function: 'SUM', column: 'amountDue' }, invoices: { function: 'COUNT' } } as const;
    api.aggregateInvoices({
      body: {
        where: { amountDue: { _gt: '0.00' } },
        groupBy: [
          { column: 'clientId' },
          { column: 'dueDate', daysBefore: '2026-09-30', boundaries: [0, 30, 60, 90] },
          { column: 'postedAt', by: 'MONTH' },
          { column: 'total', boundaries: ['100.00', '1000.00'] },
        ],
        measures,
        orderBy: [{ measure: 'open', direction: 'desc' }],
      },
    });
    // @ts-expect-error no figures
    api.aggregateInvoices({ body: { groupBy: [{ column: 'clientId' }] } });
    // @ts-expect-error unknown column to group by
    api.aggregateInvoices({ body: { groupBy: [{ column: 'client' }], measures } });
    // @ts-expect-error a column of other rows
    api.aggregateInvoices({ body: { groupBy: [{ column: 'workDate' }], measures } });
    // @ts-expect-error unknown column of a figure
    api.aggregateInvoices({ body: { measures: { open: { function: 'SUM', column: 'due' } } } });
    // @ts-expect-error the sum of a text
    api.aggregateInvoices({ body: { measures: { open: { function: 'SUM', column: 'status' } } } });
    // @ts-expect-error the sum of days
    api.aggregateInvoices({ body: { measures: { open: { function: 'SUM', column: 'dueDate' } } } });
    // @ts-expect-error the greatest flag
    api.aggregateInvoices({ body: { measures: { open: { function: 'MAX', column: 'isOverdue' } } } });
    // @ts-expect-error a sum without a column
    api.aggregateInvoices({ body: { measures: { open: { function: 'SUM' } } } });
    // @ts-expect-error unknown function
    api.aggregateInvoices({ body: { measures: { open: { function: 'MEDIAN', column: 'total' } } } });
    // @ts-expect-error a period of a flag
    api.aggregateInvoices({ body: { groupBy: [{ column: 'isOverdue', by: 'DAY' }], measures } });
    // @ts-expect-error ranges of a text
    api.aggregateInvoices({ body: { groupBy: [{ column: 'currency', boundaries: [1] }], measures } });
    // @ts-expect-error unknown period
    api.aggregateInvoices({ body: { groupBy: [{ column: 'dueDate', by: 'DECADE' }], measures } });
    // @ts-expect-error unknown column of a condition
    api.aggregateInvoices({ body: { where: { due: { _eq: '0.00' } }, measures } });
    // @ts-expect-error a list
    api.aggregateInvoices({ body: { groupBy: [{ column: 'jobIds' }], measures } });
  });

  it('accepts the values of the contract', () => {
    // @ts-expect-error no such status
    api.searchClients({ body: { where: { status: { _eq: 'ACTIV' } } } });
    // @ts-expect-error no such status
    api.onboardClient({ body: { name: 'Harbor', address: {}, status: 'ACTIV' } });
    api.createQuickPaymentLink({ body: { clientRef: 'C-1', amount: '1250.00' } });
    // @ts-expect-error money is a decimal string
    api.createQuickPaymentLink({ body: { clientRef: 'C-1', amount: 1250 } });
    // @ts-expect-error money is a decimal string in filters too
    api.searchClients({ body: { where: { outstandingBalance: { _gt: 100 } } } });
  });

  it('omits fields that only the service writes', () => {
    api.onboardClient({ body: { name: 'Harbor', address: {}, taxId: '12-3456789' } });
    // @ts-expect-error read-only
    api.onboardClient({ body: { name: 'Harbor', address: {}, outstandingBalance: '0.00' } });
    expectTypeOf<Input<'onboardClient'>['body']>().not.toHaveProperty('unbilledWip');
    const read = {} as Schema<'Staff'>;
    // @ts-expect-error a row as it was read has read-only fields
    api.createStaff({ body: read });
  });

  it('has the fields of the type of a record', () => {
    const [systemRef, name, isBillable] = ['crm-1', 'Harbor & Pine LLC', true] as const;
    api.upsertRecords({
      body: {
        records: [
          { type: 'Client', attributes: { name, managerId: { pmsRef: 'S-014' }, partnerId: id, email: null } },
          { type: 'Industry', systemRef, attributes: { name: 'Boat building' } },
          { type: customType('Opportunity'), systemRef, attributes: { stage: 'LEAD', anything: [1] } },
        ],
      },
    });
    api.updateRecords({ body: { records: [{ type: 'File', systemRef, attributes: {} }] } });
    api.deleteRecords({ body: { records: [{ type: 'Client', systemRef }] } });
    api.upsertCodes({ body: { records: [{ type: 'WorkCode', systemRef, attributes: { code: 'TAX' } }] } });
    api.createRecordBatch({ body: '{}' });
    // @ts-expect-error the operation accepts no lines
    api.upsertRecords({ body: '{}' });
    // @ts-expect-error a client has no such field
    api.upsertRecords({ body: { records: [{ type: 'Client', attributes: { nmae: name } }] } });
    // @ts-expect-error only the service sets it
    api.upsertRecords({ body: { records: [{ type: 'Client', attributes: { unbilledWip: '0.00' } }] } });
    // @ts-expect-error a reference has one key
    api.upsertRecords({ body: { records: [{ type: 'Client', attributes: { managerId: { name } } }] } });
    // @ts-expect-error no such type
    api.upsertRecords({ body: { records: [{ type: 'Clint', attributes: { name } }] } });
    // @ts-expect-error files are not created as records
    api.upsertRecords({ body: { records: [{ type: 'File', systemRef, attributes: {} }] } });
    // @ts-expect-error invoices are not deleted
    api.deleteRecords({ body: { records: [{ type: 'Invoice', systemRef }] } });
    // @ts-expect-error a field of another type of code
    api.upsertCodes({ body: { records: [{ type: 'NonWorkCode', systemRef, attributes: { isBillable } }] } });
  });

  it('has the headers of the operation, without those that the client sends automatically', () => {
    api.updateStaff({ path: { staffId: id }, headers: { 'If-Match': '"3"' }, body: { title: 'Partner' } });
    api.onboardClient({ headers: { 'Idempotency-Key': 'a' }, body: { name: 'Harbor', address: {} } });
    // @ts-expect-error a client has one tenant
    api.getClient({ path: { id }, headers: { Tenant: 'other' } });
    // @ts-expect-error this operation knows no key
    api.getClient({ path: { id }, headers: { 'Idempotency-Key': 'a' } });
  });
});

describe('a response', () => {
  it('is narrowed by its status', async () => {
    const response = await api.getClient({ path: { id } });
    expectTypeOf(response.status).toEqualTypeOf<200 | 400 | 401 | 403 | 404 | 406 | 429 | 500 | 503>();
    if (response.status === 200) {
      expectTypeOf(response.body).toEqualTypeOf<Schema<'Client'>>();
      expectTypeOf(response.ok).toEqualTypeOf<true>();
    } else {
      expectTypeOf(response.body.code).toExtend<ProblemCode>();
      expectTypeOf(response.ok).toEqualTypeOf<false>();
    }
    if (response.status === 404) expectTypeOf(response.body.code).toEqualTypeOf<'NOT_FOUND'>();
    // @ts-expect-error an undeclared status
    if (response.status === 201) response.body;
    // @ts-expect-error the body of a problem has no name
    if (!response.ok) response.body.name;
  });

  it('can be a 304 if If-None-Match is sent, and only then', async () => {
    const headers = { 'If-None-Match': '"a-3"' };
    const conditional = await api.getClient({ path: { id }, headers });
    if (conditional.status === 304) expectTypeOf(conditional.body).toEqualTypeOf<undefined>();
    const plain = await api.getClient({ path: { id } });
    // @ts-expect-error no condition was sent
    if (plain.status === 304) plain.body;
    // @ts-expect-error a search takes no condition
    api.searchClients({ body: {}, headers });
  });

  it('has typed headers', async () => {
    const response = await api.getClient({ path: { id } });
    if (response.ok) expectTypeOf(response.headers.get('ETag')).toEqualTypeOf<string>();
    if (response.status === 429) expectTypeOf(response.headers.get('Retry-After')).toEqualTypeOf<string>();
    expectTypeOf(response.headers.get('Server')).toEqualTypeOf<string | null>();
  });

  it('has money as strings, and no field that is never returned', async () => {
    const client = await orThrow(api.getClient({ path: { id } }));
    expectTypeOf(client).toEqualTypeOf<Schema<'Client'>>();
    expectTypeOf(client.outstandingBalance).toEqualTypeOf<DecimalString>();
    const text: string = client.outstandingBalance;
    expectTypeOf(text).toEqualTypeOf<string>();
    expectTypeOf(client.id).toEqualTypeOf<string>();
    // @ts-expect-error write-only
    client.taxId;
  });

  it('allows a mapped type to find its decimal numbers', () => {
    type WithDecimals<Row> = {
      [Name in keyof Row]: '_format' extends keyof NonNullable<Row[Name]>
        ? bigint | Extract<Row[Name], null>
        : Row[Name];
    };
    type Exact = WithDecimals<Schema<'WipEntry'>>;
    expectTypeOf<Exact['amount']>().toEqualTypeOf<bigint>();
    expectTypeOf<Exact['billingRate']>().toEqualTypeOf<bigint | null>();
    expectTypeOf<Exact['code']>().toEqualTypeOf<string | null>();
  });

  it('narrows records by their type', async () => {
    const { records } = await orThrow(api.updateRecords({ body: { records: [] } }));
    for (const record of records) {
      if (record.type === 'Client')
        expectTypeOf(record.attributes?.paymentTermsDays).toEqualTypeOf<number | undefined>();
      // @ts-expect-error another type has no such field
      if (record.type === 'Industry') record.attributes?.paymentTermsDays;
    }
    for await (const row of api.lookupRecords.rows({ path: { type: 'Client' } })) {
      if (row.type === 'TimeEntry') expectTypeOf(row.attributes.hours).toEqualTypeOf<DecimalString>();
    }
  });

  it('narrows its problem by code', async () => {
    const response = await api.onboardClient({ body: { name: 'Harbor', address: {} } });
    if (response.ok) return;
    if (response.body.code === 'DUPLICATE_REF') expectTypeOf(response.status).toExtend<number>();
    // @ts-expect-error no such code
    if (response.body.code === 'DUPLICATE') return;
    const thrown: unknown = null;
    if (isProblem(thrown, 'LOCKED')) expectTypeOf(thrown.code).toEqualTypeOf<'LOCKED'>();
    // @ts-expect-error no such code
    isProblem(thrown, 'LOKCED');
  });
});

describe('a walk', () => {
  it('returns rows of the operation', async () => {
    for await (const client of api.searchClients.rows({ body: { where: { status: { _eq: 'ACTIVE' } } } })) {
      expectTypeOf(client).toEqualTypeOf<Schema<'Client'>>();
    }
    for await (const invoice of api.listUnpaidInvoices.rows({ query: { clientRef: 'C-1' } })) {
      expectTypeOf(invoice).toEqualTypeOf<Schema<'Invoice'>>();
    }
    for await (const page of api.listClients.pages()) expectTypeOf(page.nextCursor).toEqualTypeOf<string | null>();
    expectTypeOf<Row<'listDeliveries'>>().toEqualTypeOf<Schema<'DeliveryAttempt'>>();
  });

  it('returns the groups of an aggregate', async () => {
    const measures = { hours: { function: 'SUM', column: 'hours' } } as const;
    for await (const { key, values } of api.aggregateTimeEntries.rows({
      body: { groupBy: [{ column: 'staffId' }], measures },
    })) {
      expectTypeOf(key.staffId).toEqualTypeOf<string | number | boolean | null | undefined>();
      expectTypeOf(values.hours).toEqualTypeOf<string | null | undefined>();
    }
    // @ts-expect-error figures are required
    api.aggregateTimeEntries.rows();
  });

  it('requires an operation with pages and its required input', () => {
    // @ts-expect-error one row
    api.getClient.rows({ path: { id } });
    // @ts-expect-error no path
    api.lookupCodes.rows();
    // @ts-expect-error unknown column
    api.searchClients.rows({ body: { where: { nam: { _eq: 'Acme' } } } });
  });
});

describe('an event', () => {
  it('is narrowed by type and operation', () => {
    const event = {} as WebhookEvent;
    if (event.entityType === 'Client') expectTypeOf(event.data).toEqualTypeOf<Schema<'Client'>>();
    if (event.entityType === 'Payment') expectTypeOf(event.operation).toEqualTypeOf<'CREATE' | 'UPDATE'>();
    if (event.entityType === 'Staff') expectTypeOf(event.data.pmsRef).toEqualTypeOf<string | null>();
    if (isCustomRecordEvent(event, 'Opportunity')) expectTypeOf(event.data).toEqualTypeOf<Schema<'CustomRecordRow'>>();
    expectTypeOf(verifyWebhook({ headers: {}, body: '' }, 'whsec_')).toEqualTypeOf<Schema<'Event'>>();
    expectTypeOf(event.entityType).toExtend<string>();
    expectTypeOf<EventFor<'Invoice', 'UPDATE'>['data']>().toEqualTypeOf<Schema<'Invoice'>>();
    // @ts-expect-error no such type
    if (event.entityType === 'Clint') return;
    // @ts-expect-error invoices are never deleted
    if (event.entityType === 'Invoice' && event.operation === 'DELETE') return;
    // @ts-expect-error never returned
    if (event.entityType === 'Client') event.data.taxId;
  });
});
