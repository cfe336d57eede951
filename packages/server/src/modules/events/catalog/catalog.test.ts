import { describe, expect, test } from 'vitest';
import { recordsOf } from '../../../../test/modules/records.ts';
import { sharedService } from '../../../../test/service.ts';
import { setTenantSetting } from '../../../operator/tenant-settings.ts';
import type { CatalogEntry } from './catalog.ts';

const { call, service, signIn, addTenant } = await sharedService();

async function catalog(caller: { call: typeof call } = { call }, query = ''): Promise<readonly CatalogEntry[]> {
  const { status, body } = await caller.call<{ data: CatalogEntry[]; pageSize: number; hasMore: boolean }>(
    'GET',
    `/api/v1/event-subscriptions/catalog${query}`,
  );
  expect(status).toBe(200);
  expect(body).toMatchObject({ page: 0, pageSize: body.data.length, hasMore: false, nextCursor: null });
  return body.data;
}
const names = (entries: readonly CatalogEntry[]) => entries.map((entry) => `${entry.entityType} ${entry.operation}`);

describe('listEventCatalog', () => {
  test('returns 93 combinations, 66 of them enabled, by type and operation', async () => {
    const all = await catalog();
    expect(all.length).toBe(93);
    expect(names(await catalog(undefined, '?enabled=true'))).toEqual(names(all.filter((entry) => entry.enabled)));
    expect((await catalog(undefined, '?enabled=true')).length).toBe(66);
    expect((await catalog(undefined, '?enabled=false')).length).toBe(27);
    const types = all.map((entry) => entry.entityType);
    expect(types).toEqual(types.toSorted());
    expect(names(all).slice(0, 3)).toEqual(['Client CREATE', 'Client UPDATE', 'Client DELETE']);
  });

  test('describes each combination', async () => {
    const entries = new Map((await catalog()).map((entry) => [`${entry.entityType} ${entry.operation}`, entry]));
    const plain = { filterExpressionRequired: false, allowedFilterExpressions: [] };
    expect(entries.get('Client CREATE')).toEqual({
      entityType: 'Client',
      operation: 'CREATE',
      enabled: true,
      description: 'A client was created.',
      ...plain,
      schemaUrl: '/api/v1/records/schema/Client',
    });
    expect(entries.get('Payment UPDATE')).toMatchObject({
      filterExpressionRequired: true,
      allowedFilterExpressions: ['ownPaymentLinksOnly', 'paymentLinkOnly', 'allPayments'],
    });
    expect(entries.get('Industry CREATE')).toMatchObject({ enabled: false, description: 'An industry was created.' });
    expect(entries.get('TimeEntry CREATE')).toMatchObject({ schemaUrl: '/api/v1/entries/schema/TimeEntry' });
    expect(entries.get('WorkCode CREATE')).toMatchObject({ schemaUrl: '/api/v1/codes/schema/WorkCode' });
    expect(entries.get('EngagementBatch UPDATE')).toMatchObject({
      schemaUrl: '/openapi.json#/webhooks/engagementBatchUpdated',
    });
  });

  test('lists the active types that the tenant defined, under their names', async () => {
    const tenant = await addTenant('custom');
    const caller = await signIn({ roles: ['API_ADMIN'], tenant });
    const { define } = recordsOf(caller);
    await define('Opportunity', [{ name: 'stage', type: 'STRING' }]);
    await define('Bygone', [{ name: 'stage', type: 'STRING' }]);
    await caller.call('DELETE', '/api/v1/records/custom/Bygone');
    const custom = (await catalog(caller)).filter((entry) => ['Opportunity', 'Bygone'].includes(entry.entityType));
    expect(names(custom)).toEqual(['Opportunity CREATE', 'Opportunity UPDATE', 'Opportunity DELETE']);
    expect(custom[0]).toMatchObject({ enabled: true, schemaUrl: '/api/v1/records/schema/Opportunity' });
    expect(names(await catalog())).not.toContain('Opportunity CREATE');
  });

  test('enables events of work in progress unless the tenant has them off', async () => {
    const tenant = await addTenant('busy');
    await setTenantSetting({ service }, { tenant: tenant.name, setting: 'wipEvents', value: 'off' });
    const caller = await signIn({ roles: ['API_ADMIN'], tenant: { ...tenant } });
    const enabled = names(await catalog(caller, '?enabled=true'));
    expect(enabled).not.toContain('WipEntry CREATE');
    expect(enabled.length).toBe(64);
    const body = {
      deliveryUrl: 'https://hooks.example.com/',
      entityType: 'WipEntry',
      operations: ['CREATE', 'UPDATE'],
    };
    expect(await caller.call('POST', '/api/v1/event-subscriptions', body)).toMatchObject({ status: 400 });
    expect(await call('POST', '/api/v1/event-subscriptions', body)).toMatchObject({ status: 201 });
  });
});
