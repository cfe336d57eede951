import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { recordsOf } from '../../test/modules/records.ts';
import { sampleOf } from '../../test/nightly.ts';
import { testService } from '../../test/service.ts';
import { allOperations, contract, type Operation, type Schema, schemaOf } from '../contract/contract.ts';
import { propertiesOf, resolved } from '../contract/fields.ts';
import { declarationsOf } from '../contract/parameters.ts';
import { entityOf } from '../entity/registry.ts';

const service = await testService({ filled: 'examples' });
const { tenant, signIn, store } = service;
const admin = await signIn({ roles: ['API_ADMIN'], tenant });
const { call } = admin;
const { upsert } = recordsOf(admin);

type Row = Readonly<Record<string, unknown>>;
type Page = { readonly data: readonly Row[] };
const rowsOf = async (path: string, body: object = {}) => (await call<Page>('POST', path, body)).body.data;

function bodyOf(operation: Operation): Readonly<Record<string, Schema>> {
  const [, own] = declarationsOf(operation);
  return propertiesOf(own?.requestBody?.content['application/json']?.schema ?? {});
}

describe('a key in another system', () => {
  const harbor = { type: 'Client', systemRef: 'crm-88213', attributes: {} };

  test('is added, replaced and removed by upsertRecords, and others remain', async () => {
    const before = await rowsOf('/gql/v1/clients/search', { where: { systemRef: { _eq: 'crm-88213' } } });
    const [second] = await rowsOf('/gql/v1/clients/search', {
      where: { systemRef: { _neq: 'crm-88213' } },
      pageSize: 1,
    });
    const systemRef = String(second?.systemRef);
    const kept = before[0]?.sysRefs;
    await upsert([{ ...harbor, sysRefs: [{ system: 'erp', ref: 'K-1' }] }]);
    const found = () =>
      rowsOf('/gql/v1/clients', { where: { sysRefs: { system: { _eq: 'erp' }, ref: { _eq: 'K-2' } } } });
    expect(await found()).toEqual([]);
    await upsert([{ ...harbor, sysRefs: [{ system: 'erp', ref: 'K-2' }] }]);
    expect(await found()).toMatchObject([
      { id: before[0]?.id, sysRefs: [...Object(kept), { system: 'erp', ref: 'K-2' }] },
    ]);
    const [other] = await upsert([
      { type: 'Client', systemRef, attributes: {}, sysRefs: [{ system: 'erp', ref: 'K-2' }] },
    ]);
    expect(other?.error).toMatchObject({ code: 'DUPLICATE_REF', pointer: expect.stringMatching(/\/sysRefs$/) });
    await upsert([{ ...harbor, sysRefs: [{ system: 'erp', ref: null }] }]);
    expect(await found()).toEqual([]);
    expect(
      (await upsert([{ type: 'Client', systemRef, attributes: {}, sysRefs: [{ system: 'erp', ref: 'K-2' }] }]))[0]
        ?.error,
    ).toBeNull();
  });

  test.each([
    ['ClientGroup', { name: 'Keys' }, '/gql/v1/client_groups'],
    ['JobTemplate', { name: 'Keys', billingType: 'FIXED_FEE' }, '/gql/v1/job_templates'],
  ])('of a %s finds it by getRecord, and the list by a filter', async (type, attributes, path) => {
    const [made] = await upsert([
      { type, systemRef: `own-${type}`, attributes, sysRefs: [{ system: 'erp', ref: 'G-7' }] },
    ]);
    expect(made?.error).toBeNull();
    const found = await call('GET', `/api/v1/records/by-ref/${type}?system=erp&ref=G-7`);
    expect(found).toMatchObject({ status: 200, body: { id: made?.id, type, systemRef: `own-${type}` } });
    expect(await call('GET', `/api/v1/records/by-ref/${type}?ref=own-${type}`)).toMatchObject({
      body: found.body,
    });
    expect(await rowsOf(path, { where: { systemRef: { _eq: `own-${type}` } } })).toMatchObject([{ id: made?.id }]);
    const { updatedAt } = Object(found.body);
    expect(await rowsOf(path, { where: { updatedAt: { _gt: updatedAt } } })).toEqual([]);
  });

  test.each(['WorkCode', 'TimeEntry', 'QuickPaymentLink'])('finds a %s by getRecord', async (type) => {
    const [some] = await store.read(tenant.id, (session) =>
      session.all<{ ref: string }>(
        sql`select system_ref as ref from ${sql.table(entityOf(type)?.table ?? '')} limit 1`,
      ),
    );
    const found = await call('GET', `/api/v1/records/by-ref/${type}?ref=${encodeURIComponent(some?.ref ?? '')}`);
    expect(found).toMatchObject({ status: 200, body: { type, systemRef: some?.ref } });
  });

  test('is required by getRecord, with the role that reads the type', async () => {
    for (const query of ['', '?system=erp'])
      expect(await call('GET', `/api/v1/records/by-ref/Client${query}`)).toMatchObject({
        status: 400,
        body: { errors: [{ in: 'query', pointer: '/ref', code: 'REQUIRED' }] },
      });
    expect(await call('GET', '/api/v1/records/by-ref/Client?ref=nothing')).toMatchObject({ status: 404 });
    const reader = await signIn({ roles: ['RECORD_R'], tenant });
    expect(await reader.call('GET', '/api/v1/records/by-ref/Client?ref=crm-88213')).toMatchObject({
      status: 403,
    });
  });
});

