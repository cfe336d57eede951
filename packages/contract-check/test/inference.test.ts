import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { controlsOf, slotsOf } from '../src/checks/behavior/lists/slots.ts';
import { unlikes } from '../src/checks/behavior/resources/compare.ts';
import { resourceTypesOf } from '../src/checks/behavior/resources/resource-types.ts';
import { OpenApiDocument } from '../src/document/document.ts';
import { type Exchange, emptyCall } from '../src/http/call.ts';
import { atEveryDepth, renewed } from '../src/run/renewal.ts';
import { Session } from '../src/run/session.ts';
import { inShortPeriods } from '../src/schema/numbers.ts';
import { View } from '../src/schema/view.ts';

const component = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const object = (...names: string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
});
const inPath = (name: string) => ({ name, in: 'path', required: true, schema: { type: 'string' } });
const operation = (operationId: string, status: number, schema?: string, body?: string, type = 'application/json') => ({
  operationId,
  ...(body === undefined ? {} : { requestBody: { content: { [type]: { schema: component(body) } } } }),
  responses: {
    [status]: {
      description: 'It.',
      ...(schema === undefined ? {} : { content: { 'application/json': { schema: component(schema) } } }),
    },
  },
});

const schemas = {
  Job: object('id', 'status'),
  Export: object('id', 'rows'),
  Customer: object('id', 'email'),
  Invoice: object('customer', 'note'),
  Page: { type: 'object', properties: { content: { type: 'array', items: component('Customer') } } },
};

async function withSession<Result>(paths: object, use: (session: Session) => Result): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'resource-types-'));
  const spec = join(folder, 'openapi.json');
  const info = { title: 'Types', version: '1' };
  await writeFile(spec, JSON.stringify({ openapi: '3.1.0', info, paths, components: { schemas } }));
  const session = new Session(await OpenApiDocument.load(spec), 'http://127.0.0.1:9', { spec, disposable: true });
  const result = use(session);
  await session.transport.close();
  await rm(folder, { recursive: true });
  return result;
}

const typesOf = (paths: object) =>
  withSession(paths, (session) =>
    resourceTypesOf(session).map(({ create, read, updates, list }) => {
      return { create: create.id, read: read?.id, updates: updates.map(({ id }) => id), list: list?.id };
    }),
  );

test('resourceTypesOf › reads an accepted job where jobs are read, not where its result is', async () => {
  const types = await typesOf({
    '/exports': { post: operation('createExport', 202, 'Job', 'Export') },
    '/exports/{exportId}': { parameters: [inPath('exportId')], get: operation('getExport', 200, 'Export') },
    '/jobs/{jobId}': { parameters: [inPath('jobId')], get: operation('getJob', 200, 'Job') },
  });
  expect(types).toEqual([{ create: 'createExport', read: 'getJob', updates: [], list: undefined }]);
});

test('resourceTypesOf › updates by POST to the path of a resource, unless it has PUT or PATCH', async () => {
  const form = 'application/x-www-form-urlencoded';
  const paths = (more: object) => ({
    '/customers': { post: operation('createCustomer', 200, 'Customer', 'Customer', form) },
    '/customers/{customer}': {
      parameters: [inPath('customer')],
      get: operation('getCustomer', 200, 'Customer'),
      post: operation('updateCustomer', 200, 'Customer', 'Customer', form),
      ...more,
    },
  });
  const type = { create: 'createCustomer', read: 'getCustomer', list: undefined };
  expect(await typesOf(paths({}))).toEqual([{ ...type, updates: ['updateCustomer'] }]);
  expect(await typesOf(paths({ patch: operation('patchCustomer', 200, 'Customer', 'Customer') }))).toEqual([
    { ...type, updates: ['patchCustomer'] },
  ]);
});

