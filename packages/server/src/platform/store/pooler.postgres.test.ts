import { expect, test } from 'vitest';
import { testDatabase } from '../../../test/database.ts';
import { mixedCalls } from '../../../test/mixed-calls.ts';
import { isPgbouncerInstalled, type PoolMode, startPgbouncer } from '../../../test/pgbouncer.ts';
import { openStore } from './store.ts';

/** A sample of the test in `scripts/pooler.ts`. */
const calls = 200;
const connections = 4;

const isInstalled = isPgbouncerInstalled();
if (!isInstalled) console.warn('NOT TESTED: the service behind PgBouncer, which is not installed.');
const { databaseUrl = '' } = await testDatabase();

async function behind<Result>(mode: PoolMode, work: (url: string) => Promise<Result>): Promise<Result> {
  const pgbouncer = await startPgbouncer(databaseUrl, mode, connections);
  try {
    return await work(pgbouncer.url);
  } finally {
    await pgbouncer.stop();
  }
}

test.skipIf(!isInstalled).for(['transaction', 'statement'] as const)(
  'a pooler in %s mode is detected at the start, and the error names the setting for it',
  async (mode) => {
    const opening = behind(mode, async (url) => (await openStore({ databaseUrl: url })).close());
    await expect(opening).rejects.toThrow(
      /^DATABASE_URL leads to a pooler .+ Set DATABASE_POOLER=transaction, or connect/,
    );
  },
);

test.skipIf(!isInstalled).for([
  ['session', 'none'],
  ['transaction', 'transaction'],
] as const)('tenants are isolated behind a pooler in %s mode', async ([mode, pooler]) => {
  const wrong = await behind(mode, (url) => {
    const settings = { DATABASE_URL: url, DATABASE_POOLER: pooler, POOL_SIZE: String(connections) };
    return mixedCalls({ ...settings, READ_BUDGET_MS: '30000' }, mode, calls, 2 * connections);
  });
  expect(wrong).toEqual([]);
});
