import { expect, test } from 'vitest';
import { testService } from '../../test/service.ts';
import { withReads } from '../../test/with-reads.ts';
import { costlySearchLimits, Shares } from '../admission/shares.ts';

let noisyId = -1;
let reading = 0;
let most = 0;
let open: () => void = () => {};
const latch = new Promise<void>((resolve) => {
  open = resolve;
});
const limits = costlySearchLimits(10);
// They wait as long as the test needs.
const costlySearches = new Shares({ ...limits, wait: 60_000 }, { started() {}, rejected() {} });
const { call, service, signIn, addTenant } = await testService({
  replace: ({ store }) => ({
    costlySearches,
    // Reads of the noisy tenant block until the latch is opened.
    store: withReads(store, async (tenantId, work) => {
      if (tenantId !== noisyId) return store.read(tenantId, work);
      reading += 1;
      most = Math.max(most, reading);
      await latch;
      return store.read(tenantId, work).finally(() => {
        reading -= 1;
      });
    }),
  }),
});

test('searchClients › runs one costly search of a tenant at a time, and others wait without a place', async () => {
  const tenant = await addTenant('noisy');
  noisyId = tenant.id;
  const noisy = await signIn({ roles: ['API_ADMIN'], tenant });
  const costly = Array.from({ length: 20 }, () =>
    noisy.call('POST', '/gql/v1/clients/search', { where: { jobs: {} } }),
  );
  await expect.poll(() => costlySearches.usage()).toMatchObject({ inProgress: 1, waiting: 19 });
  expect(service.shares.usage()).toMatchObject({ inProgress: 1, waiting: 0 });
  expect(await call('POST', '/gql/v1/clients/search', { where: { jobs: {} } })).toMatchObject({ status: 200 });
  expect(await call('POST', '/gql/v1/clients', {})).toMatchObject({ status: 200 });
  const body = { name: 'Quick', address: {} };
  expect(await noisy.call('POST', '/api/v1/clients/v1/onboard', body)).toMatchObject({ status: 201 });
  open();
  for (const response of await Promise.all(costly)) expect(response).toMatchObject({ status: 200 });
  expect(most).toBe(limits.perTenant);
  expect(costlySearches.usage()).toMatchObject({ inProgress: 0, waiting: 0 });
  expect(service.shares.usage()).toMatchObject({ inProgress: 0, waiting: 0 });
});
