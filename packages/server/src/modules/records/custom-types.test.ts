import { expect, test } from 'vitest';
import { recordsOf } from '../../../test/modules/records.ts';
import { sharedService } from '../../../test/service.ts';

const service = await sharedService();
const { upsert, define, change, make } = recordsOf(service);

interface ProblemBody {
  readonly code: string;
  readonly detail: string;
  readonly errors: { readonly pointer: string; readonly code: string; readonly detail: string }[];
}

/** Returns the errors of a definition, as `pointer code`. */
async function faultsOf(fields: readonly object[], name = 'Wrong'): Promise<string[]> {
  const { status, body } = await define(name, fields);
  if (status === 201) return ['taken'];
  const problem = body as unknown as ProblemBody;
  return [`${status} ${problem.code}`, ...problem.errors.map((error) => `${error.pointer} ${error.code}`)];
}

test('an invalid definition is rejected with a pointer to each rule', async () => {
  const wrong = await faultsOf([
    { name: 'same', type: 'STRING' },
    { name: 'same', type: 'STRING' },
    { name: 'choice', type: 'ENUM' },
    { name: 'text', type: 'STRING', scale: 2, minimum: '1', enumValues: ['A'] },
    { name: 'number', type: 'INTEGER', minimum: '3', maximum: '2', minLength: 1 },
    { name: 'fraction', type: 'INTEGER', minimum: '1.5' },
    { name: 'length', type: 'TEXT', minLength: 3, maxLength: 2 },
    { name: 'link', type: 'REFERENCE' },
    { name: 'listed', type: 'MULTI_ENUM', enumValues: ['A'], unique: true },
    { name: 'never', type: 'STRING', nullable: false },
    { name: 'once', type: 'STRING', unique: true, defaultValue: 'x' },
    // No email address or URL is that long or short.
    { name: 'longEmail', type: 'EMAIL', minLength: 255 },
    { name: 'shortEmail', type: 'EMAIL', maxLength: 2 },
    { name: 'longUrl', type: 'URL', minLength: 2_049 },
    { name: 'shortUrl', type: 'URL', maxLength: 7 },
    { name: 'longText', type: 'TEXT', minLength: 2_049, maxLength: 100_000 },
  ]);
  expect(wrong).toEqual([
    '400 VALIDATION_ERROR',
    '/fields/1/name DUPLICATE',
    '/fields/2/enumValues REQUIRED',
    '/fields/3/minimum NOT_APPLICABLE',
    '/fields/3/scale NOT_APPLICABLE',
    '/fields/3/enumValues NOT_APPLICABLE',
    '/fields/4/minLength NOT_APPLICABLE',
    '/fields/4/maximum BOUNDS',
    '/fields/5/minimum BOUNDS',
    '/fields/6/maxLength BOUNDS',
    '/fields/7/referencedEntityType REQUIRED',
    '/fields/8/unique NOT_APPLICABLE',
    '/fields/9/nullable NO_VALUE',
    '/fields/10/defaultValue NOT_APPLICABLE',
    '/fields/11/minLength BOUNDS',
    '/fields/12/maxLength BOUNDS',
    '/fields/13/minLength BOUNDS',
    '/fields/14/maxLength BOUNDS',
  ]);
});

test('a definition that violates the contract is rejected by its schema', async () => {
  for (const field of [
    { name: 'Upper', type: 'STRING' },
    { name: 'a', type: 'OBJECT' },
    { name: 'a', type: 'STRING', colour: 'red' },
    { name: 'a', type: 'STRING', readOnly: true },
  ])
    expect((await faultsOf([field]))[0]).toBe('400 VALIDATION_ERROR');
  expect((await faultsOf([]))[0]).toBe('400 VALIDATION_ERROR');
});

test('a default must be valid for its field, and is stored in the format of its values', async () => {
  const wrong = [
    { type: 'INTEGER', defaultValue: '1' },
    { type: 'ENUM', enumValues: ['A'], defaultValue: 'B' },
    { type: 'DECIMAL', defaultValue: '1.555' },
    { type: 'STRING', pattern: '^a', defaultValue: 'b' },
    { type: 'REFERENCE', referencedEntityType: 'Industry', defaultValue: '0199a1c2-0c01-7c01-8a4f-5d2e9b60f199' },
  ];
  for (const field of wrong) {
    expect((await faultsOf([{ name: 'a', ...field }])).slice(0, 1)).toEqual(['400 VALIDATION_ERROR']);
  }
  const { body } = await define('Defaulted', [{ name: 'amount', type: 'DECIMAL', defaultValue: '1.5' }]);
  expect(body.fields).toMatchObject([{ defaultValue: '1.50' }]);
});

