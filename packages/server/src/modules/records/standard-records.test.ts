import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { only, recordsOf, type WriteResult } from '../../../test/modules/records.ts';
import { sharedService } from '../../../test/service.ts';

const service = await sharedService();
const { upsert, update, remove, make, lookup } = recordsOf(service);

test('a record is created, updated, left unchanged, deleted and reactivated', async () => {
  const record = { type: 'Industry', systemRef: 'boats', attributes: { name: 'Boats', code: '3366' } };
  const created = only(await upsert([record]));
  expect(created).toMatchObject({ status: 'CREATED', version: 1, active: true, systemRef: 'boats', error: null });
  expect(created.attributes).toEqual({ name: 'Boats', code: '3366', parentId: null });

  expect(only(await upsert([record]))).toMatchObject({ status: 'UNCHANGED', version: 1, id: created.id });
  const changed = only(await update([{ type: 'Industry', systemRef: 'boats', attributes: { code: null } }]));
  expect(changed).toMatchObject({ status: 'UPDATED', version: 2, attributes: { name: 'Boats', code: null } });

  const deleted = only(await remove([{ type: 'Industry', systemRef: 'boats' }]));
  expect(deleted).toMatchObject({ status: 'DELETED', version: 3, active: false });
  const revived = only(await upsert([{ type: 'Industry', systemRef: 'boats', attributes: {} }]));
  expect(revived).toMatchObject({ status: 'UPDATED', version: 4, active: true, id: created.id });
});

test('writes of records are audited, and sent as events if the catalog enables them', async () => {
  const group = await make('ClientGroup', { name: 'Sent' }, 'sent');
  await update([{ type: 'ClientGroup', systemRef: 'sent', attributes: { description: 'Changed' } }]);
  const industry = await make('Industry', { name: 'Not sent' }, 'not sent');
  const traces = (id: string) =>
    service.store.read(service.tenant.id, async (session) => ({
      events: await session.all(sql`
        select entity_type, operation, sequence, changed_fields from recorded_event where entity_id = ${id} order by sequence`),
      audited: (await session.all(sql`select 1 from audit_log where entity_id = ${id}`)).length,
    }));
  expect(await traces(group.id)).toEqual({
    events: [
      { entity_type: 'ClientGroup', operation: 'CREATE', sequence: 1, changed_fields: null },
      { entity_type: 'ClientGroup', operation: 'UPDATE', sequence: 2, changed_fields: ['description'] },
    ],
    audited: 2,
  });
  expect(await traces(industry.id)).toEqual({ events: [], audited: 1 });
});

test('without a systemRef, each upsert creates a standard record', async () => {
  const twice = await upsert([
    { type: 'ClientGroup', attributes: { name: 'One' } },
    { type: 'ClientGroup', attributes: { name: 'Two' } },
  ]);
  expect(twice.map((item) => item.status)).toEqual(['CREATED', 'CREATED']);
  expect(twice.every((item) => item.systemRef === item.id)).toBe(true);
  const again = only(await update([{ type: 'ClientGroup', systemRef: twice[0]?.id, attributes: { name: 'First' } }]));
  expect(again).toMatchObject({ status: 'UPDATED', attributes: { name: 'First' } });
});

test('PUT and DELETE do not find unknown or deleted records', async () => {
  await make('Industry', { name: 'Gone' }, 'gone');
  const responses = [
    await update([{ type: 'Industry', systemRef: 'never', attributes: {} }]),
    await remove([{ type: 'Industry', systemRef: 'never' }]),
    await remove([{ type: 'Industry', systemRef: 'gone' }]),
    await remove([{ type: 'Industry', systemRef: 'gone' }]),
    await update([{ type: 'Industry', systemRef: 'gone', attributes: { name: 'Back' } }]),
  ];
  expect(responses.map(only).map((item) => item.error?.code ?? item.status)).toEqual([
    'RECORD_NOT_FOUND',
    'RECORD_NOT_FOUND',
    'DELETED',
    'RECORD_NOT_FOUND',
    'RECORD_NOT_FOUND',
  ]);
  expect(responses.map(only)[4]).toMatchObject({ id: null, error: { pointer: '/records/0/systemRef' } });
});

test('a later item of a request sees the changes of an earlier one', async () => {
  const record = (attributes: object) => ({ type: 'Industry', systemRef: 'twice', attributes });
  const items = await upsert([
    record({ name: 'First' }),
    record({ name: 'Second' }),
    record({ code: 'wrong' }),
    record({ code: '12' }),
  ]);
  expect(items.map((item) => item.status)).toEqual(['CREATED', 'UPDATED', 'FAILED', 'UPDATED']);
  expect(new Set(items.map((item) => item.id)).size).toBe(1);
  expect(items[0]).toMatchObject({ version: 1, attributes: { name: 'Second', code: '12' } });
  expect(items[2]?.error?.pointer).toBe('/records/2/attributes/code');
  const twice = { type: 'Industry', systemRef: 'twice' };
  const removed = await remove([twice, twice]);
  expect(removed.map((item) => item.error?.code ?? item.status)).toEqual(['DELETED', 'RECORD_NOT_FOUND']);
});

