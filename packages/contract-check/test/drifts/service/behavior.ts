import { randomBytes } from 'node:crypto';
import { isObject, type JsonObject } from '../../../src/json.ts';
import { absent, gone, isLater, to } from '../combinators.ts';
import type { Alter, Next } from '../front.ts';
import {
  changeAt,
  edit,
  type IncomingRequest,
  jsonOf,
  type Reply,
  rowsOf,
  valuesAt,
  withHeader,
  withJson,
} from '../message.ts';
import { type RequestInput, send } from '../wire.ts';
import {
  callJson,
  drift,
  expecting,
  header,
  ignore,
  member,
  observe,
  otherDefault,
  page,
  request,
  requiring,
  type ServiceDrift,
} from './combinators.ts';
import { sample } from './samples.ts';
import type { World } from './world.ts';

const firstPages =
  (operation: string, body: object = {}) =>
  async (url: string, world: World) => {
    const pages: unknown[] = [];
    let cursor: unknown;
    for (let count = 0; count < 5 && cursor !== null; count += 1) {
      const expected = { pageSize: 1, includeTotal: true, ...body, ...(cursor === undefined ? {} : { cursor }) };
      const inQuery = Object.entries(expected).map(([name, value]) => [name, String(value)] as const);
      const isGet = sample(operation, world).method === 'GET';
      const returned = await callJson(
        url,
        world,
        operation,
        isGet ? { query: Object.fromEntries(inQuery) } : { body: expected },
      );
      pages.push({
        ids: rowsOf(returned).map((row) => row.id),
        total: returned.total,
        page: returned.page,
        size: returned.pageSize,
        more: returned.hasMore,
      });
      cursor = returned.nextCursor ?? null;
    }
    return pages;
  };
const ids = (operation: string, expected: RequestInput) => async (url: string, world: World) => {
  const returned = await callJson(url, world, operation, expected);
  return [returned['(status)'], returned.total, rowsOf(returned).map((row) => row.id)];
};
const where = (condition: object, more: object = {}): RequestInput => ({ body: { where: condition, ...more } });
const sorted = (...orderBy: object[]): RequestInput => ({ body: { orderBy } });
const hasCondition = (incoming: IncomingRequest) =>
  valuesAt(incoming, 'body/where').some((value) => isObject(value) && Object.keys(value).length > 0);
const hasOrder = (incoming: IncomingRequest) =>
  valuesAt(incoming, 'body/orderBy').some((value) => Array.isArray(value) && value.length > 0);
const newId = () => `0199a1c2-0c01-7c01-8a4f-${randomBytes(6).toString('hex')}`;
const object = (reply: Reply): JsonObject => {
  const value = jsonOf(reply);
  return isObject(value) ? value : {};
};

/** State of one run, kept between requests. */
function remembering<Memory extends object>(
  start: () => Memory,
  alter: (incoming: IncomingRequest, next: Next, memory: Memory, world: World) => ReturnType<Alter>,
): ServiceDrift['alter'] {
  return (world) => {
    const memory = start();
    return (incoming, next) => alter(incoming, next, memory, world);
  };
}

/** A request of the same caller to another operation. */
function otherRequest(
  incoming: IncomingRequest,
  world: World,
  operation: string,
  expected: RequestInput,
): IncomingRequest {
  const other = sample(operation, world, expected);
  return {
    ...other,
    headers: {
      ...other.headers,
      ...(incoming.headers.tenant === undefined ? {} : { tenant: incoming.headers.tenant }),
      authorization: incoming.headers.authorization ?? '',
    },
  };
}

const defaults = [
  otherDefault('getClientTypes', 'default', 'a page has one row where its size is left out', 'query.pageSize', 1),
  otherDefault('listIndustries', 'default', 'a page has two rows where its size is left out', 'body/pageSize', 2),
  otherDefault('listClients', 'default', 'a total is returned without a request', 'body/includeTotal', true),
  otherDefault('getTaxRegions', 'default', 'a total is returned without a request', 'query.includeTotal', true),
  otherDefault(
    'listCustomRecordTypes',
    'default',
    'inactive types are listed by default',
    'query.includeInactive',
    true,
  ),
  request(
    'listContacts',
    'default',
    'the first row is skipped where no page is named',
    (incoming) =>
      absent(incoming, 'body/page') && absent(incoming, 'body/cursor')
        ? changeAt(incoming, 'body/page', to(1))
        : incoming,
    {},
  ),
  otherDefault('lookupRecords', 'default', 'the default page is the second one', 'body/page', 1),
];

