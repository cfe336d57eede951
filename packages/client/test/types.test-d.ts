import { describe, expectTypeOf, it } from 'vitest';
import {
  type Answer,
  createClient,
  type Input,
  isProblem,
  orThrow,
  type ProblemCode,
  type Row,
  type Schema,
} from '../src/index.ts';
import { type EventFor, isCustomRecordEvent, type WebhookEvent } from '../src/webhooks.ts';

const api = createClient({ baseUrl: 'https://api.financial-automation.example', tenant: 'hartwell', apiKey: 'key' });
const id = '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101';

describe('a client', () => {
  it('needs its address, its tenant, and one way to a token', () => {
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
  it('is of an operation of the contract', () => {
    api.call('getClient', { path: { id } });
    api.GET('/gql/v1/client/{id}', { path: { id } });
    api.call('listTaskTypes');
    // @ts-expect-error no such operation
    api.call('getClints');
    // @ts-expect-error no such path
    api.GET('/gql/v1/clint/{id}', { path: { id } });
    // @ts-expect-error the path has no such method
    api.PUT('/gql/v1/client/{id}', { path: { id } });
  });

  it('has what is required', () => {
    // @ts-expect-error no path
    api.call('getClient');
    // @ts-expect-error no id
    api.call('getClient', { path: {} });
    // @ts-expect-error no body
    api.call('searchClients', {});
    // @ts-expect-error no query
    api.call('listUnpaidInvoices');
    // @ts-expect-error no clientRef
    api.call('listUnpaidInvoices', { query: { page: 1 } });
    // @ts-expect-error no address
    api.call('onboardClient', { body: { name: 'Harbor' } });
  });

  it('has nothing else', () => {
    // @ts-expect-error unknown query parameter
    api.call('listUnpaidInvoices', { query: { clientRef: 'C-1', sort: 'asc' } });
    // @ts-expect-error a body where there is none
    api.call('getClient', { path: { id }, body: {} });
    // @ts-expect-error a query where there is none
    api.call('getClient', { path: { id }, query: {} });
    // @ts-expect-error unknown property
    api.call('onboardClient', { body: { name: 'Harbor', address: {}, colour: 'blue' } });
    // @ts-expect-error unknown option
    api.call('getClient', { path: { id }, timeOut: 3 });
  });

  it('names filter columns and operators of the resource', () => {
    api.call('searchClients', {
      body: { where: { _or: [{ name: { _ilike: '%acme%' } }, { jobs: { status: { _eq: 'IN_PROGRESS' } } }] } },
    });
    // @ts-expect-error unknown column
    api.call('searchClients', { body: { where: { nam: { _eq: 'Acme' } } } });
    // @ts-expect-error unknown column, nested
    api.call('searchClients', { body: { where: { _and: [{ _not: { nam: { _eq: 'Acme' } } }] } } });
    // @ts-expect-error unknown column of a relation
    api.call('searchClients', { body: { where: { partner: { nam: { _eq: 'Acme' } } } } });
    // @ts-expect-error unknown operator
    api.call('searchClients', { body: { where: { name: { _equals: 'Acme' } } } });
    // @ts-expect-error an operator that the type of the column does not have
    api.call('searchClients', { body: { where: { active: { _like: '%' } } } });
    // @ts-expect-error unknown key to sort by
    api.call('searchClients', { body: { orderBy: [{ nam: 'asc' }] } });
    // @ts-expect-error unknown direction
    api.call('searchClients', { body: { orderBy: [{ name: 'ascending' }] } });
  });

  it('takes the values of the contract', () => {
    // @ts-expect-error no such status
    api.call('searchClients', { body: { where: { status: { _eq: 'ACTIV' } } } });
    // @ts-expect-error no such status
    api.call('onboardClient', { body: { name: 'Harbor', address: {}, status: 'ACTIV' } });
    api.call('createQuickPaymentLink', { body: { clientRef: 'C-1', amount: '1250.00' } });
    // @ts-expect-error money is a decimal string
    api.call('createQuickPaymentLink', { body: { clientRef: 'C-1', amount: 1250 } });
    // @ts-expect-error money is a decimal string in filters too
    api.call('searchClients', { body: { where: { outstandingBalance: { _gt: 100 } } } });
  });

  it('leaves out what only the service writes', () => {
    api.call('onboardClient', { body: { name: 'Harbor', address: {}, taxId: '12-3456789' } });
    // @ts-expect-error read-only
    api.call('onboardClient', { body: { name: 'Harbor', address: {}, outstandingBalance: '0.00' } });
    expectTypeOf<Input<'onboardClient'>['body']>().not.toHaveProperty('unbilledWip');
    const read = {} as Schema<'Staff'>;
    // @ts-expect-error a row as it was read has read-only fields
    api.call('createStaff', { body: read });
  });

  it('has the headers of the operation, without those that the client sends by itself', () => {
    api.call('updateStaff', { path: { staffId: id }, headers: { 'If-Match': '"3"' }, body: { title: 'Partner' } });
    api.call('onboardClient', { headers: { 'Idempotency-Key': 'a' }, body: { name: 'Harbor', address: {} } });
    // @ts-expect-error a client has one tenant
    api.call('getClient', { path: { id }, headers: { Tenant: 'other' } });
    // @ts-expect-error this operation knows no key
    api.call('getClient', { path: { id }, headers: { 'Idempotency-Key': 'a' } });
  });
});

describe('an answer', () => {
  it('is told apart by its status', async () => {
    const answer = await api.call('getClient', { path: { id } });
    expectTypeOf(answer.status).toEqualTypeOf<200 | 400 | 401 | 403 | 404 | 406 | 429 | 500 | 503>();
    if (answer.status === 200) {
      expectTypeOf(answer.body).toEqualTypeOf<Schema<'Client'>>();
      expectTypeOf(answer.ok).toEqualTypeOf<true>();
    } else {
      expectTypeOf(answer.body.code).toExtend<ProblemCode>();
      expectTypeOf(answer.ok).toEqualTypeOf<false>();
    }
    if (answer.status === 404) expectTypeOf(answer.body.code).toEqualTypeOf<'NOT_FOUND'>();
    // @ts-expect-error an undeclared status
    if (answer.status === 201) answer.body;
    // @ts-expect-error the body of a problem has no name
    if (!answer.ok) answer.body.name;
  });

  it('is the same by path', () => {
    expectTypeOf(api.GET('/gql/v1/client/{id}', { path: { id } })).resolves.toEqualTypeOf<Answer<'getClient'>>();
  });

  it('knows its headers', async () => {
    const answer = await api.call('getClient', { path: { id } });
    if (answer.ok) expectTypeOf(answer.headers.get('ETag')).toEqualTypeOf<string>();
    if (answer.status === 429) expectTypeOf(answer.headers.get('Retry-After')).toEqualTypeOf<string>();
    expectTypeOf(answer.headers.get('Server')).toEqualTypeOf<string | null>();
  });

  it('has money as strings, and no field that is never answered', async () => {
    const client = await orThrow(api.call('getClient', { path: { id } }));
    expectTypeOf(client).toEqualTypeOf<Schema<'Client'>>();
    expectTypeOf(client.outstandingBalance).toEqualTypeOf<string>();
    expectTypeOf(client.id).toEqualTypeOf<string>();
    // @ts-expect-error write-only
    client.taxId;
  });

  it('gives its problem by code', async () => {
    const answer = await api.call('onboardClient', { body: { name: 'Harbor', address: {} } });
    if (answer.ok) return;
    if (answer.body.code === 'DUPLICATE_REF') expectTypeOf(answer.status).toExtend<number>();
    // @ts-expect-error no such code
    if (answer.body.code === 'DUPLICATE') return;
    const thrown: unknown = null;
    if (isProblem(thrown, 'LOCKED')) expectTypeOf(thrown.code).toEqualTypeOf<'LOCKED'>();
    // @ts-expect-error no such code
    isProblem(thrown, 'LOKCED');
  });
});

describe('a walk', () => {
  it('gives rows of the operation', async () => {
    for await (const client of api.rows('searchClients', { body: { where: { status: { _eq: 'ACTIVE' } } } })) {
      expectTypeOf(client).toEqualTypeOf<Schema<'Client'>>();
    }
    for await (const invoice of api.rows('listUnpaidInvoices', { query: { clientRef: 'C-1' } })) {
      expectTypeOf(invoice).toEqualTypeOf<Schema<'Invoice'>>();
    }
    for await (const page of api.pages('listClients')) expectTypeOf(page.nextCursor).toEqualTypeOf<string | null>();
    expectTypeOf<Row<'listDeliveries'>>().toEqualTypeOf<Schema<'DeliveryAttempt'>>();
  });

  it('is of an operation that has pages, with what it requires', () => {
    // @ts-expect-error one row
    api.rows('getClient', { path: { id } });
    // @ts-expect-error no path
    api.rows('lookupCodes');
    // @ts-expect-error unknown column
    api.rows('searchClients', { body: { where: { nam: { _eq: 'Acme' } } } });
  });
});

describe('an event', () => {
  it('is told apart by type and operation', () => {
    const event = {} as WebhookEvent;
    if (event.entityType === 'Client') expectTypeOf(event.data).toEqualTypeOf<Schema<'Client'>>();
    if (event.entityType === 'Payment') expectTypeOf(event.operation).toEqualTypeOf<'CREATE' | 'UPDATE'>();
    if (event.entityType === 'Staff') expectTypeOf(event.data.pmsRef).toEqualTypeOf<string | null>();
    if (isCustomRecordEvent(event, 'Opportunity')) expectTypeOf(event.data).toEqualTypeOf<Schema<'RecordRow'>>();
    expectTypeOf(event.entityType).toExtend<string>();
    expectTypeOf<EventFor<'Invoice', 'UPDATE'>['data']>().toEqualTypeOf<Schema<'Invoice'>>();
    // @ts-expect-error no such type
    if (event.entityType === 'Clint') return;
    // @ts-expect-error invoices are never deleted
    if (event.entityType === 'Invoice' && event.operation === 'DELETE') return;
    // @ts-expect-error never answered
    if (event.entityType === 'Client') event.data.taxId;
  });
});
