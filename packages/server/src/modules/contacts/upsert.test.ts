import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { sharedService } from '../../../test/service.ts';

const { call, handle, store, tenant } = await sharedService();

type Row = Readonly<Record<string, unknown>> & { readonly id: string; readonly version: number };
interface Upserted {
  readonly succeeded: readonly {
    readonly index: number;
    readonly id: string;
    readonly pmsRef: string;
    readonly created: boolean;
  }[];
  readonly failed: readonly { readonly index: number; readonly code: string; readonly pointer: string | null }[];
}
interface Event {
  readonly type: string;
  readonly id: string;
  readonly operation: string;
  readonly sequence: number;
  readonly fields: readonly string[] | null;
  readonly data: Row;
}

const upsert = async (...contacts: object[]) =>
  (await call<Upserted>('POST', '/api/v1/contacts/upsert', { contacts })).body;
const contact = async (id: string) => (await call<Row>('GET', `/gql/v1/contact/${id}`)).body;
const client = async (id: string) => (await call<Row>('GET', `/gql/v1/client/${id}`)).body;
const byClient = async (id: string) =>
  (await call<{ data: Row[] }>('GET', `/gql/v1/contacts/by_client/${id}`)).body.data;
const rows = <T>(query: ReturnType<typeof sql>) =>
  store.read(tenant.id, (session) => session.all(query)) as Promise<T[]>;

async function one(fields: object) {
  const { succeeded } = await upsert(fields);
  if (succeeded[0] === undefined) throw new Error('The contact was not written.');
  return succeeded[0];
}

async function newClient(name: string) {
  return (await handle('onboardClient', { body: { name, address: {} } })).body;
}

/** Returns the events and audit rows of the rows since the last call. */
const seen = new Set<string>();
async function events(...ids: string[]): Promise<Event[]> {
  const all = await rows<Event & { key: string }>(sql`
    select id as key, entity_type as type, entity_id as id, operation, sequence, changed_fields as fields, data
    from recorded_event where entity_id = any(${ids}) order by id`);
  const fresh = all.filter((event) => !seen.has(event.key));
  for (const event of fresh) seen.add(event.key);
  return fresh.map(({ type, id, operation, sequence, fields, data }) => ({
    type,
    id,
    operation,
    sequence: Number(sequence),
    fields,
    data,
  }));
}

