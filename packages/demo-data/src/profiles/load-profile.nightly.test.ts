import { ensureApiUser } from '@financial-automation/server/operator/api-keys';
import { checkBooks } from '@financial-automation/server/operator/books';
import type { Tenant } from '@financial-automation/server/platform/auth/caller';
import { testDatabase } from '@financial-automation/server/test/database';
import { testService } from '@financial-automation/server/test/service';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { differing, missingStates } from '../../test/profile.ts';
import { rowsDigest } from './background-load.ts';
import { type Filling, loadInBackground, loadProfile, loadProfiles } from './load-profile.ts';
import { profiles } from './profile.ts';
import type { Place } from './table-loader.ts';

const database = await testDatabase();
const service = await testService({ database });
const place = { store: service.store, databaseUrl: database.databaseUrl };
const tenantId = service.tenant.id;
const operator = { service: service.service };
const apiUserId = await apiUserOf(service.tenant);
const filling = { tenantId, profile: 'tiny', apiUserId } as const;
const [{ today = '' } = {}] = await service.store.read(tenantId, (session) =>
  session.all<{ today: string }>(sql`select today()::text as today`),
);
const count = async (from: string): Promise<number> => {
  const row = await service.store.read(tenantId, (session) =>
    session.first<{ count: number }>(sql`select count(*)::integer as count from ${sql.raw(from)}`),
  );
  return row?.count ?? 0;
};
await loadWithInterruption(filling);

test('a profile has the size that it declares', async () => {
  expect(await count('staff')).toBe(profiles.tiny.staff);
  expect(await count('client')).toBe(profiles.tiny.clients);
  expect(await count('job')).toBe(profiles.tiny.jobs);
  const entries = await count('time_entry');
  expect(Math.abs(entries - profiles.tiny.entries)).toBeLessThan(profiles.tiny.entries / 10);
});

test('a profile looks like a firm today', async () => {
  expect(await service.store.read(tenantId, (session) => differing(session, today, true))).toEqual([]);
});

test('a profile has every state of billing', async () => {
  expect(await service.store.read(tenantId, (session) => missingStates(session, today))).toEqual([]);
});

test('sums match the rows, and numbers have no gaps', async () => {
  expect(
    await count(`client k where (outstanding_balance, unbilled_wip) is distinct from (
      (select coalesce(sum(amount_due), 0) from invoice i where i.tenant_id = k.tenant_id and i.client_id = k.id),
      (select coalesce(sum(outstanding_amount), 0) from wip_entry w where w.tenant_id = k.tenant_id and w.client_id = k.id))`),
  ).toBe(0);
  expect(
    await count(`wip_entry where amount + write_up_amount - write_off_amount <> billed_amount + outstanding_amount`),
  ).toBe(0);
  expect(
    await count(`wip_entry w where status = 'BILLED' and not exists (
      select from wip_relief r where r.tenant_id = w.tenant_id and r.wip_entry_id = w.id and r.invoice_id = w.invoice_id
        and r.billed = w.billed_amount and r.write_off = w.write_off_amount and r.write_up = w.write_up_amount)`),
  ).toBe(0);
  expect(
    await count(`(select regexp_replace(invoice_number, '-\\d+$', '') as year, max(split_part(invoice_number, '-', 3)::integer) as last, count(*) as count
      from invoice group by 1) years where last <> count`),
  ).toBe(0);
  expect(
    await count(`job j where status = 'CLOSED' and (wip_amount <> 0 or exists (
      select from task t where t.tenant_id = j.tenant_id and t.job_id = j.id and t.status not in ('COMPLETED', 'CANCELLED')))`),
  ).toBe(0);
});

test('the books are consistent', async () => {
  const report = await checkBooks(operator, { tenant: service.tenant.name, repair: false });
  expect(report).toEqual({ differences: [], breaches: [] });
});

test('the service works with the data: it reads every list, and continues the numbers', async () => {
  for (const list of [
    'clients',
    'contacts',
    'jobs',
    'projects',
    'staff',
    'wip',
    'invoices',
    'payments',
    'draft_invoice_histories',
    'contact_infos',
    'engagements',
  ])
    expect((await service.call('POST', `/gql/v1/${list}`, { pageSize: 1000 })).status, list).toBe(200);
  for (const path of ['/api/v1/files', '/api/v1/records/custom', '/api/v1/event-subscriptions'])
    expect((await service.call('GET', path)).status, path).toBe(200);
  for (const type of ['Opportunity', 'Asset', 'SurveyResponse'])
    expect((await service.call('POST', `/api/v1/records/batch/${type}`, { pageSize: 100 })).status, type).toBe(200);
  const onboarded = await service.call('POST', '/api/v1/clients/v1/onboard', { name: 'Next', address: {} });
  expect(onboarded).toMatchObject({ status: 201, body: { clientRef: `C-${10_001 + profiles.tiny.clients + 1}` } });
});

test('a tenant is filled once, and a load that fails leaves nothing behind', async () => {
  const rows = await count('ledger_entry');
  expect(await loadProfiles(place, [filling], { today: '2026-10-01' })).toEqual(new Map([[tenantId, today]]));
  expect(await loadInBackground(place, filling, new AbortController().signal)).toBe(false);
  await expect(loadProfiles(place, [{ ...filling, profile: 'small' }])).rejects.toThrow('the profile tiny');
  expect(await count('ledger_entry')).toBe(rows);
  const other = await service.addTenant('interrupted');
  const interrupted = loadProfile(place, other.id, 'tiny', apiUserId, {
    report(table) {
      if (table === 'time_entry') throw new Error('The process ends.');
    },
  });
  await expect(interrupted).rejects.toThrow('The process ends.');
  const left = await service.store.read(other.id, (session) => session.all(sql`select 1 from client limit 1`));
  expect(left).toEqual([]);
});

test('a load in the background that another version began is not continued', async () => {
  const other = await service.addTenant('other_version');
  await stopAtWrite(4, { ...filling, tenantId: other.id });
  await service.store.write(other.id, (transaction) =>
    transaction.all(sql`update tenant_counter set value = 1 where tenant_id = ${other.id} and name = ${rowsDigest}`),
  );
  const continued = loadInBackground(place, { ...filling, tenantId: other.id }, new AbortController().signal);
  await expect(continued).rejects.toThrow('Another version of the service began to load the data');
});

/** Loads in the background, where calls of the API come between, and a run is stopped amid the bills. */
async function loadWithInterruption(one: Filling): Promise<void> {
  await stopAtWrite(34, one);
  expect(await count('invoice')).toBeGreaterThan(0);
  const invoices = await count('invoice');
  expect(await loadInBackground(place, one, new AbortController().signal)).toBe(true);
  expect(await count('invoice')).toBeGreaterThan(invoices);
}

async function stopAtWrite(last: number, one: Filling): Promise<void> {
  const { databaseUrl, store }: Place = place;
  const stopping = new AbortController();
  let writes = 0;
  const counting: Place['store'] = {
    read: (tenant, work) => store.read(tenant, work),
    system: (work) => store.system(work),
    write: (tenant, work) => {
      writes++;
      if (writes === last) stopping.abort();
      return store.write(tenant, work);
    },
  };
  await expect(loadInBackground({ databaseUrl, store: counting }, one, stopping.signal)).rejects.toThrow('aborted');
}

function apiUserOf(tenant: Tenant): Promise<string> {
  const user = { user: 'demo-data', roles: [] };
  return service.store.write(tenant.id, (transaction) => ensureApiUser(transaction, tenant, user));
}