test('references must be to existing types', async () => {
  const reference = (type: string, more: object = {}) => [
    { name: 'a', type: 'REFERENCE', referencedEntityType: type, ...more },
  ];
  expect(await faultsOf(reference('Nothing'))).toEqual([
    '400 REFERENCE_NOT_FOUND',
    '/fields/0/referencedEntityType REFERENCE_NOT_FOUND',
  ]);
  expect(await faultsOf(reference('Industry', { referenceKeys: ['pmsRef'] }))).toContain(
    '/fields/0/referenceKeys VALIDATION_ERROR',
  );
  await define('Target', [{ name: 'a', type: 'STRING' }]);
  expect((await define('Source', reference('Target'))).status).toBe(201);
  expect((await define('Itself', reference('Itself'))).status).toBe(201);
  expect((await define('OfStaff', reference('Staff'))).status).toBe(201);
  await service.call('DELETE', '/api/v1/records/custom/Target');
  expect(await faultsOf(reference('Target'))).toContain('/fields/0/referencedEntityType REFERENCE_NOT_FOUND');
  const kept = await change('Source', { fields: [...reference('Target'), { name: 'b', type: 'STRING' }] });
  expect(kept.status).toBe(200);
});

test('no pattern can block the service', async () => {
  const rejected = ['(a)\\1', '(?=a)b', '(?<!a)b', '[', '(a{100}){100}{100}', 'a{1,900}', '(?:a?){300}', '(?i)a'];
  for (const pattern of rejected) {
    const { status, body } = await define('Hostile', [{ name: 'a', type: 'TEXT', pattern }]);
    const problem = body as unknown as ProblemBody;
    expect([pattern, status, problem.errors?.[0]?.pointer]).toEqual([pattern, 400, '/fields/0/pattern']);
  }
  const long = await define('Hostile', [{ name: 'a', type: 'TEXT', pattern: '^[ab]*a[ab]{200}$', maxLength: 100_000 }]);
  expect(long.status).toBe(400);

  const evil = ['^(a+)+$', '^(a|aa)+$', '^(a|a?)+$', '^(([a-z])+.)+[A-Z]([a-z])+$', '^[ab]*a[ab]{200}[cd]$'];
  await define(
    'Evil',
    evil.map((pattern, index) => ({ name: `field${index}`, type: 'TEXT', pattern })),
  );
  const texts = [`${'a'.repeat(480)}!`, 'ab'.repeat(240), `${'a'.repeat(480)}`];
  // A backtracking engine would not finish with any of these.
  await upsert(
    texts.flatMap((text, row) =>
      evil.map((_, index) => ({ type: 'Evil', systemRef: `${row}-${index}`, attributes: { [`field${index}`]: text } })),
    ),
  );
});

test('a pattern has its ECMA-262 meaning', async () => {
  await define('Coded', [{ name: 'code', type: 'STRING', pattern: '^[A-Z]{2}\\-\\d{3}$' }]);
  const items = await upsert(
    ['AB-123', 'AB-1234', 'ab-123'].map((code) => ({ type: 'Coded', systemRef: code, attributes: { code } })),
  );
  expect(items.map((item) => item.status)).toEqual(['CREATED', 'FAILED', 'FAILED']);
});

test('a name is unique, and different from the names of the service', async () => {
  const field = { name: 'a', type: 'STRING' };
  expect((await define('Once', [field])).status).toBe(201);
  for (const name of ['Once', 'ONCE']) {
    const { status, body } = await define(name, [field]);
    expect([status, body.code]).toEqual([409, 'DUPLICATE_REF']);
  }
  for (const name of ['Client', 'CLIENT', 'Timeentry', 'WorkCode', 'EventSubscription', 'CustomRecordType'])
    expect(await faultsOf([field], name)).toEqual(['400 VALIDATION_ERROR', '/name RESERVED']);
  await service.call('DELETE', '/api/v1/records/custom/Once');
  expect((await define('Once', [field])).status).toBe(409);
});

test('an Idempotency-Key creates one type for two requests', async () => {
  const body = { name: 'Keyed', fields: [{ name: 'a', type: 'STRING' }] };
  const headers = { 'Idempotency-Key': 'a-key-of-its-own' };
  const first = await service.call('POST', '/api/v1/records/custom', body, headers);
  const second = await service.call('POST', '/api/v1/records/custom', body, headers);
  expect([first.status, second.status]).toEqual([201, 201]);
  expect(second.body).toEqual(first.body);
  expect(second.headers.get('idempotency-replayed')).toBe('true');
});

test('an update keeps omitted fields', async () => {
  await define('Merged', [{ name: 'a', type: 'STRING', required: true }]);
  const named = await change('Merged', { displayName: 'Merged thing' });
  expect(named.body).toMatchObject({
    displayName: 'Merged thing',
    version: 2,
    fields: [{ name: 'a', required: true }],
  });
  expect((await change('Merged', { displayName: 'Merged thing' })).body.version).toBe(2);
  expect((await change('Merged', { fields: named.body.fields })).body.version).toBe(2);
  expect((await change('Merged', { displayName: null })).body).toMatchObject({ displayName: null, version: 3 });
  expect((await change('Merged', {})).status).toBe(400);
  expect((await change('Merged', { name: 'Other' })).status).toBe(400);
  for (const name of ['MERGED', 'Unknown'])
    expect((await service.call('GET', `/api/v1/records/custom/${name}`)).status).toBe(404);
  expect((await change('Unknown', { active: true })).status).toBe(404);
});