describe('upsertContacts', () => {
  test('creates and updates contacts independently, and reports results by index', async () => {
    const known = await one({ firstName: 'Ada', lastName: 'Known' });
    const response = await upsert(
      { lastName: 'New' },
      { pmsRef: known.pmsRef, title: 'CFO' },
      { pmsRef: 'NOBODY', title: 'CFO' },
      { firstName: 'nameless' },
      { lastName: 'Linked', clients: [{ clientRef: 'NOWHERE' }] },
      { pmsRef: known.pmsRef, phone: '+15035550100' },
    );
    expect(response.succeeded).toMatchObject([
      { index: 0, created: true },
      { index: 1, id: known.id, pmsRef: known.pmsRef, created: false },
      { index: 5, id: known.id, created: false },
    ]);
    expect(response.failed).toMatchObject([
      { index: 2, code: 'RECORD_NOT_FOUND', pointer: '/contacts/2/pmsRef' },
      { index: 3, code: 'VALIDATION_ERROR', pointer: '/contacts/3/lastName' },
      { index: 4, code: 'REFERENCE_NOT_FOUND', pointer: '/contacts/4/clients/0/clientRef' },
    ]);
    // Changed twice in one transaction, which counts as one change.
    expect(await contact(known.id)).toMatchObject({
      title: 'CFO',
      phone: '+15035550100',
      firstName: 'Ada',
      version: 2,
    });
    const { body } = await call<{ data: Row[] }>('POST', '/gql/v1/contacts/search', {
      where: { lastName: { _eq: 'Linked' } },
    });
    expect(body.data).toEqual([]);
  });

  test('keeps omitted fields, clears null ones, and writes nothing if nothing changes', async () => {
    const created = await one({ firstName: 'Keep', lastName: 'Clear', email: 'Clear@X.example', title: 'CEO' });
    await one({ pmsRef: created.pmsRef, title: null });
    expect(await contact(created.id)).toMatchObject({
      firstName: 'Keep',
      title: null,
      email: 'clear@x.example',
      version: 2,
    });
    await one({ pmsRef: created.pmsRef, email: 'CLEAR@x.example', firstName: 'Keep' });
    expect(await contact(created.id)).toMatchObject({ version: 2 });
    await one({ pmsRef: created.pmsRef, firstName: 'Kept' });
    expect(await contact(created.id)).toMatchObject({ displayName: 'Kept Clear', version: 3 });
  });

  test('with a systemRef creates the contact once, and then updates it, also after it was deleted', async () => {
    const first = await one({ systemRef: 'crm-1', lastName: 'Keyed' });
    const second = await one({ systemRef: 'crm-1', title: 'CFO' });
    expect(second).toEqual({ ...first, systemRef: 'crm-1', created: false });
    expect(await contact(first.id)).toMatchObject({ systemRef: 'crm-1', lastName: 'Keyed', title: 'CFO', version: 2 });
    const records = [{ type: 'Contact', systemRef: 'crm-1' }];
    await call('DELETE', '/api/v1/records', { records });
    await one({ systemRef: 'crm-1', title: 'CEO' });
    expect(await contact(first.id)).toMatchObject({ active: true, title: 'CEO' });
    const both = await upsert(
      { systemRef: 'crm-1', pmsRef: first.pmsRef, title: 'COO' },
      { systemRef: 'crm-2', pmsRef: first.pmsRef, title: 'CTO' },
    );
    expect(both).toMatchObject({
      succeeded: [{ index: 0, id: first.id }],
      failed: [{ index: 1, code: 'VALIDATION_ERROR', pointer: '/contacts/1/systemRef' }],
    });
    expect(await contact(first.id)).toMatchObject({ title: 'COO', systemRef: 'crm-1' });
  });

  test('with isPrimary replaces the main client of the contact, with an event', async () => {
    const clients = await Promise.all(['First', 'Second', 'Third'].map((name) => newClient(name)));
    const [first, second, third] = clients.map(({ clientRef }) => ({ clientRef }));
    const { id, pmsRef } = await one({ lastName: 'Main', clients: [first, { ...second, isPrimary: true }] });
    const primaryOf = async () => {
      const { clients: linked } = await contact(id);
      return (linked as Row[]).flatMap(({ clientRef, isPrimary }) => (isPrimary === true ? [{ clientRef }] : []));
    };
    expect(await primaryOf()).toEqual([second]);
    const links = await rows<Row>(sql`select id from contact_client where contact_id = ${id} order by id`);
    await events(...links.map((link) => link.id));
    await one({ pmsRef, clients: [{ ...first, isPrimary: true }] });
    expect(await primaryOf()).toEqual([first]);
    expect(await events(...links.map((link) => link.id))).toMatchObject([
      { operation: 'UPDATE', fields: ['isPrimary'], data: { isPrimary: true } },
      { operation: 'UPDATE', fields: ['isPrimary'], data: { isPrimary: false } },
    ]);
    // A link that is active again does not take the place back unasked.
    await one({ pmsRef, clients: [{ ...first, active: false }] });
    await one({ pmsRef, clients: [{ ...third, isPrimary: true }, first] });
    expect(await primaryOf()).toEqual([third]);
    await Promise.all([first, second].map((client) => one({ pmsRef, clients: [{ ...client, isPrimary: true }] })));
    expect(await primaryOf()).toHaveLength(1);
    const both = sql`update contact_client set is_primary = true where contact_id = ${id}`;
    await expect(store.write(tenant.id, (transaction) => transaction.all(both))).rejects.toThrow(
      'contact_client_one_primary',
    );
  });

  test('with one new systemRef in many concurrent calls creates one contact', async () => {
    const entry = { systemRef: 'crm-many', lastName: 'Many' };
    const results = await Promise.all(Array.from({ length: 10 }, () => one(entry)));
    expect(new Set(results.map(({ id }) => id)).size).toBe(1);
    expect(results.filter(({ created }) => created)).toHaveLength(1);
  });

  test.each([
    [{ contacts: [] }],
    [{ contacts: Array.from({ length: 101 }, () => ({ lastName: 'x' })) }],
    [{}],
    [{ contacts: {} }],
  ])('with no or too many entries is rejected', async (body) => {
    expect(await call('POST', '/api/v1/contacts/upsert', body)).toMatchObject({ status: 400 });
  });
});

