import { expect, test } from 'vitest';
import { backgroundService, counted, jobStates } from '../../test/background.ts';
import { engineName } from '../../test/database.ts';
import { freePort } from '../../test/free-port.ts';
import { nightlyTest } from '../../test/nightly-test.ts';
import { observedWork } from '../../test/observed-work.ts';
import { createTenantWithKeys } from '../../test/operate.ts';
import { type Environment, processEnvironment, startBackgroundServer } from '../../test/process.ts';
import { openStore, type Store } from '../platform/store/store.ts';
import { startBackground } from './background.ts';

/** Creates an environment with a tenant. */
async function newEnvironment(): Promise<Environment> {
  const environment = await processEnvironment();
  await createTenantWithKeys(environment, 'hartwell');
  return environment;
}

/** Creates the environment of another process on the same database. */
async function another(environment: Environment): Promise<Environment> {
  return { ...environment, PORT: String(await freePort()) };
}

/** Reads the database; on PGlite no process may have it open. */
async function inspect<T>(environment: Environment, work: (store: Store, tenantId: number) => Promise<T>): Promise<T> {
  const { DATABASE_URL: databaseUrl, DATA_DIR } = environment;
  const store = await openStore(databaseUrl === undefined ? { dataDir: `${DATA_DIR}/database` } : { databaseUrl });
  try {
    const { rows } = await store.ownerStatements(`select id from tenant where name = 'hartwell'`);
    return await work(store, Number(rows[0]?.id));
  } finally {
    await store.close();
  }
}

test('a job whose process is killed is taken over and finished once', async () => {
  const environment = await newEnvironment();
  const killed = await startBackgroundServer(environment, 'hartwell', '1', '600000');
  await killed.wrote('begun 1 1');
  const kill = async () => {
    killed.kill('SIGKILL');
    await killed.finished;
  };
  // The embedded database supports one process at a time.
  if (engineName === 'pglite') await kill();
  await inspect(environment, async (store, tenantId) => {
    const said: string[] = [];
    const { work } = observedWork((line) => said.push(line));
    // The other process is this one.
    const successor = await startBackground(backgroundService(store), { jobs: [work], clockTasks: [] });
    if (engineName === 'postgres') await kill();
    await expect.poll(() => jobStates(store, 'work')).toEqual({ COMPLETED: 1 });
    await successor.stop(0);
    expect(said).toEqual(['begun 1 2']);
    expect(await counted(store, tenantId, 'begun ')).toEqual({ 1: 2 });
    expect(await counted(store, tenantId, 'finished ')).toEqual({ 1: 1 });
  });
});

// In `job.test.ts` and `clock.test.ts`, workers and clocks of one process prove the same each day.
nightlyTest?.('a stopping server returns an unfinished job, and a later one completes it', async () => {
  const environment = await newEnvironment();
  const stopped = await startBackgroundServer(environment, 'hartwell', '1', '600000');
  await stopped.wrote('begun 1 1');
  stopped.kill('SIGTERM');
  const { code, out, error } = await stopped.finished;
  expect({ code, error }).toEqual({ code: 0, error: '' });
  expect(out).toContain('"outcome":"returned"');
  expect(out.trim().split('\n').at(-1)).toContain('"Stopped."');
  await inspect(environment, async (store) => {
    expect(await jobStates(store, 'work')).toEqual({ WAITING: 1 });
  });
  const successor = await startBackgroundServer(environment);
  await successor.wrote('begun 1 2');
  await successor.wrote('"outcome":"completed"');
  successor.kill('SIGTERM');
  await successor.finished;
});

nightlyTest?.('BACKGROUND=off › a process enqueues jobs but leaves them, and the clock, to others', async () => {
  const environment = await newEnvironment();
  const off = await startBackgroundServer({ ...environment, BACKGROUND: 'off' }, 'hartwell', '1', '0');
  await off.wrote('added');
  const early = engineName === 'postgres' ? await startBackgroundServer(await another(environment)) : undefined;
  if (early === undefined) {
    off.kill('SIGTERM');
    await off.finished;
  }
  const on = early ?? (await startBackgroundServer(environment));
  await on.wrote('begun 1 1');
  await on.wrote('ticked hartwell');
  off.kill('SIGTERM');
  const { out } = await off.finished;
  expect(out).not.toMatch(/begun|ticked/);
  on.kill('SIGTERM');
  expect(await on.finished).toMatchObject({ code: 0 });
});

/** So many that both processes run some. */
const jobCount = 200;

nightlyTest?.runIf(engineName === 'postgres')('two processes share jobs and the ticks without duplicates', async () => {
  const environment = await newEnvironment();
  const other = await startBackgroundServer(await another(environment));
  const one = await startBackgroundServer(environment, 'hartwell', String(jobCount), '20');
  await inspect(environment, async (store, tenantId) => {
    const all = Object.fromEntries(Array.from({ length: jobCount }, (_, index) => [String(index + 1), 1]));
    await expect.poll(() => counted(store, tenantId, 'finished ')).toEqual(all);
    expect(await counted(store, tenantId, 'begun ')).toEqual(all);
    await one.wrote('begun');
    await other.wrote('begun');
    const ticks = await counted(store, tenantId, 'tick ');
    expect(Object.keys(ticks).length).toBeGreaterThan(0);
    expect(new Set(Object.values(ticks))).toEqual(new Set([1]));
  });
  for (const server of [one, other]) server.kill('SIGTERM');
  expect(await one.finished).toMatchObject({ code: 0 });
  expect(await other.finished).toMatchObject({ code: 0 });
});
