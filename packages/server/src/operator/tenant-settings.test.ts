import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { testStore } from '../../test/database.ts';
import { Directory } from '../admission/directory.ts';
import { setTenantSetting, showTenantSettings } from './tenant-settings.ts';

const { store } = await testStore();
const operator = { service: { directory: new Directory(store) } };
const set = (setting: string, value: string) => setTenantSetting(operator, { tenant: 'alpha', setting, value });

test('tenant set › changes one setting, which this process applies at once, and every other one within seconds', async () => {
  let now = 1_000;
  expect(await operator.service.directory.tenant('alpha')).toMatchObject({ settings: { wipEvents: true } });
  const directory = new Directory(store, { now: () => now });
  expect(await directory.tenant('alpha')).toMatchObject({
    timeZone: 'America/New_York',
    settings: { wipEvents: true },
  });
  await set('wipEvents', 'off');
  expect(await operator.service.directory.tenant('alpha')).toMatchObject({ settings: { wipEvents: false } });
  await set('timeZone', 'Pacific/Kiritimati');
  await set('currency', 'CAD');
  const shown = await showTenantSettings(operator, 'alpha');
  expect(shown).toMatchObject({
    wipEvents: false,
    timeZone: 'Pacific/Kiritimati',
    currency: 'CAD',
    timeApproval: true,
  });
  now += 5_001;
  const { currency, timeZone, settings } = (await directory.tenant('alpha')) ?? {};
  expect({ currency, timeZone, ...settings }).toEqual(shown);
  expect(await directory.tenant('beta')).toMatchObject({ currency: 'USD', settings: { wipEvents: true } });
});

test('tenant set › only stores changed settings, so that new defaults apply to the others', async () => {
  await set('selfApproval', 'on');
  const { rows } = await store.ownerStatements(`select settings from tenant where name = 'alpha'`);
  expect(rows).toEqual([{ settings: { wipEvents: false, selfApproval: true } }]);
});

test('tenant set › changes nothing if the tenant, the setting or the value is invalid', async () => {
  const before = await showTenantSettings(operator, 'alpha');
  await expect(set('timeZone', 'Mars/Olympus')).rejects.toThrow('"Mars/Olympus" is not a valid timeZone');
  await expect(set('colour', 'red')).rejects.toThrow('"colour" is not a setting of tenants.');
  const unknownTenant = setTenantSetting(operator, { tenant: 'nobody', setting: 'wipEvents', value: 'off' });
  await expect(unknownTenant).rejects.toThrow('The tenant nobody does not exist.');
  await expect(showTenantSettings(operator, 'nobody')).rejects.toThrow('The tenant nobody does not exist.');
  expect(await showTenantSettings(operator, 'alpha')).toEqual(before);
});

test('a tenant whose stored settings are invalid cannot be read, and the error names the setting', async () => {
  await store.system((transaction) =>
    transaction.all(sql`update tenant set settings = '{"allowedAddresses": ["x"]}' where name = 'beta'`),
  );
  await expect(new Directory(store).tenant('beta')).rejects.toThrow(/settings are invalid: \/allowedAddresses\/0/);
});