const pages = [
  ignore('listClients', 'page', 'the number of rows to skip is ignored', 'body/page', { body: { page: 1 } }),
  ignore('getTaxRegions', 'page', 'the size of a page is ignored', 'query.pageSize', { query: { pageSize: '1' } }),
  ignore('searchClients', 'page', 'a cursor is ignored', 'body/cursor', firstPages('searchClients')),
  ignore('getClientTypes', 'page', 'a cursor leads to the first page', 'query.cursor', firstPages('getClientTypes')),
  ignore('lookupRecords', 'page', 'every page is the first one', 'body/page', { body: { page: 1, pageSize: 1 } }),
  drift(
    'listContacts',
    'page',
    'a page has one row too many',
    () => async (incoming, next) => {
      const [size] = valuesAt(incoming, 'body/pageSize');
      if (incoming.operation !== 'listContacts' || typeof size !== 'number' || size > 999) return next(incoming);
      const reply = await next(changeAt(incoming, 'body/pageSize', to(size + 1)));
      return withJson(reply, edit(jsonOf(reply), '/pageSize', to(size)));
    },
    { body: { pageSize: 1 } },
  ),
  page('listDepartments', 'page', 'the last row of a page is its first one again', (body, rows) => ({
    ...body,
    data: rows.map((row, index) => (index === rows.length - 1 ? rows[0] : row)),
  })),
  drift(
    'listContactClients',
    'page',
    'a page begins with the last row of the one before',
    remembering(
      () => ({ last: undefined as JsonObject | undefined }),
      async (incoming, next, memory) => {
        const reply = await next(incoming);
        const rows = rowsOf(jsonOf(reply));
        if (incoming.operation !== 'listContactClients' || rows.length === 0) return reply;
        const shown = isLater(incoming) && memory.last !== undefined ? [memory.last, ...rows.slice(1)] : rows;
        memory.last = rows.at(-1);
        return withJson(reply, { ...object(reply), data: shown });
      },
    ),
    firstPages('listContactClients'),
  ),
  page(
    'listContactInfos',
    'page',
    'the first row of every later page is lost',
    (body, rows, incoming) => (isLater(incoming) ? { ...body, data: rows.slice(1) } : body),
    firstPages('listContactInfos'),
  ),
  page(
    'listClientGroups',
    'page',
    'nothing follows the first page',
    (body) => ({ ...body, hasMore: false, nextCursor: null }),
    firstPages('listClientGroups'),
  ),
  page(
    'listTaxRegions',
    'page',
    'the last page says that more follows',
    (body) => ({ ...body, hasMore: true }),
    firstPages('listTaxRegions'),
  ),
  page('listClientBusinessEntities', 'page', 'a page does not return its position', (body) => ({ ...body, page: 0 }), {
    body: { page: 1 },
  }),
  page('searchContacts', 'page', 'a page does not return the requested size', (body) => ({ ...body, pageSize: 50 }), {
    body: { pageSize: 2 },
  }),
  page(
    'listClients',
    'page',
    'rows after the second are never returned',
    (body, rows) => ({ ...body, data: rows.slice(0, 2), hasMore: false, nextCursor: null }),
    firstPages('listClients', { pageSize: 3 }),
  ),
  drift(
    'listIndustries',
    'page',
    'beyond the end the last page comes again',
    () => async (incoming, next) => {
      const reply = await next(incoming);
      const isBeyond =
        incoming.operation === 'listIndustries' &&
        isLater(incoming) &&
        reply.status === 200 &&
        rowsOf(jsonOf(reply)).length === 0;
      if (!isBeyond) return reply;
      const first = await next(changeAt(changeAt(incoming, 'body/page', gone), 'body/cursor', gone));
      return withJson(first, { ...object(first), page: object(reply).page });
    },
    { body: { page: 1000 } },
  ),
  drift(
    'listServiceLines',
    'page',
    'every second call returns the rows in reverse order',
    remembering(
      () => ({ calls: 0 }),
      async (incoming, next, memory) => {
        const reply = await next(incoming);
        if (incoming.operation !== 'listServiceLines' || reply.status !== 200) return reply;
        memory.calls += 1;
        return memory.calls % 2 === 0
          ? withJson(reply, { ...object(reply), data: rowsOf(jsonOf(reply)).reverse() })
          : reply;
      },
    ),
    async (url, world) => [
      await ids('listServiceLines', {})(url, world),
      await ids('listServiceLines', {})(url, world),
    ],
  ),
  drift(
    'listDepartments',
    'page',
    'a page of one row is accepted from the end of the list',
    () => async (incoming, next) => {
      const [size] = valuesAt(incoming, 'body/pageSize');
      const [skipped = 0] = valuesAt(incoming, 'body/page');
      if (
        incoming.operation !== 'listDepartments' ||
        size !== 1 ||
        typeof skipped !== 'number' ||
        !absent(incoming, 'body/cursor')
      )
        return next(incoming);
      const all = await next(withJson(incoming, { pageSize: 1000 }));
      const reply = await next(incoming);
      return withJson(reply, {
        ...object(reply),
        data: rowsOf(jsonOf(all))
          .reverse()
          .slice(skipped, skipped + 1),
      });
    },
    { body: { pageSize: 1 } },
  ),
  drift(
    'lookupRecords',
    'page',
    'the number of the page is treated as a number of rows',
    () => async (incoming, next) => {
      const [size] = valuesAt(incoming, 'body/pageSize');
      const [number] = valuesAt(incoming, 'body/page');
      if (
        incoming.operation !== 'lookupRecords' ||
        typeof size !== 'number' ||
        typeof number !== 'number' ||
        number < 1
      )
        return next(incoming);
      const reply = await next(incoming);
      if (reply.status !== 200) return reply;
      const all = await next(withJson(incoming, { pageSize: 100 }));
      return withJson(reply, { ...object(reply), data: rowsOf(jsonOf(all)).slice(number, number + size) });
    },
    { body: { page: 1, pageSize: 2 } },
  ),
  page(
    'getClientTypes',
    'total',
    'the total is one too many',
    (body) => (typeof body.total === 'number' ? { ...body, total: body.total + 1 } : body),
    { query: { includeTotal: 'true' } },
  ),
  page(
    'listContacts',
    'total',
    'the total counts the page',
    (body, rows) => ('total' in body ? { ...body, total: rows.length } : body),
    firstPages('listContacts'),
  ),
  drift(
    'searchClients',
    'total',
    'the total ignores the condition',
    () => async (incoming, next) => {
      const reply = await next(incoming);
      if (incoming.operation !== 'searchClients' || !('total' in object(reply))) return reply;
      const all = await next(changeAt(incoming, 'body/where', gone));
      return withJson(reply, { ...object(reply), total: object(all).total });
    },
    where({ status: { _eq: 'PROSPECT' } }, { includeTotal: true }),
  ),
  ignore('listContactsByClient', 'total', 'a requested total is not returned', 'query.includeTotal', {
    query: { includeTotal: 'true' },
  }),
  member(
    'upsertRecords',
    'total',
    'the number of records is not that of the request',
    '/summary/total',
    (value) => Number(value) + 1,
  ),
];

