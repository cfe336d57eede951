import { ensureApiUser } from '@financial-automation/server/operator/api-keys';
import { testDatabase } from '@financial-automation/server/test/database';
import { testService } from '@financial-automation/server/test/service';
import { expect, test } from 'vitest';
import { differing, missingStates } from '../../test/profile.ts';
import { loadProfiles } from './load-profile.ts';

const database = await testDatabase();
const service = await testService({ database });
const place = { store: service.store, databaseUrl: database.databaseUrl };

// Turns of months, quarters and years, the season, and leap days.
test.for([
  '2026-12-31',
  '2027-01-01',
  '2027-01-31',
  '2027-03-14',
  '2027-04-16',
  '2027-06-30',
  '2027-08-02',
  '2027-11-07',
  '2028-02-29',
])('the smallest firm looks like one on %s', async (today) => {
  const tenant = await service.addTenant(`tiny_${today.replaceAll('-', '')}`);
  const user = { user: 'demo-data', roles: [] };
  const apiUserId = await service.store.write(tenant.id, (transaction) => ensureApiUser(transaction, tenant, user));
  await loadProfiles(place, [{ tenantId: tenant.id, profile: 'tiny', apiUserId }], { today });
  await service.store.read(tenant.id, async (session) => {
    expect(await differing(session, today, true)).toEqual([]);
    expect(await missingStates(session, today)).toEqual([]);
  });
});
