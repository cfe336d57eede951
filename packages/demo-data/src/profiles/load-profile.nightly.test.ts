import { checkBooks, type Tenant } from '@financial-automation/server/service';
import { testDatabase, testService } from '@financial-automation/server/testing';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { differing, missingStates } from '../../test/profile.ts';
import { threeYearsBefore } from './calendar.ts';
import { loadProfile } from './load-profile.ts';
import { profiles } from './profile.ts';
import { LoadOfOtherVersion, writeFirm } from './write-firm.ts';

const database = await testDatabase();
const service = await testService({ database });
const { tenant, store } = service;
const consistent = { differences: [], breaches: [] };
const booksOf = ({ name }: Tenant) => checkBooks(service, { tenant: name, repair: false });
const count = async ({ id }: Tenant, from: string): Promise<number> => {
  const rows = await store.read(id, (session) =>
    session.all<{ n: number }>(sql.raw(`select count(*)::integer as n from ${from}`)),
  );
  return rows[0]?.n ?? 0;
};

/** Interrupts a load after some steps. */
function interrupted(steps: number): AbortSignal {
  const { signal } = new AbortController();
  let left = steps;
  signal.throwIfAborted = () => {
    if (left-- === 0) throw new Error('The process ends.');
  };
  return signal;
}

test('an interrupted load is continued, by the same version only, and a tenant is filled once', async () => {
  const place = { service: service.service, tenant };
  await expect(loadProfile(place, 'sample', { signal: interrupted(30) })).rejects.toThrow('The process ends.');
  const entries = await count(tenant, 'time_entry');
  expect(entries).toBeGreaterThan(0);
  expect(await count(tenant, 'invoice')).toBe(0);
  const span = threeYearsBefore('2026-10-01');
  const other = writeFirm({ ...place, span, size: profiles.sample.written });
  await expect(other).rejects.toThrow(LoadOfOtherVersion);
  expect(await loadProfile(place, 'sample')).toBeUndefined();
  expect(await booksOf(tenant)).toEqual(consistent);
  const rows = await count(tenant, 'ledger_entry');
  expect(rows).toBeGreaterThan(profiles.sample.copies * entries);
  expect(await loadProfile(place, 'sample')).toMatch(/^\d{4}-\d\d-\d\d$/);
  expect(await count(tenant, 'ledger_entry')).toBe(rows);
  await expect(loadProfile(place, 'tiny')).rejects.toThrow('the profile sample');
});

/** The constraints, indexes and triggers of the tables. */
const protections = () =>
  store.system((transaction) =>
    transaction.all(sql`
      select conrelid::regclass::text as "table", conname as name, pg_get_constraintdef(oid) as definition, convalidated::text as state
      from pg_constraint where connamespace = 'public'::regnamespace
      union all select tablename, indexname, indexdef, '' from pg_indexes where schemaname = 'public'
      union all select tgrelid::regclass::text, tgname, '', tgenabled::text from pg_trigger where not tgisinternal
      order by 1, 2, 3`),
  );

test('copies have the amounts of what was written, and the tables their protection', async () => {
  const [one, copied] = [await service.addTenant('one'), await service.addTenant('copied')];
  await writeFirm({
    service: service.service,
    tenant: one,
    span: threeYearsBefore('2026-11-24'),
    size: profiles.sample.written,
  });
  const before = await protections();
  await loadProfile({ service: service.service, tenant: copied }, 'sample', { today: '2026-11-24' });
  expect(await protections()).toEqual(before);
  const sums = (of: Tenant, copies: number) =>
    store.read(of.id, (session) =>
      session.all(
        sql.raw(`
        select account, kind, count(*) * ${copies} as entries, sum(amount) * ${copies} as amount from ledger_entry group by 1, 2
        union all select 'hours', '', count(*) * ${copies}, sum(actual_hours) * ${copies} from job order by 1, 2`),
      ),
    );
  expect(await sums(copied, 1)).toEqual(await sums(one, profiles.sample.copies));
  expect(await count(copied, 'client')).toBe(profiles.sample.copies * (await count(one, 'client')));
});

// The end of a year, the season, and leap days.
test.for(['2025-12-31', '2026-04-16', '2024-02-29'])('the smallest firm looks like one on %s', async (today) => {
  const filled = await service.addTenant(`tiny_${today.replaceAll('-', '')}`);
  await loadProfile({ service: service.service, tenant: filled }, 'tiny', { today });
  await store.read(filled.id, async (session) => {
    expect(await differing(session, today)).toEqual([]);
    expect(await missingStates(session, today)).toEqual([]);
  });
  expect(await booksOf(filled)).toEqual(consistent);
});

test('the service works with the data: it reads every list, and continues the numbers', async () => {
  for (const list of ['clients', 'contacts', 'jobs', 'projects', 'staff', 'wip', 'invoices', 'payments', 'engagements'])
    expect((await service.call('POST', `/gql/v1/${list}`, { pageSize: 1000 })).status, list).toBe(200);
  for (const type of ['Proposal', 'Asset', 'SurveyResponse'])
    expect((await service.call('POST', `/api/v1/records/batch/${type}`, { pageSize: 100 })).status, type).toBe(200);
  const onboarded = await service.call('POST', '/api/v1/clients/v1/onboard', { name: 'Next', address: {} });
  expect(onboarded.status).toBe(201);
});