const orders = [
  ignore(
    'searchClients',
    'order',
    'the order is ignored',
    'body/orderBy',
    ids('searchClients', sorted({ name: 'desc' })),
  ),
  request(
    'searchClients',
    'order',
    'descending is treated as ascending',
    (incoming) => changeAt(incoming, 'body/orderBy/*/*', (value) => String(value).replace('desc', 'asc')),
    ids('searchClients', sorted({ name: 'desc' })),
  ),
  request(
    'searchContacts',
    'order',
    'ascending is treated as descending',
    (incoming) => changeAt(incoming, 'body/orderBy/*/*', (value) => (value === 'asc' ? 'desc' : value)),
    ids('searchContacts', sorted({ lastName: 'asc' })),
  ),
  request(
    'searchContacts',
    'order',
    'all keys but the first are ignored',
    (incoming) => changeAt(incoming, 'body/orderBy', (value) => (Array.isArray(value) ? value.slice(0, 1) : value)),
    ids('searchContacts', sorted({ active: 'asc' }, { lastName: 'desc' })),
  ),
  request(
    'searchContacts',
    'order',
    'nulls come last where they should come first',
    (incoming) => changeAt(incoming, 'body/orderBy/*/*', (value) => String(value).replace('nulls_first', 'nulls_last')),
    ids('searchContacts', sorted({ firstName: 'asc_nulls_first' })),
  ),
  page(
    'searchClients',
    'order',
    'the last two rows of an ordered page are swapped',
    (body, rows, incoming) =>
      hasOrder(incoming) ? { ...body, data: [...rows.slice(0, -2), ...rows.slice(-2).reverse()] } : body,
    ids('searchClients', sorted({ name: 'asc' })),
  ),
];

const filters = [
  ignore(
    'searchClients',
    'filter',
    'the whole condition is ignored',
    'body/where',
    ids('searchClients', where({ name: { _eq: 'Nobody' } })),
  ),
  ignore(
    'searchContacts',
    'filter',
    'a condition on the family name is ignored',
    'body/where/lastName',
    ids('searchContacts', where({ lastName: { _eq: 'Nobody' } })),
  ),
  ignore(
    'searchClients',
    'filter',
    'a condition on the status is ignored',
    'body/where/status',
    ids('searchClients', where({ status: { _eq: 'ARCHIVED' } })),
  ),
  ignore(
    'searchClients',
    'filter',
    'a negation is ignored',
    'body/where/_not',
    ids('searchClients', where({ _not: { status: { _eq: 'ACTIVE' } } })),
  ),
  ignore(
    'searchContacts',
    'filter',
    'a condition on the links is ignored',
    'body/where/contactClients',
    ids('searchContacts', where({ contactClients: { clientRef: { _eq: 'C-nobody' } } })),
  ),
  request(
    'searchClients',
    'filter',
    'of a list of values the first one counts',
    (incoming) => changeAt(incoming, 'body/where/*/_in', (value) => (Array.isArray(value) ? value.slice(0, 1) : value)),
    ids('searchClients', where({ status: { _in: ['PROSPECT', 'ACTIVE'] } })),
  ),
  request(
    'searchClients',
    'filter',
    'any of several conditions means all of them',
    (incoming) =>
      changeAt(incoming, 'body/where', (value) =>
        isObject(value) && '_or' in value ? rename(value, '_or', '_and') : value,
      ),
    ids('searchClients', where({ _or: [{ status: { _eq: 'PROSPECT' } }, { status: { _eq: 'ACTIVE' } }] })),
  ),
  request(
    'searchContacts',
    'filter',
    'unlike is treated as like',
    (incoming) => changeAt(incoming, 'body/where/*', (value) => rename(value, '_neq', '_eq')),
    ids('searchContacts', where({ lastName: { _neq: 'Calder' } })),
  ),
  request(
    'searchContacts',
    'filter',
    'greater includes equal',
    (incoming) => changeAt(incoming, 'body/where/*', (value) => rename(value, '_gt', '_gte')),
    ids('searchContacts', where({ lastName: { _gt: 'Okafor' } })),
  ),
  request(
    'searchContacts',
    'filter',
    '_is_null is inverted',
    (incoming) => changeAt(incoming, 'body/where/*/_is_null', (value) => (value === undefined ? undefined : true)),
    ids('searchContacts', where({ firstName: { _is_null: false } })),
  ),
  drift(
    'searchContacts',
    'filter',
    'a row that does not match comes last',
    () => async (incoming, next) => {
      const reply = await next(incoming);
      if (incoming.operation !== 'searchContacts' || reply.status !== 200 || !hasCondition(incoming)) return reply;
      const shown = rowsOf(jsonOf(reply));
      const other = rowsOf(jsonOf(await next(withJson(incoming, {})))).find((row) =>
        shown.every(({ id }) => id !== row.id),
      );
      const [size = 50] = valuesAt(incoming, 'body/pageSize');
      return other === undefined || shown.length >= Number(size)
        ? reply
        : withJson(reply, { ...object(reply), data: [...shown, other] });
    },
    ids('searchContacts', where({ lastName: { _eq: 'Calder' } })),
  ),
  page(
    'searchClients',
    'filter',
    'the last matching row is missing',
    (body, rows, incoming) => (hasCondition(incoming) ? { ...body, data: rows.slice(0, -1) } : body),
    ids('searchClients', where({ status: { _eq: 'PROSPECT' } })),
  ),
  drift(
    'searchClients',
    'filter',
    'later pages ignore the condition',
    () => (incoming, next) =>
      next(
        incoming.operation === 'searchClients' && Number(valuesAt(incoming, 'body/page')[0] ?? 0) > 0
          ? changeAt(incoming, 'body/where', gone)
          : incoming,
      ),
    ids('searchClients', where({ status: { _eq: 'PROSPECT' } }, { page: 1 })),
  ),
  ignore(
    'listCustomRecordTypes',
    'filter',
    'inactive types are never listed',
    'query.includeInactive',
    ids('listCustomRecordTypes', { query: { includeInactive: 'true' } }),
  ),
  request(
    'listContactsByClient',
    'path',
    'every client has the contacts of the same client',
    (incoming, world) => (isText(incoming) ? changeAt(incoming, 'path.clientId', to(world.ids.client)) : incoming),
    ids('listContactsByClient', { path: { clientId: newId() } }),
  ),
  request(
    'getContact',
    'path',
    'every id leads to the same contact',
    (incoming, world) => (isText(incoming) ? changeAt(incoming, 'path.id', to(world.ids.contact)) : incoming),
    { path: { id: newId() } },
  ),
  request(
    'getRecordSchema',
    'path',
    'every name leads to the schema of clients',
    (incoming) => (/schema\/[A-Z]\w+$/.test(incoming.path) ? changeAt(incoming, 'path.type', to('Client')) : incoming),
    { path: { type: 'Contact' } },
  ),
];