describe('metadata', () => {
  const write = (metadata: object) =>
    upsert([{ type: 'Contact', systemRef: 'meta', attributes: { lastName: 'Meta' }, metadata }]);

  test('is merged by name, filtered by, and in events', async () => {
    await write({ stage: 'won', region: 'north' });
    await write({ region: null, owner: 'é' });
    const where = { metadata: { _contains: { stage: 'won', owner: 'é' } } };
    expect(await rowsOf('/gql/v1/contacts/search', { where })).toMatchObject([
      { systemRef: 'meta', metadata: { stage: 'won', owner: 'é' } },
    ]);
    expect(await rowsOf('/gql/v1/contacts', { where: { metadata: { _contains: { stage: 'lost' } } } })).toEqual([]);
    const own = await store.read(tenant.id, (session) =>
      session.all<{ metadata: object; changedFields: readonly string[] | null }>(sql`
        select data -> 'metadata' as metadata, changed_fields as "changedFields" from recorded_event
        where data ->> 'systemRef' = 'meta' order by occurred_at, id`),
    );
    expect(own.map((event) => event.metadata)).toEqual([
      { stage: 'won', region: 'north' },
      { stage: 'won', owner: 'é' },
    ]);
    expect(own.at(-1)).toMatchObject({ changedFields: ['metadata'] });
  });

  test('has at most 50 names, also when they are added one by one', async () => {
    const many = (start: number) =>
      Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`n${start + index}`, 'x']));
    await write({ stage: null, owner: null, ...many(0) });
    expect((await write(many(100)))[0]?.error).toMatchObject({ pointer: expect.stringMatching(/metadata$/) });
  });
});

describe('fields', () => {
  test('are all that a list, a search and a read by ID return, and the ID', async () => {
    const fields = ['name', 'clientRef'];
    const [listed] = await rowsOf('/gql/v1/clients', { fields });
    expect(Object.keys(listed ?? {}).sort()).toEqual(['clientRef', 'id', 'name']);
    const orderBy = [{ name: 'desc' }];
    const first = (
      await call<Page & { nextCursor: string }>('POST', '/gql/v1/clients/search', { fields, orderBy, pageSize: 1 })
    ).body;
    // The order can be by what is not returned.
    const next = await call<Page>('POST', '/gql/v1/clients/search', {
      fields: ['id'],
      orderBy,
      cursor: first.nextCursor,
      pageSize: 1,
    });
    expect(Object.keys(next.body.data[0] ?? {})).toEqual(['id']);
    const one = await call<Row>('GET', `/gql/v1/client/${listed?.id}?fields=name&fields=status`);
    expect(Object.keys(one.body).sort()).toEqual(['id', 'name', 'status']);
    expect(await call('POST', '/gql/v1/clients', { fields: ['nme'] })).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/fields/0', code: 'ENUM' }] },
    });
  });
});

/** Each relation whose names an operation returns. */
const relations = allOperations.flatMap((operation) => {
  if (!/^(list|search|lookup)/.test(operation.id) || operation.method !== 'POST') return [];
  const related = resolved(bodyOf(operation).with?.items ?? {})['x-related'] ?? {};
  return Object.entries(related).map(([name, { by, type }]) => ({ operation, name, by, type }));
});

