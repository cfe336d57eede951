import { expect, test } from 'vitest';
import { testService } from '../../test/service.ts';
import { bulkWriteLimits, Shares } from '../admission/shares.ts';
import { contract } from '../contract/contract.ts';

const { bulk } = contract['x-write-limits'];
// They wait as long as the test needs.
const bulkWrites = new Shares({ ...bulkWriteLimits(10), wait: 60_000 }, { started() {}, rejected() {} });
const { call, service, signIn, addTenant } = await testService({ replace: () => ({ bulkWrites }) });

let sent = 0;
function industries(count: number) {
  const records = Array.from({ length: count }, () => {
    sent += 1;
    return { type: 'Industry', systemRef: `industry-${sent}`, attributes: { name: `Industry ${sent}` } };
  });
  return ['POST', '/api/v1/records', { records }] as const;
}

test('upsertRecords › runs one bulk write of a tenant at a time, and others wait without a place', async () => {
  const tenant = await addTenant('importing');
  const importing = await signIn({ roles: ['API_ADMIN'], tenant });
  const leave = await bulkWrites.enter(tenant.name, 'another user');
  const writes = Array.from({ length: 20 }, () => importing.call(...industries(bulk)));
  await expect.poll(() => bulkWrites.usage()).toMatchObject({ inProgress: 1, waiting: 20 });
  expect(service.shares.usage()).toMatchObject({ inProgress: 0, waiting: 0 });
  expect(await importing.call(...industries(bulk - 1))).toMatchObject({ status: 200 });
  expect(await call(...industries(bulk))).toMatchObject({ status: 200 });
  expect(bulkWrites.usage()).toMatchObject({ inProgress: 1, waiting: 20 });
  leave();
  for (const response of await Promise.all(writes))
    expect(response).toMatchObject({ status: 200, body: { summary: { created: bulk } } });
  expect(bulkWrites.usage()).toMatchObject({ inProgress: 0, waiting: 0 });
  expect(service.shares.usage()).toMatchObject({ inProgress: 0, waiting: 0 });
});
