import { expect, test } from 'vitest';
import { testService } from '../../../test/service.ts';
import { parseDecimal, sum } from '../../platform/decimal.ts';
import { listOf } from './catalog.ts';
import { figures, type Group, type OverviewFigure, requestOf, type Scope, seriesOf, whereOf } from './figures.ts';

const { tenant, call } = await testService({ filled: 'sample' });

async function groupsOf(figure: OverviewFigure, body: object): Promise<readonly Group[]> {
  const result = await call<{ data: Group[] }>('POST', listOf(figure.type).aggregate?.path ?? '', {
    pageSize: 1000,
    ...body,
  });
  expect([figure.id, result.status, result.body]).toMatchObject([figure.id, 200, {}]);
  return result.body.data;
}

const firstOf = async (path: string) =>
  (await call<{ data: { id: string }[] }>('POST', path, { pageSize: 1 })).body.data[0]?.id;
const everything = { currency: tenant.currency, orgId: undefined, officeId: undefined, serviceLineId: undefined };
const [orgId, officeId] = [await firstOf('/gql/v1/orgs'), await firstOf('/gql/v1/offices')];
const serviceLineId = await firstOf('/gql/v1/service_lines');
const scopes: readonly Scope[] = [
  { ...everything, asOf: '2026-08-31' },
  { ...everything, asOf: '2026-02-28' },
  { ...everything, asOf: '2026-08-31', orgId, officeId },
  { ...everything, asOf: '2026-08-31', serviceLineId },
];

test.each(figures)('the rows that $id links to add up to the figure', async (figure) => {
  let found = 0;
  for (const scope of scopes) {
    const request = requestOf(figure, scope);
    const groups = await groupsOf(figure, request);
    if (scope === scopes[0]) expect([figure.id, groups.length]).not.toEqual([figure.id, 0]);
    expect(seriesOf(figure, groups, scope).length).toBeLessThanOrEqual(12);
    for (const [key, of] of Map.groupBy(groups, (group) => group.key[figure.column] ?? null)) {
      const where = whereOf(figure, scope, key === null ? null : String(key));
      const [rows] = await groupsOf(figure, { where, measures: request.measures });
      const figureOf = (some: readonly (Group | undefined)[]) =>
        sum(some.map((one) => parseDecimal(one?.values.figure ?? '0'))).toFixed();
      expect([figure.id, key, figureOf([rows])]).toEqual([figure.id, key, figureOf(of)]);
      found++;
    }
  }
  expect(found).toBeGreaterThan(0);
});

test('utilization and realization are those that the rows have', async () => {
  const [scope] = scopes;
  const shown = async (id: string) => {
    const figure = figures.find((one) => one.id === id);
    if (figure === undefined || scope === undefined) throw new Error(id);
    return seriesOf(figure, await groupsOf(figure, requestOf(figure, scope)), scope);
  };
  interface Entry {
    readonly staffId: string;
    readonly hours: string;
    readonly isBillable: boolean;
  }
  const where = {
    status: { _eq: 'APPROVED' },
    active: { _eq: true },
    workDate: { _gt: '2026-06-01', _lte: '2026-08-31' },
  };
  const { body } = await call<{ data: Entry[] }>('POST', '/gql/v1/time_entries/search', { where, pageSize: 1000 });
  const utilization = await shown('utilization');
  expect(utilization.length).toBeGreaterThan(2);
  for (const { key, points } of utilization) {
    const own = body.data.filter(({ staffId }) => staffId === key);
    const hoursOf = (some: readonly Entry[]) => some.reduce((total, { hours }) => total + Number(hours), 0);
    const share = (100 * hoursOf(own.filter(({ isBillable }) => isBillable))) / hoursOf(own);
    expect(Number(points[0]?.value.toFixed(4))).toBeCloseTo(share, 0);
  }
  // Work that was billed as it was, or for less, is realized by at most 100 percent.
  for (const { points } of await shown('realization')) expect(Number(points[0]?.value.toFixed(4))).toBeGreaterThan(0);
});
