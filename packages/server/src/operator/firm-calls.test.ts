import { expect, test } from 'vitest';
import { sharedService } from '../../test/service.ts';
import { type Commands, runCommand } from './commands.ts';
import { visitFirm } from './firm-calls.ts';
import type { Run } from './run-commands.ts';
import { setTenantSetting } from './tenant-settings.ts';

const home = await sharedService();
const operator = { service: home.service };
const run: Run = (name, input) => runCommand(operator, name, input);
const visit = (tenant: string, baseUrl = home.address) => visitFirm(run, { tenant, baseUrl, user: 'trial' });
const keys = (tenant: string): Promise<Commands['api-key list']['result']> => run('api-key list', { tenant });

test('webhook listen and webhook trigger › call a tenant that only accepts some client IDs', async () => {
  const { name: tenant } = await home.addTenant('restricted');
  await setTenantSetting(operator, { tenant, setting: 'allowedClientIds', value: 'hartwell-crm,hartwell-tax' });
  const { calls, end } = await visit(tenant);
  expect(await calls.call('POST', '/gql/v1/orgs', {})).toMatchObject({ data: [{ active: true }] });
  expect(await keys(tenant)).toMatchObject([{ user: 'trial', revokedAt: null }]);
  await end();
  expect(await keys(tenant)).toMatchObject([{ user: 'trial', revokedAt: expect.any(String) }]);
});

test('webhook listen and webhook trigger › leave no valid key where the server rejects them or does not respond', async () => {
  const { name: tenant } = await home.addTenant('elsewhere');
  await setTenantSetting(operator, { tenant, setting: 'allowedAddresses', value: '203.0.113.7' });
  await expect(visit(tenant)).rejects.toThrow('ACCESS_RESTRICTED');
  await expect(visit(tenant, 'http://127.0.0.1:1')).rejects.toThrow('No server responds');
  await expect(visit('nobody')).rejects.toThrow('The tenant nobody does not exist.');
  expect((await keys(tenant)).map(({ revokedAt }) => revokedAt)).toEqual([expect.any(String), expect.any(String)]);
});
