import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { only, recordsOf } from '../../../test/modules/records.ts';
import { sharedService } from '../../../test/service.ts';

const service = await sharedService();
const { upsert, update, remove, make, define, change, lookup } = recordsOf(service);
const client = await make('Client', { name: 'Harbor Pine', clientRef: 'C-1' }, 'crm-88213');

const opportunity = [
  { name: 'stage', type: 'ENUM', required: true, defaultValue: 'LEAD', enumValues: ['LEAD', 'WON', 'LOST'], rank: 10 },
  { name: 'value', type: 'DECIMAL', minimum: '0', rank: 20 },
  { name: 'client', type: 'REFERENCE', required: true, referencedEntityType: 'Client', rank: 30 },
];

test('a custom type is created, used and deactivated', async () => {
  const defined = await define('Opportunity', opportunity);
  expect(defined.status).toBe(201);
  expect(defined.headers.get('location')).toBe('/api/v1/records/custom/Opportunity');
  expect(defined.body).toMatchObject({ name: 'Opportunity', isCustom: true, version: 1, active: true });

  const types = await service.call<{ data: { name: string; operations: string[] }[] }>('GET', '/api/v1/records/types');
  expect(types.body.data.find((type) => type.name === 'Opportunity')).toMatchObject({
    isCustom: true,
    operations: ['UPSERT', 'UPDATE', 'DELETE'],
    schemaUrl: '/api/v1/records/schema/Opportunity',
    recordsUrl: '/api/v1/records/batch/Opportunity',
  });
  const schema = await service.call<{ fields: object[] }>('GET', '/api/v1/records/schema/Opportunity');
  expect(schema.body.fields).toMatchObject([
    { name: 'stage', defaultValue: 'LEAD', nullable: false, isArray: false },
    { name: 'value', scale: 2, nullable: true, minimum: '0' },
    { name: 'client', referenceKeys: ['id', 'systemRef', 'pmsRef', 'clientRef'] },
  ]);

  const items = await upsert([
    { type: 'Opportunity', systemRef: 'O-1', attributes: { value: '18000', client: { systemRef: 'crm-88213' } } },
    { type: 'Opportunity', systemRef: 'O-2', attributes: { stage: 'MAYBE', client: client.id } },
    { type: 'Opportunity', systemRef: 'O-3', attributes: { client: { pmsRef: 'C-1' } } },
  ]);
  expect(items.map((item) => item.error?.pointer ?? item.attributes)).toEqual([
    { stage: 'LEAD', value: '18000.00', client: client.id },
    '/records/1/attributes/stage',
    { stage: 'LEAD', value: null, client: client.id },
  ]);
  const rows = await lookup('Opportunity', { includeTotal: true });
  expect(rows.body).toMatchObject({
    total: 2,
    data: [{ systemRef: 'O-1', type: 'Opportunity' }, { systemRef: 'O-3' }],
  });

  const won = await update([
    { type: 'Opportunity', systemRef: 'O-1', attributes: { stage: 'WON' } },
    { type: 'Opportunity', systemRef: 'O-9', attributes: { stage: 'WON' } },
  ]);
  expect(won.map((item) => item.error?.code ?? item.attributes?.stage)).toEqual(['WON', 'RECORD_NOT_FOUND']);

  const extended = await change('Opportunity', { fields: [...opportunity, { name: 'closeDate', type: 'DATE' }] });
  expect([extended.status, extended.headers.get('etag')]).toEqual([200, expect.stringMatching(/-2"$/)]);
  const dated = only(
    await update([{ type: 'Opportunity', systemRef: 'O-1', attributes: { closeDate: '2026-10-15' } }]),
  );
  expect(dated.attributes).toMatchObject({ stage: 'WON', closeDate: '2026-10-15' });
  expect(only(await upsert([{ type: 'Opportunity', systemRef: 'O-1', attributes: {} }])).status).toBe('UNCHANGED');

  expect(only(await remove([{ type: 'Opportunity', systemRef: 'O-3' }])).status).toBe('DELETED');
  const ended = await service.call('DELETE', '/api/v1/records/custom/Opportunity');
  expect(ended.body).toMatchObject({ active: false, version: 3 });
  const again = await service.call('DELETE', '/api/v1/records/custom/Opportunity');
  expect(again.body).toMatchObject({ active: false, version: 3 });
  const late = only(await upsert([{ type: 'Opportunity', systemRef: 'O-4', attributes: { client: client.id } }]));
  expect(late.error).toMatchObject({ code: 'INVALID_STATE', pointer: '/records/0/type' });
  expect((await lookup('Opportunity')).body.data).toHaveLength(2);

  const names = async (query: string) => {
    const list = await service.call<{ data: { name: string }[] }>('GET', `/api/v1/records/custom${query}`);
    return list.body.data.map((type) => type.name);
  };
  expect(await names('')).not.toContain('Opportunity');
  expect(await names('?includeInactive=true')).toContain('Opportunity');

  const events = await service.store.read(service.tenant.id, (session) =>
    session.all<{ type: string; operation: string; changed: string[] | null; data: Record<string, unknown> }>(sql`
      select entity_type as type, operation, changed_fields as changed, data from recorded_event
      where entity_type in ('Opportunity', 'CustomRecordType') order by occurred_at, id`),
  );
  expect(events.map(({ type, operation, changed }) => [type, operation, changed])).toEqual([
    ['CustomRecordType', 'CREATE', null],
    ['Opportunity', 'CREATE', null],
    ['Opportunity', 'CREATE', null],
    ['Opportunity', 'UPDATE', ['attributes']],
    ['CustomRecordType', 'UPDATE', ['fields']],
    ['Opportunity', 'UPDATE', ['attributes']],
    ['Opportunity', 'DELETE', ['active']],
    ['CustomRecordType', 'DELETE', ['active']],
  ]);
  expect(events[3]?.data).toMatchObject({ type: 'Opportunity', systemRef: 'O-1', attributes: { stage: 'WON' } });
});

test('each field type accepts its values, and stores them in one format', async () => {
  await define('Every', [
    { name: 'string', type: 'STRING', minLength: 2, maxLength: 5 },
    { name: 'text', type: 'TEXT' },
    { name: 'integer', type: 'INTEGER', minimum: '-3', maximum: '3' },
    { name: 'decimal', type: 'DECIMAL', scale: 3, minimum: '-1.5', maximum: '1.5' },
    { name: 'boolean', type: 'BOOLEAN' },
    { name: 'date', type: 'DATE' },
    { name: 'dateTime', type: 'DATETIME' },
    { name: 'email', type: 'EMAIL' },
    { name: 'url', type: 'URL' },
    { name: 'enum', type: 'ENUM', enumValues: ['A', 'B'] },
    { name: 'multiEnum', type: 'MULTI_ENUM', enumValues: ['A', 'B'] },
    { name: 'json', type: 'JSON' },
    { name: 'constructor', type: 'STRING' },
    { name: 'id', type: 'STRING' },
    { name: 'active', type: 'BOOLEAN' },
  ]);
  const attributes = {
    string: '12345',
    text: 'two\nlines',
    integer: -3,
    decimal: '-1.5',
    boolean: false,
    date: '2028-02-29',
    dateTime: '2026-10-01T09:30:00+02:00',
    email: 'a@example.com',
    url: 'https://example.com/',
    enum: 'B',
    multiEnum: ['B', 'A'],
    json: { b: [1, null], a: 'x' },
    id: 'their own',
    active: false,
  };
  const item = only(await upsert([{ type: 'Every', systemRef: '1', attributes }]));
  const stored = { ...attributes, decimal: '-1.500', dateTime: '2026-10-01T07:30:00.000Z', constructor: null };
  expect(item.attributes).toEqual(stored);
  expect(item.active).toBe(true);
  expect(only(await upsert([{ type: 'Every', systemRef: '1', attributes }])).status).toBe('UNCHANGED');

  const wrong = {
    string: ['1', '123456', 'a\nb', 5],
    text: [1],
    integer: [4, -4, 1.5, '1', 1e300],
    decimal: ['1.6', '-1.501', '1.0001', '01', '1.', 1, '+1'],
    boolean: ['true', 0],
    date: ['2027-02-29', '2026-1-1', '2026-10-01T00:00:00Z'],
    dateTime: ['2026-10-01', '2026-10-01T09:30:00', '2026-13-01T09:30:00Z', '2016-12-31T23:59:60Z'],
    email: ['a', 'a@'],
    url: ['javascript:alert(1)', 'x'],
    enum: ['C', 1, ['A']],
    multiEnum: ['A', ['C'], ['A', 'A']],
    constructor: [5],
    unknown: [1],
  };
  const cases = Object.entries(wrong).flatMap(([name, values]) => values.map((value) => ({ name, value })));
  const items = await upsert(
    cases.map(({ name, value }) => ({ type: 'Every', systemRef: '1', attributes: { [name]: value } })),
  );
  for (const [index, { name, value }] of cases.entries()) {
    const { error } = items[index] ?? {};
    const message = `${name} ${JSON.stringify(value)}`;
    expect([message, error?.code], message).toEqual([message, 'VALIDATION_ERROR']);
    expect(error?.pointer).toMatch(new RegExp(`^/records/${index}/attributes/${name}(/\\d)?$`));
  }
});

test('a custom record requires its systemRef and its required values', async () => {
  await define('Needy', [
    { name: 'needed', type: 'STRING', required: true },
    { name: 'free', type: 'STRING' },
    { name: 'nullable', type: 'STRING', required: true, nullable: true },
  ]);
  const items = await upsert([
    { type: 'Needy', attributes: { needed: 'x', nullable: null } },
    { type: 'Needy', systemRef: 'a', attributes: { nullable: null } },
    { type: 'Needy', systemRef: 'a', attributes: { needed: 'x' } },
    { type: 'Needy', systemRef: 'a', attributes: { needed: null, nullable: null } },
    { type: 'Needy', systemRef: 'a', attributes: { needed: 'x', nullable: null } },
    { type: 'Needy', systemRef: 'a', attributes: { free: 'y' } },
  ]);
  expect(items.map((item) => item.error?.pointer ?? item.status)).toEqual([
    '/records/0/systemRef',
    '/records/1/attributes/needed',
    '/records/2/attributes/nullable',
    '/records/3/attributes/needed',
    'CREATED',
    'UPDATED',
  ]);
});

test('records of custom types refer to each other', async () => {
  await define('Campaign', [{ name: 'parent', type: 'REFERENCE', referencedEntityType: 'Campaign' }]);
  await define('Lead', [
    { name: 'campaign', type: 'REFERENCE', referencedEntityType: 'Campaign', referenceKeys: ['systemRef'] },
  ]);
  const spring = await make('Campaign', {}, 'spring');
  const lead = await make('Lead', {}, 'other');
  const items = await upsert([
    { type: 'Campaign', systemRef: 'april', attributes: { parent: { systemRef: 'spring' } } },
    { type: 'Lead', systemRef: '1', attributes: { campaign: { systemRef: 'spring' } } },
    { type: 'Lead', systemRef: '2', attributes: { campaign: spring.id } },
    { type: 'Lead', systemRef: '3', attributes: { campaign: { id: spring.id } } },
    { type: 'Lead', systemRef: '4', attributes: { campaign: lead.id } },
    { type: 'Lead', systemRef: '5', attributes: { campaign: { systemRef: 'autumn' } } },
    { type: 'Lead', systemRef: '6', attributes: { campaign: [spring.id] } },
  ]);
  expect(items.map((item) => item.error?.code ?? item.status)).toEqual([
    'CREATED',
    'CREATED',
    'CREATED',
    'VALIDATION_ERROR',
    'REFERENCE_NOT_FOUND',
    'REFERENCE_NOT_FOUND',
    'VALIDATION_ERROR',
  ]);
  await remove([{ type: 'Campaign', systemRef: 'spring' }]);
  const after = await upsert([
    { type: 'Lead', systemRef: '2', attributes: { campaign: spring.id } },
    { type: 'Lead', systemRef: '7', attributes: { campaign: spring.id } },
  ]);
  expect(after.map((item) => item.error?.code ?? item.status)).toEqual(['UNCHANGED', 'REFERENCE_NOT_FOUND']);
});

test('records are only accessible with their own type', async () => {
  await define('Left', [{ name: 'note', type: 'STRING' }]);
  await define('Right', [{ name: 'note', type: 'STRING' }]);
  const left = await make('Left', { note: 'l' }, 'same');
  const right = await make('Right', { note: 'r' }, 'same');
  expect(left.id).not.toBe(right.id);
  await update([{ type: 'Right', systemRef: 'same', attributes: { note: 'changed' } }]);
  expect((await lookup('Left')).body.data).toMatchObject([{ attributes: { note: 'l' } }]);
});

test('a unique value belongs to one active record', async () => {
  await define('Asset', [
    { name: 'serial', type: 'STRING', unique: true },
    { name: 'price', type: 'DECIMAL', unique: true },
  ]);
  const asset = (systemRef: string, attributes: object) => ({ type: 'Asset', systemRef, attributes });
  const items = await upsert([
    asset('a', { serial: 'S1', price: '1.5' }),
    asset('b', { serial: 'S1' }),
    asset('b', { price: '1.50' }),
    asset('b', { serial: 'S2' }),
    asset('c', {}),
    asset('d', {}),
    asset('b', { serial: 'S1' }),
    asset('a', { serial: 'S3' }),
    asset('b', { serial: 'S1' }),
  ]);
  expect(items.map((item) => (item.error === null ? item.status : `${item.error.code} ${item.error.pointer}`))).toEqual(
    [
      'CREATED',
      'DUPLICATE_REF /records/1/attributes/serial',
      'DUPLICATE_REF /records/2/attributes/price',
      'CREATED',
      'CREATED',
      'CREATED',
      'DUPLICATE_REF /records/6/attributes/serial',
      'UPDATED',
      'UPDATED',
    ],
  );
  await remove([{ type: 'Asset', systemRef: 'a' }]);
  const later = await upsert([asset('e', { serial: 'S3' }), asset('a', {}), asset('a', { serial: 'S4' })]);
  expect(later.map((item) => item.error?.code ?? item.status)).toEqual(['CREATED', 'DUPLICATE_REF', 'UPDATED']);
});

test('one of several concurrent requests gets the unique value', async () => {
  await define('Badge', [{ name: 'number', type: 'INTEGER', unique: true }]);
  const calls = Array.from({ length: 6 }, (_, index) =>
    upsert([
      { type: 'Badge', systemRef: `own-${index}`, attributes: { number: index + 1000 } },
      { type: 'Badge', systemRef: `same-${index}`, attributes: { number: 7 } },
      { type: 'Badge', systemRef: `other-${index}`, attributes: { number: 8 } },
    ]),
  );
  const items = (await Promise.all(calls)).flat();
  const results = Map.groupBy(items, (item) => item.error?.code ?? item.status);
  expect(results.get('CREATED')).toHaveLength(6 + 2);
  expect(results.get('DUPLICATE_REF')).toHaveLength(12 - 2);
});

test('concurrent changes of records and their type leave no inconsistent records', async () => {
  await define('Racing', [{ name: 'note', type: 'STRING' }]);
  const [items, changed] = await Promise.all([
    upsert([{ type: 'Racing', systemRef: 'a', attributes: { note: 'x' } }]),
    change('Racing', { fields: [{ name: 'note', type: 'INTEGER' }] }),
  ]);
  const wrote = only(items).status === 'CREATED';
  expect(changed.status).toBe(wrote ? 409 : 200);
});
