import { afterAll, expect, test } from 'vitest';
import { testDatabase, testEngine } from '../../test/database.ts';
import { testService } from '../../test/service.ts';

const options = await testDatabase();
const engine = await testEngine(options);
const { call, handle, address, signIn, addTenant } = await testService({
  database: options,
  config: { poolSize: 4 },
  patience: { waitMs: { light: 1_000, heavy: 1_000 } },
});
const holder = await engine.pool.connect();
afterAll(async () => {
  await holder.query('rollback');
  holder.release();
});

test('reads of one tenant that hang in the database do not block other tenants or the readiness check', async () => {
  const { body } = await handle('onboardClient', { body: { name: 'Quiet', address: {} } });
  const noisy = await signIn({ roles: ['CNTCT_R'], tenant: await addTenant('noisy') });
  await holder.query('begin; lock table contact in access exclusive mode');
  const hanging = Array.from({ length: 12 }, () =>
    noisy.call<{ code?: string }>('POST', '/gql/v1/contacts/search', {}),
  );
  const rejected: Awaited<(typeof hanging)[number]>[] = [];
  for (const call of hanging) void call.then((response) => rejected.push(response));
  await expect
    .poll(async () => {
      const { rows } = await holder.query(`select count(*)::integer as waiting from pg_locks where not granted
        and database = (select oid from pg_database where datname = current_database())`);
      return rows[0].waiting;
    })
    .toBe(2);
  for (let round = 0; round < 20; round++) {
    expect(await call('GET', `/gql/v1/client/${body.clientId}`)).toMatchObject({ status: 200 });
  }
  expect((await fetch(`${address}/readyz`)).status).toBe(200);
  // The others wait for a second.
  await expect.poll(() => rejected.length).toBe(10);
  for (const response of rejected)
    expect(response).toMatchObject({ status: 429, body: { code: 'CONCURRENCY_LIMITED' } });
  await holder.query('rollback');
  const statuses = (await Promise.all(hanging)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(2);
});