test('each item fails independently, with its code and its pointer', async () => {
  await make('Industry', { name: 'Taken' }, 'taken');
  const unknownId = '0199a1c2-0c01-7c01-8a4f-5d2e9b60f199';
  const items = await upsert([
    { type: 'Industry', attributes: { name: '' } },
    { type: 'Industry', attributes: {} },
    { type: 'Industry', attributes: { name: 'X', colour: 'red' } },
    { type: 'Industry', attributes: { name: 'X', 'a/b~c': 1 } },
    { type: 'Industry', attributes: { name: 'X', version: 3 } },
    { type: 'Industry', attributes: { name: 'Taken' } },
    { type: 'Industry', attributes: { name: 'X', parentId: unknownId } },
    { type: 'Industry', attributes: { name: 'X', parentId: { pmsRef: 'X' } } },
    { type: 'Nonsense', attributes: {} },
    { type: 'WorkCode', attributes: {} },
    { type: 'Client', attributes: { name: 'X', status: 'NEW' } },
    { type: 'Client', attributes: { name: 'Good' } },
  ]);
  const codes = items.map(({ error }) => (error === null ? 'good' : `${error.code} ${error.pointer}`));
  expect(codes).toEqual([
    'VALIDATION_ERROR /records/0/attributes/name',
    'VALIDATION_ERROR /records/1/attributes/name',
    'VALIDATION_ERROR /records/2/attributes/colour',
    'VALIDATION_ERROR /records/3/attributes/a~1b~0c',
    'VALIDATION_ERROR /records/4/attributes/version',
    'DUPLICATE_REF /records/5/attributes/name',
    'REFERENCE_NOT_FOUND /records/6/attributes/parentId',
    'VALIDATION_ERROR /records/7/attributes/parentId',
    'VALIDATION_ERROR /records/8/type',
    'VALIDATION_ERROR /records/9/type',
    'VALIDATION_ERROR /records/10/attributes/status',
    'good',
  ]);
  expect(items[9]?.error?.detail).toBe(
    'Records of the type WorkCode cannot be written here. Send them to /api/v1/codes.',
  );
  expect(items[10]?.error?.detail).toBe('The value must be one of PROSPECT, ACTIVE, INACTIVE, ARCHIVED.');
});

test('the longest names, with characters that a pointer escapes, do not break the response', async () => {
  const item = only(await upsert([{ type: 'Industry', attributes: { name: 'X', ['~'.repeat(255)]: 1 } }]));
  expect(item.error).toMatchObject({
    code: 'VALIDATION_ERROR',
    pointer: expect.stringMatching(/^\/records\/0\/attributes/),
  });
});

test('a reference is written as an ID or a key of the row, and returned as its ID', async () => {
  const parent = await make('Industry', { name: 'Parent' }, 'parent');
  const owner = await make('Client', { name: 'Holding', clientRef: 'H-1' }, 'holding');
  const items = await upsert([
    { type: 'Industry', attributes: { name: 'By id', parentId: parent.id } },
    { type: 'Industry', attributes: { name: 'By id object', parentId: { id: parent.id } } },
    { type: 'Industry', attributes: { name: 'By systemRef', parentId: { systemRef: 'parent' } } },
    { type: 'Client', attributes: { name: 'By pmsRef', parentClientId: { pmsRef: 'H-1' } } },
  ]);
  expect(items.map((item) => item.attributes?.parentId ?? item.attributes?.parentClientId)).toEqual([
    parent.id,
    parent.id,
    parent.id,
    owner.id,
  ]);
  await remove([{ type: 'Industry', systemRef: 'parent' }]);
  const late = only(await upsert([{ type: 'Industry', attributes: { name: 'Late', parentId: parent.id } }]));
  expect(late.error?.code).toBe('REFERENCE_NOT_FOUND');
});

test('rules of an entity also apply to its records', async () => {
  const { id } = await make('Client', { name: 'Linked' }, 'linked');
  const contact = await make('Contact', { lastName: 'Rossi' });
  await make('ContactClient', { clientId: { systemRef: 'linked' }, contactId: contact.id, roles: ['BILLING'] });
  const row = await service.call<Record<string, unknown>>('GET', `/gql/v1/client/${id}`);
  expect(row.body.billingContactId).toBe(contact.id);
  // The link changes the client: the row that was read before is outdated.
  const second = await make('Contact', { lastName: 'Bianchi' });
  const items = await upsert([
    { type: 'Client', systemRef: 'linked', attributes: { website: 'https://linked.example.com' } },
    { type: 'ContactClient', attributes: { clientId: id, contactId: second.id, roles: ['SECONDARY'] } },
    { type: 'Client', systemRef: 'linked', attributes: { website: 'https://linked.example.com' } },
  ]);
  expect(items.map((item) => item.status)).toEqual(['UPDATED', 'CREATED', 'UNCHANGED']);
  expect(items[2]?.attributes).toMatchObject({ secondaryContactId: second.id, billingContactId: contact.id });
});

