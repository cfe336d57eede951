import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { insertClients, insertContacts } from '../../test/party-rows.ts';
import { sharedService } from '../../test/service.ts';

const { call, handle, store, tenant, signIn, addTenant } = await sharedService();

type Row = Readonly<Record<string, unknown>> & { readonly id: string };
interface Page {
  readonly data: readonly Row[];
  readonly page: number;
  readonly hasMore: boolean;
  readonly nextCursor: string | null;
  readonly total?: number;
}
type OrderBy = readonly Readonly<Record<string, string>>[];

// Few values and nulls, so that rows are equal in many keys; letters whose order in every language differs from their
// code points.
const name = fc.constantFrom(null, 'a', 'B', 'b', 'é', 'z', '𝒜', '\uffff', ' ');
const email = fc.constantFrom(null, 'a@x.co', 'b@x.co', 'B@x.co');
const instant = fc.constantFrom('2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.001Z', '2025-06-30T23:59:59.999Z');
const [seed] = [20_261_121];
const contacts = fc.sample(
  fc.record({
    firstName: name,
    lastName: name,
    email,
    portalEnabled: fc.boolean(),
    active: fc.boolean(),
    createdAt: instant,
  }),
  { numRuns: 53, seed },
);
const clients = fc.sample(
  fc.record({
    name: fc.constantFrom('a', 'B', 'b', 'é', '𝒜', '\uffff'),
    legalName: fc.constant(null),
    status: fc.constantFrom('PROSPECT', 'ACTIVE', 'INACTIVE'),
    outstandingBalance: fc.constantFrom('0.00', '9.00', '10.00', '9999999999.99'),
    onboardedAt: fc.option(instant),
    fiscalYearEndMonth: fc.constant(null),
  }),
  { numRuns: 53, seed },
);
await insertContacts(store, tenant.id, contacts);
await insertClients(store, tenant.id, clients);

const direction = fc.constantFrom(
  'asc',
  'desc',
  'asc_nulls_first',
  'asc_nulls_last',
  'desc_nulls_first',
  'desc_nulls_last',
);
const common = ['id', 'systemRef', 'active', 'createdAt', 'updatedAt'];
const searches = [
  ['/gql/v1/contacts', [...common, 'lastName', 'firstName', 'email']],
  [
    '/gql/v1/clients',
    [...common, 'name', 'clientRef', 'status', 'outstandingBalance', 'overdueBalance', 'unbilledWip', 'onboardedAt'],
  ],
] as const;

function orders(keys: readonly string[]): fc.Arbitrary<OrderBy> {
  const key = fc.tuple(fc.constantFrom(...keys), direction).map(([field, way]) => ({ [field]: way }));
  return fc.uniqueArray(key, { maxLength: 5, selector: (one) => Object.keys(one)[0] });
}

/** Compares response values in the order that the contract specifies. */
function compare(orderBy: OrderBy) {
  const keys = [...orderBy, { id: 'asc' }].flatMap((one) => Object.entries(one));
  return (left: Row, right: Row): number => {
    for (const [field, way] of keys) {
      const descending = way.startsWith('desc');
      const nullsFirst = way.endsWith('_nulls_first');
      const [one, other] = [left[field], right[field]];
      if (one === other) continue;
      if (one === null || other === null) return (one === null) === nullsFirst ? -1 : 1;
      return (descending ? -1 : 1) * compareValues(field, one, other);
    }
    return 0;
  };
}

function compareValues(field: string, one: unknown, other: unknown): number {
  if (typeof one === 'boolean' || field.endsWith('Balance') || field.endsWith('Wip'))
    return Number(one) - Number(other);
  // By code point, which is the order of the bytes in UTF-8.
  return Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other)));
}

async function page(path: string, body: object): Promise<Page> {
  const answer = await call<Page>('POST', path, body);
  expect(answer.status).toBe(200);
  return answer.body;
}

async function walk(path: string, body: object, next: (last: Page, taken: number) => object): Promise<Row[]> {
  let last = await page(path, body);
  const rows = [...last.data];
  while (last.hasMore) {
    expect(last.nextCursor).not.toBeNull();
    last = await page(path, { ...body, ...next(last, rows.length) });
    expect(last.page).toBe(rows.length);
    expect(last.data.length).toBeGreaterThan(0);
    rows.push(...last.data);
  }
  expect(last.nextCursor).toBeNull();
  return rows;
}

const ids = (rows: readonly Row[]) => rows.map((row) => row.id);

