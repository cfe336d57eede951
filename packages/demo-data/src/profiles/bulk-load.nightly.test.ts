import { ensureApiUser } from '@financial-automation/server/operator/api-keys';
import { checkBooks } from '@financial-automation/server/operator/books';
import type { Tenant } from '@financial-automation/server/platform/auth/caller';
import { engineName, testDatabase } from '@financial-automation/server/test/database';
import { testService } from '@financial-automation/server/test/service';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { differing } from '../../test/profile.ts';
import { loadProfile, loadProfiles } from './load-profile.ts';
import { profiles } from './profile.ts';

const database = await testDatabase();
const service = await testService({ database });
const place = { store: service.store, databaseUrl: database.databaseUrl };
const tenantId = service.tenant.id;
const operator = { service: service.service };
await loadProfile(place, tenantId, 'tiny', await apiUserOf(service.tenant));

test('a load after one that failed has the rows of any other', async () => {
  const other = await service.addTenant('interrupted');
  const interrupted = loadProfile(place, other.id, 'tiny', await apiUserOf(other), {
    report(table) {
      if (table === 'time_entry') throw new Error('The process ends.');
    },
  });
  await expect(interrupted).rejects.toThrow('The process ends.');
  await loadProfile(place, other.id, 'tiny', await apiUserOf(other));
  const rows = await service.store.read(other.id, (session) =>
    session.all(sql`select id from client where tenant_id = ${other.id} order by id`),
  );
  const first = await service.store.read(tenantId, (session) => session.all(sql`select id from client order by id`));
  expect(rows).toHaveLength(profiles.tiny.clients);
  expect(rows).toEqual(first);
});

/** The constraints, indexes, triggers and row-level security of the tables. */
const protections = () =>
  service.store.system((transaction) =>
    transaction.all(sql`
      select conrelid::regclass::text as "table", conname as name, pg_get_constraintdef(oid) as definition, convalidated::text as state
      from pg_constraint where connamespace = 'public'::regnamespace
      union all select tablename, indexname, indexdef, '' from pg_indexes where schemaname = 'public'
      union all select tgrelid::regclass::text, tgname, '', tgenabled::text from pg_trigger where not tgisinternal
      union all select oid::regclass::text, relname, relrowsecurity::text, relforcerowsecurity::text
      from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1, 2, 3`),
  );

test.runIf(engineName === 'postgres')(
  'a bulk load creates the same rows, and restores the protection of the tables',
  async () => {
    const [one, other] = [await service.addTenant('bulk_one'), await service.addTenant('bulk_other')];
    const before = await protections();
    const fillings = [];
    for (const tenant of [one, other])
      fillings.push({ tenantId: tenant.id, profile: 'tiny' as const, apiUserId: await apiUserOf(tenant) });
    await loadProfiles(place, fillings, { isBulk: true });
    expect(await protections()).toEqual(before);
    for (const { name, id } of [one, other]) {
      expect(await checkBooks(operator, { tenant: name, repair: false })).toEqual({ differences: [], breaches: [] });
      const sums = (tenant: number) =>
        service.store.read(tenant, (session) =>
          session.all(sql`
          select 'job' as "table", count(*), sum(actual_hours) as hours, sum(wip_amount) as wip, sum(write_up_amount) as up from job
          union all select 'client', count(*), sum(outstanding_balance), sum(unbilled_wip), sum(unapplied_credit) from client
          union all select 'task', count(*), sum(actual_hours), 0, 0 from task order by 1`),
        );
      expect(await sums(id)).toEqual(await sums(tenantId));
    }
  },
);

test.runIf(engineName === 'postgres')('a larger firm looks like one on any day', async () => {
  // After the season, with a leap day in it, and at the turn of a year.
  for (const today of ['2028-04-20', '2027-01-01', '2026-11-24']) {
    const tenant = await service.addTenant(`small_${today.replaceAll('-', '')}`);
    const filling = { tenantId: tenant.id, profile: 'small' as const, apiUserId: await apiUserOf(tenant) };
    await loadProfiles(place, [filling], { today });
    expect(await checkBooks(operator, { tenant: tenant.name, repair: false })).toEqual({
      differences: [],
      breaches: [],
    });
    expect(await service.store.read(tenant.id, (session) => differing(session, today, false))).toEqual([]);
  }
});

function apiUserOf(tenant: Tenant): Promise<string> {
  const user = { user: 'demo-data', roles: [] };
  return service.store.write(tenant.id, (transaction) => ensureApiUser(transaction, tenant, user));
}
