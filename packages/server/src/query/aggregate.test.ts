import { describe, expect, test } from 'vitest';
import { engineName } from '../../test/database.ts';
import { firmOf, timeOf } from '../../test/modules/time.ts';
import { isNightly } from '../../test/nightly.ts';
import { sharedService } from '../../test/service.ts';
import { allOperations, schemaOf } from '../contract/contract.ts';

const service = await sharedService();
const firm = await firmOf(service);
const [ada, ben] = [await firm.person(), await firm.person()];
const jobId = await firm.job();
const entry = (systemRef: string, staffId: string, workDate: string, hours: string, more: object = {}) => ({
  type: 'TimeEntry',
  systemRef,
  attributes: { staffId, jobId, workDate, hours, ...more },
});
const written = await timeOf(service).entries([
  entry('a', ada, '2026-01-31', '0.10'),
  entry('b', ada, '2026-02-01', '0.10'),
  entry('c', ada, '2026-02-02', '0.20'),
  entry('d', ben, '2026-02-28', '8.00', { isBillable: false }),
  entry('e', ben, '2026-04-01', '7.90', { description: 'Call' }),
]);
if (written.some(({ status }) => status !== 'CREATED')) throw new Error(JSON.stringify(written));

interface Page {
  readonly data: readonly { readonly key: object; readonly values: object }[];
  readonly hasMore: boolean;
  readonly nextCursor: string | null;
}
interface Rejection {
  readonly code: string;
  readonly errors?: readonly { readonly pointer: string; readonly code: string }[];
}
const path = '/gql/v1/time_entries/aggregate';
const count = { entries: { function: 'COUNT' } };

async function aggregate(request: object, caller: Pick<typeof service, 'call'> = service): Promise<Page> {
  const { status, body } = await caller.call<Page>('POST', path, request);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body;
}

async function rejection(request: object, caller: Pick<typeof service, 'call'> = service) {
  const { status, body } = await caller.call<Rejection>('POST', path, request);
  return { status, code: body.code, errors: body.errors?.map(({ pointer, code }) => `${code} ${pointer}`) };
}

/**
 * Compiling the schema of an aggregate takes most of the time. By day one with few columns, and one with too many to be named, and only
 * on one engine, because the database does not take part.
 */
const few = engineName === 'postgres' ? ['aggregateBilledLines', 'aggregateTimeEntries'] : [];
const named = allOperations.filter(({ id }) => (isNightly ? id.startsWith('aggregate') : few.includes(id)));

test.each(named)('$id › names the columns that it groups by', async ({ path: place, id }) => {
  const groupBy = schemaOf(
    `${id.replace('aggregate', '').replace(/ies$/, 'y').replace(/s$/, '').replace(/^Wip$/, 'WipEntry')}GroupBy`,
  );
  const columns = Object.keys(groupBy.discriminator?.mapping ?? {});
  expect(columns.length).toBeGreaterThan(10);
  const request = { groupBy: [{ column: 'clientid' }], measures: count };
  const { body } = await service.call<{ errors: { detail: string }[] }>('POST', place, request);
  const all = columns.join(', ');
  // A longer list would not fit into a sentence.
  const named =
    all.length > 900 ? /^The value must be one of the \d+ allowed values, such as [\w.]+\.$/ : `one of ${all}.`;
  expect(body.errors.map(({ detail }) => detail)).toEqual([expect.stringMatching(named)]);
});