describe('upsertContacts › links', () => {
  test('set the contact of the client, and change the contact: both get a new version and an event', async () => {
    const { clientId, clientRef } = await newClient('Linking');
    const created = await one({ lastName: 'Linker' });
    await events(clientId, created.id);
    await one({ pmsRef: created.pmsRef, clients: [{ clientRef, roles: ['BILLING', 'SIGNER'] }] });
    expect(await contact(created.id)).toMatchObject({
      version: 2,
      clients: [{ clientId, clientRef, active: true, roles: ['BILLING', 'SIGNER'], isPrimary: true }],
    });
    expect(await client(clientId)).toMatchObject({ version: 2, billingContactId: created.id });
    const announced = await events(clientId, created.id);
    expect(announced.map(({ type, operation, sequence, fields }) => ({ type, operation, sequence, fields }))).toEqual(
      expect.arrayContaining([
        { type: 'Contact', operation: 'UPDATE', sequence: 2, fields: ['clients', 'clientsCount'] },
        { type: 'Client', operation: 'UPDATE', sequence: 2, fields: ['billingContactId'] },
      ]),
    );
    expect(announced).toHaveLength(2);
    expect(announced.find((event) => event.type === 'Client')?.data).toEqual(await client(clientId));

    await one({ pmsRef: created.pmsRef, clients: [{ clientRef, active: false }] });
    expect(await client(clientId)).toMatchObject({ version: 3, billingContactId: null });
    expect(await contact(created.id)).toMatchObject({ version: 3, clients: [{ active: false }] });
    expect(await byClient(clientId)).toEqual([]);
  });

  test('are one row per pair: linking again reactivates it', async () => {
    const { clientId, clientRef } = await newClient('Reopening');
    const created = await one({ lastName: 'Returner', clients: [{ clientRef }] });
    await one({ pmsRef: created.pmsRef, clients: [{ clientRef, active: false }] });
    await one({ pmsRef: created.pmsRef, clients: [{ clientRef, active: false }] });
    await one({ pmsRef: created.pmsRef, clients: [{ clientRef, roles: ['SECONDARY'] }] });
    const links = await rows<{ id: string; version: number; active: boolean }>(
      sql`select id, version, active from contact_client where contact_id = ${created.id}`,
    );
    expect(links).toMatchObject([{ version: 3, active: true }]);
    const history = await events(links[0]?.id ?? '');
    expect(history.map((event) => [event.operation, event.sequence])).toEqual([
      ['CREATE', 1],
      ['DELETE', 2],
      ['UPDATE', 3],
    ]);
    expect(await client(clientId)).toMatchObject({ secondaryContactId: created.id });
  });

  test('keep a role until it is removed', async () => {
    const { clientId, clientRef } = await newClient('Exclusive');
    const first = await one({ lastName: 'First', clients: [{ clientRef, roles: ['PREFERRED'] }] });
    const { failed } = await upsert({ lastName: 'Second', clients: [{ clientRef, roles: ['PREFERRED'] }] });
    expect(failed).toMatchObject([{ index: 0, code: 'DUPLICATE_REF', pointer: '/contacts/0/clients/0/roles' }]);
    const both = await upsert(
      { pmsRef: first.pmsRef, clients: [{ clientRef, roles: ['OTHER'] }] },
      { lastName: 'Second', clients: [{ clientRef, roles: ['PREFERRED'] }] },
    );
    expect(both.failed).toEqual([]);
    expect(await client(clientId)).toMatchObject({ preferredContactId: both.succeeded[1]?.id });
  });

  test('of an entry that lists a client twice are rejected', async () => {
    const { clientRef } = await newClient('Twice');
    const clients = [{ clientRef }, { clientRef, active: false }];
    expect(await upsert({ lastName: 'Twice', clients }, { lastName: 'Once', clients: [{ clientRef }] })).toMatchObject({
      succeeded: [{ index: 1 }],
      failed: [{ index: 0, code: 'VALIDATION_ERROR', pointer: '/contacts/0/clients/1/clientRef' }],
    });
  });

  test('to inactive rows are rejected', async () => {
    const { clientId, clientRef } = await newClient('Gone');
    await store.write(tenant.id, (transaction) =>
      transaction.all(sql`update client set active = false where id = ${clientId}`),
    );
    expect((await upsert({ lastName: 'Late', clients: [{ clientRef }] })).failed).toMatchObject([
      { code: 'REFERENCE_NOT_FOUND' },
    ]);
    const created = await one({ lastName: 'Left' });
    await store.write(tenant.id, (transaction) =>
      transaction.all(sql`update contact set active = false where id = ${created.id}`),
    );
    expect((await upsert({ pmsRef: created.pmsRef, title: 'x' })).failed).toMatchObject([{ code: 'RECORD_NOT_FOUND' }]);
  });
});

