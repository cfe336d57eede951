import { expect, test } from 'vitest';
import { sharedService } from '../../../test/service.ts';
import { setTenantSetting } from '../../operator/tenant-settings.ts';

const { service, signIn, tenant } = await sharedService();
const signedIn = async (roles: string[]) => (await signIn({ roles })).call('GET', '/api/v1/me');

test('getMe › returns the roles with those that everyone has, and no others', async () => {
  expect(await signedIn(['CLNT_R'])).toMatchObject({
    status: 200,
    body: { staffId: null, roles: ['REF_R', 'CLNT_R'] },
  });
});

test('getMe › returns every role of an administrator but the one that must be granted', async () => {
  const { body } = await signedIn(['API_ADMIN']);
  const { roles } = body as { roles: string[] };
  expect(roles).toEqual(expect.arrayContaining(['API_ADMIN', 'INVC_W', 'RATE_R']));
  expect(roles).not.toContain('PYMT_EVNT_ALL');
});

test('getMe › returns the settings as the operator has changed them', async () => {
  expect((await signedIn([])).body).toMatchObject({
    tenant: { name: tenant.name, currency: 'USD', isSandbox: false, hourIncrement: '0.10', deliveryPorts: [] },
  });
  await setTenantSetting({ service }, { tenant: tenant.name, setting: 'hourIncrement', value: '0.25' });
  const after = async () => (await signedIn([])).body;
  await expect.poll(after, { timeout: 9_000 }).toMatchObject({ tenant: { hourIncrement: '0.25' } });
});
