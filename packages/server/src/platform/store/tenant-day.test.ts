import { sql } from 'kysely';
import { afterAll, expect, test, vi } from 'vitest';
import { testStore } from '../../../test/database.ts';

// One connection, so that all work uses the connection that previous work has bound.
const { store, tenantId, otherTenantId } = await testStore({ poolSize: 1 });

afterAll(() => void vi.restoreAllMocks());

async function setTimeZone(tenant: number, zone: string): Promise<void> {
  await store.system((transaction) => transaction.all(sql`update tenant set time_zone = ${zone} where id = ${tenant}`));
}

const now = performance.now.bind(performance);
let passed = 0;

/** Advances the clock that determines the freshness of a binding beyond that freshness. */
function outlastBinding(): void {
  passed += 10_000;
  vi.spyOn(performance, 'now').mockImplementation(() => now() + passed);
}

/** Returns the tenant's day at each instant, calculated by the database. */
function daysAt(instants: readonly Temporal.Instant[]): Promise<string[]> {
  return store.read(tenantId, async (session) => {
    const rows = await session.all(sql<{ day: string }>`
      select tenant_day(instant::timestamptz) as day
      from unnest(${instants.map(String)}::text[]) with ordinality as list (instant, position) order by position`);
    return rows.map(({ day }) => day);
  });
}

test.each([
  // Clock changes at 2:00, at midnight, and a zone that skipped a whole day.
  [
    'America/New_York',
    ['2026-03-07', '2026-03-08', '2026-03-09', '2026-11-01', '2026-11-02', '2026-12-31', '2028-02-29'],
  ],
  ['America/Santiago', ['2026-04-04', '2026-04-05', '2026-09-05', '2026-09-06', '2026-09-07']],
  ['Asia/Kathmandu', ['2026-06-30', '2026-07-01']],
  ['Pacific/Apia', ['2011-12-29', '2011-12-31', '2012-01-01']],
])('tenant_day › changes at midnight in %s, also on days of clock changes', async (zone, days) => {
  await setTimeZone(tenantId, zone);
  outlastBinding();
  const instants = days.flatMap((day) => {
    const midnight = Temporal.PlainDate.from(day).toZonedDateTime(zone).toInstant();
    return [midnight.subtract({ milliseconds: 1 }), midnight, midnight.add({ hours: 12 })];
  });
  const expected = instants.map((instant) => instant.toZonedDateTimeISO(zone).toPlainDate().toString());
  expect(await daysAt(instants)).toEqual(expected);
});

test('today › is the day in the zone of the bound tenant, whichever tenant used the connection before', async () => {
  // 25 hours apart, so their days always differ.
  await setTimeZone(tenantId, 'Pacific/Kiritimati');
  await setTimeZone(otherTenantId, 'Pacific/Pago_Pago');
  outlastBinding();
  const query = sql<{ day: string; now: string }>`select today() as day, now() as now`;
  for (const [tenant, zone] of [
    [tenantId, 'Pacific/Kiritimati'],
    [otherTenantId, 'Pacific/Pago_Pago'],
    [tenantId, 'Pacific/Kiritimati'],
  ] as const) {
    for (const work of [store.read.bind(store), store.write.bind(store)]) {
      const row = await work(tenant, (session) => session.first(query));
      const expected = Temporal.Instant.from(row?.now ?? '')
        .toZonedDateTimeISO(zone)
        .toPlainDate();
      expect(row?.day).toBe(expected.toString());
    }
  }
});

test('today › uses a changed time zone within seconds, on a connection that remains bound', async () => {
  const day = async () =>
    (await store.read(tenantId, (session) => session.first(sql<{ day: string }>`select today() as day`)))?.day;
  await setTimeZone(tenantId, 'Pacific/Kiritimati');
  outlastBinding();
  const before = await day();
  await setTimeZone(tenantId, 'Pacific/Pago_Pago');
  expect(await day()).toBe(before);
  outlastBinding();
  expect(await day()).not.toBe(before);
});

test('today › fails without a tenant', async () => {
  await expect(store.system((transaction) => transaction.all(sql`select today()`))).rejects.toThrow();
});

test('today › is inlined, without a function call per row', async () => {
  const plan = await store.read(tenantId, (session) =>
    session.all(sql<{ 'QUERY PLAN': string }>`explain (verbose) select today() from generate_series(1, 10)`),
  );
  const text = plan.map((row) => row['QUERY PLAN']).join('\n');
  expect(text).toContain(`current_setting('app.time_zone'`);
  expect(text).not.toContain('today()');
});
