import { sql } from 'kysely';
import { afterAll, expect, test } from 'vitest';
import { addTenant, testDatabase, testEngine } from '../../../test/database.ts';
import { TimeBudgetExceeded } from './errors.ts';
import { openStore, type Session } from './store.ts';

const budget = 300;
const options = await testDatabase();
// One connection: a read that did not release it would block the next.
const store = await openStore({ ...options, poolSize: 1, limits: { read: budget } });
afterAll(() => store.close());
const tenantId = await addTenant(store, 'alpha');
const engine = await testEngine(options);

const sleep = (seconds: number) => sql`select pg_sleep(${seconds})`;
const timeoutOf = async (session: Session) =>
  (await session.first(sql<{ limit: string }>`select current_setting('statement_timeout') as limit`))?.limit;

async function running(): Promise<number> {
  const { rows } = await engine.pool.query<{ running: number }>(`
    select count(*)::integer as running from pg_stat_activity
    where datname = current_database() and state = 'active' and query like '%pg_sleep%' and pid <> pg_backend_pid()`);
  return rows[0]?.running ?? -1;
}

test('a read over its budget is ended, also in the database, and its connection serves the next read', async () => {
  await expect(store.read(tenantId, (session) => session.all(sleep(600)))).rejects.toEqual(
    new TimeBudgetExceeded(budget),
  );
  // The database learns of it a moment later.
  await expect.poll(running).toBe(0);
  expect(await store.read(tenantId, (session) => session.first(sql`select 1 as one`))).toEqual({ one: 1 });
});

test('all statements of a read share the budget', async () => {
  let done = 0;
  const read = store.read(tenantId, async (session) => {
    for (; done < 100; done++) await session.all(sleep(budget / 1000 / 5));
  });
  await expect(read).rejects.toBeInstanceOf(TimeBudgetExceeded);
  expect(done).toBeGreaterThan(0);
  expect(done).toBeLessThan(10);
});

test('a statement gets the remaining budget, which the next read does not inherit', async () => {
  const limits = await store.read(tenantId, async (session) => {
    const first = await timeoutOf(session);
    await session.all(sleep(budget / 1000 / 2));
    return [first, await timeoutOf(session)];
  });
  expect(limits[0]).toBe(`${budget}ms`);
  expect(Number.parseInt(limits[1] ?? '', 10)).toBeLessThanOrEqual(budget / 2);
  expect(await store.read(tenantId, timeoutOf)).toBe(`${budget}ms`);
});

test('a write has its own limit, whatever reads have set on its connection', async () => {
  expect(await store.write(tenantId, timeoutOf)).toBe('30s');
  expect(await store.system(timeoutOf)).toBe('30s');
  await store.write(tenantId, (transaction) => transaction.all(sleep((2 * budget) / 1000)));
  expect(await store.read(tenantId, timeoutOf)).toBe(`${budget}ms`);
});

test('the store is ready while reads use every connection', async () => {
  const read = store.read(tenantId, (session) => session.all(sleep(600)));
  const held = expect(read).rejects.toBeInstanceOf(TimeBudgetExceeded);
  await expect.poll(running).toBe(1);
  await store.ready();
  expect(await running()).toBe(1);
  await held;
});