/** Whether the last segment is an ID. */
function isText({ path }: IncomingRequest): boolean {
  return /[0-9a-f-]{36}$/.test(path);
}

function rename(value: unknown, from: string, name: string): unknown {
  if (!isObject(value) || !(from in value)) return value;
  const { [from]: moved, ...rest } = value;
  return { ...rest, [name]: moved };
}

/** Creates a client, and reads it at the `Location` of the response. */
const createdClient = (body: object) => async (url: string, world: World) => {
  const created = await callJson(url, world, 'onboardClient', { body: { name: world.unique(), address: {}, ...body } });
  const read = await callJson(url, world, 'getClient', { path: { id: String(created.clientId) } });
  return [
    created['(status)'],
    read['(status)'],
    read.name === undefined ? undefined : String(read.name).slice(0, 2),
    read.email,
    read.legalName,
  ];
};
const createdType = (body: object) => async (url: string, world: World) => {
  const name = world.unique();
  const created = await callJson(url, world, 'createCustomRecordType', {
    body: { name, fields: [{ name: 'note', type: 'STRING' }], ...body },
  });
  const read = await callJson(url, world, 'getCustomRecordType', { path: { name } });
  const list = await callJson(url, world, 'listCustomRecordTypes');
  const names = (type: JsonObject) => (Array.isArray(type.fields) ? type.fields.map((field) => field.name) : undefined);
  return [
    created['(status)'],
    created.displayName,
    names(created),
    read['(status)'],
    read.displayName,
    names(read),
    rowsOf(list).some((row) => row.name === name),
  ];
};
const changedType =
  (change: object, headers: Readonly<Record<string, string>> = {}) =>
  async (url: string, world: World) => {
    const name = world.unique();
    const common = { displayName: 'Before', description: 'Before' };
    await callJson(url, world, 'createCustomRecordType', {
      body: { name, ...common, fields: [{ name: 'note', type: 'STRING' }] },
    });
    const before = await observe(url, world, 'getCustomRecordType', { path: { name } });
    const response = await observe(url, world, 'updateCustomRecordType', { path: { name }, body: change, headers });
    return [before, response, await observe(url, world, 'getCustomRecordType', { path: { name } })];
  };
const deletedType = async (url: string, world: World) => {
  const name = world.unique();
  await callJson(url, world, 'createCustomRecordType', { body: { name, fields: [{ name: 'note', type: 'STRING' }] } });
  const { active } = await callJson(url, world, 'deactivateCustomRecordType', { path: { name } });
  return [active, (await callJson(url, world, 'getCustomRecordType', { path: { name } })).active];
};
const createdContact = (body: object) => async (url: string, world: World) => {
  const created = await callJson(url, world, 'upsertContacts', {
    body: { contacts: [{ lastName: world.unique(), ...body }] },
  });
  const [first] = Array.isArray(created.succeeded) ? created.succeeded : [];
  const read = await callJson(url, world, 'getContact', { path: { id: String(first?.id) } });
  return [read['(status)'], read.firstName, read.phone];
};
const key = (world: World) => ({ 'idempotency-key': world.unique() });
const twice = (operation: string) => async (url: string, world: World) => {
  const expected = { headers: key(world), body: jsonOf(sample(operation, world)) };
  const both = [await callJson(url, world, operation, expected), await callJson(url, world, operation, expected)];
  return [both.map((one) => one['(status)']), new Set(both.map((one) => one.clientId ?? one.id)).size];
};
const record = (attributes: object, systemRef: string) => ({
  body: { records: [{ type: 'Opportunity', systemRef, attributes }] },
});
const recordNamed = async (url: string, world: World, systemRef: string) =>
  rowsOf(await callJson(url, world, 'lookupRecords', { body: { pageSize: 100 } })).find(
    (row) => row.systemRef === systemRef,
  );