test('resourceTypesOf › creates no resource of the type that it is below, which would be below itself without end', async () => {
  const types = await typesOf({
    '/customers': { post: operation('createCustomer', 201, 'Customer', 'Customer') },
    '/customers/{customerId}': { parameters: [inPath('customerId')], get: operation('getCustomer', 200, 'Customer') },
    '/customers/{customerId}/image': {
      parameters: [inPath('customerId')],
      post: operation('uploadImage', 201, 'Customer'),
    },
  });
  expect(types.map(({ create, read }) => [create, read])).toEqual([
    ['createCustomer', 'getCustomer'],
    ['uploadImage', undefined],
  ]);
});

test('inShortPeriods › ends a period shortly after its start', () => {
  const [from, later] = ['2026-01-31T23:30:00Z', '2026-02-01T00:30:00Z'];
  expect(
    inShortPeriods({ items: [{ start: from, end: '2021-01-01T00:00:00Z' }], starts_at: from, ends_at: from }),
  ).toEqual({
    items: [{ start: from, end: later }],
    starts_at: from,
    ends_at: later,
  });
  expect(inShortPeriods({ validFrom: '2026-01-31', validTo: '2020-05-05', to: 'Ann', from: 'Ben' })).toEqual({
    validFrom: '2026-01-31',
    validTo: '2026-02-01',
    to: 'Ann',
    from: 'Ben',
  });
});

test('resourceTypesOf › reads rows of any media type, as Spring declares them', async () => {
  const any = { description: 'Rows.', content: { '*/*': { schema: component('Page') } } };
  const types = await typesOf({
    '/customers': {
      get: { operationId: 'listCustomers', responses: { 200: any } },
      post: operation('createCustomer', 201, 'Customer', 'Customer'),
    },
    '/customers/{id}': { parameters: [inPath('id')], get: operation('getCustomer', 200, 'Customer') },
  });
  expect(types).toEqual([{ create: 'createCustomer', read: 'getCustomer', updates: [], list: 'listCustomers' }]);
});

test('controlsOf › finds the page and its size in a pageable', async () => {
  const pageable = { type: 'object', properties: { page: { type: 'integer' }, size: { type: 'integer' } } };
  const parameters = [{ name: 'pageable', in: 'query', style: 'deepObject', schema: pageable }];
  const paths = { '/customers': { get: { ...operation('listCustomers', 200, 'Page'), parameters } } };
  const names = await withSession(paths, ({ document, operations: [list] }) => {
    if (list === undefined) throw new Error('There is no list.');
    const { size, position } = controlsOf(slotsOf(document, list, emptyCall(list)));
    return [size?.name, position?.name];
  });
  expect(names).toEqual(['pageable[size]', 'pageable[page]']);
});

test('unlikes › compares a property that a form and a response write differently', async () => {
  const found = await withSession({}, ({ document }) =>
    unlikes(
      { value: { MediaUrl: 'a' }, view: View.of(document, object('MediaUrl')) },
      { value: { media_url: 'b' }, view: View.of(document, object('media_url')) },
    ),
  );
  expect(found).toMatchObject([{ pointer: '/MediaUrl', sent: 'a', shown: 'b' }]);
});

test('renewed › keeps the ID of another resource under a name that does not say it is one', async () => {
  const paths = {
    '/customers': { post: operation('createCustomer', 201, 'Customer', 'Customer') },
    '/invoices': { post: operation('createInvoice', 201, 'Invoice', 'Invoice') },
  };
  const body = await withSession(paths, (session) => {
    const [customers, invoices] = session.operations;
    if (customers === undefined || invoices === undefined) throw new Error('An operation is missing.');
    const response = { status: 201, json: { value: { id: 'cus-1' } } };
    session.pool.learn({ operation: customers, request: {}, response } as Exchange, true);
    const call = { ...emptyCall(invoices), body: { customer: 'cus-1', note: 'cus-2' } };
    return renewed(session, call, 'again', atEveryDepth).body;
  });
  expect(body).toEqual({ customer: 'cus-1', note: expect.not.stringMatching('cus-2') });
});