describe.each(searches)('%s', (path, keys) => {
  test('in any order, page by page, gives what one large page gives: each row once, in its place', async () => {
    await fc.assert(
      fc.asyncProperty(orders(keys), fc.integer({ min: 5, max: 60 }), async (orderBy, pageSize) => {
        const whole = await page(`${path}/search`, { orderBy, pageSize: 1000, includeTotal: true });
        expect(whole.total).toBe(whole.data.length);
        expect(whole.data.length).toBe(53);
        expect(ids(whole.data)).toEqual(ids([...whole.data].sort(compare(orderBy))));
        const body = { orderBy, pageSize };
        const byCursor = await walk(`${path}/search`, body, ({ nextCursor }) => ({ cursor: nextCursor }));
        expect(ids(byCursor)).toEqual(ids(whole.data));
        const byOffset = await walk(`${path}/search`, body, (_last, taken) => ({ page: taken }));
        expect(ids(byOffset)).toEqual(ids(whole.data));
      }),
      { numRuns: 25 },
    );
  });

  test('as a list is in the order of creation, and offset 25, size 25 is the second page', async () => {
    const whole = await page(path, { pageSize: 1000 });
    expect(ids(whole.data)).toEqual(ids(whole.data).toSorted());
    const second = await page(path, { page: 25, pageSize: 25 });
    expect(ids(second.data)).toEqual(ids(whole.data).slice(25, 50));
    expect(second).toMatchObject({ page: 25, hasMore: true });
    expect(second.total).toBeUndefined();
    const first = await page(path, { pageSize: 25 });
    expect(ids((await page(path, { cursor: first.nextCursor, pageSize: 25 })).data)).toEqual(ids(second.data));
    expect(ids(await walk(path, { pageSize: 20 }, ({ nextCursor }) => ({ cursor: nextCursor })))).toEqual(
      ids(whole.data),
    );
  });

  test('beyond its end is empty', async () => {
    for (const beyond of [53, 1_000, 100_000_000]) {
      expect(await page(path, { page: beyond })).toMatchObject({
        data: [],
        page: beyond,
        hasMore: false,
        nextCursor: null,
      });
    }
    expect(await page(path, { page: 52, pageSize: 1 })).toMatchObject({ data: [{}], hasMore: false, nextCursor: null });
  });
});

test('a column that is named again decides nothing that it has not decided', async () => {
  const ordered = async (orderBy: readonly object[]) => ids((await page('/gql/v1/clients/search', { orderBy })).data);
  expect(await ordered([{ name: 'asc' }, { name: 'desc' }])).toEqual(await ordered([{ name: 'asc' }]));
});

test('rows that come and go in between are neither given twice nor cost another its place', async () => {
  const path = '/gql/v1/contacts/search';
  const body = { orderBy: [{ lastName: 'desc_nulls_first' }], pageSize: 20, where: { active: { _eq: true } } };
  const before = ids((await page(path, { ...body, pageSize: 1000 })).data);
  const first = await page(path, body);
  const seedOf = (lastName: string | null) => ({
    firstName: null,
    lastName,
    email: null,
    portalEnabled: false,
    active: true,
    createdAt: '2026-02-02T00:00:00.000Z',
  });
  await insertContacts(store, tenant.id, [seedOf(null), seedOf('zz')]);
  const rest = await page(path, { ...body, pageSize: 1000, cursor: first.nextCursor });
  expect(ids([...first.data, ...rest.data]).filter((id) => before.includes(id))).toEqual(before);
});

test.each([
  ['page', -1],
  ['page', 100_000_001],
  ['page', 1.5],
  ['page', '0'],
  ['page', null],
  ['pageSize', 0],
  ['pageSize', 1001],
  ['pageSize', 2 ** 31],
  ['includeTotal', 'true'],
  ['cursor', ''],
  ['cursor', null],
  ['orderBy', {}],
  ['orderBy', [{}]],
  ['orderBy', [{ name: 'up' }]],
  ['orderBy', [{ name: 'asc', status: 'asc' }]],
  [
    'orderBy',
    [{ id: 'asc' }, { name: 'desc' }, { status: 'asc' }, { createdAt: 'asc' }, { updatedAt: 'asc' }, { active: 'asc' }],
  ],
  ['orderBy', [{ taxIdLast4: 'asc' }]],
  ['orderBy', [{ 'name; drop table client': 'asc' }]],
])('%s cannot be %j', async (property, value) => {
  expect(await call('POST', '/gql/v1/clients/search', { [property]: value })).toMatchObject({ status: 400 });
});

