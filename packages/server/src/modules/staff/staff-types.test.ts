import { describe, expect, test } from 'vitest';
import { only, recordsOf } from '../../../test/modules/records.ts';
import { atOnce, failureOf, firmOf, operationsOf } from '../../../test/modules/staff.ts';
import { sharedService } from '../../../test/service.ts';

const service = await sharedService();
const firm = firmOf(service);
const { createStaffTypes, lookupStaffTypes } = operationsOf(service);
const { update, make } = recordsOf(service);
const writer = await service.signIn({ roles: ['STAFF_W', 'STAFF_R', 'RECORD_W'] });
const paymaster = await service.signIn({ roles: ['STAFF_W', 'RATE_W'] });

let counter = 0;
function type(fields: Readonly<Record<string, unknown>> = {}) {
  const number = ++counter;
  return { name: `Kind ${number}`, code: `C${number}`, rank: 5, isBillable: true, ...fields };
}

describe('createStaffTypes', () => {
  test('creates up to 100 staff types in the order of the request', async () => {
    const items = Array.from({ length: 100 }, (_, index) => type({ rank: index + 1, systemRef: `hr-${index}` }));
    const { status, body } = await createStaffTypes({ items });
    expect(status).toBe(200);
    expect(body.items).toMatchObject(items.map((item, index) => ({ index, ...item })));
    expect(body.items[0]).toMatchObject({ version: 1, active: true, description: null, defaultBillingRate: null });
  });

  test('writes nothing if one item is invalid, and points at each', async () => {
    const [taken] = (await createStaffTypes({ items: [type()] })).body.items;
    const fine = type();
    const twice = type();
    const response = createStaffTypes({
      items: [
        fine,
        twice,
        type({ code: taken?.code }),
        type({ name: twice.name }),
        type({ systemRef: taken?.systemRef }),
      ],
    });
    expect(await failureOf(response)).toEqual([
      409,
      'DUPLICATE_REF',
      '/items/2/code',
      '/items/3/name',
      '/items/4/systemRef',
    ]);
    expect((await createStaffTypes({ items: [fine, twice] })).status).toBe(200);
  });

  test.each([
    ['/items', []],
    ['/items', Array.from({ length: 101 }, () => type())],
    ['/items/1/rank', [type(), type({ rank: 0 })]],
    ['/items/0/name', [type({ name: undefined })]],
    ['/items/0/defaultBillingRate', [type({ defaultBillingRate: '1.00001' })]],
    ['/items/0/active', [type({ active: false })]],
  ])('rejects an invalid %s', async (pointer, items) => {
    const [status, code, ...pointers] = await failureOf(createStaffTypes({ items }));
    expect([status, code, pointers.includes(pointer)]).toEqual([400, 'VALIDATION_ERROR', true]);
  });

  test('rejects default rates without RATE_W, and returns them to callers with it', async () => {
    const items = [type(), type({ defaultAverageRate: '90' })];
    const rejected = operationsOf(writer).createStaffTypes({ items });
    expect(await failureOf(rejected)).toEqual([403, 'FORBIDDEN', '/items/1/defaultAverageRate']);
    const { body } = await operationsOf(paymaster).createStaffTypes({ items });
    expect(body.items[1]).toMatchObject({ defaultAverageRate: '90', defaultBillingRate: null });
  });

  test('requires STAFF_W', async () => {
    const reader = await service.signIn({ roles: ['STAFF_R'] });
    expect(await failureOf(operationsOf(reader).createStaffTypes({ items: [type()] }))).toEqual([403, 'FORBIDDEN']);
  });

  test('replays the first response for an idempotency key', async () => {
    const items = [type(), type()];
    const key = { 'Idempotency-Key': 'types-1' };
    const first = await createStaffTypes({ items }, key);
    expect(await createStaffTypes({ items }, key)).toMatchObject({ status: 200, body: first.body });
  });

  test('creates a code once, however many concurrent requests do so', async () => {
    const shared = type();
    const responses = await atOnce(5, (index) =>
      createStaffTypes({ items: [type(), { ...shared, name: `Own ${index}` }] }),
    );
    expect(responses.map((response) => response.status).sort()).toEqual([200, 409, 409, 409, 409]);
    for (const response of responses)
      if (response.status === 409) expect(response.body).toMatchObject({ errors: [{ pointer: '/items/1/code' }] });
  });

  test('adds an audit row with rates and an event without them', async () => {
    const { body } = await createStaffTypes({ items: [type({ defaultBillingRate: '425' })] });
    const { audit, events } = await firm.trace(body.items[0]?.id ?? '');
    expect(audit).toMatchObject([{ operation: 'createStaffTypes', after: { defaultBillingRate: '425' } }]);
    expect(events).toMatchObject([
      { entityType: 'StaffType', operation: 'CREATE', data: { defaultBillingRate: null } },
    ]);
  });
});

describe('lookupStaffTypes', () => {
  test('returns pages by number, by ascending ID, including inactive rows', async () => {
    const { body } = await lookupStaffTypes({ page: 0, pageSize: 40 });
    const next = await lookupStaffTypes({ page: 1, pageSize: 40 });
    const ids = [...body.data, ...next.body.data].map((row) => row.id);
    expect(ids).toHaveLength(80);
    expect(ids.toSorted()).toEqual(ids);
    expect(body).toMatchObject({ hasMore: true, nextCursor: expect.any(String) });
    const beyond = await lookupStaffTypes({ page: 50, pageSize: 100 });
    expect(beyond.body).toMatchObject({ data: [], hasMore: false });
  });

  test.each([[{ pageSize: 0 }], [{ pageSize: 101 }], [{ page: -1 }], [{ where: { nonsense: {} } }]])(
    'rejects %j',
    async (body) => {
      expect((await failureOf(lookupStaffTypes(body))).slice(0, 2)).toEqual([400, 'VALIDATION_ERROR']);
    },
  );

  test('only returns rates to readers with RATE_R', async () => {
    const auditor = await service.signIn({ roles: ['STAFF_R', 'RATE_R'] });
    const { id } = await make('StaffType', type({ defaultBillingRate: '425' }));
    for (const [caller, rate] of [
      [writer, null],
      [auditor, '425'],
    ] as const) {
      const pages = [0, 1].map((page) => operationsOf(caller).lookupStaffTypes({ page, pageSize: 100 }));
      const rows = (await Promise.all(pages)).flatMap((page) => page.body.data);
      expect(rows.find((row) => row.id === id)).toMatchObject({ defaultBillingRate: rate });
    }
  });
});

describe('records of the type StaffType', () => {
  test('do not clear or change rates without RATE_W', async () => {
    await make('StaffType', type({ defaultBillingRate: '425' }), 'with-rate');
    const change = recordsOf(writer).update;
    const written = async (attributes: object) =>
      only(await change([{ type: 'StaffType', systemRef: 'with-rate', attributes }]));
    for (const defaultBillingRate of [null, '425', '1'])
      expect((await written({ defaultBillingRate })).error).toMatchObject({
        code: 'FORBIDDEN',
        pointer: '/records/0/attributes/defaultBillingRate',
      });
    // Without a rate, null changes nothing, so a row can be written back unchanged.
    expect(await written({ rank: 6, defaultAverageRate: null })).toMatchObject({ status: 'UPDATED', version: 2 });
    expect(
      only(await update([{ type: 'StaffType', systemRef: 'with-rate', attributes: {} }])).attributes,
    ).toMatchObject({
      defaultBillingRate: '425',
    });
  });
});