test('listContactsByClient › returns active contacts with active links while the client is active', async () => {
  const { clientId, clientRef } = await newClient('Listing');
  const people = await upsert(...['A', 'B', 'C'].map((lastName) => ({ lastName, clients: [{ clientRef }] })));
  const [a, b, c] = people.succeeded.map((contact) => contact.id);
  const change = (statement: ReturnType<typeof sql>) =>
    store.write(tenant.id, (transaction) => transaction.all(statement));
  expect((await byClient(clientId)).map((row) => row.id)).toEqual([a, b, c]);
  await change(sql`update contact set active = false where id = ${a}`);
  await upsert({ pmsRef: people.succeeded[1]?.pmsRef, clients: [{ clientRef, active: false }] });
  expect((await byClient(clientId)).map((row) => row.id)).toEqual([c]);
  const paged = await call<{ data: Row[]; total: number }>(
    'GET',
    `/gql/v1/contacts/by_client/${clientId}?pageSize=1&includeTotal=true`,
  );
  expect(paged.body).toMatchObject({ data: [{ id: c }], total: 1, hasMore: false });
  await change(sql`update client set active = false where id = ${clientId}`);
  expect(await byClient(clientId)).toEqual([]);
  expect(await call('GET', '/gql/v1/contacts/by_client/0199a1c2-0c01-7c01-8a4f-5d2e9b60f101')).toMatchObject({
    status: 404,
  });
});

test('every change adds one audit row, with before and after, and one event with the changed fields', async () => {
  const created = await one({ lastName: 'Traced', email: 'traced@x.example' });
  const changed = await call<Upserted>('POST', '/api/v1/contacts/upsert', {
    contacts: [{ pmsRef: created.pmsRef, email: null, title: 'CFO' }],
  });
  const audit = await rows<{ operation: string; actor: string; request: string; before: Row | null; after: Row }>(sql`
    select operation, actor, request_id as request, before, after from audit_log where entity_id = ${created.id} order by id`);
  expect(audit).toHaveLength(2);
  const now = await contact(created.id);
  expect(audit[0]).toMatchObject({
    operation: 'upsertContacts',
    actor: 'user-api_admin',
    before: null,
    after: { email: 'traced@x.example', version: 1 },
  });
  expect(audit[1]).toMatchObject({ before: audit[0]?.after, request: changed.headers.get('x-request-id') });
  expect(audit[1]?.after).toEqual(now);
  expect(await events(created.id)).toMatchObject([
    { operation: 'CREATE', sequence: 1, fields: null },
    {
      operation: 'UPDATE',
      sequence: 2,
      fields: expect.toSatisfy((fields: string[]) => fields.toSorted().join() === 'email,title'),
      data: now,
    },
  ]);
});