const writes = [
  requiring(
    ['getClient'],
    drift(
      'onboardClient',
      'lost',
      'the client is not stored',
      () => (incoming, next) => {
        if (incoming.operation !== 'onboardClient') return next(incoming);
        return (async () => {
          const id = newId();
          // Sent with an invalid name, so that other errors are still reported.
          const retried = await next(changeAt(incoming, 'body/officeId', to(id)));
          if (retried.status !== 400 || JSON.stringify(object(retried).errors ?? []).match(/"pointer"/g)?.length !== 1)
            return next(incoming);
          if (!retried.text.includes('REFERENCE_NOT_FOUND')) return next(incoming);
          const result = {
            clientId: id,
            clientRef: `C-${id.slice(-5)}`,
            clientContactInfoId: newId(),
            billingAddressId: null,
            contacts: [],
          };
          const headers = {
            ...retried.headers,
            'content-type': 'application/json; charset=utf-8',
            location: `/gql/v1/client/${id}`,
          };
          return { status: 201, headers, text: JSON.stringify(result) };
        })();
      },
      createdClient({}),
    ),
  ),
  requiring(
    ['getClient'],
    request(
      'onboardClient',
      'echo',
      'the name is stored in capitals',
      (incoming) => changeAt(incoming, 'body/name', (name) => (typeof name === 'string' ? name.toUpperCase() : name)),
      createdClient({}),
    ),
  ),
  requiring(
    ['getClient'],
    ignore(
      'onboardClient',
      'lost',
      'the e-mail address is not stored',
      'body/email',
      createdClient({ email: 'a@example.com' }),
    ),
  ),
  requiring(
    ['getClient'],
    request(
      'onboardClient',
      'echo',
      'the legal name is cut after ten characters',
      (incoming) =>
        changeAt(incoming, 'body/legalName', (name) =>
          typeof name === 'string' ? name.slice(0, 10).trim() || name : name,
        ),
      createdClient({ legalName: 'A name with many characters' }),
    ),
  ),
  requiring(
    ['listClients', 'searchClients'],
    drift(
      'onboardClient',
      'list',
      'a new client is in no list',
      remembering(
        () => ({ created: new Set<unknown>() }),
        async (incoming, next, memory) => {
          const reply = await next(incoming);
          if (incoming.operation === 'onboardClient' && reply.status === 201)
            memory.created.add(object(reply).clientId);
          if (!['listClients', 'searchClients'].includes(incoming.operation ?? '') || reply.status !== 200)
            return reply;
          return withJson(reply, {
            ...object(reply),
            data: rowsOf(jsonOf(reply)).filter(({ id }) => !memory.created.has(id)),
          });
        },
      ),
      async (url, world) => {
        const { clientId } = await callJson(url, world, 'onboardClient');
        const found = await callJson(url, world, 'searchClients', where({ id: { _eq: clientId } }));
        return rowsOf(found).length;
      },
    ),
  ),
  header(
    'onboardClient',
    'Location',
    'the Location leads nowhere',
    'location',
    '/gql/v1/clients/0199a1c2-0c01-7c01-8a4f-5d2e9b60f1ff',
  ),
  drift(
    'onboardClient',
    'Location',
    'the Location leads to another client',
    ({ ids }) =>
      async (incoming, next) => {
        const reply = await next(incoming);
        return incoming.operation === 'onboardClient' && reply.status === 201
          ? withHeader(reply, 'location', `/gql/v1/client/${ids.client}`)
          : reply;
      },
    async (url, world) => {
      const reply = await send(url, sample('onboardClient', world));
      return reply.headers.location === `/gql/v1/client/${object(reply).clientId}`;
    },
  ),
  header(
    'createCustomRecordType',
    'Location',
    'the Location leads to another type',
    'location',
    '/api/v1/records/custom/Opportunity',
  ),
  ignore(
    'onboardClient',
    'idempotency',
    'an idempotency key is ignored',
    'header.idempotency-key',
    twice('onboardClient'),
  ),
  ignore(
    'createCustomRecordType',
    'idempotency',
    'an idempotency key is ignored',
    'header.idempotency-key',
    twice('createCustomRecordType'),
  ),
  requiring(
    ['getClient'],
    drift(
      'onboardClient',
      'unique',
      'the reference of another client is accepted',
      remembering(
        () => ({ refs: new Map<unknown, unknown>() }),
        async (incoming, next, { refs }) => {
          const reply = await next(incoming);
          const [clientRef] = valuesAt(incoming, 'body/clientRef');
          const isTaken = incoming.operation === 'onboardClient' && reply.status === 409 && clientRef !== undefined;
          const free = changeAt(changeAt(incoming, 'body/clientRef', gone), 'body/pmsRef', gone);
          const returned = isTaken ? await next(free) : reply;
          const { clientId, id = clientId } = object(returned);
          if (isTaken && returned.status === 201) refs.set(id, clientRef);
          const ref = refs.get(id);
          return ref === undefined
            ? returned
            : withJson(returned, {
                ...object(returned),
                clientRef: ref,
                ...(clientId === undefined && { pmsRef: ref }),
              });
        },
      ),
      async (url, world) => {
        const body = { ...Object(jsonOf(sample('onboardClient', world))), clientRef: world.unique() };
        await callJson(url, world, 'onboardClient', { body });
        return observe(url, world, 'onboardClient', { body });
      },
    ),
  ),
  requiring(
    ['getCustomRecordType'],
    drift(
      'createCustomRecordType',
      'unique',
      'a name that exists is accepted',
      () => async (incoming, next) => {
        const reply = await next(incoming);
        if (incoming.operation !== 'createCustomRecordType' || !reply.text.includes('DUPLICATE_REF')) return reply;
        const [name] = valuesAt(incoming, 'body/name');
        const path = `${incoming.path}/${name}`;
        const known = await next({ ...incoming, method: 'GET', path, body: undefined });
        return known.status === 200 ? { ...withHeader(known, 'location', path), status: 201 } : reply;
      },
      async (url, world) => {
        const body = { name: world.unique(), fields: [{ name: 'note', type: 'STRING' }] };
        await callJson(url, world, 'createCustomRecordType', { body });
        return observe(url, world, 'createCustomRecordType', { body });
      },
    ),
  ),
  drift(
    'onboardClient',
    'idempotency',
    'a replay returns another client',
    () => async (incoming, next) => {
      const reply = await next(incoming);
      return incoming.operation === 'onboardClient' && reply.headers['idempotency-replayed'] !== undefined
        ? withJson(reply, { ...object(reply), clientId: newId() })
        : reply;
    },
    twice('onboardClient'),
  ),
  drift(
    'createCustomRecordType',
    'idempotency',
    'a replay is a conflict',
    remembering(
      () => ({ keys: new Set<string>() }),
      async (incoming, next, { keys }) => {
        const sent = incoming.headers['idempotency-key'];
        if (incoming.operation !== 'createCustomRecordType' || sent === undefined || !keys.has(sent)) {
          const reply = await next(incoming);
          if (incoming.operation === 'createCustomRecordType' && sent !== undefined && reply.status === 201)
            keys.add(sent);
          return reply;
        }
        return next(withHeader(incoming, 'idempotency-key', undefined));
      },
    ),
    twice('createCustomRecordType'),
  ),

  requiring(
    ['getCustomRecordType'],
    drift(
      'createCustomRecordType',
      'lost',
      'the type is stored under another name',
      () => async (incoming, next) => {
        const [name] = valuesAt(incoming, 'body/name');
        if (incoming.operation !== 'createCustomRecordType' || typeof name !== 'string' || name.length > 62)
          return next(incoming);
        const reply = await next(changeAt(incoming, 'body/name', to(`${name}X`)));
        return {
          ...withHeader(reply, 'location', reply.headers.location?.replace(`${name}X`, name)),
          text: reply.text.replaceAll(`${name}X`, name),
        };
      },
      createdType({}),
    ),
  ),
  member(
    'createCustomRecordType',
    'echo',
    'the display name is returned in upper case',
    '/displayName',
    (name) => (typeof name === 'string' ? name.toUpperCase() : name),
    createdType({ displayName: 'Lead' }),
  ),
  requiring(
    ['getCustomRecordType'],
    ignore('createCustomRecordType', 'lost', 'the description is not stored', 'body/description', (world: World) => ({
      body: { name: world.unique(), description: 'A lead', fields: [{ name: 'note', type: 'STRING' }] },
    })),
  ),
  request(
    'createCustomRecordType',
    'echo',
    'the fields are stored the other way round',
    (incoming) => changeAt(incoming, 'body/fields', (fields) => (Array.isArray(fields) ? fields.toReversed() : fields)),
    createdType({
      fields: [
        { name: 'one', type: 'STRING' },
        { name: 'two', type: 'TEXT' },
      ],
    }),
  ),
  requiring(
    ['createCustomRecordType'],
    drift(
      'listCustomRecordTypes',
      'list',
      'the list comes from a cache',
      remembering(
        () => ({ kept: new Map<string, Reply>() }),
        async (incoming, next, { kept }) => {
          if (incoming.operation !== 'listCustomRecordTypes') return next(incoming);
          const name = `${incoming.headers.authorization} ${incoming.query}`;
          const reply = kept.get(name) ?? (await next(incoming));
          if (reply.status === 200) kept.set(name, reply);
          return reply;
        },
      ),
      async (url, world) => {
        await callJson(url, world, 'listCustomRecordTypes');
        return createdType({})(url, world);
      },
    ),
  ),

  requiring(
    ['getCustomRecordType'],
    drift(
      'updateCustomRecordType',
      'lost',
      'an update is returned, but not stored',
      () => async (incoming, next) => {
        const change = jsonOf(incoming);
        if (incoming.operation !== 'updateCustomRecordType' || !isObject(change) || Object.keys(change).length === 0)
          return next(incoming);
        if (Object.keys(change).some((name) => !['displayName', 'description'].includes(name))) return next(incoming);
        const reply = await next({
          ...incoming,
          operation: 'getCustomRecordType',
          method: 'GET',
          body: undefined,
          headers: withHeader(withHeader(incoming, 'content-type', undefined), 'if-match', undefined).headers,
        });
        return reply.status === 200 ? withJson(reply, { ...object(reply), ...change }) : next(incoming);
      },
      changedType({ description: 'After' }),
    ),
  ),
  requiring(
    ['getCustomRecordType'],
    drift(
      'updateCustomRecordType',
      'lost',
      'two changes are returned, but only one is stored',
      () => async (incoming, next) => {
        const change = jsonOf(incoming);
        if (incoming.operation !== 'updateCustomRecordType' || !isObject(change) || Object.keys(change).length < 2)
          return next(incoming);
        const { description, ...rest } = change;
        if (description === undefined) return next(incoming);
        const reply = await next(withJson(incoming, rest));
        return reply.status === 200 ? withJson(reply, { ...object(reply), description }) : reply;
      },
      changedType({ displayName: 'After', description: 'After' }),
    ),
  ),
  request(
    'updateCustomRecordType',
    'partial',
    'what is left out is cleared',
    (incoming) =>
      absent(incoming, 'body/displayName') && !absent(incoming, 'body/description')
        ? changeAt(incoming, 'body/displayName', to(null))
        : incoming,
    changedType({ description: 'After' }),
  ),
  member(
    'updateCustomRecordType',
    'echo',
    'an update returns the previous description',
    '/description',
    to('Before'),
    changedType({ description: 'After' }),
  ),
  requiring(
    ['getCustomRecordType'],
    drift(
      'deactivateCustomRecordType',
      'lost',
      'a type stays active',
      () => async (incoming, next) => {
        if (incoming.operation !== 'deactivateCustomRecordType') return next(incoming);
        const reply = await next({ ...incoming, operation: 'getCustomRecordType', method: 'GET' });
        const shown = withHeader(reply, 'etag', undefined);
        return reply.status === 200 ? withJson(shown, { ...object(shown), active: false }) : reply;
      },
      deletedType,
    ),
  ),
  ignore(
    'updateCustomRecordType',
    'If-Match',
    'a precondition is ignored',
    'header.if-match',
    changedType({ description: 'After' }, { 'if-match': '"999"' }),
  ),
  request(
    'updateCustomRecordType',
    'If-Match',
    'every precondition fails',
    (incoming) =>
      /^"[^"]+"$/.test(incoming.headers['if-match'] ?? '')
        ? withHeader(incoming, 'if-match', '"2147483647"')
        : incoming,
    async (url, world) => {
      const name = world.unique();
      const fields = [{ name: 'note', type: 'STRING' }];
      await callJson(url, world, 'createCustomRecordType', { body: { name, fields } });
      const { etag = '' } = (await send(url, sample('getCustomRecordType', world, { path: { name } }))).headers;
      const headers = { 'if-match': etag };
      return observe(url, world, 'updateCustomRecordType', { path: { name }, body: { description: 'After' }, headers });
    },
  ),
  requiring(
    ['updateCustomRecordType'],
    header('getCustomRecordType', 'ETag', 'the ETag is always the same', 'etag', '"0"'),
  ),
  drift(
    'updateCustomRecordType',
    'ETag',
    'an update returns the previous ETag',
    () => async (incoming, next) => {
      const reply = await next(incoming);
      const version = Number(object(reply).version);
      return incoming.operation === 'updateCustomRecordType' && reply.status === 200 && version > 1
        ? withHeader(reply, 'etag', `"${version - 1}"`)
        : reply;
    },
    async (url, world) => {
      const name = world.unique();
      await callJson(url, world, 'createCustomRecordType', {
        body: { name, fields: [{ name: 'note', type: 'STRING' }] },
      });
      const change = sample('updateCustomRecordType', world, { path: { name }, body: { description: 'After' } });
      // The version is preceded by a digest of the row.
      return (await send(url, change)).headers.etag?.replace(/^"[0-9a-f]+-/, '"');
    },
  ),

  requiring(
    ['getContact'],
    drift(
      'upsertContacts',
      'lost',
      'new contacts are not stored',
      () => async (incoming, next) => {
        const reply = await next(incoming);
        if (incoming.operation !== 'upsertContacts') return reply;
        return withJson(reply, edit(object(reply), '/succeeded/*/id', newId));
      },
      createdContact({}),
    ),
  ),
  requiring(
    ['getContact'],
    ignore(
      'upsertContacts',
      'lost',
      'the telephone number is not stored',
      'body/contacts/*/phone',
      createdContact({ phone: '+15035550199' }),
    ),
  ),
  requiring(
    ['getContact'],
    request(
      'upsertContacts',
      'echo',
      'given and family name change places',
      (incoming) => changeAt(incoming, 'body/contacts/*', swapNames),
      createdContact({ firstName: 'Ada' }),
    ),
  ),
  member(
    'upsertRecords',
    'echo',
    'a record is returned with another key',
    '/records/*/systemRef',
    (value) => (typeof value === 'string' ? `${value}-1` : value),
    (world: World) => record({ note: world.unique() }, 'OPP-0'),
  ),
  requiring(
    ['lookupRecords'],
    drift(
      'updateRecords',
      'lost',
      'an update of a record is returned, but not stored',
      () => async (incoming, next) => {
        const [attributes] = valuesAt(incoming, 'body/records/0/attributes');
        if (incoming.operation !== 'updateRecords' || !isObject(attributes)) return next(incoming);
        const reply = await next(changeAt(incoming, 'body/records/*/attributes', () => ({})));
        const shown = edit(
          edit(object(reply), '/records/*/status', (status) => (status === 'UNCHANGED' ? 'UPDATED' : status)),
          '/records/*/attributes',
          (stored) => (isObject(stored) ? { ...stored, ...attributes } : stored),
        );
        return withJson(reply, shown);
      },
      async (url, world) => {
        const note = world.unique();
        await callJson(url, world, 'updateRecords', record({ note }, 'OPP-1'));
        const row = await recordNamed(url, world, 'OPP-1');
        return isObject(row?.attributes) && row.attributes.note === note;
      },
    ),
  ),
  requiring(
    ['lookupRecords'],
    drift(
      'deleteRecords',
      'lost',
      'a deleted record stays active',
      () => async (incoming, next) => {
        const reply = await next(incoming);
        if (incoming.operation !== 'deleteRecords' || reply.status !== 200) return reply;
        const { records } = jsonOf(incoming) as { records: { type: string; systemRef: string }[] };
        await next({
          ...withJson(incoming, { records: records.map((one) => ({ ...one, attributes: {} })) }),
          operation: 'upsertRecords',
          method: 'POST',
        });
        return reply;
      },
      async (url, world) => {
        await callJson(
          url,
          world,
          'upsertRecords',
          record({ stage: 'LEAD', client: { systemRef: 'crm-88213' } }, 'OPP-8'),
        );
        await callJson(url, world, 'deleteRecords', {
          body: { records: [{ type: 'Opportunity', systemRef: 'OPP-8' }] },
        });
        return (await recordNamed(url, world, 'OPP-8'))?.active;
      },
    ),
  ),
];