test('deleting a contact unlinks it, so that another one can have its role', async () => {
  const { id } = await make('Client', { name: 'Kept' });
  const [gone, next] = [await make('Contact', { lastName: 'Gone' }), await make('Contact', { lastName: 'Next' })];
  const link = await make('ContactClient', { clientId: id, contactId: gone.id, roles: ['BILLING'] });
  await remove([{ type: 'Contact', systemRef: gone.systemRef }]);
  const linked = await service.call<Record<string, unknown>>('GET', `/gql/v1/client/${id}`);
  expect(linked.body.billingContactId).toBeNull();
  const other = { clientId: id, contactId: next.id, roles: ['BILLING'] };
  expect(only(await upsert([{ type: 'ContactClient', attributes: other }])).status).toBe('CREATED');
  const repeated = only(await remove([{ type: 'ContactClient', systemRef: link.systemRef }]));
  expect(repeated.error?.code).toBe('RECORD_NOT_FOUND');
});

test('a client with receivables cannot be deleted, and a rejected item changes nothing', async () => {
  const { id } = await make('Client', { name: 'Owes' }, 'owes');
  const [one, two] = [await make('Contact', { lastName: 'One' }), await make('Contact', { lastName: 'Two' })];
  const link = (contactId: string) => ({
    type: 'ContactClient',
    attributes: { clientId: id, contactId, roles: ['BILLING'] },
  });
  const links = await upsert([link(one.id), link(two.id)]);
  expect(links.map((item) => item.error?.code ?? item.status)).toEqual(['CREATED', 'DUPLICATE_REF']);
  const client = await service.call('GET', `/gql/v1/client/${id}`);
  expect(client.body).toMatchObject({ version: 2, billingContactId: one.id });

  await service.store.write(service.tenant.id, (transaction) =>
    transaction.all(sql`update client set unbilled_wip = 5 where tenant_id = ${service.tenant.id} and id = ${id}`),
  );
  const kept = only(await remove([{ type: 'Client', systemRef: 'owes' }]));
  expect(kept).toMatchObject({ status: 'FAILED', id, error: { code: 'INVALID_STATE', pointer: null } });
});

test('upsertRecords and updateRecords move a client only by the transitions of its state machine', async () => {
  const { id } = await make('Client', { name: 'Moves', status: 'ACTIVE' }, 'moves');
  const statusTo = (status: string) => [{ type: 'Client', systemRef: 'moves', attributes: { status } }];
  const back = only(await upsert(statusTo('PROSPECT')));
  expect(back).toMatchObject({
    status: 'FAILED',
    error: { code: 'INVALID_STATE', pointer: '/records/0/attributes/status' },
  });
  expect(back.error?.detail).toMatch(
    /ACTIVE and cannot become PROSPECT\. From ACTIVE it can become INACTIVE or ARCHIVED \(with conditions\)\. The description of status lists/,
  );
  expect(only(await update(statusTo('INACTIVE')))).toMatchObject({ status: 'UPDATED' });

  const owes = (amount: number) =>
    service.store.write(service.tenant.id, (transaction) =>
      transaction.all(
        sql`update client set unbilled_wip = ${amount} where tenant_id = ${service.tenant.id} and id = ${id}`,
      ),
    );
  await owes(5);
  expect(only(await update(statusTo('ARCHIVED')))).toMatchObject({
    status: 'FAILED',
    error: { code: 'INVALID_STATE', pointer: '/records/0/attributes/status' },
  });
  await owes(0);
  expect(only(await update(statusTo('ARCHIVED')))).toMatchObject({ status: 'UPDATED', version: 3 });
});

test('the type requires its own role as well', async () => {
  const clerk = recordsOf(await service.signIn({ roles: ['RECORD_W', 'RECORD_R', 'CLNT_W'] }));
  const items = await clerk.upsert([
    { type: 'Industry', attributes: { name: 'Not mine' } },
    { type: 'Client', attributes: { name: 'Mine' } },
  ]);
  expect(items.map((item) => item.error?.code ?? item.status)).toEqual(['FORBIDDEN', 'CREATED']);
  expect((await clerk.lookup('Client')).status).toBe(403);
  const stranger = await service.signIn({ roles: ['CLNT_W'] });
  const rejected = await stranger.call('POST', '/api/v1/records', { records: [{ type: 'Client', attributes: {} }] });
  expect(rejected.status).toBe(403);
});