describe('a cursor', () => {
  const path = '/gql/v1/clients/search';
  const body = { orderBy: [{ name: 'asc' }], where: { status: { _eq: 'ACTIVE' } }, pageSize: 2 };
  const refused = { status: 400, body: { code: 'INVALID_CURSOR', errors: [{ in: 'body', pointer: '/cursor' }] } };
  const given = async () => (await page(path, body)).nextCursor ?? '';

  test('belongs to its query', async () => {
    const cursor = await given();
    expect(await call('POST', path, { ...body, cursor, pageSize: 7, includeTotal: true })).toMatchObject({
      status: 200,
    });
    for (const other of [
      { ...body, orderBy: [{ name: 'desc' }] },
      { ...body, orderBy: [{ name: 'asc' }, { status: 'asc' }] },
      { ...body, where: { status: { _eq: 'INACTIVE' } } },
      { ...body, where: {} },
      {},
    ]) {
      expect(await call('POST', path, { ...other, cursor })).toMatchObject(refused);
    }
  });

  test('belongs to its operation and its tenant', async () => {
    const { nextCursor: cursor } = await page('/gql/v1/clients', { pageSize: 2 });
    expect(await call('POST', '/gql/v1/contacts', { cursor })).toMatchObject(refused);
    expect(await call('POST', path, { cursor })).toMatchObject(refused);
    const other = await signIn({ roles: ['API_ADMIN'], tenant: await addTenant('elsewhere') });
    expect(await other.call('POST', '/gql/v1/clients', { cursor })).toMatchObject(refused);
    expect(await call('POST', '/gql/v1/clients', { cursor })).toMatchObject({ status: 200 });
  });

  const contactNamed = (lastName: string) => ({ firstName: 'A', lastName, email: `${lastName}@example.com` });
  const twoContacts = {
    name: 'With contacts',
    address: {},
    preferredContact: contactNamed('one'),
    secondaryContact: contactNamed('two'),
  };

  test('excludes a page, in a body and in a query', async () => {
    const cursor = await given();
    const problem = (place: string) => ({
      status: 400,
      body: {
        code: 'VALIDATION_ERROR',
        errors: [{ in: place, pointer: '/page', detail: 'Send either cursor or page.' }],
      },
    });
    for (const other of [path, '/gql/v1/clients']) {
      expect(await call('POST', other, { ...(other === path ? body : {}), cursor, page: 1 })).toMatchObject(
        problem('body'),
      );
    }
    const { clientId } = (await handle('onboardClient', { body: twoContacts })).body as { clientId: string };
    const types = ['Business', 'Individual'].map((name) => ({
      type: 'ClientType',
      systemRef: name,
      attributes: { name, code: name },
    }));
    const regions = ['US-OR', 'US-HI'].map((code) => ({
      type: 'TaxRegion',
      systemRef: code,
      attributes: { name: code, code, country: 'US', state: code.slice(3), ratePercent: '0', appliesToServices: false },
    }));
    const made = await call('POST', '/api/v1/records', { records: [...types, ...regions] });
    expect(made).toMatchObject({ status: 200, body: { summary: { created: 4 } } });
    for (const list of ['/gql/v1/client_types', '/gql/v1/tax_regions', `/gql/v1/contacts/by_client/${clientId}`]) {
      const first = await call<Page>('GET', `${list}?pageSize=1`);
      expect(first).toMatchObject({ status: 200, body: { hasMore: true } });
      const next = `${list}?pageSize=1&cursor=${first.body.nextCursor}`;
      expect(await call('GET', `${next}&page=1`)).toMatchObject(problem('query'));
      expect(await call('GET', `${next}&page=0`)).toMatchObject({ status: 200 });
      expect(await call('GET', next)).toMatchObject({ status: 200 });
      // The same list by POST goes on from there, and the other way round.
      if (list.endsWith(clientId)) continue;
      const posted = await call<Page>('POST', list, { pageSize: 1, cursor: first.body.nextCursor });
      expect(posted).toMatchObject({ status: 200, body: { data: [{ id: expect.any(String) }] } });
      const begun = await call<Page>('POST', list, { pageSize: 1 });
      expect(begun.body.nextCursor).toBe(first.body.nextCursor);
    }
  });

  test('cannot be made, changed or cut', async () => {
    const cursor = await given();
    const [content = '', signature = ''] = cursor.split('.');
    const forged = Buffer.from(JSON.stringify([["' or true --", '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101'], 0])).toString(
      'base64url',
    );
    for (const wrong of [
      `${forged}.${signature}`,
      `${content}.`,
      content,
      `.${signature}`,
      cursor.slice(0, -1),
      cursor.slice(1),
      `${cursor}A`,
      'x',
      '.',
      'a.b.c',
      '...',
    ]) {
      expect(await call('POST', path, { ...body, cursor: wrong })).toMatchObject(refused);
    }
    for (const impossible of [`${cursor} `, 'é', 'x'.repeat(4_097), '{}']) {
      expect(await call('POST', path, { ...body, cursor: impossible })).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_ERROR' },
      });
    }
  });

  test('does not go with a page, and is told where it stands', async () => {
    expect(await call('POST', path, { ...body, cursor: await given(), page: 2 })).toMatchObject({ status: 400 });
    const inQuery = await call('GET', '/gql/v1/client_types?cursor=x.y');
    expect(inQuery.body).toMatchObject({ code: 'INVALID_CURSOR', errors: [{ in: 'query', pointer: '/cursor' }] });
  });
});
