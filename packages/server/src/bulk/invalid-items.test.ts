import { describe, expect, test } from 'vitest';
import { exampleOf } from '../../test/bad-requests.ts';
import { testService } from '../../test/service.ts';
import { allOperations, contract, type Operation, type Schema, schemaOf } from '../contract/contract.ts';

interface Failure {
  readonly index: number;
  readonly code: string;
  readonly pointer: string | null;
}

interface Results {
  readonly failed?: readonly Failure[];
  readonly records?: readonly {
    readonly index: number;
    readonly type: string | null;
    readonly systemRef: string | null;
    readonly error: Omit<Failure, 'index'> | null;
  }[];
}

const service = await testService();

/** The operations whose items are judged one by one, with the name of their list and the schema of an item. */
const bulkOperations = allOperations.flatMap((operation) => {
  const [name, list] = Object.entries(bodyOf(operation)?.properties ?? {})[0] ?? [];
  if (name === undefined || list?.items?.$ref === undefined) return [];
  const open = schemaOf(list.items.$ref)['x-items-open'];
  return open === undefined ? [] : [{ id: operation.id, operation, name, isByType: open !== true }];
});

function bodyOf({ path, method }: Operation): Schema | undefined {
  const item = contract.paths[path] as Record<string, { requestBody?: Declared } | undefined>;
  const $ref = item[method.toLowerCase()]?.requestBody?.content['application/json'].schema.$ref;
  return $ref === undefined ? undefined : schemaOf($ref);
}

interface Declared {
  readonly content: { readonly 'application/json': { readonly schema: Schema } };
}

function send({ method, path }: Operation, body: unknown) {
  return service.call<Results>(method, path, body);
}

/** Returns the failures of a bulk response, of which there are two forms. */
function failuresOf({ failed, records = [] }: Results): readonly Failure[] {
  return failed ?? records.flatMap(({ index, error }) => (error === null ? [] : [{ ...error, index }]));
}

test('all operations that write item by item accept invalid items', () => {
  expect(bulkOperations.map(({ id }) => id).toSorted()).toEqual([
    'deleteRecords',
    'updateRecords',
    'upsertCodes',
    'upsertContacts',
    'upsertEntries',
    'upsertRecords',
  ]);
});

describe.each(bulkOperations)('$id', ({ operation, name, isByType }) => {
  const [example = {}] = Object.values(exampleOf(operation) as Readonly<Record<string, readonly object[]>>)[0] ?? [];
  const wrong: readonly (readonly [unknown, string])[] = [
    [null, ''],
    ['text', ''],
    [7, ''],
    [[], ''],
    [[example], ''],
    [{ ...example, 'a/b': 1 }, '/a~1b'],
    ...(isByType
      ? ([
          [{ ...example, type: undefined }, '/type'],
          [{ ...example, type: 'no name' }, '/type'],
          [{ ...example, type: 7 }, '/type'],
          [{ ...example, systemRef: '' }, '/systemRef'],
          [{ ...example, systemRef: 'x'.repeat(256) }, '/systemRef'],
        ] as const)
      : ([
          [{ ...example, email: 'nobody' }, '/email'],
          [{ ...example, clients: [{ clientRef: 7 }] }, '/clients/0/clientRef'],
        ] as const)),
  ];

  test('fails each invalid item alone, with its index and pointer', async () => {
    const { status, body } = await send(operation, { [name]: wrong.map(([item]) => item) });
    expect(status).toBe(200);
    expect(failuresOf(body).map(({ index, code, pointer }) => [index, code, pointer])).toEqual(
      wrong.map(([, pointer], index) => [index, 'VALIDATION_ERROR', `/${name}/${index}${pointer}`]),
    );
    for (const { type, systemRef } of body.records ?? []) {
      expect(type === null || /^[A-Z]/.test(type)).toBe(true);
      expect(systemRef).not.toBe('');
    }
  });

  test.each([
    ['no items', (items: unknown[]) => ({ [name]: items.slice(1) })],
    ['too many items', (items: unknown[]) => ({ [name]: Array.from({ length: 101 }, () => items[0]) })],
    ['no list', (items: unknown[]) => ({ [name]: items[0] })],
    ['an unknown property', (items: unknown[]) => ({ [name]: items, other: 1 })],
  ])('rejects a request with %s', async (_what, bodyFor) => {
    expect(await send(operation, bodyFor([example]))).toMatchObject({ status: 400 });
  });
});

test('updateRecords updates the other records if one has no systemRef', async () => {
  const industry = (systemRef: string, name: string) => ({ type: 'Industry', systemRef, attributes: { name } });
  await service.call('POST', '/api/v1/records', { records: [industry('a', 'A'), industry('b', 'B')] });
  const records = [industry('a', 'A2'), { type: 'Industry', attributes: { name: 'X' } }, industry('b', 'B2')];
  const { status, body } = await service.call<Results>('PUT', '/api/v1/records', { records });
  expect({ status, body }).toMatchObject({
    status: 200,
    body: {
      summary: { total: 3, updated: 2, failed: 1 },
      records: [
        { status: 'UPDATED' },
        {
          status: 'FAILED',
          type: 'Industry',
          systemRef: null,
          error: { code: 'VALIDATION_ERROR', pointer: '/records/1/systemRef' },
        },
        { status: 'UPDATED' },
      ],
    },
  });
});

test('upsertContacts writes the other contacts if one has an invalid email address', async () => {
  const contacts = [{ lastName: 'Before' }, { lastName: 'Wrong', email: 'nobody' }, { lastName: 'After' }];
  const { status, body } = await service.call('POST', '/api/v1/contacts/upsert', { contacts });
  expect({ status, body }).toMatchObject({
    status: 200,
    body: {
      succeeded: [{ index: 0 }, { index: 2 }],
      failed: [{ index: 1, code: 'VALIDATION_ERROR', pointer: '/contacts/1/email' }],
    },
  });
});
