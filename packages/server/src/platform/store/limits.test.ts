import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { engineName, testStore } from '../../../test/database.ts';
import { insertOrg } from '../../../test/rows.ts';
import { StatementTimeout, TimeBudgetExceeded } from './errors.ts';

const budget = 1_000;
const { store, tenantId } = await testStore({
  poolSize: 2,
  limits: { read: budget, statement: 2 * budget, connect: 60_000 },
});

/** A statement that takes minutes, without a lock, and one that takes little. PGlite cannot sleep, and PostgreSQL need not work. */
const [endless, short] =
  engineName === 'postgres'
    ? [sql`select pg_sleep(600)`, sql`select pg_sleep(0.05)`]
    : [
        sql`select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b`,
        sql`select count(*) from generate_series(1, 10000)`,
      ];
const orgNames = async () => {
  const rows = await store.read(tenantId, (session) => session.all(sql<{ name: string }>`select name from org`));
  return rows.map((row) => row.name);
};

test('a read that exceeds its budget is ended, and the process does other work meanwhile', async () => {
  let ticks = 0;
  const ticking = setInterval(() => {
    ticks += 1;
  }, 10);
  const read = store.read(tenantId, (session) => session.all(endless));
  await expect(read).rejects.toBeInstanceOf(TimeBudgetExceeded);
  clearInterval(ticking);
  expect(ticks).toBeGreaterThan(1);
  await store.ready();
});

test('the budget applies to all statements of a read together', async () => {
  const read = store.read(tenantId, async (session) => {
    for (;;) await session.all(short);
  });
  await expect(read).rejects.toBeInstanceOf(TimeBudgetExceeded);
});

test('each statement of a transaction has a longer limit, and the transaction rolls back when one exceeds it', async () => {
  await store.write(tenantId, async (transaction) => {
    await transaction.all(insertOrg(tenantId, 'kept'));
    // Longer than the budget of a read.
    const started = performance.now();
    while (performance.now() - started < budget * 1.2) await transaction.all(short);
  });
  const write = store.write(tenantId, async (transaction) => {
    await transaction.all(insertOrg(tenantId, 'undone'));
    await transaction.all(endless);
  });
  await expect(write).rejects.toBeInstanceOf(StatementTimeout);
  expect(await orgNames()).toEqual(['kept']);
});

test('calls that wait for a connection get one after a statement was stopped', async () => {
  const ended = [1, 2].map(() => store.read(tenantId, (session) => session.all(endless)).catch((error) => error));
  const served = [1, 2, 3].map((number) =>
    store.write(tenantId, (transaction) => transaction.all(insertOrg(tenantId, `served ${number}`))),
  );
  await Promise.all(served);
  for (const outcome of ended) expect(await outcome).toBeInstanceOf(TimeBudgetExceeded);
  expect(await orgNames()).toEqual(expect.arrayContaining(['served 1', 'served 2', 'served 3']));
});
