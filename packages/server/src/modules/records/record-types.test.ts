import { expect, test } from 'vitest';
import { sharedService } from '../../../test/service.ts';
import { contract } from '../../contract/contract.ts';
import { entityOf } from '../../entity/registry.ts';
import type { FieldDefinition } from '../bulk/index.ts';

const service = await sharedService();

async function schemaOfType(type: string): Promise<Map<string, FieldDefinition>> {
  const { status, body } = await service.call<{ fields: FieldDefinition[] }>('GET', `/api/v1/records/schema/${type}`);
  expect(status).toBe(200);
  return new Map(body.fields.map((field) => [field.name, field]));
}

test('listRecordTypes › lists the types of the contract that are implemented', async () => {
  const { body } = await service.call<{ data: { name: string; displayName: string }[]; pageSize: number }>(
    'GET',
    '/api/v1/records/types',
  );
  const names = body.data.map((type) => type.name);
  const expected = Object.entries(contract.components.schemas)
    .filter(([name, schema]) => schema['x-record'] !== undefined && entityOf(name)?.writable === true)
    .map(([name]) => name);
  expect(names).toEqual(expected.sort());
  expect(body).toMatchObject({ page: 0, pageSize: 50, hasMore: false, nextCursor: null });
  expect(body.data.find((type) => type.name === 'ClientGroup')).toMatchObject({
    displayName: 'Client group',
    operations: ['UPSERT', 'UPDATE', 'DELETE'],
    schemaUrl: '/api/v1/records/schema/ClientGroup',
    recordsUrl: '/gql/v1/client_groups',
  });
  for (const name of names) expect([name, (await schemaOfType(name)).size > 0]).toEqual([name, true]);
});

test('a schema matches the contract for each field', async () => {
  const client = await schemaOfType('Client');
  expect(client.get('name')).toMatchObject({ type: 'STRING', required: true, nullable: false, maxLength: 200 });
  expect(client.get('status')).toMatchObject({
    type: 'ENUM',
    required: false,
    defaultValue: 'PROSPECT',
    maxLength: null,
  });
  expect(client.get('entityType')).toMatchObject({ type: 'ENUM', nullable: true });
  expect(client.get('entityType')?.enumValues).not.toContain(null);
  expect(client.get('clientRef')).toMatchObject({ unique: true, required: false });
  expect(client.get('managerId')).toMatchObject({
    type: 'REFERENCE',
    referencedEntityType: 'Staff',
    referenceKeys: ['id', 'systemRef', 'pmsRef'],
    pattern: null,
  });
  expect(client.get('email')).toMatchObject({ type: 'EMAIL' });
  expect(client.get('website')).toMatchObject({ type: 'URL' });
  expect(client.get('fiscalYearEndMonth')).toMatchObject({ type: 'INTEGER', minimum: '1', maximum: '12' });
  expect(client.get('incorporationDate')).toMatchObject({ type: 'DATE', nullable: true });
  expect(client.get('onboardedAt')).toMatchObject({ type: 'DATETIME' });
  expect(client.get('outstandingBalance')).toMatchObject({
    type: 'DECIMAL',
    scale: 2,
    readOnly: true,
    required: false,
  });
  expect(client.has('id')).toBe(false);

  const office = await schemaOfType('Office');
  const address = office.get('address');
  expect(address).toMatchObject({ type: 'OBJECT', isArray: false });
  expect(address?.fields.map((field) => field.name)).toContain('postalCode');
  expect((await schemaOfType('ContactClient')).get('roles')).toMatchObject({
    type: 'ENUM',
    isArray: true,
    defaultValue: ['OTHER'],
  });
  expect((await schemaOfType('TaxRegion')).get('appliesToServices')).toMatchObject({ type: 'BOOLEAN', required: true });
  expect((await schemaOfType('ClientType')).get('description')).toMatchObject({ type: 'TEXT' });
});

test('a schema matches its example in the contract', async () => {
  const { body } = await service.call<{ fields: FieldDefinition[] }>('GET', '/api/v1/records/schema/Industry');
  expect(body.fields).toMatchObject([
    { name: 'name', type: 'STRING', required: true, unique: true, minLength: 1, maxLength: 200, rank: 10 },
    { name: 'code', type: 'STRING', nullable: true, pattern: '^[0-9]{2,6}$', minLength: 2, maxLength: 6, rank: 20 },
    { name: 'parentId', type: 'REFERENCE', referenceKeys: ['id', 'systemRef'], minLength: null, rank: 30 },
  ]);
});

test('the schema of a type that does not exist or is not a record is not found', async () => {
  for (const type of ['Nonsense', 'WorkCode'])
    expect((await service.call('GET', `/api/v1/records/schema/${type}`)).status).toBe(404);
});
