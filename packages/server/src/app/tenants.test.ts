import { sql } from 'kysely';
import { beforeAll, describe, expect, test } from 'vitest';
import { isNightly } from '../../test/nightly.ts';
import { requestExamplesOf } from '../../test/request-examples.ts';
import { type TestCaller, testService } from '../../test/service.ts';
import { allOperations, type Operation } from '../contract/contract.ts';
import { clientGroup } from '../modules/clients/client-group.ts';
import { clientType } from '../modules/reference/reference-data.ts';
import { asOperator, createTenant } from '../operator/tenants.ts';
import { tenantTables } from '../platform/store/tenant-tables.ts';

const { service, store, signIn, addTenant } = await testService();

/** Part of every text of one tenant, and of no other text. */
const mark = 'Zyzzyva';

/** Creates a tenant with the same references as the other one. */
async function createTenantWithData(name: string, word: string) {
  const tenant = await addTenant(name);
  const caller = await signIn({ roles: ['API_ADMIN'], tenant });
  const [typeId, groupId] = await asOperator(service, tenant, 'test', (unit) =>
    unit.plan((plan) => [
      plan.create(clientType, { name: `${word} type`, code: 'SAME' }, { systemRef: 'SAME' }).row.id,
      plan.create(clientGroup, { name: `${word} group` }, { systemRef: 'SAME' }).row.id,
    ]),
  );
  const body = {
    name: `${word} client`,
    clientRef: 'SAME',
    clientTypeId: typeId,
    clientGroupId: groupId,
    address: { line1: `${word} street` },
    preferredContact: { lastName: `${word} contact`, email: 'same@x.example' },
  };
  const created = await caller.call<{
    clientId: string;
    clientContactInfoId: string;
    contacts: { contactId: string }[];
  }>('POST', '/api/v1/clients/v1/onboard', body, { 'Idempotency-Key': 'same' });
  expect(created.status).toBe(201);
  const { clientId, clientContactInfoId, contacts } = created.body;
  return {
    tenant,
    caller,
    body,
    typeId,
    groupId,
    clientId,
    clientContactInfoId,
    contactId: contacts[0]?.contactId ?? '',
  };
}

const ours = await createTenantWithData('ours', mark);
const theirs = await createTenantWithData('theirs', 'Plain');

/** All rows of a tenant in all tables, as text. */
async function everything(tenantId: number): Promise<string> {
  const tables = await store.system((transaction) => tenantTables(transaction));
  return store.read(tenantId, async (session) => {
    const rows = [];
    for (const { name } of tables)
      rows.push(await session.all(sql`select to_jsonb(t) as row from ${sql.table(name)} t order by to_jsonb(t)::text`));
    return JSON.stringify(rows);
  });
}

let before = '';
beforeAll(async () => {
  before = await everything(ours.tenant.id);
  expect(before).toContain(mark);
});

const ids = [ours.clientId, ours.contactId, ours.typeId, ours.groupId, ours.clientContactInfoId];

/** The request examples of an operation, with every ID replaced. */
function bodies(operation: Operation, id: string): unknown[] {
  return [...requestExamplesOf(operation).values()].map((example) => {
    const text = JSON.stringify(example ?? {});
    return JSON.parse(
      text
        .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, id)
        .replaceAll(/"(clientRef|pmsRef|systemRef)":"[^"]*"/g, '"$1":"SAME"'),
    );
  });
}

const implemented = allOperations.filter((operation) => operation.id !== 'createToken');

test.each(implemented.map((operation, index) => [operation.id, operation, index] as const))(
  '%s neither returns nor changes data of another tenant',
  async (_id, operation, index) => {
    for (const id of isNightly ? ids : [ids[index % ids.length] ?? '']) {
      const path = operation.path.replaceAll(/\{(id|[a-zA-Z]+Id)\}/g, id).replaceAll(/\{(type|name)\}/g, 'Client');
      const some = operation.bodyLimit === null ? [undefined] : [{ pageSize: 100 }, ...bodies(operation, id)];
      for (const body of some) {
        const response = await theirs.caller.call(operation.method, path, body);
        expect(response.status).toBeLessThan(500);
        expect(JSON.stringify(response.body)).not.toContain(mark);
      }
    }
    // Reading everything takes longer than the calls.
    const isLast = index === implemented.length - 1;
    if (isNightly || isLast || index % 10 === 9) expect((await everything(ours.tenant.id)) === before).toBe(true);
  },
);