test('records are returned by page number, including inactive ones', async () => {
  const names = Array.from({ length: 5 }, (_, index) => ({ type: 'Department', attributes: department(index) }));
  await upsert(names.map((record, index) => ({ ...record, systemRef: `department-${index}` })));
  await remove([{ type: 'Department', systemRef: 'department-1' }]);
  const first = await lookup('Department', { pageSize: 2, includeTotal: true });
  const last = await lookup('Department', { pageSize: 2, page: 2 });
  expect(first.body).toMatchObject({ total: 5, hasMore: true, page: 0, pageSize: 2, nextCursor: expect.any(String) });
  expect(first.body.data.map((row) => [row.systemRef, row.active])).toEqual([
    ['department-0', true],
    ['department-1', false],
  ]);
  expect(last.body).toMatchObject({ hasMore: false, data: [{ systemRef: 'department-4', type: 'Department' }] });
  expect(last.body.data[0]?.attributes).toMatchObject({ name: 'Department 4', headId: null });
  for (const type of ['Nonsense', 'WorkCode']) expect((await lookup(type)).status).toBe(404);
});

function department(index: number) {
  return { name: `Department ${index}`, code: `D${index}` };
}

test('one request writes a hundred records of several types', async () => {
  const records = Array.from({ length: 100 }, (_, index) =>
    index % 2 === 0
      ? { type: 'Client', systemRef: `bulk-${index}`, attributes: { name: `Bulk ${index}` } }
      : { type: 'ContactInfo', systemRef: `bulk-${index}`, attributes: infoOf(`bulk-${index - 1}`) },
  );
  async function infosWithOwners() {
    const clients = await upsert(records.filter((record) => record.type === 'Client'));
    const ids = new Map(clients.map((item) => [item.systemRef, item.id]));
    return records.map((record) =>
      'ownerId' in record.attributes
        ? { ...record, attributes: { ...record.attributes, ownerId: ids.get(record.attributes.ownerId) } }
        : record,
    );
  }
  const complete = await infosWithOwners();
  const items = await upsert(complete);
  expect(items.map((item) => item.index)).toEqual(records.map((_, index) => index));
  expect(items.filter((item) => item.status === 'FAILED')).toEqual([]);
  const again = await service.call<WriteResult>('POST', '/api/v1/records', { records: complete });
  expect(again.body.summary).toEqual({ total: 100, created: 0, updated: 0, unchanged: 100, deleted: 0, failed: 0 });
});

function infoOf(client: string) {
  return { ownerType: 'CLIENT', ownerId: client, kind: 'PRIMARY', address: { city: 'Boston', country: 'US' } };
}

test('a request with no records, too many, or no body is rejected completely', async () => {
  const record = { type: 'Industry', systemRef: 'x', attributes: {} };
  const responses = await Promise.all([
    service.call('POST', '/api/v1/records', { records: [] }),
    service.call('POST', '/api/v1/records', { records: Array.from({ length: 101 }, () => record) }),
    service.call('PUT', '/api/v1/records', { records: [] }),
    service.call('DELETE', '/api/v1/records'),
    service.call('DELETE', '/api/v1/records', { records: { 0: record } }),
  ]);
  const codes = responses.map(({ status, body }) => [status, (body as { code: string }).code]);
  expect(codes).toEqual([
    [400, 'VALIDATION_ERROR'],
    [400, 'VALIDATION_ERROR'],
    [400, 'VALIDATION_ERROR'],
    [400, 'MISSING_BODY'],
    [400, 'VALIDATION_ERROR'],
  ]);
});

test('two concurrent requests for the same record create one', async () => {
  const record = (code: string) => ({ type: 'Industry', systemRef: 'race', attributes: { name: 'Race', code } });
  const responses = await Promise.all(['11', '22', '33', '44'].map((code) => upsert([record(code)])));
  const statuses = responses.map(only).map((item) => item.status);
  expect(statuses.toSorted()).toEqual(['CREATED', 'UPDATED', 'UPDATED', 'UPDATED']);
  expect(new Set(responses.map(only).map((item) => item.id)).size).toBe(1);
});

test("tenants cannot access each other's records", async () => {
  await make('Industry', { name: 'Ours' }, 'ours');
  const other = await service.signIn({ roles: ['API_ADMIN'], tenant: await service.addTenant('neighbours') });
  const theirs = recordsOf(other);
  const missed = only(await theirs.update([{ type: 'Industry', systemRef: 'ours', attributes: { name: 'Theirs' } }]));
  expect(missed.error?.code).toBe('RECORD_NOT_FOUND');
  expect((await theirs.lookup('Industry', { includeTotal: true })).body.total).toBe(0);
});
