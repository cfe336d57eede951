import { expect, test } from 'vitest';
import { type TestCaller, testService } from '../../test/service.ts';
import { withReads } from '../../test/with-reads.ts';
import type { Store } from '../platform/store/store.ts';

/** Reads of this tenant block until the latch is opened. */
let slowTenant = -1;
let reading = 0;
let open: () => void = () => {};
let latch = Promise.resolve();

const { call, address, tenant, signIn, addTenant } = await testService({
  config: { poolSize: 4 },
  patience: { waitMs: { light: 1_000, heavy: 1_000 } },
  replace: ({ store }) => ({ store: withLatch(store) }),
});

function withLatch(store: Store): Store {
  return withReads(store, async (tenantId, work) => {
    if (tenantId === slowTenant) {
      reading += 1;
      await latch;
    }
    return store.read(tenantId, work);
  });
}

const clients = (caller: TestCaller) => caller.call<{ code?: string; detail?: string }>('POST', '/gql/v1/clients', {});
const metric = async (name: string) => {
  const text = await (await fetch(`${address}/metrics`)).text();
  return Number(text.match(new RegExp(`^${name.replaceAll(/[{}"]/g, '\\$&')} (.+)$`, 'm'))?.[1]);
};

test('a tenant at its concurrency limit is rejected while other tenants are served', async () => {
  const noisy = await addTenant('noisy');
  const first = await signIn({ roles: ['API_ADMIN'], tenant: noisy });
  const second = await signIn({ roles: ['CLNT_R'], tenant: noisy });
  slowTenant = noisy.id;
  latch = new Promise((resolve) => {
    open = resolve;
  });
  const admitted = clients(first);
  await expect.poll(() => reading).toBe(1);
  const others = Promise.all([clients(first), clients(second), clients(first), clients(second)]);
  // Requests of the busy tenant start at once or time out; the other tenant never waits for it.
  for (let round = 0; round < 5; round++) {
    expect(await call('POST', '/gql/v1/clients', {})).toMatchObject({ status: 200 });
  }
  expect((await fetch(`${address}/readyz`)).status).toBe(200);
  expect(await metric('requests_in_progress')).toBeGreaterThan(0);
  expect(await metric('requests_in_progress')).toBeLessThan(4);

  const rejected = clients(first);
  expect(await rejected).toMatchObject({ status: 429, body: { code: 'CONCURRENCY_LIMITED' } });
  expect((await rejected).headers.get('retry-after')).toBe('1');
  expect(await metric('tenant_requests_in_progress_average{rank="1"}')).toBeGreaterThan(0);
  expect(await metric('requests_rejected_total{limit="tenant"}')).toBeGreaterThan(0);
  open();
  expect(await admitted).toMatchObject({ status: 200 });
  const statuses = (await others).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  expect(statuses.filter((status) => status === 429)).toHaveLength(3);
  expect(await clients(second)).toMatchObject({ status: 200 });
  expect(await metric('requests_in_progress')).toBe(0);
  expect(await fetch(`${address}/metrics`).then((response) => response.text())).not.toContain(noisy.name);
  expect(tenant.name).toBe('firm');
});