describe('with', () => {
  test('returns the name of the row that a reference is to', async () => {
    const request = { with: ['partner', 'office'], where: { clientRef: { _eq: 'C-01042' } } };
    const [client] = await rowsOf('/gql/v1/clients/search', request);
    const { body: partner } = await call<Row>('GET', `/gql/v1/staff/${client?.partnerId}`);
    expect(client?.with).toMatchObject({
      partner: { id: partner.id, name: partner.displayName },
      office: expect.anything(),
    });
    const one = await call<Row>('GET', `/gql/v1/client/${client?.id}?with=partner&fields=name`);
    expect(one.body).toEqual({ id: client?.id, name: client?.name, with: { partner: Object(client?.with).partner } });
    expect(one.headers.get('etag')).toBeNull();
  });

  test('knows most references of lists', () => expect(relations.length).toBeGreaterThan(60));

  test.each(
    sampleOf(
      relations.map((one) => [one.operation.id, one.name, one] as const),
      8,
    ),
  )('%s returns %s, with the role that reads it', async (_id, name, { operation, type }) => {
    const [own = ''] = operation.roles;
    const roles = schemaOf(type)['x-record']?.readRoles ?? [];
    expect(await call('POST', operation.path, { with: [name], pageSize: 5 })).toMatchObject({ status: 200 });
    // Everyone reads reference data.
    if (roles.includes(own) || roles.includes('REF_R')) return;
    const alone = await signIn({ roles: [own], tenant });
    const rejected = { status: 403, body: { errors: [{ in: 'body', pointer: '/with/0', code: 'FORBIDDEN' }] } };
    expect(await alone.call('POST', operation.path, { with: [name] })).toMatchObject(rejected);
  });
});

const groups = allOperations
  .filter(({ id }) => id.startsWith('aggregate'))
  .flatMap((operation) => {
    const members = resolved(bodyOf(operation).groupBy?.items ?? {}).oneOf ?? [];
    const columns = members.flatMap((member) => resolved(propertiesOf(member).column ?? {}).enum ?? []);
    return columns.some((column) => column.includes('.'))
      ? [{ operation, columns: columns.filter((column) => column.includes('.')) }]
      : [];
  });

describe('groups by a column of a related row', () => {
  test('have the figures that the rows have', async () => {
    const measures = { total: { function: 'SUM', column: 'total' } };
    const { data } = (
      await call<{ data: { key: Row; values: Row }[] }>('POST', '/gql/v1/invoices/aggregate', {
        groupBy: [{ column: 'client.name' }],
        measures,
      })
    ).body;
    const rows = await rowsOf('/gql/v1/invoices', { with: ['client'], pageSize: 1000 });
    const sums = new Map<unknown, number>();
    for (const row of rows) {
      const { name } = Object(row.with).client;
      sums.set(name, (sums.get(name) ?? 0) + Number(row.total));
    }
    expect(new Map(data.map(({ key, values }) => [key['client.name'], Number(values.total)]))).toEqual(sums);
  });

  test.each(
    sampleOf(
      groups.map((group) => [group.operation.id, group] as const),
      4,
    ),
  )('%s takes each, with the roles that read it', async (_id, { operation, columns }) => {
    const measures = { rows: { function: 'COUNT' } };
    for (let start = 0; start < columns.length; start += 4) {
      const groupBy = columns.slice(start, start + 4).map((column) => ({ column }));
      expect(await call('POST', operation.path, { groupBy, measures, pageSize: 2 })).toMatchObject({ status: 200 });
    }
    const alone = await signIn({ roles: operation.roles.slice(0, 1), tenant });
    const reads = contract.components.schemas.Client?.['x-record']?.readRoles ?? [];
    const ofClient = columns.find((column) => column.startsWith('client.'));
    if (ofClient === undefined || operation.roles.some((role) => reads.includes(role))) return;
    const rejected = await alone.call('POST', operation.path, { groupBy: [{ column: ofClient }], measures });
    expect(rejected).toMatchObject({ status: 403, body: { errors: [{ pointer: '/groupBy/0/column' }] } });
  });
});