function swapNames(value: unknown): unknown {
  if (!isObject(value) || typeof value.firstName !== 'string' || typeof value.lastName !== 'string') return value;
  return { ...value, firstName: value.lastName, lastName: value.firstName };
}

const reads = [
  drift(
    'getClient',
    'safe',
    'reading a client changes it',
    (world) => async (incoming, next) => {
      const reply = await next(incoming);
      if (incoming.operation !== 'getClient' || reply.status !== 200) return reply;
      const { systemRef, paymentTermsDays } = object(reply);
      const attributes = { paymentTermsDays: (Number(paymentTermsDays) + 1) % 120 };
      await next(
        otherRequest(incoming, world, 'updateRecords', {
          body: { records: [{ type: 'Client', systemRef, attributes }] },
        }),
      );
      return reply;
    },
    async (url, world) => [await terms(url, world), await terms(url, world)].map((days, _, all) => days === all[0]),
  ),
  drift(
    'getContact',
    'safe',
    'reading a contact counts as a change of it',
    (world) => async (incoming, next) => {
      const reply = await next(incoming);
      if (incoming.operation !== 'getContact' || reply.status !== 200) return reply;
      const { pmsRef, version } = object(reply);
      await next(
        otherRequest(incoming, world, 'upsertContacts', { body: { contacts: [{ pmsRef, title: `Read ${version}` }] } }),
      );
      return reply;
    },
    async (url, world) => {
      const [one, other] = [await callJson(url, world, 'getContact'), await callJson(url, world, 'getContact')];
      return one.version === other.version;
    },
  ),
  drift(
    'getTaxRegions',
    'safe',
    'listing tax regions creates another one',
    (world) => async (incoming, next) => {
      const reply = await next(incoming);
      if (incoming.operation !== 'getTaxRegions' || reply.status !== 200) return reply;
      const code = `US-${randomBytes(5).toString('hex').toUpperCase()}`;
      const attributes = { name: code, code, country: 'US', ratePercent: '1', appliesToServices: true };
      await next(
        otherRequest(incoming, world, 'upsertRecords', { body: { records: [{ type: 'TaxRegion', attributes }] } }),
      );
      return reply;
    },
    async (url, world) => {
      const count = async () =>
        (await callJson(url, world, 'getTaxRegions', { query: { includeTotal: 'true' } })).total;
      const before = await count();
      return (await count()) === before;
    },
  ),
  requiring(
    ['updateCustomRecordType'],
    drift(
      'getCustomRecordType',
      'cache',
      'a type comes from a cache',
      remembering(
        () => ({ kept: new Map<string, Reply>() }),
        async (incoming, next, { kept }) => {
          if (incoming.operation !== 'getCustomRecordType') return next(incoming);
          const name = `${incoming.headers.authorization} ${incoming.path} ${incoming.query}`;
          const reply = kept.get(name) ?? (await next(incoming));
          if (reply.status === 200) kept.set(name, reply);
          return reply;
        },
      ),
      changedType({ description: 'After' }),
    ),
  ),
  drift(
    'getClient',
    'cache',
    'every id returns the first client that was read',
    remembering(
      () => ({ kept: undefined as Reply | undefined }),
      async (incoming, next, memory) => {
        const reply = await next(incoming);
        if (incoming.operation !== 'getClient' || reply.status !== 200) return reply;
        memory.kept ??= reply;
        return memory.kept;
      },
    ),
    async (url, world) => {
      await callJson(url, world, 'getClient');
      return (await callJson(url, world, 'getClient', { path: { id: world.ids.otherClient } })).name;
    },
  ),
  requiring(
    ['listClients'],
    member('getClient', 'agreement', 'a client has another currency than in the list', '/currency', to('XTS')),
  ),
  requiring(
    ['listContacts', 'searchContacts'],
    member('getContact', 'agreement', 'a contact has no links, which it has in the list', '/clients', to([])),
  ),
];

async function terms(url: string, world: World): Promise<unknown> {
  return (await callJson(url, world, 'getClient', { path: { id: world.ids.otherClient } })).paymentTermsDays;
}

export const semantics = expecting(
  ['behavior', 'responses'],
  [...defaults, ...pages, ...orders, ...filters, ...writes, ...reads],
);