describe('a row of another tenant', () => {
  const search = (caller: TestCaller, where: object) =>
    caller.call<{ data: unknown[] }>('POST', '/gql/v1/clients/search', { where });

  test('is not found by its ID', async () => {
    for (const path of [
      `/gql/v1/client/${ours.clientId}`,
      `/gql/v1/contact/${ours.contactId}`,
      `/gql/v1/contacts/by_client/${ours.clientId}`,
    ]) {
      expect(await theirs.caller.call('GET', path)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
      expect(await ours.caller.call('GET', path)).toMatchObject({ status: 200 });
    }
    for (const where of [
      { id: { _eq: ours.clientId } },
      { clientTypeId: { _eq: ours.typeId } },
      { contactClients: { contactId: { _eq: ours.contactId } } },
    ]) {
      expect((await search(theirs.caller, where)).body.data).toEqual([]);
      expect((await search(ours.caller, where)).body.data).toHaveLength(1);
    }
  });

  test('cannot be referenced', async () => {
    for (const wrong of [
      { clientTypeId: ours.typeId },
      { clientGroupId: ours.groupId },
      { parentClientId: ours.clientId },
      { orgId: ours.clientId },
    ]) {
      const response = await theirs.caller.call('POST', '/api/v1/clients/v1/onboard', {
        name: 'x',
        address: {},
        ...wrong,
      });
      expect(response).toMatchObject({ status: 400, body: { code: 'REFERENCE_NOT_FOUND' } });
    }
    const info = { contacts: [{ lastName: 'x', primaryContactInfoId: ours.clientContactInfoId }] };
    const upserted = await theirs.caller.call('POST', '/api/v1/contacts/upsert', info);
    expect(upserted.body).toMatchObject({ succeeded: [], failed: [{ code: 'REFERENCE_NOT_FOUND' }] });
  });

  test('does not prevent the same references and keys, which refer to the caller`s own rows', async () => {
    const [mine, other] = [ours, theirs].map((side) => side.clientId);
    expect(mine).not.toBe(other);
    const link = { contacts: [{ lastName: 'Linked', clients: [{ clientRef: 'SAME' }] }] };
    await theirs.caller.call('POST', '/api/v1/contacts/upsert', link);
    const { body } = await theirs.caller.call<{ data: { lastName: string }[] }>(
      'GET',
      `/gql/v1/contacts/by_client/${theirs.clientId}`,
    );
    expect(body.data.map((contact) => contact.lastName)).toContain('Linked');
    const found = await theirs.caller.call<{ contacts: { contactId: string }[] }>(
      'POST',
      '/api/v1/clients/v1/onboard',
      {
        name: 'By mail',
        address: {},
        preferredContact: { email: 'same@x.example' },
      },
    );
    expect(found.body.contacts).toMatchObject([{ contactId: theirs.contactId, created: false }]);
    const replayed = await theirs.caller.call('POST', '/api/v1/clients/v1/onboard', theirs.body, {
      'Idempotency-Key': 'same',
    });
    expect(replayed).toMatchObject({ status: 201, body: { clientId: theirs.clientId } });
  });
});

describe('tenant create', () => {
  const firm = { currency: 'EUR', timeZone: 'Europe/Berlin', country: 'DE' };

  test('creates the tenant and its legal entity together, as the operator', async () => {
    const tenant = await createTenant(
      { service },
      { name: 'complete', displayName: 'Complete GmbH', ...firm, sandbox: true },
    );
    const caller = await signIn({ roles: ['API_ADMIN'], tenant });
    const { body } = await caller.call('POST', '/gql/v1/orgs', {});
    expect(body).toMatchObject({ data: [{ legalName: 'Complete GmbH', currency: 'EUR', country: 'DE' }] });
    const audited = await store.read(tenant.id, (session) =>
      session.all(sql`select operation, api_user_id as "user" from audit_log where entity_type = 'Org'`),
    );
    expect(audited).toEqual([{ operation: 'tenant create', user: null }]);
  });
});