describe('aggregateTimeEntries', () => {
  test('adds hours exactly, and rounds the average half up', async () => {
    const { data } = await aggregate({
      groupBy: [{ column: 'staffId' }],
      measures: {
        hours: { function: 'SUM', column: 'hours' },
        mean: { function: 'AVERAGE', column: 'hours' },
        last: { function: 'MAX', column: 'workDate' },
        ...count,
      },
      orderBy: [{ measure: 'hours', direction: 'desc' }],
    });
    expect(data).toEqual([
      { key: { staffId: ben }, values: { hours: '15.90', mean: '7.9500', last: '2026-04-01', entries: '2' } },
      { key: { staffId: ada }, values: { hours: '0.40', mean: '0.1333', last: '2026-02-02', entries: '3' } },
    ]);
  });

  test('groups days by periods of the calendar, and by days before a day', async () => {
    const keysOf = async (groupBy: object) =>
      (await aggregate({ groupBy: [{ column: 'workDate', ...groupBy }], measures: count })).data.map(
        ({ key, values }) => [...Object.values(key), ...Object.values(values)].join(' '),
      );
    expect(await keysOf({ by: 'WEEK' })).toEqual(['2026-01-26 2', '2026-02-02 1', '2026-02-23 1', '2026-03-30 1']);
    expect(await keysOf({ by: 'QUARTER' })).toEqual(['2026-01-01 4', '2026-04-01 1']);
    expect(await keysOf({ daysBefore: '2026-03-01', boundaries: [0, 28, '29'] })).toEqual([
      'below 1',
      '0 2',
      '28 1',
      '29 1',
    ]);
  });

  test('has a group with the key null, and ranges of numbers by their boundaries as they were sent', async () => {
    const { data } = await aggregate({
      groupBy: [{ column: 'description' }, { column: 'hours', boundaries: ['0.20', 8] }],
      measures: count,
    });
    expect(data.map(({ key }) => key)).toEqual([
      { description: 'Call', hours: '0.20' },
      { description: null, hours: 'below' },
      { description: null, hours: '0.20' },
      { description: null, hours: '8' },
    ]);
  });

  test('returns one row over nothing without groups, and no row with groups', async () => {
    const where = { hours: { _gt: '24.00' } };
    const measures = { ...count, hours: { function: 'SUM', column: 'hours' } };
    expect(await aggregate({ where, measures })).toEqual({
      data: [{ key: {}, values: { entries: '0', hours: null } }],
      hasMore: false,
      nextCursor: null,
    });
    expect(await aggregate({ where, groupBy: [{ column: 'staffId' }], measures })).toMatchObject({ data: [] });
  });

  const groupBy = [{ column: 'staffId' }];
  test.each<[string, object, string]>([
    ['an unknown column', { groupBy: [{ column: 'hour' }], measures: count }, 'ENUM /groupBy/0/column'],
    ['a column that is no object', { groupBy: ['staffId'], measures: count }, 'TYPE /groupBy/0'],
    [
      'a period of a flag',
      { groupBy: [{ column: 'isBillable', by: 'DAY' }], measures: count },
      'UNKNOWN_PROPERTY /groupBy/0/by',
    ],
    [
      'ranges of a text',
      { groupBy: [{ column: 'code', boundaries: [1] }], measures: count },
      'UNKNOWN_PROPERTY /groupBy/0/boundaries',
    ],
    [
      'ranges of days without a day',
      { groupBy: [{ column: 'workDate', boundaries: [1] }], measures: count },
      'DEPENDENT_REQUIRED /groupBy/0/daysBefore',
    ],
    [
      'periods and ranges of one column',
      { groupBy: [{ column: 'workDate', by: 'DAY', boundaries: [1], daysBefore: '2026-01-01' }], measures: count },
      'EXCLUSIVE /groupBy/0/by',
    ],
    ['the sum of a text', { measures: { x: { function: 'SUM', column: 'status' } } }, 'ENUM /measures/x/column'],
    ['the sum of days', { measures: { x: { function: 'SUM', column: 'workDate' } } }, 'ENUM /measures/x/column'],
    ['the greatest flag', { measures: { x: { function: 'MAX', column: 'isBillable' } } }, 'ENUM /measures/x/column'],
    ['a sum without a column', { measures: { x: { function: 'SUM' } } }, 'REQUIRED /measures/x/column'],
    [
      'a count of a column',
      { measures: { x: { function: 'COUNT', column: 'hours' } } },
      'UNKNOWN_PROPERTY /measures/x/column',
    ],
    ['an unknown function', { measures: { x: { function: 'MEDIAN', column: 'hours' } } }, 'ENUM /measures/x/function'],
    ['no figures', { groupBy, measures: {} }, 'MIN_PROPERTIES /measures'],
    ['a column twice', { groupBy: [...groupBy, ...groupBy], measures: count }, 'DUPLICATE /groupBy/1/column'],
    [
      'boundaries that fall',
      { groupBy: [{ column: 'hours', boundaries: ['2', '1.5'] }], measures: count },
      'NOT_ASCENDING /groupBy/0/boundaries/1',
    ],
    [
      'equal boundaries',
      { groupBy: [{ column: 'hours', boundaries: ['2', '2.0'] }], measures: count },
      'NOT_ASCENDING /groupBy/0/boundaries/1',
    ],
    [
      'an order by an unknown figure',
      { measures: count, orderBy: [{ measure: 'toString', direction: 'asc' }] },
      'UNKNOWN_MEASURE /orderBy/0/measure',
    ],
    [
      'an order by a column of no group',
      { groupBy, measures: count, orderBy: [{ column: 'code', direction: 'asc' }] },
      'NOT_GROUPED /orderBy/0/column',
    ],
    [
      'a condition on an unknown figure',
      { measures: count, having: { other: { _gt: '1' } } },
      'UNKNOWN_MEASURE /having/other',
    ],
    [
      'a condition on a day',
      { measures: { last: { function: 'MAX', column: 'workDate' } }, having: { last: { _gt: '1' } } },
      'NOT_SUPPORTED /having/last',
    ],
    ['names of rows of no group', { groupBy, with: ['job.name'], measures: count }, 'NOT_GROUPED /with/0'],
    [
      'a name that is a key',
      { groupBy: [...groupBy, { column: 'staff.displayName' }], with: ['staff.displayName'], measures: count },
      'DUPLICATE /with/0',
    ],
    ['an order by nothing', { measures: count, orderBy: [{ direction: 'asc' }] }, 'MIN_PROPERTIES /orderBy/0'],
  ])('rejects %s', async (_what, request, error) => {
    const { status, errors } = await rejection(request);
    expect({ status, errors }).toEqual({ status: 400, errors: expect.arrayContaining([error]) });
  });

  test('has only groups whose figures meet the conditions of having, over all pages', async () => {
    const by = {
      groupBy: [{ column: 'workDate' }],
      measures: { ...count, hours: { function: 'SUM', column: 'hours' } },
    };
    const daysOf = async (having: object) => {
      const days: unknown[] = [];
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page: Page = await aggregate({ ...by, having, pageSize: 2, ...(cursor !== undefined && { cursor }) });
        days.push(...page.data.flatMap(({ key }) => Object.values(key)));
        cursor = page.nextCursor;
      }
      return days;
    };
    expect(await daysOf({ hours: { _gt: '0.1', _lte: '8' } })).toEqual(['2026-02-02', '2026-02-28', '2026-04-01']);
    expect(await daysOf({ hours: { _in: ['0.10', '8'] }, entries: { _lt: '1.5' } })).toEqual([
      '2026-01-31',
      '2026-02-01',
      '2026-02-28',
    ]);
    expect(await daysOf({ entries: { _gt: '1' } })).toEqual([]);
  });

  test('has the values of rows that groups are keyed by, and orders by them', async () => {
    const request = {
      groupBy: [{ column: 'staffId' }, { column: 'jobId' }],
      with: ['staff.displayName', 'job.id'],
      measures: count,
    };
    const names = new Map<unknown, string>();
    for (const id of [ada, ben])
      names.set(id, (await service.call<{ displayName: string }>('GET', `/gql/v1/staff/${id}`)).body.displayName);
    const { data } = await aggregate({ ...request, orderBy: [{ column: 'staff.displayName', direction: 'asc' }] });
    expect(data).toEqual(
      [ada, ben].map((staffId) => ({
        key: { staffId, jobId },
        values: { entries: staffId === ada ? '3' : '2' },
        with: { 'staff.displayName': names.get(staffId), 'job.id': jobId },
      })),
    );
    const timeOnly = await service.signIn({ roles: ['TIME_R'] });
    expect(await rejection(request, timeOnly)).toEqual({
      status: 403,
      code: 'FORBIDDEN',
      errors: ['FORBIDDEN /with/0'],
    });
  });

  test('returns everything by four columns in pages, each group once', async () => {
    const by = ['staffId', 'workDate', 'status', 'hours'].map((column) => ({ column }));
    const request = { groupBy: by, measures: count, pageSize: 2 };
    const all = await aggregate({ ...request, pageSize: 1_000 });
    const groups: unknown[] = [];
    for (let cursor: string | null = null; ; ) {
      const page: Page = await aggregate({ ...request, ...(cursor !== null && { cursor }) });
      groups.push(...page.data);
      cursor = page.nextCursor;
      if (cursor === null) break;
    }
    expect(groups).toEqual(all.data);
    expect(groups.length).toBeGreaterThan(4);
  });

  test('rejects a name of a figure that is no word', async () => {
    for (const name of ['Total', '1st', '__proto__', 'a-b', 'a'.repeat(32)])
      expect(await rejection({ measures: JSON.parse(`{"${name}":{"function":"COUNT"}}`) })).toMatchObject({
        status: 400,
      });
  });

  test('rejects rates without RATE_R, in figures and groups, and calculates them with it', async () => {
    const withoutRates = await service.signIn({ roles: ['TIME_R'] });
    const measures = { highest: { function: 'MAX', column: 'billingRate' } };
    const grouped = { groupBy: [{ column: 'billingRate', boundaries: [0, 50] }], measures: count };
    for (const [request, pointer] of [
      [{ measures }, '/measures/highest/column'],
      [grouped, '/groupBy/0/column'],
    ] as const)
      expect(await rejection(request, withoutRates)).toEqual({
        status: 403,
        code: 'FORBIDDEN',
        errors: [`FORBIDDEN ${pointer}`],
      });
    const withRates = await service.signIn({ roles: ['TIME_R', 'RATE_R'] });
    expect(await aggregate({ measures }, withRates)).toMatchObject({ data: [{ values: { highest: '100' } }] });
    expect((await aggregate(grouped, withRates)).data).toHaveLength(2);
  });

  test('rejects the cursor of other groups, figures or conditions', async () => {
    const request = { groupBy: [{ column: 'workDate' }], measures: count, pageSize: 2 };
    const { nextCursor: cursor, hasMore } = await aggregate(request);
    expect(hasMore).toBe(true);
    expect((await aggregate({ ...request, pageSize: 3, cursor })).data).toHaveLength(3);
    for (const other of [
      { groupBy: [{ column: 'workDate', by: 'DAY' }] },
      { measures: { n: { function: 'COUNT' } } },
      { where: {}, orderBy: [{ measure: 'entries', direction: 'asc' }] },
    ])
      expect(await rejection({ ...request, ...other, cursor })).toMatchObject({ status: 400, code: 'INVALID_CURSOR' });
  });

  test('counts no rows of another tenant, whatever IDs the conditions name', async () => {
    const other = await service.signIn({ roles: ['API_ADMIN'], tenant: await service.addTenant('other') });
    for (const where of [
      {},
      { staffId: { _eq: ada } },
      { job: { id: { _eq: jobId } } },
      { _not: { staff: { id: { _eq: ada } } } },
    ])
      expect(await aggregate({ where, measures: count }, other)).toMatchObject({
        data: [{ values: { entries: '0' } }],
      });
  });
});