test('a deactivated type remains inactive until it is reactivated', async () => {
  await define('Sleeper', [{ name: 'a', type: 'STRING' }]);
  expect((await change('Sleeper', { active: false, displayName: 'Asleep' })).body).toMatchObject({
    active: false,
    displayName: 'Asleep',
    version: 2,
  });
  expect((await change('Sleeper', { displayName: 'Still asleep' })).body).toMatchObject({ active: false, version: 3 });
  const schema = await service.call('GET', '/api/v1/records/schema/Sleeper');
  expect(schema.body).toMatchObject({ active: false, displayName: 'Still asleep' });
  expect((await change('Sleeper', { active: true })).body).toMatchObject({ active: true, version: 4 });
  expect((await make('Sleeper', { a: 'x' }, '1')).status).toBe('CREATED');
});

test('while there are records, fields can only be added, relabelled and widened', async () => {
  const stage = { name: 'stage', type: 'ENUM', enumValues: ['A', 'B'] };
  const size = { name: 'size', type: 'DECIMAL', scale: 2, maximum: '10' };
  const fields = [stage, size];
  await define('Grown', fields);
  expect((await change('Grown', { fields: [{ ...stage, type: 'STRING', enumValues: [] }] })).status).toBe(200);
  await change('Grown', { fields });
  await make('Grown', { stage: 'A', size: '3' }, '1');

  const broken: [object[], string][] = [
    [[stage], '/fields'],
    [[stage, size, { name: 'added', type: 'STRING' }, { name: 'must', type: 'STRING', required: true }], '/fields/3'],
    [[{ ...stage, enumValues: ['A'] }, size], '/fields/0'],
    [[stage, { ...size, type: 'INTEGER', scale: null }], '/fields/1'],
    [[stage, { ...size, required: true }], '/fields/1'],
    [[stage, { ...size, unique: true }], '/fields/1'],
    [[stage, { ...size, maximum: '9' }], '/fields/1'],
    [[stage, { ...size, minimum: '0' }], '/fields/1'],
    [[stage, { ...size, scale: 1 }], '/fields/1'],
  ];
  for (const [changed, pointer] of broken) {
    const { status, body } = await change('Grown', { fields: changed });
    const problem = body as unknown as ProblemBody;
    expect([status, problem.code, problem.errors?.[0]?.pointer]).toEqual([409, 'CONFLICT', pointer]);
    expect(problem.errors[0]?.code).toBe('FIELD_IN_USE');
  }
  const added = { name: 'added', type: 'STRING', maxLength: 5 };
  const wider = { ...stage, enumValues: ['A', 'B', 'C'] };
  const larger = { ...size, scale: 4, maximum: null };
  const longer = { ...added, maxLength: null };
  const steps = [
    [{ ...stage, displayName: 'Stage' }, size],
    [wider, size],
    [wider, larger, added],
    [added, wider, { ...larger, defaultValue: '1' }],
    [longer, { ...wider, active: false }, larger],
    [longer, wider, larger],
  ];
  for (const [index, fields] of steps.entries())
    expect([index, (await change('Grown', { fields })).status]).toEqual([index, 200]);
  expect((await make('Grown', { stage: 'C', size: '2.0001', added: 'more than five' }, '2')).status).toBe('CREATED');
});

test('an inactive field is kept, and neither written nor required', async () => {
  const fields = [
    { name: 'must', type: 'STRING', required: true },
    { name: 'once', type: 'STRING', unique: true },
    { name: 'other', type: 'STRING' },
  ];
  await define('Pruned', fields);
  await make('Pruned', { must: 'x', once: '1' }, 'a');
  const pruned = fields.map((field) => (field.name === 'other' ? field : { ...field, active: false }));
  expect((await change('Pruned', { fields: pruned })).status).toBe(200);
  const items = await upsert([
    { type: 'Pruned', systemRef: 'b', attributes: { other: 'y' } },
    { type: 'Pruned', systemRef: 'a', attributes: { other: 'z' } },
    { type: 'Pruned', systemRef: 'a', attributes: { must: 'new' } },
  ]);
  expect(items.map((item) => item.error?.pointer ?? item.attributes)).toEqual([
    { must: null, once: null, other: 'y' },
    { must: 'x', once: '1', other: 'z' },
    '/records/2/attributes/must',
  ]);
  expect((await change('Pruned', { fields })).status).toBe(409);
});

test('a field that is no longer unique releases its values', async () => {
  const field = { name: 'code', type: 'STRING', unique: true };
  await define('Loosened', [field]);
  await make('Loosened', { code: 'x' }, 'a');
  expect((await change('Loosened', { fields: [{ ...field, unique: false }] })).status).toBe(200);
  expect((await make('Loosened', { code: 'x' }, 'b')).status).toBe('CREATED');
});
