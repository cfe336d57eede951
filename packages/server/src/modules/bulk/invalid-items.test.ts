import { describe, expect, test } from 'vitest';
import { exampleOf } from '../../../test/bad-requests.ts';
import { sharedService } from '../../../test/service.ts';
import { allOperations, contract, type Operation, type Schema, schemaOf } from '../../contract/contract.ts';

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

const service = await sharedService();

/** The operations whose items are judged one by one, with the name of their list and the schema of an item. */
const bulkOperations = allOperations.flatMap((operation) => {
  // A batch in the background judges its records later, as `upsertRecords` does.
  if (operation.id === 'createRecordBatch') return [];
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

/** Every text that callers write on records, codes and entries and that must not be empty. */
const texts = Object.entries(contract.components.schemas).flatMap(([name, schema]) => {
  const type = name.replace(/Fields$/, '');
  const row = contract.components.schemas[type] as Readonly<Record<string, unknown>> | undefined;
  const [kind] = ['x-record', 'x-code-type', 'x-entry-type'].filter((one) => row?.[one] !== undefined);
  const { operations = [] } = Object(row?.[kind ?? '']) as { operations?: string[] };
  const path =
    kind === 'x-code-type' ? '/api/v1/codes' : kind === 'x-entry-type' ? '/api/v1/entries' : '/api/v1/records';
  const properties = name.endsWith('Fields') && operations.includes('UPSERT') ? (schema.properties ?? {}) : {};
  return Object.entries(properties).flatMap(([field, { $ref, ...own }]) => {
    const text = { ...($ref === undefined ? {} : schemaOf($ref)), ...own };
    const isText = [text.type].flat().includes('string') && (text.minLength ?? 0) > 0 && text.enum === undefined;
    return isText ? [{ path, type, field }] : [];
  });
});

test('a blank text fails its record, code or entry', async () => {
  expect(texts.length).toBeGreaterThan(100);
  for (const [path, all] of Map.groupBy(texts, (one) => one.path))
    for (let from = 0; from < all.length; from += 100) {
      const part = all.slice(from, from + 100);
      const records = part.map(({ type, field }, index) => ({
        type,
        systemRef: `blank-${index}`,
        ...(type === 'Engagement' && { source: 'IMPORT' }),
        attributes: { [field]: ' ' },
      }));
      const { body } = await service.call<{ records: { error: { errors: { pointer: string }[] } | null }[] }>(
        'POST',
        path,
        { records },
      );
      const accepted = part.filter(
        ({ field }, index) =>
          body.records[index]?.error?.errors.every(
            ({ pointer }) => pointer !== `/records/${index}/attributes/${field}`,
          ) ?? true,
      );
      expect(accepted).toEqual([]);
    }
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

describe('all errors of an item', () => {
  interface Written {
    readonly error: { readonly detail: string; readonly pointer: string; readonly errors: readonly Failure[] };
  }
  const errorsOf = async (attributes: object, type = 'Client') => {
    const { body } = await service.call<{ records: Written[] }>('POST', '/api/v1/records', {
      records: [{ type, systemRef: 'crm-1', attributes }],
    });
    const error = body.records[0]?.error;
    // The code of the item says what became of it, and that of an error what is wrong with the value.
    expect(error?.errors[0]).toMatchObject({ detail: error?.detail, pointer: error?.pointer });
    return error?.errors.map(({ code, pointer }) => `${code} ${pointer}`);
  };
  const at = (name: string, code = 'VALIDATION_ERROR') => `${code} /records/0/attributes/${name}`;

  test('upsertRecords lists each invalid value, each reference without a row, and each field of the service', async () => {
    const attributes = {
      name: 'Acme',
      nme: 'Acme',
      currency: 'dollars',
      overdueBalance: '1.00',
      clientTypeId: { systemRef: 'nobody' },
      email: 7,
    };
    expect((await errorsOf(attributes))?.toSorted()).toEqual(
      [
        at('clientTypeId', 'REFERENCE_NOT_FOUND'),
        at('currency', 'MAX_LENGTH'),
        at('email', 'TYPE'),
        at('nme', 'UNKNOWN_PROPERTY'),
        at('overdueBalance'),
      ].toSorted(),
    );
  });

  test('upsertRecords lists missing values beside invalid ones', async () => {
    const wrong = [at('billingType', 'REQUIRED'), at('clientId', 'REQUIRED'), at('status', 'ENUM')].toSorted();
    expect((await errorsOf({ name: 'Return', status: 'unknown' }, 'Job'))?.toSorted()).toEqual(wrong);
  });

  test('upsertRecords lists at most 20', async () => {
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`unknown${index}`, index]));
    expect(await errorsOf(many)).toHaveLength(20);
  });

  test('upsertRecords lists one of a large item, whose check would take long', async () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`unknown${index}`, index]));
    expect(await errorsOf(many)).toHaveLength(1);
  });

  test('upsertRecords lists each invalid value of a custom type', async () => {
    const fields = [
      { name: 'stage', type: 'ENUM', enumValues: ['OPEN', 'WON'] },
      { name: 'amount', type: 'DECIMAL', scale: 2 },
      { name: 'client', type: 'REFERENCE', referencedEntityType: 'Client', required: true },
    ].map((field) => ({ ...field, displayName: field.name }));
    const created = await service.call('POST', '/api/v1/records/custom', { name: 'Deal', displayName: 'Deal', fields });
    expect(created.status).toBe(201);
    expect(await errorsOf({ stage: 'LOST', amount: '1.234', client: { clientRef: 'C-99999' } }, 'Deal')).toEqual([
      at('client', 'REFERENCE_NOT_FOUND'),
      at('stage', 'ENUM'),
      at('amount', 'PATTERN'),
    ]);
  });

  test('upsertContacts lists each invalid value', async () => {
    const contacts = [{ lastName: '', email: 'nobody', clients: [{ clientRef: 7 }] }];
    const { body } = await service.call<{ failed: { pointer: string; errors: Failure[] }[] }>(
      'POST',
      '/api/v1/contacts/upsert',
      { contacts },
    );
    expect(body.failed[0]?.errors.map(({ pointer }) => pointer).toSorted()).toEqual([
      '/contacts/0/clients/0/clientRef',
      '/contacts/0/email',
      '/contacts/0/lastName',
    ]);
    expect(body.failed[0]?.pointer).toBe(body.failed[0]?.errors[0]?.pointer);
  });
});

test('upsertRecords refers to clients by clientRef, and to other rows not by the clientRef that they show', async () => {
  const records = [{ type: 'Client', systemRef: 'crm-42', attributes: { name: 'Acme', clientRef: 'C-4242' } }];
  await service.call('POST', '/api/v1/records', { records });
  const job = (clientId: object) => ({
    records: [
      {
        type: 'Job',
        systemRef: 'job-42',
        attributes: { name: 'Return', billingType: 'NON_BILLABLE', clientId },
      },
    ],
  });
  const { body } = await service.call<{ records: { status: string; error: unknown }[] }>(
    'POST',
    '/api/v1/records',
    job({ clientRef: 'C-4242' }),
  );
  expect(body.records[0]).toMatchObject({ status: 'CREATED', error: null });
  const fields = [{ name: 'invoice', displayName: 'Invoice', type: 'REFERENCE', referencedEntityType: 'Invoice' }];
  const type = { name: 'Dispute', displayName: 'Dispute', fields };
  expect(await service.call('POST', '/api/v1/records/custom', type)).toMatchObject({
    status: 201,
    body: { fields: [{ referenceKeys: ['id', 'systemRef', 'pmsRef'] }] },
  });
});
