import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { testStore } from '../../../test/database.ts';
import { newId } from '../store/new-id.ts';
import { findRequest, purgeRecentRequests, RecentRequests } from './recent-requests.ts';

const { store, tenantId, otherTenantId } = await testStore();

const request = (status = 200, id = newId()) => ({
  id,
  receivedAt: new Date().toISOString(),
  operation: 'getClient',
  method: 'GET',
  path: `/gql/v1/client/${id}`,
  status,
  milliseconds: 1.5,
  user: 'ops',
});

function record(
  recent: RecentRequests,
  tenant: string,
  { status, ...others }: ReturnType<typeof request>,
  body?: unknown,
) {
  recent.record(tenant, status, () => ({ ...others, body }));
}

test('requests of all processes are found by tenant, the newest first, and by ID', async () => {
  const [one, other] = [new RecentRequests(store), new RecentRequests(store)];
  const [first, second, foreign] = [request(), request(404), request()];
  record(one, 'alpha', first);
  record(other, 'alpha', second, { code: 'NOT_FOUND', detail: 'x' });
  record(other, 'beta', foreign);
  record(other, 'nobody', request());
  await other.write();
  expect((await one.of(tenantId, { limit: 9 })).map(({ id }) => id)).toEqual([second.id, first.id]);
  expect(await one.of(tenantId, { limit: 9, onlyFailed: true })).toMatchObject([{ id: second.id }]);
  expect(await one.of(tenantId, { limit: 9, id: first.id })).toMatchObject([{ ...first, problem: null }]);
  expect(await one.of(tenantId, { limit: 9, id: foreign.id })).toEqual([]);
  expect(await findRequest(store, foreign.id)).toMatchObject({ tenant: 'beta', ...foreign });
  expect(await findRequest(store, 'x')).toBeUndefined();
});

test('those that failed are kept first, and a sample of the others', async () => {
  const recent = new RecentRequests(store);
  for (let number = 0; number < 300; number++) record(recent, 'beta', request(number % 10 === 0 ? 500 : 200));
  const found = await recent.of(otherTenantId, { limit: 1_000 });
  expect(found.filter(({ status }) => status === 500)).toHaveLength(30);
  // One is from the test before.
  expect(found.filter(({ status }) => status === 200)).toHaveLength(21);
});

test('the code and a few errors of a problem are kept, cut to a length', async () => {
  const recent = new RecentRequests(store);
  const error = { in: 'body', pointer: '/x\0'.repeat(1_000), code: 'TYPE', detail: 'd'.repeat(1_000) };
  const body = { code: 'VALIDATION_ERROR', detail: 'Wrong.', requestId: 'r', errors: Array(100).fill(error) };
  const rejected = request(400);
  record(recent, 'alpha', rejected, body);
  const [found] = await recent.of(tenantId, { limit: 1, id: rejected.id });
  expect(found?.problem).toMatchObject({ code: 'VALIDATION_ERROR', detail: 'Wrong.' });
  expect(found?.problem?.errors).toHaveLength(5);
  expect(found?.problem?.errors[0]).toEqual({ pointer: '/x'.repeat(100), detail: 'd'.repeat(300) });
});

test('requests are deleted after a day', async () => {
  const recent = new RecentRequests(store);
  const old = request();
  record(recent, 'alpha', { ...old, receivedAt: new Date(Date.now() - 86_500_000).toISOString() });
  expect(await recent.of(tenantId, { limit: 1, id: old.id })).toEqual([]);
  const count = () =>
    store.read(tenantId, (session) => session.all(sql`select from recent_request where id = ${old.id}`));
  expect(await count()).toHaveLength(1);
  await purgeRecentRequests(store);
  expect(await count()).toEqual([]);
});
